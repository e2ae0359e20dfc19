"""--micro-batches auto: a batch is divided as is fastest, and gives the same."""

import json
import re

import numpy as np
import onnx
import pytest
from conftest import assert_close, load, model
from onnx import TensorProto, helper, numpy_helper
from train_test import package
from trained_models import Trained

pytestmark = pytest.mark.as_written

USAGE, CONTENT, INFEASIBLE = 2, 4, 6
ROWS = 8
# Gradients and halves of activations travel slowly: stages pay.
SLOW = """
name: slow
devices:
  - {count: COUNT, kind: d, peak_flops_per_second: {f32: 1e11},
     memory_bytes_per_second: 1e11, memory_bytes: MEMORY,
     launch_nanoseconds: 500}
levels:
  - {name: l, fanout: COUNT, bytes_per_second: 2e8, latency_nanoseconds: 2000}
"""


def machine(divisi, devices, memory=1000000000):
    divisi.path("slow.yaml").write_text(
        SLOW.replace("COUNT", str(devices)).replace("MEMORY", str(memory)))
    return ("--cluster", "slow.yaml", "--rewrite", "off")


def rows_of(tensors, rows):
    """So many rows, each another roll of those that there are."""
    return {name: np.concatenate([np.roll(value, i, axis=0)
                                  for i in range(rows)])[:rows]
            for name, value in tensors.items()}


def shapes(divisi, tensors, rows):
    name = f"x{rows}.npz"
    np.savez(divisi.path(name), **rows_of(tensors, rows))
    return ("--shapes-from", name)


def trials_of(facts):
    return {(t["micro_batches"], t["stages"]): t for t in facts["pipelines"]}


def time_given(divisi, line, count, stages):
    """What a call takes, of so many as they are given. Many
    micro-batches of a step on one stage are a loop of up to four each."""
    facts = json.loads(divisi(
        "explain", *line, "--micro-batches", count,
        "--pipeline-parallel-size", stages, "--json").out)
    names = [entry["entry"] for entry in facts["schedule"]]
    if "micro_batches" not in names:
        return sum(entry["nanoseconds"] for entry in facts["schedule"])
    runs = count // max(part for part in range(1, 5) if count % part == 0)
    return facts["predicted_nanoseconds"] - sum(
        entry["hidden"] * (runs if entry["entry"] == "micro_batches" else 1)
        for entry in facts["schedule"])


def graph(nodes, inputs=(("x", ("n", 4)),), outputs=(("y", ("n", 4)),),
          weights=()):
    def value(name, dims):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    weights = [numpy_helper.from_array(np.asarray(array, np.float32), name)
               for name, array in weights]
    return helper.make_model(helper.make_graph(
        [helper.make_node(kind, given, made, name=f"node_{made[0]}", **attributes)
         for kind, given, made, attributes in nodes], "g",
        [value(*i) for i in inputs], [value(*o) for o in outputs], weights),
        ir_version=10, opset_imports=[helper.make_opsetid("", 20)])


WIDTH, LAYERS = 256, 8
TRAIN = ("--train", "--loss", "mse", "--optimizer", "sgd", "--lr", 0.1)


def layers():
    """Weights that take long to be summed, and activations that do not."""
    random = np.random.default_rng(0)
    nodes = [node for i in range(LAYERS) for node in (
        ("MatMul", [f"h{i}", f"w{i}"], [f"p{i}"], {}),
        ("Tanh", [f"p{i}"], [f"h{i + 1}"], {}))]
    weights = [(f"w{i}", random.standard_normal((WIDTH, WIDTH)) / WIDTH ** 0.5)
               for i in range(LAYERS)]
    return graph(nodes, [("h0", ("n", WIDTH))],
                 [(f"h{LAYERS}", ("n", WIDTH))], weights)


def line_of(divisi, name, rows):
    """A model and its flags, where its batch has so many rows."""
    if name == "layers":
        onnx.save(layers(), divisi.path("layers.onnx"))
        return ("layers.onnx", "--dim", f"n={rows}", *TRAIN)
    m = model(name)
    flags = Trained(name, "sgd").flags()[2:] if name in ("gpt2", "llama") else ()
    return (m.onnx, *shapes(divisi, load(m.inputs), rows), *flags)


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("name, devices, rows", [
    ("layers", 4, 64), ("layers", 3, 12), ("gpt2", 4, 8), ("llama", 3, 8),
    ("vit", 4, 8), ("bert", 3, 8), ("t5", 4, 8)])
