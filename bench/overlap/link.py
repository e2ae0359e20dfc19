#!/usr/bin/env python3
"""Times training steps on two hosts between which a link has a limited rate.

    python bench/overlap/link.py [zero] [megatron] [--rate 3gbit] [--against BUILD]

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
sys.path.append(str(ROOT / "test" / "endtoend"))
import hosts_test  # noqa: E402
from planned_steps import Step  # noqa: E402

BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))


def compile_step(plan, options, folder):
    step = Step(plan, options.blocks, options.width, options.batch)
    step.write(folder)
    artifact = folder / f"{plan}.divisi"
    subprocess.run([BUILD / "bin" / "divisi", "compile", "step.mlir", "-o",
                    artifact], cwd=folder, check=True, capture_output=True)
    return artifact


def times(hosts, build, artifact, options):
    """Of the runs on two hosts, a process each, in milliseconds."""
    (hosts.folder / "hosts").write_text(
        "".join(f"{address} slots=1\n" for address in hosts_test.ADDRESSES))
    command, environment = hosts.inside(
        "mpirun", "-n", 2, "--hostfile", "hosts", "--allow-run-as-root",
        "--bind-to", "none", build / "bin" / "divisi", "bench", artifact,
        "--json", "--threads-per-device", 1, "--repeat", options.runs)
    done = subprocess.run(command, cwd=hosts.folder, env=environment,
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return [ns / 1e6 for ns in json.loads(done.stdout)["runs"][0]["ns"]]


def measure(plan, options, hosts):
    artifact = compile_step(plan, options, hosts.folder)
    builds = [BUILD] + ([options.against] if options.against else [])
    medians = {build: [] for build in builds}
    for turn in range(options.turns):
        for build in builds if turn % 2 else builds[::-1]:
            medians[build].append(statistics.median(
                times(hosts, build, artifact, options)))
    row = {"plan": plan, "rate": options.rate,
           "ms": round(statistics.median(medians[BUILD]), 2)}
    if options.against:
        row["against_ms"] = round(
            statistics.median(medians[options.against]), 2)
        row["ratio"] = round(statistics.median(
            own / other for own, other in zip(*medians.values())), 3)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plans", nargs="*", default=["zero", "megatron"])
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--rate", default="3gbit")
    parser.add_argument("--against", type=lambda name: Path(name).resolve())
    options = parser.parse_args()
    hosts_test.RATE = options.rate
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        hosts = hosts_test.TwoHosts(Path(name))
        try:
            hosts.up()
            for plan in options.plans:
                print(json.dumps(measure(plan, options, hosts)), flush=True)
        finally:
            hosts.down()


if __name__ == "__main__":
    main()
