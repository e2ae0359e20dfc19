"""Memory is one sum, the same wherever it is said."""

import json
import re
import subprocess
import sys

import bad_models
import numpy as np
import onnx
import pytest
from bad_models import value
from conftest import PROGRAM, Divisi, model
from launched import needs_mpi
from share import is_sweep, sample
from onnx import helper, numpy_helper

pytestmark = pytest.mark.as_written

INFEASIBLE = 6
LAYERS, CHANNELS = 8, 48
IMAGE = (4, CHANNELS, 56, 56)
PARTS = ("weight_bytes", "arena_bytes", "workspace_bytes", "packed_bytes",
         "message_bytes")


def convolutions(folder):
    """Kernels of oneDNN that want other layouts than the arena has."""
    random = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"
    for i in range(LAYERS):
        weights.append(numpy_helper.from_array(
            random.standard_normal((CHANNELS, CHANNELS, 3, 3), np.float32),
            f"w{i}"))
        nodes.append(helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"],
                                      f"conv{i}", pads=[1] * 4))
        last = "y" if i == LAYERS - 1 else f"r{i}"
        nodes.append(helper.make_node("Relu", [f"c{i}"], [last], f"relu{i}"))
    bad_models.save(folder, bad_models.graph(
        nodes, [value("x", IMAGE)], [value("y", IMAGE)], weights))


def products(folder):
    """Constants that are packed, and inputs that are sliced."""
    random = np.random.default_rng(0)
    weights = [numpy_helper.from_array(
        random.standard_normal((96, 96), np.float32), f"w{i}")
        for i in range(3)]
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["a"], "first"),
             helper.make_node("Softmax", ["a"], ["b"], "soft"),
             helper.make_node("MatMul", ["b", "w1"], ["c"], "second"),
             helper.make_node("MatMul", ["c", "w2"], ["y"], "third")]
    bad_models.save(folder, bad_models.graph(
        nodes, [value("x", (64, 96))], [value("y", (64, 96))], weights))


def fullest(divisi, *arguments):
    report = json.loads(divisi("explain", *arguments, "--json").out)
    return max(report["memory"]["per_device"],
               key=lambda device: device["total_bytes"])


def needed(told):
    """The number behind `a run needs 12.3 MiB per device`."""
    found = re.search(r"a run needs ([\d.]+) (\w*B) per device", told)
    assert found, told
    return float(found[1]) * 1024 ** ["B", "KiB", "MiB", "GiB"].index(found[2])


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    divisi = Divisi(tmp_path_factory.mktemp("images"), not is_sweep())
    convolutions(divisi.folder)
    np.savez(divisi.path("x.npz"), x=np.ones(IMAGE, np.float32))
    return divisi


@pytest.mark.sample("make", "devices")
@pytest.mark.parametrize("make, shape", [(convolutions, IMAGE),
                                         (products, (64, 96))])
@pytest.mark.parametrize("devices", [1, 3, 4])
def test_all_say_the_same_number(divisi, make, shape, devices):
    make(divisi.folder)
    np.savez(divisi.path("x.npz"), x=np.ones(shape, np.float32))
    told = divisi("compile", "m.onnx", "--devices", devices, "-o",
                  "m.divisi").err
    total = fullest(divisi, "m.divisi")["total_bytes"]
    for told in (told, divisi("plan", "m.onnx", "--devices", devices, "-o",
                              "p.mlir").err):
        # One decimal is told.
        assert needed(told) == pytest.approx(total, rel=0.05)
    assert fullest(divisi, "m.onnx", "--devices",
                   devices)["total_bytes"] == total
    report = json.loads(divisi("explain", "m.divisi", "--json").out)
    held = divisi("run", "m.divisi", "--inputs", "x.npz", "--verbose").err
    messages = [device["message_bytes"]
                for device in report["memory"]["per_device"]]
    assert any(messages) == (devices > 1)
    for rank, device in enumerate(report["memory"]["per_device"]):
        parts = [device[part] for part in PARTS]
        assert device["total_bytes"] == sum(parts)
        assert device["packed_bytes"] > 0
        # Threads read each other's memory, and send no messages.
        assert_holds(held, rank, [*parts[:-1], 0])


def shared(folder, uses, width=160):
    """One matrix in all products."""
    weight = numpy_helper.from_array(
        np.full((width, width), 1 / width, np.float32), "w")
    nodes = []
    for i in range(uses):
        nodes += [helper.make_node("MatMul", [f"h{i}" if i else "x", "w"],
                                   [f"m{i}"], f"product{i}"),
                  helper.make_node("Tanh", [f"m{i}"],
                                   ["y" if i == uses - 1 else f"h{i + 1}"],
                                   f"tanh{i}")]
    bad_models.save(folder, bad_models.graph(
        nodes, [value("x", (4, width))], [value("y", (4, width))], [weight]))


