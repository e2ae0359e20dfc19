"""Devices of several kinds: faster ones get larger shards."""

import json
import re

import pytest
from conftest import ROOT

# Two kinds, one three times as fast as the other, and links as good as free.
KINDS = """
name: pair
devices:
  - {count: 2, kind: fast, peak_flops_per_second: {f32: 3e9},
     memory_bytes_per_second: 3e10, memory_bytes: 1000000000}
  - {count: 2, kind: slow, peak_flops_per_second: {f32: 1e9},
     memory_bytes_per_second: 1e10, memory_bytes: 1000000000}
levels:
  - {name: l, fanout: 4, bytes_per_second: 1e11}
"""

# Four A100 of 80 GB and four V100 of 16 GB.
FOUR_AND_FOUR = ("--cluster",
                 ROOT / "test" / "endtoend" / "Inputs" / "a100-v100.yaml")


def explain(divisi, model, *flags):
    return json.loads(divisi("explain", model, "--json", *flags).out)


def test_shards_follow_the_rates(divisi, generated):
    m = generated("mlp.py", "--widths", "4096,4096", "--batch", 8192,
                  "--weightless")
    flags = (*FOUR_AND_FOUR, "--precision", "f16")
    mixed = explain(divisi, m.onnx, *flags)
    # 312 * 0.869 to 125 * 0.85 is 2.55.
    assert mixed["grids"][0]["axes"] == "(x0=2:[18,7], x1=2, x2=2)"
    even = explain(divisi, m.onnx, *flags, "--mesh", "2x2x2")
    fast = explain(divisi, m.onnx, *flags, "--devices", 4)
    assert fast["grids"][0]["devices"] == [0, 1, 2, 3]
    times = [report["predicted_nanoseconds"] for report in (mixed, fast, even)]
    assert times == sorted(times) and times[0] < 0.9 * times[1]
    # What is planned again on the same grid is the same plan.
    mesh = explain(divisi, m.onnx, *flags, "--mesh", "x0=2:[18,7],x1=2,x2=2")
    assert mesh["predicted_nanoseconds"] == times[0]
    # The product's 8192 x 4096 by kind: 18 of 25 parts are for four A100.
    product = next(row for row in mixed["rows"] if row["op"] == "nn.matmul")
    split = re.findall(r"[mn]@([x\d.]+)", product["split"])
    assert "x0" in "".join(split)


def test_a_plan_by_weights_computes_the_same(divisi, generated):
    m = generated("mlp.py", "--widths", "66,96,31", "--batch", 41)
    divisi.path("c.yaml").write_text(KINDS)
    divisi("plan", m.onnx, "--cluster", "c.yaml", "-o", "p.mlir")
    plan = divisi.path("p.mlir").read_text()
    assert re.search(r"spmd.grid @g \(\w+ = 2:\[3,1\], \w+ = 2\)", plan)
    divisi("compile", "p.mlir", "--data", m.onnx, "--dump-after", "partition",
           "-o", "p.divisi")
    # A type and its verifier know the weights, too.
    assert "2:[3,1]" in divisi.path("p.partition.mlir").read_text()
    divisi("check", "p.divisi", "--inputs", m.inputs, "--expect", m.outputs)
    divisi("check", m.onnx, "--cluster", "c.yaml", "--inputs", m.inputs,
           "--expect", m.outputs)
    divisi("explain", "p.mlir", "--why", "layers.0")


def test_large_devices_hold_more_than_small_ones(divisi, generated):
    # 160 GiB of weights in f16: an eighth of them is more than a V100 has.
    m = generated("mlp.py", "--widths", ",".join(["65536"] * 19), "--batch", 512,
                  "--weightless")
    flags = (m.onnx, *FOUR_AND_FOUR, "--precision", "f16")
    even = divisi("plan", *flags, "--mesh", "2x2x2", "-o", "p.mlir", exits=6)
    assert ("no plan fits into the memory limit of 16000000000 bytes per v100 "
            "(what each v100 of the cluster a100-v100 has): ") in even.err
    result = divisi("plan", *flags, "-o", "p.mlir")
    needs = re.search(r"a run needs (\S+) GiB per a100 and (\S+) GiB per v100",
                      result.err)
    assert float(needs.group(1)) > 2.5 * float(needs.group(2)) > 32
    report = json.loads(divisi("explain", "p.mlir", "--json").out)
    assert report["grids"][0]["axes"] == "(x0=2:[18,7], x1=2, x2=2)"
    planned = report["plan"]["kind_peak_bytes"]
    held = [max(device["total_bytes"] for device in devices) for devices in
            (report["memory"]["per_device"][:4],
             report["memory"]["per_device"][4:])]
    inputs = 512 * 65536 * 4
    for peak, total, limit in zip(planned, held, (80e9, 16e9)):
        assert total <= limit and peak <= limit
        assert abs(peak - total) <= max(0.05 * total, inputs)
    assert [device["limit_bytes"] for device in
            report["memory"]["per_device"]] == [80e9] * 4 + [16e9] * 4
    text = divisi("explain", "p.mlir").out
    assert re.search(r"on the fullest a100, \S+ % of 74.5 GiB "
                     r"\(what each a100 has\)", text)
    assert re.search(r"on the fullest v100, \S+ % of 14.9 GiB "
                     r"\(what each v100 has\)", text)
    assert re.search(r"^ +the a100 = \S+ GiB weights \+ ", text, re.M)


