#!/usr/bin/env python3
"""Times a batch of requests on one device, on replicas, on stages, and on what
--objective throughput takes, in turns.

    python bench/scaling/throughput.py [--model NAME]... [--profile FILE]
        [--turns N] [--json FILE]

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
MICRO_BATCHES = 16
# (generator, rows of the batch, its options)
MODELS = {"mlp": ("mlp.py", 1024, ["--widths", ",".join(["512"] * 9)]),
          "vgg16": ("vgg16.py", 64, ["--image", "64"])}
TAKEN = "--objective throughput"
ONE = "one device"
# (name, batches that the rows are made of, threads per device, flags)
WAYS = [
    (ONE, 1, 1, ["--devices", "1"]),
    ("one device, two threads", 1, 2, ["--devices", "1"]),
    ("two replicas", 1, 1, ["--devices", "2", "--data-parallel-size", "2"]),
    ("two stages", MICRO_BATCHES, 1,
     ["--devices", "2", "--pipeline-parallel-size", "2", "--micro-batches",
      str(MICRO_BATCHES)]),
    ("--devices 2", 1, 1, ["--devices", "2"]),
    (TAKEN, 1, 1, ["--devices", "2", "--objective", "throughput"]),
]


def run(folder, *command):
    done = subprocess.run([str(part) for part in command], cwd=folder,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command} failed:\n{done.stderr}")
    return done.stdout


def predicted(facts):
    """Of a run, with what overlaps where that is known, in ms."""
    schedule = facts.get("schedule", [])
    if len(schedule) == 1:
        return schedule[0]["nanoseconds"] / 1e6
    return facts["predicted_nanoseconds"] / 1e6


def compile_for(name, way, profile, folder):
    """Its artifact, and what a run is predicted to take."""
    label, batches, _, flags = way
    generator, rows, options = MODELS[name]
    model = f"{name}-{rows // batches}.onnx"
    if not (folder / model).exists():
        run(folder, sys.executable, ROOT / "models" / generator, "--batch",
            rows // batches, "-o", model, *options)
    artifact = f"{name}-{label.replace(' ', '_').replace('-', '')}.divisi"
    machine = ["--cluster", profile] if profile else []
    run(folder, PROGRAM, "compile", model, *flags, *machine, "-o", artifact)
    facts = json.loads(run(folder, PROGRAM, "explain", artifact, "--json"))
    return artifact, facts


def median_of(artifact, threads, folder):
    """Of the runs, in ms."""
    text = run(folder, PROGRAM, "bench", artifact, "--json",
               "--threads-per-device", threads, "--repeat", "8")
    return statistics.median(json.loads(text)["runs"][0]["ns"]) / 1e6


def measure(name, profile, turns, folder):
    made = {way[0]: compile_for(name, way, profile, folder) for way in WAYS}
    times = {way[0]: [] for way in WAYS}
    for turn in range(turns):
        for way in WAYS if turn % 2 else WAYS[::-1]:
            times[way[0]].append(median_of(made[way[0]][0], way[2], folder))
    rows, found = MODELS[name][1], []
    one = statistics.median(times[ONE])
    for label, _, _, _ in WAYS:
        time, facts = statistics.median(times[label]), made[label][1]
        plan = facts["plan"]
        found.append({
            "model": name, "way": label, "rows_per_second":
                round(1000 * rows / time, 1), "times": round(one / time, 2),
            "ms": round(time, 3), "predicted_ms": round(predicted(facts), 3),
            "stages": plan["stages"] or 1})
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", action="append", choices=list(MODELS))
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    profile = options.profile.resolve() if options.profile else None
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.model or MODELS:
            found = measure(name, profile, options.turns, Path(folder))
            rows += found
            for row in found:
                print(f"{row['model']:6} {row['way']:24} "
                      f"{row['rows_per_second']:10} rows/s  x {row['times']:4}  "
                      f"{row['ms']:8} ms, predicted {row['predicted_ms']:8} ms, "
                      f"stages {row['stages']}", flush=True)
            best = min(found, key=lambda row: row["ms"])
            [taken] = [row for row in found if row["way"] == TAKEN]
            is_best = taken["ms"] <= 1.03 * best["ms"]
            print(f"{name}: {TAKEN} "
                  f"{'took what measures best' if is_best else 'did not take'}"
                  f"{'' if is_best else ' ' + best['way']}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
