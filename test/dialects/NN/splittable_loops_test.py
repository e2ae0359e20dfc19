"""Compares splittable-loops.txt with the nests of the operators.

An operator that declares no loop where it has one would still be correct, only
never split: nothing but a table that somebody has read can notice.
"""

import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ["DIVISI_BUILD"])


def family_of(operator, loop):
    labelled = operator in ("nn.matmul", "nn.matmul_integer")
    return "label" if labelled else re.sub(r"\d+", "#", loop)


def read_nests():
    nests = "".join(
        subprocess.run([BUILD / "bin/divisi-opt", path, "--nn-print-loops",
                        "-o", os.devnull], text=True, capture_output=True,
                       check=True).stdout
        for path in sorted(HERE.glob("loops*.mlir")))
    rows = set()
    for line in nests.splitlines():
        if line.startswith("nn."):
            operator, *loops = line.split()[:-2]
            for loop in loops:
                name, _, kind = re.sub(r"=\d+", "", loop).partition(":")
                rows.add((operator, family_of(operator, name),
                          kind or "parallel"))
    return rows


def read_table():
    text = (HERE / "splittable-loops.txt").read_text()
    rows = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            operator, family, kind, *why = line.split(maxsplit=3)
            rows[operator, family, kind] = " ".join(why)
    return rows


def read_operators():
    return {operator for name in ("NNOps", "NNInteger", "NNRandom",
                                        "NNAttentionGradient")
            for operator in re.findall(
                r"^### `(nn\.\w+)`",
                (BUILD / f"dialects/NN/{name}.md").read_text(), flags=re.M)}


def test_table_and_operators_agree():
    nests, table = read_nests(), set(read_table())
    assert not nests - table, "loops that nobody has reviewed"
    assert not table - nests, "rows without a loop in loops.mlir"


def test_what_is_never_split_has_a_reason():
    for (operator, family, kind), why in read_table().items():
        unsplit = kind in ("whole", "exchange")
        assert unsplit == bool(why), f"{operator} {family} {kind}: '{why}'"


def test_every_operator_has_loops():
    named = {operator for operator, _, _ in read_table()}
    assert read_operators() - named == {"nn.global"}
