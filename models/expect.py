#!/usr/bin/env python3
"""Makes seeded inputs for a model and what ONNX Runtime computes from them.

    expect.py model.onnx            writes model.inputs.npz, model.outputs.npz

Floats are standard normal. Integers that index the rows of a weight are
uniform over its rows; others lie below --ints-below.
"""

import argparse
import os

import packages

packages.require("numpy", "onnx", "onnxruntime")

import numpy as np
import onnx
import onnxruntime as ort


def row_counts(model):
    """For each value that only reaches Gather as an index: the rows there."""
    dims = {t.name: list(t.dims) for t in model.graph.initializer}
    origin, counts = {}, {}
    for node in model.graph.node:
        if node.op_type in ("Reshape", "Unsqueeze", "Identity", "Cast"):
            origin[node.output[0]] = origin.get(node.input[0], node.input[0])
        elif node.op_type == "Gather" and node.input[0] in dims:
            axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
            index = origin.get(node.input[1], node.input[1])
            rows = dims[node.input[0]][axis]
            counts[index] = min(rows, counts.get(index, rows))
    return counts


def random_inputs(model, seed, ints_below=2):
    """{input name: array}. Every dim must be static."""
    random = np.random.default_rng(seed)
    rows = row_counts(model)
    weights = {t.name for t in model.graph.initializer}
    arrays = {}
    for info in model.graph.input:
        if info.name in weights:
            continue
        kind = info.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        if any(dim.WhichOneof("value") != "dim_value"
               for dim in kind.shape.dim):
            raise SystemExit(f"expect.py: input '{info.name}' has dims that "
                             "are not static")
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if np.issubdtype(dtype, np.floating):
            array = random.standard_normal(shape).astype(dtype)
        elif dtype == np.bool_:
            array = random.integers(0, 2, shape).astype(dtype)
        else:
            below = rows.get(info.name, ints_below)
            array = random.integers(0, below, shape).astype(dtype)
        arrays[info.name] = array
    return arrays


def run(path, inputs):
    """{output name: array} by ONNX Runtime."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    runner = ort.InferenceSession(path, options,
                                  providers=["CPUExecutionProvider"])
    names = [output.name for output in runner.get_outputs()]
    return dict(zip(names, runner.run(names, inputs)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ints-below", type=int, default=2)
    arguments = parser.parse_args()
    model = onnx.load(arguments.model, load_external_data=False)
    inputs = random_inputs(model, arguments.seed, arguments.ints_below)
    stem = os.path.splitext(arguments.model)[0]
    np.savez(f"{stem}.inputs.npz", **inputs)
    np.savez(f"{stem}.outputs.npz", **run(arguments.model, inputs))


if __name__ == "__main__":
    main()
