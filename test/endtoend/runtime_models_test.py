"""Files that ONNX Runtime's own tools write (its optimizer at each level, its
quantizers, and language models with a cache and weights of 4 bits) compute on
any number of devices what ONNX Runtime computes."""
from pathlib import Path

import numpy as np
import onnx
import pytest
import runtime_models as models
from conftest import load
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat,
                                      QuantType, quantize_dynamic,
                                      quantize_static)

pytestmark = pytest.mark.as_written

STORED = Path(__file__).resolve().parents[1] / "models"
DEVICES = (1, 2, 4)
# Rows of 5 words: whole, and with padding behind the second.
PROMPTS = {"prompt": (5, 0, [5, 5]), "step": (1, 6, [7, 4])}
LAYOUTS = {"plain": {}, "packed": {"packed": True}, "apart": {"apart": True},
           "window": {"local_window_size": 3, "smooth_softmax": 1}}


def check(divisi, values, results, devices, *flags, exits=0):
    np.savez(divisi.path("x.npz"), **values)
    np.savez(divisi.path("y.npz"), **results)
    return divisi("check", "m.onnx", "--inputs", "x.npz", "--expect", "y.npz",
                  "--devices", devices, *flags, exits=exits)


@pytest.mark.sample("layout", "part", "weights", "devices")
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("weights", ("floats", "codes"))
@pytest.mark.parametrize("part", PROMPTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_language_models_with_a_cache(divisi, layout, part, weights, devices):
    path = divisi.path("m.onnx")
    inputs = models.language_model(path, **LAYOUTS[layout])
    if weights == "codes":
        models.quantize_blocks(path, path)
    values = models.step_inputs(inputs, *PROMPTS[part])
    check(divisi, values, models.expected(path, values), devices)


@pytest.mark.sample("level", "devices")
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("level", ("basic", "extended", "all"))
def test_optimized_bert(divisi, level, devices):
    values = models.bert(divisi.path("float.onnx"))
    path = divisi.path("m.onnx")
    models.optimize(divisi.path("float.onnx"), path, level)
    if level != "basic":
        assert {"Attention", "SkipLayerNormalization", "BiasGelu"} <= \
            models.operators(path)
    check(divisi, values, models.expected(path, values), devices)


@pytest.mark.sample("devices")
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("name", ("bert", "gpt2", "llama", "t5", "vit",
                                  "resnet", "segformer"))
def test_optimized_exports(divisi, name, devices):
    values = load(STORED / f"{name}.inputs.npz")
    path = divisi.path("m.onnx")
    models.optimize(STORED / f"{name}.onnx", path, "extended")
    assert any(node.domain == "com.microsoft"
               for node in onnx.load(path).graph.node)
    check(divisi, values, models.expected(path, values), devices)


def test_a_form_for_one_processor_is_refused(divisi):
    path = divisi.path("m.onnx")
    models.optimize(STORED / "resnet.onnx", path, "all")
    if not any(node.domain == "com.microsoft.nchwc"
               for node in onnx.load(path).graph.node):
        pytest.skip("this processor has no form of its own")
    said = check(divisi, load(STORED / "resnet.inputs.npz"), {"y": [0.0]}, 1,
                 exits=5).err
    assert "let it save the model at level extended" in said


class Samples(CalibrationDataReader):
    def __init__(self, values):
        self.left = [values]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantized_dynamically(source, target, values):
    quantize_dynamic(source, target, weight_type=QuantType.QInt8,
                     reduce_range=True, extra_options={
                         "DefaultTensorType": onnx.TensorProto.FLOAT})


def quantized_by_operators(source, target, values):
    quantize_static(source, target, Samples(values), reduce_range=True,
                    quant_format=QuantFormat.QOperator)


def quantized_by_scales(source, target, values):
    quantize_static(source, target, Samples(values), reduce_range=True,
                    quant_format=QuantFormat.QDQ)


QUANTIZERS = {"dynamic": quantized_dynamically,
              "operators": quantized_by_operators,
              "scales": quantized_by_scales}


def compare_codes(divisi, values, results, devices):
    """Where a number lies between two codes it may become either, and others
    follow."""
    np.savez(divisi.path("x.npz"), **values)
    divisi("compile", "m.onnx", "--shapes-from", "x.npz", "--devices",
           devices, "-o", "m.divisi")
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "z.npz")
    for name, value in load(divisi.path("z.npz")).items():
        off = value - results[name]
        assert np.sqrt(np.mean(off ** 2)) < .05 * results[name].std(), name


@pytest.mark.sample("source", "quantizer", "devices")
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("quantizer", QUANTIZERS)
@pytest.mark.parametrize("source", ("bert", "fused", "resnet"))
def test_quantized_models(divisi, source, quantizer, devices):
    path, given = divisi.path("m.onnx"), divisi.path("float.onnx")
    if source == "resnet":
        values = load(STORED / "resnet.inputs.npz")
        models.without_shapes(STORED / "resnet.onnx", given)
    else:
        values = models.bert(given, opset=17 if source == "bert" else 11)
    if source == "fused":
        if quantizer != "dynamic":
            pytest.skip("its calibration does not know fused operators")
        models.optimize(given, given, "extended")
    QUANTIZERS[quantizer](given, path, values)
    if source == "fused":
        assert "QAttention" in models.operators(path)
    compare_codes(divisi, values, models.expected(path, values), devices)


@pytest.mark.sample("devices")
@pytest.mark.parametrize("devices", DEVICES)
def test_quantized_images_with_channels_last(divisi, devices):
    """As the optimizer puts them at level all."""
    values = load(STORED / "resnet.inputs.npz")
    paths = [divisi.path(name) for name in ("a.onnx", "b.onnx", "m.onnx")]
    models.without_shapes(STORED / "resnet.onnx", paths[0])
    quantized_by_operators(*paths[:2], values)
    models.optimize(*paths[1:], "all")
    assert "NhwcMaxPool" in models.operators(paths[2])
    compare_codes(divisi, values, models.expected(paths[2], values), devices)
