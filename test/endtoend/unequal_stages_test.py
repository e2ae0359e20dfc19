"""Stages of unequal numbers of devices, each with the plan of its size."""

import json
import random
import re

import numpy as np
import onnx
import pytest
from conftest import assert_close, load, model
from launched import needs_mpi
from pipeline_test import (MIXED, SCHEDULES, pipeline, repeated, stages_of,
                           states_after)
from train_test import check_steps
from trained_models import Trained
from wide_models import wide_layers

pytestmark = pytest.mark.as_written

USAGE, INFEASIBLE = 2, 6
# Devices of the stages, batches in a call.
SHAPES = [("2,1", 3), ("1,2", 2), ("4,2", 4), ("4,2,1", 3), ("1,4,2", 1),
          ("3,2", 4), ("1,1,2", 3)]


def staged(sizes, batches=1, *more):
    return ("--stage-devices", sizes, "--micro-batches", batches, *more)


def grids_of(text):
    """The devices of each stage in the dump of a plan."""
    found = re.findall(r"spmd\.grid @g(\d+) \(([^)]*)\)"
                       r"(?: devices \[([^]]*)\])?", text)
    return {int(stage): [int(d) for d in devices.split(",")] if devices
            else [0] for stage, _, devices in found}


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("sizes, batches", SHAPES)
@pytest.mark.parametrize("name", ["gpt2", "bert", "resnet", "t5"])
def test_batches_are_those_of_single_calls(divisi, name, sizes, batches):
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, *staged(sizes, batches), "-o",
           "m.divisi")
    np.savez(divisi.path("x.npz"), **repeated(load(m.inputs), batches))
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    assert_close(load(divisi.path("y.npz")),
                 repeated(load(m.outputs), batches))


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("sizes", ["2,1", "1,2,4", "4,2"])
@pytest.mark.parametrize("name", ["gpt2", "t5", "bert", "vit"])
def test_steps_are_those_of_pytorch(divisi, name, sizes):
    """Tied weights, too: their gradients go to the stage where they rest."""
    case = Trained(name, "adamw")
    divisi("compile", case.onnx, *case.flags(), *staged(sizes), "-o",
           "m.divisi")
    check_steps(divisi.path("m.divisi"), case)


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("sizes, batches", [("2,1", 4), ("1,2", 3),
                                            ("2,1,1", 4)])
@pytest.mark.parametrize("schedule, per_device", SCHEDULES)
@pytest.mark.parametrize("name", ["gpt2", "bert", "t5", "residual"])
def test_schedules_train_as_one_device(divisi, name, schedule, per_device,
                                       sizes, batches):
    case = Trained(name, "sgd")
    losses, states = states_after(
        divisi, case, batches, *staged(sizes, batches, "--schedule", schedule,
                                       "--num-stages-per-device", per_device))
    expected, whole = states_after(divisi, case, batches,
                                   *pipeline(1, batches))
    np.testing.assert_allclose(losses, expected, 1e-5)
    for weight, value in whole.items():
        np.testing.assert_allclose(states[weight], value, 1e-3, 2e-5, weight)


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("seed", range(12))
def test_stages_drawn_at_random(divisi, seed):
    """Any sizes in any order, of any schedule, with axes of any kind."""
    draw = random.Random(seed)
    case = Trained(draw.choice(["gpt2", "bert", "t5", "residual"]), "sgd")
    sizes = [draw.choice([1, 2, 3, 4]) for _ in range(draw.choice([2, 3]))]
    batches = draw.choice([1, 2, 3])
    schedule, per_device = draw.choice(SCHEDULES)
    axes = draw.choice([(), ("--max-axes", 1), ("--zero", "3")])
    losses, states = states_after(
        divisi, case, batches, *axes,
        *staged(",".join(map(str, sizes)), batches, "--schedule", schedule,
                "--num-stages-per-device", per_device))
    expected, whole = states_after(divisi, case, batches,
                                   *pipeline(1, batches))
    np.testing.assert_allclose(losses, expected, 1e-5)
    for weight, value in whole.items():
        np.testing.assert_allclose(states[weight], value, 1e-3, 2e-5, weight)


@needs_mpi
@pytest.mark.sample()
@pytest.mark.parametrize("name, sizes, processes", [
    ("gpt2", "2,1", 3), ("bert", "1,2", 2), ("t5", "2,1", 2)])
def test_processes_give_the_bits_of_threads(divisi, name, sizes, processes):
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, *staged(sizes, 2), "-o", "m.divisi")
    np.savez(divisi.path("x.npz"), **repeated(load(m.inputs), 2))
    line = ("run", "m.divisi", "--inputs", "x.npz", "-o")
    divisi(*line, "a.npz")
    divisi(*line, "b.npz", "--launch", processes)
    one, other = (load(divisi.path(f"{a}.npz")) for a in "ab")
    for key, value in one.items():
        np.testing.assert_array_equal(value, other[key], key)


