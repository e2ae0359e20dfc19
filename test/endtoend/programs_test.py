"""Programs written by hand, run and compared with numpy.

They use what no ONNX model has: state, places at rest, two grids, two entry
functions.
"""

from pathlib import Path

import numpy as np
import pytest
from conftest import assert_close, load
from written_programs import write_program

PROGRAMS = Path(__file__).parent / "Inputs"


@pytest.fixture
def program(divisi, tmp_path):
    """program(NAME) copies the program here; w1 and w2 are its weights."""
    random = np.random.default_rng(3)
    w1 = random.standard_normal((12, 16), np.float32) * np.float32(0.4)
    w2 = random.standard_normal((16, 6), np.float32) * np.float32(0.4)
    (tmp_path / "weights.bin").write_bytes(w1.tobytes() + w2.tobytes())

    def copy(name):
        write_program(tmp_path / name, (PROGRAMS / name).read_text())
        return name

    copy.w1, copy.w2 = w1, w2
    return copy


def batch(rows, seed=5):
    random = np.random.default_rng(seed)
    return (random.standard_normal((rows, 12), np.float32),
            random.standard_normal((rows, 6), np.float32))


def forward(x, w1, w2):
    a = x @ w1
    return a, np.maximum(a, 0) @ w2


def train(x, t, w1, w2, steps):
    """The loss at each step, in double precision."""
    x, t, w1, w2 = (a.astype(np.float64) for a in (x, t, w1, w2))
    m1, m2, losses = np.zeros_like(w1), np.zeros_like(w2), []
    for _ in range(steps):
        a, y = forward(x, w1, w2)
        losses.append(((y - t) ** 2).mean())
        dy = 2 * (y - t) / t.size
        dw2 = np.maximum(a, 0).T @ dy
        dw1 = x.T @ np.where(a > 0, dy @ w2.T, 0)
        m1, m2 = 0.9 * m1 + dw1, 0.9 * m2 + dw2
        w1, w2 = w1 - 0.1 * m1, w2 - 0.1 * m2
    return losses


@pytest.mark.parametrize("steps", [1, 2, 10])
def test_training_steps_over_four_devices(divisi, program, steps):
    x, t = batch(8)
    np.savez(divisi.path("x.npz"), x=x, t=t)
    divisi("compile", program("train_step.mlir"), "--devices", 4,
           "-o", "m.divisi")
    divisi("run", "m.divisi", "--inputs", "x.npz", "--repeat", steps,
           "-o", "y.npz")
    losses = train(x, t, program.w1, program.w2, steps)
    # Ten steps make a visible difference, so that a lost update shows.
    assert steps < 10 or losses[-1] < 0.8 * losses[0]
    assert_close(load(divisi.path("y.npz")),
                 {"loss": np.array(losses[-1], np.float32)})


