"""Which files a dump reads: those that it knows the hash of beneath its own
folder, and those that the command line names."""

import os
import re
import shutil

import pytest
from conftest import load
from files_test import FLAGS, make_model, shell
from written_programs import write_program

pytestmark = pytest.mark.as_written

USAGE, FILES, CONTENT = 2, 3, 4
SECRET = b"a secret of somebody else: 0123456789abcdef0123456789abcdef" * 80
PROGRAM = """
nn.global @w parameter : tensor<8x4xf32> from "{}" [0, 128]
func.func @forward(%x: tensor<2x8xf32> {{nn.name = "x"}})
    -> (tensor<2x4xf32> {{nn.name = "y"}}) {{
  %w = nn.read @w : tensor<8x4xf32>
  %y = nn.matmul %x, %w {{labels = "mk,kn->mn"}}
      : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}}
"""


@pytest.fixture
def text(divisi):
    """text(NAME) makes in/p.mlir, whose weights lie in NAME; its hash there is
    right. The secret lies outside, and so does what leads there."""
    inside = divisi.path("in")
    (inside / "deep").mkdir(parents=True)
    divisi.path("secret").write_bytes(SECRET)
    (inside / "own.bin").write_bytes(SECRET)
    (inside / "link").symlink_to("../secret")
    (inside / "up").symlink_to("..")
    os.mkfifo(inside / "pipe")

    def make(name):
        known = inside / "own.bin"
        write_program(inside / "p.mlir", PROGRAM.format(known.name))
        written = (inside / "p.mlir").read_text()
        (inside / "p.mlir").write_text(written.replace("own.bin", name))
        return "in/p.mlir"
    return make


def refused(divisi, path, *flags, exits=CONTENT):
    error = divisi("compile", path, *flags, "-o", "p.divisi", exits=exits).err
    assert not divisi.path("p.divisi").exists()
    return error


