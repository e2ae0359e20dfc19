"""Communicators of NCCL and numbers of GPUs that the caller of a session has: on
GPUs that are not there (test/emulator), which count who makes communicators, splits
and ends them (nccl_host.py)."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, compile_file, perceptron

EMULATOR = Path(os.environ["DIVISI_BUILD"]) / "test" / "emulator" / "lib"
HOST = [sys.executable, ROOT / "test/python/nccl_host.py"]
# Products that are split in their sums; cliques of some of the devices, too.
PLANS = {"two": ("--devices=2", "--tensor-parallel-size=2"),
         "four": ("--devices=4", "--tensor-parallel-size=4"),
         "drawn": ("--mesh=2x2", "--solver=random", "--seed=3")}

pytestmark = pytest.mark.skipif(not (EMULATOR / "libnccl.so.2").exists(),
                                reason="the build found no nccl.h")


@pytest.fixture(scope="module")
def compiled(folder):
    """compiled(PLAN) is an artifact for GPUs, which meet by NCCL."""
    def compile_(plan):
        path = folder / f"nccl-{plan}.divisi"
        if not path.exists():
            compile_file(perceptron(), path, *PLANS[plan], "--gpu=emulated",
                         "--collectives=nccl")
        return path
    return compile_


def host(*command, **environment):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True,
        timeout=120, env={**os.environ, "LD_LIBRARY_PATH": str(EMULATOR),
                          **environment})
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("plan", PLANS)
def test_the_bits_of_own_communicators(compiled, folder, plan):
    done = host(*HOST, "run", compiled(plan), folder / "out.npz")
    assert "emulator: " not in done.stderr


@pytest.mark.sample()
@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun")
@pytest.mark.parametrize("plan", PLANS)
def test_two_processes(compiled, folder, tmp_path, plan):
    to = tmp_path / "out"
    host(*HOST, "run", compiled(plan), f"{to}.npz")
    (tmp_path / "meeting").mkdir()
    done = host("mpirun", "-n", 2, "--oversubscribe", "--bind-to", "none", *HOST,
                "processes", compiled(plan), to, OMPI_ALLOW_RUN_AS_ROOT="1",
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                DIVISI_EMULATOR_NCCL_FOLDER=str(tmp_path / "meeting"))
    assert "emulator: " not in done.stderr
    own, first, second = (np.load(f"{to}{part}.npz")
                          for part in ("", ".0", ".1"))
    for name in own:
        both = np.where(np.isnan(first[name]), second[name], first[name])
        assert both.tobytes() == own[name].tobytes()
    told = done.stdout.splitlines()
    count = 2 if plan == "two" else 4
    for line in ("0: process 1 of mpi_comm has no nccl_comms, and this one has "
                 "some",
                 "1: process 0 of mpi_comm has nccl_comms, and this one has none",
                 *(f"{self}: got {count} nccl_comms, and {count // 2} devices "
                   "run in this process; give one for each of them"
                   for self in (0, 1))):
        assert line in told
    if count == 4:
        wrong = ("rank 2 of 4 was given a communicator of NCCL's in which it is "
                 "3 of 4")
        assert f"1: {wrong}" in told
        assert f"0: process 1 of mpi_comm: {wrong}" in told


def test_what_does_not_fit(compiled):
    done = host(*HOST, "wrong", compiled("two"))
    told = [json.loads(line) for line in done.stdout.splitlines()]
    given = "was given a communicator of NCCL's in which it is"
    each = "devices run in this process; give one for each of them"
    number = "expected a number, or one for each device that runs in this process"
    assert told == [
        [2, f"got 1 nccl_comms, and 2 {each}"],
        [2, f"got 4 nccl_comms, and 2 {each}"],
        [2, f"rank 0 of 2 {given} 1 of 2"],
        [2, f"rank 0 of 2 {given} 0 of 4"],
        [2, "nccl_comms[1] is NULL"],
        [2, f"rank 1 of 2 {given} 0 of 2"],
        [2, "rank 0 is to run on GPU 1, and was given a communicator of NCCL's "
         "of GPU 0"],
        [2, f"got 1 cuda_devices, and 2 {each}"],
        [9, f"'{compiled('two')}': no CUDA device 99: this process sees 4; use "
         "fewer devices, or let CUDA_VISIBLE_DEVICES name more"],
        [2, f"nccl_comms: {number}"],
        [2, "cuda_devices: -1 is out of range"],
        told[11], told[12],
        [9, "NCCL cannot tell the rank of the communicator that rank 0 was "
         "given: refused by the emulator; give it one that is ready"]]
    for (code, message), says in zip(told[11:13], (
            "waited 1000 ms for NCCL to split the communicator that it was given",
            "was given is still being split; abort it")):
        assert code == 9 and says in message
