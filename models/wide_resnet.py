#!/usr/bin/env python3
"""Writes a Wide ResNet in ONNX, as PyTorch exports torchvision's, without weights.

    wide_resnet.py --size 250m --batch 32 --weightless -o wide-250m.onnx

ResNet's bottlenecks, whose 3 x 3 convolutions are wider than their others
(Zagoruyko and Komodakis, "Wide Residual Networks", 2016): a convolution of 7 x 7
and pooling, four stages that each double the channels, the mean over the image, and
a dense layer. Each convolution has a batch norm behind it.
"""

from dataclasses import dataclass

import packages

packages.require("numpy", "onnx")

from onnx import TensorProto

import layers
from graph import Graph, make_parser, positive, write_model
from resnet import conv, norm


@dataclass(frozen=True)
class Size:
    """Convolutions, channels of the first stage, and how much wider the 3 x 3
    convolutions are."""
    layers: int
    channels: int
    factor: int


# What Alpa was measured with (Zheng et al., 2022), by number of parameters.
SIZES = {
    "250m": Size(50, 160, 2),
    "500m": Size(50, 224, 2),
    "1b": Size(50, 320, 2),
    "2b": Size(50, 448, 2),
    "4b": Size(50, 640, 2),
    "6.8b": Size(50, 320, 16),
}
# Blocks of each stage.
BLOCKS = {26: (2, 2, 2, 2), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}
EXPANSION = 4  # of a block's last convolution


def bottleneck(g, x, inputs, width, factor, stride, gain, scope):
    """`gain` is that of what it adds to its input."""
    outputs = EXPANSION * width
    y = x
    for index, (before, after, kernel, step) in enumerate((
            (inputs, width, 1, 1), (width, factor * width, 3, stride),
            (factor * width, outputs, 1, 1)), 1):
        y = conv(g, y, before, after, kernel, step, f"{scope}.conv{index}")
        y = norm(g, y, after, f"{scope}.bn{index}", gain if index == 3 else 1.0)
        if index < 3:
            y = layers.relu(g, y, f"{scope}.relu")
    if stride != 1 or inputs != outputs:
        x = conv(g, x, inputs, outputs, 1, stride, f"{scope}.downsample.0")
        x = norm(g, x, outputs, f"{scope}.downsample.1")
    return layers.relu(g, g.node("add", "Add", [y, x], scope), f"{scope}.relu")


def build(size, batch, seed, image=224, classes=1024):
    g = Graph("main_graph", seed)
    x = g.input("image", TensorProto.FLOAT, [batch, 3, image, image])
    x = conv(g, x, 3, size.channels, 7, 2, "conv1")
    x = layers.relu(g, norm(g, x, size.channels, "bn1"), "relu")
    x = g.node("max_pool2d", "MaxPool", [x], "maxpool", auto_pad="NOTSET",
               ceil_mode=0, dilations=[1, 1], kernel_shape=[3, 3],
               pads=[1] * 4, storage_order=0, strides=[2, 2])
    channels = size.channels
    gain = sum(BLOCKS[size.layers]) ** -0.5  # all add up to about their input
    for stage, count in enumerate(BLOCKS[size.layers]):
        width = size.channels << stage
        for block in range(count):
            x = bottleneck(g, x, channels, width, size.factor,
                           2 if stage and not block else 1, gain,
                           f"layer{stage + 1}.{block}")
            channels = EXPANSION * width
    x = g.node("mean", "ReduceMean", [x, g.ints(2, 3)], "avgpool", keepdims=0)
    x = layers.linear(g, x, channels, classes, "fc")
    g.output(x, TensorProto.FLOAT, [batch, classes])
    return g


def main():
    parser = make_parser(__doc__, batch=32)
    parser.add_argument("--size", choices=SIZES, default="250m")
    parser.add_argument("--layers", type=int, choices=BLOCKS,
                        help="instead of the size's")
    for name in ("channels", "factor"):
        parser.add_argument(f"--{name}", type=positive,
                            help="instead of the size's")
    for name, default in (("image", 224), ("classes", 1024)):
        parser.add_argument(f"--{name}", type=positive, default=default)
    arguments = parser.parse_args()
    size = SIZES[arguments.size]
    size = Size(arguments.layers or size.layers,
                arguments.channels or size.channels,
                arguments.factor or size.factor)
    write_model(build(size, arguments.batch, arguments.seed, arguments.image,
                      arguments.classes), arguments)


if __name__ == "__main__":
    main()
