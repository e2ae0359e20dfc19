"""Models of real sizes, as PyTorch exports them.

They are no part of the project: DIVISI_EXPORTS names a folder to which
bench/onnxruntime/export.py has written them.
"""

import os
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Model

sys.path.insert(0, str(ROOT / "docs"))
import generate_firings  # noqa: E402

FOLDER = os.environ.get("DIVISI_EXPORTS", "")
PAGE = ROOT / "docs/firings-exports.md"
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="DIVISI_EXPORTS names no folder with the exports of "
    "bench/onnxruntime/export.py")


def test_page_is_what_is_applied():
    assert (generate_firings.exports_page(FOLDER) ==
            PAGE.read_text(encoding="utf-8")), (
        "write docs/firings-exports.md again: "
        "python docs/generate_firings.py --exports $DIVISI_EXPORTS")


@pytest.mark.parametrize("mesh", ["1", "4", "2x2"])
@pytest.mark.parametrize("name", generate_firings.EXPORTS)
def test_equals_pytorch(divisi, name, mesh):
    model = Model(Path(FOLDER).resolve() / f"{name}.onnx")
    divisi("check", model.onnx, "--mesh", mesh, "--solver", "random", "--seed",
           7, *model.shapes, "--inputs", model.inputs, "--expect",
           model.outputs)
