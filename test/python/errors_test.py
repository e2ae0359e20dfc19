"""What is wrong is an exception that names it, and no crash."""

import os
import struct

import numpy as np
import pytest

import divisi

EXPECTED = "something with __dlpack__"


class OnGpu:
    """What a tensor on a GPU answers: a DLTensor with another device."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        import ctypes

        from divisi import _c, _tensors
        capsule = self.array.__dlpack__(max_version=(1, 0))
        at = _tensors.capsule_pointer(capsule, b"dltensor_versioned") + 32
        _c.Tensor.from_address(at).device = _c.Device(2, 0)
        assert ctypes.sizeof(_c.Tensor) == 48
        return capsule


WRONG = {
    "type": (lambda x: x.astype("f8"), r"'x': got elements of type f64, "
                                       r"expected f32"),
    "order of bytes": (lambda x: x.astype(">f4"), "'x': .*byte order"),
    "shape": (lambda x: x[1:], r"'x': got f32\[7, 16\], expected f32\[8, 16\]"),
    "rank": (lambda x: x[0], r"'x': got f32\[16\]"),
    "complex": (lambda x: x.astype("c8"), "'x': got elements of type DLPack's "
                                          "type 5 of 64 bits"),
    "objects": (lambda x: x.astype(object), "'x': "),
    "text": (lambda x: "x", f"'x': got a str, expected an array: {EXPECTED}"),
    "list": (lambda x: x.tolist(), f"'x': got a list, .*{EXPECTED}"),
    "nothing": (lambda x: None, f"'x': got a NoneType, .*{EXPECTED}"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_input_is_named(small, x, kind):
    spoil, message = WRONG[kind]
    with divisi.Session(small) as session:
        right = session.run(x)["y"]
        with pytest.raises(divisi.InvalidError, match=message) as caught:
            session.run(spoil(x))
        assert isinstance(caught.value, ValueError) and caught.value.code == 4
        np.testing.assert_array_equal(session.run(x)["y"], right)


def test_input_on_another_device_is_named(small, x):
    with pytest.raises(divisi.UnsupportedError,
                       match="'x': device type 2; expected the memory of the "
                             "host"):
        divisi.Session(small).run(OnGpu(x))


@pytest.mark.parametrize("given, message", [
    ((), "got 0 inputs, expected 1: x"), (({},), "input 'x' is missing"),
    (({"z": 1},), "input 'x' is missing"),
    (({"x": 1, "z": 1},), "there is no input 'z'; the inputs are x")])
def test_wrong_names_and_counts(small, given, message):
    with pytest.raises(divisi.InvalidError, match=message):
        divisi.Session(small).run(*given)


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("out, message", [
    ({"y": read_only(np.zeros((8, 4), "f4"))}, "'y': the array is read-only"),
    ({"y": np.zeros((8, 4), "f8")}, "'y': got elements of type f64"),
    ({"y": np.zeros((4, 8), "f4")}, r"'y': got f32\[4, 8\]"),
    ({"y": [0]}, "'y': got a list"),
    ({"q": np.zeros((8, 4), "f4")}, "no output 'q'; the outputs are y")])
def test_wrong_output(small, x, out, message):
    session = divisi.Session(small)
    with pytest.raises(divisi.InvalidError, match=message):
        session.run(x, out=out)
    assert session.run(x)["y"].shape == (8, 4)


def test_no_artifact(tmp_path, small):
    with pytest.raises(divisi.FileError, match="No such file") as caught:
        divisi.load(tmp_path / "none.divisi")
    assert isinstance(caught.value, OSError) and caught.value.code == 3
    assert str(tmp_path) in caught.value.place
    with pytest.raises(divisi.FileError):
        divisi.load(tmp_path)
    with pytest.raises(divisi.UsageError, match="no byte 0"):
        divisi.load("a\0b")
    for content in (b"", b"abc", bytes(small)[:100], bytearray(64)):
        with pytest.raises(divisi.InvalidError, match="the artifact"):
            divisi.load(content)


def test_artifact_of_a_newer_version(small):
    content = bytearray(bytes(small))
    [version] = struct.unpack_from("<I", content, 8)
    assert version < 1000
    struct.pack_into("<I", content, 8, version + 1)
    with pytest.raises(divisi.VersionError, match="version") as caught:
        divisi.load(bytes(content))
    assert caught.value.code == 10


@pytest.mark.parametrize("options, message", [
    ({"backend": "gpu"}, "no backend is named 'gpu'"), ({"backend": ""}, "no backend"),
    ({"threads": 0}, "expected 1 to 1024"), ({"threads": 9999}, "1 to 1024"),
    ({"timeout": 0}, "timeout 0"), ({"timeout": float("nan")}, "timeout nan"),
    ({"timeout": 1e9}, "86400"), ({"mpi_comm": "world"}, "mpi_comm")])
def test_wrong_options(small, options, message):
    with pytest.raises(divisi.UsageError, match=message):
        divisi.Session(small, **options)


def test_entries_are_named(stateful):
    session = divisi.Session(stateful)
    with pytest.raises(divisi.UsageError, match="2 entries .add, twice."):
        session.run()
    with pytest.raises(divisi.UsageError, match="no entry 'q'"):
        session.run(entry="q")
    with pytest.raises(KeyError):
        session.state["q"]


def test_nothing_works_once_closed(small, x, tmp_path):
    session = divisi.Session(small)
    session.close()
    session.close()
    for call in (lambda: session.run(x), session.cancel, session.describe,
                 session.memory, session.state.reset,
                 lambda: session.write_trace(tmp_path / "t"),
                 lambda: session.state["w"]):
        with pytest.raises(divisi.UsageError, match="the session is closed"):
            call()
    artifact = divisi.load(small.path)
    kept = divisi.Session(artifact)
    artifact.close()
    with pytest.raises(divisi.UsageError, match="the artifact is closed"):
        divisi.Session(artifact)
    assert kept.run(x)["y"].shape == (8, 4)


def test_trace_is_of_a_session_that_records(small, x, tmp_path):
    with divisi.Session(small, trace=True) as session:
        session.run(x)
        session.write_trace(tmp_path / "trace.json")
        assert (tmp_path / "trace.json").read_text().startswith("{")
        with pytest.raises(divisi.FileError):
            session.write_trace(tmp_path / "no" / "trace.json")
    with divisi.Session(small) as session, pytest.raises(divisi.UsageError):
        session.write_trace(tmp_path / "none.json")


@pytest.mark.parametrize("where", ["none", "a file"])
def test_library_that_is_missing(tmp_path, monkeypatch, where):
    from divisi import _libraries
    (tmp_path / "lib").mkdir()
    if where == "a file":
        (tmp_path / "lib" / "libdivisi_runtime.so").write_text("no library")
    monkeypatch.setenv("DIVISI_BUILD", str(tmp_path))
    with pytest.raises(divisi.FileError, match="libdivisi_runtime|cannot be "
                                               "loaded"):
        _libraries.load("divisi_runtime")


def test_exceptions_can_be_sent_to_another_process():
    import pickle
    error = divisi.InvalidError("wrong", "x")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.place) == (
        divisi.InvalidError, "x: wrong", "x")


def test_command_line_in_place_of_the_interpreter():
    import subprocess
    import sys

    from conftest import ROOT
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
    done = subprocess.run([sys.executable, "-m", "divisi", "run", "--none"],
                          env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "--none" in done.stderr
    environment["DIVISI_BUILD"] = "/nowhere"
    done = subprocess.run([sys.executable, "-m", "divisi"], env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 3 and "cannot be started" in done.stderr
