#!/usr/bin/env python3
"""Times models by data parallelism on 1 and 2 processes of one thread, each of
which has the same part of a batch.

    python bench/scaling/run.py [--turns N] [--json FILE]

See README.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin" / "divisi"
PROCESSES = (1, 2)
# Per process; some 10 to 100 ms each.
MODELS = {"mlp": ("mlp.py", 64, ["--widths", "1024,4096,4096,1024"]),
          "vgg16": ("vgg16.py", 2, ["--image", "64"])}


def compile_for(name, processes, folder):
    generator, batch, options = MODELS[name]
    stem = f"{name}-{processes}"
    subprocess.run([sys.executable, ROOT / "models" / generator, "--batch",
                    str(batch * processes), "-o", f"{stem}.onnx", *options],
                   cwd=folder, check=True, capture_output=True)
    subprocess.run([PROGRAM, "compile", f"{stem}.onnx", "--devices",
                    str(processes), "--data-parallel-size", str(processes),
                    "-o", f"{stem}.divisi"],
                   cwd=folder, check=True, capture_output=True)
    return f"{stem}.divisi"


def median_of(artifact, processes, folder):
    """Of the runs, in milliseconds."""
    done = subprocess.run(
        [PROGRAM, "bench", artifact, "--json", "--threads-per-device", "1",
         "--launch", str(processes), "--repeat", "20"],
        cwd=folder, check=True, capture_output=True, text=True)
    return statistics.median(json.loads(done.stdout)["runs"][0]["ns"]) / 1e6


def measure(name, turns, folder):
    artifacts = {n: compile_for(name, n, folder) for n in PROCESSES}
    times = {n: [] for n in PROCESSES}
    for turn in range(turns):
        for n in PROCESSES if turn % 2 else PROCESSES[::-1]:
            times[n].append(median_of(artifacts[n], n, folder))
    one, two = (statistics.median(times[n]) for n in PROCESSES)
    return {"model": name, "batch": MODELS[name][1], "ms_1": round(one, 2),
            "ms_2": round(two, 2), "efficiency": round(one / two, 3)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            rows.append(measure(name, options.turns, folder))
            print("  ".join(f"{key} {value}" for key, value in
                            rows[-1].items()), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
