#!/usr/bin/env python3
"""Writes a small Inception network in ONNX, as PyTorch exports such a module.

    inception.py --batch 1 --blocks 3 -o inception.onnx

A convolution with pooling, and blocks of four columns (1 x 1; 1 x 1 and 3 x 3;
1 x 1 and twice 3 x 3; pooling and 1 x 1) that a Concat joins, as in the
networks of Szegedy et al., without batch norms, which an export for inference
has folded; then a mean over the image and a dense layer.
"""

import packages

packages.require("numpy", "onnx")

from onnx import TensorProto

import layers
from graph import Graph, make_parser, positive, write_model


def conv(g, x, inputs, outputs, kernel, scope):
    x = layers.conv(g, x, inputs, outputs, kernel, scope, layers.AFTER_RELU)
    return layers.relu(g, x, f"{scope}.relu")


def block(g, x, inputs, width, scope):
    """Four columns of `width` channels each."""
    ones = conv(g, x, inputs, width, 1, f"{scope}.branch1x1")
    threes = conv(g, x, inputs, width, 1, f"{scope}.branch3x3_1")
    threes = conv(g, threes, width, width, 3, f"{scope}.branch3x3_2")
    fives = conv(g, x, inputs, width, 1, f"{scope}.branch5x5_1")
    fives = conv(g, fives, width, width, 3, f"{scope}.branch5x5_2")
    fives = conv(g, fives, width, width, 3, f"{scope}.branch5x5_3")
    pooled = g.node("max_pool2d", "MaxPool", [x], scope, kernel_shape=[3, 3],
                    strides=[1, 1], pads=[1, 1, 1, 1])
    pooled = conv(g, pooled, inputs, width, 1, f"{scope}.branch_pool")
    return g.node("cat", "Concat", [ones, threes, fives, pooled], scope,
                  axis=1)


def build(batch, seed, image=64, blocks=3, width=64, classes=1000):
    g = Graph("main_graph", seed)
    x = g.input("x", TensorProto.FLOAT, [batch, 3, image, image])
    x = conv(g, x, 3, width, 3, "stem")
    x = layers.max_pool(g, x, "stem.pool")
    channels = width
    for index in range(blocks):
        x = block(g, x, channels, width, f"blocks.{index}")
        channels = 4 * width
    x = g.node("mean", "ReduceMean", [x, g.ints(2, 3)], "", keepdims=0)
    x = layers.linear(g, x, channels, classes, "fc", layers.AFTER_RELU)
    g.output(x, TensorProto.FLOAT, [batch, classes])
    return g


def main():
    parser = make_parser(__doc__, batch=1)
    parser.add_argument("--image", type=positive, default=64,
                        help="height and width")
    parser.add_argument("--blocks", type=positive, default=3)
    parser.add_argument("--width", type=positive, default=64,
                        help="channels of a column")
    parser.add_argument("--classes", type=positive, default=1000)
    arguments = parser.parse_args()
    if arguments.image < 2:
        parser.error(f"--image {arguments.image}: expected at least 2")
    write_model(build(arguments.batch, arguments.seed, arguments.image,
                      arguments.blocks, arguments.width, arguments.classes),
                arguments)


if __name__ == "__main__":
    main()
