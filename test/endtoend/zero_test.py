"""ZeRO comes out of a training step by itself: gradients are scattered as they
are summed, the states of the optimizer rest in parts, the updates are split,
and parameters are gathered. Axes for data split the batch where it is, and are
free in the updates, which it does not reach.
"""

import json
import re

import numpy as np
import pytest
from conftest import assert_close, load
from plan_text import Plan
from train_steps import Step

pytestmark = pytest.mark.as_written

DEVICES = 4
# Of three matrices with two states each, 9 MiB, the states would fill this
# alone.
STEP = Step(batch=256, width=512, layers=3)
TIGHT = ("--memory-limit", "6MiB")
FLAGS = {
    "data": ("--data-parallel-size", DEVICES),
    "data-tight": ("--data-parallel-size", DEVICES, *TIGHT),
    "free-tight": ("--devices", DEVICES, *TIGHT),
}


@pytest.fixture
def step(divisi):
    STEP.write(divisi.folder)
    return "step.mlir"


def updates(plan):
    """Operators that make a tensor of a weight's shape, but gradients."""
    square = Step.type([STEP.width] * 2)
    return [op for op in plan.operators
            if op.name != "nn.matmul" and f"-> {square}" in op.line]


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_states_and_updates_are_split_over_all_devices(divisi, step, flags):
    divisi("plan", step, *flags, "-o", "p.mlir")
    plan = Plan(divisi.path("p.mlir").read_text())
    for layer in range(STEP.layers):
        for state in "mv":
            _, dims = plan.places[f"{state}{layer}"]
            assert plan.degree(re.findall(r"\w+", " ".join(dims))) == DEVICES
    assert len(updates(plan)) == 12 * STEP.layers
    for op in updates(plan):
        assert plan.degree(op.used()) == DEVICES, op.line
    facts = json.loads(divisi("explain", "p.mlir", "--json").out)
    weight = 4 * STEP.width**2
    scattered = [c for c in facts["collectives"]
                 if c["kind"] == "reduce_scatter"]
    assert len(scattered) >= STEP.layers
    # The loss is all that every device gets the sum of.
    assert all(c["bytes"] < weight / 100 for c in facts["collectives"]
               if c["kind"] == "all_reduce")


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_steps_compute_what_one_device_computes(divisi, step, flags):
    for name, where in (("one", ("--devices", 1)), ("parts", flags)):
        divisi("compile", step, *where, "-o", "m.divisi")
        divisi("run", "m.divisi", "--inputs", "x.npz", "--repeat", 3,
               "-o", f"{name}.npz")
    losses = STEP.losses(3)
    assert losses[2] < 0.9 * losses[0]
    one, parts = (load(divisi.path(f"{name}.npz"))
                  for name in ("one", "parts"))
    assert_close(one, {"loss": np.array(losses[2], np.float32)})
    assert_close(parts, one)


def test_data_axes_split_the_batch_where_it_is(divisi, step):
    """Fully: the operators of the forward and backward pass take nothing else
    and leave nothing whole."""
    divisi("plan", step, *FLAGS["data"], "-o", "p.mlir")
    plan = Plan(divisi.path("p.mlir").read_text())
    reached = [op for op in plan.operators
               if f"tensor<{STEP.batch}x{STEP.width}x" in op.line]
    assert len(reached) == 8 + 2 + 9
    for op in reached:
        [(loop, axes)] = op.axes.items()
        assert loop in ("b", "d0") and plan.degree(axes) == DEVICES, op.line
