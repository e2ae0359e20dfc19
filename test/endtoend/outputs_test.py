"""Outputs destroy nothing: no input, no device, no link, and no minutes of work
for what cannot be written."""

import os
import stat
import subprocess
import threading
import time

import numpy as np
import onnx
import pytest
from conftest import PROGRAM, ROOT
from files_test import make_model

pytestmark = pytest.mark.as_written

USAGE, FILES = 2, 3
PROBLEM = ROOT / "test" / "Search" / "data" / "example.json"


@pytest.fixture
def made(divisi):
    """A model whose weights lie in w.bin, an artifact that leaves them there,
    a plan, the inputs, and a problem."""
    make_model(divisi.folder, external=True)
    divisi("compile", "m.onnx", "--devices", 2, "--weights", "external",
           "-o", "m.divisi")
    divisi("plan", "m.onnx", "--devices", 2, "-o", "p.mlir")
    np.save(divisi.path("x.npy"), np.zeros((4, 8), np.float32))
    divisi.path("in").mkdir()
    onnx.save_tensor(onnx.numpy_helper.from_array(
        np.zeros((4, 8), np.float32), "x"), divisi.path("in/input_0.pb"))
    divisi.path("p.json").write_bytes(PROBLEM.read_bytes())
    return divisi


def contents(folder):
    return {path.relative_to(folder): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def refused(divisi, *arguments, says, code=USAGE):
    """Nothing has changed, and nothing was left."""
    before = contents(divisi.folder)
    result = divisi(*arguments, exits=code)
    assert says in result.err, result.report(f"it does not say {says!r}")
    assert contents(divisi.folder) == before


COMPILE = ["compile", "m.onnx", "--devices", 2, "-o"]
INPUTS = [
    (["compile", "m.onnx", "--devices", 2, "-o", "m.onnx"],
     "-o 'm.onnx' is the input, which would be lost; choose another name"),
    (["plan", "m.onnx", "--devices", 2, "-o", "./m.onnx"],
     "-o './m.onnx' is the input 'm.onnx' under another name, which would be "
     "lost"),
    (COMPILE + ["w.bin"], "-o 'w.bin' is data of the model '"),
    (["compile", "p.mlir", "-o", "p.mlir"], "-o 'p.mlir' is the input, which"),
    (["compile", "p.mlir", "-o", "w.bin"], "-o 'w.bin' is data of the model"),
    (["plan", "m.onnx", "--shapes-from", "x.npz", "-o", "x.npz"],
     "-o 'x.npz' is a file of --shapes-from, which would be lost"),
    (["run", "m.divisi", "--inputs", "x.npz", "-o", "m.divisi"],
     "-o 'm.divisi' is the artifact, which"),
    (["run", "m.divisi", "--inputs", "x.npz", "-o", "x.npz"],
     "-o 'x.npz' is a file of --inputs, which"),
    (["run", "m.divisi", "--inputs", "x=x.npy", "-o", "x.npy"],
     "-o 'x.npy' is a file of --inputs, which"),
    (["run", "m.divisi", "--inputs", "x.npz", "--trace", "x.npz"],
     "--trace 'x.npz' is a file of --inputs, which"),
    (["run", "m.divisi", "--inputs", "in", "-o", "in/input_0.pb"],
     "-o 'in/input_0.pb' is a file of --inputs, which"),
    (["run", "m.divisi", "--inputs", "x.npz", "-o", "w.bin"],
     "-o 'w.bin' is the weights of the artifact './w.bin' under another name"),
    (["solve", "p.json", "-o", "p.json"], "-o 'p.json' is the problem, which"),
]


@pytest.mark.parametrize("arguments, message", INPUTS,
                         ids=[row[1][:40] for row in INPUTS])
def test_an_output_that_is_an_input(made, arguments, message):
    refused(made, *arguments, says=message)


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_an_output_that_is_an_input_through_a_link(made, link):
    for target in ("m.onnx", "w.bin"):
        name = f"link.{target}"
        link(made.path(target), made.path(name))
        refused(made, *COMPILE, name, says=f"-o '{name}' is ")
        link(made.path(target), made.path(f"again.{target}"))
        refused(made, "compile", f"again.{target}" if target == "m.onnx" else
                "m.onnx", "--devices", 2, "-o", name, says=f"-o '{name}' is ")


def test_a_model_by_stdin_is_an_input(made):
    before = contents(made.folder)
    with open(made.path("m.onnx"), "rb") as file:
        done = subprocess.run([PROGRAM, "plan", "-", "-o", "m.onnx"],
                              cwd=made.folder, stdin=file, capture_output=True,
                              text=True)
    assert done.returncode == USAGE
    assert "-o 'm.onnx' is the input '-' under another name" in done.stderr
    assert contents(made.folder) == before


def test_a_dump_that_is_an_input(made):
    """m.plan.mlir is written after the plan, and read before it."""
    made("compile", "m.onnx", "--devices", 2, "--dump-after", "import",
         "-o", "a.divisi")
    os.rename(made.path("m.import.mlir"), made.path("m.plan.mlir"))
    refused(made, "compile", "m.plan.mlir", "--devices", 2, "--dump-after",
            "all", "-o", "a.divisi",
            says="the dump 'm.plan.mlir' is the input, which would be lost")


OUTPUTS = [
    (["run", "m.divisi", "--inputs", "x.npz", "-o", "o.npz", "--trace",
      "./o.npz"], "--trace './o.npz' is the same file as -o 'o.npz'; give each "
     "a name of its own"),
    (["run", "m.divisi", "--inputs", "x.npz", "-o", "-", "--timing-json",
      "/dev/stdout"], "--timing-json '/dev/stdout' is the same file as -o '-'"),
    (["compile", "m.onnx", "--devices", 2, "--dump-after", "plan",
      "-o", "m.plan.mlir"],
     "the dump 'm.plan.mlir' is the same file as -o 'm.plan.mlir'"),
    (["run", "m.divisi", "--inputs", "x.npz", "-o", "link/o.npz", "--trace",
      "in/o.npz"], "--trace 'in/o.npz' is the same file as -o 'link/o.npz'"),
]


@pytest.mark.parametrize("arguments, message", OUTPUTS,
                         ids=[row[1][:40] for row in OUTPUTS])
def test_two_outputs_that_are_one_file(made, arguments, message):
    made.path("link").symlink_to("in")
    refused(made, *arguments, says=message)


# What is no file.

def test_devices_stay_devices(made):
    """`-o /dev/null`, and a link to it."""
    made.path("null").symlink_to("/dev/null")
    before = os.stat("/dev/null")
    for path in ("/dev/null", "null"):
        made("compile", "m.onnx", "--devices", 2, "-o", path)
        made("plan", "m.onnx", "--devices", 2, "-o", path)
        made("run", "m.divisi", "--inputs", "x.npz", "-o", path, "--trace",
             path, "--timing-json", path)
        made("solve", "p.json", "-o", path)
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_rdev) == (after.st_ino, after.st_rdev)
    assert made.path("null").is_symlink()


