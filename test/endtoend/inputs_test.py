"""Tensors in every form that --inputs, --expect and --shapes-from take."""

import subprocess

import numpy as np
import onnx
import pytest
from conftest import PROGRAM
from onnx import helper, numpy_helper

pytestmark = pytest.mark.as_written

USAGE, FILES, CONTENT, DIFFERS = 2, 3, 4, 8
A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = 10 * A + 1


def value(name, shape):
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def save(path, nodes, inputs, outputs):
    onnx.save(helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs), ir_version=10,
        opset_imports=[helper.make_opsetid("", 20)]), path)


def write_pb(path, array, name=""):
    path.write_bytes(numpy_helper.from_array(array, name or None)
                     .SerializeToString())


@pytest.fixture
def two(divisi):
    """a - b of open shapes, its inputs and what comes out, in all forms."""
    f = divisi.folder
    save(f / "m.onnx", [helper.make_node("Sub", ["a", "b"], ["y"], "minus")],
         [value("a", ("rows", 3)), value("b", ("rows", 3))],
         [value("y", ("rows", 3))])
    np.savez(f / "named.npz", b=B, a=A)
    np.savez_compressed(f / "numbered.npz", A, B)
    np.savez(f / "expected.npz", y=A - B)
    for name, array in (("a", A), ("b", B), ("y", A - B)):
        np.save(f / f"{name}.npy", array)
        write_pb(f / f"{name}.pb", array, name)
    folders = {"data": ("", "", ""), "crossed": ("b", "a", "y"),
               "foreign": ("p", "q", "r")}
    for folder, names in folders.items():
        (f / folder).mkdir()
        arrays = (B, A) if folder == "crossed" else (A, B)
        for i, array in enumerate(arrays):
            write_pb(f / folder / f"input_{i}.pb", array, names[i])
        write_pb(f / folder / "output_0.pb", A - B, names[2])
    (f / "no_ending").write_bytes((f / "named.npz").read_bytes())
    (f / "wrong_ending.npz").write_bytes((f / "a.npy").read_bytes())
    (f / "a=b.npz").write_bytes((f / "named.npz").read_bytes())
    divisi("compile", "m.onnx", "--dim", "rows=2", "--devices", 2, "-o",
           "m.divisi")
    return divisi


FORMS = {
    "names": ["named.npz"],
    "numpy's numbers": ["numbered.npz"],
    "no ending": ["no_ending"],
    "a name with =": ["a=b.npz"],
    "npy in order": ["a.npy", "b.npy"],
    "a wrong ending": ["wrong_ending.npz", "b.npy"],
    "a named one before": ["b=b.npy", "a.npy"],
    "names given": ["b=b.npy", "a=a.pb"],
    "names in pb": ["b.pb", "a.pb"],
    "test data": ["data"],
    "test data by its names": ["crossed"],
    "test data of other names": ["foreign"],
}


@pytest.mark.parametrize("files", FORMS.values(), ids=FORMS)
def test_form_of_inputs(two, files):
    given = [x for file in files for x in ("--inputs", file)]
    two("run", "m.divisi", *given, "-o", "out.npz")
    with np.load(two.path("out.npz")) as out:
        np.testing.assert_array_equal(out["y"], A - B)
    two("check", "m.divisi", *given, "--expect", "expected.npz")
    # The same files say the shapes.
    shapes = [x for file in files for x in ("--shapes-from", file)]
    assert "tensor<2x3xf32" in two("plan", "m.onnx", *shapes).out


@pytest.mark.parametrize("expected", [
    "expected.npz", "y.npy", "y.pb", "y=y.npy", "data", "foreign"])
def test_form_of_expected_outputs(two, expected):
    inputs = ("--inputs", "named.npz", "--expect")
    two("check", "m.divisi", *inputs, expected)
    two("check", "m.divisi", *inputs, "a.npy", exits=DIFFERS)


@pytest.mark.parametrize("file", ["named.npz", "numbered.npz"])
def test_standard_input_and_pipes(two, file):
    data = two.path(file).read_bytes()
    run = [PROGRAM, "run", "m.divisi", "-o", "out.npz", "--inputs"]
    subprocess.run([*run, "-"], input=data, cwd=two.folder, check=True)
    subprocess.run(["bash", "-c", f'"$@" <(cat {file})', "bash", *run],
                   cwd=two.folder, check=True)
    with np.load(two.path("out.npz")) as out:
        np.testing.assert_array_equal(out["y"], A - B)


