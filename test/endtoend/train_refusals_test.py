"""What is said where options make no training step, or do not fit the model."""

import pytest
import quantized_models
from conftest import model
from train_test import CONTENT, STEP, USAGE


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
    ([*STEP[1:], "--lr-schedule", "steps"],
     "--lr-schedule 'steps': expected one of constant, linear, cosine, input"),
    ([*STEP[1:], "--lr-schedule", "input"],
     "--lr is for --lr-schedule constant, linear or cosine"),
    ([*STEP[1:-2], "--lr-schedule", "input", "--lr-warmup", 4],
     "--lr-warmup is for --lr-schedule constant, linear or cosine"),
    ([*STEP[1:-2], "--lr-schedule", "input", "--lr-steps", 4],
     "--lr-steps is for --lr-schedule linear or cosine"),
    ([*STEP[1:], "--lr-schedule", "linear", "--lr-warmup", 4, "--lr-steps", 4],
     "--lr-schedule linear needs --lr-steps, the step at which the rate has "
     "fallen to 0, above --lr-warmup 4; got 4"),
    ([*STEP[1:], "--lr-steps", 4],
     "--lr-steps is for --lr-schedule linear or cosine"),
    ([*STEP[1:], "--micro-batches", 0],
     "--micro-batches 0: expected a number from 1 to 1048575"),
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
    ("gpt2", ["--labels", "input_ids", "--shape", "input_ids=8x16"],
     "has an input 'input_ids' already; give --labels another name"),
    ("gpt2", ["--labels", "lr", "--lr-schedule", "input"],
     "has an input 'lr' already; rename it, or take another --lr-schedule"),
    ("gpt2", ["--loss", "output"],
     "for its loss, expected one number; --loss-of names the output"),
    ("vit", ["--loss", "cross_entropy", "--shift-labels"],
     "has no positions between batch and classes in its output"),
]


@pytest.mark.parametrize("name, flags, message", NO_STEPS)
def test_models_that_do_not_fit(divisi, name, flags, message):
    m = model(name)
    left = ["--loss", "mse"] if "--loss" in flags else []
    left += ["--lr", 0.1] if "--lr-schedule" in flags else []
    line = [flag for flag in STEP if flag not in left]
    result = divisi("compile", m.onnx, *m.shapes, *line, *flags, "-o", "o",
                    exits=CONTENT)
    assert message in result.err, result.err


@pytest.mark.parametrize("name, exits, message", [
    ("cnn", CONTENT, "is of a quantized model, whose codes do not change "
     "smoothly: train the model as it was before"),
    ("attention", USAGE, "; it is quantized: train it as it was before")])
def test_quantized_models_are_not_trained(divisi, name, exits, message):
    quantized_models.MODELS[name](divisi.path("m.onnx"))
    assert message in divisi("compile", "m.onnx", *STEP, "-o", "o",
                             exits=exits).err
