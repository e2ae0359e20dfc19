"""Collectives that run beside operators change no bit, and no limit."""

import json
import re
import subprocess

import numpy as np
import planned_steps
import pytest
from conftest import BUILD, ROOT, load, model
from share import is_sweep, sample
from train_steps import Step

pytestmark = pytest.mark.as_written

MODELS = ["bert", "gpt2", "llama", "resnet", "segformer", "t5", "vit"]
DEVICES = [2, 3, 4]
# What the search finds, and plans that convert much.
PLANS = {"found": ("--tensor-parallel-size",),
         "drawn": ("--solver", "random", "--seed")}


def run_delayed(divisi):
    """The same on a network that is slow by turns, also of what is updated, by
    other kernels; measured memory is what was said."""
    done = subprocess.run(
        [BUILD / "bin" / "run-delayed", "overlap.divisi", "order.divisi"],
        cwd=divisi.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def compile_both(divisi, plan, inputs, *data):
    """With overlap and without: what they compute is equal, in every bit.
    Returns how many reductions there are after partition, and when they are
    scheduled."""
    outputs = {}
    dumps = ("--dump-after", "partition", "--dump-after", "schedule",
             "--dump-to", ".")
    for name, flags in (("overlap", dumps), ("order", ("--no-overlap",))):
        # It runs here, whatever the plan is for.
        divisi("compile", plan, *data, *flags, "--gpu", "off", "-o",
               f"{name}.divisi")
        divisi("run", f"{name}.divisi", "--inputs", inputs, "-o",
               f"{name}.npz")
        outputs[name] = load(divisi.path(f"{name}.npz"))
    assert outputs["overlap"].keys() == outputs["order"].keys()
    for name, want in outputs["order"].items():
        assert outputs["overlap"][name].tobytes() == want.tobytes(), name
    run_delayed(divisi)
    stem = plan.removesuffix(".mlir")
    return [len(re.findall(r"= spmd\.(?:all_reduce|reduce_scatter)",
                           divisi.path(f"{stem}.{stage}.mlir").read_text()))
            for stage in ("partition", "schedule")]


def run_both(divisi, plan, inputs, *data):
    """The same; returns what hides of communication."""
    before, after = compile_both(divisi, plan, inputs, *data)
    facts = json.loads(divisi("explain", "overlap.divisi", "--json").out)
    order = json.loads(divisi("explain", "order.divisi", "--json").out)
    assert "schedule" not in order
    [entry] = facts["schedule"]
    assert facts["predicted_nanoseconds"] == order["predicted_nanoseconds"]
    # Programs on several grids run side by side, and buckets change the sum.
    if len(facts["grids"]) == 1 and before == after:
        assert (entry["nanoseconds"] - entry["exposed"]
                + entry["communication"] == facts["predicted_nanoseconds"])
    return entry["hidden"]


@pytest.mark.sample(least=3)
@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_equal_bit_by_bit(divisi, name, capsys):
    m, hidden = model(name), 0
    plans = sample([(devices, kind) for devices in DEVICES for kind in PLANS],
                   lambda plan: f"{name} {plan}")
    for devices, kind in plans:
        divisi("plan", m.onnx, *m.shapes, "--devices", devices, *PLANS[kind],
               devices, "-o", "p.mlir")
        hidden += run_both(divisi, "p.mlir", m.inputs, "--data", m.onnx) > 0
    with capsys.disabled():
        print(f"\ncounted: {name}: equal bits of {len(plans)} plans, {hidden} of "
              "which overlap")
    assert hidden > 0 or not is_sweep()


@pytest.mark.parametrize("devices", DEVICES)
def test_a_training_step_is_equal_bit_by_bit(divisi, devices):
    step = Step(batch=48, width=60, layers=3)
    step.write(divisi.folder)
    divisi("plan", "step.mlir", "--data-parallel-size", devices, "-o",
           "p.mlir")
    assert run_both(divisi, "p.mlir", "x.npz") > 0


def steps_of(text):
    """[(operator or collective, token, what it comes after)] of a program."""
    steps = []
    for line in text.splitlines():
        found = re.match(r'\s*(?:(%\d+) = )?exec\.(call|collective|commit|output)'
                         r'\b(?: "([\w.]+)")?(.*)', line)
        if found:
            token, kind, name, rest = found.groups()
            after = re.search(r" after (%\d+(?:, %\d+)*)", rest)
            steps.append((name or kind, token, re.findall(
                r"%\d+", after.group(1) if after else "")))
    return steps


def products_beside(steps):
    """Of each collective of a program with one communicator, how many products
    may run while it is on its way: from when its operand is there, and those
    before it have begun, until an operator waits for it or one behind it."""
    at = {token: i for i, (_, token, _) in enumerate(steps) if token}
    collectives = [i for i, step in enumerate(steps)
                   if step[0].startswith(("all_", "reduce_scatter"))]
    counts, begin = [], -1
    for own in collectives:
        begin = max([begin, *(at[token] for token in steps[own][2])])
        end = next((i for i, (_, _, after) in enumerate(steps)
                    if i not in collectives and any(
                        at[token] in collectives and at[token] >= own
                        for token in after)), len(steps))
        counts.append(sum(name == "nn.matmul"
                          for name, _, _ in steps[begin + 1:end]))
    return counts


@pytest.mark.parametrize("plan", ["zero", "megatron"])
def test_collectives_have_products_beside_them(divisi, plan):
    """By the order that the program says, not by the clock."""
    blocks = 4
    step = planned_steps.Step(plan, blocks, width=256, batch=256)
    step.write(divisi.folder)
    counts = []
    for flags in ((), ("--no-overlap",)):
        divisi("compile", "step.mlir", *flags, "--no-fuse", "--dump-after",
               "lower", "--dump-to", ".", "-o", "m.divisi")
        text = divisi.path("step.lower.mlir").read_text()
        counts.append(products_beside(steps_of(text)))
    scheduled, in_order = counts
    # The sum of the loss has nobody who waits for it but the end.
    assert sum(count > 0 for count in in_order) <= 1
    if plan == "zero":
        # All but the first gather and the last gradient's scatter.
        assert len(scheduled) == 4 * blocks + 2 * blocks
        assert scheduled.count(0) == 2
    else:
        # Sums of activations are waited for, those of their gradients take
        # as long as the gradients of two weights.
        assert len(scheduled) == 2 * blocks - 1
        assert scheduled[:blocks] == [0] * blocks
        assert min(scheduled[blocks:]) == 2


@pytest.mark.parametrize("plan", ["zero", "megatron"])
def test_a_planned_step_is_equal_bit_by_bit(divisi, plan):
    step = planned_steps.Step(plan, blocks=3, width=64, batch=64)
    step.write(divisi.folder)
    random = np.random.default_rng(3)
    np.savez(divisi.path("x.npz"), **{
        name: random.standard_normal((64, 64), np.float32) for name in "xt"})
    assert run_both(divisi, "step.mlir", "x.npz") > 0


@pytest.mark.parametrize("plan", ["zero", "megatron"])
def test_the_programs_that_others_damage_are_such_steps(plan):
    """test/Artifact/OrderMutationTest.cpp"""
    file = ROOT / "test" / "endtoend" / "Inputs" / f"{plan}_step.mlir"
    assert file.read_text() == planned_steps.Step(
        plan, blocks=2, width=256, batch=256).text()


def test_small_reductions_are_one(divisi):
    """Gradients of 24 x 24, on links that take microseconds for anything."""
    step = Step(batch=48, width=24, layers=6)
    step.write(divisi.folder)
    divisi("plan", "step.mlir", "--cluster", "dgx-h100:8",
           "--data-parallel-size", 8, "-o", "p.mlir")
    before, after = compile_both(divisi, "p.mlir", "x.npz")
    assert before == 7 and after <= before - 3


def test_without_overlap_the_order_is_that_of_partition(divisi):
    m = model("gpt2")
    divisi("compile", m.onnx, *m.shapes, "--tensor-parallel-size", 2,
           "--no-overlap", "--no-fuse", "--dump-after", "all", "--dump-to",
           ".", "-o", "m.divisi")
    texts = {stage: divisi.path(f"gpt2.{stage}.mlir").read_text()
             for stage in ("partition", "schedule", "lower")}
    assert texts["schedule"] == texts["partition"].replace(
        'divisi.stage = "partition"', 'divisi.stage = "schedule"')
    assert "overlap" not in texts["lower"]


@pytest.mark.sample(first=True)
@pytest.mark.parametrize("batch, width, layers",
                         [(256, 256, 4), (16, 128, 8), (48, 24, 6)])
def test_the_memory_limit_is_kept(divisi, batch, width, layers):
    """Just what the order of the model needs, and more."""
    step = Step(batch, width, layers)
    step.write(divisi.folder)

    def facts(*flags):
        out = divisi("explain", "step.mlir", "--data-parallel-size", 2,
                     "--no-compare", *flags, "--json").out
        return json.loads(out)

    def most(report):
        return max(sum(device[f"{part}_bytes"] for part in (
            "weight", "arena", "workspace", "packed", "message"))
            for device in report["memory"]["per_device"])

    needed = most(facts("--no-overlap"))
    hidden = []
    for percent in (100, 102, 105, 110, 120, 150, 200):
        limit = percent * needed // 100
        report = facts("--memory-limit", f"{limit}B")
        assert most(report) <= limit
        hidden.append(report["schedule"][0]["hidden"])
    assert hidden[-1] > 0
