"""Whatever happens to one of several processes, all of them end, soon, with a
message that says what it was, and leave no process and no half of an output.
"""

import json
import os
import random
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM
from launched import (PATIENT, PROCESSES, TIMEOUT, Run, mlp,  # noqa: F401
                      needs_mpi, processes_below)

pytestmark = [pytest.mark.as_written, needs_mpi]

MOMENTS = 20


#===----------------------------------------------------------------------===#
# Signals, at any moment
#===----------------------------------------------------------------------===#

SIGNALS = {
    "killed": (signal.SIGKILL, r"a process was ended by signal 9 \(Killed\)"),
    "stopped": (signal.SIGSTOP, r"waited \d+ ms .*which did not come|"
                r"did not connect within \d+ ms, while MPI|"
                r"the rendezvous of processes"),
    "crashed": (signal.SIGSEGV, r"a process was ended by signal 11 \("),
    "aborted": (signal.SIGABRT, r"a process was ended by signal 6 \("),
    "terminated": (signal.SIGTERM, r"a process was ended by signal 15 \("),
}


@pytest.mark.sample("name", slow=True, first=True)
@pytest.mark.parametrize("seed", range(MOMENTS))
@pytest.mark.parametrize("name", SIGNALS)
def test_a_process_that_gets_a_signal(divisi, mlp, name, seed):
    number, message = SIGNALS[name]
    draw = random.Random(f"{name} {seed}")
    # Who is stopped lets others wait; who ends does not.
    run = Run(divisi, mlp.inputs,
              timeout=TIMEOUT if name == "stopped" else PATIENT)
    victim = run.find(draw.randrange(PROCESSES))
    time.sleep(draw.uniform(0, 1.2))
    os.kill(victim, number)
    code, err = run.end()
    assert code == 9, err
    assert re.search(message, err), err


@pytest.mark.sample(first=True)
@pytest.mark.parametrize("seed", range(3))
def test_an_interruption_of_one_process_ends_all(divisi, mlp, seed):
    run = Run(divisi, mlp.inputs)
    victim = run.find(seed)
    time.sleep(0.3 * seed)
    os.kill(victim, signal.SIGINT)
    code, err = run.end()
    assert code == 9 and "a process was ended by signal 2 (" in err, err


def test_a_crash_says_whose_bug_it_is_at_once(divisi):
    """It asks no other program for names, which may take long."""
    os.mkfifo(divisi.path("never.onnx")) # whose end never comes
    asked = divisi.path("llvm-symbolizer")
    asked.write_text(f"#!/bin/sh\nsleep {2 * PATIENT // 1000}\n")
    asked.chmod(0o755)
    crashed = subprocess.Popen(
        [PROGRAM, "compile", "never.onnx", "-o", "m"], cwd=divisi.folder,
        stderr=subprocess.PIPE, env=os.environ | {
            "PATH": f"{divisi.folder}:{os.environ['PATH']}",
            "LLVM_SYMBOLIZER_PATH": str(asked)})
    with open(divisi.path("never.onnx"), "wb"): # waits for who reads it
        crashed.send_signal(signal.SIGSEGV)
        err = crashed.communicate(timeout=PATIENT / 1000)[1].decode()
    assert crashed.returncode == -signal.SIGSEGV, err
    assert ("divisi: a crash is a bug of Divisi; please report it with the "
            "command, its input and this stack: ") in err.replace("\n", " ")


def test_what_was_done_last_is_kept(divisi, mlp):
    run = Run(divisi, mlp.inputs)
    victim = run.find_at_work(1)
    # Somebody has put links where files could be expected.
    precious = divisi.path("precious")
    precious.write_text("precious")
    for process in processes_below(run.process.pid):
        (divisi.path("temporary") / f"divisi-last-steps-{process}.json"
         ).symlink_to(precious)
    os.kill(victim, signal.SIGSTOP)
    code, err = run.end()
    assert code == 9, err
    assert precious.read_text() == "precious"
    paths = re.findall(r"the last collectives of the devices are recorded in "
                       r"'(.*)'", err)
    waiting = set()
    for path in paths:
        text = Path(path).read_text(encoding="utf-8")
        assert ', "what": "end of the entry"' in text
        kept = json.loads(text)
        for rank in kept["ranks"]:
            if rank["rank"] == 1: # which may have gone on for a moment
                continue
            waiting.add(rank["rank"])
            assert 2 < len(rank["steps"]) < 64
            runs = [step["run"] for step in rank["steps"]]
            assert runs == sorted(runs) and runs[-1] > 0
            # It has come to a step that was not done: the end of an entry, in
            # which all meet.
            last = rank["steps"][-1]
            assert last["event"] == "came"
            assert last["us_before"] >= TIMEOUT * 1000
            assert rank["steps"][-2]["event"] == "done"
    assert waiting, err


