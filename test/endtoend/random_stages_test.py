"""Pipelines whose stages, devices and orders `--solver random` draws: they
compute what one device does."""

import random
import re

import numpy as np
import pytest
from conftest import Divisi, assert_close, load, model
from launched import needs_mpi
from pipeline_test import (SCHEDULES, USAGE, order_of, pipeline, repeated,
                           states_after)
from trained_models import Trained

pytestmark = pytest.mark.as_written

# Of gpt2 and t5, input and output embeddings are one weight; of t5, all layers
# of the decoder read what the encoder gives.
NAMES = ["gpt2", "llama", "bert", "t5", "resnet"]
SEEDS = range(16)


def drawn(seed, is_training):
    """Batches in a call, and the flags of a pipeline, most of it left open."""
    numbers = random.Random(seed)
    batches, stages = numbers.choice([1, 2, 3, 4]), numbers.randint(2, 4)
    devices = ("--devices", numbers.randint(stages, 7),
               "--pipeline-parallel-size", stages)
    kind = numbers.random()
    if kind < 0.15:
        devices = ("--mesh", "2", "--pipeline-parallel-size", stages)
    elif kind < 0.3:
        sizes = [str(numbers.randint(1, 3)) for _ in range(stages)]
        devices = ("--stage-devices", ",".join(sizes))
    schedule = ()
    if is_training and numbers.random() < 0.3:
        name, per_device = numbers.choice(SCHEDULES)
        schedule = ("--schedule", name, "--num-stages-per-device", per_device)
    elif numbers.random() < 0.2:
        schedule = ("--num-stages-per-device", numbers.randint(1, 3))
    return batches, (*devices, *schedule, "--micro-batches", batches,
                     "--solver", "random", "--seed", seed)


@pytest.mark.sample(slow=True, least=2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_batches_are_those_of_single_calls(divisi, name, seed):
    m = model(name)
    batches, flags = drawn(seed, is_training=False)
    divisi("compile", m.onnx, *m.shapes, *flags, "-o", "m.divisi")
    np.savez(divisi.path("x.npz"), **repeated(load(m.inputs), batches))
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    assert_close(load(divisi.path("y.npz")),
                 repeated(load(m.outputs), batches))


@needs_mpi
@pytest.mark.whole
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_processes_give_the_bits_of_threads(divisi, name, seed):
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, "--devices", 3, *pipeline(2, 2),
           "--solver", "random", "--seed", seed, "-o", "m.divisi")
    np.savez(divisi.path("x.npz"), **repeated(load(m.inputs), 2))
    line = ("run", "m.divisi", "--inputs", "x.npz", "-o")
    divisi(*line, "a.npz")
    divisi(*line, "b.npz", "--launch", 3)
    one, other = (load(divisi.path(f"{a}.npz")) for a in "ab")
    for key, value in one.items():
        np.testing.assert_array_equal(value, other[key], key)


@pytest.fixture(scope="module")
def on_one_device(tmp_path_factory):
    """What states_after() finds there, made once."""
    known = {}

    def find(case, batches):
        key = (case.name, batches)
        if key not in known:
            divisi = Divisi(tmp_path_factory.mktemp("whole"), as_written=True)
            known[key] = states_after(divisi, case, batches,
                                      *pipeline(1, batches))
        return known[key]

    return find


@pytest.mark.sample(slow=True, least=2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [*NAMES, "residual"])
def test_steps_are_those_of_one_device(divisi, on_one_device, name, seed):
    case = Trained(name, "sgd")
    batches, flags = drawn(seed, is_training=True)
    losses, states = states_after(divisi, case, batches, *flags)
    expected, whole = on_one_device(case, batches)
    np.testing.assert_allclose(losses, expected, 1e-5)
    for weight, value in whole.items():
        np.testing.assert_allclose(states[weight], value, 1e-3, 2e-5, weight)


def chunks_of(text):
    """Per node, in the order of the program, its chunk."""
    locations = dict(re.findall(r'^(#loc\d*) = loc\("([^"]*)"', text, re.M))
    found = re.findall(r'pipe\.step = "(\d+)\.F0".* loc\((#loc\d*)\)$', text,
                       re.M)
    return {locations[location]: int(chunk) for chunk, location in found
            if locations.get(location, "").startswith("/m/")}


def test_all_that_is_open_is_drawn(divisi):
    """Orders that have names and others, one and several chunks a stage, stages
    of unequal sizes, cuts out of the program's order; the same of one seed."""
    case = Trained("t5", "sgd")
    line = ("compile", case.onnx, *case.flags(), "--devices", 5,
            "--pipeline-parallel-size", 3, "--micro-batches", 3, "--solver",
            "random", "--dump-after", "plan", "-o", "-", "--seed")
    names, chunks, sizes, mixed = set(), set(), set(), 0
    for seed in range(24):
        text = divisi(*line, seed).out
        name, orders = order_of(text)
        names.add(name)
        chunks.add(len({step.split(".")[0] for order in orders
                        for step in order}))
        [record] = re.findall(r"stage_devices = array<i64: ([^>]*)>", text)
        sizes.add(record)
        assert sum(map(int, record.split(", "))) == 5
        places = list(chunks_of(text).values())
        mixed += places != sorted(places)
    assert {"drawn", "interleaved", "wave"} < names, names
    assert chunks == {3, 6, 9}, chunks
    assert len(sizes) >= 4, sizes
    assert 0 < mixed < 24, mixed
    assert divisi(*line, seed).out == text


def grids_of(text):
    """{grid: its devices}, as written."""
    found = re.findall(r"spmd\.grid @g(\d*) \([^)]*\)"
                       r"(?: devices \[([^]]*)\])?", text)
    return {name: devices.split(", ") if devices else ["0"]
            for name, devices in found}


def test_what_is_given_is_kept(divisi):
    case = Trained("gpt2", "sgd")
    line = ("compile", case.onnx, *case.flags(), "--solver", "random",
            "--dump-after", "plan", "-o", "-")
    for seed in range(4):
        text = divisi(*line, "--stage-devices", "2,2", "--schedule", "wave",
                      "--micro-batches", 2, "--seed", seed).out
        assert order_of(text)[0] == "wave"
        owned = [{int(device) for grid in re.findall(
            rf'pipe\.step = "{chunk}\.F0".*spmd\.split<@g(\d*)', text)
            for device in grids_of(text)[grid]} for chunk in range(4)]
        first, second = owned[0] | owned[3], owned[1] | owned[2]
        assert max(len(first), len(second)) <= 2
        assert not first & second


def test_what_cannot_be_drawn(divisi):
    case = Trained("gpt2", "sgd")
    for flags, message in [
            (("--devices", 2, *pipeline(3)),
             "--pipeline-parallel-size is 3, and there are 2 devices"),
            (("--devices", 400, *pipeline(400)), "each chunk needs one"),
            (("--stage-devices", "2,1", "--cluster", "cpu:2"),
             "--stage-devices are 3 devices together, and there are 2"),
            (("--devices", 4, *pipeline(2, 2, "stream")),
             "--schedule stream orders forward steps"),
            (("--devices", 2, "--schedule", "gpipe"),
             "--schedule is of a pipeline: give --pipeline-parallel-size, too"),
            (("--devices", 4, *pipeline(2), "--memory-limit", "1GiB"),
             "no degrees of parallelism and no memory limit"),
            (("--devices", 4, *pipeline(2), "--mesh", "3"), "3")]:
        error = divisi("plan", case.onnx, *case.flags(), *flags, "--solver",
                       "random", "-o", "p.mlir", exits=USAGE).err
        assert message in error, error
