"""Loops, whose bodies are planned and lowered once, give what one device gives:
on any devices, by plans that somebody wrote, found or drew.
"""

import json

import numpy as np
import pytest
from conftest import assert_close, load
from loop_programs import (MOST, NESTED, STEPS, jacobi, jacobi_tensors, lstm,
                           lstm_tensors, nested_tensors, run_jacobi, run_lstm,
                           run_nested)

DEVICES = [1, 2, 3, 4, 8]


@pytest.fixture
def compute(divisi):
    """compute(PROGRAM, TENSORS, DEVICES) returns its outputs."""
    def run(program, tensors, devices, *options, weights=()):
        divisi.path("weights.bin").write_bytes(
            b"".join(w.tobytes() for w in weights))
        divisi.path("m.mlir").write_text(program)
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


@pytest.mark.parametrize("condition", [True, False])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_loops_in_loops_and_branches(compute, count, condition):
    w, tensors = nested_tensors(count, condition)
    for devices in DEVICES:
        got = compute(NESTED, tensors, devices, weights=[w])
        assert np.array_equal(got["y"], run_nested(count, condition)["y"])


@pytest.mark.parametrize("devices", DEVICES)
def test_random_plans(divisi, devices):
    w, tensors = nested_tensors(5, True)
    divisi.path("weights.bin").write_bytes(w.tobytes())
    divisi.path("nested.mlir").write_text(NESTED)
    divisi.path("jacobi.mlir").write_text(jacobi(1, False))
    np.savez(divisi.path("nested.npz"), **tensors)
    np.savez(divisi.path("jacobi.npz"), **jacobi_tensors(7))
    for name in ("nested", "jacobi"):
        divisi("check", f"{name}.mlir", "--devices", devices,
               "--random-plans", 12, "--inputs", f"{name}.npz")


def test_random_plans_of_an_lstm(divisi):
    w, r, x = lstm_tensors()
    divisi.path("weights.bin").write_bytes(w.tobytes() + r.tobytes())
    divisi.path("m.mlir").write_text(lstm(1, False))
    np.savez(divisi.path("in.npz"), x=x)
    divisi("check", "m.mlir", "--devices", 4, "--random-plans", 12,
           "--inputs", "in.npz")


def test_an_artifact_is_as_large_for_3_as_for_3000(divisi, compute):
    sizes = []
    for most in (3, 3000):
        compute(jacobi(2, True, most), jacobi_tensors(3), 2)
        sizes.append(divisi.path("m.divisi").stat().st_size)
    # The bound itself takes a byte more.
    assert 0 <= sizes[1] - sizes[0] <= 4096 and len(set(sizes)) == 1


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("count", [-1, MOST + 1])
def test_a_count_out_of_range_is_an_error(divisi, compute, devices, count):
    compute(jacobi(devices, True), jacobi_tensors(1), devices)
    np.savez(divisi.path("in.npz"), **jacobi_tensors(count))
    err = divisi("run", "m.divisi", "--inputs", "in.npz", "-o", "out.npz",
                 exits=4).err
    assert f"(nn.loop) is to run {count} times, expected 0 to {MOST}" in err


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
        divisi.path("m.mlir").write_text(
            text.replace(f"max {STEPS}", f"max {most}"))
        divisi("compile", "m.mlir", "--devices", 2, "-o", "m.divisi")
        report = json.loads(divisi("explain", "m.divisi", "--json").out)
        times[most] = report["predicted_nanoseconds"]
    assert 1.9 < times[2 * STEPS] / times[STEPS] < 2.1