@pytest.mark.whole
def test_a_plan_that_does_not_fit_says_of_which_kind(divisi, generated):
    m = generated("mlp.py", "--widths", ",".join(["65536"] * 19), "--batch", 512,
                  "--weightless")
    flags = (m.onnx, *FOUR_AND_FOUR, "--precision", "f16")
    # What a user gives is no more than a device has.
    both = divisi("plan", *flags, "--memory-limit", "20GiB", "-o", "p.mlir",
                  exits=6)
    assert ("into the memory limit of 21474836480 bytes per a100 "
            "(--memory-limit): ") in both.err
    assert " bytes on each a100 are in use, " in both.err
    mesh = divisi("plan", *flags, "--mesh", "x0=2:[3,2],x1=2,x2=2", "-o",
                  "p.mlir", exits=6)
    assert "bytes per v100 (what each v100 of the cluster a100-v100 " in mesh.err


def test_a_plan_that_was_read_need_not_fit(divisi, generated):
    m = generated("mlp.py", "--widths", "66,96,31", "--batch", 41)
    divisi.path("c.yaml").write_text(KINDS)
    divisi("plan", m.onnx, "--cluster", "c.yaml", "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    less = re.sub(r'(kind = "slow".*?memory_bytes = )\d+', r"\g<1>100", text)
    assert less != text
    divisi.path("p.mlir").write_text(less)
    told = divisi("compile", "p.mlir", "--data", m.onnx, "-o", "p.divisi").err
    assert re.search(r"warning: a slow holds \d+ bytes under this plan, more "
                     r"than the 100 that it has", told)
    assert "a fast holds" not in told
    # Fast ranks have another program, and more of everything.
    held = re.findall(r"device \d holds (\d+) bytes: weights (\d+), arena "
                      r"(\d+)", divisi("run", "p.divisi", "--inputs", m.inputs,
                                       "--verbose", "-o", "out.npz").err)
    fast, slow = (sorted({tuple(map(int, rank)) for rank in ranks})
                  for ranks in (held[:2], held[2:]))
    assert all(a > b for a, b in zip(fast[0], slow[-1]))


def test_fewer_devices_are_the_fast_ones(divisi, generated):
    m = generated("mlp.py", "--widths", "66,96,31", "--batch", 41)
    kinds = re.findall(r"  - \{count.*?\}.*?\}\n", KINDS, re.S)
    assert len(kinds) == 2
    slow_first = KINDS.replace("".join(kinds), "".join(reversed(kinds)))
    # The limit is that of the devices in use.
    slow_first = slow_first.replace("3e10, memory_bytes: 1",
                                    "3e10, memory_bytes: 2")
    divisi.path("c.yaml").write_text(slow_first)
    plan = divisi("plan", m.onnx, "--cluster", "c.yaml", "--devices", 2, "-o",
                  "p.mlir")
    assert re.search(r"@g \(x0 = 2\) devices \[2, 3\]",
                     divisi.path("p.mlir").read_text())
    # Two others are idle, and counted nowhere.
    assert "plan for 2 devices; " in plan.err
    made = divisi("compile", "p.mlir", "--data", m.onnx, "-o", "p.divisi")
    assert "p.divisi: 2 devices, " in made.err
    text = divisi("explain", "p.divisi").out
    assert "\non these 2  " in text
    assert re.search(r"^memory +\S+ \S+ on the fullest device, \S+ % of "
                     r"1.9 GiB \(what a device of this cluster has\)", text,
                     re.M)
    divisi("check", "p.divisi", "--inputs", m.inputs, "--expect", m.outputs)


def test_idle_devices_are_not_counted(divisi, generated):
    m = generated("mlp.py", "--widths", "4096,4096", "--batch", 8192,
                  "--weightless")
    plan = divisi("plan", m.onnx, "--cluster", "dgx-h100:16", "--devices", 12,
                  "-o", "p.mlir")
    # Six of each node: the last is number 13.
    assert "devices [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13]" in (
        divisi.path("p.mlir").read_text())
    assert "plan for 12 devices; " in plan.err
