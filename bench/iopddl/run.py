#!/usr/bin/env python3
"""Measures `divisi solve` on the planning problems of the ASPLOS 2025 contest.

    python3 bench/iopddl/run.py --data FOLDER [--suite quick]

Solves each problem of a suite on two threads within a limit of seconds (or,
with --work, of matrix entries looked at, the same on every machine), has
`divisi solve --check` judge answer and certificate, prints a table, and writes
all that it holds, and more, as JSON. Seconds count from the start of the
process. README.md says what the suites are and where the data come from.

Ends with 1 if a run failed, or an answer was refused; a missed target is marked
in the table and is no failure.
"""

import argparse
import json
import math
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import derive

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin" / "divisi"
# Costs and gaps are compared after so many seconds, whatever the limit.
COMPARED_AT = 20


def ratio_gap(cost, bound):
    """Relative to the cost, as divisi prints it; the difference is exact."""
    return (cost - bound) / max(abs(cost), 1)


def run_until(command, gap):
    """Runs `divisi solve`; interrupts it once its progress says `gap`."""
    begin = time.monotonic()
    said = []
    # Not a pipe: it would fill while nobody reads it.
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out,
                                   stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            said.append(line)
            reached = re.search(r"gap ([\d.]+)%", line)
            if gap is not None and reached and float(reached[1]) / 100 <= gap:
                process.send_signal(signal.SIGINT)
                gap = None
        code = process.wait()
        out.seek(0)
        return code, out.read(), "".join(said), time.monotonic() - begin


def check(problem, solution):
    begin = time.monotonic()
    done = subprocess.run(
        [PROGRAM, "solve", "--check", "--json", problem, solution],
        capture_output=True, text=True)
    facts = json.loads(done.stdout) if done.returncode == 0 else {}
    return {"accepted": done.returncode == 0,
            "error": done.stderr.strip() or None,
            "seconds": time.monotonic() - begin,
            "steps": facts.get("certificate_steps"),
            "nodes": facts.get("certificate_nodes"),
            "bound": facts.get("bound")}


def first_time(trace, reached):
    return next((entry["seconds"] for entry in trace if reached(entry)), None)


def at(trace, seconds):
    """What was known then: the last entry so far."""
    known = [entry for entry in trace if entry["seconds"] <= seconds]
    return known[-1] if known else {}


def within_gap(entry, gap):
    return "cost" in entry and "bound" in entry and \
        ratio_gap(entry["cost"], entry["bound"]) <= gap


def summarize(answer, best):
    """What the table needs, of the solver's JSON."""
    trace = answer["trace"]
    compared = at(trace, COMPARED_AT)
    summary = {
        "first": answer.get("first_answer_seconds"),
        "gap_1_percent": first_time(trace, lambda e: within_gap(e, 0.01)),
        "gap": ratio_gap(answer["cost"], answer["bound"]),
        # Bounds on the way are what the solver said; the last is certified.
        "gap_20": ratio_gap(compared["cost"], compared["bound"])
        if {"cost", "bound"} <= compared.keys() else None,
        "overstated": any(entry.get("bound", answer["bound"]) >
                          answer["bound"] for entry in trace),
        "megabytes": answer["peak_memory_bytes"] / 1e6,
    }
    if best:
        def reaches(factor):
            return first_time(trace, lambda e: e.get("cost", math.inf) <=
                              factor * best)
        summary.update(near=reaches(1.01), best=reaches(1),
                       ratio=answer["cost"] / best,
                       ratio_20=compared["cost"] / best
                       if "cost" in compared else None)
    return summary


def best_known(recipe, known):
    if "best_known" in recipe:
        return recipe["best_known"]
    if "copies" in recipe:
        # Not proved to be the best of the copies together, but near: each copy
        # may take the best of one.
        return recipe["copies"] * known[recipe["of"]]["best_known"]
    return None


def measure(recipe, known, arguments, until_gap):
    problem = derive.derive(recipe, derive.find_data(arguments.data),
                            lambda path: print(f"making {path}", flush=True))
    folder = BUILD / "bench" / "iopddl"
    folder.mkdir(parents=True, exist_ok=True)
    solution = folder / f'{recipe["name"]}.json'
    solution.unlink(missing_ok=True)
    limit = None if arguments.work else arguments.seconds or recipe["seconds"]
    budget = ["--work-limit", arguments.work] if arguments.work else \
        ["--time-limit", limit]
    command = [PROGRAM, "solve", problem, "--json", "-o", solution,
               "--threads", arguments.threads, "--seed", arguments.seed,
               *budget]
    if arguments.solver:
        command += ["--solver", arguments.solver]
    if arguments.without:
        command += ["--without", arguments.without]
    command = [str(part) for part in command]
    code, out, err, wall = run_until(command, until_gap)
    result = {"name": recipe["name"], "limit": limit,
              "work": arguments.work, "command": command,
              "exit_code": code, "wall_seconds": wall}
    if code:
        result["error"] = err.strip().splitlines()[-1] if err else ""
        return result
    result["answer"] = json.loads(out)
    result["check"] = check(problem, solution)
    result["summary"] = summarize(result["answer"], best_known(recipe, known))
    return result


# The table. Of each column: its head, how to print a value, and whether less
# than the target of that name is wanted; references have none.

def seconds(value):
    return f"{value:.2f}"


def times(value):
    return f"{value:.5f}"


def percent(value):
    return f"{100 * value:.4f} %"


