"""Inputs without a batch, as masks and positions: given once, and read by all
micro-batches."""

import json

import numpy as np
import onnx
import pytest
from conftest import assert_close, load
from onnx import TensorProto, helper, numpy_helper
from train_test import package

pytestmark = pytest.mark.as_written

USAGE, CONTENT = 2, 4
ROWS, TOKENS, WIDTH, LAYERS = 8, 6, 8, 4
WEIGHTS = ["table", *(f"{w}{i}" for i in range(LAYERS) for w in "ab")]
TRAIN = ("--train", "--loss", "mse", "--optimizer", "sgd", "--lr", 0.1)
DIMS = {"x": ("n", "t", WIDTH), "mask": ("t", "t"), "positions": (1, "t"),
        "scale": ()}


def save(path, dims=DIMS):
    """Layers of attention behind a mask; rows are turned at their positions."""
    random = np.random.default_rng(0)
    weights = [("table", random.standard_normal((TOKENS, WIDTH)))]
    nodes = [("Gather", ["table", "positions"], ["p"], {"axis": 0}),
             ("Add", ["x", "p"], ["h0"], {})]
    for i in range(LAYERS):
        weights += [(f"{w}{i}", random.standard_normal((WIDTH, WIDTH)) / WIDTH)
                    for w in ("a", "b")]
        nodes += [("MatMul", [f"h{i}", f"a{i}"], [f"q{i}"], {}),
                  ("Transpose", [f"h{i}"], [f"k{i}"], {"perm": [0, 2, 1]}),
                  ("MatMul", [f"q{i}", f"k{i}"], [f"s{i}"], {}),
                  ("Mul", [f"s{i}", "scale"], [f"u{i}"], {}),
                  ("Add", [f"u{i}", "mask"], [f"m{i}"], {}),
                  ("Softmax", [f"m{i}"], [f"w{i}"], {"axis": -1}),
                  ("MatMul", [f"h{i}", f"b{i}"], [f"v{i}"], {}),
                  ("MatMul", [f"w{i}", f"v{i}"], [f"o{i}"], {}),
                  ("Add", [f"h{i}", f"o{i}"], [f"h{i + 1}"], {})]
    kinds = {"positions": TensorProto.INT64}
    onnx.save(helper.make_model(helper.make_graph(
        [helper.make_node(kind, given, made, name=f"node_{made[0]}", **more)
         for kind, given, made, more in nodes], "g",
        [helper.make_tensor_value_info(
            name, kinds.get(name, TensorProto.FLOAT), shape)
         for name, shape in dims.items()],
        [helper.make_tensor_value_info(f"h{LAYERS}", TensorProto.FLOAT,
                                       dims["x"])],
        [numpy_helper.from_array(array.astype(np.float32), name)
         for name, array in weights]),
        ir_version=10, opset_imports=[helper.make_opsetid("", 20)]), path)


def data(rows=ROWS):
    random = np.random.default_rng(1)
    return {"x": random.standard_normal((rows, TOKENS, WIDTH), np.float32),
            "mask": np.triu(np.full((TOKENS, TOKENS), -1e9, np.float32), 1),
            "positions": np.arange(TOKENS)[None][:, ::-1].copy(),
            "scale": np.float32(0.5)}


def shapes(rows):
    return ("--dim", f"n={rows}", "--dim", f"t={TOKENS}")


def steps(divisi, name, given):
    """Losses of three steps, and the weights after them."""
    session = package.Session(package.load(divisi.path(name)))
    losses = [float(session.run(given)["loss"]) for _ in range(3)]
    return losses, {key: np.array(session.state[key]) for key in WEIGHTS}


def compare_steps(divisi, rows, *flags):
    """With the one step of all rows, on one device."""
    given = data()
    given["labels"] = np.roll(given["x"], 1, axis=1)
    save(divisi.path("m.onnx"))
    divisi("compile", "m.onnx", *shapes(ROWS), *TRAIN, "-o", "one.divisi")
    note = divisi("compile", "m.onnx", *shapes(rows), *TRAIN, *flags, "-o",
                  "m.divisi").err
    losses, states = steps(divisi, "m.divisi", given)
    expected, wanted = steps(divisi, "one.divisi", given)
    np.testing.assert_allclose(losses, expected, 1e-5)
    for name, value in wanted.items():
        np.testing.assert_allclose(states[name], value, 1e-4, 1e-5, name)
    return note


