"""Sessions at work on several threads, and runs that are cancelled."""

import threading
import time

import numpy as np
import pytest
from share import sample_size

import divisi

THREADS = 8


def run_all(work):
    """work(i) on a thread each; raises what any of them has raised."""
    failures = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(i,))
               for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("shares", [True, False])
def test_bits_are_equal_on_all_threads(small, x, shares):
    """Contexts of one artifact, and of several."""
    expected = divisi.Session(small).run(x)["y"]
    content = bytes(small)

    def work(number):
        artifact = small if shares else divisi.load(content)
        session = divisi.Session(artifact)
        for _ in range(100):
            np.testing.assert_array_equal(session.run(x)["y"], expected)

    run_all(work)


def start(session, x):
    """A run on a thread: the thread, and where its outcome will be."""
    outcome = []

    def work():
        try:
            outcome.append(session.run(x))
        except divisi.Error as error:
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, outcome


@pytest.fixture(scope="module")
def slow(long):
    """A session whose run takes a while, its input, result and time."""
    session = divisi.Session(long, backend="reference")
    x = np.random.default_rng(2).standard_normal((96, 96), np.float32)
    begin = time.perf_counter()
    result = session.run(x)["x60"]
    return session, x, result, time.perf_counter() - begin


def test_call_in_progress_is_for_one_thread(slow):
    session, x, result, _ = slow
    refused = 0
    # A run may be over before this thread is at work again.
    for _ in range(100):
        thread, outcome = start(session, x)
        while not session._handle.busy.locked() and not outcome:
            pass
        for call in (lambda: session.run(x), session.memory, session.describe,
                     lambda: session.state["w"]):
            try:
                call()
            except divisi.UsageError as error:
                assert "another thread is in a call" in str(error)
                refused += 1
        thread.join()
        np.testing.assert_array_equal(outcome[0]["x60"], result)
        if refused:
            break
    assert refused > 0


def test_runs_cancelled_at_many_moments(slow):
    session, x, result, seconds = slow
    count, cancelled = sample_size(50, 10), 0
    for moment in range(count):
        thread, outcome = start(session, x)
        time.sleep(seconds * 1.1 * moment / count)
        session.cancel()
        thread.join(30)
        assert not thread.is_alive()
        if isinstance(outcome[0], divisi.Cancelled):
            assert outcome[0].code == 130
            cancelled += 1
        else:
            np.testing.assert_array_equal(outcome[0]["x60"], result)
    assert cancelled > 0
    np.testing.assert_array_equal(session.run(x)["x60"], result)


def test_closing_ends_the_run(long, slow):
    _, x, _, seconds = slow
    session = divisi.Session(long, backend="reference")
    thread, outcome = start(session, x)
    time.sleep(seconds / 10)
    session.close()
    thread.join(30)
    assert not thread.is_alive() and outcome
    with pytest.raises(divisi.UsageError, match="closed"):
        session.run(x)


def test_sessions_are_made_and_ended_on_all_threads(small, x):
    expected = divisi.Session(small).run(x)["y"]

    def work(number):
        for _ in range(5):
            with divisi.Session(small) as session:
                np.testing.assert_array_equal(session.run(x)["y"], expected)

    run_all(work)
