"""Integers of 2 and 4 bits and floats of 4 and 8, as ml_dtypes and ONNX have
them.

Conversions are compared without tolerance: every code, every point between two
of them, and what lies beside it.
"""

import os
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

TOOL = Path(os.environ["DIVISI_BUILD"]) / "bin" / "divisi"
FLOATS = {"e4m3fn": ml_dtypes.float8_e4m3fn,
          "e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "e5m2": ml_dtypes.float8_e5m2,
          "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
          "e2m1": ml_dtypes.float4_e2m1fn}
INTEGERS = {"int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4,
            "int2": ml_dtypes.int2, "uint2": ml_dtypes.uint2}
STORED = {**FLOATS, "e8m0": ml_dtypes.float8_e8m0fnu, **INTEGERS}


def info(name, array):
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def save(folder, nodes, inputs, outputs, weights=(), **settings):
    graph = helper.make_graph(
        nodes, "g", [info(*pair) for pair in inputs.items()],
        [info(*pair) for pair in outputs.items()], list(weights))
    onnx.save(helper.make_model(
        graph, ir_version=13, opset_imports=[helper.make_opsetid("", 25)]),
        folder / "m.onnx", **settings)
    np.savez(folder / "x.npz", **inputs)
    np.savez(folder / "y.npz", **outputs)


def divisi(folder, verb, *arguments):
    return subprocess.run([TOOL, verb, *arguments], cwd=folder,
                          capture_output=True, text=True)


def check(folder, *flags):
    done = divisi(folder, "check", "m.onnx", "--inputs", "x.npz", "--expect",
                  "y.npz", "--atol", "0", "--rtol", "0", *flags)
    assert done.returncode == 0, done.stdout + done.stderr


def casts(folder, x, wanted):
    """`x` cast to the types of `wanted`, a list of (array, attributes)."""
    nodes = [helper.make_node(
        "Cast", ["x"], [f"y{i}"],
        to=helper.np_dtype_to_tensor_dtype(y.dtype), **attributes)
        for i, (y, attributes) in enumerate(wanted)]
    # A file of int4 says what it is no better than its name.
    save(folder, nodes, {"x": x},
         {f"y{i}": y for i, (y, _) in enumerate(wanted)})
    check(folder, "--devices", "1")


def codes_of(dtype):
    """All of a float type."""
    count = 16 if dtype is ml_dtypes.float4_e2m1fn else 256
    return np.arange(count, dtype=np.uint8).view(dtype)


@pytest.mark.parametrize("name", FLOATS)
def test_all_codes_of_floats(tmp_path, name):
    codes = codes_of(FLOATS[name])
    casts(tmp_path, codes, [
        (codes.astype(t), {})
        for t in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16)])


def between(codes):
    """All halves between neighbours, and the floats beside these."""
    values = np.sort(codes.astype(np.float32))
    values = values[np.isfinite(values)]
    middle = (values[1:] + values[:-1]) / 2
    # Where the next would be, if there were one.
    top = values[-1] + (values[-1] - values[-2]) / 2
    middle = np.concatenate([middle, [top, -top]]).astype(np.float32)
    return np.concatenate([values, middle, np.nextafter(middle, np.inf),
                           np.nextafter(middle, -np.inf),
                           [np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-30]]
                          ).astype(np.float32)


def saturated(x, dtype):
    limits = ml_dtypes.finfo(dtype)
    return np.clip(x, np.float32(limits.min), np.float32(limits.max)
                   ).astype(dtype)