# Rows of a micro-batch, devices, stages, parts per stage, schedule.
STEPS = [(4, 1, 1, 0, "auto"), (2, 1, 1, 0, "auto"), (1, 1, 1, 0, "auto"),
         (1, 2, 1, 0, "auto"), (2, 2, 2, 0, "gpipe"), (1, 2, 2, 0, "1f1b"),
         (2, 4, 4, 0, "1f1b"), (2, 2, 2, 0, "zero-bubble-h1"),
         (2, 2, 2, 0, "zero-bubble-h2"), (2, 2, 2, 2, "interleaved"),
         (2, 2, 2, 2, "wave"), (1, 3, 3, 0, "auto"), (2, 4, 2, 0, "auto")]


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("rows, devices, stages, parts, schedule", STEPS)
def test_steps_equal_those_of_one_batch(divisi, rows, devices, stages, parts,
                                        schedule):
    flags = ("--num-stages-per-device", parts) if parts else ()
    note = compare_steps(
        divisi, rows, "--micro-batches", ROWS // rows, "--devices", devices,
        "--pipeline-parallel-size", stages, "--schedule", schedule, *flags)
    assert ("all micro-batches read the same 'mask', 'positions', which have no "
            "batch; --shared-inputs says it otherwise") in note, note


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("rows, devices, stages", [
    (4, 1, 1), (1, 2, 2), (2, 4, 4), (2, 4, 2), (1, 3, 3)])
def test_rows_equal_those_of_one_batch(divisi, rows, devices, stages):
    save(divisi.path("m.onnx"))
    np.savez(divisi.path("x.npz"), **data())
    divisi("compile", "m.onnx", *shapes(rows), "--devices", devices,
           "--micro-batches", ROWS // rows, "--pipeline-parallel-size", stages,
           "-o", "m.divisi")
    divisi("compile", "m.onnx", *shapes(ROWS), "-o", "one.divisi")
    for name in ("m", "one"):
        divisi("run", f"{name}.divisi", "--inputs", "x.npz", "-o",
               f"{name}.npz")
    assert_close(load(divisi.path("m.npz")), load(divisi.path("one.npz")))


def test_batches_are_divided_beside_shared_inputs(divisi):
    compare_steps(divisi, ROWS, "--devices", 2, "--micro-batches", "auto")


def test_data_parallel_devices_do_not_split_a_mask(divisi):
    """Its rows are no batch: as many tokens as no axis divides."""
    compare_steps(divisi, 4, "--devices", 4, "--micro-batches", 2,
                  "--data-parallel-size", 4)


def inputs_of(divisi, *flags, exits=0):
    """Shapes that a run takes of two micro-batches of four rows."""
    result = divisi("compile", "m.onnx", *flags, "--micro-batches", 2, "-o",
                    "m.divisi", exits=exits)
    if exits:
        return result.err
    return {value.name: tuple(value.shape)
            for value in package.load(divisi.path("m.divisi")).entry().inputs}


FIXED = {"x": (4, TOKENS, WIDTH), "mask": (TOKENS, TOKENS),
         "positions": (TOKENS,), "scale": ()}
