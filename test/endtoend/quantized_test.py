"""Quantized models: weights stay codes, products are of integers, and any plan
computes what one device does, but for codes that lie between two."""
import re

import numpy as np
import onnx
import pytest
from conftest import load
from onnx.reference import ReferenceEvaluator
from quantized_models import MODELS

pytestmark = pytest.mark.as_written

PLANS = {
    "one": ["--devices", 1],
    "found": ["--devices", 3],
    "uneven": ["--mesh", "3x2", "--solver", "random", "--seed", 3],
    "random": ["--devices", 4, "--solver", "random", "--seed", 5],
}


def expected(path, x):
    """By ONNX's own evaluator: ONNX Runtime's products of bytes saturate at 16
    bits where the processor has no VNNI."""
    [y] = ReferenceEvaluator(str(path)).run(None, {"x": x})
    return y


@pytest.mark.parametrize("name", MODELS)
def test_every_plan_computes_what_one_device_does(divisi, name):
    path = divisi.path("m.onnx")
    shape = MODELS[name](path)
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    np.savez(divisi.path("x.npz"), x=x)
    results = {}
    for plan, flags in PLANS.items():
        divisi("compile", "m.onnx", *flags, "-o", "m.divisi")
        told = divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz",
                      "--verbose").err
        memory = re.findall(r"holds (\d+) bytes: .*predicted (\d+)\n", told)
        assert memory and all(held == said for held, said in memory), told
        [results[plan]] = load(divisi.path("y.npz")).values()
    y = expected(path, x)
    # A code that lies between two is one step off, and others follow it.
    assert np.sqrt(np.mean((results["one"] - y) ** 2)) < .03 * y.std()
    for plan, values in results.items():
        off = np.abs(values - results["one"])
        assert np.mean(off > 1e-5) < .02, plan


@pytest.mark.parametrize("name", MODELS)
def test_weights_stay_codes(divisi, name):
    path = divisi.path("m.onnx")
    MODELS[name](path)
    divisi("compile", "m.onnx", "--devices", 1, "-o", "m.divisi",
           "--dump-after", "import", "--dump-to", ".")
    text = divisi.path("m.import.mlir").read_text(encoding="utf-8")
    if "_integer" not in text:
        pytest.skip("this processor does not multiply bytes: products are of "
                    "floats")
    assert " nn.conv " not in text and " nn.matmul " not in text
    codes = [t for t in onnx.load(path).graph.initializer
             if t.data_type == onnx.TensorProto.INT8 and len(t.dims) > 1]
    for tensor in codes:
        assert f"nn.global @{tensor.name} parameter" in text
        assert f"@{tensor.name}.derived" not in text
