"""What cuda_test.py does for models, for programs with state and several grids,
in bf16, of a GPT-2 of its real size, and in many more interleavings."""

import json

import numpy as np
import pytest
from conftest import assert_close, load, model
from cuda_test import (DEVICE, EMULATOR, GPU, HAS_CONVOLUTIONS, HAS_PRODUCTS,
                       MODELS, PLANS, emulator,
                       leave_out_later_waits)
from plans_test import by_rows
from programs_test import batch, forward, program, train
from quantized_models import MODELS as QUANTIZED
from share import sample_size
from train_steps import Step

pytestmark = pytest.mark.as_written

__all__ = ["program"]
DEVICES = [1, 2, 4]
# Runs of a process, of which each is another interleaving.
INTERLEAVINGS = sample_size(50)


@pytest.fixture(autouse=True)
def _needs_emulator(divisi, monkeypatch):
    if not (EMULATOR / "libcuda.so.1").exists():
        pytest.skip("the build found no cuda.h")
    # Where the user's key is, which says whose code is run.
    monkeypatch.setenv("XDG_DATA_HOME", str(divisi.path("user")))


def compile_program(divisi, path, *flags):
    divisi("compile", path, *flags, *GPU, "-o", "g.divisi")


def run(divisi, *flags, seed=1, **tensors):
    """The outputs; something was done by GPUs, and nothing wrong."""
    np.savez(divisi.path("in.npz"), **tensors)
    result = divisi("run", "g.divisi", "--inputs", "in.npz", "--verbose", "-o",
                    "out.npz", *flags, env=emulator(seed=seed))
    assert "by kernels of 'cuda': " in result.err
    assert "emulator: " not in result.err
    for line in result.err.splitlines():
        if "'cuda'" not in line and " runs " in line:
            assert "nn.matmul" not in line and "nn.conv" not in line
    return load(divisi.path("out.npz"))


def test_sums_travel_in_bf16(divisi):
    m = model("gpt2")
    compile_program(divisi, m.onnx, *m.shapes, "--devices", 4,
                    "--tensor-parallel-size", 4, "--precision", "bf16",
                    "--reduce-precision", "bf16")
    [got], [expected] = (tensors.values() for tensors in (
        run(divisi, **load(m.inputs)), load(m.outputs)))
    # The tolerance of check for what is computed in bf16.
    assert np.abs(got - expected).max() <= 2**-6 * np.abs(expected).max()


@pytest.mark.parametrize("devices", DEVICES)
def test_training_steps(divisi, program, devices):
    path = divisi.path(program("train_step.mlir"))
    path.write_text(path.read_text().replace("x = 4", f"x = {devices}"))
    compile_program(divisi, path, "--devices", devices)
    x, t = batch(8)
    losses = train(x, t, program.w1, program.w2, 5)
    got = run(divisi, "--repeat", 5, x=x, t=t)
    assert_close(got, {"loss": np.array(losses[-1], np.float32)})


@pytest.mark.parametrize("flags", [
    ("--devices", 1), ("--devices", 2), ("--data-parallel-size", 4),
    ("--devices", 4, "--solver", "random", "--seed", 5)])
def test_training_steps_with_adam(divisi, flags):
    step = Step(batch=12, width=20, layers=2)
    step.write(divisi.folder)
    compile_program(divisi, "step.mlir", *flags)
    x, t = step.batch_of_data()
    losses = step.losses(3)
    got = run(divisi, "--repeat", 3, x=x, t=t)
    assert_close(got, {"loss": np.array(losses[2], np.float32)})


# Gradients of attention are kernels of GPUs, and nothing is written as products.
@pytest.mark.sample("name", "flags")
@pytest.mark.parametrize("flags", [
    ("--devices", 1), ("--devices", 3), ("--tensor-parallel-size", 2),
    ("--data-parallel-size", 2)])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_training_steps_with_attention(divisi, name, flags):
    m = model(name)
    step = [m.onnx, *m.shapes, "--train", "--loss", "cross_entropy",
            "--optimizer", "sgd", "--lr", 0.1]
    compile_program(divisi, *step, *flags, "--dump-after", "lower",
                    "--dump-to", ".")
    [lowered] = divisi.folder.glob("*lower*.mlir")
    assert "nn.attention_gradient" in lowered.read_text()
    divisi("compile", *step, "--devices", 1, "-o", "h.divisi")
    given = load(m.inputs)
    given["labels"] = next(iter(given.values())) % 7
    got = run(divisi, "--repeat", 3, **given)
    divisi("run", "h.divisi", "--inputs", "in.npz", "--repeat", 3, "-o",
           "host.npz")
    assert_close(got, load(divisi.path("host.npz")))


