"""Processes that torchrun starts, which says who they are and gives MPI nothing:
the same bits as of one, and what goes wrong ends all of them.

Here a stand-in starts them (elastic.py); torchrun_itself_test.py has torchrun.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import BUILD, PROGRAM, load, model
from launched import (PROCESSES, Run, mlp, needs_mpi,  # noqa: F401
                      processes_below, under_torchrun, wait_for_work,
                      without_plugins)

PLUGIN = BUILD / "lib" / "libdivisi_pmix.so"

pytestmark = [pytest.mark.as_written, needs_mpi, pytest.mark.skipif(
    not PLUGIN.exists(), reason="there is no PMIx here (Debian: libpmix-dev)")]


def torchrun(divisi, count, *arguments, program=PROGRAM, options=()):
    """The exit code, stdout and stderr."""
    command, environment = under_torchrun(count, *options, program, *arguments)
    done = subprocess.run(command, cwd=divisi.folder, env=environment,
                          capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def folders(server="*"):
    """What servers keep, those of other tests among them."""
    return set(Path("/dev/shm").glob(f"divisi-pmix-{server}-*"))


def left():
    """What they have kept that are no more."""
    return {folder for folder in folders()
            if not Path("/proc", folder.name.split("-")[2]).exists()}


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = folders()
    yield
    deadline = time.monotonic() + 5
    while left() - before:
        assert time.monotonic() < deadline, "files of a server are left"
        time.sleep(0.05)


#===----------------------------------------------------------------------===#
# The same bits
#===----------------------------------------------------------------------===#

@pytest.mark.sample()
@pytest.mark.parametrize("name,solver,counts", [
    ("classifier", "auto", [2, 4]), ("resnet", "random", [3]),
    ("gpt2", "random", [3, 8])])
def test_the_bits_of_one_process(divisi, name, solver, counts):
    """Also with several ranks in a process."""
    made = model(name)
    divisi("compile", made.onnx, "--devices", 8, *made.shapes, "--solver",
           solver, "-o", "m.divisi")
    run = ("run", "m.divisi", "--inputs", made.inputs)
    divisi(*run, "-o", "one.npz")
    one = load(divisi.path("one.npz"))
    for count in counts:
        code, _, err = torchrun(divisi, count, *run, "-o", "all.npz")
        assert code == 0, err
        # Output is written once, by the first.
        assert err.count("wrote all.npz") == 1
        assert all(line.startswith(f"[0/{count}] ")
                   for line in err.splitlines()), err
        got = load(divisi.path("all.npz"))
        divisi.path("all.npz").unlink()
        assert list(got) == list(one)
        assert all(got[key].tobytes() == one[key].tobytes() for key in one)


def test_other_verbs(divisi, mlp):
    code, out, err = torchrun(divisi, 2, "check", "m.divisi", "--inputs",
                              mlp.inputs, "--expect", mlp.outputs)
    assert code == 0 and out.count("m.divisi: equal") == 1, err
    code, out, err = torchrun(divisi, 3, "bench", "m.divisi", "--inputs",
                              mlp.inputs, "--repeat", 3)
    assert code == 0 and out.count("median") == 1, err
    code, out, err = torchrun(divisi, 1, "run", "m.divisi", "--inputs",
                              mlp.inputs)
    assert code == 0 and "[0/1]" not in err, err


def test_two_runs_at_a_time(divisi, mlp):
    runs = []
    for _ in range(2):
        command, environment = under_torchrun(
            2, PROGRAM, "bench", "m.divisi", "--inputs", mlp.inputs,
            "--repeat", 200)
        runs.append(subprocess.Popen(
            command, cwd=divisi.folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    for run in runs:
        _, err = run.communicate(timeout=120)
        assert run.returncode == 0, err


#===----------------------------------------------------------------------===#
# Who does not come
#===----------------------------------------------------------------------===#

@pytest.mark.parametrize("absent,options,message", [
    (1, (), "of the 3 processes of this host LOCAL_RANK 1 did not come within "
            "1000 ms"),
    (0, (), "of the 3 processes of this host LOCAL_RANK 0 did not come within "
            "1000 ms"),
    (0, ("--twin", 2), "LOCAL_RANK 0 did not come within"),
    (None, ("--twin", 2), "of the 3 processes of this host another one is "
                          "LOCAL_RANK 1, too"),
    (None, ("--twin", 1), "of the 3 processes of this host LOCAL_RANK 1 did "
                          "not come within 1000 ms")])
def test_a_process_is_missing(divisi, mlp, absent, options, message):
    if absent is not None:
        options += ("--absent", absent)
    code, _, err = torchrun(divisi, 3, "run", "m.divisi", "--inputs",
                            mlp.inputs, "--timeout", 1000, options=options)
    assert code == 1 and message in err, err


def test_more_processes_than_devices(divisi, mlp):
    code, _, err = torchrun(divisi, 5, "run", "m.divisi", "--inputs",
                            mlp.inputs)
    assert code == 1, err
    assert err.count("divisi: error") == 1
    assert "5 processes for the 4 devices of 'm.divisi'" in err
    assert re.search(r"rank \d failed \(exitcode: 2\)", err)


def test_what_only_some_were_told(divisi, mlp):
    divisi("compile", mlp.onnx, "--devices", 4, "--solver", "random",
           "-o", "other.divisi")
    pick = 'if [ "$RANK" = 1 ]; then set -- "$1" other.divisi "${@:3}"; fi; '
    command, environment = under_torchrun(
        2, "bash", "-c", pick + 'exec "$0" "$@"', PROGRAM, "run", "m.divisi",
        "--inputs", mlp.inputs)
    done = subprocess.run(command, cwd=divisi.folder, env=environment,
                          capture_output=True, text=True, timeout=60)
    assert "(exitcode: 4)" in done.stderr, done.stderr
    assert done.stderr.count("divisi: error") == 1
    assert "different artifacts (by SHA-256)" in done.stderr


#===----------------------------------------------------------------------===#
# What is missing
#===----------------------------------------------------------------------===#

def test_there_is_no_library_for_pmix(divisi, mlp, tmp_path):
    program = without_plugins(tmp_path)
    run = ("run", "m.divisi", "--inputs", mlp.inputs)
    for broken in (False, True):
        if broken:
            (tmp_path / "lib" / PLUGIN.name).symlink_to(
                BUILD / "lib" / "libdivisi_mpi.so")
        code, _, err = torchrun(divisi, 2, *run, program=program)
        assert code == 1 and "(exitcode: 9)" in err, err
        assert err.count("divisi: error") == 1
        assert ("processes of torchrun need a server of PMIx to find each "
                "other: ") in err
        assert "libdivisi_" in err
        assert "install it (Debian: libpmix-dev) and build divisi again" in err
    # Alone it is not needed.
    assert torchrun(divisi, 1, *run, program=program)[0] == 0


#===----------------------------------------------------------------------===#
# Failures
#===----------------------------------------------------------------------===#

def endless(divisi, inputs, **options):
    return Run(divisi, inputs.resolve(), launched=False, under=under_torchrun,
               **options)


@pytest.mark.sample("name", slow=True, first=True)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSTOP"])
def test_a_process_that_gets_a_signal(divisi, mlp, name, seed):
    number = getattr(signal, name)
    draw = random.Random(f"{name} {seed}")
    victim = draw.randrange(PROCESSES)
    run = endless(divisi, mlp.inputs, timeout=2000)
    pid = run.find(victim)
    time.sleep(draw.uniform(0, 1.2))
    os.kill(pid, number)
    code, err = run.end()
    assert code == 1, err
    if number == signal.SIGSTOP:
        assert "(exitcode: 9)" in err
        assert re.search(r"waited \d+ ms .*which did not come|"
                         r"did not (come|connect) within \d+ ms", err), err
    else:
        # Others may notice it before the launcher does.
        assert (f"rank {victim} failed (exitcode: {-number})" in err or
                f"LOCAL_RANK {victim} has ended while others waited" in err), err


def test_a_process_that_stops_is_named(divisi, mlp):
    run = endless(divisi, mlp.inputs, timeout=1000)
    pid = run.find_at_work(1)
    os.kill(pid, signal.SIGSTOP)
    code, err = run.end()
    assert code == 1 and "(exitcode: 9)" in err, err
    assert re.search(r"for rank (\d+, )*1(, \d+)*, which did not come", err)


def server_of(run):
    for pid in processes_below(run.process.pid):
        name = Path(f"/proc/{pid}/comm")
        if name.exists() and name.read_text() == "divisi-pmix\n":
            return pid
    raise AssertionError("there is no server")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_gets_a_signal(divisi, mlp, number):
    """If it is killed, MPI ends all; what is told to all does not end it."""
    run = endless(divisi, mlp.inputs)
    first = run.find_at_work(0)
    server = server_of(run)
    os.kill(server, number)
    if number == signal.SIGTERM:
        wait_for_work(first)
        assert run.process.poll() is None
        os.kill(first, number)
    code, err = run.end()
    assert code == 1, err
    if number == signal.SIGKILL:
        for folder in folders(server): # the one who would have is no more
            shutil.rmtree(folder)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_launcher_gets_a_signal(divisi, mlp, number):
    run = endless(divisi, mlp.inputs)
    run.find_at_work(PROCESSES - 1)
    run.process.send_signal(number)
    code, _ = run.end()
    assert code == (128 + number if number == signal.SIGINT else -number)
