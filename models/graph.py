"""Builds ONNX models the way PyTorch's exporter writes them.

A Graph collects nodes, constants and weights under the exporter's habits:
values are called after the function that makes them (`view`, `view_1`, ...),
nodes are `node_<value>`, each node says its module scope in metadata, and
equal constants are one initializer. Weights are generated tensor by tensor
from the seed and the tensor's name, so that neither the order nor the size
of other tensors changes them.
"""

import argparse
import hashlib
import os
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
# What protobuf can hold in one message, less room for the graph itself.
INLINE_LIMIT = (2 << 30) - (16 << 20)
# External tensors begin at pages, so that each can be mapped alone.
ALIGNMENT = 4096
# What the floats of a model may be.
FLOATS = {"f32": TensorProto.FLOAT, "bf16": TensorProto.BFLOAT16,
          "f16": TensorProto.FLOAT16}


class Graph:
    """A model of weights and activations in `floats`, one of FLOATS."""

    def __init__(self, name, seed, floats="f32"):
        self.name = name
        self.seed = seed
        self.floats = FLOATS[floats]
        self.dtype = helper.tensor_dtype_to_np_dtype(self.floats)
        self.nodes = []
        self.inputs = []
        self.outputs = []
        self.constants = {}  # (dtype, shape, bytes) -> TensorProto
        self.weights = {}    # name -> (shape, mean, std)
        self.used = {}       # how often a value's name was asked for

    def input(self, name, dtype, shape):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name, dtype, shape):
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def weight(self, name, shape, std, mean=0.0):
        """A parameter of independent normal values; returns its name."""
        self.weights[name] = (tuple(shape), mean, std)
        return name

    def constant(self, value, dtype, name=None):
        """A constant; `name` is for one that the exporter calls by it."""
        array = np.asarray(value, dtype)
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self.constants:
            name = name or f"val_{len(self.constants)}"
            self.constants[key] = numpy_helper.from_array(array, name)
        return self.constants[key].name

    def number(self, value):
        """A scalar of the model's floats."""
        return self.constant(value, self.dtype)

    def ints(self, *values):
        return self.constant(values, np.int64)

    def node(self, value, op, inputs, scope, outputs=1, **attributes):
        """Adds a node; returns its output's name, or a list if several.

        `value` is the function the node stands for, as PyTorch calls it, and
        `scope` the module it is in, such as "transformer.h.0.attn".
        """
        count = self.used.get(value, 0)
        self.used[value] = count + 1
        stem = f"{value}_{count}" if count else value
        names = ([stem] if outputs == 1 else
                 [f"{stem}_split_{i}" for i in range(outputs)])
        node = helper.make_node(op, inputs, names, f"node_{stem}",
                                **attributes)
        modules = scope.split(".") if scope else []
        scopes = ([""] + [".".join(modules[:i + 1])
                          for i in range(len(modules))] + [stem])
        node.metadata_props.add(key="pkg.torch.onnx.name_scopes",
                                value=str(scopes))
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def values(self, name):
        """The values of one weight, drawn in float32."""
        shape, mean, std = self.weights[name]
        digest = hashlib.sha256(f"{self.seed}:{name}".encode()).digest()
        random = np.random.default_rng(int.from_bytes(digest[:8], "little"))
        values = random.standard_normal(shape, np.float32)
        values *= np.float32(std)
        values += np.float32(mean)
        return values.astype(self.dtype, copy=False)

    def weight_bytes(self):
        return sum(self._bytes(name) for name in self.weights)

    def _bytes(self, name):
        shape, _, _ = self.weights[name]
        return self.dtype.itemsize * int(np.prod(shape))

    def write(self, path, weightless=False):
        """Checks the model and writes it to `path`.

        Weights go inside the file while protobuf can hold them and into
        `path`.data otherwise. A weightless model declares the same external
        data without writing it.
        """
        folder = os.path.dirname(os.path.abspath(path))
        os.makedirs(folder, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if not weightless and self.weight_bytes() > free:
            sys.exit(f"error: {path}: {size_text(self.weight_bytes())} of "
                     f"weights and {size_text(free)} free; --weightless "
                     "declares them and writes none")
        self._check()
        if weightless:
            onnx.save_model(self._model(self._external(path, None)), path)
        elif self.weight_bytes() > INLINE_LIMIT:
            with open(path + ".data.tmp", "wb") as data:
                weights = self._external(path, data)
            os.replace(path + ".data.tmp", path + ".data")
            onnx.save_model(self._model(weights), path)
        else:
            onnx.save_model(self._model(
                [numpy_helper.from_array(self.values(name), name)
                 for name in self.weights]), path)

    def _model(self, weights, weights_as_inputs=()):
        graph = helper.make_graph(
            self.nodes, self.name, self.inputs + list(weights_as_inputs),
            self.outputs, list(weights) + list(self.constants.values()))
        return helper.make_model(
            graph, ir_version=10, producer_name="divisi-models",
            opset_imports=[helper.make_opsetid("", OPSET)])

    def _check(self):
        # The checker wants to read external data, which may not be there:
        # it sees the weights as inputs.
        infos = [helper.make_tensor_value_info(name, self.floats, shape)
                 for name, (shape, _, _) in self.weights.items()]
        onnx.checker.check_model(self._model([], infos), full_check=True)

    def _external(self, path, data):
        """The weights as external tensors, written to `data` if given."""
        tensors, offset = [], 0
        for name, (shape, _, _) in self.weights.items():
            length = self._bytes(name)
            if data:
                data.seek(offset)
                data.write(self.values(name).tobytes())
            tensor = TensorProto(name=name, data_type=self.floats,
                                 dims=shape,
                                 data_location=TensorProto.EXTERNAL)
            for key, value in (("location", os.path.basename(path) + ".data"),
                               ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
            tensors.append(tensor)
            offset += -(-length // ALIGNMENT) * ALIGNMENT
        return tensors


def size_text(count):
    """Bytes for people: 0.6 MB, 498 MB, 350 GB."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if count >= 10 * scale:
            return f"{count / scale:.0f} {unit}"
    return f"{count / 1e6:.1f} MB"


# What generators have in common as commands.

def positive(text):
    """The type of options that count something."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected at least 1")
    return number


def make_parser(doc, batch):
    """A parser with what all take; `batch` is the default of --batch."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--batch", type=positive, default=batch)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weightless", action="store_true",
                        help="declare external weights, write none")
    parser.add_argument("-o", dest="output", required=True)
    return parser


def write_model(graph, arguments):
    """Writes what the command asks for and says what it was."""
    graph.write(arguments.output, arguments.weightless)
    print(f"{arguments.output}: {len(graph.nodes)} nodes, "
          f"{size_text(graph.weight_bytes())} of weights"
          f"{' declared, none written' if arguments.weightless else ''}",
          file=sys.stderr)
