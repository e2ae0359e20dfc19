"""Tables of rotary embeddings, as exporters write them who have computed cosines
and sines: of all columns, in two halves that are the same."""

import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

TOOL = Path(os.environ["DIVISI_BUILD"]) / "bin" / "divisi"
SHAPE = [2, 4, 10, 8]


def rotated(folder, cos, sin):
    """x * cos + [-x2|x1] * sin, and how often it is one operator."""
    half = SHAPE[-1] // 2
    ints = {"zero": [0], "half": [half], "all": [2 * half], "last": [3]}
    tensors = [numpy_helper.from_array(np.array(v), k) for k, v in ints.items()]
    tensors += [numpy_helper.from_array(cos, "cos"),
                numpy_helper.from_array(sin, "sin")]
    nodes = [
        helper.make_node("Mul", ["x", "cos"], ["u"]),
        helper.make_node("Slice", ["x", "zero", "half", "last"], ["a"]),
        helper.make_node("Slice", ["x", "half", "all", "last"], ["b"]),
        helper.make_node("Neg", ["b"], ["m"]),
        helper.make_node("Concat", ["m", "a"], ["r"], axis=-1),
        helper.make_node("Mul", ["r", "sin"], ["v"]),
        helper.make_node("Add", ["u", "v"], ["y"])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, SHAPE)],
        [helper.make_tensor_value_info("y", 1, SHAPE)], tensors)
    onnx.save(helper.make_model(
        graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]),
        folder / "m.onnx")
    x = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
    turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    np.savez(folder / "x.npz", x=x)
    np.savez(folder / "y.npz", y=x * cos + turned * sin)
    for arguments in (
            ["check", "m.onnx", "--inputs", "x.npz", "--expect", "y.npz",
             "--mesh", "3", "--solver", "random", "--seed", "2"],
            ["compile", "m.onnx", "--devices", "1", "-o", "m.divisi",
             "--dump-after", "import", "--dump-to", "."]):
        done = subprocess.run([TOOL, *arguments], cwd=folder,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "m.import.mlir").read_text().count("nn.rotary ")


def twice(values):
    return np.concatenate([values, values], axis=-1).astype(np.float32)


@pytest.fixture
def angles():
    return np.outer(np.arange(10), 10.0 ** -np.arange(4)).reshape(1, 1, 10, 4)


def test_halves_that_are_the_same_are_one(tmp_path, angles):
    assert rotated(tmp_path, twice(np.cos(angles)), twice(np.sin(angles))) == 1


def test_halves_that_differ_in_a_bit_are_two(tmp_path, angles):
    sin = twice(np.sin(angles))
    sin[0, 0, 9, 7] = np.nextafter(sin[0, 0, 9, 7], np.float32(1))
    assert rotated(tmp_path, twice(np.cos(angles)), sin) == 0


def test_one_number_everywhere_is_no_table(tmp_path, angles):
    ones = np.ones([1, 1, 10, 8], np.float32)
    assert rotated(tmp_path, ones, twice(np.sin(angles))) == 0
