"""A sum that is multiplied or divided afterwards is the same on any devices, also
where a factor is infinite or a divisor 0: parts of a sum, some of them 0, times
infinity would be no number.

What is summed is the rows of `x`, or a row that is looked up in a table, which
devices hold in parts. The numbers are such that sums are exact."""

import numpy as np
import onnx
import pytest
from control_flow import INT, model, node, value

ROWS, COLUMNS = 12, 6
# Of the sums of rows, each meets each.
FACTORS = np.array([np.inf, -np.inf, 0, 2, np.nan, -1], np.float32)
INFINITE = np.where(np.isnan(FACTORS), np.float32(np.inf), FACTORS)


def rows(seed):
    """Integers, of which some columns sum up to 0 and some are 0."""
    x = np.random.default_rng(seed).integers(-3, 4, (ROWS, COLUMNS))
    x[-1] = np.arange(COLUMNS) // 2 - x[:-1].sum(axis=0)
    x[:, 1] = np.arange(ROWS) == 5
    return x.astype(np.float32)


def outer(s, f):
    return s[:, None] * f[None, :]


# What is computed of the sums `s` and factors `f`, both [COLUMNS]: nodes and NumPy.
USES = {
    "product": ([node("Mul", "s f", "y")], lambda s, f: s * f),
    "product-left": ([node("Mul", "f s", "y")], lambda s, f: f * s),
    "quotient": ([node("Div", "s f", "y")], lambda s, f: s / f),
    "square": ([node("Mul", "s f", "p"), node("Mul", "p p", "y")],
               lambda s, f: (s * f) * (s * f)),
    "root": ([node("Mul", "f f", "p"), node("ReduceSum", "p zero", "q"),
              node("Sqrt", "q", "r"), node("Mul", "s r", "y")],
             lambda s, f: s * np.sqrt(np.sum(f * f, keepdims=True))),
    "matmul": ([node("Reshape", "s column", "u"), node("Reshape", "f row", "v"),
                node("MatMul", "u v", "y")], outer),
    "matmul-right": ([node("Reshape", "s row", "u"),
                      node("Reshape", "f column", "v"),
                      node("MatMul", "v u", "y")], lambda s, f: outer(f, s)),
    "conv": ([node("Reshape", "s image", "u"), node("Reshape", "f filter", "v"),
              node("Conv", "u v", "w"), node("Reshape", "w square", "y")],
             lambda s, f: outer(f, s)),
    "conv-weights": ([node("Reshape", "f image", "u"),
                      node("Reshape", "s filter", "v"),
                      node("Conv", "u v", "w"), node("Reshape", "w square", "y")],
                     outer),
    "einsum": ([node("Einsum", "s f", "y", equation="i,j->ij")], outer),
    "constant": ([node("Mul", "s inf", "y")], lambda s, f: s * INFINITE),
    "constant-divisor": ([node("Div", "s inf", "y")],
                         lambda s, f: s / INFINITE),
}
CONSTANTS = {
    "zero": np.array([0], np.int64), "inf": INFINITE,
    "column": np.array([COLUMNS, 1], np.int64),
    "row": np.array([1, COLUMNS], np.int64),
    "image": np.array([1, 1, COLUMNS], np.int64),
    "filter": np.array([COLUMNS, 1, 1], np.int64),
    "square": np.array([COLUMNS, COLUMNS], np.int64)}


def write(divisi, use, source):
    """The model, its inputs and what it makes."""
    nodes, compute = USES[use]
    x = rows(0)
    inputs = {"x": x, "f": FACTORS}
    if source == "sum":
        made, total = node("ReduceSum", "x zero", "s", keepdims=0), x.sum(0)
    else:
        inputs["i"] = np.array(7, np.int64)
        made, total = node("Gather", "x i", "s"), x[7]
    with np.errstate(all="ignore"):
        y = compute(total, FACTORS)
    used = {name for each in nodes for name in each.input} | set(made.input)
    onnx.save(model([made, *nodes],
                    [value("x", x.shape), value("f", FACTORS.shape),
                     *([value("i", (), INT)] if "i" in inputs else [])],
                    [value("y", y.shape)],
                    {n: c for n, c in CONSTANTS.items() if n in used}),
              divisi.path("m.onnx"))
    np.savez(divisi.path("x.npz"), **inputs)
    np.savez(divisi.path("y.npz"), y=y)


@pytest.mark.sample("plans", slow=True)
@pytest.mark.parametrize("plans", ["found", "random"])
@pytest.mark.parametrize("source", ["sum", "row"])
@pytest.mark.parametrize("use", USES)
def test_any_devices_agree(divisi, use, source, plans):
    write(divisi, use, source)
    for devices in 2, 3, 4, 6:
        divisi("check", "m.onnx", "--devices", devices, "--inputs", "x.npz",
               "--expect", "y.npz",
               *(["--random-plans", 12] if plans == "random" else []))
