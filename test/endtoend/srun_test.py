"""Processes that srun starts, of a Slurm that is up for these tests only."""

import os
import signal
import subprocess
import time

import pytest
import slurm as slurms
from conftest import PROGRAM, model
from hosts_test import assert_the_bits_of_one_process
from launched import (mlp, needs_mpi, under_torchrun,  # noqa: F401
                      wait_until_begun)
from torchrun_test import PLUGIN

WHY_NOT = slurms.missing()

pytestmark = [needs_mpi, pytest.mark.skipif(
    WHY_NOT is not None, reason=str(WHY_NOT))]


@pytest.fixture(scope="module")
def slurm():
    made = slurms.Slurm()
    try:
        made.up()
        yield made
    finally:
        made.down()


@pytest.fixture
def start(divisi, slurm):
    """start(count, *command) by srun; nothing is left afterwards."""
    started = []

    def run(count, *command, mpi="pmix", options=()):
        command = ["srun", f"--mpi={mpi}", "--quiet", "-n", count, *options,
                   *command]
        started.append(subprocess.Popen(
            [str(part) for part in command], cwd=divisi.folder, text=True,
            env=slurm.environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE))
        return started[-1]

    yield run
    deadline = time.monotonic() + 15
    while left := slurm.tasks():
        assert time.monotonic() < deadline, f"processes are left: {left}"
        time.sleep(0.05)
    assert all(process.poll() is not None for process in started)
    assert not list(divisi.folder.glob("y.npz*"))


def result(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.parametrize("name,counts", [("classifier", [2, 4]),
                                         ("gpt2", [3, 8])])
def test_the_bits_of_one_process(divisi, start, name, counts):
    made = model(name)
    divisi("compile", made.onnx, "--devices", 8, *made.shapes, "--solver",
           "random", "-o", "m.divisi")
    run = ("run", "m.divisi", "--inputs", made.inputs)
    divisi(*run, "-o", "one.npz")
    for count in counts:
        code, _, err = result(start(count, PROGRAM, *run, "-o", "all.npz"))
        assert code == 0, err
        assert err.count("wrote all.npz") == 1
        assert_the_bits_of_one_process(divisi, "all.npz")
        divisi.path("all.npz").unlink()


def test_other_verbs(start, mlp):
    code, out, err = result(start(2, PROGRAM, "check", "m.divisi", "--inputs",
                                  mlp.inputs, "--expect", mlp.outputs))
    assert code == 0 and out.count("m.divisi: equal") == 1, err
    code, out, err = result(start(3, PROGRAM, "bench", "m.divisi", "--inputs",
                                  mlp.inputs, "--repeat", 3))
    assert code == 0 and out.count("median") == 1, err


@pytest.mark.parametrize("mpi", ["pmi2", "none"])
def test_what_mpi_cannot_use_is_refused(start, mlp, mpi):
    """Not each alone, with the whole of the work."""
    code, out, err = result(start(2, PROGRAM, "run", "m.divisi", "--inputs",
                                  mlp.inputs, mpi=mpi))
    assert code == 2 and not out, err
    assert err.count("start them by srun --mpi=pmix") == 1, err
    assert "wrote" not in err


def test_more_processes_than_devices(start, mlp):
    code, _, err = result(start(5, PROGRAM, "run", "m.divisi", "--inputs",
                                mlp.inputs))
    assert code == 2 and err.count("divisi: error") == 1, err
    assert "5 processes for the 4 devices of 'm.divisi'" in err


@pytest.mark.skipif(not PLUGIN.exists(), reason="there is no PMIx here")
@pytest.mark.parametrize("mpi", ["pmix", "none"])
def test_torchrun_that_srun_starts(divisi, start, mlp, mpi):
    """Who says which process this is is the inner one of the two."""
    run = ("run", "m.divisi", "--inputs", mlp.inputs)
    divisi(*run, "-o", "one.npz")
    command, _ = under_torchrun(3, PROGRAM, *run, "-o", "all.npz")
    code, _, err = result(start(1, *command, mpi=mpi))
    assert code == 0 and "[0/3] wrote all.npz" in err, err
    assert_the_bits_of_one_process(divisi, "all.npz")


def test_launch_in_one_task(divisi, start, mlp):
    run = ("run", "m.divisi", "--inputs", mlp.inputs)
    divisi(*run, "-o", "one.npz")
    code, _, err = result(start(1, PROGRAM, *run, "-o", "all.npz", "--launch",
                                2, mpi="none"))
    assert code == 0 and "[0/2] wrote all.npz" in err, err
    assert_the_bits_of_one_process(divisi, "all.npz")


#===----------------------------------------------------------------------===#
# Failures
#===----------------------------------------------------------------------===#

def endless(start, slurm, inputs, number, **options):
    """A run that does not end by itself; and its process of that number."""
    run = start(3, PROGRAM, "run", "m.divisi", "--inputs", inputs.resolve(),
                "-o", "y.npz", "--repeat", 10**9, "--timeout", 2000,
                "--verbose", **options)
    wait_until_begun(run.stderr)
    time.sleep(0.5)
    # The older of the two: the other one copies its messages.
    return run, min(pid for pid, task in slurm.tasks().items()
                    if task == number)


@pytest.mark.parametrize("options,code", [
    (("--kill-on-bad-exit",), {137, 143}), ((), {137})])
def test_a_process_that_is_killed_ends_all(start, slurm, mlp, options, code):
    run, pid = endless(start, slurm, mlp.inputs, 1, options=options)
    os.kill(pid, signal.SIGKILL)
    found, _, err = result(run)
    assert found in code, err


def test_a_process_that_stops_is_named(start, slurm, mlp):
    run, pid = endless(start, slurm, mlp.inputs, 1)
    os.kill(pid, signal.SIGSTOP)
    code, _, err = result(run)
    assert code in (9, 137), err
    assert "for rank 1, which did not come" in err


def test_the_job_is_cancelled(start, slurm, mlp):
    run, _ = endless(start, slurm, mlp.inputs, 0)
    slurm.ask("scancel", "--user=root")
    code, _, err = result(run)
    assert code != 0, err
