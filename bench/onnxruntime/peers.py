"""What is timed: each peer runs a model in processes of its own.

A peer's `start` runs a case once and gives a Start; `round` then gives times
of single runs. Peers take turns, and their processes end before another's
begin, but for those that compile long (`stays`).
"""

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import environment
import names

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin" / "divisi"
WARM_UP = 3
LIMIT = 900  # seconds of anything that is started

# A process inherits the peak memory of the one that it was forked from, so a
# small one stands between this and what is measured.
LAUNCHER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


class Failure(Exception):
    """A peer does not do what it is asked; the text is its own."""


@dataclass
class Case:
    name: str
    model: Path
    inputs: Path
    expected: Path | None = None  # what PyTorch computes
    weights: Path | None = None   # for peers that do not read ONNX


@dataclass
class Start:
    seconds: float        # from the start of a process until it has results
    load_seconds: float
    first_seconds: float  # of the first run
    peak_mib: float
    outputs: dict = field(repr=False)
    settings: dict = field(default_factory=dict)


def divisi(*arguments):
    """Runs it; returns what it printed, its seconds and its peak in MiB."""
    begin = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-c", LAUNCHER, PROGRAM, *map(str, arguments)],
            capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise Failure(f"divisi {arguments[0]}: no end after {LIMIT} s")
    seconds = time.monotonic() - begin
    *said, peak = done.stderr.splitlines()
    if done.returncode:
        errors = [line for line in said if "error" in line] or said[-1:]
        raise Failure(f"divisi {arguments[0]}: exit code {done.returncode}: "
                      + " / ".join(errors))
    return done.stdout, seconds, int(peak) / 1024


class Peer:
    """What Divisi and the others have in common."""

    stays = False
    # Of the largest value, and of each.
    tolerance = (1e-4, 1e-3)

    def skips(self, case):
        """Why it is not asked to run the case, or None."""
        return None

    def prepare(self, case, folder):
        self.facts = {}

    def close(self):
        pass


class Divisi(Peer):

    def __init__(self, devices, threads, how="", flags=(), run_flags=()):
        """`how` says what the flags mean, of its compiler and of its runs."""
        self.devices, self.threads = devices, threads
        self.flags, self.run_flags = flags, run_flags
        self.name = " ".join(["divisi", f"{devices}x{threads}", how]).strip()
        self.facts = {}

    def artifact(self, case, folder):
        return folder / f"{case.name} {self.name}.divisi"

    def prepare(self, case, folder):
        artifact = self.artifact(case, folder)
        _, seconds, peak = divisi(
            "compile", case.model, "--shapes-from", case.inputs, "--devices",
            self.devices, *self.flags, "-o", artifact)
        self.facts = {"compile_seconds": seconds, "compile_peak_mib": peak,
                      "artifact_mib": artifact.stat().st_size / 2**20}

    def start(self, case, folder):
        """What it takes to load it does not say: all but the run is counted,
        files and the process's own start too."""
        outputs, times = folder / "divisi.npz", folder / "divisi.json"
        _, seconds, peak = divisi(
            "run", self.artifact(case, folder), "--inputs", case.inputs, "-o",
            outputs, "--threads-per-device", self.threads, *self.run_flags,
            "--timing-json", times)
        first, = json.loads(times.read_text())["ns"]
        return Start(seconds, seconds - first / 1e9, first / 1e9, peak,
                     dict(np.load(outputs)))

    def round(self, case, folder, runs):
        said, _, _ = divisi(
            "bench", self.artifact(case, folder), "--inputs", case.inputs,
            "--threads-per-device", self.threads, *self.run_flags, "--warm-up",
            WARM_UP, "--repeat", runs, "--json")
        return json.loads(said)["runs"][0]["ns"]


class DivisiInBF16(Divisi):
    """What its planner finds safe in bf16 is computed so."""

    # That of `divisi check`.
    tolerance = (1.6e-2, 5e-2)

    def __init__(self, threads):
        super().__init__(1, threads, "bf16", ("--precision", "bf16"))

    def skips(self, case):
        if case.name in names.QUANTIZED:
            return "computes in integers"
        flags = Path("/proc/cpuinfo").read_text().split()
        if not {"avx512_bf16", "amx_bf16"} & set(flags):
            return "this processor does not multiply bf16"
        return None


