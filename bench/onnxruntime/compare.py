#!/usr/bin/env python3
"""Times Divisi on one device against ONNX Runtime, on the same threads.

    python bench/onnxruntime/compare.py build/models/gpt2.onnx --threads 2

Compiles the model once, checks that both compute the same, then measures in
rounds that take turns, so that a slow minute of the machine meets both. Each
round starts a session anew, warms up, and times single runs inside the
process: reading inputs and writing outputs are not timed. Prints a table of
medians and their ratio; --json FILE also writes every time measured.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "models"))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

import expect  # noqa: E402

BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin" / "divisi"
WARM_UP = 2


# A process inherits the peak memory of the one that it was forked from, so a
# small one stands between this and what is measured.
LAUNCHER = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def run_program(*arguments):
    """Runs divisi; returns its seconds and peak memory in MiB."""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", LAUNCHER, str(PROGRAM), *map(str, arguments)],
        stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"compare.py: divisi {arguments[0]} ended with exit "
                         f"code {done.returncode}")
    return time.monotonic() - begin, int(done.stdout) / 1024


def time_onnxruntime(model, inputs, threads, runs):
    """Nanoseconds of each of `runs` runs of a fresh session."""
    session = expect.session(str(model), threads)
    times = []
    for repetition in range(WARM_UP + runs):
        begin = time.perf_counter_ns()
        session.run(None, inputs)
        if repetition >= WARM_UP:
            times.append(time.perf_counter_ns() - begin)
    return times


def time_divisi(artifact, inputs, folder, threads, runs):
    """The same of a fresh process, as it reports them itself."""
    report = folder / "timing.json"
    run_program("run", artifact, "--inputs", inputs, "-o", folder / "y.npz",
                "--threads-per-device", threads,
                "--repeat", WARM_UP + runs, "--timing-json", report)
    return json.loads(report.read_text())["ns"][WARM_UP:]


def largest_error(got, expected):
    """The largest error as a part of the design's tolerance."""
    worst = 0.0
    for name, want in expected.items():
        bound = 1e-4 * np.abs(want).max() + 1e-3 * np.abs(want)
        worst = max(worst, float((np.abs(got[name] - want) / bound).max()))
    return worst


def measure(arguments, folder):
    model = Path(arguments.model)
    tensors = (dict(np.load(arguments.inputs)) if arguments.inputs else
               expect.random_inputs(onnx.load(model, load_external_data=False),
                                    seed=0))
    inputs = folder / "x.npz"
    np.savez(inputs, **tensors)
    artifact = folder / "m.divisi"
    seconds, mebibytes = run_program(
        "compile", model, "--shapes-from", inputs, "--devices", 1,
        "-o", artifact)
    expected = expect.run(str(model), tensors)
    times = {"onnxruntime": [], "divisi": []}
    for round_ in range(arguments.rounds):
        print(f"round {round_ + 1} of {arguments.rounds}", file=sys.stderr)
        times["onnxruntime"] += time_onnxruntime(
            model, tensors, arguments.threads, arguments.runs)
        times["divisi"] += time_divisi(
            artifact, inputs, folder, arguments.threads, arguments.runs)
    error = largest_error(dict(np.load(folder / "y.npz")), expected)
    medians = {who: statistics.median(t) for who, t in times.items()}
    return {
        "schema_version": 1,
        "model": model.name,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": arguments.threads,
        "onnxruntime_version": onnxruntime.__version__,
        "compile_seconds": round(seconds, 3),
        "compile_peak_mib": round(mebibytes, 1),
        "error_of_tolerance": error,
        "median_ns": medians,
        "ratio": medians["divisi"] / medians["onnxruntime"],
        "ns": times,
    }


def print_table(result):
    print(f"{result['model']}, {result['threads']} threads")
    print(f"{'':14}{'median':>12}{'fastest':>12}{'slowest':>12}")
    for who, times in result["ns"].items():
        numbers = (statistics.median(times), min(times), max(times))
        print(f"{who:14}" + "".join(f"{n / 1e6:>9.2f} ms"
                                   for n in numbers))
    print(f"ratio {result['ratio']:.2f}; compiled in "
          f"{result['compile_seconds']:.1f} s with "
          f"{result['compile_peak_mib']:.0f} MiB; largest error "
          f"{result['error_of_tolerance']:.2g} of the tolerance")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--inputs", help=".npz; else seeded random ones")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=10, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    if not PROGRAM.exists():
        parser.error(f"{PROGRAM} is missing: run 'make build' first")
    with tempfile.TemporaryDirectory() as folder:
        result = measure(arguments, Path(folder))
    print_table(result)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n")
    if result["error_of_tolerance"] > 1:
        raise SystemExit("compare.py: the results differ")


if __name__ == "__main__":
    main()
