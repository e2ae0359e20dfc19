#!/usr/bin/env python3
"""Writes docs/walkthrough.md: one small model in every dump.

    docs/generate_walkthrough.py            writes the page
    docs/generate_walkthrough.py --check    fails if it would change

The prose is here; the tools print everything else on the page, so that the page
stays true. test/endtoend/docs_test.py runs the check.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "walkthrough.md"
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
# How oneDNN packs weights depends on the processor; so it takes what all have.
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"

HEAD = """\
# One model in every dump

<!-- Written by docs/generate_walkthrough.py; change that, not this. -->

A perceptron of two layers, in PyTorch's export form, for two devices:

    models/mlp.py --widths 6,7,4 --batch 4 -o mlp.onnx
    {compile}

`--dump-after all` writes one file per stage, `mlp.import.mlir` and so on. Each
can be edited and given to `divisi compile` in place of the model; compilation
continues from there. Locations, hashes, and the plan's report, which `divisi
explain` shows, are left out below.
"""

SECTIONS = {
    "import": """\
## After Import: what is computed

The `nn` dialect: operators on global tensors, and no device anywhere. A Gemm
has become a contraction, whose loops have letters, and an addition. Weights are
globals: their data stays in `mlp.onnx`, at the offset and length in brackets.
The path is relative to the dump, and `divisi.files` records the file's size and
hash, so that both files can be moved together. Data computed by the compiler
would be at the end of the dump, as a resource.
""",
    "plan": """\
## After Plan: where it runs

The same operators. The module now has a grid, and every operator a strategy:
which of its loops is split over which axis of the grid. `spmd.place` is the
counterpart for values without an operator: the layouts of globals, inputs and
outputs. Edit a strategy here and continue compiling, and the program follows
it.
""",
    "convert": """\
## Inside Partition: converts, before they are routed

The first pass of the stage gives every value the layout that follows from its
operator's split, and inserts a convert where a value is needed in another
layout. Converts do not yet say how: `divisi-opt --spmd-partition` stops here.
These are all converts of the plan above:
""",
    "partition": """\
## After Partition: local tensors and collectives

Types are local now: the part that one device holds. Their encoding has the
grid, the layout on it, and the global shape. The first layer is split by its
result's features, and so is the second, which needs all features of the first:
a collective gathers them. Seven hidden features do not divide by two: the first
device has four of them and the second three. A type has one shape, so it says
`4`, the extent to allocate; global extent and axes (`[m0, *]` of `7x6`) say
which part each device holds.

`spmd.computes` is a hash of the entry's computation, recorded before the stage.
`verify-partition` compares it with the computation of the local programs.
""",
    "schedule": """\
## After Schedule: in which order

The same operations in an order in which collectives overlap with operators.
Here everything after the gather needs its result, so the order is unchanged,
and the function has no `spmd.overlap`: the next stage keeps the order as it is.
The module has the predicted times, in nanoseconds; `exposed` is the
communication that no operator hides.
""",
    "lower": """\
## After Lower: how it runs

The `exec` dialect: a program for a set of ranks, with buffers at offsets into
an arena, and a list of instructions. Emit writes exactly this list into the
artifact, and the runtime executes it.
""",
}

PRICED = """\
## One choice and its price

The planner left the result split by features, since no option asks for anything
else. To have the whole result on every device, edit its place in the dump after
Plan, from `{split}`
to `{whole}`,
and continue from there. First `explain`'s output for the last layer, then its
output for the edited plan:
"""

EXPLAIN = """\
## What `divisi explain mlp.divisi` says

"""


def divisi(folder, *arguments):
    done = subprocess.run([BUILD / "bin" / "divisi", *arguments], cwd=folder,
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"generate_walkthrough.py: divisi "
                         f"{' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout


def without_locations(text):
    """Drops `loc(...)` behind operations and the aliases of locations."""
    lines = [line for line in text.splitlines()
             if not re.match(r"#loc\d*\b", line)]
    return "\n".join(re.sub(r" loc\((#?[\w.]+|[^()]*|\"[^\"]*\"(\([^()]*\))?)"
                            r"\)", "", line) for line in lines).strip()


def dump_of(stage, folder):
    [path] = [p for p in folder.glob("*.mlir") if stage in p.name]
    text = re.sub(r'sha256 = "\w*"', 'sha256 = "…"', path.read_text())
    text = re.sub(r'divisi\.report = "[^"]*"', 'divisi.report = "…"', text)
    return without_locations(text)


def divisi_opt(folder, *arguments):
    return subprocess.run([BUILD / "bin" / "divisi-opt", *arguments],
                          cwd=folder, check=True, capture_output=True,
                          text=True).stdout


def converts(folder):
    """The lines of the first pass that convert, outside of their function."""
    [plan] = [p for p in folder.glob("*.mlir") if "plan" in p.name]
    text = divisi_opt(folder, plan.name, "--spmd-partition")
    lines = [line.strip() for line in without_locations(text).splitlines()
             if "spmd.convert" in line]
    if not lines:
        raise SystemExit("generate_walkthrough.py: the plan has no converts "
                         "to show; choose other widths")
    return "\n".join(lines)


SPLIT_RESULT = "#spmd.place<@g: [*, m0]>}) {"
WHOLE_RESULT = "#spmd.place<@g: [*, *]>}) {"


def last_layer(explained):
    """The time of a run, and the rows of the last layer."""
    lines = explained.rstrip().splitlines()
    [time] = [line for line in lines if line.startswith("on these ")]
    [layer] = [i for i, line in enumerate(lines)
               if line.startswith("layers.2 ")]
    return "\n".join([time, *lines[layer:]])


def priced(folder, explained):
    """The plan with its result whole: the time, and the last layer."""
    [plan] = [p for p in folder.glob("*.mlir") if "plan" in p.name]
    text = plan.read_text()
    if SPLIT_RESULT not in text:
        raise SystemExit("generate_walkthrough.py: the result is not split by "
                         "features any more; choose another edit to price")
    (folder / "edited.mlir").write_text(
        text.replace(SPLIT_RESULT, WHOLE_RESULT))
    words = PRICED.format(split=SPLIT_RESULT[:-4], whole=WHOLE_RESULT[:-4])
    after = last_layer(divisi(folder, "explain", "edited.mlir"))
    return (f"{words}\n```\n{last_layer(explained)}\n```\n\n"
            f"```\n{after}\n```\n")


def page():
    command = ("compile", "mlp.onnx", "--devices", "2",
               "--tensor-parallel-size", "2", "--dump-after", "all",
               "-o", "mlp.divisi")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, ROOT / "models" / "mlp.py",
                        "--widths", "6,7,4", "--batch", "4",
                        "-o", folder / "mlp.onnx"],
                       check=True, capture_output=True)
        divisi(folder, *command)
        parts = [HEAD.format(compile="divisi " + " ".join(command))]
        for stage, words in SECTIONS.items():
            dump = (converts(folder) if stage == "convert"
                    else dump_of(stage, folder))
            parts.append(f"{words}\n```mlir\n{dump}\n```\n")
        explained = divisi(folder, "explain", "mlp.divisi").rstrip()
        parts.append(f"{EXPLAIN}```\n{explained}\n```\n")
        parts.append(priced(folder, explained))
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text)
        return
    there = PAGE.read_text() if PAGE.exists() else ""
    if there != text:
        sys.stderr.writelines(difflib.unified_diff(
            there.splitlines(True), text.splitlines(True),
            "docs/walkthrough.md", "what the tools print now"))
        raise SystemExit("docs/walkthrough.md is not what the tools print: "
                         "run docs/generate_walkthrough.py")


if __name__ == "__main__":
    main()