# What makes programs fast, and the flags to go without it, of the compiler and
# of runs.
ABLATED = {
    "folded scales": (("--leave-out", "nn-fold-scales"), ()),
    "channels last": (("--leave-out", "choose-formats"), ()),
    "activations": (("--leave-out", "apply-rules"), ()),
    "attention": (("--leave-out", "nn-fuse-attention"), ()),
    "integers": (("--leave-out", "nn-integer-products"), ()),
    "fusion": (("--no-fuse",), ()),
    "generated code": (("--native", "off"), ()),
    "packing": ((), ("--no-pack",)),
}


class Worker(Peer):
    """A peer in Python: see worker.py."""

    def __init__(self, name, python, script):
        self.name, self.python, self.script = name, python, script
        self.facts, self.process = {}, None

    def arguments(self, case, outputs):
        raise NotImplementedError

    def hear(self):
        limit = threading.Timer(LIMIT, self.process.kill)
        limit.start()
        line = self.process.stdout.readline()
        limit.cancel()
        if line:
            return json.loads(line)
        self.process.wait()
        self.log.seek(0)
        last = [line for line in self.log.read().splitlines() if line.strip()]
        raise Failure(f"{self.name}: exit code {self.process.returncode}: "
                      + (last[-1] if last else "no message"))

    def ask(self, runs):
        self.process.stdin.write(f"{WARM_UP if runs else 0} {runs}\n")
        self.process.stdin.flush()
        return self.hear()

    def start(self, case, folder):
        self.close()
        outputs = folder / "worker.npz"
        self.log = open(folder / "worker.log", "w+")
        begin = time.monotonic()
        self.process = subprocess.Popen(
            [self.python, HERE / self.script,
             *map(str, self.arguments(case, outputs))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            text=True)
        said = self.hear()
        self.hear()
        seconds = time.monotonic() - begin
        return Start(seconds, said["load_ns"] / 1e9, said["first_ns"] / 1e9,
                     self.ask(0)["peak_mib"], dict(np.load(outputs)),
                     said["settings"])

    def round(self, case, folder, runs):
        return self.ask(runs)["ns"]

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait(LIMIT)
            self.process.stdout.close()
            self.log.close()
            self.process = None


class OnnxRuntime(Worker):
    def __init__(self, threads, level="ORT_ENABLE_ALL"):
        super().__init__("onnxruntime", sys.executable,
                         "onnxruntime_worker.py")
        self.threads, self.level = threads, level

    def arguments(self, case, outputs):
        return case.model, case.inputs, outputs, self.threads, self.level


class Elsewhere(Worker):
    """A worker in an environment that is made when a model asks for it."""

    stays = True

    def __init__(self, name, script, requirements, python=None):
        super().__init__(name, python, script)
        self.requirements, self.missing = requirements, None

    def skips(self, case):
        if not self.python and not self.missing:
            try:
                self.python = environment.ensure(self.requirements)
            except environment.Unavailable as error:
                self.missing = str(error)
        return self.missing


class Inductor(Elsewhere):
    def __init__(self, python, threads):
        super().__init__("inductor", "inductor_worker.py",
                         environment.REQUIREMENTS, python)
        self.threads = threads

    def skips(self, case):
        if case.name not in names.MODELS:
            return "not a module of PyTorch"
        return super().skips(case)

    def arguments(self, case, outputs):
        return case.name, case.inputs, outputs, self.threads


class Jax(Elsewhere):
    def __init__(self, devices):
        super().__init__(f"jax {devices}x1", "jax_worker.py",
                         environment.JAX_REQUIREMENTS)
        self.devices = devices

    def skips(self, case):
        if case.weights is None:
            return "written for spmd-* alone"
        return super().skips(case)

    def arguments(self, case, outputs):
        return case.name, case.weights, case.inputs, outputs, self.devices
