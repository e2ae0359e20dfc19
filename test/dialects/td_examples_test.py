"""Every operation of spmd and exec has an example, and it parses and verifies.

Those of nn are read from its generated reference (examples_test.py).
"""

import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OPT = Path(os.environ["DIVISI_BUILD"]) / "bin/divisi-opt"
FILES = {"spmd": [ROOT / "dialects/SPMD/SPMDOps.td"],
         "exec": [ROOT / "dialects/Exec/ExecPrograms.td",
                  ROOT / "dialects/Exec/ExecOps.td",
                  ROOT / "dialects/Exec/ExecCallOps.td"]}
DEFINITION = re.compile(
    r'^def \w+ : [A-Za-z]+_\w+<"(\w+)"(.*?)(?=^def |^class |^#endif)',
    flags=re.M | re.S)
SPMD_MOVE = re.compile(r"(?:%\w+ = )?spmd\.\w+ (%\w+) .*? : (.*?) -> ")
GRIDS = "spmd.grid @g (x = 2)\nspmd.grid @h (z = 3) devices [2, 3, 4]\n"
BUFFER = r'!exec\.buffer<tensor<[^>]*#spmd\.local<[^>]*>>, @\w+(?:, "\w+")?>'
X = "!exec.buffer<tensor<2xf32, #spmd.local<(x=2), [x], 4>>, @g>"
ENTRY = f'exec.entry @forward inputs ["x"] [{X}] outputs ["y"] [{X}]\n'
BODY = "exec.entry @step body inputs [] [] outputs [] []\n"
WEIGHT = "nn.global @w parameter : tensor<4xf32>\n"


def read_examples(dialect):
    """Yields (name, example or None)."""
    text = "".join(path.read_text(encoding="utf-8") for path in FILES[dialect])
    for definition in DEFINITION.finditer(text):
        code = re.search(r"```mlir\n(.*?)```", definition[2], flags=re.S)
        yield (f"{dialect}.{definition[1]}",
               code and textwrap.dedent(code[1]))


def wrap_spmd(lines):
    """In a function whose arguments are what the example does not define."""
    moves = [SPMD_MOVE.match(line) for line in lines]
    made = {line.split(" = ")[0] for line in lines}
    arguments = ", ".join(f"{move[1]}: {move[2]}" for move in moves
                          if move[1] not in made)
    return "\n".join([f"func.func @example({arguments}) {{", *lines,
                      "return", "}"])


def wrap_exec(lines):
    """In a program that allocates what the example does not define."""
    made, allocs = {line.split(" = ")[0] for line in lines}, []
    for line in lines:
        names = re.findall(r"%\w+", line.split(" = ")[-1])
        types = re.findall(BUFFER, of_operands(line))
        # One type that is written once is that of all.
        for name, type_ in zip(names, types * len(names) if len(types) == 1
                               else types):
            if name not in made:
                made.add(name)
                allocs.append(f"{name} = exec.alloc : {type_}")
    return "\n".join([ENTRY, BODY, WEIGHT, "exec.program @example entry @forward "
                      "ranks [0, 1] arena 0 {", *allocs, *lines, "}"])


def of_operands(line):
    """The part of a line that has the operands' types, in their order."""
    return line[line.index(" tag "):] if "exec.transfer" in line \
        else line.partition(" : ")[2]


def wrap(name, example):
    """The example as a module: what it uses but does not define comes in."""
    lines = [line for line in re.sub(r"\n +", " ", example).splitlines()
             if line]
    if name in ("spmd.grid", "exec.entry", "exec.code"):
        return ("" if name == "spmd.grid" else GRIDS) + "\n".join(lines)
    if name == "exec.program":
        return GRIDS + ENTRY + example
    wrapped = (wrap_spmd if name.startswith("spmd.") else wrap_exec)(lines)
    return GRIDS + wrapped


CASES = [case for dialect in FILES for case in read_examples(dialect)]


def test_all_operations_are_found():
    definitions = [re.findall(r"^def \w+Op : ", path.read_text(), re.M)
                   for paths in FILES.values() for path in paths]
    assert len(CASES) == sum(map(len, definitions)) > 0


@pytest.mark.parametrize("name,example", CASES, ids=[c[0] for c in CASES])
def test_example(name, example):
    assert example, f"{name} has no example"
    assert re.search(rf"{re.escape(name)}\b", example), \
        f"the example does not show {name}"
    module = wrap(name, example)
    run = subprocess.run([OPT], input=module, text=True, capture_output=True,
                         check=False)
    assert run.returncode == 0, run.stderr + module
