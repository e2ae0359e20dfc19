#!/usr/bin/env python3
"""Compares a step's plan with those of configurations.txt.

    python bench/training/configurations.py [--model FILE.onnx] [--take N,...]

Each line there is completed by the planner under its constraints. Says how long
each step takes by prediction, and what does not fit; ends with 1 if one is faster
than the plan without constraints. GPT-3 1.3b, weightless, unless --model says
otherwise. Markdown to stdout.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "models"), str(ROOT / "bench" / "onnxruntime")]

import packages  # noqa: E402

packages.require("numpy", "onnx", "onnxruntime")

import peers  # noqa: E402
import report  # noqa: E402

STEP = ("--train", "--loss", "cross_entropy", "--shift-labels", "--optimizer",
        "adamw", "--lr", "1e-4")
NO_PLAN = 6


class Plan:
    """What the planner makes of a model under constraints."""

    def __init__(self, model, cluster, constraints, folder):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        target = folder / "plan.mlir"
        done = subprocess.run(
            [peers.PROGRAM, "plan", model, *STEP, "--cluster", cluster,
             *constraints, "-o", target], capture_output=True, text=True)
        self.cpu_seconds = (
            resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        self.code, self.said = done.returncode, done.stderr
        self.nanoseconds = None
        if done.returncode == 0:
            record = re.search(r"lower_bound = (\d+) .*? nanoseconds = (\d+) "
                               r".*?peak_bytes = (\d+)", target.read_text())
            self.bound, self.nanoseconds, self.bytes = map(int, record.groups())

    def row(self, name, best):
        if self.nanoseconds is None:
            why = self.said.strip().splitlines()[-1]
            return [name, "no plan", "", "", f"{self.cpu_seconds:.0f}", why]
        return [name, f"{self.nanoseconds / 1e6:.1f}",
                f"{self.nanoseconds / best.nanoseconds:.3f}",
                f"{self.bytes / 2**30:.1f}", f"{self.cpu_seconds:.0f}", ""]


def configurations():
    lines = (HERE / "configurations.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def made(folder):
    model = folder / "gpt3.onnx"
    subprocess.run([sys.executable, ROOT / "models" / "gpt3.py", "--size",
                    "1.3b", "--batch", "64", "--weightless", "-o", model],
                   check=True, stdout=subprocess.DEVNULL)
    return model


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path, metavar="FILE.onnx",
                        help="default: models/gpt3.py --size 1.3b --batch 64")
    parser.add_argument("--cluster", default="dgx-h100:64")
    parser.add_argument("--take", metavar="N,...", help="lines of "
                        "configurations.txt, from 1 on (default: all)",
                        type=lambda text: [int(n) - 1 for n in text.split(",")])
    return parser.parse_args()


def main():
    arguments = parse()
    lines = configurations()
    taken = arguments.take or range(len(lines))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = arguments.model or made(folder)
        best = Plan(model, arguments.cluster, (), folder)
        if best.nanoseconds is None:
            sys.exit(f"configurations.py: {best.said.strip()}")
        rows, faster = [best.row("found", best)], 0
        for line in (lines[n] for n in taken):
            print(line, file=sys.stderr)
            plan = Plan(model, arguments.cluster, line.split(), folder)
            rows.append(plan.row(line, best))
            if plan.nanoseconds is None and plan.code != NO_PLAN:
                sys.exit(f"configurations.py: {line}: {plan.said.strip()}")
            faster += (plan.nanoseconds or best.nanoseconds) < best.nanoseconds
    print(report.table(["constraints", "ms", "of the found", "GiB", "CPU s",
                        ""], rows))
    print(f"the found plan's bound is {best.bound / 1e6:.1f} ms, a gap of "
          f"{100 * (best.nanoseconds / best.bound - 1):.1f} %")
    if faster:
        sys.exit(f"configurations.py: {faster} are faster than the found plan")


if __name__ == "__main__":
    main()
