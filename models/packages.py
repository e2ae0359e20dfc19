"""Finds the Python packages that the generators need.

A script of this folder may be started by any Python. Where that one lacks a
package, the project's own, which `make build` sets up, takes over.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def project_python():
    """The project's Python, or None if it has not been set up."""
    done = subprocess.run(["bash", ROOT / "cmake" / "setup.sh", "--prefix"],
                          capture_output=True, text=True)
    python = Path(done.stdout.strip()) / "venv" / "bin" / "python"
    return python if done.returncode == 0 and python.exists() else None


def require(*names):
    """Goes on if the packages are there; else runs the script again by the
    project's Python, or ends it."""
    missing = [name for name in names if not importlib.util.find_spec(name)]
    if not missing:
        return
    python = project_python()
    if python and not os.path.samefile(sys.prefix, python.parents[1]):
        os.execv(python, [str(python), *sys.argv])
    sys.exit(f"{Path(sys.argv[0]).name}: error: this Python has no package "
             f"{' and no '.join(repr(name) for name in missing)}; install it "
             f"with '{sys.executable} -m pip install {' '.join(missing)}', or "
             "the project's Python with 'make setup', which this script then "
             "uses")
