"""Runs the built `divisi` as a user would.

A test gets `divisi`, a callable that takes a command line without the
program's name, runs it in a folder of its own, and fails with the whole
command when the exit code is not the expected one.

    result = divisi("compile", model, "--devices", 4, "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", inputs, exits=4)
"""

import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from share import is_sweep

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin" / "divisi"
# Before an artifact's manifest: magic, version, the manifest's size and hash, who
# signed, and the signature.
HEADER = 144
# One command; a hang must not look like a slow test.
SECONDS = 500


@pytest.fixture(scope="session", autouse=True)
def temporary_files():
    """What programs leave in the folder for temporary files when they fail, or
    are killed, goes with the session. MPI wants a short path."""
    before = os.environ.get("TMPDIR")
    with tempfile.TemporaryDirectory(prefix="divisi-",
                                     ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = folder
        yield
    if before is None:
        del os.environ["TMPDIR"]
    else:
        os.environ["TMPDIR"] = before


@dataclass
class Result:
    command: str
    code: int
    out: str
    err: str

    def report(self, wrong):
        return (f"{wrong}\n$ {self.command}\nexit code {self.code}\n"
                f"--- stdout (end)\n{self.out[-3000:]}\n"
                f"--- stderr (end)\n{self.err[-6000:]}")


# What makes a plan of a model, and so searches for other programs.
PLANNING = ("bench", "check", "compile", "explain", "plan", "simulate")


class Divisi:
    """The program, run in `folder`. Models `as_written` are planned without the
    search for other programs, unless the command line says otherwise."""

    def __init__(self, folder, as_written=False):
        self.folder = folder
        self.as_written = as_written

    def path(self, name):
        return self.folder / name

    def __call__(self, *arguments, exits=0, **options):
        arguments = [str(a) for a in arguments]
        if (self.as_written and arguments[0] in PLANNING and "--rewrite" not in
                arguments and arguments[1].endswith(".onnx")):
            arguments += ["--rewrite", "off"]
        command = [str(PROGRAM), *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True,
                              text=True, errors="replace", timeout=SECONDS,
                              stdin=subprocess.DEVNULL, **options)
        result = Result(f"cd {self.folder} && {shlex.join(command)}",
                        done.returncode, done.stdout, done.stderr)
        assert exits is None or result.code == exits, result.report(
            f"exit code {result.code}, expected {exits}")
        return result


@pytest.fixture(scope="session", autouse=True)
def program():
    if not PROGRAM.exists():
        pytest.exit(f"{PROGRAM} is missing: run 'make build' first", 3)


@pytest.fixture
def divisi(tmp_path, request):
    """With the mark `as_written` a sample's search takes no part; most of the time
    of small models is its, and it has tests of its own."""
    mark = request.node.get_closest_marker("as_written")
    return Divisi(tmp_path, mark is not None and not is_sweep())


@pytest.fixture(scope="session")
def generated(tmp_path_factory):
    """generated("gpt2.py", "--size", "tiny") is a model of models/, cached
    for the session, with inputs and outputs beside it unless weightless."""
    folder = tmp_path_factory.mktemp("generated")

    def make(script, *arguments):
        arguments = [str(a) for a in arguments]
        stem = "_".join([Path(script).stem] + arguments).replace("--", "")
        path = folder / f"{stem}.onnx"
        if not path.exists():
            run_python(ROOT / "models" / script, *arguments, "-o", path)
            if "--weightless" not in arguments:
                run_python(ROOT / "models" / "expect.py", path)
        return Model(path)

    return make


@pytest.fixture(scope="session")
def compiled_mlp(tmp_path_factory, generated):
    """The model and its artifact for four devices. Weights are at its end, and
    all ranks meet, whatever the search would find."""
    divisi = Divisi(tmp_path_factory.mktemp("mlp"))
    made = generated("mlp.py")
    divisi("compile", made.onnx, "--devices", 4, "--tensor-parallel-size", 4,
           "--rewrite", "off", "--native", "off", "-o", "m.divisi")
    return made, divisi.path("m.divisi")


def run_python(script, *arguments):
    done = subprocess.run([sys.executable, script, *arguments],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Model:
    """A model file with the files that belong to it."""
    onnx: Path

    @property
    def name(self):
        return self.onnx.stem

    @property
    def inputs(self):
        return self.onnx.with_suffix(".inputs.npz")

    @property
    def outputs(self):
        return self.onnx.with_suffix(".outputs.npz")

    @property
    def shapes(self):
        return ("--shapes-from", self.inputs)


def model(name):
    return Model(ROOT / "test" / "models" / f"{name}.onnx")


def light_model(name):
    return Model(BUILD / "test" / "light" / f"{name}.onnx")


def assert_close(got, expected):
    """The design's tolerance, over two dicts of arrays."""
    assert sorted(got) == sorted(expected)
    for name, want in expected.items():
        have = got[name]
        assert have.shape == want.shape and have.dtype == want.dtype, name
        bound = 1e-4 * np.abs(want).max(initial=0) + 1e-3 * np.abs(want)
        excess = np.abs(have - want) - bound
        # Not "excess > 0": that is false for NaN.
        bad = ~(excess <= 0)
        assert not bad.any(), (
            f"{name}: {bad.sum()} of {bad.size} differ, first at "
            f"{np.argwhere(bad)[0].tolist()}: got {have[bad][0]}, "
            f"expected {want[bad][0]}")


def load(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """What `make install` copies, in another place than where it was made."""
    folder = tmp_path_factory.mktemp("install")
    done = subprocess.run(
        ["bash", ROOT / "cmake/install/stage.sh", BUILD, folder / "first"],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (folder / "first").rename(folder / "moved")
