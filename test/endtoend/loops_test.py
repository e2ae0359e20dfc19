"""Loops, whose bodies are planned and lowered once, give what one device gives:
on any devices, by plans that somebody wrote, found or drew.
"""

import json

import numpy as np
import pytest
from conftest import assert_close, load
from loop_programs import (FIELD, MOST, NESTED, STEPS, field_tensors, jacobi,
                           jacobi_tensors, lstm, lstm_tensors, nested_tensors,
                           run_jacobi, run_lstm, run_nested)
from written_programs import write_program

DEVICES = [1, 2, 3, 4, 8]


@pytest.fixture
def compute(divisi):
    """compute(PROGRAM, TENSORS, DEVICES) returns its outputs."""
    def run(program, tensors, devices, *options, weights=()):
        divisi.path("weights.bin").write_bytes(
            b"".join(w.tobytes() for w in weights))
        write_program(divisi.path("m.mlir"), program)
        np.savez(divisi.path("in.npz"), **tensors)
        divisi("compile", "m.mlir", "--devices", devices, *options,
               "-o", "m.divisi")
        divisi("run", "m.divisi", "--inputs", "in.npz", "-o", "out.npz")
        return load(divisi.path("out.npz"))
    return run


def dumped(divisi):
    """The program of the ranks in the compiled module."""
    divisi("compile", "m.mlir", "--devices", 2, "-o", "m.divisi",
           "--dump-after", "partition")
    return next(divisi.path(".").glob("*.partition.mlir")).read_text()


@pytest.mark.sample("devices", "splits")
@pytest.mark.parametrize("splits", [False, True])
@pytest.mark.parametrize("devices", DEVICES)
def test_lstm(compute, devices, splits):
    w, r, x = lstm_tensors()
    got = compute(lstm(devices, splits), {"x": x}, devices, weights=(w, r))
    assert_close(got, run_lstm())


def test_lstm_with_split_features_talks_in_its_body(divisi, compute):
    w, r, x = lstm_tensors()
    compute(lstm(2, True), {"x": x}, 2, weights=(w, r))
    body = dumped(divisi).split("func.func private")[1]
    assert "@step__0" in body and "spmd.all_gather" in body


@pytest.mark.sample("devices", "count")
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("count", [0, 1, 2, 17, MOST])
def test_jacobi_is_the_same_bit_for_bit(compute, devices, count):
    tensors = jacobi_tensors(count)
    one = compute(jacobi(1, False), tensors, 1)
    got = compute(jacobi(devices, True), tensors, devices)
    assert np.array_equal(got["v"], one["v"])
    assert_close(got, run_jacobi(count))


def test_jacobi_exchanges_halos_in_its_body(divisi, compute):
    compute(jacobi(2, True), jacobi_tensors(3), 2)
    assert "spmd.exchange" in dumped(divisi).split("func.func private")[1]


@pytest.mark.sample("condition", "count")
@pytest.mark.parametrize("condition", [True, False])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_loops_in_loops_and_branches(compute, count, condition):
    w, tensors = nested_tensors(count, condition)
    for devices in DEVICES:
        got = compute(NESTED, tensors, devices, weights=[w])
        assert np.array_equal(got["y"], run_nested(count, condition)["y"])


@pytest.mark.sample(least=2)
@pytest.mark.parametrize("devices", DEVICES)
def test_random_plans(divisi, devices):
    w, tensors = nested_tensors(5, True)
    divisi.path("weights.bin").write_bytes(w.tobytes())
    write_program(divisi.path("nested.mlir"), NESTED)
    divisi.path("jacobi.mlir").write_text(jacobi(1, False))
    divisi.path("field.mlir").write_text(FIELD)
    np.savez(divisi.path("field.npz"), **field_tensors(6))
    np.savez(divisi.path("nested.npz"), **tensors)
    np.savez(divisi.path("jacobi.npz"), **jacobi_tensors(7))
    for name in ("nested", "jacobi", "field"):
        divisi("check", f"{name}.mlir", "--devices", devices,
               "--random-plans", 12, "--inputs", f"{name}.npz")


def test_random_plans_of_an_lstm(divisi):
    w, r, x = lstm_tensors()
    divisi.path("weights.bin").write_bytes(w.tobytes() + r.tobytes())
    write_program(divisi.path("m.mlir"), lstm(1, False))
    np.savez(divisi.path("in.npz"), x=x)
    divisi("check", "m.mlir", "--devices", 4, "--random-plans", 12,
           "--inputs", "in.npz")


def test_an_artifact_is_as_large_for_3_as_for_3000(divisi, compute):
    sizes = []
    for most in (3, 3000):
        compute(jacobi(2, True, most), jacobi_tensors(3), 2)
        sizes.append(divisi.path("m.divisi").stat().st_size)
    # The bound itself takes a byte more, and sections begin at whole pages.
    assert 0 <= sizes[1] - sizes[0] <= 4096


