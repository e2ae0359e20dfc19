"""Several processes, for tests: how they are started and found."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import BUILD, PROGRAM

LIBRARY = BUILD / "lib" / "libdivisi_mpi.so"

PROCESSES = 3
# Of the rendezvous of processes, where one is stopped.
TIMEOUT = 4000
# Where nobody has to wait for a time-out.
PATIENT = 20000
# To end all processes, on a machine that does other things, too.
SLACK = 15
# What `run --verbose` says of a device before it runs.
BEGUN = "divisi: note: device "

needs_mpi = pytest.mark.skipif(
    not LIBRARY.exists() or not shutil.which("mpirun"),
    reason="there is no MPI here (Debian: libopenmpi-dev openmpi-bin)")


# Of a processor, in which a small model runs more than once.
SOME_RUNS = 0.2


def wait_until_begun(stderr):
    """Of a run with --verbose."""
    assert any(BEGUN in line for line in iter(stderr.readline, ""))


def seconds_of(pid):
    """Of a processor, that the threads of a process have used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_work(*pids, seconds=SOME_RUNS):
    """Until the processes have used so much more of a processor, together."""
    enough = sum(map(seconds_of, pids)) + seconds * len(pids)
    deadline = time.monotonic() + PATIENT / 1000
    while sum(map(seconds_of, pids)) < enough:
        assert time.monotonic() < deadline, "it does not work"
        time.sleep(0.01)


def under_mpirun(count, *command):
    """The command line by which a user starts processes himself."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return (["mpirun", "-n", str(count), "--oversubscribe", "--quiet",
             "--bind-to", "none", *map(str, command)],
            {**os.environ, **root})


def under_torchrun(count, *command):
    """The same by a stand-in for torchrun; its options may stand in front."""
    script = Path(__file__).with_name("elastic.py")
    return ([sys.executable, str(script), "-n", str(count),
             *map(str, command)],
            dict(os.environ))


def without_plugins(folder):
    """divisi-run with its kernels, beneath `folder`; nothing lies beside them
    that connects processes."""
    for name in ("libexec/divisi-run", "lib/libdnnl.so.3"):
        (folder / name).parent.mkdir()
        shutil.copy(BUILD / name, folder / name)
    return folder / "libexec" / "divisi-run"


def processes_below(pid):
    """All that `pid` has started, and these."""
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has ended.
        parents[int(file.parent.name)] = int(fields[1])
    below = {pid}
    while True:
        more = {p for p, parent in parents.items() if parent in below} | below
        if more == below:
            return below - {pid}
        below = more


def rank_of(pid):
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        found = [v for v in variables
                 if v.startswith((b"OMPI_COMM_WORLD_RANK=", b"RANK="))]
        return int(found[0].split(b"=")[1]) if found else None
    except OSError:
        return None


class Run:
    """A run in several processes, by default one that does not end by itself.
    """

    def __init__(self, divisi, inputs, launched=True, wrap=None,
                 repeat=10**9, timeout=TIMEOUT, options=("-o", "y.npz"),
                 home=None, processes=PROCESSES, under=under_mpirun):
        self.folder = divisi.folder
        self.processes = processes
        command = [PROGRAM, "run", "m.divisi", "--inputs", inputs, "--repeat",
                   repeat, "--timeout", timeout, "--verbose", *options]
        environment = dict(os.environ)
        if launched:
            command += ["--launch", processes]
        else:
            command = ["bash", "-c", wrap, "bash", *command] if wrap else command
            command, environment = under(processes, *command)
        # Where processes write what they did last.
        home = home or self.folder / "temporary"
        home.mkdir(exist_ok=True)
        environment["TMPDIR"] = str(home)
        self.process = subprocess.Popen(
            [str(part) for part in command], cwd=self.folder, text=True,
            env=environment, stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL)
        self.seen = set()
        self.lines = []
        self.reader = threading.Thread(
            target=lambda: self.lines.extend(iter(self.process.stderr.readline,
                                                  "")))
        self.reader.start()

    def find(self, number):
        """The oldest process of that number, once there is one."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            self.seen |= processes_below(self.process.pid)
            own = [pid for pid in self.seen if rank_of(pid) == number]
            if own:
                return min(own)
            time.sleep(0.01)
        raise AssertionError(f"process {number} did not start")

    def find_at_work(self, number):
        """The same, when all processes have begun and this one has run the
        model."""
        found = self.find(number)
        deadline = time.monotonic() + PATIENT / 1000
        while len({line.split()[0] for line in list(self.lines)
                   if BEGUN in line}) < self.processes:
            assert time.monotonic() < deadline, "".join(self.lines)
            time.sleep(0.01)
        wait_for_work(found)
        self.seen |= processes_below(self.process.pid)
        return found

    def end(self):
        """The exit code and stderr; no process is left, nor an output."""
        self.seen |= processes_below(self.process.pid)
        try:
            self.process.wait(timeout=PATIENT / 1000 + SLACK)
        except subprocess.TimeoutExpired:
            for pid in processes_below(self.process.pid):
                os.kill(pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            raise AssertionError("it did not end:\n" + self.errors()) from None
        err = self.errors()
        deadline = time.monotonic() + 10
        while any(rank_of(pid) is not None for pid in self.seen):
            assert time.monotonic() < deadline, "processes are left"
            time.sleep(0.05)
        assert not list(self.folder.glob("y.npz*")), "half of an output"
        assert not list(self.folder.glob("*.tmp*"))
        return self.process.returncode, err

    def errors(self):
        """All of stderr, when whoever writes there has ended."""
        self.reader.join(SLACK)
        return "".join(self.lines)


@pytest.fixture
def mlp(divisi, compiled_mlp):
    """The model; a copy of its artifact is m.divisi."""
    made, artifact = compiled_mlp
    shutil.copy(artifact, divisi.path("m.divisi"))
    return made