def test_a_large_stage_gets_more_layers(divisi):
    """The dump has the grids that are asked for, and is resumed."""
    onnx.save(wide_layers(24, 512, weightless=False), divisi.path("m.onnx"))
    for sizes, counts in {"2,1": [2, 1], "1,2": [1, 2]}.items():
        divisi("plan", "m.onnx", *staged(sizes, 16), "--rewrite", "off", "-o",
               "p.mlir")
        text = divisi.path("p.mlir").read_text()
        grids = grids_of(text)
        assert [len(grids[stage]) for stage in (0, 1)] == counts
        assert sorted(grids[0] + grids[1]) == [0, 1, 2]
        layers = stages_of(text)
        large = counts.index(2)
        assert layers[large] > 1.5 * layers[1 - large], layers
        assert re.search(r"stage_devices = array<i64: " +
                         sizes.replace(",", ", "), text)
    divisi("compile", "p.mlir", "--data", "m.onnx", "-o", "m.divisi")
    x = np.random.default_rng(1).standard_normal((16 * 1024, 512), np.float32)
    np.savez(divisi.path("x.npz"), h0=x)
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    divisi("compile", "m.onnx", *pipeline(1, 16), "-o", "one.divisi")
    divisi("check", "one.divisi", "--inputs", "x.npz", "--expect", "y.npz")


def test_a_tied_weight_travels_once(divisi):
    """To the last stage, which it does for all micro-batches."""
    m = model("gpt2")
    divisi("simulate", m.onnx, *m.shapes, "--devices", 2, *pipeline(2, 8),
           "--rewrite", "off", "-o", "t.json")
    events = json.loads(divisi.path("t.json").read_text())["traceEvents"]
    sent = [e["name"] for e in events if e.get("cat") == "spmd.transfer"]
    assert sent.count("node_linear") == 2, sent  # at both of its ends
    assert sent.count("node_scaled_dot_product_attention_1") == 16, sent


def test_sizes_are_searched(divisi):
    """They are no slower than equal stages, which leave devices idle, nor than
    any sizes in any order."""
    onnx.save(wide_layers(24, 512), divisi.path("m.onnx"))
    times = {}
    for sizes in ("auto", "equal", "3,2", "2,3", "4,1", "1,4"):
        flags = {"auto": ("--pipeline-parallel-size", 2, "--devices", 5,
                          *staged("auto", 4)),
                 "equal": ("--devices", 5, *pipeline(2, 4))}.get(
                     sizes, staged(sizes, 4))
        line = divisi("simulate", "m.onnx", *flags, "--rewrite", "off",
                      "--json")
        [entry] = json.loads(line.out)["entries"]
        times[sizes] = entry["nanoseconds"]
        if sizes == "equal":
            assert ("1 stay idle; --stage-devices auto gives stages unequal "
                    "numbers of devices") in line.err, line.err
    assert times["auto"] < 0.95 * times["equal"], times
    assert times["auto"] <= 1.01 * min(times.values()), times
    [entry] = json.loads(divisi(
        "simulate", "m.onnx", "--devices", 5, "--micro-batches", 4,
        "--rewrite", "off", "--json").out)["entries"]
    assert entry["nanoseconds"] <= times["auto"]


@pytest.mark.sample(slow=True)
@pytest.mark.parametrize("devices, layers, batches", [
    (5, 12, 4), (4, 6, 8), (3, 9, 2)])
def test_numbers_of_stages_are_searched_with_sizes(divisi, devices, layers,
                                                   batches):
    """No plan of any number of stages, of any sizes, is faster."""
    onnx.save(wide_layers(layers, 512), divisi.path("m.onnx"))

    def time(*flags):
        line = divisi("simulate", "m.onnx", "--rewrite", "off", "--json",
                      "--devices", devices, "--micro-batches", batches, *flags)
        [entry] = json.loads(line.out)["entries"]
        return entry["nanoseconds"]

    def partitions(left, most):
        yield from ([left],) if left <= most else ()
        for size in range(1, min(left, most + 1)):
            for rest in partitions(left - size, size):
                yield [size, *rest]

    best = min(time("--stage-devices", ",".join(map(str, sizes)))
               for sizes in partitions(devices, devices) if len(sizes) > 1)
    assert time("--stage-devices", "auto") <= 1.01 * best
    plans = [json.loads(divisi(
        "explain", "m.onnx", "--rewrite", "off", "--json", "--devices",
        devices, "--micro-batches", batches, "--stage-devices", "auto").out)
        for _ in range(2)]
    tried = [trial["stages"] for trial in plans[0]["pipelines"]]
    assert len(set(tried)) == len(tried)
    assert plans[0] == plans[1]


def test_equal_options_give_equal_bytes(divisi):
    case = Trained("gpt2", "sgd")
    for name in ("a", "b"):
        divisi("compile", case.onnx, *case.flags(), *staged("2,1", 3), "-o",
               name)
    assert divisi.path("a").read_bytes() == divisi.path("b").read_bytes()


