"""What torchrun_test.py shows with a stand-in, with torchrun.

PyTorch is no part of the project's Python; DIVISI_TORCH names one that has it.
"""

import os
import signal
import subprocess
import sys

import pytest
from conftest import PROGRAM
from hosts_test import assert_the_bits_of_one_process
from launched import Run, mlp, needs_mpi  # noqa: F401
from torchrun_test import nothing_is_left  # noqa: F401

TORCH = os.environ.get("DIVISI_TORCH", sys.executable)


def has_torch():
    done = subprocess.run([TORCH, "-c", "import torch.distributed.run"],
                          capture_output=True)
    return done.returncode == 0


pytestmark = [needs_mpi, pytest.mark.skipif(
    not has_torch(), reason="no PyTorch: DIVISI_TORCH names a Python that has "
    "it")]


def under_torchrun(count, *command):
    return ([TORCH, "-m", "torch.distributed.run", "--no-python",
             "--standalone", "--nproc-per-node", str(count),
             *map(str, command)], dict(os.environ))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_bits_of_one_process(divisi, mlp, count):
    run = ("run", "m.divisi", "--inputs", mlp.inputs)
    divisi(*run, "-o", "one.npz")
    command, environment = under_torchrun(count, PROGRAM, *run, "-o", "all.npz")
    done = subprocess.run(command, cwd=divisi.folder, env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert_the_bits_of_one_process(divisi, "all.npz")


@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_is_killed(divisi, mlp, victim):
    run = Run(divisi, mlp.inputs.resolve(), launched=False,
              under=under_torchrun)
    pid = run.find_at_work(victim)
    os.kill(pid, signal.SIGKILL)
    code, err = run.end()
    assert code == 1, err
    assert f"(exitcode: -9) local_rank: {victim}" in err


def groups_of(divisi, *command, options=()):
    """Two torchruns of two processes each, as on two hosts: [(code, stderr)]."""
    started = []
    for group in range(2):
        line, environment = under_torchrun(2, *command)
        line[line.index("--standalone")] = "--nnodes=2"
        line[3:3] = [option.format(group=group) for option in options]
        started.append(subprocess.Popen(
            line, cwd=divisi.folder, text=True, stderr=subprocess.PIPE,
            env={**environment, "OMPI_MCA_btl_tcp_if_include": "lo"}))
    errors = [process.communicate(timeout=120)[1] for process in started]
    return [(p.returncode, err) for p, err in zip(started, errors)]


PORT = 20000 + os.getpid() % 30000
STATIC = ("--node-rank={group}", "--master-addr=127.0.0.1",
          f"--master-port={PORT}")
DYNAMIC = ("--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{PORT + 2}",
           "--rdzv-id=divisi")


@pytest.mark.parametrize("options", [STATIC, DYNAMIC], ids=["static", "c10d"])
def test_two_groups_of_processes(divisi, mlp, options):
    run = ("run", "m.divisi", "--inputs", mlp.inputs)
    divisi(*run, "-o", "one.npz")
    for code, err in groups_of(divisi, PROGRAM, *run, "-o", "all.npz",
                               options=options):
        assert code == 0, err
    assert_the_bits_of_one_process(divisi, "all.npz")


@pytest.mark.parametrize("options", [None, DYNAMIC], ids=["one", "c10d"])
def test_processes_are_started_again(divisi, mlp, options):
    """The second time all come; the first left nothing in their way."""
    first = ('if [ "$TORCHELASTIC_RESTART_COUNT$RANK" = 01 ]; '
             'then sleep 0.5; exit 3; fi; exec "$0" "$@"')
    command = ("bash", "-c", first, PROGRAM, "run", "m.divisi", "--inputs",
               mlp.inputs, "-o", "all.npz")
    if options:
        ends = groups_of(divisi, *command,
                         options=(*options, "--max-restarts=1"))
    else:
        line, environment = under_torchrun(2, *command)
        line[3:3] = ["--max-restarts=1"]
        done = subprocess.run(line, cwd=divisi.folder, env=environment,
                              capture_output=True, text=True, timeout=120)
        ends = [(done.returncode, done.stderr)]
    assert all(code == 0 for code, _ in ends), ends
    assert any("wrote all.npz" in err for _, err in ends)
    assert all("divisi: error" not in err for _, err in ends), ends
