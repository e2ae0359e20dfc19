"""How far a plan is, and its end before time: cancelled, interrupted."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import onnx
import pytest
from conftest import ROOT, model_of, perceptron
from share import sample_size

import divisi


def test_progress_is_told():
    told = []
    divisi.compile(perceptron(), devices=2, progress=told.append)
    phases = [progress.phase for progress in told]
    assert phases.index("import") < phases.index("plan") < phases.index("emit")
    assert "" in phases
    best = [progress for progress in told if progress.best is not None]
    assert best and "plan: " in str(best[-1])


def test_exception_of_a_progress_ends_the_call():
    def fail(progress):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        divisi.plan(perceptron(), progress=fail)


def test_progress_can_cancel():
    def stop(progress):
        if progress.phase == "partition":
            progress.cancel()
            time.sleep(0.2)

    plan = divisi.plan(perceptron(), devices=2, progress=stop)
    with pytest.raises(divisi.Cancelled):
        plan.compile()
    with pytest.raises(divisi.Cancelled, match="make another one"):
        plan.compile()


def deep():
    """A model whose search for 96 devices takes seconds."""
    random = np.random.default_rng(0)
    names = [f"{kind}{i}" for i in range(6) for kind in "wv"]
    return model_of(
        "m (float[96, 96] x0) => (float[96, 96] x6) {" + "".join(
            f"a{i} = MatMul(x{i}, w{i}) b{i} = Relu(a{i}) "
            f"c{i} = MatMul(b{i}, v{i}) d{i} = Softmax(c{i}) "
            f"x{i + 1} = Add(d{i}, x{i})" for i in range(6)) + "}",
        **{name: random.standard_normal((96, 96), np.float32)
           for name in names})


PROGRAM = """
    import os, signal, sys, threading, time, warnings
    warnings.simplefilter("ignore")
    import divisi
    seen = []
    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
    def progress(p):
        if p.best is not None and not seen:
            seen.append(1)
            {interrupts}
    start = time.monotonic()
    try:
        plan = divisi.plan(sys.argv[1], devices=96, time_limit=30,
                           progress=progress)
        print("plan", plan.interrupted)
        plan.compile()
    except KeyboardInterrupt:
        print("interrupted")
    assert time.monotonic() - start < 20
"""


@pytest.mark.parametrize("count, expected", [(1, ["plan", "True"]),
                                             (2, ["interrupted"])])
def test_keyboard_interrupt(tmp_path, count, expected):
    """Once keeps the best plan, twice ends the compiler."""
    onnx.save(deep(), tmp_path / "deep.onnx")
    text = textwrap.dedent(PROGRAM).replace(
        "{interrupts}", f"for _ in range({count}): interrupt()")
    done = subprocess.run(
        [sys.executable, "-c", text, tmp_path / "deep.onnx"], timeout=60,
        env=dict(os.environ, PYTHONPATH=f"{ROOT / 'python'}"),
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == expected


def test_cancel_from_another_thread_keeps_the_best_plan(tmp_path):
    def cancel(progress):
        if progress.best is not None:
            threading.Thread(target=progress.cancel).start()

    start = time.monotonic()
    with divisi.plan(deep(), devices=96, time_limit=30, progress=cancel) as plan:
        assert time.monotonic() - start < 15
        assert not plan.interrupted and plan.dump()


def test_plan_that_is_cancelled_twice_is_no_more(tmp_path):
    """Also where the search has ended before it was cancelled again."""
    def cancel(progress):
        if progress.best is not None:
            progress.cancel()
            time.sleep(0.3)
            progress.cancel()

    plan = None
    with pytest.raises(divisi.Cancelled, match="make another one"):
        plan = divisi.plan(deep(), devices=96, time_limit=30, progress=cancel)
        plan.dump()


def test_compilations_cancelled_at_many_moments(x):
    """Each ends as if nobody had cancelled, or with Cancelled; the next is whole."""
    expected = divisi.Session(divisi.compile(perceptron(), devices=4)).run(x)["y"]
    count, ends = sample_size(50, 10), {"whole": 0, "cancelled": 0}
    for moment in range(count):
        told = 0

        def progress(news):
            nonlocal told
            told += 1
            # By a counter: which message, whether later by a moment, how often.
            if told == moment % 13 + 1:
                time.sleep(moment % 3 / 1000)
                for _ in range(1 + moment % 2):
                    news.cancel()

        try:
            with divisi.plan(perceptron(), devices=4, progress=progress) as plan:
                y = divisi.Session(plan.compile()).run(x)["y"]
            np.testing.assert_array_equal(y, expected)
            ends["whole"] += 1
        except divisi.Cancelled as error:
            assert error.code == 130
            ends["cancelled"] += 1
    assert all(ends.values()), ends
    y = divisi.Session(divisi.compile(perceptron(), devices=4)).run(x)["y"]
    np.testing.assert_array_equal(y, expected)


def test_line_on_a_terminal(tmp_path):
    import pty
    model_file = tmp_path / "model.onnx"
    onnx.save(perceptron(), model_file)
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "import divisi, sys\n"
         "divisi.compile(sys.argv[1], devices=2)", model_file],
        env=dict(os.environ, PYTHONPATH=f"{ROOT / 'python'}"), stderr=child,
        stdout=subprocess.PIPE)
    os.close(child)
    shown = b""
    try:
        while piece := os.read(parent, 4096):
            shown += piece
    except OSError:
        pass  # How a terminal ends.
    os.close(parent)
    assert process.wait(30) == 0 and process.stdout.read() == b""
    process.stdout.close()
    assert b"\rdivisi: import" in shown and shown.endswith(b"\r\x1b[K")


def test_line_in_a_notebook(monkeypatch):
    """IPython is not installed with the tests: this is what it is asked for."""
    from types import SimpleNamespace
    shown = []
    handle = SimpleNamespace(update=shown.append)
    display = SimpleNamespace(
        HTML=str, display=lambda content, display_id: shown.append(content)
        or handle)
    package = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=1), display=display)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    divisi.compile(perceptron(), devices=2)
    assert shown[0] == "<code>divisi: import</code>"
    assert shown[-1] == "<code>divisi: emit</code>"


def test_interrupt_of_python_is_not_lost():
    """A handler of the caller's own is not ours to call."""
    got = []
    before = signal.signal(signal.SIGINT, lambda *_: got.append(1))
    try:
        plan = divisi.plan(perceptron(), progress=lambda p: os.kill(
            os.getpid(), signal.SIGINT) if p.phase == "plan" else None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert got and not plan.interrupted
