"""Nodes of ONNX Runtime's own operators, which no checker looks at, with inputs
left out, of other shapes and types, and other attributes: each is imported or
refused, and none ends the program."""

import os
import random
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
import runtime_cases
import share
from node_cases import onnx_type
from onnx import helper

TOOL = Path(os.environ["DIVISI_BUILD"]) / "bin/import-each"
TYPES = [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int32,
         np.int64, np.bool_]
EXTENTS = [0, 1, 2, 3, 5, 16, 32]
CASES = list(runtime_cases.own_cases())


def mutate_input(draw, inputs):
    """One left out, of another shape or type, or all behind it dropped."""
    i = draw.randrange(len(inputs))
    way = draw.randrange(4)
    if way == 0:
        inputs[i] = None
    elif way == 1:
        del inputs[max(1, i):]
    elif inputs[i] is not None:
        shape = [draw.choice(EXTENTS) for _ in range(draw.randint(0, 5))]
        inputs[i] = np.zeros(shape, inputs[i].dtype) if way == 2 else \
            inputs[i].astype(draw.choice(TYPES))


def mutate_attribute(draw, node):
    attribute = draw.choice(node.attribute)
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = draw.choice([-1, 0, 1, 2, 5, 1 << 40, -(1 << 62)])
    elif attribute.type == onnx.AttributeProto.INTS:
        attribute.ints[:] = [draw.choice([0, -1, 2, 99, 1 << 50])
                             for _ in range(draw.randint(0, 5))]
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = draw.choice([0, -1, float("nan"), 1e30])


def mutated(draw):
    case = draw.choice(CASES)
    node, inputs = onnx.NodeProto(), list(case.inputs)
    node.CopyFrom(case.node)
    for _ in range(draw.randint(1, 2)):
        if draw.random() < .25 and node.attribute:
            mutate_attribute(draw, node)
        else:
            mutate_input(draw, inputs)
    names = ["" if value is None else f"x{i}"
             for i, value in enumerate(inputs)]
    node.input[:] = names
    constants, values = [], []
    for i, (name, value) in enumerate(zip(names, inputs)):
        if value is None:
            continue
        if i in case.constants or draw.random() < .2:
            constants.append(onnx.numpy_helper.from_array(value, name))
        else:
            values.append(helper.make_tensor_value_info(
                name, onnx_type(value), value.shape))
    outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ())
               for name in node.output if name]
    return helper.make_model(
        helper.make_graph([node], "g", values, outputs, constants),
        opset_imports=[helper.make_opsetid("", case.opset),
                       helper.make_opsetid("com.microsoft", 1)],
        ir_version=10)


@pytest.mark.sample()
@pytest.mark.parametrize("seed", range(20))
def test_no_node_ends_the_program(tmp_path, seed):
    draw = random.Random(seed)
    paths = []
    for number in range(200 if share.is_sweep() else 100):
        paths.append(tmp_path / f"{number}.onnx")
        onnx.save(mutated(draw), paths[-1])
    done = subprocess.run([TOOL, "--depth", "8", "--nodes", "2000",
                           "--expansion", "4000", *paths],
                          capture_output=True, text=True)
    codes = Counter(line.split("\t")[0] for line in done.stdout.splitlines())
    assert done.returncode == 0 and codes.total() == len(paths), done.stderr
    assert set(codes) <= {"0", "4", "5"} and codes["0"] and codes["4"]
