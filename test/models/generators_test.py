"""The generators of models/ and the light CNNs' weights."""

import collections
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"
sys.path[:0] = [str(MODELS), str(Path(__file__).parent)]

import expect  # noqa: E402
import gpt2  # noqa: E402
import light_weights  # noqa: E402


def generate(script, *arguments):
    return subprocess.run([sys.executable, MODELS / script, *arguments],
                          capture_output=True, text=True)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("gpt2") / "tiny.onnx"
    done = generate("gpt2.py", "--size", "tiny", "--batch", "2", "--seq", "8",
                    "-o", path)
    assert done.returncode == 0, done.stderr
    return path


def test_same_seed_same_bytes(tiny, tmp_path):
    again, other = tmp_path / "again.onnx", tmp_path / "other.onnx"
    for path, seed in ((again, "0"), (other, "1")):
        generate("gpt2.py", "--size", "tiny", "--batch", "2", "--seq", "8",
                 "--seed", seed, "-o", path)
    assert again.read_bytes() == tiny.read_bytes()
    assert other.read_bytes() != tiny.read_bytes()


def test_logits_are_of_order_one_and_causal(tiny):
    inputs = expect.random_inputs(onnx.load(tiny), seed=0)
    logits = expect.run(str(tiny), inputs)["logits"]
    assert 0.5 < logits.std() < 2
    changed = inputs["input_ids"].copy()
    changed[:, 5] += 1
    later = expect.run(str(tiny), {"input_ids": changed})["logits"]
    np.testing.assert_array_equal(logits[:, :5], later[:, :5])
    assert np.abs(logits[:, 5:] - later[:, 5:]).max() > 0.1


def test_graph_has_what_exports_have(tiny):
    graph = onnx.load(tiny).graph
    kinds = collections.Counter(node.op_type for node in graph.node)
    assert kinds["Gemm"] == 4 * 2 and kinds["Split"] == 2
    assert kinds["LessOrEqual"] and kinds["Pow"] and kinds["Tanh"]
    [gemm] = [n for n in graph.node if n.name == "node_addmm"]
    assert gemm.input[1] == "transformer.h.0.attn.c_attn.weight"
    [scopes] = [p.value for p in gemm.metadata_props]
    assert "'transformer.h.0.attn.c_attn'" in scopes
    assert len({n.name for n in graph.node}) == len(graph.node)


def test_small_has_124_million_parameters():
    graph = gpt2.Exporter(gpt2.SIZES["small"], 1, 128, 0).build()
    # The positions unused by a shorter sequence are still parameters.
    assert graph.weight_bytes() == 4 * 124_439_808


def test_weightless_declares_data_that_is_absent(tmp_path):
    path = tmp_path / "m.onnx"
    done = generate("gpt2.py", "--size", "xl", "--weightless", "-o", path)
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path) == ["m.onnx"]
    model = onnx.load(path, load_external_data=False)
    weight = next(t for t in model.graph.initializer
                  if t.name == "lm_head.weight")
    data = {e.key: e.value for e in weight.external_data}
    assert data["location"] == "m.onnx.data"
    assert int(data["length"]) == 4 * 50257 * 1600


def test_a_sequence_beyond_the_positions_is_refused(tmp_path):
    done = generate("gpt2.py", "--size", "tiny", "--seq", "65",
                    "-o", tmp_path / "m.onnx")
    assert done.returncode == 2
    assert "expected 1 to 64" in done.stderr


def test_light_weights_have_spread_and_calibrated_norms(tmp_path):
    output = light_weights.make("shufflenet", str(tmp_path))
    [probabilities] = output.values()
    # Neither uniform over the 1000 classes nor sure of one.
    assert 1e-4 < probabilities.std() and probabilities.max() < 0.5
    graph = onnx.load(tmp_path / "shufflenet.onnx").graph
    assert not [n for n in graph.node if n.op_type == "ConstantOfShape"]
    for tensor in graph.initializer:
        values = onnx.numpy_helper.to_array(tensor)
        if values.dtype == np.float32 and values.size > 1:
            assert values.std() > 0, tensor.name
