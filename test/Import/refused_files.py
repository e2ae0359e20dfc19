"""Model files that the importer refuses: (exit code, message, maker).

A maker takes an empty folder and writes m.onnx and what belongs to it there.
The limits are those that refusals_test.py gives: 8 levels of graphs, 20 nodes
in the file, 40 after functions are inlined.
"""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32 = TensorProto.FLOAT
ROWS = []


def row(code, message):
    """Adds the maker that follows."""
    def add(make):
        ROWS.append((code, message, make))
        return make
    return add


def value(name, shape=(2, 3), kind=F32):
    return helper.make_tensor_value_info(name, kind, shape)


def save(folder, nodes, weights=(), opsets=(("", 20),), inputs=None,
         outputs=None, **fields):
    graph = helper.make_graph(nodes, "g", inputs or [value("x")],
                              outputs or [value("y")], list(weights))
    for key in ("sparse_initializer",):
        getattr(graph, key).extend(fields.pop(key, []))
    model = helper.make_model(
        graph, ir_version=10, opset_imports=[
            helper.make_opsetid(*opset) for opset in opsets], **fields)
    (folder / "m.onnx").write_bytes(model.SerializeToString())


RELU = helper.make_node("Relu", ["x"], ["y"], "only")
SUM = helper.make_node("Add", ["x", "w"], ["y"], "only")


# Bytes that are no model.

def is_bytes(code, message, data):
    @row(code, message)
    def _(folder):
        (folder / "m.onnx").write_bytes(data)


is_bytes(4, "' is empty; expected an ONNX model", b"")
is_bytes(4, "' is not a valid ONNX model: a varint does not end at byte 11",
         b"\x08" + b"\xff" * 12)
is_bytes(4, "ModelProto has a field of unknown wire type 3", b"\x0b")
is_bytes(4, "ModelProto has an impossible field number", b"\x02\x00")
is_bytes(4, "ModelProto field 2 wants 100 bytes, got 3 (is the file "
         "truncated?)", b"\x12\x64abc")
is_bytes(4, "ModelProto field 7 is not a message", b"\x38\x01")
is_bytes(4, "ModelProto field 7 occurs twice", b"\x3a\x00\x3a\x00")
is_bytes(4, "TensorProto has raw_data twice",
         b"\x3a\x08\x2a\x06\x4a\x01a\x4a\x01b")
is_bytes(4, "its fields do not parse", b"\x00\x01")
is_bytes(4, "it has no graph", b"\x08\x0a")


def nested(levels):
    """An If inside of an If …: a node of so many levels of graphs."""
    constant = helper.make_node("Constant", [], ["c"], value_floats=[1.0])
    graph = helper.make_graph([constant], "g", [], [value("c", (1,))])
    for level in range(levels):
        node = helper.make_node("If", ["b"], [f"r{level}"], f"if{level}",
                                then_branch=graph, else_branch=graph)
        graph = helper.make_graph([node], "g", [],
                                  [value(f"r{level}", (1,))])
    return graph.node[0]


@row(4, "graphs are nested deeper than 8 levels")
def _(folder):
    # Every If copies its branch, so the file is cut down to one each.
    node = nested(9)
    inner = node
    while inner.op_type == "If":
        del inner.attribute[1]
        inner = inner.attribute[0].g.node[0]
    save(folder, [node], outputs=[value("r8", (1,))],
         weights=[numpy_helper.from_array(np.array(True), "b")])


@row(4, "there are more than 20 nodes")
def _(folder):
    save(folder, [helper.make_node("Relu", ["x"], [f"y{i}"])
                  for i in range(21)], outputs=[value("y0")])


# Operators and functions.

@row(5, f"' is of opset 5, expected 7 to {onnx.defs.onnx_opset_version()}; "
     "export the model again for one of these")
def _(folder):
    save(folder, [RELU], opsets=[("", 5)])


@row(4, "opset version -1 of domain '' is not a valid version")
def _(folder):
    save(folder, [RELU], opsets=[("", -1)])


@row(4, "node 'only' (Relu) is of the domain 'ai.onnx', which the model does "
     "not import")
def _(folder):
    save(folder, [RELU], opsets=[("com.example", 1)])


@row(5, "node 'only' (Frobnicate): the domain 'ai.onnx' has no operator "
     "'Frobnicate' at version 20; export the model with standard operators")
def _(folder):
    save(folder, [helper.make_node("Frobnicate", ["x"], ["y"], "only")])


