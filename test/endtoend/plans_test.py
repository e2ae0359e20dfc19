"""What plans look like: how little moves where little has to."""

import json
import re

import pytest
from conftest import model


def explain(divisi, path, *flags):
    return json.loads(divisi("explain", path, *flags, "--json").out)


def test_spatial_split_of_resnet_moves_only_halos(divisi):
    """Rows over devices: neighbours exchange borders until the image ends."""
    m = model("resnet")
    divisi("plan", m.onnx, *m.shapes, "--devices", 4, "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    text = re.sub(r"#spmd\.split<(@\w+)[^>]*>", r"#spmd.split<\1>", text)
    # Every convolution and pool by rows of its result; the rest as it is.
    axes = re.search(r"spmd\.grid (@\w+) \(([^)]*)\)", text)
    names = ".".join(re.findall(r"(\w+) =", axes.group(2)))
    grid = axes.group(1)
    lines = []
    for line in text.splitlines():
        loop = ("o0" if "nn.conv " in line else
                "o2" if "nn.pool_max " in line else None)
        if loop:
            line = line.replace(f"#spmd.split<{grid}>",
                                f"#spmd.split<{grid}: {loop}@{names}>")
        lines.append(line)
    divisi.path("rows.mlir").write_text("\n".join(lines))
    divisi("compile", "rows.mlir", "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)


def test_edited_strategy_takes_effect(divisi, generated):
    m = generated("mlp.py", "--widths", "64,128,32", "--batch", 16)
    divisi("plan", m.onnx, "--devices", 4, "--data-parallel-size", 4,
           "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    product = re.compile(
        r"(nn\.matmul .*?spmd\.split = #spmd\.split<@\w+)(: [^>]*)?>")
    found = product.search(text)
    assert found, text
    divisi.path("e.mlir").write_text(
        text[:found.start()] + found.group(1) + ">" + text[found.end():])
    before = explain(divisi, "p.mlir")
    after = explain(divisi, "e.mlir")
    assert after["replicated"]["flops"] > before["replicated"]["flops"]
    divisi("compile", "e.mlir", "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)


@pytest.mark.parametrize("mesh", ["2x2"])
def test_batch_and_sequence_split_without_resharding(divisi, generated, mesh):
    """[B*S, E] is split by batch and by sequence: nothing moves in the MLP."""
    m = generated("gpt2.py", "--size", "tiny", "--batch", 4, "--seq", 16)
    facts = explain(divisi, m.onnx, "--devices", 4,
                    "--data-parallel-size", 4)
    inside = [c for c in facts["collectives"] if ".mlp" in c["scope"]]
    assert inside == []
