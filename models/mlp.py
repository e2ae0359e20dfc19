#!/usr/bin/env python3
"""Writes a multi-layer perceptron in ONNX, as PyTorch exports nn.Linear.

    mlp.py --batch 32 --widths 784,512,512,10 -o mlp.onnx

Each layer is a Gemm with a transposed weight and a bias, with Relu between
layers. Weights are random and keep the scale of what they get (He).
"""

import argparse
import math
import sys

import packages

packages.require("numpy", "onnx")

from onnx import TensorProto

from graph import Graph


def build(widths, batch, seed):
    g = Graph("main_graph", seed)
    x = g.input("x", TensorProto.FLOAT, [batch, widths[0]])
    last = len(widths) - 2
    for layer, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        scope = f"layers.{2 * layer}"
        gain = 1 if layer == 0 else math.sqrt(2)
        weight = g.weight(f"{scope}.weight", (outputs, inputs),
                          gain / math.sqrt(inputs))
        bias = g.weight(f"{scope}.bias", (outputs,), 0.02)
        x = g.node("linear", "Gemm", [x, weight, bias], scope, alpha=1.0,
                   beta=1.0, transA=0, transB=1)
        if layer < last:
            x = g.node("relu", "Relu", [x], f"layers.{2 * layer + 1}")
    g.output(x, TensorProto.FLOAT, [batch, widths[-1]])
    return g


def parse_widths(text):
    widths = [int(part) for part in text.split(",")]
    if len(widths) < 2 or min(widths) < 1:
        raise ValueError(text)
    return widths


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--widths", type=parse_widths,
                        default=[784, 512, 512, 10],
                        help="features in, of each hidden layer, out")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weightless", action="store_true",
                        help="declare external weights, write none")
    parser.add_argument("-o", dest="output", required=True)
    arguments = parser.parse_args()
    if arguments.batch < 1:
        parser.error(f"--batch {arguments.batch}: expected at least 1")
    graph = build(arguments.widths, arguments.batch, arguments.seed)
    graph.write(arguments.output, arguments.weightless)
    print(f"{arguments.output}: {len(graph.nodes)} nodes, "
          f"{graph.weight_bytes() / 1e6:.1f} MB of weights", file=sys.stderr)


if __name__ == "__main__":
    main()
