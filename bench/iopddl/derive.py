#!/usr/bin/env python3
"""Makes the benchmark's derived problems from the contest's instances.

    python3 bench/iopddl/derive.py --data FOLDER [NAME ...]

Which there are, and of what, stands in instances.json:

  limit_factor  the memory limit times so much: a looser limit leaves more
                plans to choose from, and a knapsack among them
  noise         every feasible entry of every edge's matrix times its own
                e^u, u uniform in [-noise, noise]: layers that were alike no
                longer are, and the linear relaxation becomes loose. Zero stays
                zero, and infeasible stays infeasible
  copies        so many problems side by side under one memory limit of so
                many times the size: for how time and memory grow

They are written once into $XDG_CACHE_HOME/divisi/iopddl (~/.cache by default)
and found there again; a name there carries a hash of all that decides the
content. Prints the path of each.
"""

import argparse
import gzip
import hashlib
import json
import math
import os
import random
import sys
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent
PREFIX = "asplos-2025-iopddl-"
INFEASIBLE = 10 ** 18
# To be raised when the same recipe begins to mean another content.
VERSION = 1
DATA_IS_FROM = (
    "the instances are public: https://github.com/google/iopddl, folder "
    f"benchmarks (files {PREFIX}A.json and so on, gzipped or not); give their "
    "folder as --data FOLDER or in DIVISI_IOPDDL")


def table():
    return json.loads((HERE / "instances.json").read_text())


def find_data(folder):
    """The folder of instances, or exits and says where to get them."""
    folder = folder or os.environ.get("DIVISI_IOPDDL")
    if not folder:
        sys.exit(f"error: no folder of instances is given; {DATA_IS_FROM}")
    if not Path(folder).is_dir():
        sys.exit(f"error: '{folder}' is no folder; {DATA_IS_FROM}")
    return Path(folder)


def source(name, data):
    """The file of one of the contest's instances."""
    for suffix in (".json.gz", ".json"):
        path = data / f"{PREFIX}{name}{suffix}"
        if path.exists():
            return path
    sys.exit(f"error: {PREFIX}{name}.json[.gz] is not in '{data}'; "
             f"{DATA_IS_FROM}")


def load(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        return json.load(file)["problem"]


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def with_noise(matrices, amplitude, seed):
    """One matrix after another, so that only one is held twice."""
    draw = random.Random(seed)
    for matrix in matrices:
        yield [entry if entry == 0 or entry >= INFEASIBLE else
               min(INFEASIBLE - 1,
                   round(entry * math.exp(draw.uniform(-amplitude, amplitude))))
               for entry in matrix]


def write_list(file, values):
    file.write("[")
    for i, value in enumerate(values):
        file.write("," * (i > 0) + compact(value))
    file.write("]")


def repeated(values, copies):
    for _ in range(copies):
        yield from values


def shifted(ends, nodes, copies):
    for copy in range(copies):
        for u, v in ends:
            yield [u + copy * nodes, v + copy * nodes]


def write_problem(file, problem, recipe):
    """Streams the derived problem: only the source is held in memory."""
    nodes, edges = problem["nodes"], problem["edges"]
    copies = recipe.get("copies", 1)
    matrices = edges["costs"]
    if "noise" in recipe:
        matrices = with_noise(matrices, float(recipe["noise"]), recipe["seed"])
    factor = Fraction(recipe.get("limit_factor", "1")) * copies
    name = f'{PREFIX}{recipe["name"]}'
    file.write('{"problem":{"name":' + compact(name) + ',"nodes":{')
    for i, field in enumerate(("intervals", "costs", "usages")):
        file.write("," * (i > 0) + compact(field) + ":")
        write_list(file, repeated(nodes[field], copies))
    file.write('},"edges":{"nodes":')
    write_list(file, shifted(edges["nodes"], len(nodes["costs"]), copies))
    file.write(',"costs":')
    # Noise is of one copy: a generator is read once.
    write_list(file, matrices if copies == 1 else repeated(matrices, copies))
    limit = math.floor(problem["usage_limit"] * factor)
    file.write('},"usage_limit":' + str(limit) + "}}\n")


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "divisi" / "iopddl"


def derived_path(recipe, original):
    key = hashlib.sha256(original.read_bytes())
    key.update(compact([VERSION, {k: recipe.get(k) for k in
                                  ("limit_factor", "noise", "seed",
                                   "copies")}]).encode())
    return cache() / f'{recipe["name"]}-{key.hexdigest()[:8]}.json.gz'


def derive(recipe, data, say=lambda path: None):
    """The file of an instance or of a derived problem, made if need be."""
    if "of" not in recipe:
        return source(recipe["name"], data)
    if "noise" in recipe and recipe.get("copies", 1) > 1:
        sys.exit(f'error: {recipe["name"]} asks for noise and copies; '
                 "expected one of them")
    original = source(recipe["of"], data)
    path = derived_path(recipe, original)
    if path.exists():
        return path
    say(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        # No time and no name in the header: the same bytes each time.
        with open(partial, "wb") as raw, gzip.GzipFile(
                "", "wb", 6, raw, mtime=0) as packed:
            write_problem(TextWriter(packed), load(original), recipe)
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


class TextWriter:
    """Gathers small writes: one call of zlib for each would be slow."""

    def __init__(self, file):
        self.file, self.parts, self.size = file, [], 0

    def write(self, text):
        self.parts.append(text)
        self.size += len(text)
        if self.size > 1 << 20 or text.endswith("\n"):
            self.file.write("".join(self.parts).encode())
            self.parts, self.size = [], 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="which (default: all that are derived)")
    arguments = parser.parse_args()
    data = find_data(arguments.data)
    known = {recipe["name"]: recipe for recipe in table()["instances"]}
    for name in arguments.names:
        if name not in known:
            sys.exit(f"error: unknown instance '{name}'; expected one of "
                     + ", ".join(known))
    names = arguments.names or [n for n in known if "of" in known[n]]
    for name in names:
        print(f"{name}\t{derive(known[name], data)}", flush=True)


if __name__ == "__main__":
    main()
