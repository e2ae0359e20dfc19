"""Training steps that are derived from models: what they compute, how they are
made, and what is said where none can be."""

import json
import re
import sys

import numpy as np
import onnx
import pytest
from conftest import ROOT, model
from onnx import TensorProto, helper
from share import is_sweep
from trained_models import (
    EXPECTED,
    FROZEN,
    NAMES,
    RATES,
    STEPS,
    Trained,
    along,
    norm,
)

sys.path.insert(0, str(ROOT / "python"))
import divisi as package  # noqa: E402

pytestmark = pytest.mark.as_written

USAGE, CONTENT = 2, 4
STEP = ("--train", "--loss", "mse", "--optimizer", "sgd", "--lr", 0.1)


@pytest.mark.sample("optimizer", slow=True, first=True)
@pytest.mark.parametrize("devices", [3, 1, 2, 4])
@pytest.mark.parametrize("optimizer", RATES)
@pytest.mark.parametrize("name", NAMES)
def test_steps_are_those_of_pytorch(divisi, name, optimizer, devices):
    case = Trained(name, optimizer)
    divisi("compile", case.onnx, *case.flags(), "--devices", devices, "-o",
           "m.divisi")
    check_steps(divisi.path("m.divisi"), case)


def check_steps(artifact, case):
    """That steps of `artifact` are those of PyTorch: f64 decides; where
    PyTorch's f32 is further from it, so may we be."""
    expected = json.loads(EXPECTED.read_text())[case.name][case.optimizer]
    session = package.Session(package.load(artifact))
    names = expected["weights"] | expected["statistics"]
    before = {n: np.array(session.state[n]) for n in names}
    data = case.data()
    losses = [float(session.run(data)["loss"]) for _ in range(STEPS)]
    ways = {n: np.array(session.state[n]) - before[n] for n in names}
    allowed = {kind: max(least, 1.5 * expected["f32_misses"][kind])
               for kind, least in (("losses", 1e-4), ("weights", 1e-3))}
    # What is near 0 is not more exact than what it began with.
    np.testing.assert_allclose(losses, expected["losses"],
                               rtol=allowed["losses"], atol=1e-5 * losses[0])
    for kind in ("weights", "statistics"):
        rows = expected[kind]
        total = norm([length for length, _ in rows.values()])
        for weight, (length, _) in rows.items():
            miss = abs(norm(ways[weight]) - length)
            assert miss <= allowed["weights"] * total, weight
        miss = norm([along(ways[n], n) - part for n, (_, part) in rows.items()])
        assert miss <= allowed["weights"] * total


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("precision", ["bf16", "f16"])
@pytest.mark.parametrize("name", ["gpt2", "bert", "vit"])
def test_mixed_precision_keeps_masters(divisi, name, precision):
    """Weights and states are f32, and steps go where those of f64 go."""
    case = Trained(name, "adamw")
    text = divisi("compile", case.onnx, *case.flags(), "--precision", precision,
                  "--dump-after", "train", "-o", "-").out
    for global_type in re.findall(r"nn\.global .* (?:parameter|state) : (\S+)",
                                  text):
        assert re.search(r"f32>|tensor<f64>", global_type), global_type
    kinds = set(re.findall(r"nn\.(\w+) [^\n]*-> tensor<[^>]*" + precision,
                           text))
    assert not kinds & {"softmax", "normalize", "reduce", "log"}, kinds
    assert ("skipped" in text) == (precision == "f16")
    divisi("compile", case.onnx, *case.flags(), "--precision", precision,
           "--devices", 2, "-o", "m.divisi")
    expected = json.loads(EXPECTED.read_text())[name]["adamw"]
    session = package.Session(package.load(divisi.path("m.divisi")))
    before = {n: np.array(session.state[n]) for n in expected["weights"]}
    results = [session.run(case.data()) for _ in range(STEPS)]
    np.testing.assert_allclose([float(r["loss"]) for r in results],
                               expected["losses"], rtol=0.02)
    assert not any(r.get("skipped", False) for r in results)
    total = norm([length for length, _ in expected["weights"].values()])
    miss = norm([along(np.array(session.state[n]) - before[n], n) - part
                 for n, (_, part) in expected["weights"].items()])
    assert miss < 0.1 * total


