"""Models, and artifacts of them, which the package runs."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import divisi  # noqa: E402
from divisi import _libraries  # noqa: E402


def model_of(text, opset=21, **constants):
    """A model in ONNX's own text, with arrays as initializers."""
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}')
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(value), name)
        for name, value in constants.items())
    return model


def perceptron():
    """x [8, 16] to y [8, 4]; some 3 us."""
    random = np.random.default_rng(0)
    return model_of(
        "m (float[8, 16] x) => (float[8, 4] y)"
        "{ a = MatMul(x, w) b = Relu(a) y = MatMul(b, v) }",
        w=random.standard_normal((16, 32), np.float32),
        v=random.standard_normal((32, 4), np.float32))


def long_chain(length=60, width=96):
    """Products one after the other, by default of milliseconds each by the
    reference backend."""
    steps = "".join(f"x{i + 1} = MatMul(x{i}, w)" for i in range(length))
    shape, random = f"float[{width}, {width}]", np.random.default_rng(0)
    return model_of(
        f"m ({shape} x0) => ({shape} x{length}) {{ {steps} }}",
        w=random.standard_normal((width, width), np.float32) / 10)


def compile_file(model, path, *options):
    """By the command line."""
    source = path.with_suffix(".onnx")
    if isinstance(model, onnx.ModelProto):
        onnx.save(model, source)
    else:
        source = model
    done = subprocess.run([_libraries.program(), "compile", source, "-o", path,
                           *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path


def refuse(api, error, kind, message):
    """Expects that a call has returned such an error."""
    assert error, "the call succeeded"
    caught = api.errors.take(error)
    assert type(caught) is kind, (caught.code, caught.message)
    assert message in caught.message, caught.message


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("artifacts")


@pytest.fixture(scope="session")
def small(folder):
    """The perceptron on two devices."""
    return divisi.load(compile_file(perceptron(), folder / "small.divisi",
                                    "--devices=2"))


@pytest.fixture(scope="session")
def long(folder):
    return divisi.load(compile_file(long_chain(), folder / "long.divisi",
                                    "--rewrite", "off"))


@pytest.fixture(scope="session")
def stateful(folder):
    """Two entries that update and read a state."""
    source = folder / "two.mlir"
    source.write_text("""
nn.global @total state : tensor<4xf32> zero
func.func @add(%x: tensor<4xf32> {nn.name = "x"})
    -> (tensor<4xf32> {nn.name = "y"}) {
  %t = nn.read @total : tensor<4xf32>
  %y = nn.add %t, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  nn.update @total, %y : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @twice() -> (tensor<4xf32> {nn.name = "z"}) {
  %t = nn.read @total : tensor<4xf32>
  %z = nn.add %t, %t : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
""")
    return divisi.load(compile_file(source, folder / "two.divisi"))


@pytest.fixture
def x():
    return np.random.default_rng(1).standard_normal((8, 16), np.float32)
