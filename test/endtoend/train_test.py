"""Training steps that are derived from models: what they compute, how they are
made, and what is said where none can be."""

import json
import re
import sys

import numpy as np
import pytest
from conftest import ROOT, model
from share import is_sweep
from trained_models import EXPECTED, FROZEN, NAMES, RATES, STEPS, Trained, norm

sys.path.insert(0, str(ROOT / "python"))
import divisi as package  # noqa: E402

USAGE, CONTENT = 2, 4
# Until the first rounding that decides what a ReLU lets through: from there on
# PyTorch in f32 is as far from f64.
EXACT_STEPS = {"resnet": 5}
STEP = ("--train", "--loss", "mse", "--optimizer", "sgd", "--lr", 0.1)


@pytest.mark.sample("optimizer", slow=True, first=True)
@pytest.mark.parametrize("devices", [3, 1, 2, 4])
@pytest.mark.parametrize("optimizer", RATES)
@pytest.mark.parametrize("name", NAMES)
def test_steps_are_those_of_pytorch(divisi, name, optimizer, devices):
    case = Trained(name, optimizer)
    divisi("compile", case.onnx, *case.flags(), "--devices", devices, "-o",
           "m.divisi")
    expected = json.loads(EXPECTED.read_text())[name][optimizer]
    session = package.Session(package.load(divisi.path("m.divisi")))
    weights = {n: np.array(session.state[n]) for n in expected["moved"]}
    data = case.data()
    losses = [float(session.run(data)["loss"]) for _ in range(STEPS)]
    exact = EXACT_STEPS.get(name, STEPS)
    # What is near 0 is not more exact than what it began with.
    for part, tolerance in (slice(exact), 1e-4), (slice(exact, STEPS), 2e-2):
        np.testing.assert_allclose(losses[part], expected["losses"][part],
                                   rtol=tolerance, atol=1e-5 * losses[0])
    total = np.sqrt(sum(m * m for m in expected["moved"].values()))
    for weight, moved in expected["moved"].items():
        found = norm(np.array(session.state[weight]) - weights[weight])
        assert abs(found - moved) <= 3e-3 * total, weight


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
    expected = json.loads(EXPECTED.read_text())[name]["sgd"]["moved"]
    assert weights == set(expected)
    assert f"training {len(expected)} weights of" in note
    for frozen in FROZEN.get(name, []):
        assert f"not '{frozen}' (angles of positions)" in note


def test_dumps_are_resumed(divisi):
    """The note of a module before the stage says what it does."""
    case = Trained("gpt2", "sgd")
    divisi("compile", case.onnx, *case.flags(), "--dump-after", "all", "-o",
           "m.divisi")
    expected = divisi.path("m.divisi").read_bytes()
    for stage in ("import", "train"):
        divisi("compile", f"gpt2.{stage}.mlir", "--data", case.onnx, "-o",
               "again.divisi")
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


LOSSES = [
    ([], "--train needs --loss; give both"),
    (["--loss", "mse"], "--train needs --optimizer; give both"),
    (["--loss", "mse", "--optimizer", "sgd"], "--train needs --lr; give both"),
    (["--loss", "hinge", "--optimizer", "sgd", "--lr", 1],
     "--loss 'hinge': expected one of cross_entropy, mse, l1, bce, kl, "
     "output"),
    (["--loss", "mse", "--optimizer", "lion", "--lr", 1],
     "--optimizer 'lion': expected one of sgd, adam, adamw"),
    (["--loss", "mse", "--optimizer", "sgd", "--lr", -1],
     "--lr -1: expected a number from 0 on"),
    ([*STEP[1:], "--momentum", 1],
     "--momentum 1: expected a number from 0, below 1"),
    ([*STEP[1:], "--nesterov"],
     "--nesterov is for --optimizer sgd with --momentum"),
    (["--loss", "mse", "--optimizer", "adam", "--lr", 1, "--momentum", 0.5],
     "--momentum is for --optimizer sgd"),
    ([*STEP[1:], "--beta1", 0.8], "--beta1 is for --optimizer adam or adamw"),
    ([*STEP[1:], "--shift-labels"],
     "--shift-labels is for --loss cross_entropy"),
    ([*STEP[1:], "--no-decay", "*"],
     "--no-decay is for a --weight-decay above 0"),
    (["--loss", "output", "--labels", "t", *STEP[3:]],
     "--labels is for losses of labels, not --loss output"),
    ([*STEP[1:], "--loss-of", "lost"],
     "--loss-of 'lost': the model has no such output; it has logits"),
    ([*STEP[1:], "--train-only", "lost"],
     "--train-only names 'lost', and no weight of the model is called so"),
    ([*STEP[1:], "--freeze", "*"],
     "--train: the model has no weight to train; training 0 weights"),
]


@pytest.mark.parametrize("flags, message", LOSSES,
                         ids=[row[1][:40] for row in LOSSES])
def test_options_that_say_no_step(divisi, flags, message):
    m = model("vit")
    result = divisi("compile", m.onnx, *m.shapes, "--train", *flags, "-o", "o",
                    exits=USAGE)
    assert f"divisi: error: {message}" in result.err, result.err


def test_options_of_training_alone(divisi):
    m = model("vit")
    assert "--lr needs --train; give both" in divisi(
        "compile", m.onnx, *m.shapes, "--lr", 1, "-o", "o", exits=USAGE).err


NO_STEPS = [
    ("gpt2", ["--labels", "input_ids"],
     "has an input 'input_ids' already; give --labels another name"),
    ("gpt2", ["--loss", "output"],
     "for its loss, expected one number; --loss-of names the output"),
    ("vit", ["--loss", "cross_entropy", "--shift-labels"],
     "has no positions between batch and classes in its output"),
]


@pytest.mark.parametrize("name, flags, message", NO_STEPS)
def test_models_that_do_not_fit(divisi, name, flags, message):
    m = model(name)
    line = [flag for flag in STEP if "--loss" not in flags
            or flag not in ("--loss", "mse")]
    result = divisi("compile", m.onnx, *m.shapes, *line, *flags, "-o", "o",
                    exits=CONTENT)
    assert message in result.err, result.err


def test_labels_without_a_class_end_the_run(divisi):
    case = Trained("vit", "sgd")
    divisi("compile", case.onnx, *case.flags(), "-o", "m.divisi")
    for label in (10, -1)[:1 + is_sweep()]:
        data = case.data()
        data["labels"][0] = label
        np.savez(divisi.path("x.npz"), **data)
        error = divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz",
                       exits=CONTENT).err
        assert "index" in error, error
