#!/usr/bin/env python3
"""Times runs of small models, where launching is most of it, by two builds.

    python bench/launch/compare.py build-before build

Multi-layer perceptrons and a two-layer GPT-2, each below a millisecond or not
far from it, on one device and on two. The builds take turns, round by round,
each with an artifact of its own, so that a slow minute of the machine meets
both. Prints the median of a run, and what that is per kernel call.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "models"))

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import expect  # noqa: E402

MODELS = {
    "mlp-8x64": ("mlp.py", "--widths", "64,64,64,64,64,64,64,64,10",
                 "--batch", "4"),
    "mlp-32x16": ("mlp.py", "--widths", ",".join(["16"] * 33),
                  "--batch", "1"),
    "gpt2-2x32": ("gpt2.py", "--layers", "2", "--width", "32", "--heads", "2",
                  "--vocabulary", "64", "--positions", "16", "--seq", "8"),
}
WARM_UP = 200


def divisi(build, *arguments):
    done = subprocess.run([build / "bin" / "divisi", *map(str, arguments)],
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"compare.py: {done.stderr}")
    return done.stderr


def calls_of(artifact, build, inputs, folder):
    """How many kernels device 0 calls in a run, by its trace."""
    divisi(build, "run", artifact, "--inputs", inputs, "--trace",
           folder / "t.json")
    events = json.loads((folder / "t.json").read_text())["traceEvents"]
    return sum(event["ph"] == "X" and event["pid"] == 0
               and event["cat"].startswith("nn.") for event in events)


def times_of(artifact, build, inputs, folder, runs):
    """Nanoseconds of each run of a fresh process."""
    divisi(build, "run", artifact, "--inputs", inputs, "--repeat",
           WARM_UP + runs, "--timing-json", folder / "time.json")
    return json.loads((folder / "time.json").read_text())["ns"][WARM_UP:]


def measure(name, devices, builds, arguments, folder):
    model = folder / f"{name}.onnx"
    script, *flags = MODELS[name]
    subprocess.run([sys.executable, ROOT / "models" / script, *flags, "-o",
                    model], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    inputs = folder / "x.npz"
    np.savez(inputs, **expect.random_inputs(onnx.load(model), seed=0))
    artifacts = []
    for i, build in enumerate(builds):
        artifacts.append(folder / f"{name}-{devices}-{i}.divisi")
        split = ("--tensor-parallel-size", 2) if devices == 2 else ()
        divisi(build, "compile", model, "--shapes-from", inputs, "--devices",
               devices, *split, "-o", artifacts[-1])
    calls = calls_of(artifacts[-1], builds[-1], inputs, folder)
    times = [[] for _ in builds]
    for _ in range(arguments.rounds):
        for i, build in enumerate(builds):
            times[i] += times_of(artifacts[i], build, inputs, folder,
                                 arguments.runs)
    medians = [statistics.median(t) for t in times]
    print(f"{name:12}{devices:>8}{calls:>7}"
          + "".join(f"{m / 1e3:>12.1f} us{m / calls:>8.0f} ns"
                    for m in medians)
          + f"{medians[-1] / medians[0]:>8.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("builds", nargs=2, type=Path,
                        help="build folders: before, after")
    parser.add_argument("--runs", type=int, default=2000, help="of each round")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    builds = [build.resolve() for build in arguments.builds]
    print(f"{'model':12}{'devices':>8}{'calls':>7}"
          + f"{'before':>15}{'a call':>11}{'after':>15}{'a call':>11}"
          + f"{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            for devices in (1, 2):
                measure(name, devices, builds, arguments, Path(folder))


if __name__ == "__main__":
    main()
