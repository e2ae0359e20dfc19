"""What a process of several runs out of in mid-run: a device that works, memory,
room on a disk.
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import BUILD
from launched import PATIENT, Run, mlp, needs_mpi, wait_for_work  # noqa: F401

pytestmark = [pytest.mark.as_written, needs_mpi]

FAILING = BUILD / "test" / "endtoend" / "libfailing-primitive.so"


#===----------------------------------------------------------------------===#
# A device
#===----------------------------------------------------------------------===#

@pytest.mark.parametrize("after", [100, 1001])
def test_a_kernel_that_fails(divisi, mlp, after):
    """In one process, when all are prepared: it says where, and all end without
    waiting."""
    wrap = (f'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then export FAIL_AFTER={after} '
            f'LD_PRELOAD={FAILING}; fi; exec "$@"')
    run = Run(divisi, mlp.inputs.resolve(), launched=False, wrap=wrap,
              timeout=PATIENT)
    began = time.monotonic()
    code, err = run.end()
    assert time.monotonic() - began < PATIENT / 1000, err
    assert code == 9, (code, err)
    assert re.search(r"instruction \d+ \(node_linear[^)]*\), rank 1: the kernel "
                     "failed; no result of this run is valid", err), err


#===----------------------------------------------------------------------===#
# Memory
#===----------------------------------------------------------------------===#

def test_memory_that_runs_out_in_mid_run(divisi):
    """Each run takes memory for its outputs, anew where they are large."""
    divisi.path("m.mlir").write_text("""
spmd.grid @g (x = 3)
func.func @forward(
    %x: tensor<36000000xf32> {nn.name = "x", spmd.place = #spmd.place<@g: [x]>})
    -> (tensor<36000000xf32> {nn.name = "y", spmd.place = #spmd.place<@g: [x]>}) {
  %0 = nn.relu %x {spmd.split = #spmd.split<@g: d0@x>}
      : (tensor<36000000xf32>) -> tensor<36000000xf32>
  return %0 : tensor<36000000xf32>
}
""")
    divisi("compile", "m.mlir", "-o", "m.divisi")
    np.savez(divisi.path("in.npz"), x=np.ones(36000000, np.float32))
    run = Run(divisi, divisi.path("in.npz"))
    victim = run.find(1)
    deadline = time.monotonic() + 20
    # It has the inputs, and has closed their file; it has the first outputs.
    while memory_of(victim) < 144e6 + 48e6 or "in.npz" in maps_of(victim):
        assert time.monotonic() < deadline, "it did not start"
        time.sleep(0.02)
    wait_for_work(victim, seconds=1) # past what reads the inputs
    resource.prlimit(victim, resource.RLIMIT_AS, (1 << 20, 1 << 20))
    code, err = run.end()
    assert code == 9, (code, err)
    assert "[1/3] divisi: error: no memory for 48000000 bytes" in err, err


def maps_of(pid):
    return Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")


def memory_of(pid):
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


#===----------------------------------------------------------------------===#
# Disks
#===----------------------------------------------------------------------===#

@pytest.fixture
def disk(divisi):
    """A file system of its own, of 64 MiB; fill() leaves no room on it."""
    folder = divisi.path("disk")
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "none", folder],
        capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(disk):
    with open(disk / "full", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 12))
        except OSError:
            pass
    assert shutil.disk_usage(disk).free == 0


@pytest.mark.parametrize("flag", ["-o", "--trace", "--timing-json"])
def test_a_disk_that_is_full(divisi, mlp, disk, flag):
    fill(disk)
    run = Run(divisi, mlp.inputs, repeat=1, timeout=PATIENT,
              options=(flag, disk / "y"))
    code, err = run.end()
    assert code == 3, (code, err)
    assert re.search(f"cannot write '{disk}/y(\\.\\d)?': No space left on device",
                     err), err
    assert [path.name for path in disk.iterdir()] == ["full"]


@pytest.mark.whole
def test_a_disk_that_is_full_when_last_steps_are_kept(divisi, mlp, disk):
    run = Run(divisi, mlp.inputs, home=disk)
    victim = run.find_at_work(1)
    fill(disk)
    os.kill(victim, signal.SIGSTOP)
    code, err = run.end()
    assert code == 9, (code, err)
    assert re.search("the last collectives of the devices could not be "
                     "recorded: cannot write "
                     f"'{disk}/divisi-last-steps-.*': No space left on device",
                     err), err
    assert not list(disk.glob("divisi-last-steps*"))
