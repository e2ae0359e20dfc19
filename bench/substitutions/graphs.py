"""Writes ONNX graphs of layers with random weights, as exporters do.

A Net collects nodes. What several layers may share is one call (`products`,
`convs`), so that a model can be written as it is exported, or with that call
done by one operator.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 20


class Net:
    """One graph; weights of a name are the same in all of its forms."""

    def __init__(self, name, form):
        self.name, self.form = name, form
        self.nodes, self.weights, self.inputs, self.outputs = [], {}, [], []
        self.count = 0

    def input(self, name, *shape):
        self.inputs.append(helper.make_tensor_value_info(
            name, TensorProto.FLOAT, shape))
        return name

    def output(self, value, *shape):
        self.outputs.append(helper.make_tensor_value_info(
            value, TensorProto.FLOAT, shape))

    def fresh(self, stem):
        self.count += 1
        return f"{stem}_{self.count}"

    def constant(self, value, name=None):
        name = name or self.fresh("c")
        self.weights[name] = value
        return name

    def draw(self, name, *shape, fan=None):
        """Values that keep the scale of what is multiplied by them."""
        fan = fan or int(np.prod(shape[:-1]))
        seed = int.from_bytes(f"{self.name}/{name}".encode(), "little")
        random = np.random.default_rng(seed)
        return (random.standard_normal(shape, np.float32)
                / np.float32(fan) ** np.float32(0.5))

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [self.fresh(kind.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names,
                                           names[0], **attributes))
        return names[0] if outputs == 1 else names

    def save(self, path):
        import onnx
        graph = helper.make_graph(
            self.nodes, self.name, self.inputs, self.outputs,
            [numpy_helper.from_array(value, name)
             for name, value in self.weights.items()])
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", OPSET)]), path)

    # Layers of matrices.

    def split(self, x, parts, axis):
        sizes = self.constant(np.int64(parts))
        return self.op("Split", x, sizes, outputs=len(parts), axis=axis)

    def products(self, x, names, inner, widths, bias=True):
        """x by one matrix of each name; one product of all if the form joins
        them: `columns` beside each other, `stack` one behind the other."""
        weights = [self.draw(name, inner, width)
                   for name, width in zip(names, widths)]
        biases = [self.draw(name + ".bias", width, fan=100)
                  for name, width in zip(names, widths)]
        if self.form == "columns" and len(names) > 1:
            y = self.op("MatMul", x, self.constant(np.concatenate(weights, 1)))
            if bias:
                y = self.op("Add", y, self.constant(np.concatenate(biases)))
            return self.split(y, widths, -1)
        if self.form == "stack" and len(names) > 1 and len(set(widths)) == 1:
            y = self.op("MatMul", x, self.constant(np.stack(weights)))
            if bias:
                y = self.op("Add", y, self.constant(np.stack(biases)[:, None]))
            parts = self.split(y, [1] * len(names), 0)
            axes = self.constant(np.int64([0]))
            return [self.op("Squeeze", part, axes) for part in parts]
        outputs = []
        for weight, vector in zip(weights, biases):
            y = self.op("MatMul", x, self.constant(weight))
            outputs.append(self.op("Add", y, self.constant(vector))
                           if bias else y)
        return outputs

    def linear(self, x, name, inner, width, bias=True):
        [y] = self.products(x, [name], inner, [width], bias)
        return y

    def layer_norm(self, x, name, width):
        return self.op("LayerNormalization", x,
                       self.constant(1 + self.draw(name, width, fan=100)),
                       self.constant(self.draw(name + ".b", width, fan=100)))

    def rms_norm(self, x, name, width):
        square = self.op("Mul", x, x)
        mean = self.op("ReduceMean", square,
                       self.constant(np.int64([-1])), keepdims=1)
        root = self.op("Sqrt", self.op(
            "Add", mean, self.constant(np.float32(1e-5))))
        return self.op("Mul", self.op("Div", x, root), self.constant(
            1 + self.draw(name, width, fan=100)))

    # Layers of images.

    def filters(self, name, outputs, inputs, kernel):
        return self.draw(name, outputs, inputs, kernel, kernel,
                         fan=inputs * kernel * kernel)

    def conv_of(self, x, weight, bias, stride=1, pad=None, group=1):
        height, width = weight.shape[2:]
        pads = ([height // 2, width // 2] * 2 if pad is None else [pad] * 4)
        inputs = [x, self.constant(weight)]
        if bias is not None:
            inputs.append(self.constant(bias))
        return self.op("Conv", *inputs, pads=pads, strides=[stride] * 2,
                       kernel_shape=[height, width], group=group,
                       dilations=[1, 1])

    def conv(self, x, name, inputs, outputs, kernel, stride=1, pad=None,
             group=1):
        """With a bias and ReLU, as batch normalization leaves it."""
        shape = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        weight = self.draw(name, outputs, inputs // group, *shape,
                           fan=inputs // group * shape[0] * shape[1] / 2)
        y = self.conv_of(x, weight, self.draw(name + ".bias", outputs, fan=9),
                         stride, pad, group)
        return self.op("Relu", y)
