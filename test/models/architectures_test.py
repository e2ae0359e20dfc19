"""The generators' architectures: what they compute, against references of our
own and ONNX Runtime; their parameters; what their options do.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import onnx
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "models"), str(Path(__file__).parent)]

import expect  # noqa: E402
import gpt3  # noqa: E402
import graph  # noqa: E402
import llama  # noqa: E402
import moe  # noqa: E402
import references  # noqa: E402
import unet  # noqa: E402
import vgg16  # noqa: E402
import wide_resnet  # noqa: E402

DECODER = ("--layers", 2, "--width", 64, "--heads", 8, "--vocabulary", 300,
           "--batch", 2, "--seq", 12)
# Script, arguments, and the reference as a function of path and input.
CASES = {
    "gpt3": ("gpt3.py", (*DECODER, "--dtype", "f32"),
             lambda path, ids: references.gpt(path, ids, 8)),
    "gpt3-perturbed": (
        "gpt3.py", (*DECODER, "--dtype", "f32", "--perturb", 3),
        lambda path, ids: references.gpt(path, ids, 8)),
    "llama": ("llama.py", (*DECODER, "--kv-heads", 2, "--dtype", "f32"),
              lambda path, ids: references.llama(path, ids, 8, 2)),
    "llama-perturbed": (
        "llama.py", (*DECODER, "--dtype", "f32", "--perturb", 3),
        lambda path, ids: references.llama(path, ids, 8, 8)),
    "unet": ("unet.py", ("--height", 32, "--width", 48, "--channels", 8),
             lambda path, x: references.unet(path, x, 4)),
    # Odd on the way down: 27, 13, 6 and 22, 11, 5.
    "unet-odd": ("unet.py", ("--height", 27, "--width", 22, "--channels", 8,
                             "--depth", 2, "--classes", 3, "--batch", 2),
                 lambda path, x: references.unet(path, x, 2)),
    # Every expert gets more tokens than it takes, or fewer.
    "moe": ("moe.py", (*DECODER, "--group", 12, "--experts", 4, "--dtype", "f32"),
            lambda path, ids: references.gpt(path, ids, 8, 12)),
    "wide-resnet": ("wide_resnet.py", (
        "--layers", 26, "--channels", 4, "--factor", 3, "--image", 70, "--classes",
        10, "--batch", 2), references.wide_resnet),
    "vgg16": ("vgg16.py", ("--image", 70, "--channels", 8, "--hidden", 48,
                           "--classes", 10, "--batch", 2), references.vgg16),
}


def generate(script, path, *arguments, exits=0):
    done = subprocess.run(
        [sys.executable, ROOT / "models" / script, *map(str, arguments),
         "-o", path], capture_output=True, text=True)
    assert done.returncode == exits, done.stderr
    return done


@pytest.mark.parametrize("name", CASES)
def test_computes_what_the_architecture_says(name, tmp_path):
    script, arguments, reference = CASES[name]
    path = tmp_path / "m.onnx"
    generate(script, path, *arguments)
    inputs = expect.random_inputs(onnx.load(path), seed=0)
    [computed] = expect.run(str(path), inputs).values()
    wanted = reference(path, *inputs.values())
    # A wrong gain would grow or vanish over the layers; narrow ones vary.
    assert 0.25 < np.sqrt((wanted ** 2).mean()) < 4
    np.testing.assert_allclose(computed, wanted, rtol=0, atol=2e-5)


@pytest.mark.parametrize("script, dtype", [
    ("gpt3.py", "bf16"), ("llama.py", "bf16"), ("gpt3.py", "f16")])
def test_floats_of_16_bits_are_valid_and_of_one_type(script, dtype, tmp_path):
    """Weights, activations and logits; float32 is what is cast to and fro."""
    path = tmp_path / "m.onnx"
    generate(script, path, *DECODER, "--dtype", dtype)
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.shape_inference.infer_shapes(onnx.load(path), True, True)
    weights = [t for t in model.graph.initializer if "weight" in t.name]
    kind = graph.FLOATS[dtype]
    assert {t.data_type for t in weights} == {kind}
    values = onnx.numpy_helper.to_array(weights[0])
    assert values.dtype.itemsize == 2 and values.std() > 0.01
    [logits] = model.graph.output
    assert logits.type.tensor_type.elem_type == kind
    types = {info.name: info.type.tensor_type.elem_type
             for info in model.graph.value_info}
    products = [types[n.output[0]] for n in model.graph.node
                if n.op_type in ("MatMul", "Gemm") and n.output[0] in types]
    assert products and set(products) == {kind}


def test_bf16_weights_are_the_rounded_ones_of_f32(tmp_path):
    kept = {}
    for dtype in ("f32", "bf16"):
        path = tmp_path / f"{dtype}.onnx"
        generate("llama.py", path, *DECODER, "--dtype", dtype)
        kept[dtype] = onnx.numpy_helper.to_array(next(
            t for t in onnx.load(path).graph.initializer
            if t.name == "model.layers.1.mlp.up_proj.weight"))
    np.testing.assert_array_equal(kept["bf16"],
                                  kept["f32"].astype(ml_dtypes.bfloat16))


PARAMETERS = [
    # 12 width^2 + 13 width a layer, two embeddings, one norm.
    (lambda: gpt3.Exporter(gpt3.SIZES["175b"], 8, 2048, 0, "bf16"),
     96 * (12 * 12288**2 + 13 * 12288) + (50257 + 2048 + 2) * 12288),
    # As published with the weights.
    (lambda: llama.Exporter(llama.SIZES["70b"], 8, 2048, 0, "bf16"),
     70_553_706_496),
    (lambda: llama.Exporter(llama.SIZES["8b"], 1, 16, 0, "bf16"),
     8_030_261_248),
    (lambda: unet.Exporter(1, 64, 64, 0, inputs=1, classes=1), 31_030_593),
]


@pytest.mark.parametrize("exporter, count", PARAMETERS,
                         ids=["gpt3-175b", "llama-70b", "llama-8b", "unet"])
def test_parameters_are_as_many_as_published(exporter, count):
    g = exporter().build()
    assert g.weight_bytes() == g.dtype.itemsize * count


@pytest.mark.parametrize("size, millions", [
    ("380m", 383.5), ("2.4b", 2383.0), ("10b", 10169.6),
    ("250m", 254.1), ("4b", 4000.9), ("6.8b", 6727.7)])
def test_parameters_are_as_many_as_alpa_counts(size, millions):
    g = (moe.Exporter(moe.SIZES[size], 8, 1024, 0).build()
         if size in moe.SIZES else
         wide_resnet.build(wide_resnet.SIZES[size], 1, 0))
    counted = g.weight_bytes() / g.dtype.itemsize / 1e6
    assert counted == pytest.approx(millions, rel=2e-3)


def test_vgg16_has_138_million_parameters():
    assert vgg16.build(1, 0).weight_bytes() == 4 * 138_357_544


def test_names_are_those_of_the_frameworks():
    g = llama.Exporter(llama.SIZES["8b"], 1, 16, 0, "bf16").build()
    assert g.weights["model.layers.31.self_attn.k_proj.weight"][0] == (1024,
                                                                       4096)
    assert g.weights["model.layers.0.mlp.down_proj.weight"][0] == (4096, 14336)
    g = gpt3.Exporter(gpt3.SIZES["1.3b"], 1, 16, 0, "bf16").build()
    assert g.weights["transformer.h.23.mlp.c_fc.weight"][0] == (2048, 8192)
    g = unet.Exporter(1, 16, 16, 0).build()
    assert g.weights["up1.up.weight"][0] == (1024, 512, 2, 2)
    assert g.weights["down4.maxpool_conv.1.double_conv.2.bias"][0] == (1024,)
    g = vgg16.build(1, 0)
    assert g.weights["features.28.weight"][0] == (512, 512, 3, 3)
    assert g.weights["classifier.0.weight"][0] == (4096, 25088)


@pytest.mark.parametrize("script, mlp, inner", [
    ("gpt3.py", "transformer.h.{}.mlp.c_fc.weight", (1, 256)),
    ("llama.py", "model.layers.{}.mlp.up_proj.weight", (0, 224))])
def test_no_two_perturbed_layers_are_equal(script, mlp, inner, tmp_path):
    found = {}
    for seed in (1, 1, 2):
        path = tmp_path / f"{seed}.onnx"
        generate(script, path, *DECODER, "--layers", 9, "--perturb", seed,
                 "--weightless")
        dims = {t.name: t.dims for t in
                onnx.load(path, load_external_data=False).graph.initializer}
        axis, plain = inner
        widths = [dims[mlp.format(layer)][axis] for layer in range(9)]
        assert sorted(widths) == [plain + 64 * step for step in range(9)]
        assert found.setdefault(seed, widths) == widths
    assert found[1] != found[2]


def test_weightless_bf16_declares_two_bytes_each(tmp_path):
    path = tmp_path / "m.onnx"
    said = generate("gpt3.py", path, "--weightless").stderr
    assert "349 GB of weights declared, none written" in said
    assert os.listdir(tmp_path) == ["m.onnx"]
    model = onnx.load(path, load_external_data=False)
    data = {t.name: {e.key: e.value for e in t.external_data}
            for t in model.graph.initializer if t.external_data}
    wanted = data["transformer.h.95.mlp.c_proj.weight"]
    assert int(wanted["length"]) == 2 * 49152 * 12288
    ends = [int(d["offset"]) + int(d["length"]) for d in data.values()]
    begins = [int(d["offset"]) for d in data.values()]
    assert all(end <= begin for end, begin in zip(ends, begins[1:]))
    kinds = Counter(node.op_type for node in model.graph.node)
    assert kinds["Gemm"] == 4 * 96


def test_weights_that_do_not_fit_the_disk_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(graph.shutil, "disk_usage",
                        lambda folder: SimpleNamespace(free=20_000_000))
    path = tmp_path / "m.onnx"
    with pytest.raises(SystemExit, match="553 MB of weights and 20 MB free; "
                       "--weightless declares them and writes none"):
        vgg16.build(1, 0).write(str(path))
    vgg16.build(1, 0).write(str(path), weightless=True)
    assert os.listdir(tmp_path) == ["m.onnx"]


@pytest.mark.parametrize("script, arguments, said", [
    ("gpt3.py", ["--seq", 2049], "--seq 2049: expected 1 to 2048"),
    ("gpt3.py", ["--width", 100], "width 100: expected a multiple of the 96"),
    ("gpt3.py", ["--layers", 0], "--layers: 0: expected at least 1"),
    ("llama.py", ["--heads", 4],
     "4 heads: expected a multiple of the 8 of keys (--kv-heads)"),
    ("llama.py", ["--width", 72, "--heads", 8], "expected an even number"),
    ("unet.py", ["--height", 15], "expected at least 16"),
    ("vgg16.py", ["--image", 31], "--image 31: expected at least 32"),
    ("moe.py", ["--experts", 1], "--experts 1: expected 2 to 4096, twice the"),
    ("moe.py", ["--batch", 1], "1024 tokens: expected a multiple of the group of "
     "2048; give --group, or another --batch or --seq"),
    ("mlp.py", ["--batch", 0], "--batch: 0: expected at least 1")])
def test_what_cannot_be_is_refused(script, arguments, said, tmp_path):
    done = generate(script, tmp_path / "m.onnx", *arguments, exits=2)
    assert said in done.stderr
    assert os.listdir(tmp_path) == []
