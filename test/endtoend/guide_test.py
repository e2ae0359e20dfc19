"""The guide's commands print what it shows, and README's run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

from conftest import BUILD, ROOT


def test_guide_is_what_the_tools_print():
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "run_guide.py", "--check"],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_readme_runs_as_it_stands(tmp_path):
    """Its commands in a copy of what they need, by any Python."""
    readme = (ROOT / "README.md").read_text()
    [commands] = re.findall(r"\n((?:    .*\n)*    PATH=.*\n(?:    .*\n)*)",
                            readme)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/bin").symlink_to(BUILD / "bin")
    for name in ("models", "cmake"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run(["bash", "-e", "-c", commands], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "mlp.divisi: equal" in done.stdout


def run_alone(script, *arguments, **environment):
    """By a Python that has no packages: isolated, and without its site."""
    return subprocess.run(
        [sys.executable, "-S", ROOT / "models" / script, *arguments],
        env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True,
        text=True)


def test_generators_find_the_projects_python(tmp_path):
    done = run_alone("mlp.py", "-o", tmp_path / "m.onnx", HOME=str(Path.home()))
    assert done.returncode == 0 and (tmp_path / "m.onnx").exists(), done.stderr


def test_generators_say_which_package_is_missing(tmp_path):
    for script in ("mlp.py", "gpt2.py", "expect.py"):
        done = run_alone(script, "-o", tmp_path / "m.onnx",
                         DIVISI_PREFIX=str(tmp_path))
        assert done.returncode == 1
        assert re.fullmatch(
            script + r": error: this Python has no package 'numpy' and no "
            r"'onnx'.*; install it with '.* -m pip install numpy onnx.*', or "
            r"the project's Python with 'make setup', .*\n", done.stderr)
