"""Every operation of spmd has an example, and it parses and verifies."""

import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
OPT = Path(os.environ["DIVISI_BUILD"]) / "bin/divisi-opt"
OPS = (ROOT / "dialects/SPMD/SPMDOps.td").read_text(encoding="utf-8")
DEFINITION = re.compile(
    r'^def \w+ : SPMD_\w+<"(\w+)"(.*?)(?=^def |^class |^#endif)',
    flags=re.M | re.S)
MOVE = re.compile(r"(?:%\w+ = )?spmd\.\w+ (%\w+) .*? : (.*?) -> ")
GRIDS = "spmd.grid @g (x = 2)\nspmd.grid @h (z = 3) devices [2, 3, 4]\n"


def read_examples():
    """Yields (mnemonic, example or None)."""
    for definition in DEFINITION.finditer(OPS):
        code = re.search(r"```mlir\n(.*?)```", definition[2], flags=re.S)
        yield definition[1], code and textwrap.dedent(code[1])


def wrap(example):
    """The example as a module: grids and what it does not define come in."""
    lines = re.sub(r"\n +", " ", example).splitlines()
    if all(line.startswith("spmd.grid") for line in lines):
        return example
    moves = [MOVE.match(line) for line in lines]
    made = {line.split(" = ")[0] for line in lines}
    arguments = ", ".join(f"{move[1]}: {move[2]}" for move in moves
                          if move[1] not in made)
    return "\n".join([GRIDS, f"func.func @example({arguments}) {{", *lines,
                      "return", "}"])


CASES = list(read_examples())


def test_all_operations_are_found():
    assert len(CASES) == OPS.count("\ndef SPMD_") == 10


@pytest.mark.parametrize("name,example", CASES, ids=[c[0] for c in CASES])
def test_example(name, example):
    assert example, f"spmd.{name} has no example"
    assert f"spmd.{name} " in example, f"the example does not show spmd.{name}"
    run = subprocess.run([OPT], input=wrap(example), text=True,
                         capture_output=True, check=False)
    assert run.returncode == 0, run.stderr + wrap(example)
