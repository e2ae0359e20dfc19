"""Convolutions that cuDNN has no engine for, and products that cuBLASLt has no
algorithm for, of models on emulated GPUs: what the artifact has beside the library's
call does them (DnnApi.cpp and BlasApi.cpp in test/emulator have the switches)."""

import re

import pytest
from conftest import assert_close, load, model
from cuda_test import (DEVICE, EMULATOR, GPU, HAS_CONVOLUTIONS, emulator)

pytestmark = pytest.mark.as_written

FALLBACK = "generated code does (\\d+) nn.conv, for which cuDNN has no engine"


@pytest.fixture(autouse=True)
def _needs_convolutions(divisi, monkeypatch):
    if not (EMULATOR / "libcuda.so.1").exists() or not HAS_CONVOLUTIONS:
        pytest.skip("the build found no cuda.h, or no cudnn_graph.h")
    # Where the user's key is, which says whose code is run.
    monkeypatch.setenv("XDG_DATA_HOME", str(divisi.path("user")))


def run(divisi, m, exits=0, **settings):
    return divisi("run", "g.divisi", "--inputs", m.inputs, "--repeat", 3,
                  "--verbose", "-o", "out.npz", exits=exits,
                  env=emulator(no_fusion=1, **settings))


# Also as part of a graph, from the second run on.
@pytest.mark.sample(first=True)
@pytest.mark.parametrize("devices", [1, 2])
def test_code_is_used_where_there_is_no_engine(divisi, devices):
    m = model("resnet")
    divisi("compile", m.onnx, *m.shapes, "--devices", devices, *GPU, "-o",
           "g.divisi")
    found = run(divisi, m)
    assert "has no engine" not in found.err
    assert_close(load(divisi.path("out.npz")), load(m.outputs))
    for how in (1, 2):
        lacking = run(divisi, m, no_engine=how)
        assert "emulator: " not in lacking.err
        for device in range(devices):
            said = re.search(f"divisi: note: device {device}: {FALLBACK}\n",
                             lacking.err)
            assert said and int(said[1]) > 0, lacking.err
        assert "are one graph" in lacking.err
        assert_close(load(divisi.path("out.npz")), load(m.outputs))


# Of regions all, or what is fused to the product alone, is code.
@pytest.mark.sample()
@pytest.mark.parametrize("lacks, falls", [("gb", False), ("p", True)])
def test_code_is_used_where_there_is_no_algorithm(divisi, lacks, falls):
    m = model("gpt2")
    divisi("compile", m.onnx, *m.shapes, "--devices", 2, *GPU, "-o", "g.divisi")
    told = run(divisi, m, blas_lacks=lacks).err
    assert "emulator: " not in told
    said = re.findall(r"device \d: generated code does (\d+) nn.matmul, for which "
                      r"cuBLASLt has no engine", told)
    assert len(said) == (2 if falls else 0), told
    assert_close(load(divisi.path("out.npz")), load(m.outputs))


# One kernel does all of them.
def test_calls_name_one_fallback(divisi):
    m = model("resnet")
    divisi("compile", m.onnx, *m.shapes, "--devices", 1, "--gpu", "sm_90",
           "--cubins", "off", "-o", "g.divisi", "--dump-after", "lower",
           "--dump-to", ".")
    [dump] = divisi.folder.glob("*.lower.mlir")
    text = dump.read_text()
    named = re.findall(r"fallback (@\w+)", text)
    # In regions, and alone.
    assert len(named) == len(re.findall(r'(?:= |call ")nn\.(?:conv|matmul)\b', text))
    assert len(set(named)) == 2 # one for products


def test_a_library_that_fails_is_no_lack_of_an_engine(divisi):
    m = model("resnet")
    divisi("compile", m.onnx, *m.shapes, "--devices", 1, *GPU, "-o", "g.divisi")
    told = run(divisi, m, exits=DEVICE, no_engine=3).err
    assert ("cuDNN cannot plan a convolution: CUDNN_STATUS_INTERNAL_ERROR"
            in told)
    assert "has no engine" not in told