@pytest.mark.sample("devices", "count")
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("count", [-1, MOST + 1])
def test_a_count_out_of_range_is_an_error(divisi, compute, devices, count):
    compute(jacobi(devices, True), jacobi_tensors(1), devices)
    np.savez(divisi.path("in.npz"), **jacobi_tensors(count))
    err = divisi("run", "m.divisi", "--inputs", "in.npz", "-o", "out.npz",
                 exits=4).err
    assert f"(nn.loop) is to run {count} times, expected 0 to {MOST}" in err


@pytest.mark.parametrize("devices", [1, 2, 3])
def test_an_index_in_a_body_is_checked(divisi, compute, devices):
    w, r, x = lstm_tensors()
    divisi.path("weights.bin").write_bytes(w.tobytes() + r.tobytes())
    write_program(
        divisi.path("m.mlir"), lstm(devices, True)
        .replace(f"dense<{STEPS}>", f"dense<{STEPS + 1}>")
        .replace(f"max {STEPS}", f"max {STEPS + 1}"))
    np.savez(divisi.path("in.npz"), x=x)
    divisi("compile", "m.mlir", "--devices", devices, "-o", "m.divisi")
    err = divisi("run", "m.divisi", "--inputs", "in.npz", "-o", "out.npz",
                 exits=4).err
    assert (f"(nn.gather): index {STEPS} at [] is outside of an extent of "
            f"{STEPS}") in err


def test_measured_memory_is_what_was_predicted(divisi, compute):
    w, tensors = nested_tensors(5, True)
    compute(NESTED, tensors, 4, weights=[w])
    err = divisi("run", "m.divisi", "--inputs", "in.npz", "--verbose",
                 "-o", "out.npz").err
    rows = [line.split() for line in err.splitlines() if " holds " in line]
    assert len(rows) == 4 and all(row[5] == row[-1] for row in rows)


def test_state_that_a_loop_reads_and_its_result_replaces(divisi, compute):
    program = """
nn.global @s state : tensor<8x4xf32> zero
func.func private @step(%i: tensor<i64>, %a: tensor<8x4xf32>,
    %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %s = nn.read @s : tensor<8x4xf32>
  %0 = nn.add %a, %x : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = nn.add %0, %s : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
func.func @run(%n: tensor<i64> {nn.name = "n"},
    %x: tensor<8x4xf32> {nn.name = "x"})
    -> (tensor<8x4xf32> {nn.name = "y"}) {
  %s = nn.read @s : tensor<8x4xf32>
  %1 = nn.loop @step(%n, %s, %x) max 5
      : (tensor<i64>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  nn.update @s, %1 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
"""
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    for devices in (1, 2, 4):
        compute(program, {"n": np.array(2), "x": x}, devices)
        divisi("run", "m.divisi", "--inputs", "in.npz", "--repeat", 3,
               "-o", "out.npz")
        state = 0 * x
        for _ in range(3):
            state = 3 * state + 2 * x
        assert_close(load(divisi.path("out.npz")), {"y": state})


@pytest.mark.parametrize("stage", ["plan", "partition", "schedule", "lower"])
def test_every_dump_gives_the_same_artifact(divisi, compute, stage):
    w, tensors = nested_tensors(2, True)
    compute(NESTED, tensors, 4, weights=[w])
    divisi("compile", "m.mlir", "--devices", 4, "--dump-after", stage,
           "-o", "m.divisi")
    divisi("compile", f"m.{stage}.mlir", "-o", "again.divisi")
    assert (divisi.path("m.divisi").read_bytes()
            == divisi.path("again.divisi").read_bytes())


def test_why_finds_operators_of_bodies(divisi, compute):
    w, tensors = nested_tensors(2, True)
    compute(NESTED, tensors, 2, weights=[w])
    out = divisi("explain", "m.mlir", "--devices", 2, "--why", "nn.matmul").out
    assert out.count("nn.matmul, entry @run") == 2
    assert out.count("adapted") >= 2


def test_two_runs_give_the_same_artifact(divisi, compute):
    w, tensors = nested_tensors(2, True)
    artifacts = set()
    for _ in range(2):
        compute(NESTED, tensors, 4, weights=[w])
        artifacts.add(divisi.path("m.divisi").read_bytes())
    assert len(artifacts) == 1


def test_time_counts_iterations(divisi, compute):
    """Twice as many take twice as long."""
    w, r, x = lstm_tensors()
    text = lstm(2, True)
    compute(text, {"x": x}, 2, weights=(w, r))
    times = {}
    for most in (STEPS, 2 * STEPS):
        write_program(divisi.path("m.mlir"),
                      text.replace(f"max {STEPS}", f"max {most}"))
        divisi("compile", "m.mlir", "--devices", 2, "-o", "m.divisi")
        report = json.loads(divisi("explain", "m.divisi", "--json").out)
        times[most] = report["predicted_nanoseconds"]
    assert 1.9 < times[2 * STEPS] / times[STEPS] < 2.1
