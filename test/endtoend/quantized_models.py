"""Small quantized models, as quantizers write them."""
import numpy as np
import onnx
from onnx import helper, numpy_helper


class Graph:
    """Nodes of a model in QuantizeLinear and DequantizeLinear."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.tensors = [], []

    def constant(self, value):
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(value, name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name],
                                           **attributes))
        return name

    def requantize(self, x, scale, zero=117):
        """To codes and back, as quantizers write it behind every operator."""
        scaling = [self.constant(np.float32(scale)),
                   self.constant(np.uint8(zero))]
        codes = self.node("QuantizeLinear", x, *scaling)
        return self.node("DequantizeLinear", codes, *scaling)

    def dynamic(self, x):
        """The codes of x, their scale, and their zero point."""
        names = [f"d{len(self.nodes)}.{i}" for i in range(3)]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], names))
        return names

    def weights(self, *shape, axis=0):
        codes = self.random.integers(-127, 128, shape).astype(np.int8)
        scales = self.random.uniform(.5, 1, shape[axis]).astype(np.float32)
        scales *= np.float32(.02 / np.sqrt(np.prod(shape) / shape[axis]))
        zeros = np.zeros(shape[axis], np.int8)
        return self.node("DequantizeLinear", *map(
            self.constant, (codes, scales, zeros)), axis=axis)

    def save(self, path, x, y, result):
        graph = helper.make_graph(
            self.nodes, "quantized",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x)],
            [helper.make_tensor_value_info(y, onnx.TensorProto.FLOAT,
                                           result)],
            self.tensors)
        onnx.save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)],
            ir_version=9), path)


def bias(graph, count):
    return graph.constant(
        graph.random.standard_normal(count).astype(np.float32))


def cnn(path):
    """A residual block between a pool and a mean."""
    g = Graph(1)
    x = g.requantize("x", .03)
    x = g.node("Conv", x, g.weights(12, 3, 3, 3), bias(g, 12),
               pads=[1, 1, 1, 1])
    x = g.requantize(g.node("Relu", x), .02, 0)
    x = g.requantize(g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2],
                            pads=[1, 1, 1, 1]), .02, 0)
    y = g.node("Conv", x, g.weights(12, 1, 3, 3), bias(g, 12), group=12,
               pads=[1, 1, 1, 1])
    y = g.requantize(y, .025)
    y = g.node("Conv", y, g.weights(12, 12, 1, 1), bias(g, 12))
    x = g.requantize(g.node("Add", x, g.requantize(y, .03)), .03)
    y = g.node("ReduceMean", x, g.constant(np.array([2, 3])))
    y = g.node("Gemm", g.requantize(g.node("Flatten", y), .01),
               g.weights(12, 5, axis=1), bias(g, 5))
    shape = [3, 3, 14, 11]
    g.save(path, shape, y, [3, 5])
    return shape


def attention(path):
    """Heads whose products are of two activations."""
    g = Graph(2)
    x = g.requantize("x", .03)

    def heads(permutation):
        y = g.requantize(
            g.node("MatMul", x, g.weights(24, 24, axis=1)), .02)
        y = g.node("Add", y, bias(g, 24))
        y = g.node("Reshape", y, g.constant(np.array([2, 7, 4, 6])))
        return g.requantize(g.node("Transpose", y, perm=permutation), .03)

    scores = g.requantize(
        g.node("MatMul", heads([0, 2, 1, 3]), heads([0, 2, 3, 1])), .1)
    weights = g.requantize(g.node("Softmax", scores, axis=-1), 1 / 255, 0)
    y = g.requantize(g.node("MatMul", weights, heads([0, 2, 1, 3])), .03)
    y = g.node("Reshape", g.node("Transpose", y, perm=[0, 2, 1, 3]),
               g.constant(np.array([2, 7, 24])))
    y = g.node("MatMul", g.requantize(y, .03), g.weights(24, 24, axis=1))
    shape = [2, 7, 24]
    g.save(path, shape, g.node("Add", g.requantize(y, .03), x), shape)
    return shape


def dynamic(path):
    """Scales and zero points of activations are known when it runs."""
    g = Graph(3)
    x = "x"
    for _ in range(2):
        codes = g.random.integers(-127, 128, (24, 24)).astype(np.int8)
        scales = g.random.uniform(.001, .002, 24).astype(np.float32)
        q, scale, zero = g.dynamic(x)
        y = g.node("MatMulInteger", q, g.constant(codes), zero)
        y = g.node("Cast", y, to=onnx.TensorProto.FLOAT)
        y = g.node("Mul", y, g.node("Mul", scale, g.constant(scales)))
        x = g.node("Relu", g.node("Add", y, bias(g, 24)))
    shape = [2, 7, 24]
    g.save(path, shape, x, shape)
    return shape


MODELS = {"cnn": cnn, "attention": attention, "dynamic": dynamic}
