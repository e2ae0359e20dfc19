#!/usr/bin/env python3
"""Compares models in bf16 or f16 with the same in f32: bytes and errors.

    python bench/precision/compare.py test/models/*.onnx

See README.md. Beside NAME.onnx lie NAME.inputs.npz and NAME.outputs.npz.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin" / "divisi"
FLAGS = "--devices 4 --tensor-parallel-size 4"
# `check` ends with this where outputs differ.
DIFFERS = 8


def ask(*arguments, fine=(0,)):
    """What the program prints as JSON."""
    command = [str(PROGRAM)] + [str(a) for a in arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in fine:
        sys.exit(f"$ {shlex.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def received(report, kinds=None):
    """Bytes that the busiest device receives in collectives."""
    return sum(c["bytes"] for c in report["collectives"]
               if kinds is None or c["kind"] in kinds)


def measure(model, flags, precision):
    """One row: what `model` takes in `precision` (None is f32)."""
    lower = ["--precision", precision] if precision else []
    inputs = model.with_suffix(".inputs.npz")
    plan = [model, "--shapes-from", inputs, *flags, *lower]
    report = ask("explain", *plan, "--json", "--no-compare")
    run = ask("check", model, "--inputs", inputs, "--expect",
              model.with_suffix(".outputs.npz"), *flags, *lower, "--json",
              fine=(0, DIFFERS))["runs"][0]
    worst = max(run["outputs"],
                key=lambda o: o["largest_error"] / (o["allowed"] or 1))
    return {"model": model.stem, "precision": precision or "f32",
            "weights": report["memory"]["weight_bytes"],
            "sums": received(report, {"all_reduce", "reduce_scatter"}),
            "received": received(report), "error": worst["largest_error"],
            "allowed": worst["allowed"], "equal": run["equal"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--precision", default="bf16",
                        choices=["bf16", "f16"])
    parser.add_argument("--flags", default=FLAGS,
                        help=f"of the plan (default: {FLAGS})")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    arguments = parser.parse_args()
    rows = []
    print(f"{'model':<12} {'precision':<9} {'weights':>9} {'received':>9} "
          f"{'of sums':>9} {'largest error':>14} {'allowed':>9}")
    for model in arguments.models:
        for precision in (None, arguments.precision):
            row = measure(model, shlex.split(arguments.flags), precision)
            rows.append(row)
            print(f"{row['model']:<12} {row['precision']:<9} "
                  f"{row['weights']:>9} {row['received']:>9} "
                  f"{row['sums']:>9} {row['error']:>14.3g} "
                  f"{row['allowed']:>9.3g}"
                  f"{'' if row['equal'] else '  DIFFERS'}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if all(row["equal"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
