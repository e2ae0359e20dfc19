#!/usr/bin/env python3
"""Writes a decoder with mixtures of experts in ONNX, as GShard has them.

    moe.py --weightless -o moe-2.4b.onnx

GPT-2's architecture, in which every other layer, the first one on, has experts in
place of its MLP (Lepikhin et al., "GShard", 2020). Tokens are in groups of
`--group`. A softmax chooses two experts for each of them. An expert takes
2 * group / experts tokens of a group, the first ones that come, and leaves out the
others. Products with one-hot matrices send tokens to experts and gather the results.
"""

import math
from dataclasses import dataclass

import packages

packages.require("numpy", "onnx", "ml_dtypes")

import gpt2
import layers
import numpy as np
import transformer
from onnx import TensorProto


@dataclass(frozen=True)
class Size(gpt2.Size):
    vocabulary: int = 32000
    experts: int = 16
    group: int = 2048

    @property
    def inner(self):
        return 8 * self.width

    @property
    def capacity(self):
        """Tokens of a group that an expert takes."""
        return 2 * self.group // self.experts

    def check(self, seq):
        super().check(seq)
        if not 2 <= self.experts <= 2 * self.group:
            raise ValueError(f"--experts {self.experts}: expected 2 to "
                             f"{2 * self.group}, twice the tokens of a group")


# What Alpa was measured with (Zheng et al., 2022), by number of parameters.
SIZES = {
    "380m": Size(8, 768, 16, experts=8),
    "690m": Size(8, 768, 16),
    "1.3b": Size(16, 768, 16),
    "2.4b": Size(16, 1024, 16),
    "10b": Size(16, 1536, 16, experts=32),
    "27b": Size(16, 2048, 16, experts=48),
    "70b": Size(32, 2048, 16, experts=64),
}


class Exporter(gpt2.Exporter):

    def __init__(self, size, batch, seq, *others):
        if batch * seq % size.group:
            raise ValueError(f"{batch * seq} tokens: expected a multiple of the "
                             f"group of {size.group}; give --group, or another "
                             "--batch or --seq")
        super().__init__(size, batch, seq, *others)

    def block(self, x, mask, layer):
        if layer % 2:
            return super().block(x, mask, layer)
        g, scope = self.graph, f"{self.scope}.h.{layer}"
        y = self.layer_norm(x, f"{scope}.ln_1")
        y = self.attention(y, mask, f"{scope}.attn")
        x = g.node("add", "Add", [y, x], scope)
        y = self.layer_norm(x, f"{scope}.ln_2")
        y = self.experts(y, self.inner[layer], f"{scope}.moe")
        return g.node("add", "Add", [x, y], scope)

    def experts(self, x, inner, scope):
        """[batch, seq, width] -> the same"""
        g, size = self.graph, self.size
        x = g.node("view", "Reshape", [x, g.ints(-1, size.group, size.width)],
                   scope, allowzero=1)
        weight = g.weight(f"{scope}.gate.weight", (size.width, size.experts),
                          1 / math.sqrt(size.width))
        gates = g.node("gate", "MatMul", [x, weight], f"{scope}.gate")
        gates = g.node("softmax", "Softmax", [gates], f"{scope}.gate", axis=-1)
        combine, dispatch = self.route(gates, f"{scope}.gate")
        y = g.node("dispatch", "Einsum", [dispatch, x], scope,
                   equation="gsec,gsm->egcm")
        y = self.each_expert(y, inner, scope)
        y = g.node("combine", "Einsum", [combine, y], scope,
                   equation="gsec,egcm->gsm")
        return g.node("view", "Reshape", [
            y, g.ints(self.batch, self.seq, size.width)], scope, allowzero=1)

    def each_expert(self, x, inner, scope):
        """[experts, groups, capacity, width] -> the same"""
        g, size = self.graph, self.size
        up = g.weight(f"{scope}.up", (size.experts, size.width, inner),
                      1 / math.sqrt(size.width))
        down = g.weight(f"{scope}.down", (size.experts, inner, size.width),
                        layers.AFTER_RELU / math.sqrt(inner))
        x = g.node("up", "Einsum", [x, up], scope, equation="egcm,emh->egch")
        x = layers.relu(g, x, scope)
        return g.node("down", "Einsum", [x, down], scope,
                      equation="egch,ehm->egcm")

    def route(self, gates, scope):
        """[groups, group, experts] -> how much each token [groups, group, experts,
        capacity] counts of an expert's results, and whether it is sent."""
        g = self.graph
        first = self.largest(gates, scope)
        share = g.node("mul", "Mul", [gates, first], scope)
        second = self.largest(g.node("sub", "Sub", [gates, share], scope), scope)
        other = g.node("mul", "Mul", [gates, second], scope)
        # Of its second choice an expert takes tokens behind all of its first.
        count = g.node("sum", "ReduceSum", [first, g.ints(1)], scope, keepdims=1)
        parts = [self.places(first, None, scope), self.places(second, count, scope)]
        shares = [g.node("sum", "ReduceSum", [g.node(
            "mul", "Mul", [each, kept], scope), g.ints(-1)], scope, keepdims=1)
            for each, (kept, _) in zip((share, other), parts)]
        total = g.node("add", "Add", shares, scope)
        total = g.node("max", "Max", [total, g.number(1e-6)], scope)
        combine = []
        for each, (kept, at) in zip(shares, parts):
            each = g.node("div", "Div", [each, total], scope)
            each = g.node("mul", "Mul", [each, kept], scope)
            each = g.node("unsqueeze", "Unsqueeze", [each, g.ints(-1)], scope)
            combine.append(g.node("mul", "Mul", [each, at], scope))
        combine = g.node("add", "Add", combine, scope)
        sent = g.node("gt", "Greater", [combine, g.number(0)], scope)
        return combine, g.node("to", "Cast", [sent], scope, to=g.floats)

    def largest(self, gates, scope):
        """One for the largest of each token's gates, and else zeros."""
        g = self.graph
        index = g.node("argmax", "ArgMax", [gates], scope, axis=-1, keepdims=0)
        return g.node("one_hot", "OneHot", [
            index, g.constant(self.size.experts, np.int64),
            g.constant([0, 1], g.dtype)], scope, axis=-1)

    def places(self, chosen, before, scope):
        """Of tokens that have chosen an expert, those for which it has room, and
        at which of its places [groups, group, 1, capacity] each is."""
        g = self.graph
        whole = g.node("to", "Cast", [chosen], scope, to=TensorProto.INT64)
        at = g.node("cumsum", "CumSum", [whole, g.constant(1, np.int64)], scope,
                    exclusive=1)
        if before:
            at = g.node("add", "Add", [at, g.node(
                "to", "Cast", [before], scope, to=TensorProto.INT64)], scope)
        at = g.node("mul", "Mul", [at, whole], scope)
        at = g.node("sum", "ReduceSum", [at, g.ints(-1)], scope, keepdims=1)
        room = g.node("lt", "Less", [
            at, g.constant(self.size.capacity, np.int64)], scope)
        room = g.node("to", "Cast", [room], scope, to=g.floats)
        kept = g.node("mul", "Mul", [chosen, room], scope)
        # Beyond the capacity nothing is hot.
        return kept, g.node("one_hot", "OneHot", [
            at, g.constant(self.size.capacity, np.int64),
            g.constant([0, 1], g.dtype)], scope, axis=-1)


if __name__ == "__main__":
    transformer.run_command(__doc__, Exporter, SIZES, "2.4b", batch=8, seq=1024,
                            floats="f16")
