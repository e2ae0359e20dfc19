"""One process per GPU, or several, of GPUs that are not there: how ranks connect by
NCCL when MPI, or torchrun, has started them, and that they compute what one process
does. The emulated NCCL of test/emulator meets by files in a folder then."""

import re
import subprocess
import time
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import BUILD, PROGRAM, assert_close, load
from cuda_loops_test import compile_loops  # noqa: F401
from cuda_test import DEVICE, HAS_NCCL, emulator
from cuda_test import _needs_emulator  # noqa: F401
from launched import PATIENT, SLACK, needs_mpi, under_mpirun, under_torchrun
from loop_programs import lstm, lstm_tensors, run_lstm
from nccl_test import MEGATRON, TIMEOUT, compile_for_gpus, run

pytestmark = [pytest.mark.as_written, needs_mpi, pytest.mark.skipif(
    not HAS_NCCL, reason="the build found no nccl.h")]


def meeting(divisi, **settings):
    """The environment of processes that meet in an empty folder."""
    folder = divisi.path(f"meeting{time.monotonic_ns()}")
    folder.mkdir()
    return emulator(nccl_folder=folder, **settings)


def run_launched(divisi, m, *flags, launch=under_mpirun, processes=2, exits=0,
                 **settings):
    """What they say."""
    command, environment = launch(
        processes, PROGRAM, "run", "g.divisi", "--inputs", m.inputs, *flags,
        "-o", "all.npz")
    done = subprocess.run(
        command, cwd=divisi.folder, capture_output=True, text=True, timeout=120,
        env={**environment, **meeting(divisi, **settings)})
    assert done.returncode == exits, done.stderr
    return done.stderr


def assert_same_bits(divisi, m):
    """As one process has computed."""
    run(divisi, m)
    one, got = load(divisi.path("out.npz")), load(divisi.path("all.npz"))
    assert_close(got, load(m.outputs))
    assert [v.tobytes() for v in got.values()] == [
        v.tobytes() for v in one.values()]


@pytest.mark.sample()
@pytest.mark.parametrize("name,plan,processes", [
    ("gpt2", MEGATRON, 2),
    ("llama", ["--devices", 4, "--tensor-parallel-size", 4], 4),
    ("t5", ["--mesh", "2x2", "--solver", "random", "--seed", 3], 4),
    ("resnet", ["--mesh", "2x2", "--solver", "random", "--seed", 2], 2)])
def test_the_bits_of_one_process(divisi, name, plan, processes):
    m = compile_for_gpus(divisi, name, plan)
    told = run_launched(divisi, m, "--repeat", 3, "--verbose", "--timeout",
                        PATIENT, processes=processes)
    assert "emulator: " not in told
    for rank in range(processes):
        assert any(f"[{rank}/{processes}] " in line and
                   " of them between GPUs by NCCL" in line
                   for line in told.splitlines())
    if "--tensor-parallel-size" in plan: # the others meet with the host, too
        graphs = re.findall(r"tasks of the device are one graph, \d+ of them with "
                            "other devices", told)
        assert len(graphs) == processes
    assert_same_bits(divisi, m)


# In the body of a loop, whose ranks meet in each iteration.
def test_processes_meet_in_a_loop(divisi, compile_loops):  # noqa: F811
    w, r, x = lstm_tensors()
    compile_loops(lstm(2, True), 2, (w, r))
    m = SimpleNamespace(inputs="in.npz", outputs=divisi.path("want.npz"))
    np.savez(divisi.path(m.inputs), x=x)
    np.savez(m.outputs, **run_lstm())
    told = run_launched(divisi, m, "--repeat", 2, "--verbose", "--timeout",
                        PATIENT)
    assert "emulator: " not in told
    assert told.count("1 of them between GPUs by NCCL") == 2
    assert_same_bits(divisi, m)
    for what in ("nccl_hang", "nccl_lose", "nccl_fail"):
        begin = time.monotonic()
        told = run_launched(divisi, m, "--timeout", TIMEOUT, exits=DEVICE,
                            **{what: 5})
        assert time.monotonic() - begin < TIMEOUT / 1000 + SLACK
        assert re.search("for NCCL to end it|the emulated network is down", told)


def test_processes_of_torchrun(divisi):
    m = compile_for_gpus(divisi, "gpt2", MEGATRON)
    told = run_launched(divisi, m, "--verbose", "--timeout", PATIENT,
                        launch=under_torchrun)
    assert "emulator: " not in told
    assert " of them between GPUs by NCCL" in told
    assert_same_bits(divisi, m)


# Each has a GPU of its own, of those that all of them are shown.
def test_processes_with_gpus_meet_with_the_host(divisi):
    m = compile_for_gpus(divisi, "gpt2", MEGATRON, "--collectives", "host")
    told = run_launched(divisi, m, "--verbose", "--timeout", PATIENT)
    assert "[1/2] divisi: note: device 1 runs " in told
    assert "NCCL" not in told
    assert_same_bits(divisi, m)


# Of a run ten calls are a process's; the third one is of a graph.
@pytest.mark.sample()
@pytest.mark.parametrize("what,number,says", [
    ("nccl_fail", 3, "the emulated network is down"),
    ("nccl_hang", 3, "for NCCL to end it"),
    ("nccl_hang", 23, "for NCCL to end it"),
    ("nccl_lose", 23, "for NCCL to end it")])
def test_what_fails_ends_all_processes_within_the_deadline(divisi, what, number,
                                                           says):
    m = compile_for_gpus(divisi, "gpt2", MEGATRON)
    begin = time.monotonic()
    told = run_launched(divisi, m, "--timeout", TIMEOUT, "--repeat", 3,
                        exits=DEVICE, **{what: number})
    assert ("the graph from" in told) == (number > 20)
    assert time.monotonic() - begin < TIMEOUT / 1000 + SLACK
    assert says in told


@pytest.mark.whole
def test_steps_are_the_same_by_files(divisi):
    """All of what NcclTest does, whose ranks are threads."""
    done = subprocess.run([BUILD / "bin/tests/NcclTest"], env=meeting(divisi),
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert any(divisi.folder.glob("meeting*/*"))
