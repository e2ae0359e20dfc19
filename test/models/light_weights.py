#!/usr/bin/env python3
"""Gives the `light` CNNs of the onnx package random weights of sane scale.

    light_weights.py [--out build/test/light] [NAME...]

In these graphs every weight is filled with one number, by ConstantOfShape or
in an initializer, so that a wrong slice of it goes unseen. Here a weight gets
seeded values for its role: He for convolutions and dense layers, about one
for scales, small for biases. Batch norms get the statistics of the data that
reaches them, or activations would double at every residual. Writes
NAME.onnx, NAME.inputs.npz and NAME.outputs.npz (by ONNX Runtime).
"""

import argparse
import hashlib
import os
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

FOLDER = os.path.join(os.path.dirname(onnx.__file__),
                      "backend", "test", "data", "light")
NAMES = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2",
         "resnet50", "shufflenet", "squeezenet", "vgg19", "zfnet512"]
# Operators whose operands have no other role than the result's.
VIEWS = {"Unsqueeze", "Reshape", "Squeeze", "Identity"}
BATCH_NORM_ROLES = {1: "scale", 2: "bias", 3: "mean", 4: "variance"}


def random_for(name):
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


def constant_shapes(model):
    """{name: shape} of all float weights, filled or stored."""
    stored = {t.name: t for t in model.graph.initializer}
    shapes = {t.name: tuple(t.dims) for t in stored.values()
              if t.data_type == onnx.TensorProto.FLOAT}
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape":
            shape = numpy_helper.to_array(stored[node.input[0]])
            shapes[node.output[0]] = tuple(int(extent) for extent in shape)
    return shapes


def role_of(name, consumers, depth=0):
    """What a weight is for, from the node that reads it."""
    for node, index in consumers.get(name, []):
        if node.op_type in VIEWS and depth < 3:
            return role_of(node.output[0], consumers, depth + 1)
        if node.op_type == "BatchNormalization":
            return BATCH_NORM_ROLES[index]
        if node.op_type in ("Conv", "Gemm", "MatMul") and index == 1:
            return "dense-in-out" if is_in_out(node) else "dense"
        if node.op_type == "Mul":
            return "scale"
    return "bias"


def is_in_out(node):
    transposed = any(a.name == "transB" and a.i for a in node.attribute)
    return node.op_type != "Conv" and not transposed


def values_of(name, shape, role):
    random = random_for(name)
    normal = random.standard_normal(shape, np.float32)
    if role == "dense":
        return normal * np.float32(np.sqrt(2 / np.prod(shape[1:])))
    if role == "dense-in-out":
        return normal * np.float32(np.sqrt(2 / shape[0]))
    if role == "scale":
        return random.uniform(0.8, 1.2, shape).astype(np.float32)
    if role == "variance":
        return np.ones(shape, np.float32)
    return normal * np.float32(0.05)


def with_weights(model, weights):
    """`model` with `weights` as initializers and no fills."""
    graph = onnx.GraphProto(name=model.graph.name)
    graph.node.extend(node for node in model.graph.node
                      if node.op_type != "ConstantOfShape")
    read = {name for node in graph.node for name in node.input}
    graph.initializer.extend(
        t for t in model.graph.initializer
        if t.name not in weights and t.name in read)
    graph.initializer.extend(numpy_helper.from_array(values, name)
                             for name, values in weights.items())
    stored = {t.name for t in model.graph.initializer} | set(weights)
    graph.input.extend(i for i in model.graph.input
                       if i.name not in stored and i.name in read)
    graph.output.extend(model.graph.output)
    # From IR 4 on an initializer need not be an input as well.
    return helper.make_model(graph, ir_version=8,
                             opset_imports=model.opset_import)


def session(model):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options,
                                providers=["CPUExecutionProvider"])


def calibrate(model, inputs):
    """{name: values}: each batch norm's mean and variance from the data.

    With one image a batch norm of its own statistics is an instance norm, so
    one run of that variant gives what reaches every one of them.
    """
    variant = onnx.ModelProto()
    variant.CopyFrom(model)
    norms = [n for n in variant.graph.node
             if n.op_type == "BatchNormalization"]
    found = [(n.input[0], n.input[3], n.input[4]) for n in norms]
    if not found:
        return {}
    for node in norms:
        epsilon = [a for a in node.attribute if a.name == "epsilon"]
        del node.input[3:], node.attribute[:]
        node.op_type = "InstanceNormalization"
        node.attribute.extend(epsilon)
    for value, _, _ in found:
        variant.graph.output.append(onnx.ValueInfoProto(name=value))
    del variant.graph.output[:len(model.graph.output)]
    results = session(variant).run([value for value, _, _ in found], inputs)
    statistics = {}
    for (_, mean, variance), data in zip(found, results):
        statistics[mean] = data.mean((0, 2, 3), dtype=np.float64)
        statistics[variance] = data.var((0, 2, 3), dtype=np.float64) + 1e-3
    return {name: values.astype(np.float32)
            for name, values in statistics.items()}


def soften(model, inputs):
    """{name: values}: the last layer's weights for logits of deviation one.

    A saturated softmax says one class for sure, whatever the rest computed.
    """
    makers = {output: n for n in model.graph.node for output in n.output}
    [last] = model.graph.output
    node = makers[last.name]
    if node.op_type != "Softmax":
        return {}
    logits = node.input[0]
    while node.op_type not in ("Conv", "Gemm"):
        node = makers[node.input[0]]
    variant = onnx.ModelProto()
    variant.CopyFrom(model)
    del variant.graph.output[:]
    variant.graph.output.append(onnx.ValueInfoProto(name=logits))
    deviation = session(variant).run(None, inputs)[0].std()
    return {t.name: numpy_helper.to_array(t) / deviation
            for t in model.graph.initializer if t.name in node.input[1:]}


def make(name, folder):
    source = onnx.load(os.path.join(FOLDER, f"light_{name}.onnx"))
    consumers = {}
    for node in source.graph.node:
        for index, value in enumerate(node.input):
            consumers.setdefault(value, []).append((node, index))
    weights = {weight: values_of(weight, shape, role_of(weight, consumers))
               for weight, shape in constant_shapes(source).items()}
    model = with_weights(source, weights)
    [info] = model.graph.input
    shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
    inputs = {info.name:
              random_for(name).standard_normal(shape, np.float32)}
    for adjust in (calibrate, soften):
        weights.update(adjust(model, inputs))
        model = with_weights(source, weights)
    onnx.checker.check_model(model)
    outputs = dict(zip([o.name for o in model.graph.output],
                       session(model).run(None, inputs)))
    stem = os.path.join(folder, name)
    onnx.save(model, f"{stem}.onnx")
    np.savez(f"{stem}.inputs.npz", **inputs)
    np.savez(f"{stem}.outputs.npz", **outputs)
    return outputs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="build/test/light")
    parser.add_argument("names", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    for name in arguments.names:
        if name not in NAMES:
            parser.error(f"unknown model '{name}', expected: {NAMES}")
        # Written last, so its presence says that the others are there.
        stamp = os.path.join(arguments.out, f"{name}.outputs.npz")
        if (os.path.exists(stamp) and
                os.path.getmtime(stamp) > os.path.getmtime(__file__)):
            continue
        for output, values in make(name, arguments.out).items():
            print(f"{name}: {output} {list(values.shape)}, deviation "
                  f"{values.std():.2g}, largest {abs(values).max():.2g}",
                  file=sys.stderr)


if __name__ == "__main__":
    main()