@pytest.mark.whole
def test_scales_that_are_too_large_shrink(divisi):
    """A step whose gradients overflow is none; the next has half the scale."""
    case = Trained("gpt2", "adamw")
    divisi("compile", case.onnx, *case.flags(), "--precision", "f16",
           "--loss-scale", 2 ** 30, "--devices", 2, "-o", "m.divisi")
    session = package.Session(package.load(divisi.path("m.divisi")))
    results = [session.run(case.data()) for _ in range(14)]
    skipped = [bool(r["skipped"]) for r in results]
    count = skipped.index(False)
    assert 5 < count < 12 and not any(skipped[count:])
    losses = [float(r["loss"]) for r in results]
    assert len(set(losses[:count + 1])) == 1
    assert losses[count:] == sorted(losses[count:], reverse=True)
    assert float(session.state["optimizer.scale_exponent"]) == -count
    assert float(session.state["optimizer.steps"]) == 14 - count


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("devices", [3, 1])
@pytest.mark.parametrize("count", [8, 4])
@pytest.mark.parametrize("name", ["gpt2", "bert", "vit"])
def test_micro_batches_are_one_batch(divisi, name, count, devices):
    """With a label that does not count."""
    case = Trained(name, "sgd")
    shapes = np.load(case.onnx.with_suffix(".inputs.npz"))
    np.savez(divisi.path("part.npz"),
             **{k: v[:len(v) // count] for k, v in shapes.items()})
    divisi("compile", case.onnx, *case.flags()[2:], "--shapes-from", "part.npz",
           "--micro-batches", count, "--pipeline-parallel-size", 1, "--devices",
           devices, "-o", "m.divisi")
    check_steps(divisi.path("m.divisi"), case)


@pytest.mark.sample(slow=True)
@pytest.mark.parametrize("count", [3, 40])
def test_running_statistics_follow_micro_batches(divisi, count):
    """One after the other, written out or as a loop, as a step of each would have
    left them."""
    flags = ("--train", "--loss", "cross_entropy", "--optimizer", "sgd", "--lr",
             0)
    onnx_file = Trained("residual", "sgd").onnx
    divisi("compile", onnx_file, *flags, "-o", "one.divisi")
    divisi("compile", onnx_file, *flags, "--micro-batches", count,
           "--pipeline-parallel-size", 1, "--devices", 2, "-o", "all.divisi")
    random = np.random.default_rng(1)
    images = random.standard_normal((8 * count, 3, 16, 16)).astype(np.float32)
    data = {"images": images, "labels": random.integers(0, 10, 8 * count)}
    one, whole = (package.Session(package.load(divisi.path(f"{name}.divisi")))
                  for name in ("one", "all"))
    losses = [float(one.run({k: v[i:i + 8] for k, v in data.items()})["loss"])
              for i in range(0, 8 * count, 8)]
    np.testing.assert_allclose(whole.run(data)["loss"], np.mean(losses), 1e-5)
    for name in ("norm.running_mean", "blocks.1.second_norm.running_var"):
        np.testing.assert_allclose(whole.state[name], one.state[name], 1e-5,
                                   1e-6)


@pytest.mark.whole
def test_artifacts_do_not_grow_with_micro_batches(divisi):
    case = Trained("gpt2", "adamw")
    sizes = []
    for count in (36, 128):
        divisi("compile", case.onnx, *case.flags(), "--micro-batches", count,
               "--pipeline-parallel-size", 1, "--devices", 2, "-o",
               "m.divisi")
        sizes.append(divisi.path("m.divisi").stat().st_size)
    assert abs(sizes[1] - sizes[0]) < sizes[0] / 50


@pytest.mark.sample()
@pytest.mark.parametrize("name", NAMES)
def test_weights_are_those_that_pytorch_trains(divisi, name):
    """All that require gradients where the model was exported."""
    case = Trained(name, "sgd")
    said = divisi("compile", case.onnx, *case.flags(), "--dump-after", "train",
                  "-o", "-")
    text, note = said.out, said.err
    updated = re.findall(r"nn\.update @\"?([\w.:]+?)\"?, ", text)
    weights = {n for n in updated if not n.endswith(".momentum")}
    expected = json.loads(EXPECTED.read_text())[name]["sgd"]
    assert weights == set(expected["weights"]) | set(expected["statistics"])
    assert f"training {len(expected['weights'])} weights of" in note
    follow = "running statistics, which follow the batches" in note
    assert follow == bool(expected["statistics"])
    assert (name == "resnet") == (
        "; the exporter has folded 29 batch norms into convolutions ("
        "'m.resnet.embedder.embedder.convolution.weight_bias'), where they are "
        "trained no more: export in training mode to keep them" in note)
    for frozen in FROZEN.get(name, []):
        assert f"not '{frozen}' (angles of positions)" in note


def test_dumps_are_resumed(divisi):
    """The note of a module before the stage says what it does."""
    case = Trained("gpt2", "sgd")
    divisi("compile", case.onnx, *case.flags(), "--rewrite", "off",
           "--dump-after", "all", "-o", "m.divisi")
    expected = divisi.path("m.divisi").read_bytes()
    for stage in ("import", "train"):
        divisi("compile", f"gpt2.{stage}.mlir", "--data", case.onnx,
               "--rewrite", "off", "-o", "again.divisi")
        assert divisi.path("again.divisi").read_bytes() == expected, stage
    dump = divisi.path("gpt2.import.mlir")
    dump.write_text(dump.read_text().replace("optimizer = ", "optimiser = "))
    assert ("divisi.train has no 'optimizer' such as --train writes" in
            divisi("compile", dump, "--data", case.onnx, "-o", "again.divisi",
                   exits=CONTENT).err)


def test_frozen_weights_have_no_gradients(divisi):
    """In front of the first that is trained nothing goes back."""
    case = Trained("gpt2", "sgd")
    text = divisi("compile", case.onnx, *case.flags(), "--train-only",
                  "*.h.1.mlp.*", "--freeze", "*.bias", "--dump-after", "train",
                  "-o", "-").out
    updated = {n for n in re.findall(r"nn\.update @([\w.]+), ", text)
               if not n.endswith(".derived")}
    names = {f"m.transformer.h.1.mlp.c_{part}.weight"
             for part in ("fc", "proj")}
    assert updated == names | {n + ".momentum" for n in names}
    # Of the forward pass without attention of its own in the way back.
    assert "softmax" not in text.split("return")[0].split("loss")[-1]
    gradients = set(re.findall(r'loc\("([^"]*)\.grad"', text))
    full = divisi("compile", case.onnx, *case.flags(), "--dump-after", "train",
                  "-o", "-").out
    assert len(gradients) < len(set(re.findall(r'loc\("([^"]*)\.grad"',
                                               full))) / 3


@pytest.mark.sample("name")
@pytest.mark.parametrize("name", ["resnet", "gpt2"])
def test_nothing_trained_is_folded(divisi, name):
    """What is computed of weights alone is computed in each step."""
    case = Trained(name, "sgd")
    text = divisi("compile", case.onnx, *case.flags(), "--rewrite", "greedy",
                  "--dump-after", "rewrite", "-o", "-").out
    assert "derived" not in text and "nn.update" in text


def with_loss(divisi, name, nodes):
    """A linear layer, and what computes its loss if there are `nodes`."""
    random = np.random.default_rng(0)
    weight = random.standard_normal((6, 5)).astype(np.float32)
    floats, labels = TensorProto.FLOAT, TensorProto.INT64
    inputs = [helper.make_tensor_value_info("x", floats, [4, 6])]
    if nodes:
        inputs.append(helper.make_tensor_value_info("labels", labels, [4]))
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"]), *nodes], "g", inputs,
        [helper.make_tensor_value_info("loss", floats, []) if nodes else
         helper.make_tensor_value_info("y", floats, [4, 5])],
        [onnx.numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 18)]), divisi.path(f"{name}.onnx"))
    divisi("compile", f"{name}.onnx", "--train", "--loss",
           "output" if nodes else "cross_entropy", "--optimizer", "sgd", "--lr",
           0.1, "--devices", 2, "-o", f"{name}.divisi")
    data = {"x": random.standard_normal((4, 6)).astype(np.float32),
            "labels": np.array([1, -100, 4, 0])}
    session = package.Session(package.load(divisi.path(f"{name}.divisi")))
    losses = [float(session.run(data)["loss"]) for _ in range(3)]
    return losses, np.array(session.state["w"])


