"""Each model under test/models, imported and run by the reference kernels."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TOOL = Path(os.environ["DIVISI_BUILD"]) / "bin/import-model"
MODELS = Path(__file__).resolve().parent.parent / "models"
NAMES = sorted(path.stem for path in MODELS.glob("*.onnx"))


def run(name, *options):
    return subprocess.run(
        [TOOL, MODELS / f"{name}.onnx", "--inputs",
         MODELS / f"{name}.inputs.npz", *options],
        capture_output=True, text=True)


def test_there_are_models():
    assert len(NAMES) >= 7


@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_the_exporter(name):
    done = run(name, "--outputs", MODELS / f"{name}.outputs.npz")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_shape_arithmetic_leaves_no_trace(name):
    text = run(name, "--print").stdout
    assert "nn.matmul" in text
    assert "nn.concat" not in text
    assert not any("nn.gather" in line and "xi64>, " in line.split("->")[0]
                   and line.rstrip().endswith("i64>")
                   for line in text.splitlines())


def test_open_dims_are_listed_with_their_inputs():
    done = subprocess.run([TOOL, MODELS / "gpt2.onnx"], capture_output=True,
                          text=True)
    assert done.returncode == 2
    assert "s10 in 'input_ids'" in done.stderr
    assert "s86 in 'attention_mask'" in done.stderr


def test_weights_that_are_not_there_are_only_missed_when_needed(tmp_path):
    path = tmp_path / "m.onnx"
    subprocess.run([sys.executable, MODELS.parent.parent / "models/mlp.py",
                    "--widths", "8,4", "--batch", "2", "--weightless",
                    "-o", path], check=True)
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 8), np.float32))
    np.savez(tmp_path / "y.npz", linear=np.zeros((2, 4), np.float32))
    printed = subprocess.run([TOOL, "m.onnx", "--print"], cwd=tmp_path,
                             capture_output=True, text=True)
    assert 'from "m.onnx.data" [0, 128]' in printed.stdout, printed.stderr
    done = subprocess.run([TOOL, "m.onnx", "--inputs", "x.npz",
                           "--outputs", "y.npz"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert "m.onnx.data" in done.stderr
