"""Makes the broken models of bad_input_test.py, one function each.

Each takes an empty folder, writes `m.onnx` (and what belongs to it) there,
and returns nothing.
"""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32 = TensorProto.FLOAT


def value(name, shape=(2, 3), dtype=F32):
    return helper.make_tensor_value_info(name, dtype, shape)


def graph(nodes, inputs=None, outputs=None, weights=()):
    return helper.make_graph(
        nodes, "g", [value("x")] if inputs is None else inputs,
        [value("y")] if outputs is None else outputs, list(weights))


def save(folder, graph, opsets=(("", 20),), **fields):
    model = helper.make_model(
        graph, ir_version=10,
        opset_imports=[helper.make_opsetid(*opset) for opset in opsets],
        **fields)
    (folder / "m.onnx").write_bytes(model.SerializeToString())


def good(folder):
    weight = numpy_helper.from_array(
        np.arange(12, dtype=np.float32).reshape(3, 4), "w")
    save(folder, graph(
        [helper.make_node("MatMul", ["x", "w"], ["h"], "product"),
         helper.make_node("Relu", ["h"], ["y"], "rectified")],
        outputs=[value("y", (2, 4))], weights=[weight]))


def truncated(folder):
    good(folder)
    path = folder / "m.onnx"
    path.write_bytes(path.read_bytes()[:-40])


def random_bytes(folder):
    noise = np.random.default_rng(0).bytes(5000)
    (folder / "m.onnx").write_bytes(noise)


def empty(folder):
    (folder / "m.onnx").write_bytes(b"")


def cyclic(folder):
    save(folder, graph(
        [helper.make_node("Add", ["x", "b"], ["a"], "first"),
         helper.make_node("Relu", ["a"], ["b"], "second"),
         helper.make_node("Relu", ["b"], ["y"], "third")]))


def missing_name(folder):
    save(folder, graph(
        [helper.make_node("Add", ["x", "nowhere"], ["y"], "sum")]))


def missing_output(folder):
    save(folder, graph([helper.make_node("Relu", ["x"], ["z"], "relu")]))


def duplicate_name(folder):
    save(folder, graph(
        [helper.make_node("Relu", ["x"], ["y"], "first"),
         helper.make_node("Neg", ["x"], ["y"], "second")]))


def shadowed_name(folder):
    """A node's result takes the name of an input."""
    save(folder, graph(
        [helper.make_node("Relu", ["x"], ["x"], "again"),
         helper.make_node("Neg", ["x"], ["y"], "last")]))


def shadowed_in_branch(folder):
    """The branch of an If defines what the graph around it has defined."""
    def branch(op):
        return helper.make_graph([helper.make_node(op, ["x"], ["h"], op)],
                                 op, [], [value("h")])

    condition = numpy_helper.from_array(np.array(True), "c")
    save(folder, graph(
        [helper.make_node("Abs", ["x"], ["h"], "outer"),
         helper.make_node("If", ["c"], ["i"], "choice",
                          then_branch=branch("Relu"),
                          else_branch=branch("Neg")),
         helper.make_node("Add", ["h", "i"], ["y"], "sum")],
        weights=[condition]))


def unknown_operator(folder):
    save(folder, graph(
        [helper.make_node("Frobnicate", ["x"], ["y"], "odd_node")]))


def unknown_domain(folder):
    save(folder, graph(
        [helper.make_node("FusedThing", ["x"], ["y"], "odd_node",
                          domain="com.example")]),
        opsets=[("", 20), ("com.example", 1)])


def unresolved_dims(folder):
    save(folder, graph(
        [helper.make_node("Add", ["x", "z"], ["y"], "sum")],
        inputs=[value("x", ("batch", "width")), value("z", ("batch", 3))],
        outputs=[value("y", ("batch", 3))]))


def overflowing_weight(folder):
    weight = TensorProto(name="w", data_type=F32, raw_data=b"\0" * 16,
                         dims=[1 << 40, 1 << 40])
    save(folder, graph([helper.make_node("Add", ["x", "w"], ["y"], "sum")],
                       weights=[weight]))


def overflowing_input(folder):
    shape = (1 << 40, 1 << 40)
    save(folder, graph([helper.make_node("Relu", ["x"], ["y"], "relu")],
                       inputs=[value("x", shape)],
                       outputs=[value("y", shape)]))


def overflowing_fold(folder):
    """A constant that only computing shows to be far too large."""
    shape = numpy_helper.from_array(np.array([1 << 31, 1 << 31, 4]), "s")
    save(folder, graph(
        [helper.make_node("ConstantOfShape", ["s"], ["c"], "fill"),
         helper.make_node("ReduceSum", ["c"], ["r"], "sum", keepdims=0),
         helper.make_node("Add", ["x", "r"], ["y"], "add")],
        weights=[shape]))


def short_weight(folder):
    """Fewer bytes than the shape says."""
    weight = TensorProto(name="w", data_type=F32, raw_data=b"\0" * 8,
                         dims=[2, 3])
    save(folder, graph([helper.make_node("Add", ["x", "w"], ["y"], "sum")],
                       weights=[weight]))


