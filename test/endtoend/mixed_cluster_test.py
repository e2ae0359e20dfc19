"""Devices of several kinds: faster ones get larger shards."""

import json
import re

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


def four_and_four(divisi):
    """Four A100 and four V100 in one node."""
    fast = divisi("cluster", "dgx-a100:4").out
    slow = divisi("cluster", "dgx-v100:4").out
    kind = slow[slow.index("  - count"):slow.index("levels:")]
    text = fast.replace("levels:", kind + "levels:").replace(
        "fanout:          4", "fanout:          8")
    divisi.path("mixed.yaml").write_text(text)
    return "--cluster", "mixed.yaml"


def explain(divisi, model, *flags):
    return json.loads(divisi("explain", model, "--json", *flags).out)


def test_shards_follow_the_rates(divisi, generated):
    m = generated("mlp.py", "--widths", "4096,4096", "--batch", 8192,
                  "--weightless")
    flags = (*four_and_four(divisi), "--precision", "f16")
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
    divisi("compile", "p.mlir", "--dump-after", "partition", "-o", "p.divisi")
    # A type and its verifier know the weights, too.
    assert "2:[3,1]" in divisi.path("p.partition.mlir").read_text()
    divisi("check", "p.divisi", "--inputs", m.inputs, "--expect", m.outputs)
    divisi("check", m.onnx, "--cluster", "c.yaml", "--inputs", m.inputs,
           "--expect", m.outputs)
    divisi("explain", "p.mlir", "--why", "layers.0")
