"""A better machine never slows a plan down: whatever number of a cluster's file
is improved, and with devices added that a plan need not use. Predicted times;
nothing runs.
"""

import re
from functools import cache

import pytest
from conftest import Divisi, model
from plan_text import Plan

QUICK = "classifier"
MODELS = [QUICK, "t5", "resnet"]
CLUSTERS = [f"{name}:{count}" for count in (4, 8) for name in (
    "cpu", "cpu-server", "dgx-v100", "dgx-a100", "dgx-h100", "dgx-b200", "l4",
    "mi300x", "tpu-v4")] + ["dgx-h100:12", "p6-b200:16", "gb200-nvl72:16"]
FACTORS = [1.1, 2, 10]
RATES = ["f64", "f32", "f16", "bf16", "i8", "vector_flops_per_second",
         "memory_bytes_per_second",
         "memory_bytes", "host_bytes_per_second", "bytes_per_second", "unit_bytes_per_second",
         "switch_bytes_per_second", "peer_bytes_per_second",
         "flagged_bytes_per_second"]
TIMES = ["launch_nanoseconds", "product_launch_nanoseconds",
         "latency_nanoseconds"]
# What both times may be off their optimum, relative, in the worst case.
GAP = 1e-4


def improved(text, name, factor):
    """`text` with every number called `name` better; None if it has none."""
    def better(match):
        value = float(match[2]) / factor if name in TIMES \
            else float(match[2]) * factor
        isWhole = name in TIMES or name == "memory_bytes"
        return match[1] + (str(int(value)) if isWhole else repr(value))
    new = re.sub(rf"(?m)((?:^|[ {{]){name}: +)([\d.e+]+)", better, text)
    return None if new == text else new


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """planned(NAME, CLUSTER) is the plan for that text of a cluster."""
    divisi = Divisi(tmp_path_factory.mktemp("planned"))

    @cache
    def plan(name, cluster):
        divisi.path("c.yaml").write_text(cluster)
        m = model(name)
        divisi("plan", m.onnx, *m.shapes, "--cluster", "c.yaml",
               "--judge", "sum", "-o", "p.mlir")
        return Plan(divisi.path("p.mlir").read_text())

    plan.preset = cache(lambda name: divisi("cluster", name).out)
    return plan


def cases():
    for name in MODELS:
        for cluster in CLUSTERS:
            isQuick = name == QUICK and cluster.endswith(":4")
            yield pytest.param(name, cluster,
                               marks=[] if isQuick else [pytest.mark.whole])


@pytest.mark.sample(slow=True)
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("number", RATES + TIMES)
@pytest.mark.parametrize("name, cluster", list(cases()))
def test_what_is_improved_is_no_slower(planned, name, cluster, number, factor):
    text = planned.preset(cluster)
    # A file of somebody who knows only what was measured.
    for base in {text, re.sub(r",\s+model_nanoseconds: \d+", "", text)}:
        better = improved(base, number, factor)
        if better:
            assert planned(name, better).nanoseconds <= planned(
                name, base).nanoseconds * (1 + GAP)


SLOW = """
  - count: 1
    kind: slow
    peak_flops_per_second: { f64: 5e9, f32: 1e10, i8: 4e10 }
    memory_bytes_per_second: 1e9
    memory_bytes: 1000000000
    launch_nanoseconds: 100000
"""


@pytest.mark.parametrize("name", [QUICK])
def test_a_slow_device_that_is_idle_costs_nothing(planned, name):
    text = planned.preset("cpu:4")
    more = re.sub(r"fanout: +4", "fanout: 5", text).replace(
        "\nlevels:", SLOW + "levels:")
    assert planned(name, more).nanoseconds <= planned(
        name, text).nanoseconds * (1 + GAP)
