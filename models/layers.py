"""Layers that several generators have, as PyTorch exports its modules.

Weights keep the scale of what they get: `gain` is the square root of two
after a ReLU, which halves the mean square (He), and one elsewhere, also after
max-pooling, whose largest of four about makes up for the ReLU before.
"""

import math

AFTER_RELU = math.sqrt(2)
AFTER_POOL = 1.0


def linear(g, x, inputs, outputs, scope, gain=1.0):
    """nn.Linear on [batch, inputs]: a Gemm with a transposed weight."""
    weight = g.weight(f"{scope}.weight", (outputs, inputs),
                      gain / math.sqrt(inputs))
    bias = g.weight(f"{scope}.bias", (outputs,), 0.02)
    return g.node("linear", "Gemm", [x, weight, bias], scope, alpha=1.0,
                  beta=1.0, transA=0, transB=1)


def relu(g, x, scope):
    return g.node("relu", "Relu", [x], scope)


def conv(g, x, inputs, outputs, kernel, scope, gain=1.0):
    """nn.Conv2d of an odd kernel whose padding keeps height and width."""
    weight = g.weight(f"{scope}.weight", (outputs, inputs, kernel, kernel),
                      gain / (kernel * math.sqrt(inputs)))
    bias = g.weight(f"{scope}.bias", (outputs,), 0.02)
    return g.node("conv2d", "Conv", [x, weight, bias], scope,
                  auto_pad="NOTSET", dilations=[1, 1], group=1,
                  pads=[kernel // 2] * 4, strides=[1, 1])


def conv_transpose(g, x, inputs, outputs, scope, gain=1.0):
    """nn.ConvTranspose2d that doubles height and width by tiles of 2 x 2."""
    weight = g.weight(f"{scope}.weight", (inputs, outputs, 2, 2),
                      gain / math.sqrt(inputs))
    bias = g.weight(f"{scope}.bias", (outputs,), 0.02)
    return g.node("conv_transpose2d", "ConvTranspose", [x, weight, bias],
                  scope, auto_pad="NOTSET", dilations=[1, 1], group=1,
                  pads=[0] * 4, strides=[2, 2])


def max_pool(g, x, scope):
    """nn.MaxPool2d(2): half the height and width, rounded down."""
    return g.node("max_pool2d", "MaxPool", [x], scope, auto_pad="NOTSET",
                  ceil_mode=0, dilations=[1, 1], kernel_shape=[2, 2],
                  pads=[0] * 4, storage_order=0, strides=[2, 2])
