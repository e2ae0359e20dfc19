"""The readers' corpus through the C APIs: an answer or an error each, and the host
lives. make fuzz and test/fuzz/mutate.py do the same to the readers and to programs."""

import hashlib
import random
import struct
import sys

import numpy as np
import pytest
from conftest import ROOT, compile_file, model_of, perceptron

import divisi

sys.path.insert(0, str(ROOT / "test" / "fuzz"))
import mutate  # noqa: E402

CORPUS = ROOT / "test" / "fuzz" / "corpus"
# All but those of divisi solve and of launchers, which C does not read.
KINDS = ("Clusters", "Manifests", "Models", "Modules", "Rules", "Tensors")
FILES = [f"{kind}/{path.name}" for kind in KINDS
         for path in sorted((CORPUS / kind).iterdir())]
OPTIONS = {"Clusters": "cluster", "Rules": "rules"}
# What docs promise for bad input: not a defect (InternalError).
EXPECTED = (divisi.UsageError, divisi.FileError, divisi.InvalidError,
            divisi.UnsupportedError, divisi.InfeasibleError,
            divisi.NoPlanError, divisi.DeviceError, divisi.VersionError)


@pytest.fixture(scope="session")
def header(folder):
    """That of an artifact, and where its manifest begins."""
    content = compile_file(perceptron(), folder / "header.divisi").read_bytes()
    return content[:mutate.HEADER]


def read(kind, content, path, header):
    """Gives the content to whom it is for."""
    if kind == "Manifests":
        if not content.startswith(b"DIVISI"):
            content = (header[:12] + struct.pack("<I", len(content)) +
                       hashlib.sha256(content).digest() + header[48:] + content)
        divisi.Session(divisi.load(content), backend="reference").close()
        return
    path.write_bytes(content)
    # A dump reads the weights of its model, which was called so.
    model = CORPUS / "Models" / (path.name.split(".")[0] + ".onnx")
    if kind == "Modules" and model.exists():
        (path.parent / "m.onnx").write_bytes(model.read_bytes())
    if kind in ("Models", "Modules"):
        plan = divisi.plan(content, devices=2) if kind == "Models" else \
            divisi.plan(path)
    elif kind == "Tensors":
        plan = divisi.plan(model_of(
            "m (float[2, 3] x, float[2, 3] c) => (float[2, 3] y)"
            "{ y = Add(x, c) }"), constants={"c": path})
    else:
        plan = divisi.plan(perceptron(), **{OPTIONS[kind]: path})
    with plan:
        plan.layouts
        plan.explain()
        plan.compile().close()


def run(name, change, tmp_path, header):
    kind, file = name.split("/")
    content = change((CORPUS / name).read_bytes())
    try:
        read(kind, content, tmp_path / file, header)
        return "read"
    except EXPECTED as error:
        assert str(error) and "signal" not in str(error), error
        return "refused"


@pytest.mark.sample
@pytest.mark.parametrize("name", FILES)
def test_corpus(name, tmp_path, header):
    run(name, bytes, tmp_path, header)


CHANGES = {"Manifests": mutate.mutate_wire, "Models": mutate.mutate_wire,
           "Modules": mutate.mutate_dump}


@pytest.mark.sample(slow=True, least=3)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", [name for name in FILES
                                  if not name.startswith("Rules")])
def test_damaged_corpus(name, seed, tmp_path, header):
    kind = name.split("/")[0]
    change = mutate.mutate_bytes if seed % 2 or name.endswith(".divisi") else \
        CHANGES.get(kind, mutate.mutate_bytes)
    run(name, lambda content: change(random.Random(f"{name} {seed}"), content),
        tmp_path, header)


def test_what_is_right_is_read(tmp_path, header):
    """So that none of the above is refused for what this test does."""
    assert [run(name, bytes, tmp_path, header) for name in
            ("Manifests/mlp.divisi", "Models/mlp.onnx",
             "Modules/mlp.plan.mlir")] == ["read"] * 3
    np.save(tmp_path / "c.npy", np.ones((2, 3), "f4"))
    read("Tensors", (tmp_path / "c.npy").read_bytes(), tmp_path / "d.npy",
         header)
