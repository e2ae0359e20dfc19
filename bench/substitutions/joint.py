#!/usr/bin/env python3
"""Compares --rewrite joint with searching first and planning after.

    python bench/substitutions/joint.py --build build

Plans each model on each cluster with --rewrite off, search and joint, and
prints what each plan takes in the model, how long planning took, and by which
rules joint is better than both others. README.md says more.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import models
from run import MODELS

ROOT = Path(__file__).resolve().parents[2]
MODES = ["off", "search", "joint"]
# Of test/models; then the bench's, of one layer, and the cell as small.
SHARED = ["bert", "t5", "llama", "vit", "gpt2", "segformer", "resnet"]
SMALL = {"nasrnn": {"width": 256},
         "gpt2-lora": {"seq": 64, "width": 256, "heads": 4, "rank": 8,
                       "layers": 1},
         "llama": {}}
# Planning may take so much longer with joint than without rewriting.
FACTOR, SECONDS = 3, 10


def plan(build, command):
    """The nanoseconds of the plan, the rules that made it, and the seconds that
    cores worked for it, whatever else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([build / "bin" / "divisi", "plan",
                           *map(str, command), "--gpu", "off", "-o", "-"],
                          capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = (after.ru_utime + after.ru_stime - before.ru_utime
               - before.ru_stime)
    if done.returncode:
        raise SystemExit(f"plan {' '.join(map(str, command))}: {done.stderr}")
    [found] = re.findall(r"divisi\.plan = \{.*? nanoseconds = (\d+)",
                         done.stdout)
    rules = set(re.findall(r'name = "([^"]*)", nodes = \[', done.stdout))
    return int(found), sorted(rules), seconds


def cases(names, folder):
    """The arguments of each model."""
    for name in names:
        if name in SHARED:
            path = ROOT / "test" / "models" / f"{name}.onnx"
            yield name, [path, "--shapes-from",
                         path.with_suffix(".inputs.npz")]
            continue
        build = MODELS[name.removeprefix("bench-")][0]
        path = folder / f"{name}.onnx"
        more = SMALL.get(name.removeprefix("bench-"))
        if more is None:
            more = {"layers": 1} if build in (
                models.bert, models.vit, models.gpt2) else {}
        build("export", **more).save(path)
        yield name, [path]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--models", default=",".join(
        [*SHARED, "nasrnn", "gpt2-lora", "bench-llama"]),
        help="of test/models, or of run.py (llama, gpt2, ... as bench-llama)")
    parser.add_argument("--clusters", default="cpu,dgx-h100,dgx-v100")
    parser.add_argument("--devices", default="1,4,8,64")
    parser.add_argument("--json", type=Path, help="write all numbers there")
    arguments = parser.parse_args()
    rows, worse, slow = [], [], []
    print(f"{'model':12}{'cluster':14}" +
          "".join(f"{mode + ' us':>12}{'s':>7}" for mode in MODES))
    with tempfile.TemporaryDirectory() as folder:
        found = list(cases(arguments.models.split(","), Path(folder)))
        for devices in arguments.devices.split(","):
            for name, command in found:
                for kind in arguments.clusters.split(","):
                    cluster = f"{kind}:{devices}"
                    ran = {mode: plan(arguments.build.resolve(), [
                        *command, "--cluster", cluster, "--rewrite", mode])
                        for mode in MODES}
                    row = {"model": name, "cluster": cluster,
                           **{mode: values[0] for mode, values in ran.items()},
                           "seconds": {mode: values[2]
                                       for mode, values in ran.items()},
                           "rules": ran["joint"][1]}
                    rows.append(row)
                    best = min(row["off"], row["search"])
                    worse += [row] if row["joint"] > best else []
                    seconds = row["seconds"]
                    is_slow = seconds["joint"] > max(
                        FACTOR * seconds["off"], seconds["off"] + SECONDS)
                    slow += [row] if is_slow else []
                    print(f"{name:12}{cluster:14}" + "".join(
                        f"{ran[mode][0] / 1e3:>12.2f}{ran[mode][2]:>7.1f}"
                        for mode in MODES)
                        + ("  WORSE" if row["joint"] > best else "")
                        + ("  SLOW" if is_slow else "")
                        + (f"  {100 * (1 - row['joint'] / best):.1f} % better: "
                           + ", ".join(row["rules"])
                           if row["joint"] < best else ""), flush=True)
                    if arguments.json:
                        arguments.json.write_text(json.dumps(rows, indent=1))
    better = sum(row["joint"] < min(row["off"], row["search"]) for row in rows)
    print(f"{len(rows)} pairs: joint better in {better}, worse in "
          f"{len(worse)}, over its planning time in {len(slow)}")
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