@pytest.mark.parametrize("devices", [1, 2, 3, 4])
def test_weights_and_momenta_are_written_where_they_rest(
        divisi, program, devices):
    """Nothing is copied, and each device writes its part."""
    path = divisi.path(program("train_step.mlir"))
    path.write_text(path.read_text().replace("x = 4", f"x = {devices}"))
    x, t = batch(8)
    np.savez(divisi.path("x.npz"), x=x, t=t)
    divisi("compile", path, "--devices", devices, "-o", "m.divisi")
    run = divisi("run", "m.divisi", "--inputs", "x.npz", "--verbose")
    for device in range(devices):
        def part(size):
            step = -(-size // devices)
            return max(0, min(size, (device + 1) * step) - device * step)
        written = 2 * 4 * (part(12) * 16 + part(16) * 6)
        assert (f"a run writes {written} bytes of globals in place on device "
                f"{device} and copies 0\n") in run.err


def test_weights_at_rest_lie_where_the_program_says(divisi, program):
    divisi("plan", program("train_step.mlir"), "--devices", 4,
           "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    for name in ("w1", "w2", "m1", "m2"):
        [line] = [l for l in text.splitlines() if f"nn.global @{name} " in l]
        assert "#spmd.place<@g: [x, *]>" in line


def test_two_grids_of_one_and_three_devices(divisi, program):
    x, _ = batch(8)
    np.savez(divisi.path("x.npz"), x=x)
    divisi("compile", program("two_grids.mlir"), "-o", "m.divisi")
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    _, y = forward(x, program.w1, program.w2)
    assert_close(load(divisi.path("y.npz")), {"y": -y})


def test_two_entries_share_one_set_of_weights(divisi, program):
    divisi("compile", program("two_entries.mlir"), "--devices", 2,
           "-o", "m.divisi")
    data = divisi.path("m.divisi").read_bytes()
    assert data.count(program.w1.tobytes()) == 1
    for rows in (2, 8):
        x, _ = batch(rows)
        np.savez(divisi.path("x.npz"), x=x)
        divisi("run", "m.divisi", "--entry", f"batch{rows}",
               "--inputs", "x.npz", "-o", "y.npz")
        _, y = forward(x, program.w1, program.w2)
        assert_close(load(divisi.path("y.npz")), {"y": y})


def test_stages_that_meet_in_different_orders(divisi, program):
    random = np.random.default_rng(5)
    x = random.standard_normal((2, 4), np.float32)
    np.savez(divisi.path("x.npz"), x0=x[0], x1=x[1])
    divisi("compile", program("one_forward_one_backward.mlir"),
           "-o", "m.divisi")
    divisi("run", "m.divisi", "--inputs", "x.npz", "--repeat", 3,
           "-o", "y.npz")
    y = (2 * np.maximum(x, 0)) ** 2
    assert_close(load(divisi.path("y.npz")), {"y0": y[0], "y1": y[1]})


def test_stages_that_would_wait_for_each_other_are_refused(divisi, program):
    text = (PROGRAMS / "one_forward_one_backward.mlir").read_text()
    # Device 0 wants the gradient before it sends what device 1 needs for it.
    late = text.replace("after %F0 ->", "after %F0, %got0 ->")
    got = next(line for line in text.splitlines() if "%got0 = " in line)
    late = late.replace(got + "\n", "", 1).replace(
        "    %sent0 =", got + "\n    %sent0 =", 1)
    divisi.path("late.mlir").write_text(late)
    done = divisi("compile", "late.mlir", "-o", "late.divisi", exits=4)
    assert "ranks would wait for each other: entry 'step'" in done.err
    # Both directions by one communicator: it would need two orders.
    joined = text
    for tag, name in ((0, "one"), (1, "one"), (2, "other"), (3, "other")):
        joined = "\n".join(
            line.replace(" after ", f' on "{name}" after ')
            if f"tag {tag} " in line and " after " in line else
            line.replace(" -> !exec", f' on "{name}" -> !exec')
            if f"tag {tag} " in line else line
            for line in joined.splitlines())
    divisi.path("named.mlir").write_text(joined)
    divisi("compile", "named.mlir", "-o", "named.divisi")
    one = joined.replace('"other"', '"one"')
    divisi.path("one.mlir").write_text(one)
    done = divisi("compile", "one.mlir", "-o", "one.divisi", exits=4)
    assert "the queue 'one' is that of another communicator" in done.err


def test_a_program_that_could_not_run_is_not_written(divisi, program):
    divisi("compile", program("two_entries.mlir"), "--devices", 2,
           "--no-fuse", "-o", "m.divisi", "--dump-after", "lower",
           "--dump-to", ".")
    lines = divisi.path("two_entries.lower.mlir").read_text().splitlines(
        keepends=True)
    call = next(i for i, line in enumerate(lines) if "exec.call" in line)
    divisi.path("edited.mlir").write_text(
        "".join(lines[:call] + lines[call + 1:]))
    done = divisi("compile", "edited.mlir", "-o", "edited.divisi", exits=4)
    assert "nothing was written, because the program could not run" in done.err
    assert "which has not been written, or has been overwritten" in done.err
    assert not divisi.path("edited.divisi").exists()


def test_a_run_says_once_what_the_reference_kernels_did(divisi, program):
    x, _ = batch(8)
    np.savez(divisi.path("x.npz"), x=x)
    divisi("compile", program("two_grids.mlir"), "--native", "off", "-o",
           "m.divisi")
    done = divisi("run", "m.divisi", "--inputs", "x.npz", "--repeat", 3)
    [note] = [line for line in done.err.splitlines() if "'reference'" in line]
    assert note.startswith("divisi: note: kernels of the backend 'reference' "
                           "run nn.")
    assert "nn.neg x 1" in note and "nn.matmul" not in note
    done = divisi("run", "m.divisi", "--inputs", "x.npz",
                  "--backend", "reference")
    assert "'reference'" not in done.err