@pytest.mark.parametrize("devices", [1, 2])
def test_a_weight_of_many_products_is_packed_once(divisi, devices):
    packed = set()
    np.savez(divisi.path("x.npz"), x=np.ones((4, 160), np.float32))
    for uses in (1, 12):
        shared(divisi.folder, uses)
        divisi("compile", "m.onnx", "--devices", devices, "-o", "m.divisi")
        device = fullest(divisi, "m.divisi")
        told = divisi("run", "m.divisi", "--inputs", "x.npz", "--verbose").err
        assert ("note: beside what devices hold, this process has 2560 bytes of "
                "inputs: x 2560\n") in told
        held = dict(re.findall(r"device (\d+) holds .* packed constants (\d+)",
                               told))
        assert max(map(int, held.values())) == device["packed_bytes"], told
        packed.add(device["packed_bytes"])
    # A plan for 2 may split the one and not the other.
    assert len(packed) == 1 or devices > 1
    assert 0 < max(packed) <= 1.2 * 4 * 160 * 160


def assert_holds(told, rank, parts):
    assert (f"divisi: note: device {rank} holds {sum(parts)} bytes: weights "
            f"{parts[0]}, arena {parts[1]}, workspace {parts[2]}, packed "
            f"constants {parts[3]}, messages {parts[4]}; predicted "
            f"{sum(parts)}\n") in told, told


@needs_mpi
@pytest.mark.sample(least=2)
@pytest.mark.parametrize("name, devices", [("bert", 3), ("gpt2", 4),
                                           ("llama", 2), ("resnet", 3),
                                           ("t5", 3)])
def test_messages_are_planned(divisi, name, devices):
    """Random plans send messages of all kinds, in uneven shards."""
    made = model(name)
    divisi("compile", made.onnx, "--devices", devices, *made.shapes,
           "--solver", "random", "--seed", devices, "-o", "m.divisi")
    told = divisi("run", "m.divisi", "--inputs", made.inputs, "--verbose",
                  "--launch", devices, "-o", "y.npz").err
    report = json.loads(divisi("explain", "m.divisi", "--json").out)
    for rank, device in enumerate(report["memory"]["per_device"]):
        assert device["message_bytes"] > 1000
        assert_holds(told, rank, [device[part] for part in PARTS])


def test_the_limit_counts_messages(divisi):
    products(divisi.folder)
    # Of several programs one says what it holds.
    flags = ("m.onnx", "--devices", 3, "--rewrite", "off")
    limit = fullest(divisi, *flags)["total_bytes"]
    while True:
        done = subprocess.run(
            [PROGRAM, "plan", *map(str, flags), "--memory-limit",
             str(limit - 1), "-o", "p.mlir"], cwd=divisi.folder,
            capture_output=True, text=True)
        if done.returncode == INFEASIBLE:
            break
        device = fullest(divisi, "p.mlir")
        assert device["total_bytes"] < limit
        limit = device["total_bytes"]
    # Without its messages the smallest plan would fit.
    assert device["message_bytes"] > 0
    told = done.stderr
    held = re.search(r"the closest one holds (\d+) bytes", told)
    assert held, told
    assert int(held[1]) - device["message_bytes"] < limit <= int(held[1]), told


