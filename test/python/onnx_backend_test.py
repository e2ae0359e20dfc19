"""ONNX's own tests of backends, on 1, 2 and 4 devices, and the interface that
they use.

`make test` runs a sample of the cases, `make sweep` all. On several devices plans are
drawn at random: those that a search finds would leave tensors this small on one.
"""

import re
import unittest
import warnings
import zlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import model_of, perceptron

import divisi
from divisi import onnx_backend

warnings.simplefilter("ignore")
import onnx.backend.test  # noqa: E402

DEVICES = (1, 2, 4)
SKIPS = dict(
    line.split(": ", 1) for line in
    (Path(__file__).parent / "onnx_backend_skips.txt").read_text().splitlines()
    if not line.startswith("#"))


class OnDevices(onnx_backend.DivisiBackend):
    """The backend, on `count` devices."""
    count = 1
    is_compatible = None  # So that what is refused says why.

    @classmethod
    def prepare(cls, model, device="CPU", **options):
        options["devices"] = cls.count
        if cls.count > 1:
            options.update(solver="random", seed=zlib.crc32(
                model.SerializeToString()) % 1000)
        return super().prepare(model, device, **options)


KINDS = onnx.backend.test.BackendTest(OnDevices, __name__).test_cases
CASES = {name: getattr(kind, name) for kind in KINDS.values()
         for name in dir(kind)
         if name.startswith("test_") and name.endswith("_cpu")}
LIGHT = [f"test_{name}_cpu" for name in
         ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2",
          "resnet50", "shufflenet", "squeezenet", "vgg19", "zfnet512")]
PASSING = sorted(set(CASES) - set(SKIPS) - set(LIGHT))


def run(name, count, monkeypatch):
    monkeypatch.setattr(OnDevices, "count", count)
    CASES[name](unittest.TestCase())


@pytest.mark.sample("count", slow=True)
@pytest.mark.parametrize("name", PASSING)
@pytest.mark.parametrize("count", DEVICES)
def test_case(name, count, monkeypatch):
    run(name, count, monkeypatch)


@pytest.mark.sample(slow=True)
@pytest.mark.parametrize("name", SKIPS)
def test_case_that_is_skipped(name, monkeypatch):
    reason = SKIPS[name]
    if reason.startswith("differs: "):
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            run(name, 1, monkeypatch)
        return
    kind = divisi.InvalidError if reason.startswith("the shapes") else \
        divisi.UnsupportedError
    with pytest.raises(kind) as caught:
        run(name, 1, monkeypatch)
    assert reason in re.sub(r"the elements of input '[^']*' are",
                            "its elements are", str(caught.value))


@pytest.mark.whole
@pytest.mark.parametrize("name", LIGHT)
@pytest.mark.parametrize("count", DEVICES)
def test_light_model(name, count, tmp_path, monkeypatch):
    monkeypatch.setenv("ONNX_HOME", str(tmp_path))
    run(name, count, monkeypatch)


