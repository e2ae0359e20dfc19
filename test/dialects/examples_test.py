"""Every operator's reference has an example, and it parses and verifies."""

import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

BUILD = Path(os.environ["DIVISI_BUILD"])
# Generated from the .td files: what a reader sees.
REFERENCES = sorted(BUILD.glob("dialects/*/*.md"))
OPERATION = re.compile(
    r"^(?:(?P<results>%[\w, %]+) = )?(?P<name>\w+\.\w+)(?P<rest>.*)$")


def read_examples(reference):
    """Yields (operator, example or None) for each section."""
    for section in re.split(r"^### ", reference.read_text(), flags=re.M)[1:]:
        name = re.match(r"`(\w+\.\w+)`", section)
        if name:
            code = re.search(r"```mlir\n(.*?)```", section, flags=re.S)
            yield name.group(1), code and code.group(1)


def operands_of(rest):
    """Returns [(%name, type)] read from a line of the common syntax."""
    text, _, types = rest.rpartition(" : ")
    names = re.findall(r"%\w+", text.split("{")[0])
    inputs = types.split("->")[0].strip().strip("()")
    return list(zip(names, re.findall(r"tensor<[^>]*>", inputs)))


def wrap(example):
    """The example as a module: what it uses but does not define comes in."""
    globals_, body, arguments, known = [], [], [], set()
    # A line that is indented continues the one before, and so does a bracket.
    joined = re.sub(r"\n(?: +|(?=\}))", " ", textwrap.dedent(example))
    for line in joined.splitlines():
        match = OPERATION.match(line)
        is_symbol = match and match["name"] in ("nn.global", "func.func")
        if is_symbol:
            globals_.append(line)
            continue
        body.append(line)
        for name, type_ in operands_of(match["rest"]) if match else []:
            if name not in known:
                known.add(name)
                arguments.append(f"{name}: {type_}")
        known.update(re.findall(r"%\w+", (match and match["results"]) or ""))
    function = "\n  ".join([f"func.func @example({', '.join(arguments)}) {{",
                            *body, "return"])
    return "\n".join([*globals_, function, "}"])


CASES = [case for reference in REFERENCES for case in read_examples(reference)]


def test_every_operator_of_the_contract_is_described():
    assert len(CASES) >= 50


@pytest.mark.parametrize("name,example", CASES,
                         ids=[name for name, _ in CASES])
def test_example(name, example):
    assert example, f"{name} has no example"
    assert name in example, f"the example of {name} does not show it"
    run = subprocess.run([BUILD / "bin/divisi-opt"], input=wrap(example),
                         text=True, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr + wrap(example)
