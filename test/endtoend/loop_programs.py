"""Programs with loops, as text, and what they compute."""

import numpy as np

STEPS, BATCH, WIDTH, HIDDEN = 24, 3, 5, 8


def lstm(devices, splits):
    """y, h and c of an LSTM, its features split if `splits`."""
    f = "f32"
    grid = f"spmd.grid @g (x = {devices})" if splits else ""
    split = "spmd.split = #spmd.split<@g: h@x>" if splits else ""
    x = f"tensor<{STEPS}x{BATCH}x{WIDTH}x{f}>"
    xt = f"tensor<{BATCH}x{WIDTH}x{f}>"
    h, z = f"tensor<{BATCH}x{HIDDEN}x{f}>", f"tensor<{BATCH}x4x{HIDDEN}x{f}>"
    w = f"tensor<{WIDTH}x4x{HIDDEN}x{f}>"
    r = f"tensor<{HIDDEN}x4x{HIDDEN}x{f}>"
    y = f"tensor<{STEPS}x{BATCH}x{HIDDEN}x{f}>"
    bytes_w, bytes_r = 16 * WIDTH * HIDDEN, 16 * HIDDEN * HIDDEN

    def gate(number, function):
        one = f"tensor<{BATCH}x1x{HIDDEN}x{f}>"
        return f"""
  %s{number} = nn.slice %z {{starts = array<i64: 0, {number}, 0>,
      limits = array<i64: {BATCH}, {number + 1}, {HIDDEN}>,
      steps = array<i64: 1, 1, 1>}} : ({z}) -> {one}
  %t{number} = nn.reshape %s{number} : ({one}) -> {h}
  %g{number} = nn.{function} %t{number} : ({h}) -> {h}"""

    return f"""
{grid}
nn.global @w parameter : {w} from "weights.bin" [0, {bytes_w}]
nn.global @r parameter : {r} from "weights.bin" [{bytes_w}, {bytes_r}]
func.func private @step(%i: tensor<i64>, %y: {y}, %h: {h}, %c: {h}, %x: {x})
    -> ({y}, {h}, {h}) {{
  %w = nn.read @w : {w}
  %r = nn.read @r : {r}
  %xt = nn.gather %x, %i {{axis = 0, batch_dims = 0}}
      : ({x}, tensor<i64>) -> {xt}
  %0 = nn.matmul %xt, %w {{labels = "be,egh->bgh" {"," + split if split else ""}}}
      : ({xt}, {w}) -> {z}
  %1 = nn.matmul %h, %r {{labels = "bk,kgh->bgh" {"," + split if split else ""}}}
      : ({h}, {r}) -> {z}
  %z = nn.add %0, %1 : ({z}, {z}) -> {z}
  {"".join(gate(n, fn) for n, fn in enumerate(["sigmoid"] * 3 + ["tanh"]))}
  %2 = nn.mul %g0, %c : ({h}, {h}) -> {h}
  %3 = nn.mul %g1, %g3 : ({h}, {h}) -> {h}
  %c1 = nn.add %2, %3 : ({h}, {h}) -> {h}
  %4 = nn.tanh %c1 : ({h}) -> {h}
  %h1 = nn.mul %g2, %4 : ({h}, {h}) -> {h}
  %row = nn.reshape %h1 : ({h}) -> tensor<1x{BATCH}x{HIDDEN}x{f}>
  %y1 = nn.insert %y, %row, %i {{axis = 0}}
      : ({y}, tensor<1x{BATCH}x{HIDDEN}x{f}>, tensor<i64>) -> {y}
  return %y1, %h1, %c1 : {y}, {h}, {h}
}}
func.func @run(%x: {x} {{nn.name = "x"}})
    -> ({y} {{nn.name = "y"}}, {h} {{nn.name = "h"}}, {h} {{nn.name = "c"}}) {{
  %n = nn.constant dense<{STEPS}> : tensor<i64>
  %y0 = nn.constant dense<0.0> : {y}
  %h0 = nn.constant dense<0.0> : {h}
  %y, %h, %c = nn.loop @step(%n, %y0, %h0, %h0, %x) max {STEPS}
      : (tensor<i64>, {y}, {h}, {h}, {x}) -> ({y}, {h}, {h})
  return %y, %h, %c : {y}, {h}, {h}
}}
"""


