"""`make test-gpu`: one script, one report, whatever fails. On the emulator, and where
there is no GPU."""

import os
import subprocess

import pytest
from conftest import BUILD, ROOT
from cuda_test import HAS_NCCL, HAS_PRODUCTS
from share import is_sweep


def script(tmp_path, **settings):
    report = tmp_path / "report.txt"
    done = subprocess.run(
        ["bash", ROOT / "test" / "gpu.sh"], capture_output=True, text=True,
        env={**os.environ, "DIVISI_BUILD": str(BUILD),
             "DIVISI_GPU_REPORT": str(report), **settings})
    return done, report.read_text()


def without_gpus(tmp_path):
    """A PATH in which nvidia-smi finds none."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\nexit 9\n")
    tool.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def test_without_a_gpu_it_says_that_nothing_was_run(tmp_path):
    done, report = script(tmp_path, PATH=without_gpus(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "nvidia-smi lists no GPU: nothing of this was run\n" in report
    assert done.stdout == report
    assert "passed" not in report and "FAILED" not in report


@pytest.mark.skipif(not is_sweep(), reason="a minute; `make sweep` has it")
@pytest.mark.skipif(not (HAS_NCCL and HAS_PRODUCTS),
                    reason="the build found no nccl.h or cublasLt.h")
def test_the_first_questions_are_answered_on_the_emulator(tmp_path):
    done, report = script(tmp_path, DIVISI_GPU="emulated")
    assert done.returncode == 0, report
    assert "GPUs: emulated; nothing below was run on a GPU\n" in report
    assert "passed" in report and "FAILED" not in report
    assert "counted: GPU 1: " in report


@pytest.mark.skipif(not HAS_PRODUCTS, reason="the build found no cublasLt.h")
def test_it_goes_on_after_a_failure(tmp_path):
    done, report = script(tmp_path, DIVISI_GPU="emulated",
                          DIVISI_PYTHON="/bin/false")
    assert done.returncode == 1
    assert "FAILED" in report
    assert report.rstrip().splitlines()[-1].startswith("report: ")
