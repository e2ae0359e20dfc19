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

import math
from dataclasses import dataclass

import packages

packages.require("numpy", "onnx", "ml_dtypes")

import transformer


@dataclass(frozen=True)
class Size(transformer.Size):
    vocabulary: int = 50257
    positions: int = 1024

    @property
    def inner(self):
        return 4 * self.width

    def check(self, seq):
        super().check(seq)
        if seq > self.positions:
            raise ValueError(f"--seq {seq}: expected 1 to {self.positions}, "
                             "the positions of this size")


SIZES = {
    "tiny": Size(2, 96, 12, 384, 64),
    "small": Size(12, 768, 12),      # 124 million parameters
    "medium": Size(24, 1024, 16),    # 355 million
    "large": Size(36, 1280, 20),     # 774 million
    "xl": Size(48, 1600, 25),        # 1558 million
}


class Exporter(transformer.Decoder):
    scope = "transformer"

    def embed(self, ids):
        g, size, scope = self.graph, self.size, self.scope
        std = 1 / math.sqrt(size.width)
        self.embedding = g.weight("lm_head.weight",
                                  (size.vocabulary, size.width), std)
        ids = g.node("view", "Reshape", [ids, g.ints(-1, self.seq)], scope,
                     allowzero=1)
        tokens = g.node("embedding", "Gather", [self.embedding, ids],
                        f"{scope}.wte", axis=0)
        positions = g.weight("transformer.wpe.weight",
                             (size.positions, size.width), std)
        index = g.node("unsqueeze", "Unsqueeze", [self.arange(), g.ints(0)],
                       scope)
        positions = g.node("embedding", "Gather", [positions, index],
                           f"{scope}.wpe", axis=0)
        return g.node("add", "Add", [tokens, positions], scope)

    def logits(self, x):
        g = self.graph
        x = self.layer_norm(x, f"{self.scope}.ln_f")
        transposed = g.node("t", "Transpose", [self.embedding], "lm_head",
                            perm=[1, 0])
        return g.node("logits", "MatMul", [x, transposed], "lm_head")

    def block(self, x, mask, layer):
        g, scope = self.graph, f"{self.scope}.h.{layer}"
        y = self.layer_norm(x, f"{scope}.ln_1")
        y = self.attention(y, mask, f"{scope}.attn")
        x = g.node("add", "Add", [y, x], scope)
        y = self.layer_norm(x, f"{scope}.ln_2")
        y = self.mlp(y, self.inner[layer], f"{scope}.mlp")
        return g.node("add", "Add", [x, y], scope)

    def attention(self, x, mask, scope):
        g, width = self.graph, self.size.width
        x = self.linear(x, width, 3 * width, f"{scope}.c_attn")
        q, k, v = g.node("split", "Split", [x], scope, outputs=3, axis=2,
                         num_outputs=3)
        k, v, q = (self.heads(part, scope) for part in (k, v, q))
        x = self.attend(q, k, v, mask, scope)
        return self.linear(x, width, width, f"{scope}.c_proj",
                           self.residual_gain())

    def mlp(self, x, inner, scope):
        width = self.size.width
        x = self.linear(x, width, inner, f"{scope}.c_fc")
        x = self.gelu(x, f"{scope}.act")
        return self.linear(x, inner, width, f"{scope}.c_proj",
                           self.residual_gain())

    def gelu(self, x, scope):
        """x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))"""
        g = self.graph
        half = g.node("mul", "Mul", [x, g.number(0.5)], scope)
        cube = g.node("pow", "Pow", [x, g.number(3)], scope)
        cube = g.node("mul", "Mul", [cube, g.number(0.044715)], scope)
        inner = g.node("add", "Add", [x, cube], scope)
        inner = g.node("mul", "Mul", [
            inner, g.number(math.sqrt(2 / math.pi))], scope)
        tanh = g.node("tanh", "Tanh", [inner], scope)
        tanh = g.node("add", "Add", [tanh, g.number(1)], scope)
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


if __name__ == "__main__":
    transformer.run_command(__doc__, Exporter, SIZES, "small", batch=1,
                            seq=128, floats="f32")
