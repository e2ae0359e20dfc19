"""Values that go from any grid to any other: what devices then have is the same
on threads, on processes and on GPUs."""

import json
import random
import re

import numpy as np
import pytest
from conftest import load
from cuda_test import EMULATOR, GPU, emulator
from launched import needs_mpi

DEVICES = 8
# Two machines of four, whose links are ten times as fast as those between.
LINKS = """
name: two
devices:
  - {count: 8, kind: cpu, peak_flops_per_second: {f32: 1e11},
     memory_bytes_per_second: 1e11, memory_bytes: 1000000000}
levels:
  - {name: board, fanout: 4, latency_nanoseconds: 100, bytes_per_second: 1e10}
  - {name: wire, fanout: 2, latency_nanoseconds: 500, bytes_per_second: 1e9}
"""


def draw_sets(draw):
    """Sets of devices, of which each two are disjoint or one within the other,
    as grids have to be."""
    devices = draw.sample(range(DEVICES), DEVICES)
    if draw.random() < 0.5:
        devices.sort()
    sets, open_sets = [], [devices]
    while open_sets:
        devices = open_sets.pop()
        sets.append(devices)
        if len(devices) > 1:
            cut = draw.randint(1, len(devices) - 1)
            open_sets += [devices[:cut], devices[cut:]]
    return sets


