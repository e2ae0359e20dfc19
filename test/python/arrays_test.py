"""Arrays of all kinds go in and come out as they are."""

import sys

import ml_dtypes
import numpy as np
import pytest
from conftest import compile_file, model_of

import divisi
from divisi import _dtypes

TYPES = {"double": "f8", "float": "f4", "float16": "f2", "int8": "i1",
         "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1",
         "uint16": "u2", "uint32": "u4", "uint64": "u8", "bool": "?",
         "bfloat16": ml_dtypes.bfloat16, "int4": ml_dtypes.int4,
         "uint4": ml_dtypes.uint4, "float8e4m3fn": ml_dtypes.float8_e4m3fn,
         "float8e5m2": ml_dtypes.float8_e5m2, "int2": ml_dtypes.int2,
         "uint2": ml_dtypes.uint2,
         "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
         "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
         "float8e8m0": ml_dtypes.float8_e8m0fnu,
         "float4e2m1": ml_dtypes.float4_e2m1fn}


@pytest.fixture(scope="module")
def transposing(folder):
    """A transposition for each type, in one artifact."""
    names = range(len(TYPES))
    model = model_of(
        "m (" + ", ".join(f"{kind}[3, 4] x{i}" for i, kind in zip(names, TYPES))
        + ") => (" + ", ".join(f"{kind}[4, 3] y{i}"
                               for i, kind in zip(names, TYPES))
        + ") {" + " ".join(f"y{i} = Transpose(x{i})" for i in names) + "}", 24)
    path = compile_file(model, folder / "types.divisi")
    return divisi.Session(path)


def values(kind):
    random = np.random.default_rng(3)
    kind = np.dtype(kind)
    most = 1 if "int2" in kind.name else 7
    bits = random.integers(-most, most + 1, (3, 4))
    return np.abs(bits).astype(kind) if kind.name.startswith("u") or \
        kind == ml_dtypes.float8_e8m0fnu else bits.astype(kind)


def is_small(kind):
    """Whether it is an integer of less than a byte."""
    return np.dtype(kind).name in ("int2", "uint2", "int4", "uint4")


def test_every_type_goes_in_and_comes_out(transposing):
    given = {f"x{i}": values(kind) for i, kind in enumerate(TYPES.values())}
    results = transposing.run(given)
    for i, kind in enumerate(TYPES.values()):
        assert results[f"y{i}"].dtype == np.dtype(kind)
        np.testing.assert_array_equal(results[f"y{i}"], given[f"x{i}"].T)


def test_every_type_can_be_written_to_an_array_of_the_caller(transposing):
    given = {f"x{i}": values(kind) for i, kind in enumerate(TYPES.values())}
    out = {f"y{i}": np.zeros((4, 3), kind)
           for i, kind in enumerate(TYPES.values())
           if not is_small(kind)}
    results = transposing.run(given, out=out)
    for name, array in out.items():
        assert results[name] is array
        np.testing.assert_array_equal(array, given["x" + name[1:]].T)


def test_every_type_of_another_array_is_refused(transposing):
    given = [values(kind) for kind in TYPES.values()]
    for i, name in enumerate(TYPES):
        other = np.zeros((3, 4), "f4" if name != "float" else "i4")
        with pytest.raises(divisi.InvalidError, match=f"'x{i}'.*type"):
            transposing.run(*given[:i], other, *given[i + 1:])


@pytest.mark.parametrize("name, bits", [("int4", 4), ("uint2", 2)])
def test_few_bits_are_not_written_to_an_array_of_the_caller(transposing, name,
                                                            bits):
    given = [values(kind) for kind in TYPES.values()]
    out = {f"y{list(TYPES).index(name)}": np.zeros((4, 3), TYPES[name])}
    with pytest.raises(divisi.InvalidError,
                       match=f"{bits} bits cannot be written"):
        transposing.run(*given, out=out)