def test_two_grids(divisi, program):
    compile_program(divisi, program("two_grids.mlir"))
    x, _ = batch(8)
    _, y = forward(x, program.w1, program.w2)
    assert_close(run(divisi, x=x), {"y": -y})


# Products of codes, whose sums are exact; some codes lie between two.
@pytest.mark.sample("name", "plan")
@pytest.mark.parametrize("plan", ["one", "uneven"])
@pytest.mark.parametrize("name", QUANTIZED)
def test_quantized_models(divisi, name, plan):
    shape = QUANTIZED[name](divisi.path("m.onnx"))
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    compile_program(divisi, "m.onnx", *PLANS[plan])
    [got] = run(divisi, x=x).values()
    divisi("compile", "m.onnx", "--devices", 1, "-o", "h.divisi")
    divisi("run", "h.divisi", "--inputs", "in.npz", "-o", "host.npz")
    [want] = load(divisi.path("host.npz")).values()
    assert np.mean(np.abs(got - want) > 1e-5) < .02


@pytest.mark.sample("name", "devices")
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("name", ["gpt2", "llama", "resnet"])
def test_models_in_bf16(divisi, name, devices):
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, "--devices", devices, "--precision",
           "bf16", *GPU, "-o", "g.divisi")
    with np.load(m.inputs) as inputs:
        got = run(divisi, **{key: inputs[key] for key in inputs.files})
    for key, want in load(m.outputs).items():
        error = np.abs(got[key] - want).max() / np.abs(want).max()
        # More exact would mean that nothing was lowered.
        assert 1e-5 < error < 0.05, key


# At the border of two devices a convolution is not padded.
def test_rows_of_images(divisi):
    if not HAS_CONVOLUTIONS:
        pytest.skip("the build found no cudnn_graph.h")
    m = model("resnet")
    divisi("plan", m.onnx, *m.shapes, "--devices", 4, "--data-parallel-size", 4,
           "-o", "p.mlir")
    rows = by_rows(divisi.path("p.mlir").read_text())
    divisi.path("rows.mlir").write_text(rows)
    divisi("compile", "rows.mlir", "--data", m.onnx, *GPU, "-o", "g.divisi")
    with np.load(m.inputs) as inputs:
        got = run(divisi, **{key: inputs[key] for key in inputs.files})
    assert_close(got, load(m.outputs))


# Work like earlier work is not done again: what is asked of these runs is in
# which order they touch what.
@pytest.mark.sample()
@pytest.mark.parametrize("name", MODELS)
def test_no_interleaving_has_a_race(divisi, name):
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, *PLANS["found"], *GPU, "-o",
           "g.divisi")
    result = divisi("run", "g.divisi", "--inputs", m.inputs, "--repeat",
                    INTERLEAVINGS, "--no-index-check", "-o", "out.npz",
                    env=emulator(seed=7, orders=1))
    assert "emulator: " not in result.err
    print(f"counted: interleavings of emulated GPUs without a race: "
          f"{INTERLEAVINGS}")


# The waits of a run, each left out once.
@pytest.mark.parametrize("name", [
    pytest.param("segformer", marks=pytest.mark.whole), "t5"])
def test_waits_that_are_left_out_are_reported(divisi, name):
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, *PLANS["found"], *GPU, "-o",
           "g.divisi")
    reported, implied = leave_out_later_waits(divisi, m.inputs, 8, 2)
    print(f"counted: waits left out of {name}: {reported} reported as races, "
          f"{implied} that others imply")


@pytest.mark.whole
def test_gpt2_of_its_real_size(divisi, generated):
    if not HAS_PRODUCTS:
        pytest.skip("the build found no cublasLt.h")
    m = generated("gpt2.py", "--size", "small", "--seq", 8)
    divisi("compile", m.onnx, *m.shapes, "--devices", 2, *GPU, "-o", "g.divisi")
    divisi("run", "g.divisi", "--inputs", m.inputs, "-o", "out.npz",
           env=emulator(bytes=2 << 30))
    assert_close(load(divisi.path("out.npz")), load(m.outputs))


def test_explain_names_who_does_what(divisi):
    if not HAS_PRODUCTS:
        pytest.skip("the build found no cublasLt.h")
    m = model("gpt2")
    told = divisi("explain", m.onnx, *m.shapes, "--devices", 2, "--gpu",
                  "emulated", "--json")
    kernels = {(kernel["head"], kernel["library"])
               for kernel in json.loads(told.out)["kernels"]
               if kernel["backend"] == "cuda"}
    assert ("nn.attention", "generated") in kernels
    assert ("nn.gather", "generated") in kernels
    products = {library for head, library in kernels if head == "nn.matmul"}
    assert products >= {"cuBLASLt"}
    assert products <= {"cuBLASLt", "cuBLASLt and generated"}
