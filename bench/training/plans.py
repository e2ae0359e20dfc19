"""Plans of training steps under constraints, and the models they are of."""

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "models"), str(ROOT / "bench" / "onnxruntime")]

import packages  # noqa: E402

packages.require("numpy", "onnx", "onnxruntime")

import peers  # noqa: E402

STEP = ("--train", "--loss", "cross_entropy", "--shift-labels", "--optimizer",
        "adamw", "--lr", "1e-4")
NO_PLAN = 6


def lines_of(path):
    """A list's lines without its remarks."""
    lines = path.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def batches_of(constraints):
    """How many micro-batches these constraints ask for."""
    if "--micro-batches" not in constraints:
        return 1
    given = constraints[constraints.index("--micro-batches") + 1]
    return int(given) if given != "auto" else 1


class Model:
    """Weightless models that `words`, a generator and its options, make."""

    def __init__(self, words, folder):
        self.words, self.folder = words, folder

    def of_batch(self, batch):
        path = self.folder / f"batch{batch}.onnx"
        if not path.exists():
            generator, *options = self.words
            subprocess.run(
                [sys.executable, ROOT / "models" / generator, *options,
                 "--batch", str(batch), "--weightless", "-o", path],
                check=True, stdout=subprocess.DEVNULL)
        return path


def simulated(plan):
    """What a run of it takes, in nanoseconds."""
    done = subprocess.run([peers.PROGRAM, "simulate", plan, "--json"],
                          capture_output=True, text=True, check=True)
    return sum(entry["nanoseconds"]
               for entry in json.loads(done.stdout)["entries"])


class Plan:
    """What the planner makes of a model under constraints."""

    def __init__(self, model, cluster, constraints, folder, seconds=None,
                 step=STEP):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        target = folder / "plan.mlir"
        self.nanoseconds = None
        try:
            done = subprocess.run(
                [peers.PROGRAM, "plan", model, *step, "--cluster", cluster,
                 *constraints, "-o", target], capture_output=True, text=True,
                timeout=seconds)
            self.code, self.said = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            self.code, self.said = NO_PLAN, f"not within {seconds} s"
        self.cpu_seconds = (
            resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        if self.code == 0:
            self._read(target)

    def _read(self, target):
        """The plan's record: `nanoseconds` is a sum, and `lower_bound` its;
        `simulated`, where the planner had it, counts what overlaps."""
        record = re.search(r"divisi\.plan = \{.*?\}",
                           target.read_text()).group()
        known = {name: int(value) for name, value in
                 re.findall(r"(\w+) = (\d+) : i64", record)}
        self.sum, self.bytes = known["nanoseconds"], known["peak_bytes"]
        self.bound = known.get("lower_bound")
        self.nanoseconds = known.get("simulated") or simulated(target)

    def why(self):
        return self.said.strip().splitlines()[-1]
