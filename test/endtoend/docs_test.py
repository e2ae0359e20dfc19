"""What the pages say is what the tools do."""

import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from conftest import ROOT

PAGES = sorted(ROOT.glob("docs/*.md")) + sorted(
    ROOT / name for name in ("README.md", "models/README.md",
                             "test/models/README.md"))


def test_walkthrough_is_what_the_tools_print():
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate_walkthrough.py",
         "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES,
                         ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_links_lead_somewhere(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)#]+)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES,
                         ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_files_that_pages_name_are_there(page):
    """`lib/Layout/Layout.cpp` in backquotes is a file or folder."""
    rooms = "cmake|dialects|include|lib|passes|runtime|tools|models|bench|test"
    for path in re.findall(rf"`((?:{rooms})/[\w./-]+)`", page.read_text()):
        assert (ROOT / path).exists(), path


def save_unary(path, operators):
    """A model of one operator after the other, as (type, name)."""
    nodes = [onnx.helper.make_node(op, [f"x{i}"], [f"x{i + 1}"], name=name)
             for i, (op, name) in enumerate(operators)]
    ends = [onnx.helper.make_tensor_value_info(f"x{i}", 1, [4])
            for i in (0, len(nodes))]
    onnx.save(onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:])), path)


def make_examples(folder, divisi):
    """What the examples of error-codes.md are run on."""
    subprocess.run([sys.executable, ROOT / "models" / "mlp.py", "--widths",
                    "6,7,4", "--batch", "4", "-o", folder / "mlp.onnx"],
                   check=True, capture_output=True)
    save_unary(folder / "frobnicate.onnx", [("Frobnicate", "odd_node")])
    save_unary(folder / "several.onnx", [
        ("Frobnicate", "odd_node"), ("Det", "volume"),
        ("Frobnicate", "odd_too")])
    (folder / "edited.mlir").write_text(
        "module {\nfunc.func @forward() {\n  nn.frobnicate\n  return\n}\n}\n")
    x = np.zeros((4, 6), np.float32)
    np.savez(folder / "x.npz", x=x)
    np.savez(folder / "wrong.npz", y=x)
    divisi("compile", "mlp.onnx", "--devices", 2, "-o", "mlp.divisi")
    divisi("plan", "mlp.onnx", "--devices", 2, "-o", "plan2.mlir")
    divisi("run", "mlp.divisi", "--inputs", "x.npz", "-o", "y.npz")
    with np.load(folder / "y.npz") as outputs:
        np.savez(folder / "wrong_y.npz",
                 **{name: outputs[name] + 1 for name in outputs.files})


def rounded(text):
    """Numbers of four digits: the last ones are those of a machine."""
    return re.sub(r"\d+\.\d{4,}", lambda m: f"{float(m[0]):.4g}", text)


def test_messages_are_printed_as_the_page_says(divisi, tmp_path):
    page = (ROOT / "docs/error-codes.md").read_text()
    # Each example stands below a line that names its exit code.
    examples = re.findall(
        r"```console\n\$ divisi ([^\n]*)\n(.*?)```", page, re.S)
    assert len(examples) == 9
    make_examples(tmp_path, divisi)
    for command, expected in examples:
        before = page[:page.index(f"$ divisi {command}")]
        code = int(re.findall(r", (\d)[,:.]", before)[-1])
        result = divisi(*command.split(), exits=code)
        # Models are named in full.
        printed = result.err.replace(f"{tmp_path}/", "")
        assert rounded(printed) == rounded(expected), result.report("another message")


def test_exit_codes_are_those_of_the_header():
    header = (ROOT / "include/divisi/Support/Status.h").read_text()
    body = header[header.index("enum class ExitCode"):]
    codes = re.findall(r"= (\d+),", body[:body.index("};")])
    page = (ROOT / "docs/error-codes.md").read_text()
    assert re.findall(r"^\| (\d+) \|", page, re.M) == codes
