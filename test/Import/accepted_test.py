"""Models that ONNX's checker refuses, or that are written in unusual ways, and
that compute what ONNX Runtime computes."""

import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

PROGRAM = Path(os.environ["DIVISI_BUILD"]) / "bin/divisi"
RIGHT, USAGE, CONTENT = 0, 2, 4
X = np.array([[-1.5, 2, 0.25], [3, -0.5, 1]], np.float32)


def value(name, shape=(2, 3), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, name="", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name,
                            **attributes)


def model(nodes, inputs=None, outputs=None, weights=None, **more):
    graph = helper.make_graph(
        nodes, "g", inputs or [value("x")], outputs or [value("y")],
        [numpy_helper.from_array(np.asarray(each), name)
         for name, each in (weights or {}).items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17)], **more)


@pytest.fixture
def check(tmp_path):
    """Runs a model on one device and on three; what it says."""
    def run(proto, outputs, *flags, inputs=None, code=RIGHT, path="m.onnx"):
        if proto is not None:
            (tmp_path / path).write_bytes(proto.SerializeToString())
        np.savez(tmp_path / "x.npz", **(inputs or {"x": X}))
        np.savez(tmp_path / "y.npz", **outputs)
        for devices in (1, 3):
            done = subprocess.run(
                [PROGRAM, "check", path, "--inputs", "x.npz", "--expect",
                 "y.npz", "--devices", str(devices), *flags], cwd=tmp_path,
                capture_output=True, text=True)
            assert done.returncode == code, done.stdout + done.stderr
        return done.stderr
    return run


# Nodes in any order.


def test_nodes_are_sorted_and_a_note_says_so(check):
    nodes = [node("Relu", "h", "r"), node("Cast", "r", "y", to=1),
             node("Cast", "x", "h", to=10)]
    said = check(model(nodes),
                 {"y": np.maximum(X, 0).astype(np.float16).astype(np.float32)})
    assert "the nodes of graph 'g' are not in the order in which they depend " \
        "on each other" in said


def test_what_a_branch_reads_is_computed_before(check):
    def branch(op):
        return helper.make_graph([node(op, "late", "b")], op, [],
                                 [value("b")])
    choice = helper.make_node("If", ["yes"], ["y"],
                              then_branch=branch("Neg"),
                              else_branch=branch("Relu"))
    check(model([choice, node("Abs", "x", "late")],
                weights={"yes": np.array(True)}), {"y": -np.abs(X)})


def test_nodes_of_functions_are_sorted(check):
    body = helper.make_function(
        "f", "Inner", ["a"], ["c"], [node("Neg", "b", "c"),
                                     node("Relu", "a", "b")],
        [helper.make_opsetid("", 17)])
    call = helper.make_node("Inner", ["x"], ["y"], domain="f")
    proto = model([call], functions=[body])
    proto.opset_import.append(helper.make_opsetid("f", 1))
    assert "the nodes of function 'Inner' are not" in check(
        proto, {"y": -np.maximum(X, 0)})


def test_a_circle_of_nodes_is_refused(check):
    nodes = [node("Relu", "x", "a", "fine"), node("Add", "a c", "b", "first"),
             node("Neg", "b", "c", "second"), node("Neg", "c", "y", "after")]
    said = check(model(nodes), {"y": X}, code=CONTENT)
    assert "(Add) depends on its own results" in said or \
        "(Neg) depends on its own results" in said
    assert "'after'" not in said and "'fine'" not in said


# Types and shapes that are left out.


@pytest.mark.parametrize("shape", [None, (-1, 3), ("n", "m"), (-1, -1)])
def test_outputs_need_no_shape(check, shape):
    check(model([node("Relu", "x", "y")], outputs=[value("y", shape)]),
          {"y": np.maximum(X, 0)})
    check(model([node("Relu", "x", "y")],
                outputs=[onnx.ValueInfoProto(name="y")]),
          {"y": np.maximum(X, 0)})


@pytest.mark.parametrize("shape", [None, (-1, 3), (-1, None)])
def test_inputs_get_their_shape_from_options(check, shape):
    proto = model([node("Relu", "x", "y")], [value("x", shape)])
    check(proto, {"y": np.maximum(X, 0)}, "--shape", "x=2x3")
    check(proto, {"y": np.maximum(X, 0)})


