"""--objective: the time of a run or of a step, or of each output."""

import json
import re

import numpy as np
import onnx
import pytest
from conftest import load
from micro_batches_test import TRAIN, graph, machine, trials_of
from trained_models import Trained

pytestmark = pytest.mark.as_written

USAGE = 2
ROWS, WIDTH, LAYERS = 64, 256, 6
ALL = 1000000000  # bytes of a device that do not limit anything
LITTLE = int(0.7 * LAYERS * WIDTH * WIDTH * 4)  # of the weights
FAST = ("--objective", "throughput")


def layers():
    random = np.random.default_rng(0)
    return graph(
        [node for i in range(LAYERS) for node in (
            ("MatMul", [f"h{i}", f"w{i}"], [f"p{i}"], {}),
            ("Tanh", [f"p{i}"], [f"h{i + 1}"], {}))],
        [("h0", ("n", WIDTH))], [(f"h{LAYERS}", ("n", WIDTH))],
        [(f"w{i}", random.standard_normal((WIDTH, WIDTH)) / WIDTH ** 0.5)
         for i in range(LAYERS)])


def line(divisi, memory=ALL, rows=ROWS):
    onnx.save(layers(), divisi.path("layers.onnx"))
    return ("layers.onnx", "--dim", f"n={rows}", *machine(divisi, 2, memory),
            "--work-limit", 10000000)


def facts_of(divisi, *flags):
    """Of the artifact: for a model, explain plans others, too."""
    divisi("compile", *flags, "-o", "x.divisi")
    return json.loads(divisi("explain", "x.divisi", "--json").out)


def check_rows(divisi, artifact):
    """Of a run, against NumPy."""
    x = np.random.default_rng(2).standard_normal((ROWS, WIDTH), np.float32)
    np.savez(divisi.path("x.npz"), h0=x)
    divisi("run", artifact, "--inputs", "x.npz", "-o", "y.npz")
    for weight in layers().graph.initializer:
        x = np.tanh(x @ onnx.numpy_helper.to_array(weight))
    [y] = load(divisi.path("y.npz")).values()
    np.testing.assert_allclose(y, x, 1e-4, 1e-5)


def test_stages_are_for_throughput(divisi):
    """Neither device holds all weights, and links are slow: one grid sends
    halves of activations in every layer, stages once."""
    flags = line(divisi, LITTLE)
    for objective in ("latency", "throughput"):
        divisi("compile", *flags, "--objective", objective, "-o",
               f"{objective}.divisi")
        check_rows(divisi, f"{objective}.divisi")
    one, many = (json.loads(divisi("explain", f"{objective}.divisi",
                                   "--json").out)
                 for objective in ("latency", "throughput"))
    assert facts_of(divisi, *flags)["plan"] == one["plan"]  # the default
    assert one["plan"]["stages"] is None and "throughput" not in one
    assert many["plan"]["stages"] == 2
    [taken] = [key for key, t in trials_of(many).items() if t["taken"]]
    assert taken == (many["plan"]["micro_batches"], 2)
    [entry], said = many["schedule"], many["throughput"]
    assert said["of"] == "row" and said["outputs"] == ROWS
    assert said["nanoseconds"] == entry["nanoseconds"]
    assert said["interval_nanoseconds"] == entry["nanoseconds"] // ROWS
    assert said["per_second"] == pytest.approx(
        1e9 * ROWS / entry["nanoseconds"])
    assert said["nanoseconds"] < one["predicted_nanoseconds"]
    assert said["lower_bound"] == many["one_device_nanoseconds"] // 2
    assert said["lower_bound"] <= said["nanoseconds"]
    [simulated] = json.loads(divisi(
        "simulate", *flags, *FAST, "--json").out)["entries"]
    assert simulated["nanoseconds"] == said["nanoseconds"]
    text = divisi("explain", "throughput.divisi", "--summary").out
    assert re.search(
        r"\nthroughput +a row every [\d.]+ us, [\d.]+ K/s: 64 rows in a run of "
        r"[\d.]+ us; lower bound [\d.]+ us, of its operators alone, shared "
        r"evenly\n", text), text