OUTSIDE = ["../secret", "deep/../../secret", "{folder}/secret", "link",
           "up/secret", "{folder}/in/own.bin", "/etc/passwd",
           "/proc/self/exe", "../../../../../../../../proc/self/exe"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_lies_outside_is_not_read(divisi, text, name):
    path = text(name.format(folder=divisi.folder))
    error = refused(divisi, path)
    assert "leaves the folder" in error
    assert "or name it on the command line: --data /" in error
    # Whoever needs no bytes needs no file.
    divisi("explain", path)
    divisi("plan", path, "-o", "q.mlir")


@pytest.mark.parametrize("name, exits, message", [
    ("pipe", FILES, "it is not a regular file"),
    ("deep", FILES, "it is not a regular file"),
    ("nothing", FILES, "No such file or directory; expected 4720 bytes with "
                       "the SHA-256 "),
])
def test_what_is_no_file_is_told(divisi, text, name, exits, message):
    assert message in refused(divisi, text(name), exits=exits)


def test_a_descriptor_by_its_name(divisi, text):
    """Beneath the root, which is the folder of this dump, lies everything."""
    divisi.path("p.mlir").write_text(divisi.path(text("own.bin")).read_text()
                                     .replace("own.bin", "proc/self/fd/3"))
    done = shell(divisi, f"exec 3< secret; F=$PWD; cd /; divisi compile - -o "
                 "$F/p.divisi < $F/p.mlir", exits=CONTENT)
    assert b"'proc/self/fd/3' leaves the folder '/'" in done.stderr


def test_a_hash_is_required_beneath_the_folder(divisi):
    """Who writes a text to a folder need not know what else is there."""
    divisi.path("w.bin").write_bytes(SECRET)
    divisi.path("p.mlir").write_text(PROGRAM.format("w.bin"))
    error = refused(divisi, "p.mlir")
    assert (f"nothing says what '{divisi.folder}/w.bin' has to be; name the "
            f"file by --data {divisi.folder}/w.bin, or say it on the module: "
            "divisi.files = {NAME = {bytes = 4720, sha256 = \"") in error
    divisi.path("n.mlir").write_text(PROGRAM.format(""))
    assert refused(divisi, "n.mlir").endswith("'' is not a file name\n")
    # By the folder it is not named, by its name it is.
    assert "nothing says" in refused(divisi, "p.mlir", "--data", ".")
    divisi("compile", "p.mlir", "--data", "w.bin", "-o", "p.divisi")
    assert divisi.path("p.divisi").read_bytes().find(SECRET[:128]) > 0


def test_a_named_file_is_compared_with_the_hash(divisi, text):
    path = text("../secret")
    divisi("compile", path, "--data", "secret", "-o", "p.divisi")
    divisi.path("p.divisi").unlink()
    divisi.path("secret").write_bytes(SECRET[::-1])
    assert "has the SHA-256 " in refused(divisi, path, "--data", "secret")
    divisi.path("secret").write_bytes(SECRET + b"x")
    assert "has 4721 bytes, expected 4720" in refused(divisi, path, "--data",
                                                      "secret")


def test_data_is_for_dumps_that_name_it(divisi, text):
    path = text("../secret")
    divisi.path("other").write_bytes(SECRET)
    assert ("--data other: the dump names no file that ends in this name"
            in refused(divisi, path, "--data", "other", exits=USAGE))
    assert "cannot read 'a/secret'" in refused(divisi, path, "--data",
                                               "a/secret", exits=FILES)
    make_model(divisi.folder)
    assert ("--data is for a dump: 'm.onnx' is a model, whose data lies beneath "
            "its folder") in refused(divisi, "m.onnx", "--data", "other",
                                     exits=USAGE)


def test_beneath_a_named_folder(divisi, text):
    """By all that the name ends with, and nowhere else."""
    path = text("../weights/a/w.bin")
    for place in ("n/weights/a", "n/a", "n"):
        divisi.path(place).mkdir(parents=True, exist_ok=True)
    assert "leaves the folder" in refused(divisi, path, "--data", "n")
    divisi.path("n/w.bin").symlink_to("../secret")
    assert "leaves the folder" in refused(divisi, path, "--data", "n")
    divisi.path("n/a/w.bin").write_bytes(SECRET)
    divisi("compile", path, "--data", "n", "-o", "p.divisi")
    divisi.path("n/weights/a/w.bin").write_bytes(SECRET[:-1])
    divisi.path("p.divisi").unlink()
    assert "has 4719 bytes" in refused(divisi, path, "--data", "n")


def test_the_file_of_the_right_size_is_taken(divisi, text):
    """Two of one name, as of two models."""
    path = text("../m/w.bin")
    for name, data in (("a", b"short"), ("b", SECRET)):
        divisi.path(name).mkdir()
        divisi.path(f"{name}/w.bin").write_bytes(data)
    divisi("compile", path, "--data", "a/w.bin", "--data", "b/w.bin",
           "-o", "p.divisi")


@pytest.mark.parametrize("external", [False, True])
def test_dump_edit_resume_with_the_model_elsewhere(divisi, external):
    """The usual way, by the names that a user has at hand."""
    models, work = divisi.path("models"), divisi.path("work")
    models.mkdir(), work.mkdir()
    make_model(models, external=external)
    divisi("compile", "models/m.onnx", *FLAGS, "--dump-after", "plan",
           "--dump-to", "work", "-o", "m.divisi")
    weights = "models/w.bin" if external else "models/m.onnx"
    plan = work / "m.plan.mlir"
    plan.write_text(re.sub("shuffle", "mixed", plan.read_text()))
    for data in (weights, "models"):
        divisi("compile", "work/m.plan.mlir", "--data", data, "-o",
               "p.divisi")
        divisi("check", "work/m.plan.mlir", "--data", data, "--inputs",
               "models/x.npz", "--expect", "models/y.npz")
    # A dump of it names the model where it is now.
    moved = divisi.path("moved")
    shutil.move(models, moved)
    divisi("plan", "work/m.plan.mlir", "--data", "moved", "-o", "q.mlir")
    divisi("compile", "q.mlir", "-o", "q.divisi")
    divisi("run", "q.divisi", "--inputs", "moved/x.npz", "-o", "o.npz")
    assert load(divisi.path("o.npz"))["y"].shape == (4, 100)


@pytest.mark.parametrize("noted", ["precious\\00", "../precious", "..",
                                   "\\1B[2J"])
def test_a_noted_name_leads_nowhere(divisi, text, noted):
    """A dump that comes through a pipe says what its own dumps are called."""
    divisi.path("precious").write_text("precious")
    program = divisi.path(text("own.bin")).read_text().replace(
        "module attributes {", f'module attributes {{divisi.model = "{noted}", ')
    divisi.path("in/p.mlir").write_text(program)
    shell(divisi, "cd in; divisi compile - --dump-after plan --dump-to . -o "
          "p.divisi < p.mlir")
    assert divisi.path("precious").read_text() == "precious"
    [dump] = divisi.path("in").glob("*.plan.mlir")
    assert dump.name.isprintable()
