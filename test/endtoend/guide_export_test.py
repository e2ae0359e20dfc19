"""The guide's PyTorch code exports the model that the guide goes on with.

PyTorch is no part of the project's Python; DIVISI_TORCH names one that has it.
"""

import os
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from conftest import ROOT, load

TORCH = os.environ.get("DIVISI_TORCH", sys.executable)


def has_torch():
    done = subprocess.run([TORCH, "-c", "import torch, onnxscript"],
                          capture_output=True)
    return done.returncode == 0


@pytest.mark.skipif(not has_torch(), reason="no PyTorch and onnxscript: "
                    "DIVISI_TORCH names a Python that has them")
def test_guide_exports_its_model(divisi):
    page = (ROOT / "docs" / "guide.md").read_text()
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S))
    subprocess.run([TORCH, "-c", code], cwd=divisi.folder, check=True,
                   capture_output=True)
    # Weights are random, as PyTorch's version draws them; operators are not.
    models = [onnx.load(folder / "classifier.onnx")
              for folder in (divisi.folder, ROOT / "test" / "models")]
    assert len({tuple(node.op_type for node in model.graph.node)
                for model in models}) == 1
    divisi("check", "classifier.onnx", "--devices", 4, "--inputs",
           "classifier.inputs.npz", "--expect", "classifier.outputs.npz")
    assert np.isfinite(load(divisi.path("classifier.outputs.npz"))
                       ["logits"]).all()
