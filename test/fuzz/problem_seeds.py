#!/usr/bin/env python3
"""Writes the texts from which the fuzzing of the reader of problems starts.

    problem_seeds.py DIR

They are the example of the contest, a problem with all that we add to its
format, texts with every kind of JSON value, and gzip of each. The same on
every machine.
"""

import gzip
import json
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "Search" / "data"

FULL = {"problem": {
    "name": "caf\u00e9 \"x\"",
    "nodes": {"intervals": [[0, 2], [1, 3], [3, 3]],
              "costs": [[1, -2], [10**18], [0, 7, 2**63 - 1]],
              "usages": [[4, 5], [0], [1, 2, 3]],
              "names": ["w", "", "mm"],
              "strategies": [["r", "s"], [], ["a", "b", "c"]]},
    "edges": {"nodes": [[0, 1], [1, 0], [0, 0], [2, 0], [0, 2]],
              "costs": [[7, 8], [7, 8], [0, 10**18, 10**18, 0],
                        [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]],
              "usages": [[1, 0], [], [], [], [6, 5, 4, 3, 2, 1]],
              "intervals": [[1, 2], [0, 0], [0, 0], [0, 0], [2, 9]]},
    "usage_limit": 12}}
EMPTY = {"problem": {"nodes": {"intervals": [], "costs": [], "usages": []},
                     "edges": {"nodes": [], "costs": []}}}
OTHER = {"x": [True, False, None, -1.5e3, "\n\\", {}, [], {"a": [{"b": []}]}],
         **EMPTY}


def texts():
    yield (DATA / "example.json").read_text()
    for value in (FULL, EMPTY, OTHER):
        yield json.dumps(value)
        yield json.dumps(value, indent=1, ensure_ascii=False)
    yield json.dumps(FULL).replace("1000000000000000000", "1e18")
    yield json.dumps(FULL).replace(" 7", " 70.0e-1")


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts()):
        data = text.encode()
        packed = gzip.compress(data, mtime=0)
        half = len(data) // 2
        members = (gzip.compress(data[:half], mtime=0)
                   + gzip.compress(data[half:], mtime=0))
        (folder / f"{number}.json").write_bytes(data)
        (folder / f"{number}.json.gz").write_bytes(packed)
        (folder / f"{number}.members.gz").write_bytes(members)


if __name__ == "__main__":
    main()