def test_the_search_finds_what_trying_all_finds(divisi, name, devices, rows):
    """All divisors of the batch up to 16 on all numbers of stages, each given:
    the least of these times is that of the search, and all that it says
    agree."""
    own = machine(divisi, devices)
    facts = json.loads(divisi("explain", *line_of(divisi, name, rows), *own,
                              "--micro-batches", "auto", "--json").out)
    found, times = trials_of(facts), {}
    counts = [count for count in range(1, 17) if rows % count == 0]
    for count in counts:
        line = (*line_of(divisi, name, rows // count), *own)
        for stages in range(1, devices + 1):
            if devices % stages == 0 and (count > 1 or stages == 1):
                times[count, stages] = time_given(divisi, line, count, stages)
    [taken] = [key for key, trial in found.items() if trial["taken"]]
    assert times[taken] == min(times.values()), times
    for key, trial in found.items():
        if trial["nanoseconds"] is not None:
            assert trial["nanoseconds"] == times[key], (key, times)
    assert {count for count, _ in found} == set(counts)
    if name == "vit":
        assert found[8, 0]["left_out"].startswith(
            "not planned: its operators alone, shared evenly, take "), found
    if (name, devices) == ("layers", 4):
        assert min(taken) > 1, times  # several batches, several stages


def test_a_divided_batch_gives_what_the_whole_one_gives(divisi):
    """Inference: all rows come back, in order."""
    m = model("vit")
    line = (m.onnx, *shapes(divisi, load(m.inputs), 6), *machine(divisi, 3))
    divisi("compile", *line, "--micro-batches", "auto", "-o", "m.divisi")
    divisi("compile", *line, "--devices", 1, "-o", "one.divisi")
    facts = json.loads(divisi("explain", "m.divisi", "--json").out)
    [taken] = [key for key, t in trials_of(facts).items() if t["taken"]]
    assert taken == (facts["plan"].get("micro_batches") or 1,
                     facts["plan"].get("stages") or 1)
    for name in ("m", "one"):
        divisi("run", f"{name}.divisi", "--inputs", "x6.npz", "-o",
               f"{name}.npz")
    assert_close(load(divisi.path("m.npz")), load(divisi.path("one.npz")))


def trained(divisi, *flags):
    """The losses of three steps, and the weights after them."""
    divisi("compile", *line_of(divisi, "layers", 64), *flags, "-o", "m.divisi")
    session = package.Session(package.load(divisi.path("m.divisi")))
    random = np.random.default_rng(1)
    data = {name: random.standard_normal((64, WIDTH), np.float32)
            for name in ("h0", "labels")}
    losses = [float(session.run(data)["loss"]) for _ in range(3)]
    return losses, {name: np.array(session.state[name])
                    for name in session.state}


def test_a_divided_step_is_that_of_the_whole_batch(divisi):
    """Mean loss and weights, of several micro-batches on several stages."""
    flags = (*machine(divisi, 4), "--micro-batches", "auto")
    losses, states = trained(divisi, *flags)
    text = divisi("explain", "m.divisi", "--summary").out
    assert re.search(r"\npipelines +compared by simulated time, without "
                     r"rewriting; of other numbers nothing is known\n +"
                     r"micro-batches 1, stages 1: [\d.]+ ms\n", text), text
    assert re.search(r"\n +micro-batches \d+, stages [24]: [\d.]+ ms, taken",
                     text), text
    expected, wanted = trained(divisi, "--rewrite", "off")
    np.testing.assert_allclose(losses, expected, 1e-5)
    for name in (f"w{i}" for i in range(LAYERS)):
        np.testing.assert_allclose(states[name], wanted[name], 1e-4, 1e-5,
                                   name)


def test_dropout_draws_for_each_micro_batch(divisi):
    made = layers()
    values = {"ratio": np.float32(0.5), "trains": np.array(True)}
    made.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value), name)
        for name, value in values.items())
    made.graph.node.append(helper.make_node(
        "Dropout", [f"h{LAYERS}", "ratio", "trains"], ["y"]))
    made.graph.output[0].name = "y"
    onnx.save(made, divisi.path("m.onnx"))
    error = divisi("plan", "m.onnx", "--dim", "n=64", *TRAIN,
                   *machine(divisi, 4), "--micro-batches", "auto", "-o",
                   "p.mlir").err
    assert ("--micro-batches auto: each micro-batch draws random numbers of its "
            "own") in error, error


