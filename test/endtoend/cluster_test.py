"""Machines that a user describes, and what becomes of them."""

import json

from bad_input_test import CONTENT, USAGE, fails

CLUSTER = """
name: three
devices:
  - {count: 3, kind: d, peak_flops_per_second: {f32: 1e12},
     memory_bytes_per_second: 1e10, memory_bytes: 1000000000}
levels:
  - {name: l, fanout: 3, bytes_per_second: 1e9}
"""


def test_a_preset_is_printed_changed_and_read_again(divisi, generated):
    text = divisi("cluster", "dgx-h100:16").out
    divisi.path("c.yaml").write_text(text)
    assert divisi("cluster", "c.yaml").out == text
    m = generated("mlp.py", "--widths", "64,32", "--batch", 6)
    preset = divisi("plan", m.onnx, "--cluster", "dgx-h100:16", "-o", "-").out
    assert divisi("plan", m.onnx, "--cluster", "c.yaml", "-o", "-").out == preset
    divisi.path("c.yaml").write_text(
        text.replace("launch_nanoseconds: 2000", "launch_nanoseconds: 9000"))
    slower = divisi("plan", m.onnx, "--cluster", "c.yaml", "-o", "-").out
    assert "launch_nanoseconds = 9000" in slower
    fails(divisi, USAGE, "cluster", "abacus:2", because=["abacus"])


def test_a_cluster_may_be_a_file(divisi, generated):
    m = generated("mlp.py", "--widths", "64,32", "--batch", 6)
    divisi.path("c.yaml").write_text(CLUSTER)
    divisi("plan", m.onnx, "--cluster", "c.yaml", "-o", "p.mlir")
    # The file is no longer needed: the plan carries what it said.
    divisi.path("c.yaml").unlink()
    report = json.loads(divisi("explain", "p.mlir", "--json").out)
    assert len(report["memory"]["per_device"]) == 3
    assert "3 x d" in report["cluster"]
    for old, new, told in (("1e9}", "-1e9}", r"bytes_per_second -1e\+09"),
                           ("fanout: 3", "fanout: 2", "join only 2"),
                           ("count: 3", "count: 0", "count 0"),
                           ("levels", "leaves", "unknown key 'leaves'")):
        divisi.path("c.yaml").write_text(CLUSTER.replace(old, new))
        fails(divisi, CONTENT, "plan", m.onnx, "--cluster", "c.yaml", "-o",
              "q.mlir", because=["c.yaml", told])
    divisi.path("c.yaml").write_text("#" * (1 << 20) + CLUSTER)
    fails(divisi, CONTENT, "plan", m.onnx, "--cluster", "c.yaml", "-o",
          "q.mlir", because=["c.yaml' has ", "bytes, expected at most 1048576"])


def test_what_was_measured_of_a_machine_is_what_it_costs(divisi, generated):
    m = generated("mlp.py", "--widths", "66,33,12", "--batch", 6)
    point = "measured: [" + ", ".join(
        f"{{collective: {kind}, members: 3, bytes: 4096, "
        "bus_bytes_per_second: 1e5}"
        for kind in ("all_reduce", "all_gather", "reduce_scatter")) + "]"

    def plan(levels):
        divisi.path("c.yaml").write_text(CLUSTER.replace("1e9}", levels))
        divisi("plan", m.onnx, "--cluster", "c.yaml",
               "--tensor-parallel-size", 3, "-o", "p.mlir")
        return json.loads(divisi("explain", "p.mlir", "--json").out)

    plain, slow = plan("1e9}"), plan("1e9, " + point + "}")
    assert "measured reduce_scatter of 3: 4.0 KiB at 100 KB/s" in slow["cluster"]
    # At 100 kB/s instead of 1 GB/s.
    before, after = (report["collectives"] for report in (plain, slow))
    assert [c["nanoseconds"] for c in before] == [192]
    assert [c["nanoseconds"] for c in after] == [1_920_000]
    assert slow["predicted_nanoseconds"] > 1_920_000
    divisi.path("c.yaml").write_text(CLUSTER.replace(
        "1e9}", "1e9, " + point.replace("members: 3", "members: 1") + "}"))
    fails(divisi, CONTENT, "plan", m.onnx, "--cluster", "c.yaml", "-o",
          "q.mlir", because=["c.yaml", "members 1"])
