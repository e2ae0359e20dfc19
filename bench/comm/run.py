#!/usr/bin/env python3
"""Collectives between ranks: threads, and processes beside MPI's own.

    bench/comm/run.py [--ranks N] [-o FILE.json]

Prints, for each collective and size, time and bus bandwidth (the bytes that
each rank has to send and receive, by the time) of `inproc`, of `mpi`, and of
MPI's collective of that name, which takes turns with ours. More ranks than
cores say nothing. `ninja comm-bench` builds what it runs.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin" / "bench" / "comm-bench"
LIBRARY = BUILD / "lib" / "libdivisi_mpi.so"


def measure(*command):
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([str(word) for word in command], check=True,
                          env=environment, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def bus_rate(row, nanoseconds):
    """GB/s; of an all-reduce, what a ring sends."""
    n = row["ranks"]
    share = (n - 1) / n * (2 if row["collective"] == "all_reduce" else 1)
    if row["collective"] == "all_to_all":
        share /= n
    return row["bytes"] * share / nanoseconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path,
                        default=BUILD / "bench" / "comm.json")
    arguments = parser.parse_args()
    threads = measure(PROGRAM, arguments.ranks)
    processes = measure("mpirun", "-n", arguments.ranks, "--oversubscribe",
                        "--bind-to", "none", PROGRAM, LIBRARY)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(
        {"schema_version": 1, "rows": threads + processes}, indent=2) + "\n")
    print(f"{'':15} {'bytes':>9}  "
          + "  ".join(f"{name:>18}" for name in ("inproc", "mpi", "MPI's own"))
          + "   mpi/MPI's")
    for one, all_ in zip(threads, processes):
        cells = [(t, bus_rate(all_, t))
                 for t in (one["ns"], all_["ns"], all_["mpi_ns"])]
        print(f"{all_['collective']:15} {all_['bytes']:>9}  "
              + "  ".join(f"{t / 1e3:9.1f} us {rate:5.2f}"
                          for t, rate in cells)
              + f"  {all_['mpi_ns'] / all_['ns']:9.2f}")
    print("times are medians, rates GB/s on the bus")


if __name__ == "__main__":
    main()