def draw_grid(draw, name, devices):
    """Its text, and a split of an operator of two dims over some of its axes."""
    count = len(devices)
    sizes = [draw.choice([n for n in range(1, count + 1) if count % n == 0])]
    sizes.append(count // sizes[0])
    axes = ["x", "y"]
    loops = {}
    for axis in axes:
        loop = draw.choice(["d0", "d1", None, None])
        if loop:
            loops.setdefault(loop, []).append(axis)
    split = ", ".join(f"{loop}@{'.'.join(used)}"
                      for loop, used in sorted(loops.items()))
    text = (f"spmd.grid @{name} (x = {sizes[0]}, y = {sizes[1]}) "
            f"devices {devices}\n")
    return text, f"#spmd.split<@{name}{': ' + split if split else ''}>"


def draw_program(seed):
    """Operators each on a grid of its own, that read the value before and now
    and then an earlier one; and what they make of x."""
    draw = random.Random(seed)
    shape = (draw.randint(1, 40), draw.randint(1, 3000))
    kind = f"tensor<{shape[0]}x{shape[1]}xf32>"
    grids, lines = "", []
    sets = draw_sets(draw)
    made = ["%x"]
    values = [np.random.default_rng(seed).standard_normal(shape, np.float32)]
    for i in range(8):
        text, split = draw_grid(draw, f"g{i}", draw.choice(sets))
        grids += text
        if draw.random() < 0.4:
            other = draw.randrange(len(made))
            lines.append(f"  %v{i} = nn.add {made[-1]}, {made[other]} "
                         f"{{spmd.split = {split}}} : ({kind}, {kind}) -> "
                         f"{kind}")
            values.append(values[-1] + values[other])
        else:
            lines.append(f"  %v{i} = nn.neg {made[-1]} {{spmd.split = {split}}}"
                         f" : ({kind}) -> {kind}")
            values.append(-values[-1])
        made.append(f"%v{i}")
    at = "spmd.place = #spmd.place<@g{}: [*, *]>"
    body = "\n".join(lines)
    return values[0], values[-1], f"""{grids}
func.func @forward(%x: {kind} {{nn.name = "x", {at.format(0)}}})
    -> ({kind} {{nn.name = "y", {at.format(7)}}}) {{
{body}
  return {made[-1]} : {kind}
}}
"""


@pytest.fixture
def drawn(divisi):
    """drawn(SEED, FLAGS) compiles a program; its result."""
    def make(seed, *flags):
        x, expected, text = draw_program(seed)
        divisi.path("p.mlir").write_text(text)
        divisi.path("two.yaml").write_text(LINKS)
        np.savez(divisi.path("x.npz"), x=x)
        divisi("compile", "p.mlir", "--cluster", "two.yaml", *flags, "-o",
               "m.divisi", "--dump-after", "partition")
        return expected
    return make


def result(divisi, *flags, **more):
    divisi("run", "m.divisi", "--inputs", "x.npz", *flags, "-o", "y.npz",
           **more)
    return load(divisi.path("y.npz"))["y"]


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("seed", range(40))
def test_values_arrive_on_any_grid(divisi, drawn, seed):
    expected = drawn(seed)
    np.testing.assert_array_equal(result(divisi), expected)
    text = divisi.path("p.partition.mlir").read_text()
    assert "spmd.transfer" in text
    rows = json.loads(divisi("explain", "m.divisi", "--json").out)["rows"]
    for row in rows:
        if row["op"] == "spmd.transfer":
            assert (row["least_nanoseconds"] <= row["arrived_nanoseconds"]
                    and row["nanoseconds"] <= row["arrived_nanoseconds"]), row


@needs_mpi
@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("seed", range(40, 52))
def test_processes_have_the_same(divisi, drawn, seed):
    expected = drawn(seed)
    for processes in (2, 3):
        np.testing.assert_array_equal(result(divisi, "--launch", processes),
                                      expected)


@pytest.mark.skipif(not (EMULATOR / "libcuda.so.1").exists(),
                    reason="the build found no cuda.h")
@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("seed", range(52, 64))
def test_gpus_have_the_same(divisi, drawn, seed, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(divisi.path("user")))
    expected = drawn(seed, *GPU)
    got = result(divisi, env=emulator(seed=seed, devices=DEVICES))
    np.testing.assert_array_equal(got, expected)


REPLICAS = """
spmd.grid @a (x = 4) devices [0, 1, 2, 3]
spmd.grid @b (z = 4) devices [4, 5, 6, 7]

func.func @forward(%x: tensor<1024x1024xf32> {nn.name = "x",
                       spmd.place = #spmd.place<@a: [*, *]>})
    -> (tensor<1024x1024xf32> {nn.name = "y",
            spmd.place = #spmd.place<@b: [*, *]>}) {
  %0 = nn.neg %x {spmd.split = #spmd.split<@a>}
    : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = nn.neg %0 {spmd.split = #spmd.split<@b>}
    : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %2 = nn.exp %0 {spmd.split = #spmd.split<@b>}
    : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %3 = nn.add %1, %2 {spmd.split = #spmd.split<@b>}
    : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %3 : tensor<1024x1024xf32>
}
"""


def test_parts_are_sent_and_gathered(divisi):
    """Over the slow links each device gets a quarter, once for both users."""
    divisi.path("p.mlir").write_text(REPLICAS)
    divisi.path("two.yaml").write_text(LINKS)
    divisi("compile", "p.mlir", "--cluster", "two.yaml", "-o", "m.divisi",
           "--dump-after", "partition")
    text = divisi.path("p.partition.mlir").read_text()
    assert len(re.findall(r"= spmd.transfer", text)) == 1
    assert len(re.findall(r"= spmd.all_gather", text)) == 1
    [row] = [row for row in json.loads(
        divisi("explain", "m.divisi", "--json").out)["rows"]
        if row["op"] == "spmd.transfer"]
    assert row["bytes"] == 1 << 20
    # At 1 GB/s a quarter; three more at 10 GB/s, and latencies.
    assert row["nanoseconds"] == 500 + (1 << 20)
    assert row["arrived_nanoseconds"] < 1.4 * (1 << 20)
    summary = divisi("explain", "m.divisi", "--summary").out
    line = next(line for line in summary.splitlines()
                if line.startswith("between grids"))
    assert re.fullmatch(
        r"between grids +1 transfers, 1.0 MiB per device, with what gathers them "
        r"1.\d\d ms, 1.\d\d times the least, 1.05 ms", line), line
