#!/usr/bin/env python3
"""Measures what each ingredient of the default solver adds.

    python3 bench/iopddl/ablation.py --data FOLDER [--seconds T] [--loose]

Solves A, G, M and S (or --instances; with --loose those of that suite too) for
T seconds (or --work N matrix entries) each by the baseline, by single ingredients and by the default solver
with and without ingredients, has each answer and certificate judged by `divisi
solve --check`, and prints a Markdown table for docs/search.md:

    cost × best known, certified gap relative to the cost

Where no best cost is known, the least that any row reached stands for it. Ends
with 1 if an answer was refused, or a run failed otherwise than by finding none.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import derive
import run

# The name of a row, and the flags of `divisi solve` that make it.
ROWS = [
    ("`mcmc`", {"solver": "mcmc"}),
    ("`local`", {"solver": "local"}),
    ("`lagrangian`", {"solver": "lagrangian"}),
    ("`auto` without both", {"without": "neighbourhoods,branching"}),
    ("`auto` without branching", {"without": "branching"}),
    ("`auto` without neighbourhoods", {"without": "neighbourhoods"}),
    ("`auto`", {}),
]
NO_PLAN = 7


def parse(known):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", metavar="FOLDER",
                        help="of the instances (default: DIVISI_IOPDDL)")
    parser.add_argument("--instances", nargs="+", metavar="NAME",
                        choices=known, default=["A", "G", "M", "S"])
    parser.add_argument("--loose", action="store_true",
                        help="the suite of that name too")
    run.add_budget(parser, 20, "20")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="FILE", type=Path, help="where the "
                        "results go (default: bench/iopddl-ablation.json of "
                        "the build)")
    return parser.parse_args()


def measure(recipe, known, flags, arguments):
    chosen = argparse.Namespace(**{**vars(arguments), "solver": None,
                                   "without": None, **flags})
    return run.measure(recipe, known, chosen, None)


def is_good(result):
    return result.get("exit_code") == NO_PLAN or \
        result.get("check", {}).get("accepted", False)


def references(names, known, results):
    """The cost that counts as 1 of each instance; none if there is none."""
    best = {}
    for name in names:
        costs = [row[name]["answer"]["cost"] for row in results.values()
                 if "answer" in row[name] and is_good(row[name])]
        best[name] = run.best_known(known[name], known) or \
            min(costs, default=None)
    return best


def cell(result, best):
    if "answer" not in result:
        return "no answer" if is_good(result) else f'exit {result["exit_code"]}'
    if not is_good(result):
        return "REFUSED"
    return f'{run.times(result["answer"]["cost"] / best)}, ' \
        f'{run.percent(result["summary"]["gap"])}'


def print_table(names, known, results):
    best = references(names, known, results)
    head = ["", *names]
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row, of in results.items():
        cells = [cell(of[name], best[name]) for name in names]
        print("| " + " | ".join([row, *cells]) + " |")


def main():
    table = derive.table()
    known = {recipe["name"]: recipe for recipe in table["instances"]}
    arguments = parse(known)
    derive.find_data(arguments.data)
    if not run.PROGRAM.exists():
        sys.exit(f"error: {run.PROGRAM} is missing: run 'make build' first, or "
                 "name the build's folder in DIVISI_BUILD")
    names = list(arguments.instances)
    if arguments.loose:
        names += [name for name in table["suites"]["loose"]["instances"]
                  if name not in names]
    results = {row: {} for row, _ in ROWS}
    for name in names:
        for row, flags in ROWS:
            print(f"solving {name} by {row}", file=sys.stderr, flush=True)
            results[row][name] = measure(known[name], known, flags, arguments)
    print_table(names, known, results)
    report = {"seconds": None if arguments.work else arguments.seconds,
              "work": arguments.work, "results": results,
              "program": json.loads(subprocess.check_output(
                  [run.PROGRAM, "version", "--json"]))}
    path = arguments.json or run.BUILD / "bench" / "iopddl-ablation.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nwritten to {path}")
    return run.complain([(f'{result["name"]} by {row}', result)
                         for row, of in results.items()
                         for result in of.values() if not is_good(result)])


if __name__ == "__main__":
    sys.exit(main())