def test_schedules_limit_what_is_compared(divisi):
    """One stage has no schedule to name."""
    m = model("vit")
    facts = json.loads(divisi(
        "explain", m.onnx, *shapes(divisi, load(m.inputs), 2), "--devices", 2,
        "--rewrite", "off", "--micro-batches", "auto", "--schedule", "stream",
        "--json").out)
    found = trials_of(facts)
    assert found[1, 1]["left_out"] == "no plan is made"
    assert found[2, 2]["taken"], found


def test_micro_batches_make_a_step_fit(divisi):
    """Where memory decides, the first number that fits is taken."""
    case = Trained("gpt2", "sgd")
    line = ("explain", case.onnx, *case.flags()[2:], "--devices", 1,
            *shapes(divisi, load(model("gpt2").inputs), 32), "--rewrite", "off",
            "--recompute", "none", "--json")
    whole = json.loads(divisi(*line).out)
    [device] = whole["memory"]["per_device"]
    limit = int(0.6 * device["total_bytes"])
    divisi(*line, "--memory-limit", limit, exits=INFEASIBLE)
    facts = json.loads(divisi(*line, "--memory-limit", limit, "--micro-batches",
                              "auto").out)
    found = trials_of(facts)
    assert found[1, 1]["left_out"] == "no plan fits"
    [(count, _)] = [key for key, trial in found.items() if trial["taken"]]
    assert count > 1


RAMP = np.arange(24).reshape(6, 4)
# (model, what does not let its batch be divided)
MODELS = {
    "rows alone": (graph([("Softmax", ["x"], ["y"], {"axis": 1})]), None),
    "equal rows": (graph([("Add", ["x", "c"], ["y"], {})],
                         weights=[("c", np.ones((6, 4)) * np.arange(4))]),
                   None),
    "columns mixed": (graph([("Softmax", ["x"], ["y"], {"axis": 0})]),
                      "node 'node_y' (nn.softmax) combines rows"),
    "other rows": (graph([("Add", ["x", "c"], ["y"], {})],
                         weights=[("c", RAMP)]),
                   "node 'node_y' (nn.add) combines rows of the batch, or "
                   "treats them differently"),
    "a mean": (graph([("ReduceMean", ["x", "a"], ["m"], {}),
                      ("Sub", ["x", "m"], ["y"], {})]),
               "node 'node_m' (nn.reduce) combines rows"),
    "every row with every row": (
        graph([("Transpose", ["x"], ["t"], {}),
               ("MatMul", ["x", "t"], ["y"], {})], outputs=[("y", ("n", "n"))]),
        "node 'node_y' (nn.matmul) combines rows"),
    "the last row first": (
        graph([("Slice", ["x", "b", "e", "a", "s"], ["y"], {})]),
        "node 'node_y' (nn.slice) combines rows"),
    "no row of its own": (
        graph([("MatMul", ["w", "x"], ["y"], {})],
              outputs=[("y", (3, 4))], weights=[("w", np.ones((3, 6)))]),
        "node 'node_y' (nn.matmul) combines rows"),
    "rows that are columns": (
        graph([("Transpose", ["x"], ["y"], {"perm": [1, 0]})],
              outputs=[("y", (4, "n"))]),
        "output 'y' has no row for each of the batch"),
    "unlike inputs": (
        graph([("Add", ["x", "z"], ["y"], {})],
              inputs=[("x", ("n", 4)), ("z", (1, 4))]),
        None),
    "unlike inputs without names": (
        graph([("MatMul", ["w", "z"], ["m"], {}),
               ("Add", ["x", "m"], ["y"], {})],
              inputs=[("x", (6, 4)), ("z", (2, 4))], outputs=[("y", (6, 4))],
              weights=[("w", np.arange(12).reshape(6, 2))]),
        "input 'z' has 2 rows, and one before it 6; --shared-inputs names "
        "inputs without a batch"),
    "a fixed batch": (
        graph([("Relu", ["x"], ["y"], {})], inputs=[("x", (6, 4))],
              outputs=[("y", (6, 4))]),
        "the model fixes dim 0 of input 'x' to 6; export it with an open "
        "batch"),
    "a shape that it says": (
        graph([("Reshape", ["x", "r"], ["y"], {})]),
        "not possible: inputs or outputs have other dims than those of the "
        "whole batch"),
    "a state": (
        graph([("Add", ["x", "p"], ["y"], {}), ("Neg", ["p"], ["q"], {})],
              inputs=[("x", ("n", 4)), ("p", (1, 4))],
              outputs=[("y", ("n", 4)), ("q", (1, 4))]),
        "the state @p would change from one part of the batch to the next"),
    "two dims of one name": (
        graph([("Relu", ["x"], ["y"], {})], inputs=[("x", ("n", "n"))],
              outputs=[("y", ("n", "n"))]),
        "the dim 'n' of input 'x' is the batch, and something else, too"),
}


