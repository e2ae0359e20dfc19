"""Changes of partitioned modules are refused, or change nothing: what is
accepted gives what the unpartitioned model gives, in the third run, too.
"""

import random

import numpy as np
import pytest
from conftest import assert_close, load, model
from dump_mutations import Mutator
from loop_programs import lstm, lstm_tensors
from quantized_models import MODELS
from share import sample_size
from train_steps import Step
from written_programs import write_program

PLAN = ("--cluster", "cpu:4", "--mesh", "2x2", "--solver", "random")


def shipped(name, *options):
    def prepare(divisi):
        found = model(name)
        divisi.path("m.onnx").write_bytes(found.onnx.read_bytes())
        divisi.path("in.npz").write_bytes(found.inputs.read_bytes())
        return ("m.onnx", "--shapes-from", "in.npz", *options)
    return prepare


def quantized(name):
    def prepare(divisi):
        shape = MODELS[name](divisi.path("m.onnx"))
        x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
        np.savez(divisi.path("in.npz"), x=x)
        return ("m.onnx",)
    return prepare


def loop(divisi):
    w, r, x = lstm_tensors()
    divisi.path("weights.bin").write_bytes(w.tobytes() + r.tobytes())
    write_program(divisi.path("m.mlir"), lstm(4, False))
    np.savez(divisi.path("in.npz"), x=x)
    return ("m.mlir",)


def training(divisi):
    Step(8, 8, 2).write(divisi.folder)
    divisi.path("step.mlir").rename(divisi.path("m.mlir"))
    divisi.path("x.npz").rename(divisi.path("in.npz"))
    return ("m.mlir",)


PROGRAMS = {
    "bert": shipped("bert"), "bf16": shipped("bert", "--precision", "bf16"),
    "t5": shipped("t5"), "resnet": shipped("resnet"),
    "segformer": shipped("segformer"), "llama": shipped("llama"),
    "cnn": quantized("cnn"), "attention": quantized("attention"),
    "dynamic": quantized("dynamic"), "loop": loop, "training": training,
}
# Of each program and stage, in a sweep.
DRAWN = 100


def outputs(divisi, artifact):
    """What it gives in its second run, in which states have changed; None if
    it does not run."""
    done = divisi("run", artifact, "--inputs", "in.npz", "--repeat", 3,
                  "--timeout", 20000, "-o", "out.npz", exits=None)
    return load(divisi.path("out.npz")) if done.code == 0 else None


def close(got, expected):
    try:
        assert_close(got, expected)
    except AssertionError:
        return False
    return True


@pytest.mark.sample()
@pytest.mark.parametrize("stage", ["partition", "schedule"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_accepted_computes_the_same(divisi, program, stage):
    source = PROGRAMS[program](divisi)
    divisi("compile", *source, "--devices", 1, "-o", "one.divisi")
    expected = outputs(divisi, "one.divisi")
    number = list(PROGRAMS).index(program)
    divisi("compile", *source, *PLAN, "--seed", number, "--dump-after", stage,
           "--dump-to", ".", "-o", "m.divisi")
    unchanged = outputs(divisi, "m.divisi")
    assert unchanged.keys() == expected.keys()
    text = divisi.path(f"m.{stage}.mlir").read_text()
    mutator = Mutator(text)
    wrong, tally = [], {"refused": 0, "accepted": 0}
    draws = random.Random(f"{program} {stage}")
    count = sample_size(DRAWN)
    while sum(tally.values()) + len(wrong) < count:
        drawn = mutator.draw(draws)
        if drawn is None:
            continue
        what, changed = drawn
        divisi.path("c.mlir").write_text(changed)
        done = divisi("compile", "c.mlir", "-o", "c.divisi", exits=None)
        assert 0 <= done.code < 20, done.report(f"ended badly: {what}")
        if done.code != 0:
            tally["refused"] += 1
            continue
        got = outputs(divisi, "c.divisi")
        if got is None or not (close(got, expected) or close(got, unchanged)):
            wrong.append(what)
        else:
            tally["accepted"] += 1
    print(f"{program} after {stage}: {tally}, wrong {len(wrong)}")
    assert not wrong, "\n\n".join(wrong)
