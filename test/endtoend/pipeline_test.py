"""Pipelines: layers on parts of the devices, and several batches in a call."""

import json
import re

import numpy as np
import onnx
import pytest
from conftest import ROOT, assert_close, load, model
from onnx import TensorProto, helper, numpy_helper
from train_test import check_steps
from trained_models import Trained

USAGE, CONTENT = 2, 4
NAMES = ["gpt2", "t5", "resnet", "bert", "llama", "vit", "segformer"]
# Devices, stages, batches in a call.
SHAPES = [(4, 2, 4), (3, 3, 3), (2, 2, 1), (1, 1, 2), (2, 2, 4), (4, 4, 8)]


def pipeline(stages, batches=1):
    return ("--pipeline-parallel-size", stages, "--micro-batches", batches)


def repeated(tensors, batches):
    """So many batches, each with its rows in another order."""
    return {name: np.concatenate([np.roll(value, i, axis=0)
                                  for i in range(batches)])
            for name, value in tensors.items()}


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_batches_are_those_of_single_calls(divisi, name, shape):
    devices, stages, batches = shape
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, "--devices", devices,
           *pipeline(stages, batches), "-o", "m.divisi")
    np.savez(divisi.path("x.npz"), **repeated(load(m.inputs), batches))
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    assert_close(load(divisi.path("y.npz")),
                 repeated(load(m.outputs), batches))


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("devices, stages", [(4, 2), (3, 3), (2, 2)])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("name", ["gpt2", "t5", "bert", "vit"])
def test_steps_are_those_of_pytorch(divisi, name, optimizer, devices, stages):
    """Each weight and its state rest on one stage."""
    case = Trained(name, optimizer)
    divisi("compile", case.onnx, *case.flags(), "--devices", devices,
           *pipeline(stages), "-o", "m.divisi")
    check_steps(divisi.path("m.divisi"), case)


def stages_of(text):
    """{stage: operators} of the dump of a plan."""
    found = re.findall(r"spmd\.split<@g(\d+)", text)
    return {int(s): found.count(s) for s in sorted(set(found))}


