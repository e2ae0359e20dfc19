"""What is given on the command line for the shapes of inputs, and is wrong."""

import os
import subprocess
from pathlib import Path

import onnx
import pytest
from onnx import helper

PROGRAM = Path(os.environ["DIVISI_BUILD"]) / "bin/divisi"

CASES = [
    ("unknown dim", ["--dim", "rows=4"],
     "no input has a dim 'rows'; the model has 'batch', 'width'"),
    ("unknown input", ["--shape", "q=2x3"],
     "the model has no input 'q'; it has 'x', 'z'"),
    ("fixed dim", ["--shape", "z=4x5"],
     "got 5 for dim 1 of input 'z', which the model fixes to 3"),
    ("one name twice", ["--shape", "x=4x3", "--shape", "z=5x3"],
     "got 5 for dim 0 of input 'z', but its name 'batch' stands for 4"),
    ("rank", ["--shape", "z=4"],
     "got a shape of rank 1 for input 'z', expected rank 2"),
    ("open dims", [],
     "shapes are static, and these are open: batch in 'x', 'z'; width in 'x'; "
     "give each with --dim NAME=N, or whole shapes with --shape INPUT=2x16 or "
     "--shapes-from FILE"),
    ("number", ["--dim", "batch=-4"], "--dim 'batch=-4': expected NAME=N with "
     "N at least 0"),
    ("a dim of two sizes", ["--dim", "batch=4", "--dim", "batch=8"],
     "--dim gives 'batch' twice, and not alike; give it once"),
    ("an input of two shapes", ["--shape", "x=4x3", "--shape", "x=5x3"],
     "--shape gives 'x' twice, and not alike; give it once"),
    ("extents", ["--shape", "x=2y3"],
     "--shape '2y3': expected extents such as 2x16"),
]
UNNAMED = [
    ("none that is open", ["--dim", "rows=4"],
     "no input has a dim 'rows'; the model has none that is open"),
    ("open without a name", [],
     "these are open: dim 1 (no name) in 'x'; give each"),
]


def value(name, shape):
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def plan(folder, inputs, flags):
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "z"], ["y"], "sum")], "g", inputs,
        [value("y", (4, 3))])
    onnx.save(helper.make_model(
        graph, ir_version=10,
        opset_imports=[helper.make_opsetid("", 20)]), folder / "m.onnx")
    return subprocess.run(
        [PROGRAM, "plan", "m.onnx", *flags, "-o", "p.mlir"], cwd=folder,
        capture_output=True, text=True)


@pytest.mark.parametrize("flags, message", [case[1:] for case in CASES],
                         ids=[case[0] for case in CASES])
def test_named_dims(tmp_path, flags, message):
    inputs = [value("x", ("batch", "width")), value("z", ("batch", 3))]
    done = plan(tmp_path, inputs, flags)
    assert message in done.stderr and done.returncode == 2, done.stderr


@pytest.mark.parametrize("flags, message", [case[1:] for case in UNNAMED],
                         ids=[case[0] for case in UNNAMED])
def test_dims_without_names(tmp_path, flags, message):
    done = plan(tmp_path, [value("x", (4, None)), value("z", (4, 3))], flags)
    assert message in done.stderr and done.returncode == 2, done.stderr


def test_all_dims_given(tmp_path):
    """So that the others fail for what is wrong in them."""
    inputs = [value("x", ("batch", "width")), value("z", ("batch", 3))]
    done = plan(tmp_path, inputs, ["--dim", "batch=4", "--dim", "width=3"])
    assert done.returncode == 0, done.stderr
