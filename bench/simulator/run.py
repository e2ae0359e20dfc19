#!/usr/bin/env python3
"""Simulated beside measured times of plans for two devices of one thread.

    python bench/simulator/run.py [--profile FILE] [--model NAME]… [--json FILE]

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
sys.path.insert(0, str(ROOT / "bench" / "substitutions"))
from rank import kendall  # noqa: E402

# A generator's arguments; a run of each takes 5 to 100 ms.
MODELS = {
    "mlp": ["mlp.py", "--widths", "512,1024,1024,512", "--batch", "64"],
    "vgg16": ["vgg16.py", "--image", "32", "--batch", "2"],
    "gpt2": ["gpt2.py", "--layers", "4", "--width", "256", "--heads", "4",
             "--seq", "64"],
    "resnet": ["resnet.py", "--batch", "2", "--image", "64"],
    "llama": ["llama.py", "--layers", "4", "--width", "256", "--heads", "4",
              "--seq", "64"],
    "unet": ["unet.py", "--batch", "1", "--image", "32"],
}
ROUNDS = 5


def ways(batches):
    """Of compiling a model: plans that are found, drawn, and pipelines. A call
    has equally many batches in all of them."""
    several = ["--micro-batches", str(batches)]
    one = [*several, "--pipeline-parallel-size", "1"]
    found = {"searched": one,
             "data": [*one, "--data-parallel-size", "2"],
             "tensor": [*one, "--tensor-parallel-size", "2"],
             "one device": [*one, "--devices", "1"]}
    for seed in range(6):
        found[f"random {seed}"] = [*one, "--solver", "random", "--seed",
                                   str(seed)]
    found["two stages"] = [*several, "--pipeline-parallel-size", "2"]
    found["four chunks"] = [*several, "--pipeline-parallel-size", "2",
                            "--num-stages-per-device", "2"]
    return found


def divisi(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True,
                          text=True)
    if done.returncode:
        raise RuntimeError(f"{arguments}: {done.stderr}")
    return done.stdout


def simulated(dump, model):
    [entry] = json.loads(divisi("simulate", dump, "--data", model,
                                "--json"))["entries"]
    return entry["nanoseconds"] / 1e6


def measured(artifact):
    report = json.loads(divisi("bench", artifact, "--json", "--repeat", 15,
                               "--threads-per-device", 1))
    return statistics.median(report["runs"][0]["ns"]) / 1e6


def measure(name, cluster, batches, folder):
    generator, *arguments = MODELS[name]
    model = folder / f"{name}.onnx"
    subprocess.run([sys.executable, ROOT / "models" / generator, *arguments,
                    "-o", model], check=True, capture_output=True)
    rows = []
    for way, flags in ways(batches).items():
        where = [] if "--devices" in flags else ["--devices", 2]
        dump, artifact = folder / "p.mlir", folder / f"{name}-{way}.divisi"
        divisi("plan", model, "--cluster", cluster, *where, *flags,
               "--rewrite", "off", "-o", dump)
        divisi("compile", dump, "--data", model, "-o", artifact)
        rows.append({"way": way, "simulated": simulated(dump, model),
                     "artifact": artifact, "times": []})
    for turn in range(ROUNDS):
        for row in rows if turn % 2 else rows[::-1]:
            row["times"].append(measured(row["artifact"]))
    for row in rows:
        row["measured"] = statistics.median(row.pop("times"))
        del row["artifact"]
    return rows


def summary(rows):
    ratios = [row["measured"] / row["simulated"] for row in rows]
    factor = statistics.median(ratios)

    def errors(scale):
        return [abs(ratio / scale - 1) for ratio in ratios]
    return {"plans": len(rows), "factor": factor,
            "error": statistics.median(errors(1)),
            "error_scaled": statistics.median(errors(factor)),
            "worst_scaled": max(errors(factor)),
            "tau": kendall([(row["simulated"], row["measured"])
                            for row in rows])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--profile", default="cpu:2", help="a cluster's file")
    parser.add_argument("--model", action="append", choices=list(MODELS))
    parser.add_argument("--batches", type=int, default=4,
                        help="micro-batches of a call (default: 4)")
    parser.add_argument("--json", type=Path, help="write all rows there")
    arguments = parser.parse_args()
    made = {}
    print("model   plans  measured/simulated  error  scaled  worst    tau")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.model or MODELS:
            rows = measure(name, arguments.profile, arguments.batches,
                           Path(folder))
            made[name] = {"rows": rows, **summary(rows)}
            one = made[name]
            print(f"{name:7} {one['plans']:5}  {one['factor']:18.2f}  "
                  f"{one['error']:5.0%}  {one['error_scaled']:6.0%}  "
                  f"{one['worst_scaled']:5.0%}  {one['tau']:5.2f}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()
