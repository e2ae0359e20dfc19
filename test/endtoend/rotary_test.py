"""Rotary embeddings are recognised in whatever types exporters compute them,
and have the right values on any devices."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from conftest import load
from onnx import helper

FLOAT = onnx.TensorProto.FLOAT
NARROW = {"bf16": (onnx.TensorProto.BFLOAT16, ml_dtypes.bfloat16, 0.02),
          "f16": (onnx.TensorProto.FLOAT16, np.float16, 0.003)}
ROWS, HEADS, LENGTH, SIZE = 2, 3, 5, 8


def rotary(kind, form):
    """x * cos + turned(x) * sin as models of Hugging Face have it, of angles in
    f32. `form`: what stands between tables and products."""
    narrow = NARROW[kind][0]
    nodes, count = [], 0

    def add(op_type, *inputs, **attributes):
        nonlocal count
        count += 1
        nodes.append(helper.make_node(op_type, inputs, [f"t{count}"],
                                      **attributes))
        return f"t{count}"

    both = add("Concat", "t", "t", axis=-1)
    tables = []
    for function in ("Cos", "Sin"):
        table = add(function, both)
        if form == "scaled":
            table = add("Mul", table, "scale")
        if form == "late":
            table = add("Unsqueeze", table, "one")
        if form != "wide":
            table = add("Cast", table, to=narrow)
        tables.append(table if form == "late" else
                      add("Unsqueeze", table, "one"))
    low = add("Slice", "x", "begin", "half", "last")
    high = add("Slice", "x", "half", "end", "last")
    turned = add("Concat", add("Neg", high), low, axis=-1)
    wide = [add("Cast", value, to=FLOAT) if form == "wide" else value
            for value in ("x", turned)]
    y = add("Add", *(add("Mul", value, table)
                     for value, table in zip(wide, tables)))
    nodes.append(helper.make_node("Cast", [y], ["y"], to=narrow))
    shape = [ROWS, HEADS, LENGTH, SIZE]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", narrow, shape),
         helper.make_tensor_value_info("t", FLOAT, [1, LENGTH, SIZE // 2])],
        [helper.make_tensor_value_info("y", narrow, shape)],
        [onnx.numpy_helper.from_array(value, name) for name, value in {
            "one": np.array([1]), "begin": np.array([0]),
            "half": np.array([SIZE // 2]), "end": np.array([SIZE]),
            "last": np.array([3]), "scale": np.float32(1.25)}.items()])
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)])


def expected(x, t, scale):
    c, s = (scale * f(t)[:, None] for f in (np.cos, np.sin))
    a, b = np.split(x.astype(np.float64), 2, axis=-1)
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


@pytest.mark.parametrize("form", ["plain", "scaled", "late", "wide"])
@pytest.mark.parametrize("kind", NARROW)
def test_rounded_tables(divisi, kind, form):
    onnx.save(rotary(kind, form), divisi.path("m.onnx"))
    text = divisi("compile", "m.onnx", "--devices", 1, "--dump-after",
                  "import", "-o", "-").out
    assert text.count("nn.rotary ") == 1
    assert "nn.concat" not in text and "nn.neg" not in text
    random = np.random.default_rng(1)
    _, dtype, error = NARROW[kind]
    x = random.standard_normal((ROWS, HEADS, LENGTH, SIZE)).astype(dtype)
    t = random.uniform(0, 6, (1, LENGTH, SIZE // 2)).astype(np.float32)
    want = expected(x, t, 1.25 if form == "scaled" else 1)
    # NumPy's files hold no bf16.
    for name, value in (("x", x), ("t", t)):
        tensor = onnx.numpy_helper.from_array(value, name)
        divisi.path(f"{name}.pb").write_bytes(tensor.SerializeToString())
    for devices in (1, 3):
        divisi("compile", "m.onnx", "--devices", devices, "-o", "m.divisi")
        divisi("run", "m.divisi", "--inputs", "x=x.pb", "--inputs", "t=t.pb",
               "-o", "y.npz")
        got = load(divisi.path("y.npz"))["y"].view(dtype).astype(np.float64)
        assert np.abs(got - want).max() <= error * np.abs(want).max()
