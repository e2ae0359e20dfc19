"""The architectures that models/ generates, split over devices: small ones
against what others computed, those of full size planned without weights.
"""

import json
import re
import sys

import ml_dtypes
import numpy as np
import onnx
import pytest
from conftest import ROOT, run_python

sys.path.append(str(ROOT / "test" / "models"))

import references  # noqa: E402

pytestmark = pytest.mark.as_written

DECODER = ("--layers", 2, "--width", 64, "--heads", 8, "--vocabulary", 300,
           "--batch", 2, "--seq", 12)
SMALL = {
    "gpt3": ("gpt3.py", *DECODER, "--dtype", "f32", "--perturb", 1),
    "llama": ("llama.py", *DECODER, "--kv-heads", 2, "--dtype", "f32"),
    "moe": ("moe.py", *DECODER, "--group", 12, "--experts", 4, "--dtype", "f32"),
    "wide-resnet": ("wide_resnet.py", "--layers", 26, "--channels", 4, "--image", 32,
                    "--classes", 10, "--batch", 2),
    "unet": ("unet.py", "--height", 27, "--width", 38, "--channels", 4),
    "vgg16": ("vgg16.py", "--image", 64, "--channels", 4, "--hidden", 48,
              "--classes", 10, "--batch", 2),
}


@pytest.mark.sample()
@pytest.mark.parametrize("name", SMALL)
def test_four_devices_compute_what_onnx_runtime_does(divisi, generated, name):
    m = generated(*SMALL[name])
    for flags in ((), ("--tensor-parallel-size", 4), ("--random-plans", 2)):
        divisi("check", m.onnx, "--devices", 4, *flags, "--inputs", m.inputs,
               "--expect", m.outputs)


def write_bf16(path, name, array):
    """As run writes bf16: two bytes each, of a type that numpy lacks."""
    np.savez(path, **{name: array.astype(ml_dtypes.bfloat16).view("V2")})


@pytest.mark.parametrize("script, reference", [
    ("gpt3.py", lambda path, ids: references.gpt(path, ids, 8)),
    ("llama.py", lambda path, ids: references.llama(path, ids, 8, 8))])
def test_bf16_decoder_is_within_its_precision(divisi, script, reference):
    """ONNX Runtime's CPU has few operators of bf16: against the reference."""
    m = divisi.path("m.onnx")
    run_python(ROOT / "models" / script, *map(str, DECODER), "-o", m)
    ids = np.random.default_rng(0).integers(0, 300, (2, 12))
    np.savez(divisi.path("ids.npz"), input_ids=ids)
    logits = reference(m, ids)
    # Casts to bf16 and back are no reason to keep all products in memory.
    layers = DECODER[DECODER.index("--layers") + 1]
    dumped = divisi("compile", m, "--shapes-from", "ids.npz", "--dump-after",
                    "import", "-o", "-").out
    assert dumped.count("= nn.attention") == int(layers)
    assert "nn.softmax" not in dumped
    [output] = onnx.load(m).graph.output
    write_bf16(divisi.path("right.npz"), output.name, logits)
    write_bf16(divisi.path("wrong.npz"), output.name, logits[:, ::-1])
    for flags in ((), ("--tensor-parallel-size", 4)):
        divisi("check", m, "--devices", 4, *flags, "--inputs", "ids.npz",
               "--expect", "right.npz")
    divisi("check", m, "--devices", 4, "--inputs", "ids.npz", "--expect",
           "wrong.npz", exits=8)


def decoder_flops(layers, width, keys, inner, products, vocabulary):
    """Of the products of 8 x 2,048 tokens: attention's projections and its
    own two, `products` of the MLP, and the logits."""
    tokens = 8 * 2048
    weights = 2 * width * (width + keys) + products * width * inner
    return 2 * tokens * (layers * (weights + 2 * 2048 * width)
                         + width * vocabulary)


@pytest.mark.sample()
@pytest.mark.parametrize("script, parameters, flops", [
    ("gpt3.py", 174_591_584_256,
     decoder_flops(96, 12288, 12288, 49152, 2, 50257)),
    ("llama.py", 70_553_706_496,
     decoder_flops(80, 8192, 1024, 28672, 3, 128256))])
def test_full_decoder_is_planned_without_weights(divisi, generated, script,
                                                 parameters, flops):
    m = generated(script, "--weightless")
    divisi("plan", m.onnx, "--devices", 1, "--cluster", "cpu:1",
           "--memory-limit", "4TiB", "-o", "p.mlir")
    facts = json.loads(divisi("explain", "p.mlir", "--json").out)
    # Beside the weights there are positions; beside products, little.
    assert 1 <= facts["memory"]["weight_bytes"] / (2 * parameters) < 1.0001
    assert 1 <= facts["flops"] / flops < 1.01


@pytest.mark.sample()
@pytest.mark.parametrize("script, layers, inner, kind", [
    ("gpt3.py", 96, 49152, r"mlp\.c_fc\.weight .*tensor<12288x(\d+)xbf16>"),
    ("llama.py", 80, 28672,
     r"mlp\.down_proj\.weight .*tensor<8192x(\d+)xbf16>")])
def test_perturbed_layers_stay_different_in_the_plan(
        divisi, generated, script, layers, inner, kind):
    m = generated(script, "--weightless", "--perturb", 1)
    divisi("plan", m.onnx, "--devices", 1, "--cluster", "cpu:1",
           "--memory-limit", "4TiB", "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    widths = re.findall(r"nn\.global @\S*" + kind, text)
    assert sorted(map(int, widths)) == [inner + 64 * step
                                        for step in range(layers)]


@pytest.mark.sample()
@pytest.mark.parametrize("script, parameters", [
    ("unet.py", 31_031_810), ("vgg16.py", 138_357_544)])
def test_full_network_of_images_is_planned_without_weights(
        divisi, generated, script, parameters):
    m = generated(script, "--weightless")
    divisi("plan", m.onnx, "--devices", 1, "--cluster", "cpu:1", "-o",
           "p.mlir")
    facts = json.loads(divisi("explain", "p.mlir", "--json").out)
    assert facts["memory"]["weight_bytes"] == 4 * parameters