def lstm_tensors():
    random = np.random.default_rng(7)
    w = random.standard_normal((WIDTH, 4, HIDDEN)).astype(np.float32) / 2
    r = random.standard_normal((HIDDEN, 4, HIDDEN)).astype(np.float32) / 2
    x = random.standard_normal((STEPS, BATCH, WIDTH)).astype(np.float32)
    return w, r, x


def run_lstm():
    """In double precision."""
    w, r, x = (t.astype(np.float64) for t in lstm_tensors())
    h = c = np.zeros((BATCH, HIDDEN))
    rows = []
    for xt in x:
        z = np.einsum("be,egh->bgh", xt, w) + np.einsum("bk,kgh->bgh", h, r)
        f, i, o = 1 / (1 + np.exp(-z[:, :3].transpose(1, 0, 2)))
        c = f * c + i * np.tanh(z[:, 3])
        h = o * np.tanh(c)
        rows.append(h)
    return {name: value.astype(np.float32)
            for name, value in (("y", np.stack(rows)), ("h", h), ("c", c))}


ROWS, COLUMNS, MOST = 12, 7, 40


def jacobi(devices, splits, most=MOST):
    """As many iterations as `n` says, each the mean of four neighbours, plus
    what is given; rows are split if `splits`."""
    u, k = f"tensor<1x1x{ROWS}x{COLUMNS}xf32>", "tensor<1x1x3x3xf32>"
    grid = f"spmd.grid @g (x = {devices})" if splits else ""
    split = ", spmd.split = #spmd.split<@g: o0@x>" if splits else ""
    return f"""
{grid}
func.func private @step(%i: tensor<i64>, %u: {u}, %f: {u}) -> {u} {{
  %k = nn.constant dense<[[[[0.0, 0.25, 0.0], [0.25, 0.0, 0.25],
      [0.0, 0.25, 0.0]]]]> : {k}
  %0 = nn.conv %u, %k {{strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>,
      pads_hi = array<i64: 1, 1>, groups = 1 {split}}} : ({u}, {k}) -> {u}
  %1 = nn.add %0, %f : ({u}, {u}) -> {u}
  return %1 : {u}
}}
func.func @run(%n: tensor<i64> {{nn.name = "n"}}, %u: {u} {{nn.name = "u"}},
    %f: {u} {{nn.name = "f"}}) -> ({u} {{nn.name = "v"}}) {{
  %v = nn.loop @step(%n, %u, %f) max {most} : (tensor<i64>, {u}, {u}) -> {u}
  return %v : {u}
}}
"""


def jacobi_tensors(count):
    random = np.random.default_rng(8)
    shape = (1, 1, ROWS, COLUMNS)
    u, f = random.standard_normal((2, *shape)).astype(np.float32)
    return {"n": np.array(count), "u": u, "f": f}


def run_jacobi(count):
    """In double precision."""
    tensors = jacobi_tensors(count)
    v, f = tensors["u"].astype(np.float64), tensors["f"]
    for _ in range(count):
        p = np.pad(v, [(0, 0), (0, 0), (1, 1), (1, 1)])
        v = (p[..., :-2, 1:-1] + p[..., 2:, 1:-1] + p[..., 1:-1, :-2] +
             p[..., 1:-1, 2:]) / 4 + f
    return {"v": v.astype(np.float32)}


