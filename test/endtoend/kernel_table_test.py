"""The table of kernels in docs/gpu.md is what ptxas says now."""

import subprocess
import sys

import pytest
from conftest import ROOT
from cuda_test import EMULATOR


def test_the_table_is_what_the_tools_write():
    if not (EMULATOR / "libcuda.so.1").exists():
        pytest.skip("the build found no cuda.h, and makes no kernels")
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate_kernel_table.py", "--check"],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    if "compared" in done.stdout:
        pytest.skip(done.stdout)
    print(done.stdout)