def with_indices(made):
    """ONNX wants some of these as integers."""
    for name, array in {"a": [0], "b": [-1], "e": [-100], "s": [-1],
                        "r": [6, -1]}.items():
        if any(name in node.input for node in made.graph.node):
            made.graph.initializer.append(
                numpy_helper.from_array(np.array(array, np.int64), name))
    return made


@pytest.mark.parametrize("kind", MODELS)
def test_batches_that_cannot_be_divided_are_named(divisi, kind):
    made, obstacle = MODELS[kind]
    onnx.save(with_indices(made), divisi.path("m.onnx"))
    square = kind == "two dims of one name"
    result = divisi("explain", "m.onnx", "--shape", "x=6x6" if square else
                    "x=6x4", *(("--state", "p=q") if kind == "a state" else ()),
                    "--micro-batches", "auto", "--json")
    facts = json.loads(result.out)
    said = result.err + json.dumps(facts.get("pipelines", []))
    if obstacle is None:
        assert {count for count, _ in trials_of(facts)} == {1, 2, 3, 6}, said
        assert "--micro-batches auto" not in result.err, result.err
    else:
        assert obstacle in said, said
        assert facts["plan"].get("micro_batches") is None


def test_batch_norms_that_are_trained_need_the_whole_batch(divisi):
    """Which micro-batches would be normalized each by itself; a number that is
    given is taken."""
    made = onnx.load(Trained("residual", "sgd").onnx)
    for value in [*made.graph.input, *made.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(made, divisi.path("m.onnx"))
    line = ("plan", "m.onnx", "--dim", "n=8", "--train", "--loss",
            "cross_entropy", "--optimizer", "sgd", "--lr", 0.1, "-o", "p.mlir")
    error = divisi(*line, "--micro-batches", "auto").err
    assert re.search(r"--micro-batches auto: the batch is not divided, as that "
                     r"would change results: node '.*' \(nn.reduce\) combines "
                     r"rows of the batch", error), error
    assert "pipe.micro_batches" not in divisi.path("p.mlir").read_text()


def test_dumps_and_texts_that_are_no_numbers(divisi):
    m = model("vit")
    line = (m.onnx, *m.shapes, "--devices", 2)
    divisi("compile", *line, "--dump-after", "import", "--dump-to", ".", "-o",
           "m.divisi")
    [dump] = divisi.folder.glob("*.import.mlir")
    error = divisi("plan", dump, "--data", m.onnx, "--micro-batches", "auto",
                   "-o", "p.mlir", exits=USAGE).err
    assert ("--micro-batches auto divides the batch of a model, and '"
            f"{dump}' is IR, which has its shapes; give the model, or a number"
            ) in error, error
    divisi("plan", *line, "--micro-batches", "auto", "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    broken = re.sub(r"(divisi.trials = \[\{.*?)micro_batches", r"\1batches", text)
    assert broken != text
    divisi.path("p.mlir").write_text(broken)
    error = divisi("explain", "p.mlir", "--data", m.onnx, exits=CONTENT).err
    assert "divisi.trials is not what --micro-batches auto writes" in error
    for flags, message in [
            (("--micro-batches", "few"),
             "--micro-batches few: expected a number from 1 to 1024, or auto"),
            (("--micro-batches", "auto", "--solver", "random"),
             "--micro-batches auto compares plans, and the solver random draws "
             "one; give a number")]:
        error = divisi("plan", *line, *flags, "-o", "p.mlir", exits=USAGE).err
        assert message in error, error