# Integers wrap, so that sums are exact in any order.
NESTED = """
nn.global @w parameter : tensor<8x8xi32> from "weights.bin" [0, 256]
func.func private @multiply(%j: tensor<i64>, %x: tensor<4x8xi32>)
    -> tensor<4x8xi32> {
  %w = nn.read @w : tensor<8x8xi32>
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn"}
      : (tensor<4x8xi32>, tensor<8x8xi32>) -> tensor<4x8xi32>
  return %0 : tensor<4x8xi32>
}
func.func private @outer(%i: tensor<i64>, %x: tensor<4x8xi32>,
    %z: tensor<4x8xi32>, %b: tensor<8xi32>)
    -> (tensor<4x8xi32>, tensor<4x8xi32>) {
  %0 = nn.loop @multiply(%i, %x) max 9
      : (tensor<i64>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %1 = nn.add %0, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
  return %z, %1 : tensor<4x8xi32>, tensor<4x8xi32>
}
func.func private @many(%x: tensor<4x8xi32>, %b: tensor<8xi32>)
    -> tensor<4x8xi32> {
  %n = nn.constant dense<3> : tensor<i64>
  %0 = nn.loop @multiply(%n, %x) max 3
      : (tensor<i64>, tensor<4x8xi32>) -> tensor<4x8xi32>
  return %0 : tensor<4x8xi32>
}
func.func private @few(%x: tensor<4x8xi32>, %b: tensor<8xi32>)
    -> tensor<4x8xi32> {
  %0 = nn.sub %x, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
  return %0 : tensor<4x8xi32>
}
func.func @run(%n: tensor<i64> {nn.name = "n"}, %c: tensor<i1> {nn.name = "c"},
    %x: tensor<4x8xi32> {nn.name = "x"}, %b: tensor<8xi32> {nn.name = "b"})
    -> (tensor<4x8xi32> {nn.name = "y"}) {
  %0, %1 = nn.loop @outer(%n, %x, %x, %b) max 10
      : (tensor<i64>, tensor<4x8xi32>, tensor<4x8xi32>, tensor<8xi32>)
      -> (tensor<4x8xi32>, tensor<4x8xi32>)
  %2 = nn.sub %1, %0 : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %3 = nn.if %c then @many else @few(%2, %b)
      : (tensor<i1>, tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
  return %3 : tensor<4x8xi32>
}
"""


# In the field a split that is wrong gives other bits, and a sum in another
# order the same.
FIELD = """
!f = tensor<4x8x!nn.field>
!w = tensor<8x8x!nn.field>
func.func private @step(%i: tensor<i64>, %x: !f, %y: !f, %w: !w) -> (!f, !f) {
  %0 = nn.matmul %x, %w {labels = "mk,kn->mn"} : (!f, !w) -> !f
  %1 = nn.tanh %0 : (!f) -> !f
  %2 = nn.mul %1, %y : (!f, !f) -> !f
  return %2, %1 : !f, !f
}
func.func @run(%n: tensor<i64> {nn.name = "n"},
    %x: tensor<4x8xi64> {nn.name = "x"}, %w: tensor<8x8xi64> {nn.name = "w"})
    -> (tensor<4x8xi64> {nn.name = "y"}) {
  %0 = nn.cast %x : (tensor<4x8xi64>) -> !f
  %1 = nn.cast %w : (tensor<8x8xi64>) -> !w
  %2, %3 = nn.loop @step(%n, %0, %0, %1) max 9
      : (tensor<i64>, !f, !f, !w) -> (!f, !f)
  %4 = nn.add %2, %3 : (!f, !f) -> !f
  %5 = nn.cast %4 : (!f) -> tensor<4x8xi64>
  return %5 : tensor<4x8xi64>
}
"""


def field_tensors(count):
    random = np.random.default_rng(10)
    return {"n": np.array(count),
            "x": random.integers(-9, 9, (4, 8), np.int64),
            "w": random.integers(-9, 9, (8, 8), np.int64)}


def nested_tensors(count, condition):
    random = np.random.default_rng(9)
    w = random.integers(-9, 9, (8, 8), np.int32)
    x = random.integers(-9, 9, (4, 8), np.int32)
    b = random.integers(-9, 9, 8, np.int32)
    return w, {"n": np.array(count), "c": np.array(condition), "x": x, "b": b}


def run_nested(count, condition):
    w, tensors = nested_tensors(count, condition)
    x, b = tensors["x"], tensors["b"]
    pair = (x, x)
    for i in range(count):
        y = pair[0]
        for _ in range(i):
            y = y @ w
        pair = (pair[1], y + b)
    y = pair[1] - pair[0]
    return {"y": y @ w @ w @ w if condition else y - b}
