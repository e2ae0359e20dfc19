#!/usr/bin/env python3
"""Times steps of training beside PyTorch, eager and compiled.

    python bench/training/run.py [--only NAME,...] [--threads N]

Exports what is missing, compiles, checks that the first loss is the same, then
measures in rounds in which peers take turns. Markdown to stdout, --json FILE has
every time. What fails stands in the table and in the exit code. See README.md.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "models"), str(ROOT / "bench" / "onnxruntime")]

import packages  # noqa: E402

packages.require("numpy", "onnx", "onnxruntime")

import environment  # noqa: E402
import measure  # noqa: E402
import os  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import run as inference  # noqa: E402
import steps  # noqa: E402
import training_peers  # noqa: E402


def export(name, arguments):
    """Why it cannot, or None."""
    if (arguments.models / f"{name}.onnx").exists():
        return None
    print(f"exporting {name}", file=sys.stderr)
    try:
        python = (arguments.python or
                  environment.ensure(environment.REQUIREMENTS))
    except environment.Unavailable as error:
        return str(error)
    done = subprocess.run(
        [python, HERE / "export_steps.py", arguments.models, name],
        capture_output=True, text=True)
    said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return f"export: {said[-1]}" if done.returncode else None


def case_of(name, arguments):
    stem = arguments.models.joinpath
    return peers.Case(name, stem(f"{name}.onnx"), stem(f"{name}.inputs.npz"),
                      stem(f"{name}.outputs.npz"))


def make_peers(arguments):
    """PyTorch as it is run, which the others are compared with, and they."""
    threads = arguments.threads
    chosen = [training_peers.Torch("eager", arguments.python, threads),
              training_peers.Torch("compile", arguments.python, threads),
              training_peers.Divisi(1, threads)]
    if threads > 1:
        chosen.append(training_peers.Divisi(threads, 1))
    return chosen


def measure_all(arguments, folder):
    runners = make_peers(arguments)
    rows, begin = [], time.monotonic()
    before = inference.cpu_seconds()
    for name in arguments.only:
        print(f"measuring {name}", file=sys.stderr)
        if why := export(name, arguments):
            rows.append({"name": name, "peers": {
                runner.name: {"failed": why} for runner in runners}})
            continue
        rows.append(measure.Row(case_of(name, arguments), runners, arguments,
                                folder).measure())
        for artifact in folder.glob("*.divisi"):
            artifact.unlink()
    taken, own = inference.cpu_seconds() - before
    core_seconds = os.cpu_count() * (time.monotonic() - begin)
    return {
        "schema_version": 1,
        "machine": {"processor": inference.processor(),
                    "cores": os.cpu_count(),
                    "taken_by_others": max(0, taken - own) / core_seconds},
        "threads": arguments.threads, "rounds": arguments.rounds,
        "peers": [runner.name for runner in runners],
        "settings": measure.settings(rows, runners),
        "models": rows, "geomeans": [],
    }


def names_of(text):
    chosen = text.split(",")
    if unknown := set(chosen) - set(steps.NAMES):
        raise argparse.ArgumentTypeError(
            f"no step {', '.join(sorted(unknown))}; there are "
            + ", ".join(steps.NAMES))
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", type=names_of, metavar="NAME,...",
                        default=[*steps.NAMES],
                        help="default: all of steps.py")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0,
                        help="about so long is a peer's turn in a round")
    parser.add_argument("--models", type=Path, metavar="FOLDER",
                        default=peers.BUILD / "bench-steps",
                        help="where exports are, or are put")
    parser.add_argument("--python", type=Path, help="an environment that has "
                        "what bench/onnxruntime/requirements.txt names")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if min(arguments.threads, arguments.rounds) < 1:
        parser.error("--threads and --rounds are at least 1")
    if not peers.PROGRAM.exists():
        parser.error(f"{peers.PROGRAM} is missing: run 'make build' first")
    with tempfile.TemporaryDirectory() as folder:
        result = measure_all(arguments, Path(folder))
    inference.finish(report.markdown(result), result, arguments.json)


if __name__ == "__main__":
    main()