def test_losses_of_models_are_those_of_the_option(divisi):
    node = helper.make_node
    expected = with_loss(divisi, "none", [])
    for name, nodes in {
            "whole": [node("SoftmaxCrossEntropyLoss", ["y", "labels"], ["loss"],
                           ignore_index=-100)],
            "parts": [node("LogSoftmax", ["y"], ["p"], axis=1),
                      node("NegativeLogLikelihoodLoss", ["p", "labels"],
                           ["loss"], ignore_index=-100)]}.items():
        losses, weight = with_loss(divisi, name, nodes)
        np.testing.assert_allclose(losses, expected[0], rtol=1e-5)
        np.testing.assert_allclose(weight, expected[1], 1e-5, 1e-6)


@pytest.mark.parametrize("name", ["", "mean"])
def test_what_nodes_hold_is_not_trained(divisi, name):
    """PyTorch's exporter writes parameters as initializers, constants as nodes."""
    mean = onnx.numpy_helper.from_array(np.arange(6, dtype=np.float32) / 6, name)
    weight = onnx.numpy_helper.from_array(
        np.arange(30, dtype=np.float32).reshape(6, 5) / 30, "w")
    floats = TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Constant", [], ["c"], value=mean),
         helper.make_node("Sub", ["x", "c"], ["d"]),
         helper.make_node("MatMul", ["d", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", floats, [4, 6])],
        [helper.make_tensor_value_info("y", floats, [4, 5])], [weight])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 18)]), divisi.path("m.onnx"))
    said = divisi("compile", "m.onnx", "--train", "--loss", "mse", "--optimizer",
                  "sgd", "--lr", 0.1, "-o", "m.divisi").err
    assert "training 1 weights of 30 elements" in said, said