@pytest.mark.sample("name", "source")
@pytest.mark.parametrize("source", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name", FLOATS)
def test_all_midpoints_of_floats(tmp_path, name, source):
    dtype = FLOATS[name]
    x = between(codes_of(dtype))
    with np.errstate(over="ignore"):
        x = x.astype(source)
    wanted = [(saturated(x.astype(np.float32), dtype), {})]
    if name != "e2m1":  # which saturates always
        wanted += [(x.astype(np.float32).astype(dtype), {"saturate": 0})]
    casts(tmp_path, x, wanted)


def powers(x, mode, saturates):
    """x as powers of 2, by their definition; NaN for what is out of range."""
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        down = 2.0 ** np.floor(np.log2(x))
        up = np.where(down < x, down * 2, down)
        power = {"up": up, "down": down,
                 "nearest": np.where(x >= down * 1.5, up, down)}[mode]
    is_out = ~((x >= 2.0 ** -127) & (x <= 2.0 ** 127))
    bound = np.where(x >= 0, np.clip(power, 2.0 ** -127, 2.0 ** 127), np.nan)
    return np.where(is_out & (not saturates), np.nan, bound).astype(
        STORED["e8m0"])


@pytest.mark.parametrize("source", [np.float32, np.float64, np.float16])
def test_powers_of_two(tmp_path, source):
    whole = 2.0 ** np.arange(-130, 128)
    x = np.concatenate([whole, whole * 1.5, np.nextafter(whole, np.inf),
                        np.nextafter(whole * 1.5, 0), [0.0, np.inf, np.nan]])
    with np.errstate(over="ignore"):
        x = np.unique(x.astype(np.float32).astype(source))
    casts(tmp_path, x, [
        (powers(x, mode, saturate), {"saturate": saturate, "round_mode": mode})
        for mode in ("up", "down", "nearest") for saturate in (0, 1)])
    codes = np.arange(256, dtype=np.uint8).view(STORED["e8m0"])
    casts(tmp_path, codes, [(codes.astype(source), {})])


def test_another_rounding_is_refused(tmp_path):
    x = np.ones(3, np.float32)
    save(tmp_path, [helper.make_node("Cast", ["x"], ["y"], "it", to=24,
                                     round_mode="sideways")],
         {"x": x}, {"y": x.astype(STORED["e8m0"])})
    done = divisi(tmp_path, "plan", "m.onnx", "--devices", "1")
    assert done.returncode == 4, done.stderr
    assert ("attribute 'round_mode' is \"sideways\", expected \"up\", "
            "\"down\" or \"nearest\"") in done.stderr


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_of_few_bits(tmp_path, name):
    count = 1 << int(name[-1])
    x = np.arange(-40, 40)
    # Those of the type are the same modulo its count of values.
    codes = (x % count).astype(np.uint8).view(INTEGERS[name])
    for source in (np.float32, np.int8, np.int64):
        casts(tmp_path, x.astype(source), [(codes, {})])
    codes = np.arange(count, dtype=np.uint8).view(INTEGERS[name])
    casts(tmp_path, codes, [(codes.astype(t), {}) for t in (
        np.int8, np.uint8, np.int64, np.float32, np.float16, np.bool_)])


def values_of(dtype, *shape):
    random = np.random.default_rng(0)
    count = 4 if np.dtype(dtype).name.endswith("int2") else 8
    return random.integers(0, count, shape).astype(dtype)


@pytest.mark.sample("name", ("stored", "devices"))
@pytest.mark.parametrize("devices", ["1", "3"])
@pytest.mark.parametrize("stored", ["raw", "typed", "external"])
@pytest.mark.parametrize("name", STORED)
def test_weights_and_movement(tmp_path, name, stored, devices):
    """Weights in every form, moved with inputs of their type, and cast."""
    dtype = STORED[name]
    w, x = values_of(dtype, 5, 9), values_of(dtype, 5, 9)
    one = np.array(1).astype(dtype)
    weight = numpy_helper.from_array(w, "w")
    if stored == "typed":
        weight = helper.make_tensor("w", weight.data_type, w.shape,
                                    w.flatten())
        assert weight.int32_data and not weight.raw_data
    nodes = [
        helper.make_node("Transpose", ["w"], ["t"]),
        helper.make_node("Reshape", ["t", "shape"], ["r"]),
        helper.make_node("Pad", ["x", "pads", "one"], ["p"]),
        helper.make_node("Cast", ["r"], ["f"], to=TensorProto.FLOAT)]
    save(tmp_path, nodes, {"x": x},
         {"r": w.T.reshape(3, 15),
          "p": np.pad(x, ((0, 1), (1, 0)), constant_values=one),
          "f": w.T.reshape(3, 15).astype(np.float32)},
         [weight, numpy_helper.from_array(one, "one"),
          numpy_helper.from_array(np.array([3, 15]), "shape"),
          numpy_helper.from_array(np.array([0, 1, 1, 0]), "pads")],
         **({"save_as_external_data": True, "location": "w.bin",
             "size_threshold": 0} if stored == "external" else {}))
    check(tmp_path, "--devices", devices, "--random-plans", "2")


def test_artifacts_hold_and_give_them(tmp_path):
    x = (np.arange(24) % 16 - 8).astype(ml_dtypes.int4).reshape(4, 6)
    w = numpy_helper.from_array(x[:2], "w")
    save(tmp_path, [helper.make_node("Transpose", ["x"], ["y"]),
                    helper.make_node("Identity", ["w"], ["z"])],
         {"x": x}, {"y": x.T, "z": x[:2]}, [w])
    for arguments in (
            ["compile", "m.onnx", "--devices", "2", "-o", "m.divisi"],
            ["run", "m.divisi", "--inputs", "x.npz", "--output", "o.npz"],
            ["check", "m.divisi", "--inputs", "x.npz", "--expect", "y.npz"]):
        done = divisi(tmp_path, *arguments)
        assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "o.npz") as outputs:
        assert (outputs["y"].view(ml_dtypes.int4) == x.T).all()
        assert (outputs["z"].view(ml_dtypes.int4) == x[:2]).all()


