"""Megatron's tensor parallelism comes out of an exported GPT-2 by itself.

Plans only: the weights of the 124 million parameters are declared, not there.
That such plans compute the same is shown on small models in models_test.py.
"""

import json
import re
from collections import Counter

import pytest

LAYERS = 12


@pytest.fixture(scope="module")
def explained(tmp_path_factory, generated):
    from conftest import Divisi
    m = generated("gpt2.py", "--size", "small", "--batch", 8, "--seq", 1024,
                  "--weightless")
    divisi = Divisi(tmp_path_factory.mktemp("megatron"))
    result = divisi("explain", m.onnx, "--tensor-parallel-size", 4,
                    "--cluster", "dgx-h100:4", "--json")
    return json.loads(result.out)


def collectives(explained):
    """[(kind, scope, bytes of one device)] of the whole step."""
    return [(c["kind"], c["scope"], c["bytes"])
            for c in explained["collectives"]]


def layer_of(scope):
    found = re.search(r"\bh\.(\d+)\b", scope)
    return int(found.group(1)) if found else None


def test_each_device_holds_at_most_thirty_percent_of_the_weights(explained):
    total = explained["memory"]["weight_bytes"]
    assert total >= 4 * 124_000_000
    devices = explained["memory"]["per_device"]
    assert len(devices) == 4
    for device in devices:
        assert device["weight_bytes"] <= 0.30 * total


def test_tied_embedding_is_split_by_vocabulary(explained):
    [embedding] = [g for g in explained["globals"]
                   if g["shape"] == [50257, 768]]
    assert re.fullmatch(r"\[\w[\w.]*, \*\]", embedding["layout"]), embedding


def test_two_all_reduces_a_layer(explained):
    """Or as many reduce-scatters, each with its all-gather."""
    kinds = {layer: Counter() for layer in range(LAYERS)}
    for kind, scope, _ in collectives(explained):
        layer = layer_of(scope)
        if layer is not None:
            kinds[layer][kind] += 1
    for layer, count in kinds.items():
        sums = count["all_reduce"] + count["reduce_scatter"]
        assert sums == 2, (layer, count)
        assert count["all_gather"] <= count["reduce_scatter"], (layer, count)
        assert not count["all_to_all"], (layer, count)


def test_queries_keys_and_values_are_not_gathered(explained):
    """From the fused product on, attention is split by heads all the way."""
    for layer in range(LAYERS):
        ops = [row["op"] for row in explained["rows"]
               if layer_of(row["layer"]) == layer]
        products = [i for i, op in enumerate(ops) if op == "nn.matmul"]
        # Fused QKV and projection; then the MLP's two.
        assert len(products) == 4
        inside = ops[products[0]:products[1]]
        assert "nn.attention" in inside
        assert not [op for op in inside if op.startswith("spmd.")], inside
