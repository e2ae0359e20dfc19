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


def float_twin(divisi, weights=None):
    """The model of quantized() before it was."""
    model = onnx.load(divisi.path("m.onnx"))
    graph = model.graph
    del graph.node[:2]
    graph.node[0].input[0] = "x"
    if weights is not None:
        next(w for w in graph.initializer if w.name == "w").CopyFrom(
            onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, divisi.path("float.onnx"))
    return onnx.numpy_helper.to_array(next(
        w for w in graph.initializer if w.name == "w"))


def test_against_the_float_model(divisi):
    """What is 0.1 off the expected output is right where that is as far from
    the float model's, and wrong where it is nearer."""
    quantized(divisi, 0.1)
    x, w = np.load(divisi.path("x.npy")), float_twin(divisi)
    said = check(divisi, "--against", "float.onnx").out
    assert re.search(r"equal\n  y  f32\[4, 8\]  the error is 0\.01\d* of the "
                     r"norm of float\.onnx; that of what is expected 0\.1\d*, "
                     r"allowed 0\.1[23]\d*\n", said)
    [run] = json.loads(check(divisi, "--against", "float.onnx",
                             "--json").out)["runs"]
    against = run["outputs"][0]["against"]
    own = 0.05 * np.round(x / np.float32(0.05)) @ w
    off = np.linalg.norm(own - x @ w) / np.linalg.norm(x @ w)
    assert against["model"] == "float.onnx"
    assert against["error"] == pytest.approx(off, rel=1e-3)
    assert against["allowed"] == pytest.approx(
        1.25 * against["expected_error"] + 0.005)
    # Expected is the float model's own output, and ours is no worse by 0.005.
    np.savez(divisi.path("e.npz"), y=x @ w)
    assert off > 0.006
    said = check(divisi, "--against", "float.onnx", exits=DIFFERS).err
    assert re.search(r"y: the error is 0\.01\d* of the norm of float\.onnx; "
                     r"that of what is expected \S+, allowed 0\.005\n", said)
    # Without --expect, one device is what is expected.
    assert "of the norm of float.onnx" in divisi(
        "check", "m.onnx", "--devices", 2, "--against", "float.onnx").out
    divisi("compile", "m.onnx", "--devices", 2, "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", "x.npy", "--expect", "e.npz",
           "--against", "float.onnx", exits=DIFFERS)


def test_what_is_no_float_model(divisi):
    quantized(divisi, 0)
    float_twin(divisi)
    model = onnx.load(divisi.path("float.onnx"))

    def said(change):
        other = onnx.ModelProto()
        other.CopyFrom(model)
        change(other.graph)
        onnx.save(other, divisi.path("o.onnx"))
        return check(divisi, "--against", "o.onnx", exits=CONTENT).err

    def rename_output(graph):
        graph.node[-1].output[0] = graph.output[0].name = "other"

    def reduce(graph):
        graph.node[-1].output[0] = "p"
        graph.node.append(helper.make_node("ReduceMax", ["p"], ["y"]))
        graph.output[0].CopyFrom(value("y", (1, 1)))

    def add_input(graph):
        graph.input.append(value("u", (8,)))
        graph.node[-1].output[0] = "p"
        graph.node.append(helper.make_node("Add", ["p", "u"], ["y"]))

    assert ("--against: output 'y': the float model has none of that name; "
            "give the float model that the quantized one was made from"
            in said(rename_output))
    assert ("--against: output 'y': the float model gives f32[1, 1], the "
            "quantized one f32[4, 8]" in said(reduce))
    assert ("--against: input 'u': the quantized model has none of that name"
            in said(add_input))
    assert "--against: cannot" in check(divisi, "--against", "no.onnx",
                                        exits=3).err


def test_integers_against_the_float_model(divisi):
    """Of what is no float, the share that differs counts."""
    quantized(divisi, 0)
    float_twin(divisi)
    for name in ("m.onnx", "float.onnx"):
        model = onnx.load(divisi.path(name))
        model.graph.node.append(helper.make_node(
            "ArgMax", ["y"], ["best"], axis=1, keepdims=0))
        model.graph.output[0].CopyFrom(
            value("best", (4,), onnx.TensorProto.INT64))
        onnx.save(model, divisi.path(name))
    best = np.argmax(np.load(divisi.path("e.npz"))["y"], 1)
    best[0] = (best[0] + 1) % 8
    np.savez(divisi.path("e.npz"), best=best)
    check(divisi, exits=DIFFERS)
    assert ("best  i64[4]  the error is 0 of the elements of float.onnx; that "
            "of what is expected 0.25, allowed 0.318"
            in check(divisi, "--against", "float.onnx").out)


@pytest.fixture
def positive(divisi):
    """Where x is above 0: the rows of indices, and the values there."""
    INT = onnx.TensorProto.INT64
    graph = helper.make_graph(
        [helper.make_node("Constant", [], ["zero"], value_float=0.0),
         helper.make_node("Greater", ["x", "zero"], ["above"]),
         helper.make_node("NonZero", ["above"], ["at"]),
         helper.make_node("Transpose", ["at"], ["rows"]),
         helper.make_node("GatherND", ["x", "rows"], ["picked"])], "g",
        [value("x", (2, 3))],
        [value("rows", ("n", 2), INT), value("picked", ("n",))])
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)]), divisi.path("m.onnx"))
    np.save(divisi.path("x.npy"), X)
    return divisi


def test_counted_rows(positive):
    """Expected tensors have the rows that count, and no count."""
    rows, picked = np.argwhere(X > 0), X[X > 0]

    def said(exits=0, **expected):
        np.savez(positive.path("e.npz"), **expected)
        result = check(positive, exits=exits)
        return result.err if exits else result.out

    assert said(rows=rows, picked=picked).endswith(
        "the plan found: equal\n"
        "  rows  i64[4, 2]  largest error 0, allowed 0\n"
        "  picked  f32[4]  largest error 0, allowed 0.101\n")
    # Each of the counts may be given, and the zeros with it.
    whole = np.concatenate([picked, np.float32([0, 0])])
    assert said(**{"rows": rows, "picked": whole,
                   "picked.count": np.int64(4)}).count(" error 0, allowed ") == 6
    assert "picked.count: 1 of 1 elements differ; at [] got 4, expected 3" in (
        said(DIFFERS, **{"rows": rows, "picked": whole,
                         "picked.count": np.int64(3)}))
    assert "  picked: 1 of 4 elements differ" in said(
        DIFFERS, rows=rows, picked=picked + np.float32([0, 1, 0, 0]))
    assert "rows: got i64[4, 2], expected i64[3, 2]" in said(
        DIFFERS, rows=rows[:3], picked=picked)
    # As many as there can be are too many, be they zeros or not.
    assert "picked: got f32[4], expected f32[6]" in said(
        DIFFERS, rows=rows, picked=whole)
    assert "output 'picked': got f32[7], expected f32[6]" in said(
        CONTENT, rows=rows, picked=np.zeros(7, np.float32))
    assert "output 'rows': got i64[3, 1], expected i64[6, 2]" in said(
        CONTENT, rows=rows[:3, :1], picked=picked)
    assert "'picked'" in said(CONTENT, rows=rows)


def test_counted_rows_of_none(positive):
    np.save(positive.path("x.npy"), -np.abs(X))
    np.savez(positive.path("e.npz"), np.zeros((0, 2), np.int64),
             np.zeros(0, np.float32))
    assert "picked  f32[0]" in check(positive).out
    positive("compile", "m.onnx", "--devices", 3, "-o", "m.divisi")
    positive("check", "m.divisi", "--inputs", "x.npy", "--expect", "e.npz")
