#!/usr/bin/env python3
"""Writes a multi-layer perceptron in ONNX, as PyTorch exports nn.Linear.

    mlp.py --batch 32 --widths 784,512,512,10 -o mlp.onnx

Each layer is a Gemm with a transposed weight and a bias, with Relu between
layers. Weights are random and keep the scale of what they get (He).
"""

import packages

packages.require("numpy", "onnx")

from onnx import TensorProto

import layers
from graph import Graph, make_parser, write_model


def build(widths, batch, seed):
    g = Graph("main_graph", seed)
    x = g.input("x", TensorProto.FLOAT, [batch, widths[0]])
    last = len(widths) - 2
    for layer, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        gain = 1.0 if layer == 0 else layers.AFTER_RELU
        x = layers.linear(g, x, inputs, outputs, f"layers.{2 * layer}", gain)
        if layer < last:
            x = layers.relu(g, x, f"layers.{2 * layer + 1}")
    g.output(x, TensorProto.FLOAT, [batch, widths[-1]])
    return g


def parse_widths(text):
    widths = [int(part) for part in text.split(",")]
    if len(widths) < 2 or min(widths) < 1:
        raise ValueError(text)
    return widths


def main():
    parser = make_parser(__doc__, batch=32)
    parser.add_argument("--widths", type=parse_widths,
                        default=[784, 512, 512, 10],
                        help="features in, of each hidden layer, out")
    arguments = parser.parse_args()
    write_model(build(arguments.widths, arguments.batch, arguments.seed),
                arguments)


if __name__ == "__main__":
    main()
