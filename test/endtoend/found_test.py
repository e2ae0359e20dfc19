"""What people split by hand comes out of the search by itself.

Plans only, of models whose weights are declared and not there: GPT-3 with all
its widths and two layers, a U-Net, GPT-2.
"""

import json

import pytest
from conftest import Divisi
from plan_text import Plan

NODE = 8


def plan_of(divisi, model, *flags):
    divisi("plan", model.onnx, *flags, "-o", "p.mlir")
    return Plan(divisi.path("p.mlir").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Divisi(tmp_path_factory.mktemp("found"))


@pytest.fixture(scope="module")
def gpt3(folder, generated):
    """On 8 nodes of 8. 17 GB of weights have to be shared by a node, as the 350
    of all 96 layers would where a device has 80; 0.9 GiB of the limit are for
    contexts and NCCL."""
    m = generated("gpt3.py", "--layers", 2, "--dtype", "f32", "--weightless")
    return plan_of(folder, m, "--cluster", "dgx-h100:64",
                   "--memory-limit", "3.7GiB")


def test_batch_is_split_across_nodes_and_little_else(gpt3):
    """Over the slow links between nodes, nothing has to move."""
    assert gpt3.axes == {"x0": 8, "x1": 2, "x2": 4}
    products = gpt3.named("matmul", "transformer.h")
    assert len(products) == 2 * 4
    for op in products:
        batch = op.labels.split("->")[1][0]
        assert op.axes[batch][0] == "x0", op.line
        assert set(op.axes) - {batch} and "x0" not in {
            axis for loop, axes in op.axes.items() if loop != batch
            for axis in axes}


def test_heads_are_split_within_a_node(gpt3):
    """From the fused product, whose labels are those of c, b, h and d, on."""
    for op in gpt3.named("matmul", "attn.c_attn"):
        assert op.labels == "mak,knbc->manbc" and "x2" in op.axes["b"]
    attentions = gpt3.named("attention")
    assert len(attentions) == 2
    for op in attentions:
        assert op.axes == {"b": ("x0",), "h": ("x2",), "s": ("x1",)}


def test_columns_then_rows(gpt3):
    """Megatron's pair in the MLP: its sums are all that has to move."""
    for wide, narrow in zip(gpt3.named("matmul", "mlp.c_fc"),
                            gpt3.named("matmul", "mlp.c_proj"), strict=True):
        assert wide.axes["n"] == narrow.axes["k"] == ("x1", "x2")


def test_one_table_is_split_by_vocabulary_for_embedding_and_logits(gpt3):
    """It is tied: 2.5 GB, of which a device has a part at most."""
    shape, dims = gpt3.places["lm_head.weight"]
    assert shape == "50257x12288xf32" and dims[0] == "x2"
    [embedding] = gpt3.named("gather")
    [logits] = gpt3.named("matmul", "lm_head")
    assert embedding.axes["v"] == logits.axes["n"] == ("x2",)


def test_large_image_is_split_by_rows_that_overlap(folder, generated):
    """A batch of one leaves height, width and channels: halos are cheapest."""
    m = generated("unet.py", "--weightless")
    plan = plan_of(folder, m, "--cluster", "dgx-h100:8")
    # At 3 x 3 an output's row needs three of the input.
    convolutions = [op for op in plan.named("conv") if "x3x3xf32>)" in op.line]
    assert len(convolutions) == 18
    for op in convolutions:
        [(loop, axes)] = op.axes.items()
        assert loop in ("o0", "o1") and plan.degree(axes) == 8, op.line
    facts = json.loads(folder("explain", "p.mlir", "--json").out)
    moved = [c for c in facts["collectives"] if c["bytes"]]
    assert {c["kind"] for c in moved} == {"exchange"}
    # At most four of 2,048 rows of 64 channels: two of each neighbour.
    assert all(c["bytes"] <= 4 * 64 * 2048 * 4 for c in moved)


@pytest.mark.sample()
@pytest.mark.parametrize("cluster, crossing", [
    # Half of each node; or a third of 12 that no even split keeps in nodes.
    (("dgx-h100:16", "--devices", 12), 2), (("dgx-h100:12",), 3)],
    ids=["of-16", "of-12"])
def test_twelve_devices_over_nodes_of_eight(folder, generated, cluster,
                                            crossing):
    m = generated("gpt2.py", "--size", "small", "--layers", 2, "--batch", 12,
                  "--seq", 1024, "--weightless")
    eight = plan_of(folder, m, "--cluster", "dgx-h100:8")
    twelve = plan_of(folder, m, "--cluster", *cluster)
    assert twelve.nanoseconds <= eight.nanoseconds
    facts = json.loads(folder("explain", "p.mlir", "--json").out)
    [grid] = facts["grids"]
    devices = grid["devices"]
    assert len(devices) == 12
    # Along which axes does a step of one leave the node?
    stride, crossed = 12, {}
    for axis, size in twelve.axes.items():
        stride //= size
        steps = [(a, b) for i, a in enumerate(devices)
                 for b in [devices[(i + stride) % 12]]
                 if i // stride % size < size - 1]
        if any(a // NODE != b // NODE for a, b in steps):
            crossed[axis] = size
    assert list(crossed.values()) == [crossing]