COLUMNS = [("first s", "first", seconds), ("≤ 1.01× s", "near", seconds),
           ("≤ 1× s", "best", seconds), ("× at 20 s", "ratio_20", times),
           ("gap at 20 s", "gap_20", percent), ("×", "ratio", times),
           ("gap", "gap", percent), ("MB", "megabytes", "{:.0f}".format)]
REFERENCES = [("third place ×", "third_place"), ("winner ×", "winner")]


def cell(result, recipe, key, show):
    value = result["summary"].get(key)
    text = "–" if value is None else show(value)
    wanted = recipe.get("target", {}).get(key)
    # The gap's target is for the instance's own limit.
    applies = wanted is not None and (
        key != "gap" or (result["limit"] or 0) >= recipe["limit"])
    if applies and (value is None or value > wanted):
        text += f" (wanted {show(wanted)})"
    if key == "gap_20" and result["summary"]["overstated"]:
        text += " (not certified)"
    return text


def row(result, recipe):
    if "summary" not in result:
        return [result["name"], f'exit {result["exit_code"]}'] + \
            [""] * (len(COLUMNS) + len(REFERENCES))
    budget = f'{result["limit"]} s' if result["limit"] else \
        f'{result["work"]:.1e} entries'
    cells = [f'{result["name"]}, {budget}']
    cells += [cell(result, recipe, key, show) for _, key, show in COLUMNS]
    cells.append("accepted" if result["check"]["accepted"] else "REFUSED")
    best = recipe.get("best_known")
    return cells + [times(recipe[key] / best) if key in recipe else "–"
                    for _, key in REFERENCES]


def print_table(results, known):
    head = [""] + [column[0] for column in COLUMNS] + ["certificate"] + \
        [reference[0] for reference in REFERENCES]
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for result in results:
        print("| " + " | ".join(row(result, known[result["name"]])) + " |")


def exponent(points):
    """Of y = c x^e, by least squares of the logarithms; None of one x."""
    if len({x for x, _ in points}) < 2:
        return None
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread


def scaling(results, known):
    """The exponents over all sizes that reached the mark."""
    exponents = {}
    for key in ("near", "gap_1_percent", "megabytes"):
        points = [(known[r["name"]].get("copies", 1), r["summary"][key])
                  for r in results if r.get("summary", {}).get(key)]
        exponents[key] = {"points": points, "exponent": exponent(points)}
    return exponents


def print_scaling(exponents):
    names = {"near": "seconds to 1.01×", "gap_1_percent":
             "seconds to a gap of 1 %", "megabytes": "peak memory, MB"}
    print()
    for key, fit in exponents.items():
        points = ", ".join(f"{k}: {value:.1f}" for k, value in fit["points"])
        grows = "no fit" if fit["exponent"] is None else \
            f'grows as copies^{fit["exponent"]:.2f}'
        print(f"{names[key]}: {grows} ({points})")


def parse(table):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", metavar="FOLDER",
                        help="of the instances (default: DIVISI_IOPDDL)")
    parser.add_argument("--suite", choices=table["suites"], default="quick")
    parser.add_argument("--instances", nargs="+", metavar="NAME",
                        help="these only")
    add_budget(parser, None, "the suite's")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--solver")
    parser.add_argument("--without", metavar="INGREDIENT,...")
    parser.add_argument("--json", metavar="FILE", type=Path, help="where the "
                        "results go (default: bench/iopddl-SUITE.json of the "
                        "build)")
    return parser.parse_args()


def chosen(table, known, arguments):
    suite = table["suites"][arguments.suite]
    names = arguments.instances or suite["instances"]
    for name in names:
        if name not in known:
            sys.exit(f"error: unknown instance '{name}'; expected one of "
                     + ", ".join(known))
    return [{**known[name], "seconds": suite.get("seconds",
                                                 known[name]["limit"])}
            for name in names]


def add_budget(parser, seconds, what):
    """--seconds or --work."""
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--seconds", type=float, default=seconds, metavar="T",
                        help=f"the limit of each run (default: {what})")
    budget.add_argument("--work", type=int, metavar="N",
                        help="a limit of matrix entries instead")


def complain(bad):
    """Prints why the named results are bad; the exit code."""
    for name, result in bad:
        print(f"error: {name}: "
              + (result.get("error") or result["check"]["error"]),
              file=sys.stderr)
    return 1 if bad else 0


def main():
    table = derive.table()
    known = {recipe["name"]: recipe for recipe in table["instances"]}
    arguments = parse(table)
    derive.find_data(arguments.data)
    if not PROGRAM.exists():
        sys.exit(f"error: {PROGRAM} is missing: run 'make build' first, or "
                 "name the build's folder in DIVISI_BUILD")
    until_gap = table["suites"][arguments.suite].get("until_gap")
    results = []
    for recipe in chosen(table, known, arguments):
        print(f'solving {recipe["name"]}', file=sys.stderr, flush=True)
        results.append(measure(recipe, known, arguments, until_gap))
    print_table(results, known)
    report = {"suite": arguments.suite, "machine": platform.machine(),
              "cores": os.cpu_count(), "results": results,
              "program": json.loads(subprocess.check_output(
                  [PROGRAM, "version", "--json"]))}
    if arguments.suite == "scaling":
        report["scaling"] = scaling(results, known)
        print_scaling(report["scaling"])
    path = arguments.json or BUILD / "bench" / f"iopddl-{arguments.suite}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nwritten to {path}")
    return complain([(result["name"], result) for result in results
                     if not result.get("check", {}).get("accepted")])


if __name__ == "__main__":
    sys.exit(main())
