"""How far outputs may be apart, what check says of them, and its shapes."""

import json
import re

import numpy as np
import onnx
import pytest
from onnx import helper

USAGE, CONTENT, DIFFERS = 2, 4, 8
X = np.float32([[1, 2, 4], [1000, 0, -3]])


def value(name, shape, kind=onnx.TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


@pytest.fixture
def two(divisi):
    """A model of open shapes with two outputs, -x and x > 0."""
    graph = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["minus"]),
         helper.make_node("Constant", [], ["zero"], value_float=0.0),
         helper.make_node("Greater", ["x", "zero"], ["above"])], "g",
        [value("x", ("rows", "columns"))],
        [value("minus", ("rows", "columns")),
         value("above", ("rows", "columns"), onnx.TensorProto.BOOL)])
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)]), divisi.path("m.onnx"))
    np.save(divisi.path("x.npy"), X)
    expect(divisi, -X)
    return divisi


def expect(divisi, minus, above=X > 0):
    np.savez(divisi.path("e.npz"), minus=minus, above=above)


def check(divisi, *flags, exits=0):
    return divisi("check", "m.onnx", "--devices", 2, "--inputs", "x.npy",
                  "--expect", "e.npz", *flags, exits=exits)


def test_every_output_has_a_line(two):
    assert check(two).out == (
        "the plan found: equal\n"
        "  minus  f32[2, 3]  largest error 0, allowed 0.101\n"
        "  above  bool[2, 3]  largest error 0, allowed 0\n")
    expect(two, -X + np.float32([[0, 0, 0], [0, .05, 0]]))
    assert ("  minus  f32[2, 3]  largest error 0.05, allowed 0.1, at [1, 1]\n"
            in check(two).out)
    expect(two, -X + np.float32([[0, 0, 0], [0, .2, 3]]), X > 3)
    result = check(two, exits=DIFFERS)
    assert result.out == (
        "the plan found: differs\n"
        "  minus  f32[2, 3]  largest error 3, allowed 0.106, at [1, 2]: "
        "2 of 6 differ\n"
        "  above  bool[2, 3]  largest error 1, allowed 0, at [0, 0]: "
        "2 of 6 differ\n")
    assert result.err.endswith(
        "divisi: error: the plan found differs:\n"
        "  minus: 2 of 6 elements differ; at [1, 2] got 3, expected 6\n"
        "  above: 2 of 6 elements differ; at [0, 0] got 1, expected 0\n")


def test_an_artifact_is_checked_alike(two):
    two("compile", "m.onnx", "--shapes-from", "x.npy", "--devices", 2, "-o",
        "m.divisi")
    assert "m.divisi: equal\n  minus  f32[2, 3]  largest error 0" in two(
        "check", "m.divisi", "--inputs", "x.npy", "--expect", "e.npz").out


@pytest.mark.parametrize("flags, code", [
    (["--atol", "0.2"], 0),
    (["--atol", "0.01"], DIFFERS),
    (["--atol", "0.01", "--rtol", "0.3"], 0),
    # At the end of the row 0.2 is expected of 0.1 + R * 4.2.
    (["--rtol", "0.03"], 0),
    (["--rtol", "0.02"], DIFFERS),
    (["--rtol", "1e-6", "--atol=0.25"], 0),
    (["--rtol", "0", "--atol", "0"], DIFFERS),
])
def test_tolerances(two, flags, code):
    expect(two, -X + np.float32([[0, 0, -.2], [0, 0, 0]]))
    check(two, *flags, exits=code)


@pytest.mark.parametrize("flag", ["--rtol", "--atol"])
@pytest.mark.parametrize("number", ["-1", "nan", "inf", "-0.001"])
def test_what_is_no_tolerance(two, flag, number):
    result = check(two, f"{flag}={number}", exits=USAGE)
    assert re.search(flag + r" -?[\w.]+: expected a number that is at least 0",
                     result.err)


def test_json(two):
    expect(two, -X + np.float32([[0, 0, 0], [0, np.nan, 0]]))
    runs = json.loads(check(two, "--json", exits=DIFFERS).out)["runs"]
    assert runs == [{"name": "the plan found", "equal": False, "outputs": [
        {"name": "minus", "type": "f32", "shape": [2, 3], "equal": False,
         "different_elements": 1, "largest_error": None,
         "allowed": pytest.approx(0.1, 1e-4), "computed_in": None,
         "at": [1, 1], "norm_error": None},
        {"name": "above", "type": "bool", "shape": [2, 3], "equal": True,
         "different_elements": 0, "largest_error": 0, "allowed": 0,
         "computed_in": None, "at": [0, 0], "norm_error": None}]}]
    several = json.loads(two(
        "check", "m.onnx", "--devices", 2, "--inputs", "x.npy",
        "--random-plans", 2, "--json").out)["runs"]
    assert [run["name"] for run in several] == [
        "random plan of seed 0", "random plan of seed 1"]


def test_shapes_come_from_the_inputs(two):
    """Nothing else says them; what is given by flags has to agree."""
    assert "f32[2, 3]" in two("check", "m.onnx", "--devices", 2, "--inputs",
                              "x=x.npy").out
    two("check", "m.onnx", "--inputs", "x.npy", "--dim", "rows=2")
    assert ("got 2 for dim 0 of input 'x', but its name 'rows' stands for 5"
            in two("check", "m.onnx", "--inputs", "x.npy", "--dim", "rows=5",
                   exits=CONTENT).err)
    assert "these are open: columns in 'x'; rows in 'x'" in two(
        "check", "m.onnx", exits=USAGE).err
    assert "none is called 'q'; expected 'x' f32[rows, columns]" in two(
        "check", "m.onnx", "--inputs", "q=x.npy", exits=CONTENT).err


def quantized(divisi, error):
    """A product of codes; of what is expected, `error` of the norm is off."""
    random = np.random.default_rng(5)
    weights = random.standard_normal((16, 8)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
         helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
         helper.make_node("MatMul", ["d", "w"], ["y"])], "g",
        [value("x", (4, 16))], [value("y", (4, 8))],
        [onnx.numpy_helper.from_array(np.float32(0.05), "s"),
         onnx.numpy_helper.from_array(np.int8(3), "z"),
         onnx.numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)]), divisi.path("m.onnx"))
    x = random.standard_normal((4, 16)).astype(np.float32)
    y = np.float32(0.05) * np.round(x / np.float32(0.05)) @ weights
    off = random.standard_normal(y.shape).astype(np.float32)
    y = y + error * np.linalg.norm(y) / np.linalg.norm(off) * off
    np.save(divisi.path("x.npy"), x)
    np.savez(divisi.path("e.npz"), y=y)


def test_codes_may_differ(divisi):
    quantized(divisi, 0.03)
    assert re.search(r"equal\n  y  f32\[4, 8\]  largest error .* beyond it, as "
                     r"codes may differ: the error is 0.0[23]\d* of the norm, "
                     r"allowed 0.05\n", check(divisi).out)
    [run] = json.loads(check(divisi, "--json").out)["runs"]
    assert run["outputs"][0]["norm_error"] == pytest.approx(0.03, rel=0.1)
    check(divisi, "--rtol", 0.001, exits=DIFFERS)
    quantized(divisi, 0.1)
    assert "elements differ" in check(divisi, exits=DIFFERS).err