@row(5, "the operator 'ai.onnx.ml.Normalizer' has no importer yet")
def _(folder):
    save(folder, [helper.make_node("Normalizer", ["x"], ["y"], "only",
                                   domain="ai.onnx.ml")],
         opsets=[("", 20), ("ai.onnx.ml", 3)])


@row(4, "node 'only' (Flatten) has the attribute 'axis' twice")
def _(folder):
    node = helper.make_node("Flatten", ["x"], ["y"], "only", axis=1)
    node.attribute.append(node.attribute[0])
    save(folder, [node])


@row(5, "attribute 'a' has the type TENSORS, which Divisi does not support")
def _(folder):
    node = helper.make_node("Relu", ["x"], ["y"], "only")
    node.attribute.append(helper.make_attribute(
        "a", [helper.make_tensor("t", F32, [1], [0])]))
    save(folder, [node])


@row(4, "perm is empty")
def _(folder):
    node = helper.make_node("Transpose", ["x"], ["y"], "only")
    node.attribute.add(name="perm", type=onnx.AttributeProto.INTS)
    save(folder, [node])


OPSETS = [("", 20), ("f", 1)]


def function(name, inputs, outputs, nodes, **fields):
    return helper.make_function(
        "f", name, inputs, outputs, nodes,
        [helper.make_opsetid(*opset) for opset in OPSETS], **fields)


def call(name, inputs, outputs):
    return helper.make_node(name, inputs, outputs, "only", domain="f")


TWICE = function("Twice", ["a"], ["c"],
                 [helper.make_node("Add", ["a", "a"], ["c"])])


@row(4, "function 'Twice' occurs twice")
def _(folder):
    save(folder, [call("Twice", ["x"], ["y"])], opsets=OPSETS,
         functions=[TWICE, TWICE])


@row(4, "it passes 2 inputs to a function of 1")
def _(folder):
    save(folder, [call("Twice", ["x", "x"], ["y"])], opsets=OPSETS,
         functions=[TWICE])


@row(4, "there is no value 'nowhere'")
def _(folder):
    # The checker looks at no name of an If's branch that is not taken.
    made = function("Lost", ["a"], ["nowhere"],
                    [helper.make_node("Relu", ["a"], ["c"])])
    save(folder, [call("Lost", ["x"], ["y"])], opsets=OPSETS,
         functions=[made])


@row(4, "functions and graphs are nested deeper than 8 levels")
def _(folder):
    chain = [function(f"F{i}", ["a"], ["c"],
                      [helper.make_node(f"F{i + 1}", ["a"], ["c"],
                                        domain="f")])
             for i in range(9)]
    chain.append(function("F9", ["a"], ["c"],
                          [helper.make_node("Relu", ["a"], ["c"])]))
    save(folder, [call("F0", ["x"], ["y"])], opsets=OPSETS, functions=chain)


@row(4, "its functions expand to more than 40 nodes")
def _(folder):
    def four(inner, outer):
        return function(outer, ["a"], ["d3"], [
            helper.make_node(inner, ["a" if i == 0 else f"d{i - 1}"],
                             [f"d{i}"], domain="f") for i in range(4)])
    save(folder, [call("C", ["x"], ["y"])], opsets=OPSETS,
         functions=[TWICE, four("Twice", "A"), four("A", "B"),
                    four("B", "C")])


@row(4, "an attribute refers to that of a function, but there is none around "
     "it")
def _(folder):
    node = helper.make_node("Flatten", ["x"], ["y"], "only")
    node.attribute.add(name="axis", ref_attr_name="outer",
                       type=onnx.AttributeProto.INT)
    save(folder, [node])


def constant_branch(*numbers):
    node = helper.make_node("Constant", [], ["c"], value_floats=numbers)
    return helper.make_graph([node], "g", [], [value("c", (len(numbers),))])


@row(5, "its condition is computed at run time, and its branches give f32[1] "
     "and f32[2] as output 0; shapes are static, so let both give the same, "
     "or give the condition by --constant if it is an input")
def _(folder):
    save(folder, [helper.make_node(
        "If", ["b"], ["y"], "only", then_branch=constant_branch(1.0),
        else_branch=constant_branch(1.0, 2.0))],
        inputs=[value("b", (), TensorProto.BOOL)])


# Tensors.

