#!/usr/bin/env python3
"""Writes a small ResNet in ONNX, as PyTorch exports one for small images.

    resnet.py --batch 16 --image 16 --channels 16 --blocks 3 -o resnet.onnx

A convolution, then stages of one block of two convolutions each, of which all
but the first halve height and width and double the channels; the mean over the
image, and a dense layer. Each convolution has a batch norm behind it, with the
running statistics of an export for inference.
"""

import packages

packages.require("numpy", "onnx")

from onnx import TensorProto

import layers
from graph import Graph, make_parser, positive, write_model


def norm(g, x, channels, scope, gain=1.0):
    inputs = [g.weight(f"{scope}.{name}", (channels,), std, mean)
              for name, std, mean in (("weight", 0.02, gain), ("bias", 0.02, 0.0),
                                      ("running_mean", 0.01, 0.0),
                                      ("running_var", 0.01, 1.0))]
    return g.node("batch_norm", "BatchNormalization", [x, *inputs], scope,
                  epsilon=1e-5, momentum=0.9)


def conv(g, x, inputs, outputs, kernel, stride, scope):
    weight = g.weight(f"{scope}.weight", (outputs, inputs, kernel, kernel),
                      layers.AFTER_RELU / (kernel * inputs ** 0.5))
    return g.node("conv2d", "Conv", [x, weight], scope, auto_pad="NOTSET",
                  dilations=[1, 1], group=1, pads=[kernel // 2] * 4,
                  strides=[stride, stride])


def block(g, x, inputs, outputs, stride, scope):
    y = conv(g, x, inputs, outputs, 3, stride, f"{scope}.conv1")
    y = layers.relu(g, norm(g, y, outputs, f"{scope}.bn1"), scope)
    y = conv(g, y, outputs, outputs, 3, 1, f"{scope}.conv2")
    y = norm(g, y, outputs, f"{scope}.bn2")
    if stride != 1:
        x = conv(g, x, inputs, outputs, 1, stride, f"{scope}.downsample.0")
        x = norm(g, x, outputs, f"{scope}.downsample.1")
    return layers.relu(g, g.node("add", "Add", [y, x], scope), scope)


def build(batch, seed, image=16, channels=16, blocks=3, classes=4):
    g = Graph("main_graph", seed)
    x = g.input("image", TensorProto.FLOAT, [batch, 3, image, image])
    x = conv(g, x, 3, channels, 3, 1, "conv1")
    x = layers.relu(g, norm(g, x, channels, "bn1"), "relu")
    for stage in range(blocks):
        outputs = channels * (2 if stage else 1)
        x = block(g, x, channels, outputs, 2 if stage else 1,
                  f"layer{stage + 1}.0")
        channels = outputs
    x = g.node("mean", "ReduceMean", [x, g.ints(2, 3)], "avgpool", keepdims=0)
    x = layers.linear(g, x, channels, classes, "fc")
    g.output(x, TensorProto.FLOAT, [batch, classes])
    return g


def main():
    parser = make_parser(__doc__, batch=16)
    for name, default in (("image", 16), ("channels", 16), ("blocks", 3),
                          ("classes", 4)):
        parser.add_argument(f"--{name}", type=positive, default=default)
    arguments = parser.parse_args()
    write_model(build(arguments.batch, arguments.seed, arguments.image,
                      arguments.channels, arguments.blocks,
                      arguments.classes), arguments)


if __name__ == "__main__":
    main()