# A process inherits the peak of the one that it was forked from, so a small one
# stands between this and what is measured.
LAUNCHER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak(divisi, *arguments):
    """The largest resident set of a command, in bytes."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", LAUNCHER, PROGRAM, *map(str, arguments)],
        cwd=divisi.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout) * 1024


def test_a_process_holds_what_was_predicted(images, divisi):
    """A tiny model tells what the program itself takes."""
    bad_models.good(divisi.folder)
    np.savez(divisi.path("x.npz"), x=np.ones((2, 3), np.float32))
    run = ("run", "m.divisi", "--inputs", "x.npz")
    for where in (divisi, images):
        where("compile", "m.onnx", "-o", "m.divisi")
    total = fullest(images, "m.divisi")["total_bytes"]
    tensors = 2 * 4 * np.prod(IMAGE)
    grown = peak(images, *run) - peak(divisi, *run)
    assert 0.6 * total < grown < 1.1 * (total + 2 * tensors) + 16e6


def test_scratch_lies_in_the_arena_once(images):
    """A layer, its scratch and what follows have the bytes of those before."""
    images("compile", "m.onnx", "-o", "m.divisi")
    device = fullest(images, "m.divisi")
    image = 4 * np.prod(IMAGE)
    assert device["workspace_bytes"] == 0
    assert 3 * image <= device["arena_bytes"] < 5 * image


def test_scratch_that_was_not_planned_lies_beside(images):
    """Two threads want more than one, for which the artifact is."""
    images("compile", "m.onnx", "-o", "m.divisi")
    told = images("run", "m.divisi", "--inputs", "x.npz", "--verbose",
                  "--threads-per-device", 2).err
    held, arena, workspace, predicted = map(int, re.search(
        r"holds (\d+) bytes: .*arena (\d+), workspace (\d+), .*predicted (\d+)",
        told).groups())
    assert held == predicted
    assert arena == fullest(images, "m.divisi")["arena_bytes"]
    assert workspace > 0


@pytest.mark.parametrize("devices", [1, 3])
def test_without_packing_each_run_brings_weights_into_order(images, devices):
    """In other memory, and to the same result."""
    images("compile", "m.onnx", "--devices", devices, "-o", "m.divisi")
    results = []
    for flags in ((), ("--no-pack",)):
        told = images("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz",
                      "--verbose", *flags).err
        packed = set(map(int, re.findall(r"packed constants (\d+)", told)))
        assert (packed == {0}) == bool(flags), told
        results.append(np.load(images.path("y.npz"))["y"])
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-4)


def test_the_limit_counts_all_of_it(images):
    total = fullest(images, "m.onnx")["total_bytes"]
    images("compile", "m.onnx", "--memory-limit", total, "-o", "m.divisi")
    for verb in (("plan",), ("compile", "-o", "m.divisi"), ("explain",)):
        told = images(*verb, "m.onnx", "--memory-limit", total - 1,
                      exits=INFEASIBLE).err
        device = fullest(images, "m.onnx")
        assert (f"no plan was found that fits into the memory limit of "
                f"{total - 1} bytes per device (--memory-limit): the closest "
                f"one holds {total} bytes (weights {device['weight_bytes']}, arena "
                f"{device['arena_bytes']}, workspace of kernels "
                f"{device['workspace_bytes']}, constants packed by kernels "
                f"{device['packed_bytes']}, messages between processes "
                f"{device['message_bytes']}); raise --memory-limit or take "
                "more devices") in told


def test_a_plan_above_the_limit_is_searched_again(images):
    """Within the limit, or refused: never above it."""
    flags = ("m.onnx", "--devices", 4)
    free = fullest(images, *flags)["total_bytes"]
    seen = set()
    for part in sample([99, 95, 90, 80, 70, 60, 50, 40, 30, 20], least=2) + [10]:
        limit = free * part // 100
        code = subprocess.run(
            [PROGRAM, "plan", *map(str, flags), "--memory-limit", str(limit),
             "-o", "p.mlir"], cwd=images.folder, capture_output=True).returncode
        seen.add(code)
        assert code in (0, INFEASIBLE)
        if code == 0:
            assert fullest(images, "p.mlir")["total_bytes"] <= limit
    assert INFEASIBLE in seen


def test_of_other_machines_kernels_are_not_counted(images):
    report = json.loads(images("explain", "m.onnx", "--cluster", "dgx-h100:1",
                               "--gpu", "off", "--json").out)
    assert report["memory"]["counts_kernels"] is False
    [device] = report["memory"]["per_device"]
    assert (device["workspace_bytes"] == device["packed_bytes"]
            == device["message_bytes"] == 0)
    assert device["total_bytes"] == (device["weight_bytes"]
                                     + device["arena_bytes"])


@pytest.mark.sample()
@pytest.mark.parametrize("devices", [1, 4])
def test_of_gpus_their_own_memory_is_said_and_limited(divisi, devices):
    """Weights lie there, and are not counted with the host once more; neither
    is the host compared with the limit."""
    products(divisi.folder)
    flags = ("--devices", devices, "--gpu", "sm_90", "--cubins", "off")
    told = divisi("compile", "m.onnx", *flags, "-o", "m.divisi").err
    device = max(json.loads(divisi("explain", "m.divisi", "--json").out)
                 ["memory"]["per_device"], key=lambda each: each["own_bytes"])
    said = re.search(r"a run needs ([\d.]+) MiB per device \(and ([\d.]+) "
                     r"KiB of the host\)", told)
    assert said, told
    own, host = float(said[1]) * 1024 ** 2, float(said[2]) * 1024
    overhead = [device[f"{part}_bytes"] for part in ("context", "module", "nccl")]
    assert overhead[0] > 0
    assert own == pytest.approx(device["own_bytes"] + sum(overhead), rel=0.01)
    assert host == pytest.approx(
        device["total_bytes"] - device["own_bytes"], rel=0.01)
    said = divisi("explain", "m.divisi").out
    assert re.search(r"= .*[\d.]+ KiB device memory \+ 512.* MiB the driver's context",
                     said), said
    assert device["weight_bytes"] == 0
    assert device["own_bytes"] >= 3 * 4 * 96 * 96 / devices
    limit = device["own_bytes"] + sum(overhead)
    small = divisi("compile", "m.onnx", *flags, "--memory-limit", 1 << 20, "-o",
                   "m.divisi", exits=INFEASIBLE).err
    assert re.search(r", the GPU's context \d+, its code \d+, NCCL \d+", small)
    divisi("compile", "m.onnx", *flags, "--memory-limit", limit, "-o",
           "m.divisi")
    again = json.loads(divisi("explain", "m.divisi", "--json").out)
    assert all(each["own_bytes"] <= limit
               for each in again["memory"]["per_device"])


def test_what_binds_is_named(images):
    told = images("compile", "m.onnx", "--memory-limit", 1000000, "-o",
                  "m.divisi", exits=INFEASIBLE).err
    assert re.search(r"fits into the memory limit of 1000000 bytes per device "
                     r"\(--memory-limit\): at node '\w+' \(nn\.\w+\) at least "
                     r"\d+ bytes are in use", told), told
    assert "at time" not in told


def test_a_plan_that_was_read_is_warned_of(divisi):
    """20 GB of zeros, which no file has, on a device of 16 GiB."""
    divisi.path("m.mlir").write_text(STATE)
    divisi("plan", "m.mlir", exits=INFEASIBLE)
    divisi("plan", "m.mlir", "--memory-limit", "100GiB", "-o", "p.mlir")
    told = divisi("compile", "p.mlir", "-o", "m.divisi").err
    assert re.search(r"divisi: warning: a device holds 2\d{10} bytes under this "
                     r"plan, more than the 17179869184 that it has", told), told


STATE = """
nn.global @state state : tensor<5000000x1000xf32> zero

