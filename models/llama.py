#!/usr/bin/env python3
"""Writes a Llama 3 in ONNX, as PyTorch exports Hugging Face's model.

    llama.py --weightless -o llama-70b.onnx

What exports have and textbooks do not: weights are [outputs, inputs] and
transposed in the graph; RMSNorm is Pow, ReduceMean, Sqrt, Reciprocal and Mul,
in float32 whatever the model is in, as are the angles of the rotary
embedding; its halves are turned by Slice, Neg and Concat; keys and values are
repeated for the heads that share them by Expand and Reshape.
"""

import math
from dataclasses import dataclass

import packages

packages.require("numpy", "onnx", "ml_dtypes")

import numpy as np
from onnx import TensorProto

import transformer

ROTARY_BASE = 500000.0
EPSILON = 1e-5
# silu(a) * b of independent normal values has this standard deviation.
SWIGLU_STD = 0.596


@dataclass(frozen=True, kw_only=True)
class Size(transformer.Size):
    inner: int
    kv_heads: int
    vocabulary: int = 128256

    def changed(self, **fields):
        """An inner width that is not given keeps its ratio to the width."""
        width = fields.get("width", self.width)
        return super().changed(
            **{"inner": self.inner * width // self.width, **fields})

    def check(self, seq):
        super().check(seq)
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} heads: expected a multiple of the "
                             f"{self.kv_heads} of keys (--kv-heads)")
        if self.head % 2:
            raise ValueError(f"width {self.width}: expected an even number a "
                             f"head, which rotation pairs, got {self.head}")


SIZES = {
    "8b": Size(32, 4096, 32, inner=14336, kv_heads=8),
    "70b": Size(80, 8192, 64, inner=28672, kv_heads=8),
}


