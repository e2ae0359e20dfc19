"""Loops whose bodies work in the memory of emulated GPUs, with what is carried
there."""

import re
import time

import numpy as np
import pytest
from conftest import assert_close, load
from cuda_programs_test import (DEVICES, INTERLEAVINGS,  # noqa: F401
                                _needs_emulator, compile_program, run)
from cuda_test import DEVICE, GPU, HAS_NCCL, emulator, leave_out_later_waits
from launched import SLACK
from loop_programs import (NESTED, STEPS, jacobi, jacobi_tensors, lstm,
                           lstm_tensors, nested_tensors, run_jacobi, run_lstm,
                           run_nested)
from written_programs import write_program

pytestmark = pytest.mark.as_written


@pytest.fixture
def compile_loops(divisi):
    """compile_loops(PROGRAM, DEVICES, WEIGHTS) returns what it has become."""
    def compile_(program, devices, weights=()):
        divisi.path("weights.bin").write_bytes(
            b"".join(w.tobytes() for w in weights))
        write_program(divisi.path("m.mlir"), program)
        compile_program(divisi, "m.mlir", "--devices", devices,
                        "--dump-after", "lower")
        return next(divisi.path(".").glob("*.lower.mlir")).read_text()
    return compile_


def bodies(lowered):
    """Programs of bodies, as text."""
    names = re.findall(r"exec\.entry (@\S+) body", lowered)
    programs = lowered.split("exec.program ")[1:]
    return [p for p in programs if any(f"entry {n} " in p for n in names)]


def meetings(body):
    """The collectives of a body that talk to others."""
    return [line for line in body.splitlines() if re.search(
        r'exec\.collective "(all_|exchange|reduce_scatter)', line)]


def assert_meets_there(lowered):
    """Of bodies in which ranks meet: they do so on GPUs, if they can."""
    met = [line for body in bodies(lowered) for line in meetings(body)]
    assert met
    assert all(('"cuda">' in line) == HAS_NCCL for line in met)


# What the cell carries and is given lies there: an iteration copies its number.
@pytest.mark.parametrize("devices", DEVICES)
def test_lstm(divisi, compile_loops, devices):
    w, r, x = lstm_tensors()
    lowered = compile_loops(lstm(devices, False), devices, (w, r))
    if devices == 1:
        [body] = bodies(lowered)
        assert body.count("exec.copy ") == 1
    assert "device_arena" in re.search(r"exec\.loop .*", lowered)[0]
    got = run(divisi, x=x)
    assert_close(got, run_lstm())
    for seed in (2, 3):
        other = run(divisi, seed=seed, x=x)
        assert all((other[name] == got[name]).all() for name in got)


# Of these plans there are such as let ranks meet with the host and with NCCL by
# turns, on several grids.
@pytest.mark.parametrize("devices", [3, 4])
def test_random_plans(divisi, devices):
    w, tensors = nested_tensors(5, True)
    divisi.path("weights.bin").write_bytes(w.tobytes())
    write_program(divisi.path("m.mlir"), NESTED)
    np.savez(divisi.path("in.npz"), **tensors)
    result = divisi("check", "m.mlir", "--devices", devices, "--random-plans",
                    6, "--inputs", "in.npz", *GPU, env=emulator(seed=devices))
    assert "emulator: " not in result.err


# Ranks meet in the body: the state stays on GPUs, of which nothing is copied.
@pytest.mark.parametrize("devices", DEVICES[1:])
def test_lstm_with_split_features(divisi, compile_loops, devices):
    w, r, x = lstm_tensors()
    lowered = compile_loops(lstm(devices, True), devices, (w, r))
    assert_meets_there(lowered)
    [body] = bodies(lowered)
    assert body.count("exec.copy ") == (1 if HAS_NCCL else 3)
    got = run(divisi, x=x)
    assert_close(got, run_lstm())
    for seed in (2, 3):
        other = run(divisi, "--repeat", 2, seed=seed, x=x)
        assert all((other[name] == got[name]).all() for name in got)


def test_how_ranks_meet_in_a_body_is_told(divisi, compile_loops):
    w, r, x = lstm_tensors()
    compile_loops(lstm(2, True), 2, (w, r))
    divisi("compile", "m.mlir", "--devices", 2, "--gpu", "emulated",
           "--collectives", "host", "-o", "h.divisi")
    np.savez(divisi.path("in.npz"), x=x)
    for path, meets_there in (("g.divisi", HAS_NCCL), ("h.divisi", False)):
        told = divisi("run", path, "--inputs", "in.npz", "--verbose", "-o",
                      "out.npz", env=emulator()).err
        assert ("device 0 takes part in 1 collective, 1 of them between GPUs "
                "by NCCL" in told) == meets_there
        assert ("NCCL" in told) == meets_there
        assert_close(load(divisi.path("out.npz")), run_lstm())


@pytest.mark.parametrize("devices", [
    2, pytest.param(4, marks=pytest.mark.whole)])
def test_random_plans_of_an_lstm(divisi, devices):
    w, r, x = lstm_tensors()
    divisi.path("weights.bin").write_bytes(w.tobytes() + r.tobytes())
    write_program(divisi.path("m.mlir"), lstm(devices, False))
    np.savez(divisi.path("in.npz"), x=x)
    result = divisi("check", "m.mlir", "--devices", devices, "--random-plans",
                    6, "--inputs", "in.npz", *GPU, env=emulator(seed=devices))
    assert "emulator: " not in result.err


@pytest.mark.sample("devices", "count")
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("count", [0, 1, 6])
def test_jacobi_exchanges_halos(divisi, compile_loops, devices, count):
    lowered = compile_loops(jacobi(devices, devices > 1), devices)
    if devices > 1:
        assert_meets_there(lowered)
    assert_close(run(divisi, **jacobi_tensors(count)), run_jacobi(count))