def plan(tmp_path, proto, *flags):
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    done = subprocess.run([PROGRAM, "plan", "m.onnx", "-o", "-", *flags],
                          cwd=tmp_path, capture_output=True, text=True)
    return done.returncode, done.stderr


def test_open_shapes_are_asked_for_by_name(tmp_path):
    for shape, what in ((None, "the shape of 'x' in 'x'"),
                        ((-1, 3), "dim 0 (no name) in 'x'")):
        code, said = plan(tmp_path, model([node("Relu", "x", "y")],
                                          [value("x", shape)]))
        assert code == USAGE and what in said


def test_an_input_without_a_type_is_named(tmp_path):
    code, said = plan(tmp_path, model([node("Relu", "x", "y")],
                                      [onnx.ValueInfoProto(name="x")]))
    assert code == 5
    assert "the elements of input 'x' are not declared; expected" in said


# Values that have several names or none of their own.


def test_an_output_that_is_named_twice_is_one(check, tmp_path):
    proto = model([node("Relu", "x", "y")], outputs=[value("y"), value("y")])
    assert "names its output 'y' more than once; it is one output" in check(
        proto, {"y": np.maximum(X, 0)})
    for command in (["compile", "m.onnx", "-o", "m.divisi"],
                    ["run", "m.divisi", "--inputs", "x.npz", "-o", "o.npz"]):
        subprocess.run([PROGRAM, *command], cwd=tmp_path, check=True)
    assert np.array_equal(np.load(tmp_path / "o.npz")["y"], np.maximum(X, 0))


def test_an_initializer_that_is_an_input_is_a_default(check, tmp_path):
    proto = model([node("Add", "x w", "y")], [value("x"), value("w", (3,))],
                  weights={"w": np.array([1, 2, 3], np.float32)})
    other = np.array([5, -5, 0], np.float32)
    check(proto, {"y": X + np.float32([1, 2, 3])})
    check(proto, {"y": X + other}, inputs={"x": X, "w": other})
    np.save(tmp_path / "w.npy", other)
    check(proto, {"y": X + other}, "--constant", "w=w.npy")
    assert "an initializer, which has its value in the model" in check(
        model([node("Add", "x w", "y")], weights={"w": other}), {"y": X},
        "--constant", "w=w.npy", code=USAGE)


# Data in other files.


def hub(folder, place="blobs"):
    """What the cache of the Hugging Face hub holds: links to files that are
    named by their hashes. The data's own file is in `place`."""
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    proto = model([node("MatMul", "x w", "y")], outputs=[value("y", (2, 4))],
                  weights={"w": weight})
    tensor = proto.graph.initializer[0]
    raw = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="model.onnx_data")
    snapshot = folder / "snapshots/abc/onnx"
    for each in (snapshot, folder / "blobs", folder / "elsewhere"):
        each.mkdir(parents=True, exist_ok=True)
    (folder / "blobs/m1").write_bytes(proto.SerializeToString())
    (folder / place / "d1").write_bytes(raw)
    for name, target in (("model.onnx", "blobs/m1"),
                         ("model.onnx_data", f"{place}/d1")):
        os.symlink(f"../../../{target}", snapshot / name)
    return "snapshots/abc/onnx/model.onnx", X @ weight


def test_data_may_lie_beside_the_file_that_the_model_is_a_link_to(check,
                                                                 tmp_path):
    path, y = hub(tmp_path)
    check(None, {"y": y}, path=path)


def test_data_may_not_lie_anywhere_else(check, tmp_path):
    path, y = hub(tmp_path, "elsewhere")
    assert "leaves the folder" in check(None, {"y": y}, path=path,
                                        code=CONTENT)


# More than fits one kernel.


def test_a_long_chain_of_elementwise_operators_is_several_kernels(check):
    nodes, name, y = [], "x", X
    factor = np.float32(1.0001)
    for i in range(1100):
        op = ("Mul", "Add")[i % 2]
        nodes.append(node(op, f"{name} h", f"v{i}"))
        name, y = f"v{i}", y * factor if op == "Mul" else y + factor
    check(model(nodes, outputs=[value(name)], weights={"h": factor}),
          {name: y})
