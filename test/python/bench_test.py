"""bench/python/compare.py runs, and Python adds little."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.whole
def test_python_adds_little(tmp_path):
    subprocess.run([sys.executable, ROOT / "bench/python/compare.py",
                    "--runs", "200", "--json", tmp_path / "out.json"],
                   check=True, capture_output=True)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["import_seconds"] < 0.3
    [rows] = [model["rows"] for model in found["models"]
              if (model["model"], model["devices"]) == ("mlp-7x512", 1)]
    for row in rows:
        if row["way"].startswith("Session.run"):
            # 15 us on a machine that does nothing else.
            assert row["adds_us"] < 50, row