def test_a_missing_file_of_packed_weights_is_said(tmp_path):
    w = values_of(ml_dtypes.int4, 4, 6)
    save(tmp_path, [helper.make_node("Transpose", ["w"], ["y"])], {},
         {"y": w.T}, [numpy_helper.from_array(w, "w")],
         save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").unlink()
    done = divisi(tmp_path, "plan", "m.onnx", "--devices", "2")
    assert done.returncode == 3, done.stderr
    assert "initializer 'w'" in done.stderr and "w.bin" in done.stderr


# What Divisi does not have, by ONNX's number.
REFUSED = {"STRING": 8, "COMPLEX64": 14, "COMPLEX128": 15}
ADVICE = "booleans, integers of 2 to 64 bits, or floats of 4 to 64 bits"


def refusal(folder, nodes, elements=1, weights=()):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", elements, [3])],
                              [value("y", 1, [3])], list(weights))
    model = helper.make_model(graph, ir_version=10,
                              opset_imports=[helper.make_opsetid("", 21)])
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    done = divisi(folder, "plan", "m.onnx", "--devices", "1")
    assert done.returncode == 5, done.stderr
    return done.stderr


@pytest.mark.parametrize("name", REFUSED)
def test_other_types_are_refused_by_name(tmp_path, name):
    cast = helper.make_node("Cast", ["x"], ["y"], "it", to=TensorProto.FLOAT)
    assert (f"the elements of input 'x' are {name}; expected a tensor of "
            f"{ADVICE}") in refusal(tmp_path, [cast], REFUSED[name])
    to = helper.make_node("Cast", ["x"], ["a"], "it", to=REFUSED[name])
    back = helper.make_node("Cast", ["a"], ["y"], "back", to=TensorProto.FLOAT)
    said = refusal(tmp_path, [to, back])
    assert "node 'it' (Cast)" in said
    assert (f"it casts to the element type {name}, which Divisi does not "
            f"support; export the model with {ADVICE}") in said
    weight = TensorProto(name="w", data_type=REFUSED[name], dims=[3],
                         raw_data=bytes(48))
    of_weight = helper.make_node("Cast", ["w"], ["y"], "it",
                                 to=TensorProto.FLOAT)
    assert (f"initializer 'w' has the element type {name}, which Divisi does "
            f"not support; export the model with {ADVICE}") in refusal(
                tmp_path, [of_weight], weights=[weight])
