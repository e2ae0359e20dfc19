"""Writes firings.md: which rules are applied to the models of test/models, how
often, and what is recognised in each.

    DIVISI_BUILD=build python docs/generate_firings.py
    DIVISI_BUILD=build python docs/generate_firings.py --exports FOLDER
    DIVISI_BUILD=build python docs/generate_firings.py MODEL.onnx...

With --exports it writes firings-exports.md, of the models of EXPORTS that
bench/onnxruntime/export.py has written to FOLDER. With models, whose shapes are
those of MODEL.inputs.npz, the tables of these are printed instead.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
MODELS = sorted((ROOT / "test/models").glob("*.onnx"))
# Of bench/onnxruntime/names.py: in their real sizes.
EXPORTS = ("bert-base-b1", "gpt2-124m-b1", "llama-160m", "resnet50-b1")
OPERATORS = ("normalize", "gelu", "silu", "attention", "rotary")
# What Import does first.
ALWAYS = "cse,func.func(nn-spell-products),apply-rules{always}"
HEAD = """# Where rules are applied

Written by docs/generate_firings.py, for the models of test/models.
[rules.md](rules.md) describes each rule;
[firings-exports.md](firings-exports.md) covers models of real sizes.
"""
EXPORTS_HEAD = """# Where rules are applied in models of real sizes

Written by docs/generate_firings.py, from PyTorch's exports by
bench/onnxruntime/export.py. [firings.md](firings.md) covers the models of
test/models, [rules.md](rules.md) describes each rule.

endtoend-exports regenerates this page, and compares the results of these models
with PyTorch on one device and on four, under random plans. The exports are not
part of the project: DIVISI_EXPORTS names their folder.

```
python bench/onnxruntime/export.py FOLDER bert-base-b1 gpt2-124m-b1 llama-160m resnet50-b1
DIVISI_BUILD=build python docs/generate_firings.py --exports FOLDER
DIVISI_EXPORTS=FOLDER ctest --test-dir build -R endtoend-exports
```
"""


def imported(model, folder, *arguments):
    """The text of the module after Import."""
    done = subprocess.run(
        [BUILD / "bin/divisi", "compile", model, "--shapes-from",
         model.with_suffix(".inputs.npz"), "--dump-after", "import", "-o", "-",
         *arguments], capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout


def as_written(model):
    """The text of the module that Import begins with."""
    return subprocess.run(
        [BUILD / "bin/import-model", model, "--inputs",
         model.with_suffix(".inputs.npz"), "--print"], capture_output=True,
        text=True, check=True).stdout


def firings(module, folder, passes):
    """{rule: how often it is applied by the passes to a module}."""
    path = Path(folder) / "module.mlir"
    path.write_text(module, encoding="utf-8")
    done = subprocess.run(
        [BUILD / "bin/divisi-opt", path,
         f"--pass-pipeline=builtin.module({passes})",
         "--remarks-filter=apply-rules", "--remark-format=emitRemark", "-o",
         os.devnull], capture_output=True, text=True, check=True, cwd=folder)
    return Counter(re.findall(r"\[Passed\] (\S+) .*Remark=applied",
                              done.stderr))


def operators(module):
    return Counter(re.findall(r"= nn\.(\w+)", module))


def written(counts):
    return ", ".join(f"{rule} {count}" for rule, count in
                     sorted(counts.items())) or "none"


def tables(models):
    lines = ["Operators after Import, with rules (and without):\n",
             "| model | " + " | ".join(OPERATORS) + " |",
             "|---|" + "---|" * len(OPERATORS)]
    always, named = [], []
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            module = imported(model.resolve(), folder)
            with_rules = operators(module)
            without = operators(imported(model.resolve(), folder, "--leave-out",
                                         "apply-rules"))
            always.append(firings(as_written(model.resolve()), folder, ALWAYS))
            named.append(firings(module, folder, "apply-rules"))
        lines.append(f"| {model.stem} | " + " | ".join(
            f"{with_rules[each]} ({without[each]})" for each in OPERATORS) +
            " |")
    for what, counted in (
            ("Applications of the rules that every compilation applies:", always),
            ("Applications of the other rules, by an explicit `apply-rules`:",
             named)):
        lines += ["", what, "", "| model | rules and counts |", "|---|---|"]
        lines += [f"| {model.stem} | {written(counts)} |"
                  for model, counts in zip(models, counted)]
    return "\n".join(lines) + "\n"


def exports_page(folder):
    return EXPORTS_HEAD + "\n" + tables(
        [Path(folder) / f"{name}.onnx" for name in EXPORTS])


def main():
    if sys.argv[1:2] == ["--exports"]:
        (ROOT / "docs/firings-exports.md").write_text(
            exports_page(sys.argv[2]), encoding="utf-8")
    elif sys.argv[1:]:
        print(tables([Path(path) for path in sys.argv[1:]]), end="")
    else:
        (ROOT / "docs/firings.md").write_text(HEAD + "\n" + tables(MODELS),
                                              encoding="utf-8")


if __name__ == "__main__":
    main()