def test_replicas_are_for_throughput_where_they_fit(divisi):
    """Rows need nothing of each other, so nothing is as fast as halves of the
    batch side by side."""
    facts = facts_of(divisi, *line(divisi), *FAST)
    [taken] = [key for key, t in trials_of(facts).items() if t["taken"]]
    assert taken == (1, 1) and not facts["collectives"]
    assert facts["throughput"]["outputs"] == ROWS
    assert facts["throughput"]["nanoseconds"] == facts["predicted_nanoseconds"]


def test_all_that_are_compared_are_slower(divisi):
    """Each of them given: none has a row in less time."""
    flags = line(divisi, LITTLE)
    best = facts_of(divisi, *flags, *FAST)
    for (count, stages), trial in trials_of(best).items():
        if stages == 0 or trial["nanoseconds"] is None:
            continue
        given = facts_of(divisi, *line(divisi, LITTLE, ROWS // count),
                         "--micro-batches", count, "--pipeline-parallel-size",
                         stages, *FAST)["throughput"]
        assert (given["of"], given["outputs"]) == ("batch", count)
        assert given["nanoseconds"] == trial["nanoseconds"]
        assert given["nanoseconds"] >= best["throughput"]["nanoseconds"]


def test_dumps_and_plans_keep_the_objective(divisi):
    """IR has its shapes: nothing of them is searched."""
    flags = line(divisi)
    divisi("plan", *flags, *FAST, "-o", "p.mlir", "--dump-after", "import",
           "--dump-to", ".")
    result = divisi("plan", "p.mlir", "--replan", "--devices", 2, "-o",
                    "q.mlir")
    assert "keeps what the plan was made with: --objective throughput" in (
        result.err), result.err
    facts = facts_of(divisi, "q.mlir", "--data", "layers.onnx")
    assert facts["throughput"]["outputs"] == ROWS
    [dump] = divisi.folder.glob("*.import.mlir")
    data = ("--data", "layers.onnx")
    facts = facts_of(divisi, dump, *data, *machine(divisi, 2), *FAST)
    assert facts["throughput"]["of"] == "batch"
    facts = facts_of(divisi, dump, *data, *machine(divisi, 2), *FAST,
                     "--micro-batches", 4)
    assert facts["throughput"]["outputs"] == 4


def test_a_batch_that_is_not_divided_is_one_output(divisi):
    made = graph([("Softmax", ["x"], ["y"], {"axis": 0})])
    onnx.save(made, divisi.path("m.onnx"))
    divisi("compile", "m.onnx", "--shape", "x=6x4", "--devices", 2, *FAST, "-o",
           "m.divisi")
    facts = json.loads(divisi("explain", "m.divisi", "--json").out)
    assert (facts["throughput"]["of"], facts["throughput"]["outputs"]) == (
        "batch", 1)


def test_objectives_that_there_are_not(divisi):
    flags = line(divisi)
    case = Trained("gpt2", "sgd")
    train = (case.onnx, *case.flags())
    divisi("plan", *train, "--objective", "step", "--devices", 2, "-o",
           "step.mlir", "--dump-after", "train", "--dump-to", ".")
    [dump] = divisi.folder.glob("*.train.mlir")
    for given, message in [
            ((*flags, *TRAIN, *FAST),
             "--objective throughput is of inference, and 'layers.onnx' becomes "
             "a training step: give step, or leave it out"),
            ((*flags, *TRAIN, "--objective", "latency"),
             "--objective latency is of inference"),
            ((dump, "--data", case.onnx, *FAST),
             "--objective throughput is of inference, and '"),
            ((*flags, "--objective", "step"),
             "--objective step is the time of a training step, and "
             "'layers.onnx' is not trained: give --train, or latency or "
             "throughput"),
            ((*flags, *FAST, "--solver", "random"),
             "--objective throughput compares plans, and the solver random "
             "draws one; give a number of micro-batches"),
            ((*flags, "--objective", "speed"),
             "--objective 'speed': expected latency, throughput or step")]:
        error = divisi("plan", *given, "-o", "p.mlir", exits=USAGE).err
        assert message in error, error
