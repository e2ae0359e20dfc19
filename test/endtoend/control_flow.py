"""Models whose branches and loops data decides on: name -> a Case."""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


@dataclass
class Case:
    """A model, with several inputs to run it with."""
    model: onnx.ModelProto
    inputs: list
    options: tuple = ()


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def value(name, shape=(3, 4), kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def graph(nodes, inputs, outputs, constants=None):
    return helper.make_graph(nodes, "g", inputs, outputs, [
        constant(n, a) for n, a in (constants or {}).items()])


def model(nodes, inputs, outputs, constants=None, opset=17, check=True):
    made = helper.make_model(
        graph(nodes, inputs, outputs, constants), ir_version=8,
        opset_imports=[helper.make_opsetid("", opset)])
    if check:
        onnx.checker.check_model(made)
    return made


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(
        np.float32)


def positive_sum(x="x"):
    """Whether the sum of a tensor is above 0, as `c`."""
    return [node("ReduceSum", x, "sum", keepdims=0),
            node("Greater", "sum zero", "c")]


ZERO = {"zero": np.float32(0)}
BOTH = [{"x": random(3, 4)}, {"x": -random(3, 4)}]


def branch():
    """Each branch uses what is around it, and a weight of its own."""
    then = graph([node("MatMul", "h w", "a")], [], [value("a", (3, 5))],
                 {"w": random(4, 5, seed=1)})
    otherwise = graph([node("MatMul", "x v", "t"), node("Relu", "t", "b")], [],
                      [value("b", (3, 5))])
    return Case(model(
        positive_sum() + [node("Tanh", "x", "h"),
                          node("If", "c", "i", then_branch=then,
                               else_branch=otherwise),
                          node("Neg", "i", "y")],
        [value("x")], [value("y", (3, 5))],
        ZERO | {"v": random(4, 5, seed=2)}), BOTH)


def branches_in_branches():
    """Two outputs; one branch holds another, one gives a constant."""
    inner = node("If", "c2", "p q",
                 then_branch=graph([node("Exp", "x", "e"),
                                    node("Identity", "x", "f")], [],
                                   [value("e"), value("f")]),
                 else_branch=graph([node("Sin", "x", "m"),
                                    node("Cos", "x", "n")], [],
                                   [value("m"), value("n")]))
    then = graph([node("ReduceMax", "x", "top", keepdims=0),
                  node("Greater", "top limit", "c2"), inner], [],
                 [value("p"), value("q")])
    otherwise = graph([node("Identity", "k", "u"), node("Abs", "x", "o")], [],
                      [value("u"), value("o")])
    return Case(model(
        positive_sum() + [node("If", "c", "y z", then_branch=then,
                               else_branch=otherwise)],
        [value("x")], [value("y"), value("z")],
        ZERO | {"limit": np.float32(2), "k": random(3, 4, seed=3)}),
        BOTH + [{"x": random(3, 4) + 3}])


def while_loop(limit, trips, options=()):
    """Adds `x` until the sum of `a` is above a limit."""
    body = graph(
        [node("Add", "a x", "b"), node("ReduceSum", "b", "s", keepdims=0),
         node("Less", "s l", "on")],
        [value("i", (), INT), value("on_", (), BOOL), value("a")],
        [value("on", (), BOOL), value("b")], {"l": np.float32(limit)})
    loop = helper.make_node("Loop", ["m" if trips else "", "t", "x"], ["y"],
                            body=body)
    constants = {"t": np.bool_(True)}
    if trips:
        constants["m"] = np.int64(trips)
    return Case(model([loop], [value("x")], [value("y")], constants),
                [{"x": np.full((3, 4), 0.5, np.float32)},
                 {"x": np.full((3, 4), 3, np.float32)},
                 {"x": np.full((3, 4), 0.3, np.float32)}], options)


def counted_loop(trips=None):
    """Runs as often as an input says, or `trips` times, and knows its step."""
    body = graph(
        [node("Cast", "i", "f", to=FLOAT), node("Mul", "x f", "p"),
         node("Add", "a p", "b"), node("MatMul", "b w", "d"),
         node("Tanh", "d", "e"), node("Identity", "on_", "on")],
        [value("i", (), INT), value("on_", (), BOOL), value("a")],
        [value("on", (), BOOL), value("e")])
    loop = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    weights = {"w": random(4, 4, seed=4) / 2}
    if trips:
        return Case(model([loop], [value("x")], [value("y")],
                          weights | {"n": np.int64(trips)}),
                    [{"x": random(3, 4)}])
    return Case(model([loop], [value("x"), value("n", (), INT)],
                      [value("y")], weights),
                [{"x": random(3, 4), "n": np.int64(n)} for n in (0, 1, 7)],
                ("--max-trip-count", 9))


def long_loop(steps=520):
    """More steps than are written out, with what each of them gives."""
    body = graph(
        [node("Mul", "a k", "t"), node("Add", "t x", "b"),
         node("Sin", "b", "row"), node("Identity", "on_", "on")],
        [value("i", (), INT), value("on_", (), BOOL), value("a", (2,))],
        [value("on", (), BOOL), value("b", (2,)), value("row", (2,))],
        {"k": np.float32(0.9)})
    loop = helper.make_node("Loop", ["m", "", "x"], ["y", "z"], body=body)
    return Case(model([loop], [value("x", (2,))],
                      [value("y", (2,)), value("z", (steps, 2))],
                      {"m": np.int64(steps)}), [{"x": random(2)}])


def long_scan(steps=530):
    """Reads one input forwards, one backwards along its second dim, and writes
    backwards along the last."""
    body = graph(
        [node("Add", "s p", "t"), node("Mul", "t half", "u"),
         node("Add", "u q", "v")],
        [value("s", (3,)), value("p", (3,)), value("q", (3,))],
        [value("u", (3,)), value("v", (3,))], {"half": np.float32(0.5)})
    scan = helper.make_node(
        "Scan", ["s0", "x", "w"], ["y", "z"], body=body, num_scan_inputs=2,
        scan_input_axes=[0, 1], scan_input_directions=[0, 1],
        scan_output_axes=[-1], scan_output_directions=[1])
    return Case(model([scan], [value("s0", (3,)), value("x", (steps, 3)),
                               value("w", (3, steps))],
                      [value("y", (3,)), value("z", (3, steps))]),
                [{"s0": random(3), "x": random(steps, 3, seed=1),
                  "w": random(3, steps, seed=2)}])


GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(op, direction="forward", lengths=False, steps=600, batch=2,
              width=3, hidden=4, **attributes):
    """A layer of many steps."""
    d, g = 2 if direction == "bidirectional" else 1, GATES[op] * hidden
    names = ["x", "w", "r", "b", "n" if lengths else ""]
    constants = {"w": random(d, g, width, seed=5),
                 "r": random(d, g, hidden, seed=6) / 2,
                 "b": random(d, 2 * g, seed=7)}
    if lengths:
        constants["n"] = np.array([steps, steps - 77][:batch], np.int32)
    outputs = ["y", "h"] + (["c"] if op == "LSTM" else [])
    layer = helper.make_node(op, names, outputs, hidden_size=hidden,
                             direction=direction, **attributes)
    return Case(model([layer], [value("x", (steps, batch, width))],
                      [value("y", (steps, d, batch, hidden))] +
                      [value(n, (d, batch, hidden)) for n in outputs[1:]],
                      constants), [{"x": random(steps, batch, width)}])


def sequences():
    """Lists of tensors whose lengths are known."""
    return Case(model([
        node("SplitToSequence", "x parts", "s", axis=1),
        node("SequenceAt", "s one", "a"),
        node("SequenceErase", "s zero", "e"),
        node("Neg", "a", "n"),
        node("SequenceInsert", "e n", "i"),
        node("SequenceLength", "i", "l"),
        node("ConcatFromSequence", "i", "y", axis=0),
        node("ConcatFromSequence", "i", "z", axis=-1, new_axis=1)],
        [value("x")],
        [value("y", (6, 2)), value("z", (3, 2, 2)), value("l", (), INT)],
        {"parts": np.array([2, 2]), "one": np.int64(-1),
         "zero": np.int64(0)}), [{"x": random(3, 4)}])


def mapped_sequences():
    """A body on each of two lists, which also reads a tensor around it."""
    body = graph([node("Mul", "a b", "m"), node("Add", "m e", "f"),
                  node("Add", "f w", "g"), node("Shape", "g", "h")],
                 [value("a", (3, 2)), value("b", (3, 2)), value("e", (3, 1))],
                 [value("g", (3, 2)), value("h", (2,), INT)])
    return Case(model([
        node("SplitToSequence", "x parts", "s", axis=1),
        node("SplitToSequence", "z parts", "t", axis=1),
        node("SequenceMap", "s t c", "q r", body=body),
        node("ConcatFromSequence", "q", "y", axis=1),
        node("ConcatFromSequence", "r", "l", axis=0)],
        [value("x"), value("z"), value("c", (3, 1)), value("w", (1, 2))],
        [value("y"), value("l", (4,), INT)],
        {"parts": np.array([2, 2])}),
        [{"x": random(3, 4), "z": random(3, 4), "c": random(3, 1),
          "w": random(1, 2)}])


def optionals():
    """What holds a tensor, and what holds nothing, of which a branch asks."""
    kind = helper.make_tensor_type_proto(FLOAT, [3, 4])
    return Case(model([
        node("Optional", "x", "some"), node("Optional", "", "none", type=kind),
        node("OptionalHasElement", "some", "is"),
        node("OptionalHasElement", "none", "is_not"),
        node("OptionalGetElement", "some", "held"),
        node("If", "is_not", "y",
             then_branch=graph([node("OptionalGetElement", "none", "a")], [],
                               [value("a")]),
             else_branch=graph([node("Neg", "held", "b")], [], [value("b")]))],
        [value("x")], [value("y"), value("is", (), BOOL),
                       value("is_not", (), BOOL)], opset=18), BOTH[:1])


def non_zero():
    """Rows chosen by data, and what is made of each of them."""
    return Case(model([
        node("Relu", "x", "r"), node("NonZero", "r", "i"),
        node("Transpose", "i", "t", perm=[1, 0]),
        node("GatherND", "x t", "g"), node("Mul", "g two", "y")],
        [value("x")], [value("i", (2, "n"), INT), value("y", ("n",))],
        {"two": np.float32(2)}), BOTH + [{"x": np.zeros((3, 4), np.float32)}])


def compress():
    return Case(model([
        node("ReduceMax", "x", "m", axes=[1], keepdims=0),
        node("Greater", "m half", "c"), node("Compress", "x c", "k", axis=0),
        node("MatMul", "k w", "y")],
        [value("x", (9, 4))], [value("y", ("n", 5))],
        {"half": np.float32(0.5), "w": random(4, 5, seed=8)}),
        [{"x": random(9, 4, seed=s)} for s in (9, 10)])


def experts():
    """Each row goes through the experts that its best scores name, whose
    results are added where the row has been, as index_add does."""
    rows, size, count, best = 6, 4, 3, 2
    nodes = [node("MatMul", "x gate", "scores"),
             node("TopK", "scores best", "weights chosen", axis=-1),
             node("OneHot", "chosen count values", "hot", axis=-1),
             node("Transpose", "hot", "mask", perm=[2, 1, 0])]
    total = "start"
    constants = {"gate": random(size, count, seed=3), "zero": np.array([0]),
                 "one": np.array([1]), "best": np.array([best]),
                 "count": np.array(count), "values": np.array([0, 1]),
                 "start": np.zeros((rows, size), np.float32),
                 "wide": np.array([1, size])}
    for e in range(count):
        constants |= {f"e{e}": np.array(e),
                      f"w{e}": random(size, size, seed=4 + e)}
        nodes += [
            node("Gather", f"mask e{e}", f"m{e}"),
            node("NonZero", f"m{e}", f"at{e}"),
            node("Split", f"at{e}", f"slot{e} row{e}", axis=0, num_outputs=2),
            node("Squeeze", f"row{e} zero", f"r{e}"),
            node("Gather", f"x r{e}", f"x{e}", axis=0),
            node("MatMul", f"x{e} w{e}", f"y{e}"),
            node("Transpose", f"row{e}", f"rt{e}"),
            node("Transpose", f"slot{e}", f"st{e}"),
            node("Concat", f"rt{e} st{e}", f"place{e}", axis=1),
            node("GatherND", f"weights place{e}", f"v{e}"),
            node("Unsqueeze", f"v{e} one", f"u{e}"),
            node("Mul", f"y{e} u{e}", f"z{e}")]
        nodes.append(
            node("ScatterND", f"{total} rt{e} z{e}", f"t{e}", reduction="add"))
        total = f"t{e}"
    nodes.append(node("Identity", total, "y"))
    return Case(model(nodes, [value("x", (rows, size))],
                      [value("y", (rows, size))], constants, opset=18),
                [{"x": random(rows, size, seed=s)} for s in (1, 2)])


def masked(reduction):
    """What is above 0 is replaced by its double, or combined with it; indices
    count from the end."""
    return Case(model([
        node("Greater", "x zero", "c"), node("NonZero", "c", "i"),
        node("Transpose", "i", "t"), node("GatherND", "x t", "g"),
        node("Add", "g g", "u"), node("Sub", "t shape", "back"),
        node("ScatterND", "x back u", "y", reduction=reduction)],
        [value("x")], [value("y")], ZERO | {"shape": np.array([3, 4])},
        opset=18), BOTH + [{"x": np.zeros((3, 4), np.float32)}])


def detections(center=0, score=True):
    """Boxes, their scores, and those that are left, as detectors end."""
    at = np.random.default_rng(11)
    corners = at.uniform(0, 6, (2, 30, 2)).astype(np.float32)
    extents = at.uniform(1, 3, (2, 30, 2)).astype(np.float32)
    boxes = np.concatenate(
        [corners, extents if center else corners + extents], 2)
    boxes[0, 3] = boxes[0, 3][[2, 3, 0, 1]] if not center else boxes[0, 3]
    scores = at.uniform(0, 1, (2, 3, 30)).astype(np.float32)
    names = "boxes scores most overlap" + (" score" if score else "")
    return Case(model([
        node("NonMaxSuppression", names, "found", center_point_box=center),
        node("Slice", "found zero one axes", "b"),
        node("Slice", "found two three axes", "k"),
        node("Concat", "b k", "at", axis=1),
        node("GatherND", "boxes at", "y")],
        [value("boxes", (2, 30, 4)), value("scores", (2, 3, 30))],
        [value("found", ("n", 3), INT), value("y", ("n", 4))],
        {"most": np.array([7]), "overlap": np.array([0.3], np.float32),
         "score": np.array([0.4], np.float32), "axes": np.array([1]),
         "zero": np.array([0]), "one": np.array([1]), "two": np.array([2]),
         "three": np.array([3])}), [{"boxes": boxes, "scores": scores}])


CASES = {
    "branch": branch,
    "branches in branches": branches_in_branches,
    "while, at most 9": lambda: while_loop(20, 9),
    "while": lambda: while_loop(20, None, ("--max-trip-count", 12)),
    "counted by an input": counted_loop,
    "loop of 520": long_loop,
    "scan of 530": long_scan,
    "rnn": lambda: recurrent("RNN"),
    "rnn backwards": lambda: recurrent("RNN", "reverse", True),
    "gru": lambda: recurrent("GRU", "bidirectional", linear_before_reset=1),
    "lstm": lambda: recurrent("LSTM"),
    "lstm of sequences": lambda: recurrent("LSTM", "bidirectional", True),
    "sequences": sequences,
    "mapped sequences": mapped_sequences,
    "optionals": optionals,
    "non-zero": non_zero,
    "compress": compress,
    "experts": experts,
    "masked": lambda: masked("none"),
    "masked sum": lambda: masked("add"),
    "masked minimum": lambda: masked("min"),
    "detections": detections,
    "detections by centers": lambda: detections(1, False),
    "lstm of 2,000": lambda: recurrent("LSTM", steps=2000, batch=1),
}
