#!/usr/bin/env python3
"""Writes a GPT-2 in ONNX, as PyTorch exports Hugging Face's model.

    gpt2.py --size small --batch 1 --seq 128 -o gpt2.onnx

What exports have and textbooks do not: query, key and value come from one
Gemm on [batch * seq, width] and a Split; reshapes stand around every Gemm;
the mask is computed from Range and LessOrEqual; keys are transposed through
a 3-d reshape; softmax is guarded against rows of NaN; GELU is Pow, Mul, Add
and Tanh; the embedding is used again, transposed, for the logits.

Weights are random with unit gain: each projection keeps the scale of what it
gets, so that the logits have standard deviation one.
"""

import argparse
import math
import sys
from dataclasses import dataclass

import packages

packages.require("numpy", "onnx")

import numpy as np
from onnx import TensorProto

from graph import Graph


@dataclass(frozen=True)
class Size:
    layers: int
    width: int
    heads: int
    vocabulary: int = 50257
    positions: int = 1024


SIZES = {
    "tiny": Size(2, 96, 12, 384, 64),
    "small": Size(12, 768, 12),      # 124 million parameters
    "medium": Size(24, 1024, 16),    # 355 million
    "large": Size(36, 1280, 20),     # 774 million
    "xl": Size(48, 1600, 25),        # 1558 million
}


