#!/usr/bin/env python3
"""Measures what overlap saves where communication takes as long as computing.

    python bench/overlap/measure.py [zero] [megatron]

See README.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "test" / "endtoend"))
from planned_steps import Step  # noqa: E402

BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True,
                          text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr}{done.stdout}")
    return done.stdout


def measure(plan, options, folder):
    step = Step(plan, options.blocks, options.width, options.batch)
    step.write(folder)
    source = folder / "step.mlir"
    artifacts = []
    for name, flags in (("scheduled", []), ("in-order", ["--no-overlap"])):
        artifacts.append(folder / f"{plan}.{name}.divisi")
        run(BUILD / "bin" / "divisi", "compile", source, *flags, "-o",
            artifacts[-1])
    result = json.loads(run(BUILD / "bin" / "OverlapBench", *artifacts,
                            options.runs))
    report = json.loads(run(BUILD / "bin" / "divisi", "explain", artifacts[0],
                            "--json"))
    in_order = json.loads(run(BUILD / "bin" / "divisi", "explain",
                              artifacts[1], "--json"))
    held = [max(sum(device[part] for part in (
        "weight_bytes", "arena_bytes", "workspace_bytes", "packed_bytes",
        "message_bytes"))
        for device in facts["memory"]["per_device"])
        for facts in (report, in_order)]
    return {"plan": plan, **result, "predicted": report["schedule"][0],
            "memory_ratio": round(held[0] / held[1], 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plans", nargs="*", default=["zero", "megatron"])
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for plan in options.plans:
            print(json.dumps(measure(plan, options, Path(name))))


if __name__ == "__main__":
    main()