def test_stages_share_operators_and_weights(divisi):
    """The dump of a plan has a grid per stage, and is resumed."""
    m = model("gpt2")
    divisi("plan", m.onnx, *m.shapes, "--cluster", "cpu:4", *pipeline(2),
           "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    assert re.search(r"spmd\.grid @g0 .* devices \[0, 1\]", text)
    assert re.search(r"spmd\.grid @g1 .* devices \[2, 3\]", text)
    counts = stages_of(text)
    assert min(counts.values()) * 4 >= sum(counts.values()), counts
    places = re.findall(r"nn\.global .*spmd\.place<@g(\d)", text)
    assert set(places) == {"0", "1"}
    divisi("compile", "p.mlir", "--data", m.onnx, "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)


def test_explain_says_what_stages_take_beside_each_other(divisi):
    m = model("vit")
    line = ("explain", m.onnx, *m.shapes, "--cluster", "cpu:2", "--rewrite",
            "off")
    text = divisi(*line, *pipeline(2, 8), "--summary").out
    assert ("pipeline          2 stages of equal size: the gap is not known"
            in text)
    [beside] = re.findall(r"on these 2 .* speed-up ([\d.]+),", text)
    assert re.search(r", of stages beside each other, whose work is [\d.]+ ms "
                     "in all", text)
    assert float(beside) > 1.3, text
    facts = json.loads(divisi(*line, *pipeline(2, 8), "--json").out)
    [schedule] = facts["schedule"]
    assert schedule["nanoseconds"] < facts["predicted_nanoseconds"] / 1.5
    assert facts["speed_up"] == (facts["one_device_nanoseconds"]
                                 / schedule["nanoseconds"])
    assert facts["plan"]["stages"] == 2


def test_equal_options_give_equal_bytes(divisi):
    m = model("llama")
    for name in ("a", "b"):
        divisi("compile", m.onnx, *m.shapes, "--devices", 4, *pipeline(2, 3),
               "-o", name)
    assert divisi.path("a").read_bytes() == divisi.path("b").read_bytes()


@pytest.mark.parametrize("flags, code, message", [
    (["--devices", 2, *pipeline(0)], USAGE,
     "--pipeline-parallel-size is 0, expected 1 to 4096"),
    (["--devices", 2, *pipeline(3)], USAGE,
     "--pipeline-parallel-size is 3, and there are 2 devices"),
    (["--devices", 4096, *pipeline(4096)], USAGE,
     "each stage needs one"),
    (["--devices", 4, *pipeline(2), "--solver", "random"], USAGE,
     "the solver random makes no pipeline"),
    (["--devices", 2, *pipeline(1, 0)], USAGE,
     "--micro-batches 0: expected a number from 1 to 1024"),
], ids=lambda value: str(value)[:30] if isinstance(value, str) else "")
def test_what_cannot_be_a_pipeline(divisi, flags, code, message):
    m = model("vit")
    result = divisi("plan", m.onnx, *m.shapes, *flags, "-o", "p.mlir",
                    exits=code)
    assert message in result.err, result.err


def test_clusters_of_several_kinds_have_no_equal_stages(divisi):
    m = model("vit")
    result = divisi("plan", m.onnx, *m.shapes, "--cluster",
                    ROOT / "test" / "endtoend" / "Inputs" / "a100-v100.yaml",
                    *pipeline(2), "-o", "p.mlir", exits=USAGE)
    assert "makes equal stages" in result.err, result.err


def test_models_that_have_no_batches(divisi):
    """One number for all batches, and a state that each would change."""
    for body, message in [
            ("%y = nn.reduce %x {kind = \"sum\", axes = array<i64: 0>} : "
             "(tensor<4xf32>) -> tensor<f32>\n return %y : tensor<f32>",
             "returns one number as its output 0, which cannot be joined of "
             "micro-batches: leave out --micro-batches"),
            ("nn.update @m, %x : tensor<4xf32>\n return %x : tensor<4xf32>",
             "changes the global @m, and micro-batches are independent")]:
        result = body.rsplit(": ", 1)[1]
        divisi.path("m.mlir").write_text(
            "nn.global @m state : tensor<4xf32> zero\n"
            f"func.func @f(%x: tensor<4xf32>) -> {result} {{\n {body} \n}}")
        error = divisi("plan", "m.mlir", *pipeline(1, 2), "-o", "p.mlir",
                       exits=CONTENT).err
        assert message in error, error


def test_bodies_run_where_their_loop_stands(divisi):
    """On the stage of the loop, whatever that is."""
    random = np.random.default_rng(0)

    def weight(name):
        return numpy_helper.from_array(
            random.standard_normal((16, 16)).astype(np.float32) / 4, name)

    def value(name, kind=TensorProto.FLOAT, dims=(4, 16)):
        return helper.make_tensor_value_info(name, kind, dims)
    body = helper.make_graph(
        [helper.make_node("MatMul", ["s", "v"], ["p"]),
         helper.make_node("Tanh", ["p"], ["s2"]),
         helper.make_node("Identity", ["c"], ["c2"])], "body",
        [value("i", TensorProto.INT64, ()), value("c", TensorProto.BOOL, ()),
         value("s")], [value("c2", TensorProto.BOOL, ()), value("s2")])
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "a"], ["h"], "first"),
         helper.make_node("Relu", ["h"], ["r"], "second"),
         helper.make_node("Loop", ["n", "k", "r"], ["l"], "loop", body=body),
         helper.make_node("MatMul", ["l", "b"], ["y"], "last")], "graph",
        [value("x")], [value("y")],
        [weight("a"), weight("b"), weight("v"),
         numpy_helper.from_array(np.int64(40), "n"),
         numpy_helper.from_array(np.bool_(True), "k")])
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)]), divisi.path("loop.onnx"))
    for devices, stages in (2, 2), (4, 2), (3, 3):
        assert "equal" in divisi("check", "loop.onnx", "--devices", devices,
                                 *pipeline(stages)).out
