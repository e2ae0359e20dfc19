"""Quantized models: weights stay codes, products are of integers, and any plan
computes what one device does, but for codes that lie between two."""
import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import load
from onnx import helper, numpy_helper

PLANS = {
    "one": ["--devices", 1],
    "found": ["--devices", 3],
    "uneven": ["--mesh", "3x2", "--solver", "random", "--seed", 3],
    "random": ["--devices", 4, "--solver", "random", "--seed", 5],
}


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


MODELS = {"cnn": cnn, "attention": attention}


def expected(path, x):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    session = onnxruntime.InferenceSession(path, options)
    [y] = session.run(None, {"x": x})
    return y


@pytest.mark.parametrize("name", MODELS)
def test_every_plan_computes_what_one_device_does(divisi, name):
    path = divisi.path("m.onnx")
    shape = MODELS[name](path)
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    np.savez(divisi.path("x.npz"), x=x)
    results = {}
    for plan, flags in PLANS.items():
        divisi("compile", "m.onnx", *flags, "-o", "m.divisi")
        divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
        [results[plan]] = load(divisi.path("y.npz")).values()
    y = expected(path, x)
    # A code that lies between two is one step off, and others follow it.
    assert np.sqrt(np.mean((results["one"] - y) ** 2)) < .03 * y.std()
    for plan, values in results.items():
        off = np.abs(values - results["one"])
        assert np.mean(off > 1e-5) < .02, plan


@pytest.mark.parametrize("name", MODELS)
def test_weights_stay_codes(divisi, name):
    path = divisi.path("m.onnx")
    MODELS[name](path)
    divisi("compile", "m.onnx", "--devices", 1, "-o", "m.divisi",
           "--dump-after", "import", "--dump-to", ".")
    text = divisi.path("m.import.mlir").read_text(encoding="utf-8")
    if "_integer" not in text:
        pytest.skip("this processor does not multiply bytes: products are of "
                    "floats")
    assert " nn.conv " not in text and " nn.matmul " not in text
    codes = [t for t in onnx.load(path).graph.initializer
             if t.data_type == onnx.TensorProto.INT8 and len(t.dims) > 1]
    for tensor in codes:
        assert f"nn.global @{tensor.name} parameter" in text
        assert f"@{tensor.name}.derived" not in text