def philox(places, key, count):
    """Of each place, the upper 24 bits as nn.random has them in stream 0."""
    block = places // 4
    words = [block & 0xffffffff, block >> 32, 0 * block, 0 * block + count]
    low, high = key & 0xffffffff, key >> 32
    for _ in range(10):
        a, b = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [b >> 32 ^ words[1] ^ low, b & 0xffffffff,
                 a >> 32 ^ words[3] ^ high, a & 0xffffffff]
        low, high = (low + 0x9E3779B9) % 2**32, (high + 0xBB67AE85) % 2**32
    return np.choose((places % 4).astype(int), words) >> 8


def dropping(divisi, shape, ratio):
    """A model whose loss is the sum of its weight, of which it drops a part."""
    floats = TensorProto.FLOAT
    node = helper.make_node
    graph = helper.make_graph(
        [node("Mul", ["x", "w"], ["z"]),
         node("Dropout", ["z", "ratio", "trains"], ["y"]),
         node("ReduceSum", ["y"], ["loss"], keepdims=0)], "g",
        [helper.make_tensor_value_info("x", floats, shape)],
        [helper.make_tensor_value_info("loss", floats, [])],
        [onnx.numpy_helper.from_array(value, name) for name, value in {
            "w": np.zeros(shape, np.float32), "ratio": np.float32(ratio),
            "trains": np.array(True)}.items()])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 18)]), divisi.path("m.onnx"))