def test_equal_sizes_are_equal_stages(divisi):
    m = model("gpt2")
    for name, flags in {
            "a": ("--stage-devices", "2,2"),
            "b": ("--devices", 4, "--pipeline-parallel-size", 2)}.items():
        divisi("plan", m.onnx, *m.shapes, *flags, "--micro-batches", 2, "-o",
               name)
    assert divisi.path("a").read_text() == divisi.path("b").read_text()


def test_slow_devices_are_more(divisi):
    """Eight layers' devices of both kinds, of each a stage of another size."""
    onnx.save(wide_layers(24, 2048), divisi.path("m.onnx"))
    text = MIXED.read_text()
    counts = iter("24")
    divisi.path("c.yaml").write_text(re.sub(
        r"count: +4", lambda found: f"count: {next(counts)}", text))
    times = {}
    for name, flags in {"a100": ("--devices", 2, "--micro-batches", 16),
                        "both": staged("2,4", 16)}.items():
        divisi("plan", "m.onnx", "--cluster", "c.yaml", *flags, "--rewrite",
               "off", "-o", "p.mlir")
        [entry] = json.loads(divisi("simulate", "p.mlir", "--json").out)["entries"]
        times[name] = entry["nanoseconds"]
    grids = grids_of(divisi.path("p.mlir").read_text())
    assert sorted(map(tuple, grids.values())) == [(0, 1), (2, 3, 4, 5)]
    assert times["both"] < 0.8 * times["a100"], times
    error = divisi("plan", "m.onnx", "--cluster", "c.yaml", *staged("3,2,1"),
                   "-o", "p.mlir", exits=0).err
    error = divisi("plan", "m.onnx", "--cluster", "c.yaml", *staged("5,1"),
                   "-o", "p.mlir", exits=USAGE).err
    assert ("--stage-devices 5,1: the cluster a100-v100 has no room for such "
            "stages, each of devices of one kind: make them smaller"
            ) in error, error


@pytest.mark.parametrize("flags, code, message", [
    (["--stage-devices", "2,x"], USAGE, "--stage-devices '2,x': expected a "
     "number of devices per stage, such as 2,1, or auto"),
    (["--stage-devices", "2,0"], USAGE, "--stage-devices '2,0': expected"),
    (["--stage-devices", "2,1", "--pipeline-parallel-size", 3], USAGE,
     "--stage-devices 2,1 is of 2 stages, and --pipeline-parallel-size is 3"),
    (["--stage-devices", "2,1", "--devices", 4], USAGE,
     "--stage-devices 2,1 are 3 devices together, and --devices is 4"),
    (["--stage-devices", "2,1", "--cluster", "cpu:2"], USAGE,
     "--stage-devices are 3 devices together, and there are 2"),
    (["--stage-devices", "2,1", "--mesh", "2"], USAGE,
     "--mesh 2 is for one number of devices, and --stage-devices 2,1 gives "
     "stages several; leave one of them out"),
    (["--stage-devices", "auto", "--pipeline-parallel-size", 2, "--devices",
      3, "--mesh", "2"], USAGE, "--stage-devices auto searches numbers of "
     "devices, and --mesh says one; leave one of them out"),
    (["--stage-devices", "2,1", "--memory-limit", "100KiB"], INFEASIBLE,
     "102400 bytes per device (--memory-limit), which is "),
    (["--stage-devices", ",".join(["1"] * 2000 + ["2"])], USAGE,
     "each chunk needs one"),
    (["--stage-devices", "2,1", "--memory-limit", "10KiB"], INFEASIBLE,
     "10240 bytes per device (--memory-limit), which is "),
], ids=lambda value: str(value)[:40] if isinstance(value, str) else "")
def test_what_sizes_cannot_be(divisi, flags, code, message):
    m = model("vit")
    result = divisi("plan", m.onnx, *m.shapes, *flags, "-o", "p.mlir",
                    exits=code)
    assert message in result.err, result.err


def test_a_plan_is_made_again(divisi):
    m = model("gpt2")
    divisi("plan", m.onnx, *m.shapes, *staged("2,1", 2), "-o", "p.mlir")
    told = divisi("plan", "p.mlir", "--data", m.onnx, "--replan", "-o",
                  "q.mlir").err
    assert "--stage-devices 2,1" in told, told
    assert (grids_of(divisi.path("q.mlir").read_text())
            == grids_of(divisi.path("p.mlir").read_text()))
    error = divisi("plan", "p.mlir", "--data", m.onnx, "--replan", "--keep",
                   "nn.matmul", "-o", "q.mlir", exits=USAGE).err
    assert ("--stage-devices plans the program for each number of devices, and "
            "the module has strategies already; drop them (--replan)"
            ) in error, error
