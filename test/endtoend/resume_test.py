"""Dumps that someone has edited: what the next stage relies on is checked
before it runs."""

import re

import pytest

FLAGS = ("--devices", 2, "--mesh", "x=2")


@pytest.fixture
def dumps(divisi, generated):
    """The dumps of every stage, and the model."""
    m = generated("mlp.py", "--widths", "16,32,8", "--batch", 4)
    divisi("compile", m.onnx, *FLAGS, "--dump-after", "all", "--dump-to", ".",
           "-o", "m.divisi")
    for stage in ("plan", "partition", "schedule", "lower"):
        divisi.path(f"{m.name}.{stage}.mlir").rename(
            divisi.path(f"{stage}.mlir"))
    return m


def edit(divisi, name, pattern, replacement):
    text = divisi.path(name).read_text()
    edited, count = re.subn(pattern, replacement, text, count=1)
    assert count == 1, text
    divisi.path(name).write_text(edited)


def test_partial_place_of_an_argument(divisi, dumps):
    edit(divisi, "plan.mlir",
         r"(func\.func @forward\(.*?spmd\.place = #spmd\.place<@g: )"
         r"\[[^]]*\]>", r"\1[*, *] partial sum {x}>")
    error = divisi("compile", "plan.mlir", "-o", "e.divisi", exits=4).err
    assert ("argument 0 is stored as a partial sum; places hold whole values"
            in error)
    # The module is not printed below.
    assert len(error.splitlines()) == 1, error
    assert not divisi.path("e.divisi").exists()


def test_missing_strategy(divisi, dumps):
    edit(divisi, "plan.mlir", r", spmd\.split = #spmd\.split<[^>]*>", "")
    error = divisi("compile", "plan.mlir", "-o", "e.divisi", exits=4).err
    assert "has no strategy; run the planner or annotate it" in error


def test_local_tensor_of_another_shape(divisi, dumps):
    """The dialect's own verifier sees some edits, the stage's the others."""
    edit(divisi, "partition.mlir", r"(return .*)", r"return")
    divisi("compile", "partition.mlir", "-o", "e.divisi", exits=4)


def test_schedule_without_its_times(divisi, dumps):
    edit(divisi, "schedule.mlir", r"exposed = \d+ : i64", "exposed = 1 : i8")
    error = divisi("explain", "schedule.mlir", exits=4).err
    assert ("divisi.schedule: expected a list of entries with nanoseconds, "
            "communication and exposed, each an i64" in error)


def test_buffer_outside_of_the_arena(divisi, dumps):
    edit(divisi, "lower.mlir", r"arena (\d+)", "arena 1")
    error = divisi("compile", "lower.mlir", "-o", "e.divisi", exits=4).err
    assert "arena" in error


@pytest.mark.parametrize("stage", ["plan", "partition", "schedule", "lower"])
def test_unedited_dumps_give_the_same_artifact(divisi, dumps, stage):
    divisi("compile", f"{stage}.mlir", "--data", dumps.onnx, "-o", "e.divisi")
    assert (divisi.path("e.divisi").read_bytes()
            == divisi.path("m.divisi").read_bytes())