@pytest.mark.sample(slow=True)
@pytest.mark.parametrize("devices", [3, 1, 2, 4])
def test_dropout_is_the_same_on_any_devices(divisi, devices):
    """Bit for bit, as Philox says that it is."""
    shape, ratio, seed = (7, 9, 5), 0.25, 3 << 32 | 5
    dropping(divisi, shape, ratio)
    divisi("compile", "m.onnx", "--train", "--loss", "output", "--optimizer",
           "sgd", "--lr", 1, "--dropout-seed", seed, "--devices", devices,
           "--data-parallel-size", devices, "-o", "m.divisi")
    session = package.Session(package.load(divisi.path("m.divisi")))
    before = np.zeros(shape, np.float32)
    places = np.arange(before.size, dtype=np.uint64).reshape(shape)
    for step in range(3):
        session.run({"x": np.ones(shape, np.float32)})
        after = np.array(session.state["w"])
        kept = philox(places, seed, step) >= ratio * 2**24
        np.testing.assert_allclose(before - after, kept / (1 - ratio), 1e-6)
        before = after


def test_dropout_is_for_training(divisi):
    dropping(divisi, (4, 4), 0.5)
    assert ("it is in training mode; export the model for inference, or make a "
            "training step by --train" in
            divisi("compile", "m.onnx", "-o", "m.divisi", exits=5).err)
    dropping(divisi, (4, 4), 1)
    assert "its ratio is 1.000000, expected 0 to 1" in divisi(
        "compile", "m.onnx", *STEP, "-o", "m.divisi", exits=CONTENT).err


@pytest.mark.sample()
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("devices", [2, 1, 3])
def test_a_rate_that_is_given_to_each_step(divisi, optimizer, devices):
    """As one that the step knows; AdamW's decay and bias depend on it, too."""
    m = model("vit")
    known = ("--lr", 0.01, "--lr-schedule", "linear", "--lr-warmup", 2,
             "--lr-steps", 5)
    rates = [0.01 * factor for factor in (0, 1 / 2, 1, 2 / 3, 1 / 3, 0)]
    trained = {each.name for each in onnx.load(m.onnx).graph.initializer
               if each.data_type == TensorProto.FLOAT}
    weights = {}
    for name, flags in {"known": known,
                        "given": ("--lr-schedule", "input")}.items():
        divisi("compile", m.onnx, *m.shapes, "--train", "--loss", "mse",
               "--optimizer", optimizer, *flags, "--devices", devices, "-o",
               f"{name}.divisi")
        artifact = package.load(divisi.path(f"{name}.divisi"))
        data = {each.name: np.ones(each.shape, np.float32)
                for each in artifact.entry().inputs if each.name != "lr"}
        data |= dict(np.load(m.inputs))
        session = package.Session(artifact)
        before = {n: np.array(session.state[n]) for n in session.state
                  if n in trained}
        for rate in rates:
            session.run(data | ({"lr": rate} if name == "given" else {}))
        weights[name] = {n: np.array(session.state[n]) for n in before}
    assert sum((value != before[key]).any()
               for key, value in weights["given"].items()) > 20
    for key, value in weights["given"].items():
        np.testing.assert_allclose(value, weights["known"][key], 1e-6, 1e-9)


def test_labels_without_a_class_end_the_run(divisi):
    case = Trained("vit", "sgd")
    # Shapes come from what the step is run with, which has labels, too.
    np.savez(divisi.path("x.npz"), **case.data())
    divisi("compile", case.onnx, *case.flags()[2:], "--shapes-from", "x.npz",
           "-o", "m.divisi")
    for label in (10, -1)[:1 + is_sweep()]:
        data = case.data()
        data["labels"][0] = label
        np.savez(divisi.path("x.npz"), **data)
        error = divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz",
                       exits=CONTENT).err
        assert "index" in error, error