@pytest.mark.parametrize("arguments", [
    ["compile", "m.onnx", "--devices", 2], ["plan", "m.onnx", "--devices", 2],
    ["run", "m.divisi", "--inputs", "x.npz"], ["solve", "p.json"]],
    ids=lambda arguments: arguments[0])
def test_named_pipes_are_written_through(made, arguments):
    os.mkfifo(made.path("pipe"))
    got = []
    reader = threading.Thread(
        target=lambda: got.append(made.path("pipe").read_bytes()))
    reader.start()
    made(*arguments, "-o", "pipe")
    reader.join()
    assert stat.S_ISFIFO(os.stat(made.path("pipe")).st_mode)
    made(*arguments, "-o", "file")
    assert got == [made.path("file").read_bytes()]


def test_descriptors_are_written_through(made):
    line = f"{PROGRAM} plan m.onnx --devices 2 -o /dev/fd/5 5> out"
    subprocess.run(["bash", "-c", line], cwd=made.folder, check=True,
                   capture_output=True)
    made("compile", "out", "-o", "o.divisi")


def test_the_target_of_a_link_is_replaced(made):
    made.path("other").mkdir()
    made.path("other/old.divisi").write_text("old")
    os.chmod(made.path("other/old.divisi"), 0o640)
    for name in ("old", "new"):
        made.path(f"{name}.link").symlink_to(f"other/{name}.divisi")
        made("compile", "m.onnx", "--devices", 2, "-o", f"{name}.link")
        assert made.path(f"{name}.link").is_symlink()
        assert made.path(f"other/{name}.divisi").read_bytes()[:6] == b"DIVISI"
    mode = made.path("other/old.divisi").stat().st_mode
    assert stat.S_IMODE(mode) == 0o640


# Before the work.

@pytest.mark.parametrize("arguments, message", [
    (["compile", "big.onnx", "--devices", 8, "-o", "lost/m.divisi"],
     "cannot write 'lost/m.divisi': there is no folder 'lost'"),
    (["plan", "big.onnx", "--devices", 8, "-o", "in"],
     "cannot write 'in': it is a folder, expected a file"),
    (["compile", "big.onnx", "--devices", 8, "--dump-after", "lower",
      "--dump-to", "lost", "-o", "m.divisi"],
     "cannot write 'lost/big.lower.mlir': there is no folder 'lost'"),
    (["compile", "m.onnx", "--devices", 8, "-o", "loop"],
     "cannot write 'loop': "),
])
def test_what_cannot_be_written_costs_no_work(made, generated, arguments,
                                              message):
    made.path("loop").symlink_to("loop")
    model = generated("gpt2.py", "--size", "tiny", "--batch", 2, "--seq", 16)
    made.path("big.onnx").write_bytes(model.onnx.read_bytes())
    begin = time.monotonic()
    refused(made, *arguments, says=message, code=FILES)
    refused_after = time.monotonic() - begin
    if arguments[0] == "compile" and "lost/m.divisi" in arguments:
        begin = time.monotonic()
        made("compile", "big.onnx", "--devices", 8, "-o", "m8.divisi")
        assert refused_after < (time.monotonic() - begin) / 2
