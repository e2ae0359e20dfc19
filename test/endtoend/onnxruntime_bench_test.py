"""bench/onnxruntime: what it measures, and that nothing fails unseen.

It needs no PyTorch here: an export of its own is put where it looks for one.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import BUILD, ROOT

sys.path.insert(0, str(ROOT / "models"))

import expect  # noqa: E402
import onnx  # noqa: E402

QUICK = ("--rounds", "2", "--seconds", "0.01")


def bench(folder, *arguments, exits=0, **environment):
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "onnxruntime" / "run.py",
         "--json", folder / "r.json", *QUICK, *map(str, arguments)],
        capture_output=True, text=True, cwd=folder,
        env={**os.environ, "DIVISI_BUILD": str(BUILD), **environment})
    assert done.returncode == exits, done.stdout + done.stderr
    return done.stdout, json.loads((folder / "r.json").read_text())


@pytest.fixture
def exports(tmp_path):
    """A folder with a model of names.py, that is another one."""
    folder = tmp_path / "exports"
    folder.mkdir()
    model = folder / "tiny-mlp.onnx"
    subprocess.run([sys.executable, ROOT / "models" / "mlp.py", "--widths",
                    "8,16,4", "--batch", "2", "-o", model], check=True)
    inputs = expect.random_inputs(onnx.load(model), seed=0)
    np.savez(folder / "tiny-mlp.inputs.npz", **inputs)
    np.savez(folder / "tiny-mlp.outputs.npz",
             **expect.run(str(model), inputs))
    return folder


def test_speeds_are_ratios_of_the_medians(exports, tmp_path):
    text, result = bench(tmp_path, "--models", exports, "--only", "tiny-mlp")
    row, = result["models"]
    assert list(row["peers"]) == ["onnxruntime", "divisi 1x2", "divisi 2x1"]
    base = row["peers"]["onnxruntime"]["median_ns"]
    for peer in ("divisi 1x2", "divisi 2x1"):
        cell = row["peers"][peer]
        assert len(cell["ns"]) == 2 and 0 <= cell["error"] < 0.1
        assert cell["median_ns"] == np.median(np.concatenate(cell["ns"]))
        assert cell["speed"] == pytest.approx(base / cell["median_ns"])
        low, high = cell["speed_of_rounds"]
        assert low <= high and cell["load_seconds"] > 0
    settings = result["settings"]["onnxruntime"]
    assert settings["graph_optimization_level"] == "ORT_ENABLE_ALL"
    assert settings["intra_op_num_threads"] == 2
    assert "graph_optimization_level ORT_ENABLE_ALL" in text
    assert [entry["count"] for entry in result["geomeans"]] == [1, 1]


def test_model_beside_its_inputs_is_measured(exports, tmp_path):
    text, result = bench(tmp_path, "--model", exports / "tiny-mlp.onnx",
                         "--threads", 1)
    assert result["peers"] == ["onnxruntime", "divisi 1x1"]
    assert "| tiny-mlp |" in text


def test_results_that_differ_fail(exports, tmp_path):
    path = exports / "tiny-mlp.outputs.npz"
    outputs = dict(np.load(path))
    name, = outputs
    outputs[name][1, 2] += 0.01 * np.abs(outputs[name]).max()
    np.savez(path, **outputs)
    text, result = bench(tmp_path, "--models", exports, "--only", "tiny-mlp",
                         exits=1)
    for cell in result["models"][0]["peers"].values():
        assert cell["failed"].startswith("the results differ: ")
        assert cell["error"] > 1 and "speed" not in cell
    assert "**failed**" in text and "- failed: divisi 1x2: the results" in text


@pytest.mark.whole
def test_model_that_does_not_compile_fails_and_others_go_on(exports, tmp_path):
    broken = exports / "broken.onnx"
    broken.write_bytes(b"no model")
    np.savez(exports / "broken.inputs.npz", x=np.zeros(1, np.float32))
    text, result = bench(tmp_path, "--model", broken, "--model",
                         exports / "tiny-mlp.onnx", exits=1)
    first, second = result["models"]
    assert all("failed" in cell for cell in first["peers"].values())
    assert all("speed" in second["peers"][peer] for peer in result["peers"][1:])
    assert "(broken)" in text


def test_model_that_does_not_export_fails(tmp_path):
    text, _ = bench(tmp_path, "--models", tmp_path / "none", "--only",
                    "dlrm", "--python", "/bin/false", exits=1)
    assert "failed: divisi 1x2: export: " in text


@pytest.mark.whole
def test_peer_that_does_not_install_is_skipped_and_said(exports, tmp_path):
    text, result = bench(tmp_path, "--models", exports, "--only", "tiny-mlp",
                         "--peers", "inductor", PIP_NO_INDEX="1",
                         XDG_CACHE_HOME=str(tmp_path / "cache"))
    cell = result["models"][0]["peers"]["inductor"]
    assert cell["skipped"].startswith("cannot install requirements.txt: ")
    assert "- skipped: inductor: cannot install" in text


@pytest.mark.whole
def test_what_each_pass_brings_is_a_column(exports, tmp_path):
    text, result = bench(tmp_path, "--models", exports, "--only", "tiny-mlp",
                         "--peers", "bf16,ablation")
    cells = result["models"][0]["peers"]
    without = [name for name in cells if "without" in name]
    assert len(without) == 8 and "divisi 1x2 without fusion" in without
    assert all("speed" in cells[name] for name in without)
    bf16 = cells["divisi 1x2 bf16"]
    assert "speed" in bf16 or (
        "- skipped: divisi 1x2 bf16: this processor does not" in text)
