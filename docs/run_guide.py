#!/usr/bin/env python3
"""Runs the commands of docs/guide.md and shows what they print.

    docs/run_guide.py            writes their output into the page
    docs/run_guide.py --check    fails if it would change
    docs/run_guide.py --export PYTHON
                                 runs the page's Python, by one that has
                                 PyTorch, and keeps what it exports in
                                 test/models for everybody who has not

A command of a ```console block stands behind "$ "; one that ends in a
backslash goes on in the next line, and one that has to fail ends in the
comment "# exit code N". All run one after the other in one folder,
where the exported model is. test/endtoend/guide_test.py runs the check.
"""

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guide.md"
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
# As generate_walkthrough.py says.
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
MODELS = ROOT / "test" / "models"
EXPORTED = [f"classifier.{end}" for end in ("onnx", "inputs.npz",
                                            "outputs.npz")]
CONSOLE = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.M | re.S)
COMMAND = re.compile(r"^\$ (?:.*\\\n)*.*\n", re.M)
# What depends on the machine that runs the page.
CORES = re.compile(r"^divisi: note: .* share \d+ cores; .*\n", re.M)


def python_of(page):
    """The page's Python, as one script."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S))


def output_of(command, folder):
    """What a terminal shows."""
    environment = dict(os.environ, ROOT=str(ROOT),
                       PATH=f"{BUILD / 'bin'}:{os.environ['PATH']}")
    done = subprocess.run(["bash", "-c", command],
                          cwd=folder, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    text = CORES.sub("", done.stdout).replace(f"{folder}/", "")
    expected = re.search(r"# exit code (\d+)$", command)
    if done.returncode != int(expected[1] if expected else 0):
        raise SystemExit(f"run_guide.py: '{command}' ends with exit code "
                         f"{done.returncode}:\n{text}")
    return text


def stable(text):
    """Without the errors of floats, which are those of a machine's kernels, and
    the sizes of files, which name the folder that they lie in, and of code."""
    text = re.sub(r"largest error .*", "largest error", text)
    return re.sub(r"^(wrote .*|native code .*), [\d.]+ \w*B$", r"\1", text,
                  flags=re.M)


def run(page, folder):
    """The page with the output that its commands have now."""
    def rerun(block):
        commands = COMMAND.findall(block.group())
        return "".join(
            command + output_of(command[2:].replace("\\\n", "").strip(), folder)
            for command in commands)
    return CONSOLE.sub(rerun, page)


def export(page, python, folder):
    subprocess.run([python, "-c", python_of(page)], cwd=folder, check=True,
                   capture_output=True)
    # Where PyTorch lies on this machine is nobody's business.
    import onnx
    model = onnx.load(folder / "classifier.onnx")
    for node in model.graph.node:
        for at in reversed(range(len(node.metadata_props))):
            if node.metadata_props[at].key.endswith("stack_trace"):
                del node.metadata_props[at]
    onnx.save(model, folder / "classifier.onnx")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--export", metavar="PYTHON")
    arguments = parser.parse_args()
    there = PAGE.read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        if arguments.export:
            export(there, arguments.export, folder)
            for file in EXPORTED:
                shutil.copy(folder / file, MODELS)
        for file in EXPORTED:
            shutil.copy(MODELS / file, folder)
        text = run(there, folder)
    if not arguments.check:
        PAGE.write_text(text)
    elif stable(there) != stable(text):
        sys.stderr.writelines(difflib.unified_diff(
            stable(there).splitlines(True), stable(text).splitlines(True),
            "docs/guide.md", "what the tools print now"))
        raise SystemExit("docs/guide.md is not what the tools print: run "
                         "docs/run_guide.py")


if __name__ == "__main__":
    main()