def test_without_ml_dtypes_arrays_hold_bits(transposing, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    _dtypes.shown.cache_clear()
    try:
        session = divisi.Session(divisi.load(transposing.artifact.path))
        given = [values(kind) for kind in TYPES.values()]
        for i, kind in enumerate(TYPES.values()):
            if is_small(kind):
                given[i] = given[i].astype(session.artifact.entry().inputs[
                    i].dtype)
            elif hasattr(ml_dtypes, np.dtype(kind).name):
                given[i] = given[i].view(f"u{np.dtype(kind).itemsize}")
        results = session.run(*given)
        for i, array in enumerate(given):
            np.testing.assert_array_equal(results[f"y{i}"], array.T)
        at = list(TYPES).index("bfloat16")
        given[at] = values("f4")
        with pytest.raises(divisi.InvalidError, match="as uint16 of its bits"):
            session.run(*given)
    finally:
        _dtypes.shown.cache_clear()


@pytest.fixture(scope="module")
def expected(small):
    x = np.random.default_rng(1).standard_normal((8, 16), np.float32)
    return divisi.Session(small).run(x)["y"]


def gaps(x):
    """As the field of records whose size is no multiple of an element's."""
    records = np.zeros(x.shape, [("a", "i1"), ("x", "f4")])
    records["x"] = x
    return records["x"]


FORMS = {
    "rows first": lambda x: x, "columns first": np.asfortranarray,
    "every other": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "part of a larger one": lambda x: np.pad(x, 3)[3:-3, 3:-3],
    "records": gaps, "read-only": lambda x: np.frombuffer(
        x.tobytes(), x.dtype).reshape(x.shape),
    "read-only records": lambda x: np.broadcast_to(gaps(x), x.shape),
    "unaligned": lambda x: np.frombuffer(b"0" + x.tobytes(), np.uint8)[1:].view(
        "f4").reshape(x.shape)}


@pytest.mark.parametrize("form", FORMS)
def test_array_in_any_form_is_right(small, x, expected, form):
    given = FORMS[form](x)
    np.testing.assert_array_equal(given, x)
    results = divisi.Session(small).run({"x": given})
    np.testing.assert_array_equal(results["y"], expected)


def test_broadcast_array_is_right(small, x):
    row = np.broadcast_to(x[0], x.shape)
    session = divisi.Session(small)
    np.testing.assert_array_equal(session.run(row)["y"],
                                  session.run(row.copy())["y"])


def test_output_into_strided_array_is_right(small, x, expected):
    whole = np.full((8, 11), -1, np.float32)
    part = whole[:, 2:10:2]
    results = divisi.Session(small).run(x, out={"y": part})
    assert results["y"] is part
    np.testing.assert_array_equal(part, expected)
    assert (whole[:, [0, 1, 3, 5, 7, 9, 10]] == -1).all()


def test_outputs_are_new_and_lie_where_nothing_is_copied(small, x):
    session = divisi.Session(small)
    first, second = session.run(x)["y"], session.run(-x)["y"]
    assert not np.shares_memory(first, second)
    assert first.ctypes.data % 64 == 0
    assert not np.array_equal(first, second)
    session.close()
    np.testing.assert_array_equal(first, divisi.Session(small).run(x)["y"])


def test_tensors_of_torch(small, x, expected, transposing):
    torch = pytest.importorskip("torch")
    session = divisi.Session(small)
    tensor = torch.from_numpy(x)
    np.testing.assert_array_equal(session.run(tensor)["y"], expected)
    np.testing.assert_array_equal(session.run(tensor.T.clone().T)["y"], expected)
    out = torch.zeros(8, 4)
    session.run(tensor, out={"y": out})
    np.testing.assert_array_equal(out.numpy(), expected)
    with pytest.raises(divisi.InvalidError, match="'x'.*gradient"):
        session.run(tensor.clone().requires_grad_())
    given = [values(kind) for kind in TYPES.values()]
    at = list(TYPES).index("bfloat16")
    bits = torch.from_numpy(given[at].view(np.int16)).view(torch.bfloat16)
    results = transposing.run(*given[:at], bits, *given[at + 1:])
    np.testing.assert_array_equal(results[f"y{at}"], given[at].T)


def test_scalars(folder):
    path = compile_file(
        model_of("m (float x) => (float y) { y = Neg(x) }"),
        folder / "scalar.divisi")
    session = divisi.Session(path)
    for x in (np.float32(3), np.array(3, "f4"), 3.0):
        assert session.run(x)["y"] == -3 and session.run(x)["y"].shape == ()


def test_tensor_without_elements(folder):
    path = compile_file(
        model_of("m (float[0, 3] x) => (float[3, 0] y) { y = Transpose(x) }"),
        folder / "empty.divisi")
    assert divisi.Session(path).run(np.zeros((0, 3), "f4"))["y"].shape == (3, 0)
