"""ONNX models as functions of PyTorch, operator by operator, so that what
PyTorch makes of a model can be trained beside what Divisi does. Knows the
operators of the models in the tree and of exports like them.

As a program it trains: see main()."""

import json
import sys

import numpy as np
import onnx
import torch
from onnx import numpy_helper

TYPES = {onnx.TensorProto.FLOAT: torch.float32,
         onnx.TensorProto.DOUBLE: torch.float64,
         onnx.TensorProto.INT64: torch.int64,
         onnx.TensorProto.INT32: torch.int32,
         onnx.TensorProto.BOOL: torch.bool}


class TorchModel:
    """A model of which all floats have one type. `weights` are its
    initializers of floats that are no scalars, by name; `statistics` the names
    of those that batch norms update."""

    def __init__(self, path, dtype=torch.float32):
        self.graph = onnx.load(path).graph
        self.dtype = dtype
        self.constants, self.weights = {}, {}
        for stored in self.graph.initializer:
            value = self.tensor(numpy_helper.to_array(stored))
            one = value.numel() == 1 or not value.is_floating_point()
            (self.constants if one else self.weights)[stored.name] = value
        self.statistics = [name for node in self.graph.node
                           if node.op_type == "BatchNormalization"
                           for name in node.input[3:]]

    def tensor(self, array):
        value = torch.from_numpy(np.array(array))
        return value.to(self.dtype) if value.is_floating_point() else value

    def outputs(self, inputs):
        """All outputs, by name."""
        values = {"": None, **self.constants, **self.weights}
        values.update({k: self.tensor(v) for k, v in inputs.items()})
        for node in self.graph.node:
            attributes = {a.name: onnx.helper.get_attribute_value(a)
                          for a in node.attribute}
            arguments = [values[name] for name in node.input]
            results = getattr(self, node.op_type)(*arguments, **attributes)
            if not isinstance(results, (tuple, list)):
                results = [results]
            values.update(zip(node.output, results))
        return {o.name: values[o.name] for o in self.graph.output}

    # Operators.

    def Constant(self, value):
        return self.tensor(numpy_helper.to_array(value))

    def ConstantOfShape(self, shape, value):
        fill = self.tensor(numpy_helper.to_array(value))
        return fill.reshape(()).expand(shape.tolist()).clone()

    def Cast(self, x, to):
        wanted = TYPES[to]
        return x.to(self.dtype if wanted.is_floating_point else wanted)

    def Shape(self, x, start=0, end=None):
        return torch.tensor(x.shape[start:end])

    def Reshape(self, x, shape, allowzero=0):
        extents = [x.shape[i] if e == 0 and not allowzero else e
                   for i, e in enumerate(shape.tolist())]
        return x.reshape(extents)

    def Flatten(self, x, axis=1):
        return x.reshape(int(np.prod(x.shape[:axis])), -1)

    def Transpose(self, x, perm):
        return x.permute(perm)

    def Unsqueeze(self, x, axes):
        rank = x.dim() + axes.numel()
        for axis in sorted(a % rank for a in axes.tolist()):
            x = x.unsqueeze(axis)
        return x

    def Squeeze(self, x, axes=None):
        wanted = range(x.dim()) if axes is None else axes.tolist()
        return x.squeeze(tuple(a for a in wanted if x.shape[a] == 1))

    def Concat(self, *xs, axis):
        return torch.cat(xs, axis)

    def Expand(self, x, shape):
        return x.expand(torch.broadcast_shapes(x.shape, shape.tolist()))

    def Slice(self, x, starts, ends, axes=None, steps=None):
        axes = range(starts.numel()) if axes is None else axes.tolist()
        steps = [1] * starts.numel() if steps is None else steps.tolist()
        parts = [slice(None)] * x.dim()
        for axis, a, b, s in zip(axes, starts.tolist(), ends.tolist(), steps):
            assert s > 0
            parts[axis] = slice(a, min(b, x.shape[axis]), s)
        return x[tuple(parts)]

    def Split(self, x, sizes=None, axis=0, num_outputs=None):
        if sizes is None:
            return x.chunk(num_outputs, axis)
        return x.split(sizes.tolist(), axis)

    def Gather(self, x, indices, axis=0):
        axis %= x.dim()
        flat = x.index_select(axis, indices.reshape(-1) % x.shape[axis])
        return flat.reshape((*x.shape[:axis], *indices.shape,
                             *x.shape[axis + 1:]))

    def GatherElements(self, x, indices, axis=0):
        return x.gather(axis, indices % x.shape[axis])

    def GatherND(self, x, indices, batch_dims=0):
        assert batch_dims == 0
        return x[tuple(indices.unbind(-1))]

    def Range(self, start, limit, delta):
        return torch.arange(start.item(), limit.item(), delta.item(),
                            dtype=start.dtype)

    def Identity(self, x):
        return x

    def Where(self, c, x, y):
        return torch.where(c, x, y)

    def MatMul(self, a, b):
        return a @ b

    def Gemm(self, a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
        y = alpha * ((a.T if transA else a) @ (b.T if transB else b))
        return y if c is None else y + beta * c

    def Div(self, a, b):
        return a / b if a.is_floating_point() else torch.div(
            a, b, rounding_mode="trunc")

    def Pow(self, a, b):
        return a.pow(b.to(a.dtype))

    def Max(self, *xs):
        return xs[0] if len(xs) == 1 else torch.maximum(*xs)

    def Min(self, *xs):
        return xs[0] if len(xs) == 1 else torch.minimum(*xs)

    def Softmax(self, x, axis=-1):
        return x.softmax(axis)

    def LogSoftmax(self, x, axis=-1):
        return x.log_softmax(axis)

    def ReduceMean(self, x, axes, keepdims=1, **_):
        axes = axes.tolist() if isinstance(axes, torch.Tensor) else axes
        return x.mean(axes, bool(keepdims))

    def LayerNormalization(self, x, scale, bias=None, axis=-1, epsilon=1e-5,
                           stash_type=1):
        return torch.nn.functional.layer_norm(x, x.shape[axis:], scale, bias,
                                              epsilon)

    def BatchNormalization(self, x, scale, bias, mean, variance, epsilon=1e-5,
                           momentum=0.9, training_mode=0):
        return torch.nn.functional.batch_norm(
            x, mean, variance, scale, bias, bool(training_mode), 1 - momentum,
            epsilon)

    def LSTM(self, x, w, r, b=None, lengths=None, h=None, c=None, peep=None,
             hidden_size=None, direction=b"forward", layout=0):
        """Gates in the order of ONNX: input, output, forget, cell."""
        assert lengths is None and peep is None and layout == 0
        zeros = x.new_zeros(w.shape[0], x.shape[1], hidden_size)
        h, c = (zeros if state is None else state for state in (h, c))
        all_rows, all_h, all_c = [], [], []
        for d in range(w.shape[0]):
            back = direction == b"reverse" or d == 1
            rows, ht, ct = [], h[d], c[d]
            for step in x.flip(0) if back else x:
                gates = step @ w[d].T + ht @ r[d].T
                if b is not None:
                    gates = gates + sum(b[d].chunk(2))
                i, o, f, g = gates.chunk(4, -1)
                ct = f.sigmoid() * ct + i.sigmoid() * g.tanh()
                ht = o.sigmoid() * ct.tanh()
                rows.append(ht)
            all_rows.append(torch.stack(rows[::-1] if back else rows))
            all_h.append(ht)
            all_c.append(ct)
        return (torch.stack(all_rows, 1), torch.stack(all_h),
                torch.stack(all_c))

    def Gelu(self, x, approximate=b"none"):
        return torch.nn.functional.gelu(x, approximate=approximate.decode())

    def Conv(self, x, w, b=None, strides=None, pads=None, dilations=None,
             group=1, auto_pad=b"NOTSET", kernel_shape=None):
        spatial = x.dim() - 2
        pads = pads or [0] * 2 * spatial
        assert pads[:spatial] == pads[spatial:] and auto_pad == b"NOTSET"
        function = getattr(torch.nn.functional, f"conv{spatial}d")
        return function(x, w, b, strides or 1, pads[:spatial], dilations or 1,
                        group)

    def MaxPool(self, x, kernel_shape, strides=None, pads=None, dilations=None,
                ceil_mode=0, auto_pad=b"NOTSET", storage_order=0):
        spatial = x.dim() - 2
        pads = pads or [0] * 2 * spatial
        assert pads[:spatial] == pads[spatial:] and auto_pad == b"NOTSET"
        function = getattr(torch.nn.functional, f"max_pool{spatial}d")
        return function(x, kernel_shape, strides or 1, pads[:spatial],
                        dilations or 1, bool(ceil_mode))


def _plain(function):
    return lambda self, *xs: function(*xs)


for _name, _function in {
        "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul,
        "Neg": torch.neg, "Sqrt": torch.sqrt, "Tanh": torch.tanh,
        "Sigmoid": torch.sigmoid, "Relu": torch.relu, "Log": torch.log,
        "Exp": torch.exp, "Abs": torch.abs, "Sin": torch.sin,
        "Cos": torch.cos, "Erf": torch.erf, "Reciprocal": torch.reciprocal,
        "And": torch.logical_and, "Or": torch.logical_or,
        "Not": torch.logical_not, "Less": torch.lt, "LessOrEqual": torch.le,
        "Greater": torch.gt, "GreaterOrEqual": torch.ge, "Equal": torch.eq,
        "IsNaN": torch.isnan}.items():
    setattr(TorchModel, _name, _plain(_function))


def train(model, trained, batch, labels, loss, optimizer, steps):
    """The losses of so many steps on one batch; `model.weights` change.
    `loss(logits, labels)` and `optimizer(parameters)` are PyTorch's."""
    for name, weight in model.weights.items():
        weight.requires_grad_(name in trained)
    step = optimizer([model.weights[name] for name in trained])
    losses = []
    for _ in range(steps):
        step.zero_grad()
        value = loss(next(iter(model.outputs(batch).values())), labels)
        value.backward()
        step.step()
        losses.append(value.item())
    return losses


def cross_entropy(shift):
    """Of logits whose classes are the last dim."""
    def loss(logits, labels):
        if shift:
            logits, labels = logits[:, :-1], labels[:, 1:]
        return torch.nn.functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))
    return loss


def optimizer(case):
    if case["optimizer"] == "sgd":
        return lambda p: torch.optim.SGD(p, case["rate"], momentum=0.9)
    return lambda p: torch.optim.AdamW(p, case["rate"], eps=case["epsilon"])


def main():
    """Writes losses and trained weights of the case that stdin describes."""
    case = json.load(sys.stdin)
    model = TorchModel(case["model"], getattr(torch, case["type"]))
    trained = [n for n in model.weights
               if n not in case["frozen"] and n not in model.statistics]
    data = dict(np.load(case["data"]))
    labels = torch.from_numpy(data.pop("labels"))
    kept = trained + model.statistics
    before = {n: model.weights[n].numpy().copy() for n in kept}
    losses = train(model, trained, data, labels, cross_entropy(case["shift"]),
                   optimizer(case), case["steps"])
    np.savez(case["to"], losses=losses, statistics=model.statistics, **{
        f"{kind}:{name}": array for name in kept
        for kind, array in (("before", before[name]),
                            ("after", model.weights[name].detach().numpy()))})


if __name__ == "__main__":
    main()
