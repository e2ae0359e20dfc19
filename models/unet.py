#!/usr/bin/env python3
"""Writes a U-Net in ONNX, as PyTorch exports the usual module.

    unet.py --height 2048 --width 2048 --weightless -o unet.onnx

Ronneberger's of 2015: two convolutions of 3 x 3 with a ReLU each, at 64 to
1,024 channels, down by max-pooling and up by transposed convolutions, which
meet what went down at their height; a last convolution of 1 x 1. Convolutions
are padded, as is usual since, so that the output is as large as the image; a
side that does not halve evenly is padded on its way up.
"""

import math

import packages

packages.require("numpy", "onnx")

from onnx import TensorProto

import layers
from graph import Graph, make_parser, positive, write_model

# Half of the channels have been through a ReLU.
AFTER_JOIN = math.sqrt(4 / 3)


class Exporter:
    """One U-Net of `batch` images of `inputs` channels."""

    def __init__(self, batch, height, width, seed, inputs=3, channels=64,
                 classes=2, depth=4):
        self.graph = Graph("main_graph", seed)
        self.shape = [batch, inputs, height, width]
        self.classes = classes
        self.channels = [channels << level for level in range(depth + 1)]

    def build(self):
        g, (batch, inputs, height, width) = self.graph, self.shape
        x = g.input("x", TensorProto.FLOAT, self.shape)
        x = self.double_conv(x, inputs, self.channels[0], "inc", 1.0)
        skips = [(x, (height, width))]
        for level, (above, below) in enumerate(
                zip(self.channels, self.channels[1:]), 1):
            scope = f"down{level}.maxpool_conv"
            x = layers.max_pool(g, x, f"{scope}.0")
            x = self.double_conv(x, above, below, f"{scope}.1",
                                 layers.AFTER_POOL)
            skips.append((x, (height >> level, width >> level)))
        _, size = skips.pop()
        for index, (skip, larger) in enumerate(reversed(skips), 1):
            x = self.up(x, size, skip, larger, index)
            size = larger
        x = layers.conv(g, x, self.channels[0], self.classes, 1, "outc.conv",
                        layers.AFTER_RELU)
        g.output(x, TensorProto.FLOAT, [batch, self.classes, height, width])
        return g

    def up(self, x, size, skip, larger, index):
        """Doubles x, of `size`, and joins it with what went down."""
        g, scope = self.graph, f"up{index}"
        below, above = self.channels[-index], self.channels[-index - 1]
        x = layers.conv_transpose(g, x, below, above, f"{scope}.up",
                                  layers.AFTER_RELU)
        missing = [side - 2 * half for side, half in zip(larger, size)]
        if any(missing):
            # Of a side that was odd one row or column is missing, at its end.
            x = g.node("pad", "Pad", [
                x, g.ints(0, 0, 0, 0, 0, 0, *missing), g.number(0)], scope,
                mode="constant")
        x = g.node("cat", "Concat", [skip, x], scope, axis=1)
        return self.double_conv(x, 2 * above, above, f"{scope}.conv",
                                AFTER_JOIN)

    def double_conv(self, x, inputs, outputs, scope, gain):
        g, scope = self.graph, f"{scope}.double_conv"
        x = layers.conv(g, x, inputs, outputs, 3, f"{scope}.0", gain)
        x = layers.relu(g, x, f"{scope}.1")
        x = layers.conv(g, x, outputs, outputs, 3, f"{scope}.2",
                        layers.AFTER_RELU)
        return layers.relu(g, x, f"{scope}.3")


def main():
    parser = make_parser(__doc__, batch=1)
    parser.add_argument("--height", type=positive, default=2048)
    parser.add_argument("--width", type=positive, default=2048)
    parser.add_argument("--inputs", type=positive, default=3,
                        help="channels of the image")
    parser.add_argument("--channels", type=positive, default=64,
                        help="of the first convolution")
    parser.add_argument("--classes", type=positive, default=2)
    parser.add_argument("--depth", type=positive, default=4,
                        help="how often the image is halved")
    arguments = parser.parse_args()
    if min(arguments.height, arguments.width) >> arguments.depth < 1:
        parser.error(f"--height {arguments.height} --width {arguments.width}: "
                     f"expected at least {1 << arguments.depth}, which can be "
                     f"halved {arguments.depth} times")
    write_model(Exporter(
        arguments.batch, arguments.height, arguments.width, arguments.seed,
        arguments.inputs, arguments.channels, arguments.classes,
        arguments.depth).build(), arguments)


if __name__ == "__main__":
    main()
