"""The exporters' own Python environment, and what they export.

The environment lies in the user's cache under a name that carries a hash of
the requirements, so that clones share it and a changed pin makes another.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
JAX_REQUIREMENTS = HERE / "requirements-jax.txt"


class Unavailable(Exception):
    """No environment, for lack of a network or of room."""


def folder_of(requirements):
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    cache = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")
    return Path(cache) / "divisi" / f"{requirements.stem}-{digest}"


def ensure(requirements):
    """The environment's Python; makes the environment if there is none."""
    folder = folder_of(requirements)
    python = folder / "bin" / "python"
    if python.exists():
        return python
    print(f"installing {requirements.name} into {folder}", file=sys.stderr)
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    for command in ([sys.executable, "-m", "venv", part],
                    [part / "bin" / "python", "-m", "pip", "-q", "install",
                     "--only-binary", ":all:", "-r", requirements]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise Unavailable(
                f"cannot install {requirements.name}: "
                + (said[-1] if said else "no message") + "; what is exported "
                "already runs without (--only), and so does --model")
    # Programs in bin/ name the folder that they were made in; only Python,
    # which does not, is used.
    part.rename(folder)
    return python


def export(names, folder, python):
    """Exports what is missing; {name: why it failed} of the rest."""
    failed = {}
    for name in names:
        if (folder / f"{name}.onnx").exists():
            continue
        print(f"exporting {name}", file=sys.stderr)
        done = subprocess.run([python, HERE / "export.py", folder, name],
                              capture_output=True, text=True)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [
                f"exit code {done.returncode}"]
            failed[name] = f"export: {said[-1]}"
    return failed
