"""What the tools write where nobody has named a file: nothing there is followed,
and nothing stays of it."""

import os
import signal
import subprocess
import time

import pytest
from conftest import PROGRAM


@pytest.mark.sample()
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM,
                                    signal.SIGKILL])
def test_nothing_stays_of_an_interrupted_check(generated, tmp_path, number):
    made = generated("mlp.py", "--widths", "64,128,32", "--batch", 16)
    process = subprocess.Popen(
        [PROGRAM, "check", made.onnx, "--devices", "2", "--random-plans",
         "5000"], cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until, seen = time.monotonic() + 1, set()
    while time.monotonic() < until:
        seen |= set(os.listdir(tmp_path))
    assert process.poll() is None, process.stderr.read()
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode in (-number, 128 + number)
    assert not seen and not os.listdir(tmp_path)


# An assembler that says where it works, and does not end.
PTXAS = """#!/bin/sh
case "$*" in
--version) echo made up ;;
--help) echo "'sm_80' 'sm_90'" ;;
*) ls -ld "$PWD" "$(dirname "$2")" >> "$SAYS"; sleep 100 & wait ;;
esac
"""


def test_nothing_stays_of_an_interrupted_assembler(generated, tmp_path):
    """Nor can another user of the group put kernels there, to be signed."""
    made = generated("mlp.py", "--widths", "64,128,32", "--batch", 16)
    tools, home = tmp_path / "cuda/bin", tmp_path / "home"
    tools.mkdir(parents=True)
    home.mkdir()
    for name in ("ptxas", "fatbinary"):
        (tools / name).write_text(PTXAS)
        (tools / name).chmod(0o755)
    says = tmp_path / "says"
    process = subprocess.Popen(
        ["sh", "-c", 'umask 002; exec "$@"', "sh", PROGRAM, "compile",
         made.onnx, "--gpu", "sm_90", "-o", tmp_path / "m.divisi"],
        env={**os.environ, "TMPDIR": str(home), "SAYS": str(says),
             "XDG_CACHE_HOME": str(tmp_path / "cache"),
             "CUDA_HOME": str(tmp_path / "cuda")}, start_new_session=True,
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not says.exists() and time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    folders = [folder for folder in home.iterdir()]
    assert folders and all(folder.stat().st_mode & 0o777 == 0o700
                           for folder in folders)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert not list(home.iterdir())
