"""What plans look like: how little moves where little has to."""

import json
import re

from conftest import model


def explain(divisi, path, *flags):
    return json.loads(divisi("explain", path, *flags, "--json").out)


def kinds(facts):
    return {c["kind"] for c in facts["collectives"]}


def by_rows(text):
    """A plan of a CNN by batch, rewritten to be split by rows of images."""
    def of_line(line):
        if "nn.conv " in line:
            return re.sub(r"(spmd\.split<@\w+: )n@", r"\1o0@", line)
        if "nn.reduce " in line or re.search(r"-> tensor<\d+x\d+x\d+x\d+xf32>",
                                             line):
            return re.sub(r"(spmd\.split<@\w+: )d0@", r"\1d2@", line)
        # The image itself: [x, *, *, *] becomes [*, *, x, *].
        return re.sub(r"<(@\w+): \[([\w.]+), \*, \*, \*\]>",
                      r"<\1: [*, *, \2, *]>", line)

    return "\n".join(map(of_line, text.splitlines()))


def test_spatial_split_of_resnet_moves_only_halos(divisi):
    """Rows over devices: neighbours exchange borders until the image ends."""
    m = model("resnet")
    divisi("plan", m.onnx, *m.shapes, "--devices", 4,
           "--data-parallel-size", 4, "-o", "p.mlir")
    rows = by_rows(divisi.path("p.mlir").read_text())
    assert rows.count(": o0@") >= 20
    divisi.path("rows.mlir").write_text(rows)
    facts = explain(divisi, "rows.mlir")
    images = [r for r in facts["rows"] if r["op"] == "nn.conv"]
    assert all(": " not in r["split"] and "o0@" in r["split"]
               for r in images)
    # After the last image its rows are summed, on tensors of a few numbers.
    moved = [c for c in facts["collectives"] if c["kind"] != "exchange"]
    assert all(c["bytes"] <= 4 * 8 * 128 for c in moved), moved
    halos = sum(c["bytes"] for c in facts["collectives"]
                if c["kind"] == "exchange")
    assert 0 < halos < 4 * 8 * 16 * 32 * 32
    divisi("compile", "rows.mlir", "--data", m.onnx, "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)


def test_edited_strategy_takes_effect(divisi, generated):
    """One layer that was split by batch is done by every device in full."""
    m = generated("mlp.py", "--widths", "64,128,32", "--batch", 16)
    divisi("plan", m.onnx, "--devices", 4, "--data-parallel-size", 4,
           "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    found = re.search(
        r"(nn\.matmul .*?spmd\.split = #spmd\.split<@\w+)(: [^>]*)?>", text)
    assert found and found.group(2), text
    divisi.path("e.mlir").write_text(
        text[:found.start()] + found.group(1) + ">" + text[found.end():])
    before, after = (explain(divisi, name) for name in ("p.mlir", "e.mlir"))
    assert after["replicated_flops"] > before["replicated_flops"] + 0.1
    divisi("compile", "e.mlir", "--data", m.onnx, "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)


def test_batch_split_moves_nothing_through_flattened_tokens(divisi,
                                                            generated):
    """[B, S, E] -> [B*S, E] -> Gemm -> [B, S, E] stays split by batch."""
    m = generated("gpt2.py", "--size", "tiny", "--batch", 4, "--seq", 16)
    facts = explain(divisi, m.onnx, "--devices", 4,
                    "--data-parallel-size", 4)
    assert facts["collectives"] == []


def by_batch_and_sequence(line):
    """An operator of an MLP, split by batch, rewritten for both."""
    if ".mlp" not in line or "spmd.split" not in line:
        return line
    labels = re.search(r'labels = "\w+,\w+->(\w+)"', line)
    batch, sequence = labels.group(1)[:2] if labels else ("d0", "d1")
    return re.sub(rf"spmd\.split<(@\w+): {batch}@d0\.d1>",
                  rf"spmd.split<\1: {batch}@d0, {sequence}@d1>", line)


def test_batch_and_sequence_split_without_resharding(divisi, generated):
    """Both are dims of their own, though the export flattened them."""
    m = generated("gpt2.py", "--size", "tiny", "--batch", 4, "--seq", 16)
    divisi("plan", m.onnx, "--devices", 4, "--data-parallel-size", 4,
           "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    edited = "\n".join(map(by_batch_and_sequence, text.splitlines()))
    # Two layers of two products, two biases and the activation.
    assert len(re.findall(r"@d0, \w+@d1>", edited)) == 2 * 5
    divisi.path("e.mlir").write_text(edited)
    rows = explain(divisi, "e.mlir")["rows"]
    for layer in range(2):
        inside = [i for i, row in enumerate(rows)
                  if f"h.{layer}.mlp" in row["layer"]
                  and row["op"].startswith("nn.")]
        assert len(inside) == 5
        assert all(not row["op"].startswith("spmd.")
                   for row in rows[inside[0]:inside[-1]])
    divisi("compile", "e.mlir", "--data", m.onnx, "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)


def test_twelve_heads_over_one_axis_of_eight(divisi, generated):
    """2, 2, 2, 2, 2, 2, 0, 0: two devices have no head at all."""
    m = generated("gpt2.py", "--size", "tiny", "--batch", 2, "--seq", 16)
    flags = ("--devices", 8, "--mesh", "model=8")
    divisi("compile", m.onnx, *flags, "--dump-after", "partition",
           "-o", "m.divisi")
    [attended] = set(re.findall(
        r"nn\.attention .*-> (tensor<[^ ]* #spmd\.local<\(model=8\), [^>]*>>)",
        divisi.path(f"{m.name}.partition.mlir").read_text()))
    assert attended.startswith("tensor<2x16x2x8xf32"), attended
    assert "[*, *, model, *], 2x16x12x8" in attended
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)


def test_twelve_heads_over_four_of_eight(divisi, generated):
    """The other axis is free for something else: here it takes the batch."""
    m = generated("gpt2.py", "--size", "tiny", "--batch", 2, "--seq", 16)
    flags = ("--devices", 8, "--mesh", "model=4,rest=2")
    facts = explain(divisi, m.onnx, *flags)
    splits = {r["split"] for r in facts["rows"] if r["op"] == "nn.attention"}
    assert splits == {"b@rest, h@model"}
    divisi("compile", m.onnx, *flags, "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)