class Exporter:
    """One GPT-2 graph of `batch` x `seq` tokens."""

    def __init__(self, size, batch, seq, seed):
        self.size, self.batch, self.seq = size, batch, seq
        self.graph = Graph("main_graph", seed)

    def build(self):
        g, size = self.graph, self.size
        ids = g.input("input_ids", TensorProto.INT64, [self.batch, self.seq])
        embedding = g.weight("lm_head.weight", (size.vocabulary, size.width),
                             1 / math.sqrt(size.width))
        x = self.embed(ids, embedding)
        mask = self.mask()
        for layer in range(size.layers):
            x = self.block(x, mask, f"transformer.h.{layer}")
        x = self.layer_norm(x, "transformer.ln_f")
        transposed = g.node("t", "Transpose", [embedding], "lm_head",
                            perm=[1, 0])
        logits = g.node("logits", "MatMul", [x, transposed], "lm_head")
        g.output(logits, TensorProto.FLOAT,
                 [self.batch, self.seq, size.vocabulary])
        return g

    def embed(self, ids, embedding):
        g, scope = self.graph, "transformer"
        ids = g.node("view", "Reshape", [ids, g.ints(-1, self.seq)], scope,
                     allowzero=1)
        tokens = g.node("embedding", "Gather", [embedding, ids],
                        f"{scope}.wte", axis=0)
        positions = g.weight("transformer.wpe.weight",
                             (self.size.positions, self.size.width),
                             1 / math.sqrt(self.size.width))
        self.range = g.node("arange", "Range", [
            g.constant(0, np.int64), g.constant(self.seq, np.int64),
            g.constant(1, np.int64)], scope)
        index = g.node("unsqueeze", "Unsqueeze", [self.range, g.ints(0)],
                       scope)
        positions = g.node("embedding", "Gather", [positions, index],
                           f"{scope}.wpe", axis=0)
        return g.node("add", "Add", [tokens, positions], scope)

    def mask(self):
        """What is added to the scores: 0 where key <= query, else -inf."""
        g, scope = self.graph, "transformer"
        query = g.node("unsqueeze", "Unsqueeze",
                       [self.range, g.ints(0, 1, 3)], scope)
        key = g.node("unsqueeze", "Unsqueeze",
                     [self.range, g.ints(0, 1, 2)], scope)
        allowed = g.node("le", "LessOrEqual", [key, query], scope)
        allowed = g.node("bitwise_and", "And", [
            g.constant(True, np.bool_), allowed], scope)
        allowed = g.node("expand", "Expand", [
            allowed, g.ints(self.batch, 1, self.seq, self.seq)], scope)
        return g.node("where", "Where", [
            allowed, g.constant(0, np.float32),
            g.constant(np.finfo(np.float32).min, np.float32)], scope)

    def block(self, x, mask, scope):
        g = self.graph
        y = self.layer_norm(x, f"{scope}.ln_1")
        y = self.attention(y, mask, f"{scope}.attn")
        x = g.node("add", "Add", [y, x], scope)
        y = self.layer_norm(x, f"{scope}.ln_2")
        y = self.mlp(y, f"{scope}.mlp")
        return g.node("add", "Add", [x, y], scope)

    def attention(self, x, mask, scope):
        g, size = self.graph, self.size
        head = size.width // size.heads
        x = self.linear(x, size.width, 3 * size.width, f"{scope}.c_attn")
        q, k, v = g.node("split", "Split", [x], scope, outputs=3, axis=2,
                         num_outputs=3)
        k, v, q = (self.heads(part, scope) for part in (k, v, q))
        inner = scope
        flat = g.node("sdpa_view", "Reshape", [k, g.ints(-1, self.seq, head)],
                      inner, allowzero=0)
        flat = g.node("sdpa_t", "Transpose", [flat], inner, perm=[0, 2, 1])
        k = g.node("sdpa_view", "Reshape", [
            flat, g.ints(self.batch, size.heads, head, self.seq)], inner,
            allowzero=0)
        # The scale goes in two halves, one on each side.
        scale = g.constant(head ** -0.25, np.float32)
        q = g.node("sdpa_mul", "Mul", [q, scale], inner)
        k = g.node("sdpa_mul", "Mul", [k, scale], inner)
        scores = g.node("sdpa_matmul", "MatMul", [q, k], inner)
        scores = g.node("sdpa_add", "Add", [scores, mask], inner)
        weights = g.node("sdpa_softmax", "Softmax", [scores], inner, axis=-1)
        bad = g.node("sdpa_isnan", "IsNaN", [weights], inner)
        weights = g.node("sdpa_where", "Where", [
            bad, g.constant(0, np.float32), weights], inner)
        x = g.node("scaled_dot_product_attention", "MatMul", [weights, v],
                   inner)
        x = g.node("transpose", "Transpose", [x], scope, perm=[0, 2, 1, 3])
        return self.linear(x, size.width, size.width, f"{scope}.c_proj",
                           self.residual_gain())

    def heads(self, x, scope):
        """[batch, seq, width] -> [batch, heads, seq, width / heads]"""
        g, size = self.graph, self.size
        x = g.node("view", "Reshape", [
            x, g.ints(self.batch, self.seq, -1, size.width // size.heads)],
            scope, allowzero=1)
        return g.node("transpose", "Transpose", [x], scope, perm=[0, 2, 1, 3])

    def mlp(self, x, scope):
        width = self.size.width
        x = self.linear(x, width, 4 * width, f"{scope}.c_fc")
        x = self.gelu(x, f"{scope}.act")
        return self.linear(x, 4 * width, width, f"{scope}.c_proj",
                           self.residual_gain())

    def residual_gain(self):
        """Two projections a layer add up to about the residual's scale."""
        return 1 / math.sqrt(2 * self.size.layers)

    def gelu(self, x, scope):
        """x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))"""
        g = self.graph

        def number(value):
            return g.constant(value, np.float32)

        half = g.node("mul", "Mul", [x, number(0.5)], scope)
        cube = g.node("pow", "Pow", [x, number(3)], scope)
        cube = g.node("mul", "Mul", [cube, number(0.044715)], scope)
        inner = g.node("add", "Add", [x, cube], scope)
        inner = g.node("mul", "Mul", [inner, number(math.sqrt(2 / math.pi))],
                       scope)
        tanh = g.node("tanh", "Tanh", [inner], scope)
        tanh = g.node("add", "Add", [tanh, number(1)], scope)
        return g.node("mul", "Mul", [half, tanh], scope)

    def linear(self, x, inputs, outputs, scope, gain=1.0):
        """Hugging Face's Conv1D: a Gemm on [batch * seq, inputs]."""
        g = self.graph
        weight = g.weight(f"{scope}.weight", (inputs, outputs),
                          gain / math.sqrt(inputs))
        bias = g.weight(f"{scope}.bias", (outputs,), 0.02)
        x = g.node("view", "Reshape", [x, g.ints(-1, inputs)], scope,
                   allowzero=1)
        x = g.node("addmm", "Gemm", [x, weight, bias], scope, alpha=1.0,
                   beta=1.0, transA=0, transB=0)
        return g.node("view", "Reshape", [
            x, g.ints(self.batch, self.seq, outputs)], scope, allowzero=1)

    def layer_norm(self, x, scope):
        g, width = self.graph, self.size.width
        weight = g.weight(f"{scope}.weight", (width,), 0.02, mean=1.0)
        bias = g.weight(f"{scope}.bias", (width,), 0.02)
        return g.node("layer_norm", "LayerNormalization", [x, weight, bias],
                      scope, axis=-1, epsilon=1e-5, stash_type=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weightless", action="store_true",
                        help="declare external weights, write none")
    parser.add_argument("-o", dest="output", required=True)
    arguments = parser.parse_args()
    size = SIZES[arguments.size]
    if arguments.batch < 1:
        parser.error(f"--batch {arguments.batch}: expected at least 1")
    if not 1 <= arguments.seq <= size.positions:
        parser.error(f"--seq {arguments.seq}: expected 1 to {size.positions}, "
                     f"the positions of {arguments.size}")
    graph = Exporter(size, arguments.batch, arguments.seq,
                     arguments.seed).build()
    graph.write(arguments.output, arguments.weightless)
    print(f"{arguments.output}: {len(graph.nodes)} nodes, "
          f"{graph.weight_bytes() / 1e6:.0f} MB of weights"
          f"{' declared, none written' if arguments.weightless else ''}",
          file=sys.stderr)


if __name__ == "__main__":
    main()
