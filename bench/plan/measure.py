#!/usr/bin/env python3
"""Measures how long plans of large models take, and how good they are.

    python bench/plan/measure.py gpt3-64

See README.md.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin" / "divisi"

# name: generator with its flags, cluster
CASES = {
    "gpt2-xl-8": ("gpt2.py --size xl --batch 8 --seq 1024", "dgx-h100:8"),
    "gpt3-64": ("gpt3.py", "dgx-h100:64"),
    "gpt3-64-perturbed": ("gpt3.py --perturb 1", "dgx-h100:64"),
    "gpt3-1024": ("gpt3.py", "dgx-h100:1024"),
    "gpt3-4096": ("gpt3.py", "dgx-h100:4096"),
    "llama-70b-64": ("llama.py", "dgx-h100:64"),
    "unet-8": ("unet.py", "dgx-h100:8"),
}
# The default, which a time limit alone would lift.
WORK = 20_000_000_000
SCALE = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64]


def generate(folder, command):
    script, *flags = command.split()
    model = folder / (re.sub(r"\W+", "-", command) + ".onnx")
    if not model.exists():
        subprocess.run([sys.executable, ROOT / "models" / script, *flags,
                        "--weightless", "-o", model], check=True,
                       stdout=subprocess.DEVNULL)
    return model


def recorded(plan, field):
    return re.search(rf"\b{field} = ([^ ,}}]+)", plan).group(1)


def measure(model, cluster, seconds):
    """A row of the table, and the predicted nanoseconds."""
    begin = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = subprocess.run(
        [PROGRAM, "plan", model, "--cluster", cluster, "--time-limit",
         str(seconds), "--work-limit", str(WORK), "-o", "-"],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    wall = time.monotonic() - begin
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    nanoseconds = int(recorded(done.stdout, "nanoseconds"))
    bound = int(recorded(done.stdout, "lower_bound"))
    grid = re.search(r"spmd.grid @\w+ (\([^)]*\))", done.stdout).group(1)
    # ru_maxrss is of the largest child so far.
    memory = f"{most / 1024:.0f}" if most > before else f"<{most / 1024:.0f}"
    return [f"{wall:.1f}", memory, f"{nanoseconds / 1e6:.3f}",
            f"{100 * (nanoseconds - bound) / max(nanoseconds, 1):.2f}", grid,
            recorded(done.stdout, "grids"),
            recorded(done.stdout, "ended").strip('"')], nanoseconds


def show(name, row):
    print("| " + " | ".join([name, *row]) + " |", flush=True)


def scale(folder, seconds):
    """The number of times that more devices took longer."""
    model = generate(folder, "gpt2.py --size small --batch 8 --seq 128")
    rises, least = 0, None
    for devices in SCALE:
        row, nanoseconds = measure(model, f"dgx-h100:{devices}", seconds)
        show(f"scale-{devices}", row)
        rises += least is not None and nanoseconds > least
        least = nanoseconds if least is None else min(least, nanoseconds)
    return rises


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help=", ".join([*CASES, "scale"]))
    parser.add_argument("--seconds", type=int, default=300)
    arguments = parser.parse_args()
    cases = arguments.cases or [*CASES, "scale"]
    if unknown := set(cases) - {*CASES, "scale"}:
        parser.error(f"no case is called {', '.join(sorted(unknown))}")
    show("case", ["s", "MB", "ms a run", "gap %", "grid", "grids", "ended"])
    show("---", ["---"] * 7)
    rises = 0
    with tempfile.TemporaryDirectory() as name:
        for case in cases:
            if case == "scale":
                rises = scale(Path(name), arguments.seconds)
                continue
            command, cluster = CASES[case]
            row, _ = measure(generate(Path(name), command), cluster,
                             arguments.seconds)
            show(case, row)
    return f"{rises} times more devices took longer" if rises else 0


if __name__ == "__main__":
    sys.exit(main())
