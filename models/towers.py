#!/usr/bin/env python3
"""Writes a model of several towers in ONNX, as PyTorch exports such a module.

    towers.py --batch 32 --widths 512,1024,1024,256 --towers 2 -o towers.onnx

Each tower is a multi-layer perceptron on an input of its own, and nothing
connects them but the end: the first one's features meet those of each other
tower by a product, as the similarities of pairs in CLIP.
"""

import packages

packages.require("numpy", "onnx")

from onnx import TensorProto

import layers
from graph import Graph, make_parser, positive, write_model
from mlp import parse_widths


def tower(g, x, widths, scope):
    last = len(widths) - 2
    for layer, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        gain = 1.0 if layer == 0 else layers.AFTER_RELU
        x = layers.linear(g, x, inputs, outputs, f"{scope}.{2 * layer}", gain)
        if layer < last:
            x = layers.relu(g, x, f"{scope}.{2 * layer + 1}")
    return x


def build(widths, towers, batch, seed):
    g = Graph("main_graph", seed)
    inputs = [g.input(f"x{i}", TensorProto.FLOAT, [batch, widths[0]])
              for i in range(towers)]
    first, *others = [tower(g, x, widths, f"towers.{i}")
                      for i, x in enumerate(inputs)]
    for other in others:
        turned = g.node("t", "Transpose", [other], "", perm=[1, 0])
        g.output(g.node("matmul", "MatMul", [first, turned], ""),
                 TensorProto.FLOAT, [batch, batch])
    return g


def main():
    parser = make_parser(__doc__, batch=32)
    parser.add_argument("--widths", type=parse_widths,
                        default=[512, 1024, 1024, 256],
                        help="features in, of each hidden layer, out")
    parser.add_argument("--towers", type=positive, default=2)
    arguments = parser.parse_args()
    if arguments.towers < 2:
        parser.error(f"--towers {arguments.towers}: expected at least 2")
    write_model(build(arguments.widths, arguments.towers, arguments.batch,
                      arguments.seed), arguments)


if __name__ == "__main__":
    main()
