"""Tensors in files that are not there: what a plan needs of them, and what it
does without."""

import onnx
import pytest
from onnx import TensorProto, helper


def external(path, location):
    """Two initializers in a file: a weight, and the shape that a Reshape
    takes."""
    def away(name, kind, dims, offset, length):
        tensor = TensorProto(name=name, data_type=kind, dims=dims,
                             data_location=TensorProto.EXTERNAL)
        for key, value in [("location", location), ("offset", str(offset)),
                           ("length", str(length))]:
            tensor.external_data.add(key=key, value=value)
        return tensor

    return [away("w", TensorProto.FLOAT, [6, 6], 0, 144),
            away("wanted", TensorProto.INT64, [2], 144, 16)]


def reshaped(path, initializers):
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "wanted"], ["r"], name="flatten"),
         helper.make_node("MatMul", ["r", "w"], ["y"], name="product")], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 6])],
        initializers)
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)]), path)


@pytest.mark.parametrize("verb", [["plan"], ["compile", "-o", "m.divisi"],
                                  ["explain"], ["check"]])
def test_absent_tensor_that_shapes_need(divisi, tmp_path, verb):
    reshaped(tmp_path / "m.onnx", external(tmp_path, "w.bin"))
    error = divisi(verb[0], "m.onnx", *verb[1:], "--devices", 2, exits=3).err
    assert "only be planned" not in error
    for text in ("node 'flatten' (Reshape): shapes, indices or constants "
                 "follow from the value of 'wanted', and its file '",
                 "w.bin' is not there; put it there, or export the model with "
                 "its small tensors inside: a plan needs those alone"):
        assert text in error, error


def test_absent_weights_are_not_needed_to_plan(divisi, tmp_path):
    """The weight alone is away."""
    weight, _ = external(tmp_path, "w.bin")
    reshaped(tmp_path / "m.onnx", [weight, helper.make_tensor(
        "wanted", TensorProto.INT64, [2], [2, 6])])
    divisi("plan", "m.onnx", "--devices", 2, "-o", "p.mlir")
    divisi("explain", "m.onnx", "--devices", 2)
    for verb in (["compile", "-o", "m.divisi"], ["check"]):
        assert ("w.bin' are needed and the file is not there; without it the "
                "model can only be planned") in divisi(
                    verb[0], "m.onnx", *verb[1:], "--devices", 2,
                    exits=3).err
