#!/usr/bin/env python3
"""Makes anew what corpus/ has of models: small ones, their dumps of every
stage, and the manifests of their artifacts. To be run when formats change.

    DIVISI_BUILD=build test/fuzz/seeds.py
"""

import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("DIVISI_BUILD", HERE.parents[1] / "build"))
STAGES = ("import", "plan", "partition", "schedule", "lower")
HEADER = 144  # bytes of an artifact before its manifest


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, data):
    return numpy_helper.from_array(np.array(data), name)


def save(name, nodes, inputs, outputs, weights=(), functions=()):
    domains = [helper.make_opsetid("", 17)]
    domains += [helper.make_opsetid("d", 1)] if functions else []
    model = helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs, list(weights)),
        opset_imports=domains, functions=list(functions), ir_version=9)
    path = HERE / "corpus/Models" / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def models():
    """Those that compile; others are read alone."""
    node, x, y = helper.make_node, value("x", (2, 3)), value("y", (2, 3))
    weight = constant("w", np.arange(12, dtype=np.float32).reshape(3, 4))
    branch = [helper.make_graph([node(op, ["x"], ["t"])], op, [],
                                [value("t", (2, 3))]) for op in ("Neg", "Exp")]
    save("if", [node("If", ["b"], ["y"], "if", then_branch=branch[0],
                     else_branch=branch[1])],
         [x, value("b", (), TensorProto.BOOL)], [y])
    call = helper.make_function(
        "d", "F", ["a"], ["b"],
        [node("Relu", ["a"], ["r"]), node("Softmax", ["r"], ["b"], axis=-1)],
        [helper.make_opsetid("", 17)])
    save("function", [node("F", ["x"], ["y"], domain="d")], [x], [y],
         functions=[call])
    save("shapes", [
        node("Reshape", ["x", "m"], ["r"]),
        node("LayerNormalization", ["r", "scale", "bias"], ["y"])],
        [value("x", ("batch", 6))], [value("y", ("batch", 6))],
        [constant("m", [-1, 6]), constant("scale", np.ones(6, np.float32)),
         constant("bias", np.zeros(6, np.float32))])
    yield save("mlp", [node("MatMul", ["x", "w"], ["h"], "/a/product"),
                       node("Relu", ["h"], ["y"], "/a/relu")],
               [x], [value("y", (2, 4))], [weight])
    body = helper.make_graph(
        [node("Identity", ["c"], ["c2"]), node("Add", ["s", "s"], ["s2"])],
        "body", [value("i", (), TensorProto.INT64),
                 value("c", (), TensorProto.BOOL), value("s", (2, 3))],
        [value("c2", (), TensorProto.BOOL), value("s2", (2, 3))])
    yield save("loop", [node("Loop", ["n", "k", "x"], ["y"], "l", body=body)],
               [x], [y], [constant("n", 3), constant("k", True)])
    yield save("conv", [
        node("Conv", ["x", "k"], ["h"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("MaxPool", ["h"], ["y"], kernel_shape=[2, 2])],
        [value("x", (1, 2, 8, 8))], [value("y", (1, 3, 3, 3))],
        [constant("k", np.ones((3, 2, 3, 3), np.float32))])
    yield save("quantized", [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["y"])], [x], [y],
        [constant("s", np.float32(0.1)), constant("z", np.int8(0))])


def compile_model(path, folder):
    """Dumps name the model, which lies beside them."""
    shutil.copy(path, folder / "m.onnx")
    subprocess.run(
        [BUILD.resolve() / "bin/divisi", "compile", "m.onnx", "--devices", "2",
         "--dump-after", "all", "-o", "m.divisi"], cwd=folder, check=True)
    for stage in STAGES:
        dump = next(folder.glob(f"*.{stage}.mlir"))
        dump.rename(HERE / "corpus/Modules" / f"{path.stem}.{stage}.mlir")
    artifact = (folder / "m.divisi").read_bytes()
    size, = struct.unpack("<I", artifact[12:16])
    (HERE / "corpus/Manifests" / f"{path.stem}.manifest").write_bytes(
        artifact[HEADER:HEADER + size])
    return artifact


def main():
    for path in models():
        with tempfile.TemporaryDirectory() as folder:
            artifact = compile_model(path, Path(folder))
        if path.stem == "mlp":
            (HERE / "corpus/Manifests/mlp.divisi").write_bytes(artifact)


if __name__ == "__main__":
    main()