def has_weight(code, message, *, edit=None, values=None, prepare=None):
    """A sum of x and a weight: `values` or zeros, to which `edit` is done."""
    @row(code, message)
    def _(folder):
        weight = numpy_helper.from_array(
            np.zeros((2, 3), np.float32) if values is None else values, "w")
        if edit:
            edit(weight)
        if prepare:
            prepare(folder)
        save(folder, [SUM], [weight])


has_weight(5, "initializer 'w' is stored in segments",
           edit=lambda w: w.segment.CopyFrom(TensorProto.Segment(begin=0)))
has_weight(5, "initializer 'w' has the element type STRING, which Divisi "
              "does not support", values=np.array(["a"], object))
has_weight(4, "initializer 'w' has the element type number 99, which Divisi "
              "does not support", edit=lambda w: setattr(w, "data_type", 99))
has_weight(4, "initializer 'w' has rank 65, more than 64",
           edit=lambda w: w.dims.extend([1] * 63))
has_weight(4, "initializer 'w' has the extent -3",
           edit=lambda w: w.dims.__setitem__(1, -3))
has_weight(4, "initializer 'w' has more bytes than int64 can count",
           edit=lambda w: w.dims.extend([1 << 40, 1 << 40]))
has_weight(4, "initializer 'w' has 24 bytes of data, expected 120 for its "
           "shape and type", edit=lambda w: w.dims.append(5))


@row(4, "initializer 'w' occurs twice")
def _(folder):
    weight = numpy_helper.from_array(np.zeros((2, 3), np.float32), "w")
    save(folder, [SUM], [weight, weight])


@row(5, "graph 'g' has sparse initializers; export it with dense ones")
def _(folder):
    values = numpy_helper.from_array(np.ones(1, np.float32), "w")
    places = numpy_helper.from_array(np.zeros(1, np.int64), "i")
    save(folder, [SUM], sparse_initializer=[
        helper.make_sparse_tensor(values, places, [6])])


@row(4, "the shape of input 'x' is negative or has more bytes than int64 can "
     "count")
def _(folder):
    save(folder, [RELU], inputs=[value("x", (1 << 40, 1 << 40))])


@row(5, "the elements of input 'x' are tensors; say the shape of each, as "
     "--shape 'x[0]=3x4' --shape 'x[1]=3x4' for two")
def _(folder):
    one = helper.make_tensor_type_proto(F32, [2])
    sequence = helper.make_value_info(
        "x", helper.make_sequence_type_proto(one))
    save(folder, [helper.make_node("Relu", ["z"], ["y"], "only")],
         inputs=[sequence, value("z")])


@row(5, "the elements of input 'x' are not a tensor; expected a tensor of "
     "booleans, integers of 2 to 64 bits, or floats of 4 to 64")
def _(folder):
    table = onnx.ValueInfoProto(name="x")
    table.type.map_type.key_type = onnx.TensorProto.INT64
    table.type.map_type.value_type.CopyFrom(
        helper.make_tensor_type_proto(F32, [2]))
    save(folder, [helper.make_node("Relu", ["z"], ["y"], "only")],
         inputs=[table, value("z")])


def external(**entries):
    def edit(weight):
        weight.ClearField("raw_data")
        weight.data_location = TensorProto.EXTERNAL
        for key, text in {"location": "w.bin", **entries}.items():
            weight.external_data.add(key=key, value=text)
    return edit


def bytes_beside(count):
    return lambda folder: (folder / "w.bin").write_bytes(bytes(count))


def link_out(folder):
    (folder / "w.bin").symlink_to("/etc/hostname")


has_weight(4, "tensor 'w' in external data: '' is not a file name",
           edit=external(location=""))
has_weight(4, "tensor 'w' in external data: the path 'w.bin' leaves the folder "
           "'", edit=external(), prepare=link_out)
has_weight(4, "', which must contain all data files; copy the file there and "
           "name it relative to the folder",
           edit=external(location="../w.bin"))
has_weight(4, "tensor 'w' has the external length '64', expected 24, the bytes "
           "of its shape", edit=external(length="64"))
has_weight(4, "tensor 'w' has the external offset '-4', expected a number that "
           "is not negative", edit=external(offset="-4"))
has_weight(4, "/w.bin' has 20 bytes; got a tensor of 24 bytes at offset 0; the "
           "file is truncated or not the one meant", edit=external(),
           prepare=bytes_beside(20))
has_weight(3, "/w.bin': it is not a regular file", edit=external(),
           prepare=lambda folder: os.mkfifo(folder / "w.bin"))