def external(folder, location, offset="0", length="24"):
    weight = TensorProto(name="w", data_type=F32, dims=[2, 3],
                         data_location=TensorProto.EXTERNAL)
    for key, text in (("location", location), ("offset", offset),
                      ("length", length)):
        weight.external_data.add(key=key, value=text)
    save(folder, graph([helper.make_node("Add", ["x", "w"], ["y"], "sum")],
                       weights=[weight]))


def external_good(folder):
    (folder / "w.bin").write_bytes(bytes(24))
    external(folder, "w.bin")


def external_absent(folder):
    external(folder, "w.bin")


def external_outside(folder):
    (folder / "inner").mkdir()
    (folder / "secret.bin").write_bytes(bytes(24))
    external(folder / "inner", "../secret.bin")
    os.replace(folder / "inner" / "m.onnx", folder / "m.onnx")
    # The model lies in the folder; what it names lies above.
    (folder.parent / "secret.bin").write_bytes(bytes(24))


def external_outside_by_detour(folder):
    (folder / "a").mkdir()
    external(folder, "a/../../secret.bin")
    (folder.parent / "secret.bin").write_bytes(bytes(24))


def external_absolute(folder):
    secret = folder.parent / "secret.bin"
    secret.write_bytes(bytes(24))
    external(folder, str(secret))


def external_link_out(folder):
    secret = folder.parent / "secret.bin"
    secret.write_bytes(bytes(24))
    (folder / "w.bin").symlink_to(secret)
    external(folder, "w.bin")


def external_link_folder(folder):
    """The folder on the way is the link."""
    outside = folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "w.bin").write_bytes(bytes(24))
    (folder / "data").symlink_to(outside)
    external(folder, "data/w.bin")


def external_past_end(folder):
    (folder / "w.bin").write_bytes(bytes(20))
    external(folder, "w.bin")


def external_wrapping(folder):
    """Offset plus length wraps around to something small."""
    (folder / "w.bin").write_bytes(bytes(24))
    external(folder, "w.bin", offset=str((1 << 64) - 8))


def external_negative(folder):
    (folder / "w.bin").write_bytes(bytes(24))
    external(folder, "w.bin", offset="-24")


def external_other_length(folder):
    (folder / "w.bin").write_bytes(bytes(64))
    external(folder, "w.bin", length="64")


def external_device(folder):
    external(folder, "zero")
    (folder / "zero").symlink_to("/dev/zero")


def external_pipe(folder):
    """Opening it would wait for a writer for ever."""
    os.mkfifo(folder / "w.bin")
    external(folder, "w.bin")


def strings(folder):
    save(folder, graph(
        [helper.make_node("Identity", ["x"], ["y"], "same")],
        inputs=[value("x", dtype=TensorProto.STRING)],
        outputs=[value("y", dtype=TensorProto.STRING)]))


def wrong_type(folder):
    """A boolean is negated: the schema says no."""
    save(folder, graph(
        [helper.make_node("Cast", ["x"], ["b"], "to_bool",
                          to=TensorProto.BOOL),
         helper.make_node("Neg", ["b"], ["y"], "minus")],
        outputs=[value("y", dtype=TensorProto.BOOL)]))


def shapes_that_clash(folder):
    weight = numpy_helper.from_array(np.zeros((5, 4), np.float32), "w")
    save(folder, graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "product")],
        outputs=[value("y", (2, 4))], weights=[weight]))


def old_opset(folder):
    save(folder, graph([helper.make_node("Relu", ["x"], ["y"], "relu")]),
         opsets=[("", 5)])


def future_opset(folder):
    save(folder, graph([helper.make_node("Relu", ["x"], ["y"], "relu")]),
         opsets=[("", 999)])


def no_opset(folder):
    save(folder, graph([helper.make_node("Relu", ["x"], ["y"], "relu")]),
         opsets=[])


def recursive_function(folder):
    body = helper.make_function(
        "local", "Loop1", ["a"], ["b"],
        [helper.make_node("Loop1", ["a"], ["b"], "self", domain="local")],
        [helper.make_opsetid("", 20), helper.make_opsetid("local", 1)])
    save(folder, graph([helper.make_node("Loop1", ["x"], ["y"], "call",
                                         domain="local")]),
         opsets=[("", 20), ("local", 1)], functions=[body])


def deep_nesting(folder):
    """Ifs inside Ifs, deeper than anyone means.

    Written by hand: protobuf for Python refuses to hold it.
    """
    good(folder)
    path = folder / "m.onnx"
    model = onnx.load(path)
    relu = _text(1, "x") + _text(2, "b") + _text(4, "Relu")
    nested = _field(1, relu)
    for _ in range(2000):
        branch = _text(1, "then_branch") + _field(6, nested) + b"\xa0\x01\x05"
        choice = (_text(1, "c") + _text(2, "b") + _text(3, "level") +
                  _text(4, "If") + _field(5, branch))
        nested = _field(1, choice)
    whole = _field(7, model.graph.SerializeToString() + nested)
    model.ClearField("graph")
    path.write_bytes(model.SerializeToString() + whole)


def _field(number, payload):
    """A length-delimited field of a protobuf message."""
    size, length = len(payload), b""
    while size >= 0x80:
        length += bytes([size & 0x7f | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + payload


def _text(number, text):
    return _field(number, text.encode())
