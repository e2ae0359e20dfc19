"""What no run on a GPU has shown yet, before all else that `make test-gpu` does: one
question a test, smallest first, so that the first failure says most. With
DIVISI_GPU=emulated on the emulator, for what that can show (test/gpu.sh)."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import numpy as np
import pytest
from conftest import PROGRAM, assert_close, load, model
from cuda_test import EMULATOR
from gpu_test import GPUS

IS_EMULATED = os.environ.get("DIVISI_GPU") == "emulated"
COUNT = 4 if IS_EMULATED else len(GPUS)
TARGET = "emulated" if IS_EMULATED else (GPUS or [""])[0]
MEGATRON = ["--devices", 2, "--tensor-parallel-size", 2]
# Of a session that ends: NCCL's part of it waits for other ranks.
END_SECONDS = 60

pytestmark = pytest.mark.skipif(
    not COUNT, reason="nvidia-smi lists no GPU: nothing of this was run")


def needs(count):
    if COUNT < count:
        pytest.skip(f"there are {COUNT} GPUs, and this takes {count}")


def environment(**settings):
    named = {f"DIVISI_EMULATOR_{name.upper()}": str(value)
             for name, value in settings.items()}
    return ({**os.environ, **named, "LD_LIBRARY_PATH": str(EMULATOR)}
            if IS_EMULATED else {**os.environ, "NCCL_DEBUG": "WARN"})


@pytest.fixture(autouse=True)
def _own_key(divisi, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(divisi.path("user")))


def compiled(divisi, name, *flags):
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, *flags, "--gpu", TARGET, "-o", "g.divisi")
    return m


def run(divisi, m, *flags, exits=0, **settings):
    begin = time.monotonic()
    told = divisi("run", "g.divisi", "--inputs", m.inputs, "--verbose", *flags, "-o",
                  "out.npz", exits=exits, env=environment(**settings))
    print(f"counted: seconds of the run: {time.monotonic() - begin:.1f}")
    if exits == 0:
        # What NCCL warns of, too; how GPUs are used stands in what is printed.
        print("\n".join(line for line in told.err.splitlines()
                        if "device " in line or "NCCL" in line))
        assert_close(load(divisi.path("out.npz")), load(m.outputs))
    return told.err


# Is the driver there, and does it take what the compiler has made?
def test_one_gpu_loads_and_runs_generated_kernels(divisi):
    m = compiled(divisi, "gpt2", "--devices", 1)
    told = run(divisi, m, "--no-graphs")
    assert "by kernels of 'cuda': " in told


# Each library that is opened, alone: cuBLASLt by GPT-2, cuDNN by ResNet. What it has
# no algorithm or engine for is said.
@pytest.mark.parametrize("name", ["gpt2", "resnet"])
@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_libraries_have_algorithms(divisi, name, precision):
    lower = [] if precision == "f32" else ["--precision", precision]
    m = compiled(divisi, name, "--devices", 1, *lower)
    told = divisi("run", "g.divisi", "--inputs", m.inputs, "--verbose", "-o",
                  "out.npz", env=environment()).err
    want = load(m.outputs)
    for key, values in load(divisi.path("out.npz")).items(): # as `divisi check`
        np.testing.assert_allclose(
            values, want[key], rtol=5e-2, atol=1.6e-2 * np.abs(want[key]).max())
    missing = re.findall(r".*(?:cuBLASLt|cuDNN).*", told)
    print("\n".join(missing) or "all by the libraries")


def test_a_graph_gives_the_same(divisi):
    m = compiled(divisi, "gpt2", "--devices", 1)
    assert "one graph" in run(divisi, m, "--repeat", 3)


# The first collective: connections, registered memory, and the end, for which all
# ranks finalize.
@pytest.mark.parametrize("flags", [["--no-graphs"], ["--repeat", 4]],
                         ids=["plain", "graphs"])
def test_two_gpus_meet(divisi, flags):
    needs(2)
    m = compiled(divisi, "gpt2", *MEGATRON)
    told = run(divisi, m, *flags)
    said = re.findall(r"device \d: (NCCL has registered .*)", told)
    assert len(said) == 2
    print("\n".join(said))


def test_groups_of_four_gpus_meet(divisi):
    needs(4)
    m = compiled(divisi, "gpt2", "--mesh", "2x2", "--solver", "random", "--seed", 2)
    run(divisi, m, "--repeat", 3)


def used_bytes():
    """By GPU."""
    told = subprocess.run(
        ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
        capture_output=True, text=True, timeout=60).stdout
    return [int(line) << 20 for line in told.split()]


def most_held(divisi, m, devices):
    """What GPUs held at most while the artifact ran, beyond what they held before;
    emulated ones write it down."""
    if IS_EMULATED:
        run(divisi, m, "--repeat", 3, held=divisi.path("held"))
        lines = divisi.path("held").read_text().splitlines()
        return [sum(map(int, line.split())) for line in lines[:devices]]
    before, most, isOver = used_bytes(), [0] * COUNT, threading.Event()

    def watch():
        while not isOver.is_set():
            for gpu, used in enumerate(used_bytes()):
                most[gpu] = max(most[gpu], used - before[gpu])

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        run(divisi, m, "--repeat", 2000)
    finally:
        isOver.set()
        thread.join()
    return most[:devices]


# What `explain` says, by item, and what there is: the items are estimates
# (GpuOverhead.h), which this is to correct.
@pytest.mark.parametrize("devices", [1, 2])
def test_gpus_hold_what_is_said(divisi, devices):
    needs(devices)
    flags = MEGATRON if devices == 2 else ["--devices", 1]
    m = compiled(divisi, "gpt2", *flags)
    said = json.loads(divisi("explain", "g.divisi", "--json").out)
    held = most_held(divisi, m, devices)
    for gpu, device in enumerate(said["memory"]["per_device"]):
        items = {name: device[f"{name}_bytes"]
                 for name in ("own", "context", "module", "nccl")}
        print(f"counted: GPU {gpu}: {held[gpu]} bytes held, "
              f"{sum(items.values())} said: {items}")
        assert held[gpu] > 0
        assert held[gpu] <= 1.25 * sum(items.values())


# A rank that dies: the other one aborts its communicators, and ends.
def test_a_dead_process_ends_the_other(divisi):
    needs(2)
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")
    if IS_EMULATED:
        pytest.skip("nccl_processes_test.py shows it on the emulator")
    m = compiled(divisi, "gpt2", *MEGATRON)
    process = subprocess.Popen(
        [PROGRAM, "run", "g.divisi", "--inputs", m.inputs, "--repeat", "1000000",
         "--timeout", "20000", "--launch", "2", "-o", "out.npz"],
        cwd=divisi.folder, env=environment(), stderr=subprocess.PIPE, text=True,
        start_new_session=True)
    try:
        time.sleep(30)
        assert process.poll() is None, process.stderr.read()
        children = subprocess.run(
            ["ps", "-o", "pid=,args=", "--sid", str(process.pid)],
            capture_output=True, text=True).stdout.splitlines()
        ranks = [int(line.split()[0]) for line in children
                 if "divisi-run" in line and "mpirun" not in line]
        os.kill(ranks[-1], signal.SIGKILL)
        told = process.communicate(timeout=20 + END_SECONDS)[1]
        print(told)
        assert process.returncode == 9
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
