"""Indices in data: a bad one ends the run, the same way however it is split."""

import numpy as np
import pytest
from bad_models import save, value
from conftest import load
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.as_written

CONTENT = 4
I64 = TensorProto.INT64
ROWS, WIDTH = 12, 8


def table(name="table", shape=(ROWS, WIDTH)):
    data = 1 + np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    return numpy_helper.from_array(data, name)


def program(op, indices, result, data=(ROWS, WIDTH), **attributes):
    """`op` of a table by indices, and a sum that others can take a part in."""
    return helper.make_graph(
        [helper.make_node(op, ["table", "ids"], ["rows"], "lookup",
                          **attributes),
         helper.make_node("Add", ["rows", "one"], ["y"], "sum")],
        "g", [value("ids", indices, I64)], [value("y", result)],
        [table(shape=data),
         numpy_helper.from_array(np.ones(result[-1:], np.float32), "one")])


# By operator: the graph, and of a component of an index its extent.
PROGRAMS = {
    "Gather": (program("Gather", (2, 6), (2, 6, WIDTH)), lambda at: ROWS),
    "GatherColumns": (program("Gather", (5,), (ROWS, 5), axis=1),
                      lambda at: WIDTH),
    "GatherElements": (program("GatherElements", (ROWS, 4), (ROWS, 4), axis=1),
                       lambda at: WIDTH),
    "GatherND": (program("GatherND", (3, 4, 2), (3, 4)),
                 lambda at: (ROWS, WIDTH)[at[-1]]),
    "GatherNDBatch": (program("GatherND", (ROWS, 3, 1), (ROWS, 3),
                              batch_dims=1), lambda at: WIDTH),
}


class Lookup:
    """A program of PROGRAMS in its folder."""

    def __init__(self, divisi, name):
        self.divisi = divisi
        graph, self.extent_at = PROGRAMS[name]
        save(divisi.folder, graph)
        self.shape = tuple(d.dim_value for d in
                           graph.input[0].type.tensor_type.shape.dim)

    def good(self, random):
        ids = np.zeros(self.shape, np.int64)
        for at in np.ndindex(self.shape):
            extent = self.extent_at(at)
            ids[at] = random.integers(-extent, extent)
        return ids

    def spoil(self, ids, at, random):
        extent = self.extent_at(at)
        beyond = int(random.choice([1, 2, 100, 2**40, 2**62]))
        ids[at] = (extent - 1 + beyond if random.integers(2)
                   else -extent - beyond)

    def write(self, ids):
        np.savez(self.divisi.path("ids.npz"), ids=ids)

    def compile(self, devices, *flags):
        # Messages name one node.
        self.divisi("compile", "m.onnx", "--devices", devices, "--no-fuse",
                    *flags, "-o", "m.divisi")

    def run(self, *flags, exits=0):
        return self.divisi("run", "m.divisi", "--inputs", "ids.npz", "-o",
                           "y.npz", *flags, exits=exits).err


@pytest.fixture(params=list(PROGRAMS))
def lookup(divisi, request):
    return Lookup(divisi, request.param)


def error(text):
    [line] = [line for line in text.splitlines() if "error: " in line]
    return line


def test_a_bad_index_ends_the_run_alike_on_any_number_of_devices(lookup):
    random = np.random.default_rng(1)
    spoilt = []
    for _ in range(4):
        ids = lookup.good(random)
        first, second = sorted(random.choice(ids.size, 2, replace=False))
        for flat in (first, second):
            lookup.spoil(ids, np.unravel_index(flat, ids.shape), random)
        spoilt.append(ids)
    told = {}
    for devices in (1, 3, 4):
        lookup.compile(devices)
        lookup.write(lookup.good(random))
        lookup.run()
        told[devices] = []
        for ids in spoilt:
            lookup.write(ids)
            told[devices].append(error(lookup.run(exits=CONTENT)))
    assert told[1] == told[3] == told[4]
    for ids, line in zip(spoilt, told[1]):
        assert "node 'lookup' (nn." in line
        at = line.split("index ")[1].split(" ")[0]
        bad = [int(i) for place, i in np.ndenumerate(ids)
               if not -lookup.extent_at(place) <= i < lookup.extent_at(place)]
        assert int(at) in bad


def test_random_plans_never_pass_a_bad_index(lookup):
    random = np.random.default_rng(2)
    for seed in range(5):
        devices = int(random.choice([2, 3, 4, 6]))
        lookup.compile(devices, "--solver", "random", "--seed", seed)
        for _ in range(3):
            ids = lookup.good(random)
            at = np.unravel_index(random.integers(ids.size), ids.shape)
            lookup.spoil(ids, at, random)
            lookup.write(ids)
            line = error(lookup.run(exits=CONTENT))
            assert f"index {ids[at]} at [" in line
            assert f"of an extent of {lookup.extent_at(at)};" in line


def test_the_position_is_that_of_the_index(divisi):
    lookup = Lookup(divisi, "Gather")
    ids = np.zeros(lookup.shape, np.int64)
    ids[1, 4] = ROWS
    ids[1, 5] = -ROWS - 1
    lookup.write(ids)
    np.savez(divisi.path("expected.npz"),
             y=np.zeros((*ids.shape, WIDTH), np.float32))
    for devices in (1, 3, 4):
        lookup.compile(devices)
        assert error(lookup.run(exits=CONTENT)).endswith(
            "node 'lookup' (nn.gather): index 12 at [1, 4] is outside of an "
            "extent of 12; expected -12 to 11")
        assert "index 12 at [1, 4]" in divisi(
            "check", "m.divisi", "--inputs", "ids.npz", "--expect",
            "expected.npz", exits=CONTENT).err


@pytest.mark.parametrize("devices", [1, 3, 4])
def test_unchecked_a_bad_index_reads_zeros(divisi, devices):
    lookup = Lookup(divisi, "Gather")
    ids = np.full(lookup.shape, -1, np.int64)
    ids[0, :4] = [ROWS, -ROWS - 1, 2**62, -2**63]
    lookup.write(ids)
    lookup.compile(devices)
    lookup.run("--no-index-check")
    y = load(divisi.path("y.npz"))["y"]
    last = 1 + np.arange((ROWS - 1) * WIDTH, ROWS * WIDTH) + 1
    assert (y[0, :4] == 1).all() and (y[0, 4:] == last).all()


@pytest.mark.parametrize("name", ["Gather", "GatherElements", "GatherND"])
def test_a_bad_constant_index_is_an_error_of_the_model(divisi, name):
    graph, extent_at = PROGRAMS[name]
    shape = [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim]
    ids = np.zeros(shape, np.int64)
    bad = tuple(n - 1 for n in shape)
    ids[bad] = extent_at(bad)
    constant = helper.make_graph(
        graph.node, "g", [], graph.output,
        [*graph.initializer, numpy_helper.from_array(ids, "ids")])
    save(divisi.folder, constant)
    line = error(divisi("compile", "m.onnx", "-o", "m.divisi",
                        exits=CONTENT).err)
    extent = extent_at(bad)
    assert (f"node 'lookup' ({name}): got the index {extent} into an extent of "
            f"{extent}") in line
