"""Each model under test/models, imported and run by the reference kernels."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TOOL = Path(os.environ["DIVISI_BUILD"]) / "bin/import-model"
MODELS = Path(__file__).resolve().parent.parent / "models"
NAMES = sorted(path.stem for path in MODELS.glob("*.onnx"))


def run(name, *options):
    return subprocess.run(
        [TOOL, MODELS / f"{name}.onnx", "--inputs",
         MODELS / f"{name}.inputs.npz", *options],
        capture_output=True, text=True)


def test_there_are_models():
    assert len(NAMES) >= 7


@pytest.mark.sample("name", "options")
@pytest.mark.parametrize("options", [(), ("--pipeline", "divisi-import")],
                         ids=["imported", "clean"])
@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_the_exporter(name, options):
    done = run(name, "--outputs", MODELS / f"{name}.outputs.npz", *options)
    assert done.returncode == 0, done.stderr


def clean(name):
    done = run(name, "--print", "--pipeline", "divisi-import")
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_ones(shape):
    return [extent for extent in shape.split("x")[:-1] if extent != "1"]


@pytest.mark.parametrize("name", ["gpt2", "bert", "llama", "t5", "vit"])
def test_nothing_is_flattened_between_products(name):
    text = clean(name)
    # Before the first product ViT flattens the positions of its patches, which
    # a class token then joins.
    body = text[text.index("nn.matmul"):]
    shapes = re.findall(
        r"nn\.reshape.*\(tensor<(\S+)>\) -> tensor<(\S+)>", body)
    for before, after in shapes:
        assert without_ones(before) == without_ones(after)


def test_gpt2_has_heads_of_their_own():
    text = clean("gpt2")
    assert re.search(r"c_attn\.weight parameter : tensor<64x3x8x8xf32>", text)
    assert re.search(r"c_proj\.weight parameter : tensor<8x8x64xf32>", text)
    assert "128x" not in text


def test_weights_are_not_transposed():
    text = clean("gpt2")
    init = text[text.index("func.func @init"):text.index("func.func @forward")]
    assert "nn.transpose" not in init


@pytest.mark.parametrize("name, op, count", [
    ("gpt2", 'nn.gelu', 2), ("bert", "nn.gelu", 3), ("llama", "nn.normalize", 5),
    ("t5", "nn.normalize", 12)])
def test_written_out_operators_are_recognised(name, op, count):
    assert clean(name).count(op) == count


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_shape_arithmetic_leaves_no_trace(name):
    text = run(name, "--print").stdout
    assert "nn.matmul" in text
    assert "nn.concat" not in text
    assert not re.search(r"nn\.(add|mul|div)\b.*xi64>$", text, re.M)


def test_open_dims_are_listed_with_their_inputs():
    done = subprocess.run([TOOL, MODELS / "gpt2.onnx"], capture_output=True,
                          text=True)
    assert done.returncode == 2
    assert "s10 in 'input_ids'" in done.stderr
    assert "s86 in 'attention_mask'" in done.stderr


def test_weights_that_are_not_there_are_only_missed_when_needed(tmp_path):
    path = tmp_path / "m.onnx"
    subprocess.run([sys.executable, MODELS.parent.parent / "models/mlp.py",
                    "--widths", "8,4", "--batch", "2", "--weightless",
                    "-o", path], check=True)
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 8), np.float32))
    np.savez(tmp_path / "y.npz", linear=np.zeros((2, 4), np.float32))
    printed = subprocess.run([TOOL, "m.onnx", "--print"], cwd=tmp_path,
                             capture_output=True, text=True)
    assert 'from "m.onnx.data" [0, 128]' in printed.stdout, printed.stderr
    done = subprocess.run([TOOL, "m.onnx", "--inputs", "x.npz",
                           "--outputs", "y.npz"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert "m.onnx.data" in done.stderr


def import_node(folder, op_type, elements, shape, **attributes):
    """Imports a model of one node x → y."""
    import onnx
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(op_type, ["x"], ["y"], "only", **attributes)],
        "g", [value("x", elements, shape)], [value("y", elements, shape)])
    model = onnx.helper.make_model(
        graph, ir_version=10,
        opset_imports=[onnx.helper.make_opsetid("", 20)])
    onnx.save(model, folder / "m.onnx")
    return subprocess.run(
        [TOOL, folder / "m.onnx", "--print", "--pipeline", "divisi-import"],
        capture_output=True, text=True)


@pytest.mark.parametrize("elements, name", [
    (1, None), (11, None), (10, None), (16, None), (3, None), (13, None),
    (17, None), (19, None), (21, None), (22, None), (8, "STRING"),
    (14, "COMPLEX64"), (15, "COMPLEX128"), (18, None), (20, None),
    (23, None), (24, None), (25, None), (26, None)])
def test_input_types_without_kernels_are_named(tmp_path, elements, name):
    done = import_node(tmp_path, "Identity", elements, [3])
    assert done.returncode == (5 if name else 0), done.stderr
    if name:
        assert f"the elements of input 'x' are {name}" in done.stderr


def test_operator_without_importer_is_named_with_its_node(tmp_path):
    done = import_node(tmp_path, "Det", 1, [3, 3])
    assert done.returncode == 5
    assert "node 'only' (Det)" in done.stderr