def test_shape_of_one_input_is_enough(two):
    """The other one has the same dim; --shape goes before the file."""
    assert "tensor<2x3xf32" in two("plan", "m.onnx", "--shapes-from",
                                   "a.npy").out
    assert "tensor<5x3xf32" in two(
        "plan", "m.onnx", "--shapes-from", "a.npy", "--shape", "a=5x3").out


# What does not fit.

TAKES = "expected 'a' f32[2, 3], 'b' f32[2, 3]"
MISFITS = {
    "unknown and missing": (
        ["x=a.npy", "z=a.npy", "a=a.npy"],
        "none is called 'x', 'z'; no tensor is given for 'b'; " + TAKES),
    "two for one": (
        ["named.npz", "a=b.npy"],
        "more than one tensor is given for 'a'; " + TAKES),
    "too many": (
        ["a.npy", "b.npy", "a.npy"],
        "1 of the tensors without a name are too many; " + TAKES),
    "too few": (["a.npy"], "no tensor is given for 'b'; " + TAKES),
}


@pytest.mark.parametrize("files, message", MISFITS.values(), ids=MISFITS)
def test_all_that_does_not_fit_is_said(two, files, message):
    given = [x for file in files for x in ("--inputs", file)]
    err = two("run", "m.divisi", *given, exits=CONTENT).err
    assert ("the tensors do not fit the inputs of entry 'forward': " +
            message) in err
    if "is given for 'b'" in message:
        return  # Shapes may come from elsewhere.
    shapes = [x for file in files for x in ("--shapes-from", file)]
    assert "the tensors do not fit the inputs of the model: " in two(
        "plan", "m.onnx", *shapes, exits=USAGE).err


def test_shapes_for_unknown_inputs(two):
    assert ("the tensors do not fit the inputs of the model: none is called "
            "'x', 'y'; expected 'a' f32[rows, 3], 'b' f32[rows, 3]") in two(
        "plan", "m.onnx", "--shapes-from", "x=a.npy", "--shapes-from",
        "expected.npz", exits=USAGE).err


def test_expected_outputs_that_do_not_fit(two):
    assert ("the tensors do not fit the outputs of entry 'forward': none is "
            "called 'b', 'a'; no tensor is given for 'y'; expected 'y' "
            "f32[2, 3]") in two(
        "check", "m.divisi", "--inputs", "named.npz", "--expect",
        "named.npz", exits=CONTENT).err
    np.save(two.path("wide.npy"), np.float32([[1]]))
    assert "output 'y': got f32[1, 1], expected f32[2, 3]" in two(
        "check", "m.divisi", "--inputs", "named.npz", "--expect", "wide.npy",
        exits=CONTENT).err


def test_all_shapes_and_types_that_do_not_fit_are_said(two):
    np.savez(two.path("bad.npz"), a=A.T, b=B.astype(np.float64))
    assert ("input 'a': got f32[3, 2], expected f32[2, 3]; input 'b': got "
            "f64[2, 3], expected f32[2, 3]; convert it, for example with "
            "NumPy's astype") in two("run", "m.divisi", "--inputs", "bad.npz",
                                     exits=CONTENT).err


def test_files_that_hold_no_tensors(two):
    two.path("text").write_text("not a tensor\n")
    for file in ("text", "m.onnx", "m.divisi"):
        assert (f"'{file}': not an ONNX tensor, or one of more than 2 GiB; "
                "expected tensors as .npy, .npz or .pb") in two(
            "run", "m.divisi", "--inputs", file, exits=CONTENT).err
    assert "'named.npz' holds 2 tensors, expected one" in two(
        "run", "m.divisi", "--inputs", "a=named.npz", exits=CONTENT).err
    # Standard input is empty here.
    assert "'standard input': not an ONNX tensor" in two(
        "run", "m.divisi", "--inputs", "-", exits=CONTENT).err


def test_folders_that_are_no_test_data(two):
    two.path("data/input_0.pb").unlink()
    assert ("the folder 'data' has 'input_1.pb', but no 'input_0.pb'") in two(
        "run", "m.divisi", "--inputs", "data", exits=FILES).err
    two.path("empty").mkdir()
    assert ("the folder 'empty' has no 'output_0.pb', with which ONNX's test "
            "data begins") in two(
        "check", "m.divisi", "--inputs", "named.npz", "--expect", "empty",
        exits=FILES).err