@pytest.mark.sample("devices", "condition")
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("condition", [True, False])
def test_loops_in_loops_and_branches(divisi, compile_loops, devices, condition):
    for count in (0, 1, 5):
        w, tensors = nested_tensors(count, condition)
        if count == 0:
            compile_loops(NESTED, devices, [w])
        got = run(divisi, **tensors)
        assert (got["y"] == run_nested(count, condition)["y"]).all()


# Sums of ranks in loops within loops, and in a branch: of the communicators that
# ranks want there, all are connected before they are in one of them.
@pytest.mark.sample("devices", "condition")
@pytest.mark.parametrize("devices", DEVICES[1:])
@pytest.mark.parametrize("condition", [True, False])
def test_ranks_meet_in_loops_in_loops(divisi, compile_loops, devices, condition):
    split = (f"spmd.grid @g (x = {devices})" + NESTED).replace(
        '"mk,kn->mn"', '"mk,kn->mn", spmd.split = #spmd.split<@g: k@x>')
    for count in (0, 1, 5):
        w, tensors = nested_tensors(count, condition)
        if count == 0:
            assert_meets_there(compile_loops(split, devices, [w]))
        got = run(divisi, "--repeat", 2, seed=count + 1, **tensors)
        assert (got["y"] == run_nested(count, condition)["y"]).all()


def test_an_index_in_a_body_is_checked(divisi, compile_loops):
    w, r, x = lstm_tensors()
    program = (lstm(2, True)
               .replace(f"dense<{STEPS}>", f"dense<{STEPS + 1}>")
               .replace(f"max {STEPS}", f"max {STEPS + 1}"))
    compile_loops(program, 2, (w, r))
    np.savez(divisi.path("in.npz"), x=x)
    err = divisi("run", "g.divisi", "--inputs", "in.npz", "-o", "out.npz",
                 exits=4, env=emulator()).err
    assert (f"(nn.gather): index {STEPS} at [] is outside of an extent of "
            f"{STEPS}") in err


@pytest.mark.parametrize("devices", DEVICES[1:])
def test_no_interleaving_has_a_race(divisi, compile_loops, devices):
    w, r, x = lstm_tensors()
    compile_loops(lstm(devices, True), devices, (w, r))
    got = run(divisi, "--repeat", INTERLEAVINGS, x=x)
    assert_close(got, run_lstm())
    print(f"counted: interleavings of emulated GPUs without a race: "
          f"{INTERLEAVINGS}")


# Of a loop with its state split, whose ranks meet in the body.
@pytest.mark.whole
def test_a_wait_that_is_left_out_is_reported(divisi, compile_loops):
    w, r, x = lstm_tensors()
    compile_loops(lstm(2, True), 2, (w, r))
    np.savez(divisi.path("in.npz"), x=x)
    reported, implied = leave_out_later_waits(divisi, "in.npz", 40, 15)
    print(f"counted: waits left out of a loop: {reported} reported as races, "
          f"{implied} that others imply")


# Which of them it is differs: ranks are threads.
@pytest.mark.parametrize("failure, message", [
    ({"hang": 60}, "the kernel has not returned for 2000 ms"),
    ({"fail_copy": 60}, r"CUDA cannot (copy|go on) .*on device [01]: ")])
def test_what_fails_in_a_body_is_told(divisi, compile_loops, failure, message):
    w, r, x = lstm_tensors()
    compile_loops(lstm(2, True), 2, (w, r))
    np.savez(divisi.path("in.npz"), x=x)
    err = divisi("run", "g.divisi", "--inputs", "in.npz", "-o", "out.npz",
                 "--timeout", 2000, exits=DEVICE, env=emulator(**failure)).err
    assert re.search(r"entry 'step', program 0, instruction \d+, rank [01], "
                     + r"[^:]+: " + message, err), err


# Groups of calls are counted over both devices, an iteration has two. Of a
# one that never ends either rank may be the first to say so: the one that
# waits in it, or the other, which has gone on to the next step and waits there.
@pytest.mark.sample()
@pytest.mark.skipif(not HAS_NCCL, reason="the build found no nccl.h")
@pytest.mark.parametrize("what, number, message", [
    ("nccl_fail", 1, "NCCL cannot (begin|go on with) "
     r".* \(tag \d+\) on rank [01]: .*the emulated network is down"),
    ("nccl_fail", 30, "NCCL cannot (begin|go on with) "
     r".* \(tag \d+\) on rank [01]: .*the emulated network is down"),
    ("nccl_hang", 1, r"rank [01] waited 1500 ms in .* for (NCCL to end it"
     "|rank [01], which did not come)"),
    ("nccl_hang", 30, r"rank [01] waited 1500 ms in .* for (NCCL to end it"
     "|rank [01], which did not come)"),
    ("nccl_lose", 30, r"rank [01] waited 1500 ms in .* for (NCCL to end it"
     "|rank [01], which did not come)"),
    ("nccl_alone", 1, "waited 1500 ms for NCCL to connect 2 GPUs")])
def test_what_fails_between_ranks_in_a_body_is_told(divisi, compile_loops, what,
                                                    number, message):
    w, r, x = lstm_tensors()
    compile_loops(lstm(2, True), 2, (w, r))
    np.savez(divisi.path("in.npz"), x=x)
    begin = time.monotonic()
    err = divisi("run", "g.divisi", "--inputs", "in.npz", "-o", "out.npz",
                 "--timeout", 1500, exits=DEVICE,
                 env=emulator(**{what: number})).err
    assert re.search(message, err), err
    assert time.monotonic() - begin < 1.5 + SLACK
