#!/usr/bin/env python3
"""Compares a step's plan with those of configurations.txt, or of --list FILE.

    python bench/training/configurations.py [--list FILE] [--take N,...]

Each line there is completed by the planner under its constraints. Says how long
each step takes by prediction, and what does not fit; ends with 1 if one is faster
than the plan without constraints. GPT-3 1.3b, weightless, unless --model says
otherwise. All steps take the same samples: with `--micro-batches N`, the model's
batch is an Nth of --batch. Markdown to stdout.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import plans
import report

HERE = Path(__file__).resolve().parent


def row(name, plan, best):
    cpu = f"{plan.cpu_seconds:.0f}"
    if plan.nanoseconds is None:
        return [name, "no plan", "", "", cpu, plan.why()]
    return [name, f"{plan.nanoseconds / 1e6:.1f}",
            f"{plan.nanoseconds / best.nanoseconds:.3f}",
            f"{plan.bytes / 2**30:.1f}", cpu, ""]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", metavar="'GENERATOR OPTION...'",
                        default="gpt3.py --size 1.3b",
                        help="default: %(default)s")
    parser.add_argument("--batch", type=int, default=64, metavar="N",
                        help="samples of a step (default: %(default)s)")
    parser.add_argument("--cluster", default="dgx-h100:64")
    parser.add_argument("--list", type=Path, metavar="FILE",
                        default=HERE / "configurations.txt")
    parser.add_argument("--best", default="", metavar="'OPTION...'",
                        help="the plan that is compared with them (default: "
                        "one without constraints)")
    parser.add_argument("--seconds", type=float, metavar="N",
                        help="leave out what takes longer to plan")
    parser.add_argument("--take", metavar="N,...", help="lines of the list, "
                        "from 1 on (default: all)",
                        type=lambda text: [int(n) - 1 for n in text.split(",")])
    return parser.parse_args()


def main():
    arguments = parse()
    lines = plans.lines_of(arguments.list)
    taken = arguments.take or range(len(lines))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = plans.Model(arguments.model.split(), folder)

        def plan_of(line):
            print(line or "no constraints", file=sys.stderr)
            constraints = line.split()
            batch = arguments.batch // plans.batches_of(constraints)
            return plans.Plan(model.of_batch(batch), arguments.cluster,
                              constraints, folder, arguments.seconds)

        best = plan_of(arguments.best)
        if best.nanoseconds is None:
            sys.exit(f"configurations.py: {best.said.strip()}")
        rows, faster, wrong = [row("found", best, best)], 0, []
        for line in (lines[n] for n in taken):
            plan = plan_of(line)
            rows.append(row(line, plan, best))
            print(*rows[-1][1:], file=sys.stderr)
            if plan.nanoseconds is None and plan.code != plans.NO_PLAN:
                wrong.append(f"{line}: {plan.said.strip()}")
            faster += (plan.nanoseconds or best.nanoseconds) < best.nanoseconds
    print(report.table(["constraints", "ms", "of the found", "GiB", "CPU s",
                        ""], rows))
    if best.bound:
        print(f"the found plan's bound is {best.bound / 1e6:.1f} ms, a gap of "
              f"{100 * (best.sum / best.bound - 1):.1f} %")
    if wrong:
        sys.exit("configurations.py: " + "\n".join(wrong))
    if faster:
        sys.exit(f"configurations.py: {faster} are faster than the found plan")


if __name__ == "__main__":
    main()