def test_one_light_model(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNX_HOME", str(tmp_path))
    run("test_squeezenet_cpu", 2, monkeypatch)


def test_most_cases_pass():
    """Of single nodes; each of them is one of test_case."""
    nodes = KINDS["OnnxBackendNodeModelTest"]
    assert sum(hasattr(nodes, name) for name in PASSING) >= 1650
    assert not set(SKIPS) - set(CASES), "skips of cases that are none"


#===----------------------------------------------------------------------===#
# The interface
#===----------------------------------------------------------------------===#

def test_results_are_found_by_place_and_name(x):
    prepared = onnx_backend.prepare(perceptron(), devices=2,
                                    session={"threads": 2})
    assert prepared.is_static
    expected = divisi.Session(divisi.compile(perceptron(), devices=2)).run(x)
    for inputs in ([x], (x,), {"x": x}, x, [onnx.numpy_helper.from_array(x)]):
        results = prepared.run(inputs)
        np.testing.assert_array_equal(results[0], expected["y"])
        np.testing.assert_array_equal(results["y"], expected["y"])
    np.testing.assert_array_equal(
        onnx_backend.run_model(perceptron(), [x])[0], prepared.run([x])[0])


def test_open_shapes_and_values_are_compiled_when_run():
    model = model_of("m (float[N, 4] x, int64[2] s) => (float[M, K] y)"
                     "{ a = Relu(x) y = Reshape(a, s) }")
    prepared = onnx_backend.prepare(model, devices=2)
    assert not prepared.is_static
    for rows, shape in ((6, (8, 3)), (6, (3, 8)), (2, (8, 1)), (6, (8, 3))):
        x = np.arange(rows * 4, dtype="f4").reshape(rows, 4)
        [y] = prepared.run([x, np.array(shape)])
        np.testing.assert_array_equal(y, x.reshape(shape))
    assert len(prepared._sessions) == 3
    # Of what depends on shapes alone no input becomes a constant.
    model = model_of("m (float[4, 6] x, float[8, 3] z) => (float[8, 3] y)"
                     "{ s = Shape(z) y = Reshape(x, s) }")
    assert onnx_backend.prepare(model).is_static


def test_given_options_come_first():
    model = model_of("m (float[N, 4] x, int64[2] s) => (float[M, K] y)"
                     "{ y = Reshape(x, s) }")
    prepared = onnx_backend.prepare(model, shapes={"x": (2, 4)},
                                    constants={"s": np.array([4, 2])})
    assert prepared.is_static
    x = np.arange(8, dtype="f4").reshape(2, 4)
    np.testing.assert_array_equal(prepared.run(x)[0], x.reshape(4, 2))
    model = model_of("m (float[N, 4] x, float[M, 4] z) => (float[K, 4] y)"
                     "{ y = Concat<axis = 0>(x, z) }")
    assert onnx_backend.prepare(model, dims={"N": 2, "M": 2}).is_static
    prepared = onnx_backend.prepare(model, dims={"N": 2})
    assert not prepared.is_static
    for rows in (1, 3):
        [y] = prepared.run([x, np.ones((rows, 4), "f4")])
        assert y.shape == (2 + rows, 4)


def test_node_is_run():
    node = onnx.helper.make_node("Add", ["a", "a"], ["c"])
    a = np.ones((2, 3), "f4")
    for options in ({}, {"opset_version": 13},
                    {"outputs_info": [(np.float32, (2, 3))]}):
        [c] = onnx_backend.run_node(node, [a, a], **options)
        np.testing.assert_array_equal(c, a + a)
    node = onnx.helper.make_node("Clip", ["x", "", "most"], ["y"])
    x = np.arange(4, dtype="f4")
    for inputs in ([x, np.float32(2)], {"x": x, "most": np.float32(2)}):
        [y] = onnx_backend.run_node(node, inputs, devices=2)
        np.testing.assert_array_equal(y, [0, 1, 2, 2])
    node = onnx.helper.make_node("Inverse", ["x"], ["y"],
                                 domain="com.microsoft")
    with pytest.raises(divisi.UnsupportedError, match="Inverse"):
        onnx_backend.run_node(node, [np.eye(2, dtype="f4")],
                              outputs_info=[("f4", (2, 2))])
    with pytest.raises(divisi.UsageError, match="give outputs_info"):
        onnx_backend.run_node(node, [np.eye(2, dtype="f4")])
    with pytest.raises(divisi.InvalidError, match="got 2 inputs, expected 1"):
        onnx_backend.run_node(node, [a, a])


def test_old_opset_is_converted():
    """Operators had an attribute `broadcast` before opset 7."""
    model = model_of("m (float[2, 3] x, float[3] b) => (float[2, 3] y)"
                     "{ y = Add<broadcast = 1>(x, b) }", opset=6)
    x, b = np.ones((2, 3), "f4"), np.arange(3, dtype="f4")
    assert onnx_backend.is_compatible(model)
    np.testing.assert_array_equal(
        onnx_backend.run_model(model, [x, b])[0], x + b)
    assert model.opset_import[0].version == 6


def test_what_is_supported():
    assert onnx_backend.supports_device("CPU")
    assert onnx_backend.supports_device("CPU:0")
    for device in ("CUDA", "CUDA:1", "TPU", ""):
        assert not onnx_backend.supports_device(device)
    with pytest.raises(divisi.UsageError, match="'CUDA': expected CPU"):
        onnx_backend.prepare(perceptron(), "CUDA")
    assert onnx_backend.is_compatible(perceptron())
    assert not onnx_backend.is_compatible(
        model_of("m (string[2] x) => (string[2] y) { y = Identity(x) }"))


@pytest.mark.parametrize("inputs, kind, message", [
    ([], divisi.InvalidError, "got 0 inputs, expected 1: x"),
    ({"z": 1}, divisi.InvalidError, "input 'x' is missing"),
    ([[1, 2]], divisi.UnsupportedError, "input 'x' is a list"),
    ([None], divisi.UnsupportedError, "input 'x' is a NoneType"),
    ([np.ones((2, 2), "f4")], divisi.InvalidError, "x")])
def test_wrong_inputs(inputs, kind, message):
    with pytest.raises(kind, match=message):
        onnx_backend.run_model(perceptron(), inputs)
