"""--constant and --constants-from: inputs whose values are known to the
compiler, so that shapes can follow from them."""

import numpy as np
import onnx
import pytest
from conftest import load
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.as_written

USAGE, FILES, CONTENT, UNSUPPORTED = 2, 3, 4, 5
X = np.arange(12, dtype=np.float32).reshape(3, 4)
W = np.full(4, 0.5, np.float32)


@pytest.fixture
def model(divisi):
    """Reshape(x * w, shape) with a shape that is an input."""
    f = divisi.folder
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (3, 4)),
              helper.make_tensor_value_info("w", TensorProto.FLOAT, ("n",)),
              helper.make_tensor_value_info("shape", TensorProto.INT64, (2,))]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, (None, 6))
    nodes = [helper.make_node("Mul", ["x", "w"], ["p"], "scale"),
             helper.make_node("Mul", ["p", "two"], ["q"], "twice"),
             helper.make_node("Reshape", ["q", "shape"], ["y"], "fold")]
    onnx.save(helper.make_model(
        helper.make_graph(nodes, "g", inputs, [output], [
            numpy_helper.from_array(np.array([2.0], np.float32), "two")]),
        ir_version=10, opset_imports=[helper.make_opsetid("", 20)]),
        f / "m.onnx")
    np.save(f / "shape.npy", np.array([2, 6]))
    np.save(f / "narrow.npy", np.array([2, 6], np.int32))
    np.save(f / "long.npy", np.array([2, 3, 2]))
    (f / "shape.pb").write_bytes(
        numpy_helper.from_array(np.array([2, 6])).SerializeToString())
    np.savez(f / "both.npz", shape=np.array([2, 6]), w=W)
    np.savez(f / "x.npz", x=X)
    np.savez(f / "xw.npz", x=X, w=W)
    np.savez(f / "all.npz", x=X, w=W, shape=np.array([2, 6]))
    return divisi


GIVEN = {
    "an array": (["--constant", "shape=shape.npy", "--dim", "n=4"], "xw.npz"),
    "an ONNX tensor": (["--constant", "shape=shape.pb", "--dim", "n=4"],
                       "xw.npz"),
    "an archive": (["--constants-from", "both.npz"], "x.npz"),
}


@pytest.mark.parametrize("flags, inputs", GIVEN.values(), ids=GIVEN.keys())
def test_shapes_follow_from_constants(model, flags, inputs):
    model("compile", "m.onnx", *flags, "--devices", 2, "-o", "m.divisi")
    model("run", "m.divisi", "--inputs", inputs, "-o", "y.npz")
    assert np.array_equal(load(model.path("y.npz"))["y"],
                          (2 * X * W).reshape(2, 6))
    model("check", "m.onnx", *flags, "--devices", 2, "--inputs", inputs)
    assert "reshape" in model("explain", "m.onnx", *flags, "--devices", 2).out


def test_a_constant_is_no_input_of_the_program(model):
    flags = ["--constants-from", "both.npz"]
    text = model("plan", "m.onnx", *flags, "-o", "-").out
    assert '"x"' in text and '"w"' not in text and '"shape"' not in text
    model("compile", "m.onnx", *flags, "-o", "m.divisi")
    assert "'w'" in model("run", "m.divisi", "--inputs", "all.npz",
                          exits=CONTENT).err
    assert "a tensor is given for 'shape', which --constant makes a constant " \
        "of the model; leave one of them out" in model(
            "check", "m.onnx", "--inputs", "all.npz", "--constant",
            "shape=shape.npy", exits=CONTENT).err


def test_without_it_the_shape_is_not_known(model):
    assert "'shape') is computed at run time, and the shape of the result " \
        "depends on it; shapes are static: make it a constant, by --constant if " \
        "it is an input of the model" in \
        model("plan", "m.onnx", "--dim", "n=4", exits=UNSUPPORTED).err


BAD = [
    (["--constant", "size=shape.npy"],
     "--constant 'size': the model has the inputs 'shape', 'w', 'x'"),
    (["--constant", "two=shape.npy"],
     "--constant 'two': it is an initializer, which has its value in the "
     "model"),
    (["--constant", "shape=narrow.npy"],
     "got elements of type i32 for input 'shape', expected i64"),
    (["--constant", "shape=long.npy"],
     "got 3 for dim 0 of input 'shape', which the model fixes to 2"),
    (["--constant", "shape=shape.npy", "--constant", "shape=shape.pb"],
     "the constant 'shape' is given twice; give it once"),
    (["--constant", "shape=shape.npy", "--constants-from", "both.npz"],
     "the constant 'shape' is given twice"),
    (["--constant", "shape=shape.npy", "--shape", "shape=2"],
     "'shape' is given by --shape and by --constant, which has a shape; give "
     "one of them"),
    (["--constant", "shape.npy"],
     "--constant 'shape.npy': expected INPUT=FILE"),
    (["--constants-from", "shape.npy"],
     "--constants-from 'shape.npy': a tensor in it has no name; give it by "
     "--constant INPUT=FILE"),
    (["--constant", "shape=shape.npy", "-o", "shape.npy"],
     "-o 'shape.npy' is a file of --constant, which would be lost"),
    (["--constants-from", "both.npz", "-o", "both.npz"],
     "-o 'both.npz' is a file of --constants-from, which would be lost"),
]


@pytest.mark.parametrize("flags, message", BAD, ids=[row[1] for row in BAD])
def test_mistakes_are_said(model, flags, message):
    assert message in model("plan", "m.onnx", *flags, exits=USAGE).err


def test_a_model_without_inputs_has_none_to_give(model):
    node = helper.make_node("Constant", [], ["y"], "c", value_int=3)
    onnx.save(helper.make_model(helper.make_graph(
        [node], "g", [],
        [helper.make_tensor_value_info("y", TensorProto.INT64, ())]),
        ir_version=10, opset_imports=[helper.make_opsetid("", 20)]),
        model.path("c.onnx"))
    assert "--constant 'x': the model has no inputs" in model(
        "plan", "c.onnx", "--constant", "x=shape.npy", exits=USAGE).err


def test_files_that_are_not_there(model):
    model("plan", "m.onnx", "--constant", "shape=no.npy", exits=FILES)
    model("plan", "m.onnx", "--constants-from", "no.npz", exits=FILES)