def test_what_was_done_last_cannot_be_kept(divisi, mlp):
    run = Run(divisi, mlp.inputs.resolve(), launched=False,
              wrap='export TMPDIR=/absent; exec "$@"')
    victim = run.find_at_work(1)
    os.kill(victim, signal.SIGSTOP)
    code, err = run.end()
    assert code == 9, err
    assert ("the last collectives of the devices could not be recorded: "
            "cannot write "
            "'/absent/divisi-last-steps-") in err


def child_named(run, name):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for pid in processes_below(run.process.pid):
            try:
                text = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if text.split(b"\0")[0].endswith(name):
                return pid
    raise AssertionError(f"no {name!r}")


def test_mpirun_is_killed(divisi, mlp):
    run = Run(divisi, mlp.inputs)
    run.find_at_work(PROCESSES - 1)
    os.kill(child_named(run, b"mpirun"), signal.SIGKILL)
    code, err = run.end()
    assert code == 9 and "ended by signal 9" in err, err


def test_the_launching_program_is_killed(divisi, mlp):
    run = Run(divisi, mlp.inputs)
    run.find_at_work(PROCESSES - 1)
    os.kill(run.process.pid, signal.SIGKILL)
    code, _ = run.end()
    assert code == -signal.SIGKILL


#===----------------------------------------------------------------------===#
# What a process meets
#===----------------------------------------------------------------------===#

def in_one(action):
    """A shell's program: process 1 does `action` before it becomes divisi."""
    return f'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then {action}; fi; exec "$@"'


@dataclass(frozen=True)
class Trouble:
    kind: str      # Of which one is tried in a sample.
    action: str    # What process 1 does.
    codes: tuple   # Of mpirun, which is that of the first to end.
    message: str   # In stderr.


DAMAGE = ("mkdir -p other; cp m.divisi other; cd other; size=$(stat -c %s "
          "m.divisi); printf x | dd of=m.divisi bs=1 seek=$((size - {})) "
          "conv=notrunc 2>/dev/null")

TROUBLES = {
    "exits": Trouble("end", "exit 0", (9,), r"did not (come|connect)"),
    "fails": Trouble("end", "exit 3", (3, 9), ""),
    "no memory": Trouble("limit", "ulimit -v 120000", (1, 3, 5, 9, 127, 134), ""),
    "no files": Trouble("limit", "ulimit -n 4", (1, 3, 9), ""),
    "no artifact": Trouble("file", "mkdir -p other; cd other", (3, 9),
                           "process 1: cannot read 'm.divisi'"),
    "an artifact that is cut short": Trouble(
        "file", "mkdir -p other; head -c 100000 m.divisi > other/m.divisi; cd other",
        (4,), "process 1: .*m.divisi.*truncated"),
    "damaged weights": Trouble("file", DAMAGE.format(5000), (4,),
                               "process 1: .*(CRC|damaged|checksum)"),
}


@pytest.mark.sample("kind")
@pytest.mark.parametrize("kind, name", [
    (trouble.kind, name) for name, trouble in TROUBLES.items()])
def test_a_process_is_in_trouble(divisi, mlp, kind, name):
    trouble = TROUBLES[name]
    run = Run(divisi, mlp.inputs.resolve(), launched=False,
              wrap=in_one(trouble.action),
              timeout=TIMEOUT if 9 in trouble.codes else PATIENT)
    code, err = run.end()
    assert code in trouble.codes, (code, err)
    assert re.search(trouble.message, err), err


def test_a_file_system_that_is_full(divisi, mlp):
    """Of the first process, which has the outputs."""
    limited = 'ulimit -f 1; trap "" XFSZ; exec "$@"'
    run = Run(divisi, mlp.inputs.resolve(), launched=False, wrap=limited,
              repeat=1, timeout=PATIENT)
    code, err = run.end()
    assert code == 3, (code, err)
    assert "cannot write 'y.npz': File too large" in err, err


def test_an_index_that_one_process_meets(divisi):
    """All end as one does whose data is wrong."""
    divisi.path("m.mlir").write_text("""
spmd.grid @g (x = 3)
func.func @forward(
    %x: tensor<9x3xf32> {nn.name = "x", spmd.place = #spmd.place<@g: [*, *]>},
    %i: tensor<6xi64> {nn.name = "i", spmd.place = #spmd.place<@g: [x]>})
    -> (tensor<6x3xf32> {nn.name = "y", spmd.place = #spmd.place<@g: [x, *]>}) {
  %0 = nn.gather %x, %i {axis = 0 : i64, batch_dims = 0 : i64}
      : (tensor<9x3xf32>, tensor<6xi64>) -> tensor<6x3xf32> loc("rows")
  return %0 : tensor<6x3xf32>
}
""")
    divisi("compile", "m.mlir", "-o", "m.divisi")
    np.savez(divisi.path("in.npz"), x=np.ones((9, 3), np.float32),
             i=np.array([0, 1, 2, 99, 4, 5]))
    run = Run(divisi, divisi.path("in.npz"), timeout=PATIENT)
    code, err = run.end()
    assert code == 4, (code, err)
    assert "node 'rows' (nn.gather): index 99 at [3]" in err, err
