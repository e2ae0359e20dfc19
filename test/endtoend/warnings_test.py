"""What a user may not have meant is said, and nothing of what is right."""

import re

import numpy as np
import onnx
import pytest
from conftest import model
from onnx import TensorProto, helper


def warnings(result):
    return re.findall(r"^divisi: warning: (.*)$", result.err, re.M)


def notes(result, about):
    return re.findall(rf"^divisi: note: (.*{about}.*)$", result.err, re.M)


def gemm(path, batch, wide):
    """One product, large enough to be split."""
    w = helper.make_tensor("w", TensorProto.FLOAT, [wide, wide],
                           np.ones(wide * wide, np.float32))
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, wide])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, wide])],
        [w])
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)]), path)
    return path


@pytest.fixture
def product(tmp_path):
    return gemm(tmp_path / "product.onnx", 8, 512)


def plan(divisi, path, *flags):
    return divisi("plan", path, *flags, "-o", "p.mlir")


BATCH = [
    (["--data-parallel-size", 4, "--devices", 4], None),
    (["--data-parallel-size", 8, "--devices", 8], None),
    (["--data-parallel-size", 16, "--devices", 16],
     "the data parallel size 16 is more than the batch of 8 (dimension 0 of "
     "the inputs): 8 of 16 devices get no part of it"),
    (["--mesh", "data=16"],
     "the data parallel size 16 is more than the batch of 8"),
    (["--data-parallel-size", 2, "--devices", 2, "--batch-dim", 1], None),
    (["--data-parallel-size", 2, "--devices", 2, "--batch-dim", 5],
     "no input has a dimension 5 (--batch-dim), so there is no batch to "
     "split"),
    (["--devices", 2, "--batch-dim", 5],
     "no input has a dimension 5 (--batch-dim)"),
    (["--devices", 2, "--batch-dim", 1],
     "--batch-dim has no effect, since the grid has no data axes; "
     "--data-parallel-size makes them, or a mesh such as data=2,model=4"),
]


@pytest.mark.parametrize("flags, message", BATCH, ids=[
    " ".join(map(str, row[0])) for row in BATCH])
def test_of_the_batch(divisi, product, flags, message):
    said = [w for w in warnings(plan(divisi, product, *flags))
            if "batch" in w]
    assert len(said) == (message is not None), said
    assert message is None or said[0].startswith(message), said


def test_of_heads_that_do_not_divide(divisi, generated):
    """12 heads: over 4 of the devices yes, over 8 no."""
    m = generated("gpt2.py", "--size", "tiny", "--batch", 2, "--seq", 16)
    assert not [w for w in warnings(plan(
        divisi, m.onnx, "--tensor-parallel-size", 4, "--devices", 4))
        if "heads" in w]
    [said] = [w for w in warnings(plan(
        divisi, m.onnx, "--tensor-parallel-size", 8, "--devices", 8))
        if "heads" in w]
    assert said.startswith("the tensor parallel size 8 does not divide the 12 "
                           "heads of nn.attention at ")
    assert said.endswith(": devices get unequal parts, or the same ones")


def test_models_without_heads_have_none_to_divide(divisi):
    m = model("resnet")
    assert not [w for w in warnings(divisi(
        "plan", m.onnx, *m.shapes, "--mesh", "model=3", "-o", "p.mlir"))
        if "heads" in w]


def test_of_work_that_is_replicated(divisi, tmp_path):
    """Small products are not worth a message between devices."""
    assert not warnings(plan(divisi, gemm(tmp_path / "l.onnx", 512, 512),
                             "--devices", 2))
    assert not warnings(plan(divisi, gemm(tmp_path / "s.onnx", 1, 2)))
    # What has one iteration cannot be split at all.
    assert warnings(plan(
        divisi, gemm(tmp_path / "p.onnx", 1, 1), "--devices", 2)) == [
            "the plan replicates 100% of the arithmetic: several of the 2 "
            "devices do the same; fewer devices may do as well"]


MESHES = [
    ("2", []),
    ("data=2", ["axes of --mesh: data splits the batch where it is"]),
    ("data=2,model=2", ["axes of --mesh: data splits the batch where it is, "
                        "model splits all but the batch"]),
    ("model=2,rest=2", ["axes of --mesh: model splits all but the batch, rest "
                        "splits anything, as only data and model constrain"]),
    ("dp=2,tp=2", ["axes of --mesh: dp, tp split anything, as only data and "
                   "model constrain"]),
]


@pytest.mark.parametrize("mesh, wanted", MESHES, ids=[m[0] for m in MESHES])
def test_names_of_axes(divisi, product, mesh, wanted):
    assert notes(plan(divisi, product, "--mesh", mesh), "--mesh") == wanted


def test_shared_cores_are_noted_once(divisi, product):
    result = divisi("check", product, "--devices", 8, "--random-plans", 2,
                    "--threads-per-device", 64)
    assert len(notes(result, "times are not representative")) == 1, result.err