# Where no dim has a name: (dims, flags, shapes of a run).
KINDS = {
    "rows that are kept apart": (FIXED, (), {"x": 8, "mask": 6, "positions": 6}),
    "one row": ({**FIXED, "x": (1, TOKENS, WIDTH)}, (),
                {"x": 2, "mask": 6, "positions": 6}),
    "named": (FIXED, ("--shared-inputs", "positions,scale"),
              {"x": 8, "mask": 12, "positions": 6}),
    "none": (FIXED, ("--shared-inputs", "none"),
             {"x": 8, "mask": 12, "positions": 12}),
    "as many rows as tokens": ({**FIXED, "x": (TOKENS, TOKENS, WIDTH)}, (),
                               {"x": 12, "mask": 12, "positions": 12}),
    "a batch of another name": (
        {**DIMS, "mask": ("t", "t"), "positions": ("t",)},
        ("--dim", "n=4", "--dim", f"t={TOKENS}"),
        {"x": 8, "mask": 6, "positions": 6}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_which_inputs_are_shared(divisi, kind):
    dims, flags, expected = KINDS[kind]
    save(divisi.path("m.onnx"), dims)
    found = inputs_of(divisi, *flags)
    assert {name: shape[0] for name, shape in found.items() if shape} == expected


def test_what_cannot_be_told_is_asked_for(divisi):
    """A mask of each row of another number of tokens than rows of the batch."""
    save(divisi.path("m.onnx"),
         {**FIXED, "x": (2, TOKENS, WIDTH), "mask": (1, TOKENS, TOKENS),
          "positions": (2, TOKENS)})
    assert inputs_of(divisi)["mask"] == (1, TOKENS, TOKENS)
    save(divisi.path("m.onnx"), {**FIXED, "x": (1, TOKENS, WIDTH),
                                 "mask": (TOKENS, 1, TOKENS)})
    error = inputs_of(divisi, exits=USAGE)
    assert ("--micro-batches 2: the inputs 'x', 'mask', 'positions' have "
            "different numbers of rows, so that it is not known which of them "
            "have a batch; --shared-inputs names those that all micro-batches "
            "read, or is none") in error, error
    save(divisi.path("m.onnx"))
    error = inputs_of(divisi, *shapes(4), "--shared-inputs", "masks",
                      exits=USAGE)
    assert ("--shared-inputs names 'masks', and a run takes 'x', 'mask', "
            "'positions', 'scale'") in error, error


# In data.

def write_data(folder, shards, **arrays):
    folder.mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    for i, shard in enumerate(shards):
        np.savez(folder / f"s{i}.npz", **shard)


def trained(divisi, *flags, exits=0):
    result = divisi("train", "m.divisi", "--data", "data", "--steps", 2,
                    "--no-checkpoint", "--json", *flags, exits=exits)
    return result.err if exits else [
        json.loads(line)["loss"] for line in result.out.splitlines()]


def test_data_has_what_is_shared_once(divisi):
    """In a file of its own, in one shard, in each, or given: with the same
    losses."""
    save(divisi.path("m.onnx"))
    divisi("compile", "m.onnx", *shapes(4), *TRAIN, "--micro-batches", 2, "-o",
           "m.divisi")
    given = data(24)
    np.save(divisi.path("scale.npy"), given["scale"])
    fixed = ("--inputs", "scale=scale.npy")
    rows = [{"x": part, "labels": np.roll(part, 1, axis=1)}
            for part in np.split(given["x"], 2)]
    mask, positions = given["mask"], given["positions"]
    folder = divisi.path("data")
    write_data(folder, rows, mask=mask, positions=positions)
    losses = trained(divisi, *fixed)
    assert len(losses) == 2 and losses[0] != losses[1]
    write_data(folder, [rows[0] | {"mask": mask}, rows[1]])
    assert trained(divisi, *fixed) == losses
    (folder / "mask.npy").unlink()
    write_data(folder, [row | {"mask": mask} for row in rows])
    assert trained(divisi, *fixed) == losses
    np.save(divisi.path("mask.npy"), mask)
    assert trained(divisi, *fixed, "--inputs", "mask=mask.npy") == losses

    write_data(folder, [rows[0] | {"mask": mask}, rows[1] | {"mask": mask + 1}])
    error = trained(divisi, *fixed, exits=CONTENT)
    assert ("'data/s0.npz' and 'data/s1.npz' have different values of 'mask', "
            "which has no batch and is the same in every step") in error, error
    write_data(folder, [row | {"mask": np.stack([mask] * 12)} for row in rows])
    error = trained(divisi, *fixed, exits=CONTENT)
    assert ("'data/s0.npz': 'mask', which has no batch, is f32[12, 6, 6]; "
            "expected f32[6, 6] as the input is, for all steps") in error, error
    write_data(folder, rows)
    error = trained(divisi, *fixed, exits=CONTENT)
    assert ("the folder 'data' has no array 'mask' of f32[6, 6], which has no "
            "batch and is the same in every step; add mask.npy, or give it by "
            "--inputs") in error, error
