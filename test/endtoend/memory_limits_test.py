"""What plans claim under many memory limits. More memory is never slower, no
plan that fits is faster than what a search found or proved, and a time limit
loses no plan. Predicted times; nothing runs.
"""

import json

import pytest
from conftest import Divisi, model
from plan_text import Plan
from share import is_sweep, sample_size

pytestmark = pytest.mark.as_written

INFEASIBLE, NO_PLAN = 6, 7
# Model, devices, and how many limits.
SWEEPS = [("mlp", 4, 60), ("unet", 4, 60), ("resnet", 4, 60), ("bert", 4, 60),
          ("gpt2", 6, 40), ("vit", 3, 40), ("segformer", 4, 40)]
# Solvers look for the best plan of each rung of a ladder, and may miss it.
GAP = 2e-3


@pytest.fixture(scope="module")
def planned(tmp_path_factory, generated):
    """planned(NAME, FLAG...) is what a plan of that model claims, or none."""
    divisi = Divisi(tmp_path_factory.mktemp("planned"),
                    as_written=not is_sweep())
    own = {"mlp": ("mlp.py",),
           "unet": ("unet.py", "--height", 16, "--width", 16, "--channels", 4,
                    "--depth", 2)}

    def plan(name, *flags, exits=(0, INFEASIBLE)):
        m = generated(*own[name]) if name in own else model(name)
        shapes = () if name in own else m.shapes
        done = divisi("plan", m.onnx, *shapes, *flags, "--judge", "sum", "-o",
                      "p.mlir",
                      exits=None)
        assert done.code in exits, done.err
        if done.code:
            return None
        found = Plan(divisi.path("p.mlir").read_text())
        report = json.loads(divisi("explain", "p.mlir", "--json",
                                   "--no-overlap").out)
        found.held = max(device["total_bytes"]
                         for device in report["memory"]["per_device"])
        return found

    return plan


def limits_of(free, count):
    """From a third of what is held without a limit to a little more than it."""
    low, high = 0.35 * free.held, 1.02 * free.held
    return [int(low * (high / low) ** (i / (count - 1))) for i in range(count)]


@pytest.mark.parametrize("name, devices, count", [
    pytest.param(*sweep, id=sweep[0],
                 marks=[] if sweep[0] == "mlp" else pytest.mark.whole)
    for sweep in SWEEPS])
def test_more_memory_is_never_slower(planned, name, devices, count):
    flags = ("--devices", devices)
    limits = limits_of(planned(name, *flags), max(4, sample_size(count)))
    found = {limit: planned(name, *flags, "--memory-limit", limit)
             for limit in limits}
    plans = {limit: plan for limit, plan in found.items() if plan}
    assert len(plans) > 1
    for limit, plan in plans.items():
        assert plan.held <= limit
    for limit, other in found.items():
        fitting = [plan for plan in plans.values() if plan.held <= limit]
        if not fitting:
            continue
        assert other, f"nothing found for {limit}"
        least = min(plan.nanoseconds for plan in fitting)
        assert other.bound <= least, limit
        assert other.nanoseconds <= least * (1 + GAP), limit


@pytest.mark.parametrize("name, devices, part", [
    ("vit", 3, 0.9)] + [pytest.param(*case, marks=pytest.mark.whole)
                        for case in [("resnet", 4, 0.744), ("resnet", 4, 0.8),
                                     ("resnet", 4, 0.9), ("segformer", 2, 0.9)]])
def test_what_a_plan_holds_is_limit_enough(planned, name, devices, part):
    """Inputs, for one, are the caller's, however large."""
    flags = ("--devices", devices)
    free = planned(name, *flags)
    plan = planned(name, *flags, "--memory-limit", int(free.held * part))
    again = planned(name, *flags, "--memory-limit", plan.held)
    assert again.bound <= plan.nanoseconds
    assert again.nanoseconds <= plan.nanoseconds * (1 + GAP)


@pytest.mark.sample(first=True, least=2)
@pytest.mark.parametrize("part", [50, 30, 70, 90])
def test_time_limits_lose_no_plan(planned, part):
    """A plan within the limit or none in time, whenever time is over; a search
    that has time ends with what one without a limit finds."""
    flags = ("--devices", 4)
    limit = planned("mlp", "--devices", 1).held * part // 100
    plan = planned("mlp", *flags, "--memory-limit", limit)
    for seconds in [0.05 * i for i in range(1, 14)] if is_sweep() else [0.15]:
        cut = planned("mlp", *flags, "--memory-limit", limit, "--time-limit",
                      f"{seconds:.2f}", exits=(0, NO_PLAN))
        assert not cut or cut.held <= limit
    late = planned("mlp", *flags, "--memory-limit", limit, "--time-limit", 20)
    assert late.nanoseconds <= plan.nanoseconds * (1 + GAP)
