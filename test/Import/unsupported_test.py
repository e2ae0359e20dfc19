"""All that is unsupported in a model is said at once."""

import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

PROGRAM = Path(os.environ["DIVISI_BUILD"]) / "bin/divisi"
CONTENT, UNSUPPORTED = 4, 5
NEEDS = "the model needs features that Divisi does not support:\n"


def value(name, kind=TensorProto.FLOAT, shape=(2, 3)):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, name="", **attributes):
    return helper.make_node(op, inputs, outputs, name, **attributes)


@pytest.fixture
def refused(tmp_path):
    """Imports a model of `nodes`; what it is refused with."""
    def run(nodes, inputs=("x",), outputs=("y",), weights=(), functions=(),
            opsets=(("", 20),), flags=(), code=UNSUPPORTED):
        def values(names):
            return [value(n) if isinstance(n, str) else n for n in names]
        graph = helper.make_graph(nodes, "g", values(inputs), values(outputs),
                                  list(weights))
        (tmp_path / "m.onnx").write_bytes(helper.make_model(
            graph, ir_version=10, functions=functions, opset_imports=[
                helper.make_opsetid(*o) for o in opsets]).SerializeToString())
        done = subprocess.run([PROGRAM, "plan", "m.onnx", *flags],
                              cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        prefix = f"divisi: error: '{tmp_path}/m.onnx': "
        assert code != UNSUPPORTED or done.stderr.startswith(prefix)
        return done.stderr.removeprefix(prefix)
    return run


FROB = ("the domain 'ai.onnx' has no operator 'Frob' at version 20; export "
        "the model with standard operators\n")
DET = ("the operator 'Det' has no importer yet; export the model "
          "without it\n")


def test_operators_are_grouped_in_their_order(refused):
    assert refused([
        node("Relu", ["x"], ["a"], "fine"),
        node("Frob", ["a"], ["b"], "odd"),
        node("Add", ["a", "b"], ["c"], "passed_over"),
        node("Det", ["c"], ["d"], "only"),
        node("Frob", ["x"], ["e"], "odd_too"),
        node("Fused", ["e"], ["f"], "fused", domain="com.example"),
        node("Frob", ["f"], ["y"])], opsets=(("", 20), ("com.example", 1))
    ) == (NEEDS + "  Frob x 3, first 'odd': " + FROB +
          "  Det x 1, 'only': " + DET +
          "  com.example.Fused x 1, 'fused': the operator "
          "'com.example.Fused' has no importer yet; export the model without "
          "it\n")


def test_a_deprecated_operator_is_not_an_unknown_one(refused):
    scales = numpy_helper.from_array(np.ones(2, np.float32), "s")
    assert refused([node("Upsample", ["x", "s"], ["y"], "up")],
                   weights=[scales]) == (
        "node 'up' (Upsample): the operator 'Upsample' is deprecated from "
        "version 10 of the domain 'ai.onnx' on, and the model is of version "
        "20; export the model with standard operators\n")


def test_one_is_said_as_one(refused):
    assert refused([node("Frob", ["x"], ["y"], "odd")]) == \
        "node 'odd' (Frob): " + FROB


def test_variants_are_told_apart_and_names_are_not(refused):
    """Nodes of one operator, refused for two reasons."""
    nodes = [node("Reshape", [f"x{i}", f"s{i}"], [f"y{i}"], f"shape{i}")
             for i in range(3)]
    nodes += [node("Pad", ["x0", "p"], ["y3"], "pad", mode="reflect")]
    text = refused(
        nodes, [f"x{i}" for i in range(3)] +
        [value(f"s{i}", TensorProto.INT64, (2,)) for i in range(3)],
        [f"y{i}" for i in range(4)],
        [numpy_helper.from_array(np.array([0, 4, 0, 0]), "p")])
    assert text.startswith(
        NEEDS + "  Reshape x 3, first 'shape0': input 1 ('s0') is computed at "
        "run time, ")
    assert "\n  Pad x 1, 'pad': it pads an extent of 3 by 4 and 0" in text


def test_functions_are_looked_into(refused):
    body = helper.make_function(
        "f", "Inner", ["a"], ["c"],
        [node("Frob", ["a"], ["b"], "deep"), node("Relu", ["b"], ["c"])],
        [helper.make_opsetid("", 20)])
    calls = [node("Inner", ["x"], ["a"], "first", domain="f"),
             node("Inner", ["a"], ["y"], "second", domain="f")]
    assert refused(calls, functions=[body], opsets=(("", 20), ("f", 1))) == \
        NEEDS + "  Frob x 2, first 'first/deep': " + FROB


def test_a_call_with_an_attribute_that_divisi_lacks_is_refused(refused):
    body = helper.make_function(
        "f", "Inner", ["a"], ["c"], [node("Relu", ["a"], ["c"])],
        [helper.make_opsetid("", 20)], attributes=["kind"])
    call = node("Inner", ["x"], ["y"], "call", domain="f")
    call.attribute.append(helper.make_attribute(
        "kind", [helper.make_tensor("t", TensorProto.FLOAT, [1], [0])]))
    assert refused([call], functions=[body], opsets=(("", 20), ("f", 1))) == (
        "node 'call' (Inner): attribute 'kind' has the type TENSORS, "
        "which Divisi does not support\n")


def branch(op, name):
    return helper.make_graph([node(op, ["x"], [name], name)], "g", [],
                             [value(name)])


def test_graphs_are_looked_into(refused):
    """Of a node that is passed over, and of one that depends on such."""
    loop_body = helper.make_graph(
        [node("Det", ["v"], ["w"], "in_loop"),
         node("Identity", ["c"], ["d"])], "body",
        [value("i", TensorProto.INT64, ()), value("c", TensorProto.BOOL, ()),
         value("v")],
        [value("d", TensorProto.BOOL, ()), value("w")])
    text = refused([
        node("Loop", ["n", "", "x"], ["a"], "loop", body=loop_body),
        node("Cast", ["a"], ["b"], "cast", to=TensorProto.BOOL),
        node("If", ["b"], ["y"], "if", then_branch=branch("Frob", "t"),
             else_branch=branch("Relu", "e"))],
        ["x", value("n", TensorProto.INT64, ())])
    assert text == (
        NEEDS + "  Loop x 1, 'loop': its trip count 'n' is computed at run "
        "time: give --max-trip-count N, the most steps that it may take\n"
        "  Det x 1, 'loop/in_loop': " + DET +
        "  Frob x 1, 'if/t': " + FROB)


def test_steps_are_looked_into_once(refused):
    """Of a loop that is known; what reads its result is passed over."""
    loop_body = helper.make_graph(
        [node("Frob", ["v"], ["w"], "in_loop"),
         node("Identity", ["c"], ["d"])], "body",
        [value("i", TensorProto.INT64, ()), value("c", TensorProto.BOOL, ()),
         value("v")],
        [value("d", TensorProto.BOOL, ()), value("w")])
    assert refused([node("Loop", ["n", "", "x"], ["a"], "loop",
                         body=loop_body), node("Relu", ["a"], ["y"])],
                   weights=[numpy_helper.from_array(np.array(3), "n")]) == (
        "node 'loop/0/in_loop' (Frob): " + FROB)


def test_a_branch_that_is_not_taken_may_hold_anything(refused):
    refused([node("If", ["b"], ["y"], "if", then_branch=branch("Relu", "t"),
                  else_branch=branch("Frob", "e"))],
            weights=[numpy_helper.from_array(np.array(True), "b")], code=0)


KNOWN = "booleans, integers of 2 to 64 bits, or floats of 4 to 64 bits"


def test_element_types_of_inputs_and_initializers(refused):
    names = numpy_helper.from_array(np.array(["a"], object), "names")
    more = numpy_helper.from_array(np.array(["b"], object), "more")
    half = [value("h", TensorProto.COMPLEX64, ("rows", 3)),
            value("k", TensorProto.COMPLEX64, (3,))]
    nodes = [node("Cast", ["h"], ["a"], to=TensorProto.FLOAT),
             node("Frob", ["a"], ["b"], "odd"),
             node("Add", ["b", "names"], ["c"]),
             node("Add", ["c", "more"], ["d"]),
             node("Add", ["d", "names"], ["y"])]
    assert refused(nodes, half, weights=[names, more]) == (
        NEEDS + "  input x 2, first 'h': its elements are COMPLEX64; expected "
        "a tensor of " + KNOWN + "\n"
        "  Frob x 1, 'odd': " + FROB +
        "  initializer x 2, first 'names': has the element type STRING, "
        "which Divisi does not support; export the model with " + KNOWN + "\n")


def test_an_initializer_that_nothing_reads_is_in_nobodys_way(refused):
    names = numpy_helper.from_array(np.array(["a"], object), "names")
    refused([node("Relu", ["x"], ["y"])], weights=[names], code=0)
    assert refused([node("Relu", ["x"], ["y"])], outputs=["y", "names"],
                   weights=[names]).startswith("initializer 'names' has the")


def test_types_are_said_before_dims_are_asked_for(refused):
    rows = [value("h", TensorProto.COMPLEX64), value("x", shape=("rows", 3))]
    assert refused([node("Relu", ["x"], ["y"])], rows).startswith(
        "the elements of input 'h' are COMPLEX64; expected a tensor of")


def test_the_checker_still_sees_the_rest(refused):
    """Of a model with operators that ONNX does not have."""
    assert "is not a valid ONNX model: " in refused(
        [node("Frob", ["x"], ["a"]), node("Relu", ["nowhere"], ["y"])],
        code=CONTENT)
