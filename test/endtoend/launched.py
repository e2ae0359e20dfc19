"""Processes that MPI connects, for tests: how they are started and found."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD

LIBRARY = BUILD / "lib" / "libdivisi_mpi.so"

needs_mpi = pytest.mark.skipif(
    not LIBRARY.exists() or not shutil.which("mpirun"),
    reason="there is no MPI here (Debian: libopenmpi-dev openmpi-bin)")


def under_mpirun(count, *command):
    """The command line by which a user starts processes himself."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return (["mpirun", "-n", str(count), "--oversubscribe", "--quiet",
             "--bind-to", "none", *map(str, command)],
            {**os.environ, **root})


def processes_below(pid):
    """All that `pid` has started, and these."""
    listing = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True,
                             text=True, check=True).stdout
    parents = {int(row.split()[0]): int(row.split()[1])
               for row in listing.splitlines()}
    below = {pid}
    while True:
        more = {p for p, parent in parents.items() if parent in below} | below
        if more == below:
            return below - {pid}
        below = more


def rank_of(pid):
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        found = [v for v in variables if v.startswith(b"OMPI_COMM_WORLD_RANK=")]
        return int(found[0].split(b"=")[1]) if found else None
    except OSError:
        return None


@pytest.fixture
def mlp(divisi, generated):
    """An artifact for four devices, m.divisi; returns the model."""
    made = generated("mlp.py")
    divisi("compile", made.onnx, "--devices", 4, "-o", "m.divisi")
    return made
