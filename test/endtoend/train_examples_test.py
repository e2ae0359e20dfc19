"""The examples of docs/training.md train: for fewer steps than the page says,
unless all cases run."""

import sys

from conftest import ROOT
from share import is_sweep

sys.path.insert(0, str(ROOT / "docs"))
import draw_losses  # noqa: E402


def test_losses_fall(tmp_path):
    found = draw_losses.run(tmp_path, None if is_sweep() else 40)
    marks = {"gpt": 1.7, "resnet": 0.1} if is_sweep() else {"gpt": 2.9,
                                                            "resnet": 0.8}
    for name, mark in marks.items():
        last = found[name][-5:]
        assert sum(last) / len(last) < mark < found[name][0], (name, last)
