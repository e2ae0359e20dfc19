#!/usr/bin/env python3
"""Writes a VGG-16 in ONNX, as PyTorch exports torchvision's.

    vgg16.py --batch 8 -o vgg16.onnx

Thirteen convolutions of 3 x 3 with a ReLU each, in five blocks that end in
max-pooling, and three dense layers. The first dense layer takes what the
image leaves; torchvision's pooling to 7 x 7 before it is no node where the
image has 224 x 224. There is no dropout, as in all exports for inference.
"""

import packages

packages.require("numpy", "onnx")

from onnx import TensorProto

import layers
from graph import Graph, make_parser, positive, write_model

# Convolutions of each block, and their channels by those of the first.
BLOCKS = ((2, 1), (2, 2), (3, 4), (3, 8), (3, 8))


def build(batch, seed, image=224, channels=64, hidden=4096, classes=1000):
    g = Graph("main_graph", seed)
    x = g.input("x", TensorProto.FLOAT, [batch, 3, image, image])
    inputs, index, gain = 3, 0, 1.0
    for count, factor in BLOCKS:
        for _ in range(count):
            x = layers.conv(g, x, inputs, channels * factor, 3,
                            f"features.{index}", gain)
            x = layers.relu(g, x, f"features.{index + 1}")
            inputs, gain = channels * factor, layers.AFTER_RELU
            index += 2
        x = layers.max_pool(g, x, f"features.{index}")
        index, gain = index + 1, layers.AFTER_POOL
    side = image >> len(BLOCKS)
    x = g.node("view", "Reshape", [x, g.ints(batch, inputs * side * side)],
               "", allowzero=1)
    widths = (inputs * side * side, hidden, hidden, classes)
    for index, (before, width) in enumerate(zip(widths, widths[1:])):
        # Between them torchvision has a ReLU and a Dropout each.
        x = layers.linear(g, x, before, width, f"classifier.{3 * index}", gain)
        if index < 2:
            x = layers.relu(g, x, f"classifier.{3 * index + 1}")
            gain = layers.AFTER_RELU
    g.output(x, TensorProto.FLOAT, [batch, classes])
    return g


def main():
    parser = make_parser(__doc__, batch=1)
    parser.add_argument("--image", type=positive, default=224,
                        help="height and width; 32 at least")
    parser.add_argument("--channels", type=positive, default=64,
                        help="of the first block")
    parser.add_argument("--hidden", type=positive, default=4096,
                        help="width of the dense layers")
    parser.add_argument("--classes", type=positive, default=1000)
    arguments = parser.parse_args()
    if arguments.image < 32:
        parser.error(f"--image {arguments.image}: expected at least 32")
    write_model(build(arguments.batch, arguments.seed, arguments.image,
                      arguments.channels, arguments.hidden,
                      arguments.classes), arguments)


if __name__ == "__main__":
    main()
