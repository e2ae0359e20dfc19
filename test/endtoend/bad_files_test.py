"""Every message about a damaged file of tensors or a damaged artifact, and
about dumps and descriptions of machines that no parser survives."""

import hashlib
import io
import struct
import zipfile
import zlib

import bad_models
import numpy as np
import onnx
import pytest
from conftest import HEADER, Divisi

USAGE, FILES, CONTENT, UNSUPPORTED, VERSION = 2, 3, 4, 5, 10
X = np.ones((2, 3), np.float32)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The bytes of an artifact whose one input is x, 2x3 of f32."""
    divisi = Divisi(tmp_path_factory.mktemp("compiled"))
    bad_models.good(divisi.folder)
    divisi("compile", "m.onnx", "--devices", 2, "-o", "m.divisi")
    return divisi.path("m.divisi").read_bytes()


def refused(divisi, artifact, name, data, code, message):
    divisi.path("m.divisi").write_bytes(artifact)
    if data is not None:
        divisi.path(name).write_bytes(data)
    result = divisi("run", "m.divisi", "--inputs", name, "-o", "y.npz",
                    exits=code)
    assert message in result.err, result.report(f"it does not say {message!r}")
    assert not divisi.path("y.npz").exists()


# NumPy's files.

def npy(array=X):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def with_header(text, version=1, length=None, data=X.tobytes()):
    """An .npy with this header."""
    size = len(text) if length is None else length
    return (b"\x93NUMPY" + bytes([version, 0]) +
            struct.pack("<H" if version == 1 else "<I", size) +
            text.encode() + data)


NPY = [
    (CONTENT, "damaged .npy: it does not begin like a NumPy file",
     b"\x93NUMPX" + npy()[6:]),
    (UNSUPPORTED, ".npy of format version 7; expected 1, 2 or 3",
     npy()[:6] + b"\x07" + npy()[7:]),
    (CONTENT, "damaged .npy: its header is cut off",
     with_header("{}", length=9999)),
    (CONTENT, "its header is not a dictionary of descr, fortran_order and "
     "shape", with_header("{'descr': '<f4', 'shape': (2, 3)}")),
    (UNSUPPORTED, "element type '>f4' of NumPy; expected little-endian "
     "booleans, integers or floats, as astype makes them",
     npy(X.astype(">f4"))),
    (CONTENT, "damaged .npy: got 20 bytes for f32[2, 3]", npy()[:-4]),
]


@pytest.mark.parametrize("code, message, data", NPY,
                         ids=[row[1] for row in NPY])
def test_npy(divisi, compiled, code, message, data):
    refused(divisi, compiled, "x.npy", data, code, message)


def test_header_that_is_long(divisi, compiled):
    refused(divisi, compiled, "x.npy", with_header(" " * (1 << 16), 2), CONTENT,
            "damaged .npy: its header is longer than 64 KiB")


def test_header_cut_within_its_length(divisi, compiled):
    refused(divisi, compiled, "x.npy", with_header("", 2)[:10], CONTENT,
            "damaged .npy: its header is cut off")


# Archives. Offsets are those of APPNOTE.TXT, 4.3.

def npz(name="x.npy", data=None, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, npy() if data is None else data)
    return file.getvalue()


def patched(data, signature, offset, value):
    """`value` at `offset` behind the last `signature`."""
    at = data.rindex(signature) + offset
    return data[:at] + value + data[at + len(value):]


RECORD, LOCAL, END = b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"
ALL = b"\xff\xff\xff\xff"


def with_locator():
    """A 64-bit locator that leads nowhere."""
    data = npz()
    at = data.rindex(END)
    return (data[:at] + b"PK\x06\x07" + bytes(4) + struct.pack("<Q", 1 << 40) +
            bytes(4) + data[at:])


def deflated(content, size):
    """An archive whose entry claims to have another size."""
    data = npz(data=content, method=zipfile.ZIP_DEFLATED)
    return patched(data, RECORD, 24, struct.pack("<I", size))


def overlapping(claimed=1 << 26, count=1024):
    """Entries of 64 MiB each that are all the same bytes."""
    array = np.zeros(claimed, np.int8)
    data = npz("x.npy", npy(array), zipfile.ZIP_DEFLATED)
    first, end = data.index(RECORD), data.rindex(END)
    records = data[first:end] * count
    return (data[:first] + records + data[end:end + 8] +
            struct.pack("<HHII", count, count, len(records), first) +
            data[end + 20:])


NPZ = [
    (CONTENT, "damaged archive: two entries share bytes", overlapping()),
    (CONTENT, "damaged archive: shorter than its smallest form", b"PK"),
    (CONTENT, "it has no directory at its end; it may be truncated",
     npz()[:-30]),
    (CONTENT, "its 64-bit directory is not where it should be",
     with_locator()),
    (CONTENT, "its directory does not fit into the file",
     patched(npz(), END, 16, ALL)),
    (CONTENT, "a directory record is cut off",
     patched(npz(), END, 10, b"\x09\x00")),
    (CONTENT, "a directory record lacks its 64-bit sizes",
     patched(npz(), RECORD, 24, ALL)),
    (UNSUPPORTED, "entry 'x.npy' is encrypted or compressed by method 99; "
     "expected stored or deflated", patched(npz(), RECORD, 10, b"\x63\x00")),
    (CONTENT, "an entry is not where the directory says",
     patched(npz(), RECORD, 42, b"\x05\x00\x00\x00")),
    (CONTENT, "an entry's size is impossible",
     patched(npz(), RECORD, 24, b"\x05\x00\x00\x00")),
    (CONTENT, "entry 'x.npy': damaged archive: an entry does not unpack to "
     "its size", deflated(npy()[:-4], len(npy()))),
    (CONTENT, "entry 'x.npy': damaged .npy: got 25 bytes for f32[2, 3]",
     deflated(npy(), len(npy()) + 1)),
    (CONTENT, "an entry's checksum does not match",
     patched(npz(), RECORD, 16, bytes(4))),
    (CONTENT, "entry 'x.txt' is not an array (.npy)", npz("x.txt")),
]


@pytest.mark.parametrize("code, message, data", NPZ,
                         ids=[row[1] for row in NPZ])
def test_npz(divisi, compiled, code, message, data):
    refused(divisi, compiled, "x.npz", data, code, message)


@pytest.mark.parametrize("name, message", [
    ("other", "none is called 'other'"),
    ("x", "input 'x': got i8[1073741824], expected f32[2, 3]")])
def test_what_does_not_fit_is_not_unpacked(divisi, compiled, name, message):
    """An array of 1 GiB, of which its header alone is whole."""
    count = 1 << 30
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {
        "descr": "|i1", "fortran_order": False, "shape": (count,)})
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = (packer.compress(header.getvalue()) +
              packer.flush(zlib.Z_SYNC_FLUSH) + b"\xff" * (count // 1000))
    data = patched(npz(f"{name}.npy", packed), RECORD, 10, b"\x08\x00")
    size = count + len(header.getvalue())
    refused(divisi, compiled, "x.npz",
            patched(data, RECORD, 24, struct.pack("<I", size)), CONTENT,
            message)


def test_good_files_of_the_same_making_are_accepted(divisi, compiled):
    """So that the others fail for the damage alone."""
    divisi.path("m.divisi").write_bytes(compiled)
    for data in (npz(), npz(method=zipfile.ZIP_DEFLATED)):
        divisi.path("x.npz").write_bytes(data)
        divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    divisi.path("x.npy").write_bytes(npy())
    divisi.path("input_0.pb").write_bytes(pb())
    for inputs in ("x.npy", "."):
        divisi("run", "m.divisi", "--inputs", inputs, "-o", "y.npz")


# ONNX's tensors.

def pb(**fields):
    tensor = onnx.numpy_helper.from_array(X, "x")
    for key, value in fields.items():
        if key == "dims":
            tensor.dims.extend(value)
        else:
            setattr(tensor, key, value)
    return tensor.SerializeToString()


PB = [
    (CONTENT, "not an ONNX tensor, or one of more than 2 GiB", b"\xff\xff"),
    (UNSUPPORTED, "ONNX element type 8; expected a boolean, an integer or a "
     "float", pb(data_type=onnx.TensorProto.STRING)),
    (UNSUPPORTED, "an ONNX tensor whose data lies in another file; test data "
     "must hold its own", pb(data_location=onnx.TensorProto.EXTERNAL)),
    (CONTENT, "an ONNX tensor of rank 65; expected at most 64",
     pb(dims=[1] * 63)),
    (CONTENT, "got 24 bytes for a tensor f32[2, 3, 2], expected 48",
     pb(dims=[2])),
]


@pytest.mark.parametrize("code, message, data", PB,
                         ids=[row[1] for row in PB])
def test_pb(divisi, compiled, code, message, data):
    refused(divisi, compiled, "x.pb", data, code, message)


def test_names_of_files(divisi, compiled):
    refused(divisi, compiled, "x.txt", b"", CONTENT,
            "'x.txt': not an ONNX tensor")
    divisi.path("m.divisi").write_bytes(compiled)
    divisi.path("x.npy").mkdir()
    result = divisi("run", "m.divisi", "--inputs", "x.npy/", "-o", "y.npz",
                    exits=FILES)
    assert "has no 'input_0.pb'" in result.err


# Artifacts. The header: magic, u32 version, u32 manifest size, SHA-256,
# who has signed native code, and the signature.

def artifact_with(data, *, version=None, size=None, manifest=None):
    """The artifact with another header, the hash of which is right."""
    old = struct.unpack("<I", data[12:16])[0]
    text = data[HEADER:HEADER + old] if manifest is None else manifest
    return (data[:8] +
            (data[8:12] if version is None else struct.pack("<I", version)) +
            struct.pack("<I", len(text) if size is None else size) +
            hashlib.sha256(text).digest() + data[48:HEADER] + text +
            data[HEADER + old:])


ARTIFACTS = [
    (CONTENT, "not a Divisi artifact: it does not begin like one",
     lambda data: b"x" + data[1:]),
    (VERSION, "format version 99; this Divisi reads version 10: update it, or "
     "compile the model again",
     lambda data: artifact_with(data, version=99)),
    (VERSION, "format version 1; this Divisi reads version 10: compile the "
     "model again",
     lambda data: artifact_with(data, version=1)),
    (CONTENT, "a manifest of 4294967295 bytes; expected at most ",
     lambda data: artifact_with(data, size=(1 << 32) - 1)),
    (CONTENT, "its manifest is cut off; the file may be truncated",
     lambda data: data[:HEADER + 10]),
    (CONTENT, "its manifest does not match its hash",
     lambda data: data[:HEADER + 10] + b"\0" + data[HEADER + 11:]),
    (CONTENT, "its manifest cannot be parsed",
     lambda data: artifact_with(data, manifest=b"\xff")),
    (CONTENT, " bytes, expected ", lambda data: data + b"\0"),
    (CONTENT, "; it may be truncated", lambda data: data[:-1]),
]


@pytest.mark.parametrize("code, message, damage", ARTIFACTS,
                         ids=[row[1] for row in ARTIFACTS])
def test_artifact(divisi, compiled, code, message, damage):
    refused(divisi, damage(compiled), "x.npy", npy(), code, message)


# What the flags of a run may not be.

FLAGS = [
    (["--repeat", 0], "--repeat must be at least 1"),
    (["--threads-per-device", 0],
     "--threads-per-device 0: expected 1 to 1024"),
    (["--timeout", 0], "--timeout 0: expected 1 to 86400000 ms"),
    (["--backend", "tpu"], "no backend is named 'tpu'; there are:"),
    (["--backend", ","], "no backend is named ''; there are:"),
    (["--entry", "backward"], "no entry 'backward'; there are forward"),
]


@pytest.mark.parametrize("flags, message", FLAGS,
                         ids=[row[1] for row in FLAGS])
def test_flags_of_a_run(divisi, compiled, flags, message):
    divisi.path("m.divisi").write_bytes(compiled)
    divisi.path("x.npz").write_bytes(npz())
    result = divisi("run", "m.divisi", "--inputs", "x.npz", *flags,
                    "-o", "y.npz", exits=USAGE)
    assert message in result.err


def test_inputs_have_to_be_given(divisi, compiled):
    divisi.path("m.divisi").write_bytes(compiled)
    result = divisi("run", "m.divisi", "-o", "y.npz", exits=USAGE)
    assert "entry 'forward' takes 1 inputs; give them by --inputs" in result.err


# Texts whose parsers recurse, and forms that break them.

DEEP = 300000


def dump(attribute, before=""):
    return (before + "module attributes {divisi.a = " + attribute + "} {\n"
            "  func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
            "    return %x : tensor<2xf32>\n  }\n}\n").encode()


def aliases(count, line):
    return "#a0 = 1 : i64\n" + "".join(
        f"#a{i} = " + line.replace("#", f"#a{i - 1}") + "\n"
        for i in range(1, count))


NESTED = "brackets and aliases are nested more than 256 deep"
DUMPS = [
    (NESTED, dump("[" * DEEP + "]" * DEEP)),
    (NESTED, dump("{a = " * DEEP + "1" + "}" * DEEP)),
    (NESTED, dump("tuple<" * DEEP + "i8" + ">" * DEEP)),
    (NESTED, dump("(" * DEEP + "i8" + ") -> i8" * DEEP)),
    (NESTED, b"module {\n" * DEEP + b"}\n" * DEEP),
    (NESTED, dump("#a9999", aliases(10000, "[#]"))),
    ("an alias stands for more than 65536 tokens",
     dump("#a33", aliases(34, "[#, #]"))),
    ("affine_map has no meaning in a module of Divisi; remove it",
     dump("affine_map<(d) -> (" + "-" * DEEP + "d)>")),
    ("an array of index; expected integers or floats",
     dump("array<index: 1>")),
    ("'m.mlir' is MLIR's bytecode, which is not read", b"ML\xefR" + bytes(9)),
]


@pytest.mark.parametrize("message, data", DUMPS,
                         ids=[str(i) for i in range(len(DUMPS))])
def test_dump(divisi, message, data):
    divisi.path("m.mlir").write_bytes(data)
    result = divisi("compile", "m.mlir", "--devices", 1, "-o", "m.divisi",
                    exits=CONTENT)
    assert message in result.err, result.report(f"it does not say {message!r}")


@pytest.mark.parametrize("text", [
    "[" * DEEP, "{a: " * (DEEP // 2), "- " * DEEP, "-\n" * DEEP, "? " * DEEP,
    "\n".join(" " * i + "a:" for i in range(1000))],
    ids=["list", "mapping", "block", "lines", "keys", "indented"])
def test_cluster(divisi, text):
    bad_models.good(divisi.folder)
    divisi.path("c.yaml").write_text(text)
    result = divisi("plan", "m.onnx", "--cluster", "./c.yaml", "-o", "p.mlir",
                    exits=CONTENT)
    message = ("the cluster './c.yaml': lists and mappings are nested more "
               "than 16 deep")
    assert message in result.err, result.report(f"it does not say {message!r}")
