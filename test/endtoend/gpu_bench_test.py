"""bench/gpu: what it measures, and that nothing fails unseen. Divisi's side runs
on the emulated driver; peers need a GPU."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import BUILD, ROOT
from cuda_test import EMULATOR, HAS_PRODUCTS, emulator

sys.path.insert(0, str(ROOT / "models"))

import expect  # noqa: E402
import onnx  # noqa: E402

NO_GPU = 9
needs_gpus = pytest.mark.skipif(
    not (EMULATOR / "libcuda.so.1").exists() or not HAS_PRODUCTS,
    reason="the build found no cuda.h or no cublasLt.h")


def bench(folder, *arguments, exits=0, env=None):
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "gpu" / "run.py", "--rounds", "2",
         "--seconds", "0.01", "--profile-seconds", "0", "--json",
         folder / "r.json", *map(str, arguments)],
        capture_output=True, text=True, cwd=folder,
        env={**(env or os.environ), "DIVISI_BUILD": str(BUILD),
             "XDG_DATA_HOME": str(folder / "user")})
    assert done.returncode == exits, done.stdout + done.stderr
    result = folder / "r.json"
    return done, json.loads(result.read_text()) if result.exists() else None


@pytest.fixture
def tiny(tmp_path):
    """An MLP, as a file with its inputs."""
    model = tmp_path / "tiny.onnx"
    subprocess.run([sys.executable, ROOT / "models" / "mlp.py", "--widths",
                    "8,16,4", "--batch", "2", "-o", model], check=True)
    np.savez(tmp_path / "tiny.inputs.npz",
             **expect.random_inputs(onnx.load(model), seed=0))
    return model


def on_emulator():
    return emulator(bytes=1 << 24, devices=1)


@needs_gpus
def test_divisi_is_measured_in_each_precision(tiny, tmp_path):
    done, result = bench(tmp_path, "--model", tiny, "--gpu", "emulated",
                         "--precisions", "f32,tf32,bf16", env=on_emulator())
    assert result["schema_version"] == 1 and result["peers"] == ["divisi"]
    assert result["gpu"]["name"] == "emulated"
    assert [row["precision"] for row in result["models"]] == [
        "f32", "tf32", "bf16"]
    for row in result["models"]:
        cell = row["peers"]["divisi"]
        assert len(cell["ns"]) == 2 and 0 <= cell["error"] <= 1
        assert cell["median_ns"] == np.median(np.concatenate(cell["ns"]))
        # Two products: 2 * (2 * 8 * 16 + 2 * 16 * 4), and what is beside them.
        assert 768 <= row["flops"] < 1200
        peak = result["gpu"]["peaks"][row["precision"]]
        assert cell["share_of_peak"] == pytest.approx(
            1e9 * row["flops"] / cell["median_ns"] / peak)
        assert f"| {row['name']} |" in done.stdout
    assert "Share of what products reach" in done.stdout


@needs_gpus
def test_what_fails_stands_in_the_table(tiny, tmp_path):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    np.savez(tmp_path / "broken.inputs.npz", x=np.zeros(1, np.float32))
    done, result = bench(tmp_path, "--model", broken, "--model", tiny,
                         "--precisions", "f32", "--gpu", "emulated",
                         exits=1, env=on_emulator())
    first, second = result["models"]
    assert "failed" in first["peers"]["divisi"]
    assert "median_ns" in second["peers"]["divisi"]
    assert "- failed: divisi: " in done.stdout


@pytest.mark.whole
@needs_gpus
def test_peers_that_do_not_install_are_skipped_and_said(tiny, tmp_path):
    done, result = bench(
        tmp_path, "--model", tiny, "--gpu", "emulated", "--precisions", "f32",
        "--peers", "torch,onnxruntime", env={
            **on_emulator(), "PIP_NO_INDEX": "1",
            "XDG_CACHE_HOME": str(tmp_path / "cache")})
    cells = result["models"][0]["peers"]
    assert cells["torch"]["skipped"] == "not a module of PyTorch"
    assert cells["onnxruntime"]["skipped"].startswith(
        "cannot install requirements.txt: ")
    assert "median_ns" in cells["divisi"]
    assert "- skipped: onnxruntime: cannot install" in done.stdout


def test_without_a_gpu_it_says_so(tiny, tmp_path):
    alone = {key: text for key, text in os.environ.items()
             if key != "LD_LIBRARY_PATH"}
    done, result = bench(tmp_path, "--model", tiny, exits=NO_GPU, env=alone)
    assert done.stdout == "" and result is None
    assert "run.py: no GPU here, so nothing was measured: " in done.stderr


def test_names_that_are_none_are_refused(tmp_path):
    done, _ = bench(tmp_path, "--only", "gpt5", exits=2)
    assert "unknown gpt5; there are gpt2-124m-b8" in done.stderr
    done, _ = bench(tmp_path, "--peers", "jax", exits=2)
    assert "unknown jax; there are torch, onnxruntime" in done.stderr