func.func @forward(%x: tensor<4x1000xf32> {nn.name = "x"})
    -> (tensor<4x1000xf32> {nn.name = "y"}) {
  %s = nn.read @state : tensor<5000000x1000xf32>
  %row = nn.slice %s {starts = array<i64: 0, 0>, limits = array<i64: 4, 1000>,
      steps = array<i64: 1, 1>} : (tensor<5000000x1000xf32>)
      -> tensor<4x1000xf32>
  %y = nn.add %x, %row : (tensor<4x1000xf32>, tensor<4x1000xf32>)
      -> tensor<4x1000xf32>
  return %y : tensor<4x1000xf32>
}
"""


WIDE = 2048 if is_sweep() else 1280


def wide_layers(folder):
    """Weights that are much of what a process has."""
    random = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"
    for i in range(12):
        weights.append(numpy_helper.from_array(
            random.standard_normal((WIDE, WIDE), np.float32) / 64, f"w{i}"))
        result = "y" if i == 11 else f"h{i}"
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [result],
                                      f"layer{i}"))
        last = result
    bad_models.save(folder, bad_models.graph(
        nodes, [value("x", (8, WIDE))], [value("y", (8, WIDE))], weights))
    return 12 * WIDE * WIDE * 4


def test_weights_are_not_kept_that_are_only_written_or_left(divisi):
    """However many there are, a compilation has room for few of them."""
    weights = wide_layers(divisi.folder)
    onnx.save(onnx.load(divisi.path("m.onnx")), divisi.path("e.onnx"),
              save_as_external_data=True, location="e.data")
    (divisi.folder / "small").mkdir()
    small = Divisi(divisi.folder / "small")
    products(small.folder)
    empty = peak(small, "compile", "m.onnx", "-o", "m.divisi")
    for kept in ["embed", "external"]:
        # The product of all of them would be one.
        used = peak(divisi, "compile", "e.onnx", "--weights", kept,
                    "--rewrite", "off", "-o", "e.divisi")
        assert used - empty <= weights / 4, (kept, used, empty)


@pytest.mark.sample()
@pytest.mark.parametrize("options", [
    ["--devices", "1"],
    ["--devices", "4", "--data-parallel-size", "4"],
    ["--devices", "4", "--tensor-parallel-size", "4"]])
def test_a_weight_is_there_once(divisi, options):
    """Not plain and packed, nor once for each rank of a process that holds the
    same; but for the one that is being packed."""
    weights = wide_layers(divisi.folder)
    np.savez(divisi.path("x.npz"), x=np.ones((8, WIDE), np.float32))
    divisi("compile", "m.onnx", "-o", "m.divisi", *options)
    report = json.loads(divisi("explain", "m.divisi", "--json").out)
    arenas = sum(device["arena_bytes"]
                 for device in report["memory"]["per_device"])
    (divisi.folder / "small").mkdir()
    small = Divisi(divisi.folder / "small")
    products(small.folder)
    np.savez(small.path("x.npz"), x=np.ones((64, 96), np.float32))
    small("compile", "m.onnx", "-o", "m.divisi", *options[:2])
    empty = peak(small, "run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    used = peak(divisi, "run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    assert used - empty <= 1.1 * (weights + arenas) + weights / 12, (
        used, empty, weights)