class Exporter(transformer.Decoder):
    scope = "model"

    def embed(self, ids):
        g, size = self.graph, self.size
        embedding = g.weight("model.embed_tokens.weight",
                             (size.vocabulary, size.width), 1.0)
        x = g.node("embedding", "Gather", [embedding, ids],
                   "model.embed_tokens", axis=0)
        self.cos, self.sin = self.rotary_angles(self.arange())
        return x

    def rotary_angles(self, positions):
        """The cosines and sines of each position's angles, [1, 1, seq,
        head]: one angle for each pair of a head."""
        g, head, scope = self.graph, self.size.head, "model.rotary_emb"
        powers = np.arange(0, head, 2, np.float32) / np.float32(head)
        frequencies = g.constant(np.float32(ROTARY_BASE) ** -powers,
                                 np.float32, "model.rotary_emb.inv_freq")
        x = g.node("unsqueeze", "Unsqueeze", [positions, g.ints(0, 2)], scope)
        x = g.node("_to_copy", "Cast", [x], scope, to=TensorProto.FLOAT)
        x = g.node("mul", "Mul", [x, frequencies], scope)
        x = g.node("cat", "Concat", [x, x], scope, axis=-1)
        parts = []
        for value, op in (("cos", "Cos"), ("sin", "Sin")):
            part = self.to_floats(g.node(value, op, [x], scope), scope)
            parts.append(g.node("unsqueeze", "Unsqueeze", [part, g.ints(1)],
                                scope))
        return parts

    def to_floats(self, x, scope):
        """A value of float32 in the floats of the model."""
        g = self.graph
        if g.floats == TensorProto.FLOAT:
            return x
        return g.node("_to_copy", "Cast", [x], scope, to=g.floats)

    def block(self, x, mask, layer):
        g, scope = self.graph, f"{self.scope}.layers.{layer}"
        y = self.rms_norm(x, f"{scope}.input_layernorm")
        y = self.attention(y, mask, f"{scope}.self_attn")
        x = g.node("add", "Add", [x, y], scope)
        y = self.rms_norm(x, f"{scope}.post_attention_layernorm")
        y = self.mlp(y, self.inner[layer], f"{scope}.mlp")
        return g.node("add", "Add", [x, y], scope)

    def logits(self, x):
        size = self.size
        x = self.rms_norm(x, "model.norm")
        return self.linear(x, size.width, size.vocabulary, "lm_head",
                           value="logits")

    def attention(self, x, mask, scope):
        g, size = self.graph, self.size
        keys = size.kv_heads * size.head
        q, k, v = (self.heads(self.linear(x, size.width, width,
                                          f"{scope}.{name}"), scope)
                   for name, width in (("q_proj", size.width),
                                       ("k_proj", keys), ("v_proj", keys)))
        q, k = (self.rotate(part, scope) for part in (q, k))
        k, v = (self.repeat(part, scope) for part in (k, v))
        x = self.attend(q, k, v, mask, scope)
        x = g.node("view", "Reshape", [
            x, g.ints(self.batch, self.seq, -1)], scope, allowzero=1)
        return self.linear(x, size.width, size.width, f"{scope}.o_proj",
                           self.residual_gain())

    def rotate(self, x, scope):
        """x cos + (-x's second half, x's first half) sin"""
        g, half = self.graph, self.size.head // 2
        straight = g.node("mul", "Mul", [x, self.cos], scope)
        first, second = (
            g.node("slice", "Slice", [x, g.ints(begin), g.ints(end),
                                      g.ints(3), g.ints(1)], scope)
            for begin, end in ((0, half), (half, np.iinfo(np.int64).max)))
        second = g.node("neg", "Neg", [second], scope)
        turned = g.node("cat", "Concat", [second, first], scope, axis=-1)
        turned = g.node("mul", "Mul", [turned, self.sin], scope)
        return g.node("add", "Add", [straight, turned], scope)

    def repeat(self, x, scope):
        """[batch, kv_heads, seq, head] -> [batch, heads, seq, head]: each
        as often as heads share it."""
        g, size = self.graph, self.size
        if size.heads == size.kv_heads:
            return x
        x = g.node("unsqueeze", "Unsqueeze", [x, g.ints(2)], scope)
        x = g.node("expand", "Expand", [
            x, g.ints(self.batch, size.kv_heads, size.heads // size.kv_heads,
                      self.seq, size.head)], scope)
        return g.node("_unsafe_view", "Reshape", [
            x, g.ints(self.batch, size.heads, self.seq, size.head)], scope,
            allowzero=1)

    def mlp(self, x, inner, scope):
        g, width = self.graph, self.size.width
        gate = self.linear(x, width, inner, f"{scope}.gate_proj")
        sigmoid = g.node("sigmoid", "Sigmoid", [gate], f"{scope}.act_fn")
        gate = g.node("silu", "Mul", [gate, sigmoid], f"{scope}.act_fn")
        up = self.linear(x, width, inner, f"{scope}.up_proj")
        x = g.node("mul", "Mul", [gate, up], scope)
        return self.linear(x, inner, width, f"{scope}.down_proj",
                           self.residual_gain() / SWIGLU_STD)

    def linear(self, x, inputs, outputs, scope, gain=1.0, value="linear"):
        """x times the transposed weight; no biases in this model."""
        g = self.graph
        weight = g.weight(f"{scope}.weight", (outputs, inputs),
                          gain / math.sqrt(inputs))
        weight = g.node("t", "Transpose", [weight], scope, perm=[1, 0])
        return g.node(value, "MatMul", [x, weight], scope)

    def rms_norm(self, x, scope):
        """weight * x / sqrt(mean(x^2) + epsilon)"""
        g = self.graph
        weight = g.weight(f"{scope}.weight", (self.size.width,), 0.02,
                          mean=1.0)
        if g.floats != TensorProto.FLOAT:
            x = g.node("_to_copy", "Cast", [x], scope, to=TensorProto.FLOAT)
        square = g.node("pow", "Pow", [x, g.constant(2, np.float32)], scope)
        mean = g.node("mean", "ReduceMean", [square, g.ints(-1)], scope,
                      keepdims=1, noop_with_empty_axes=0)
        mean = g.node("add", "Add", [mean, g.constant(EPSILON, np.float32)],
                      scope)
        root = g.node("sqrt", "Sqrt", [mean], scope)
        inverse = g.node("rsqrt", "Reciprocal", [root], scope)
        x = g.node("mul", "Mul", [x, inverse], scope)
        x = self.to_floats(x, scope)
        return g.node("mul", "Mul", [weight, x], scope)


if __name__ == "__main__":
    transformer.run_command(__doc__, Exporter, SIZES, "70b", batch=8,
                            seq=2048, floats="bf16")
