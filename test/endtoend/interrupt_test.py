"""Signals and limits while a plan is made: the best so far is kept, and the
verb goes on with it."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import PROGRAM, SECONDS

NO_PLAN = 7
# Proves nothing, so that only a limit or a signal ends it.
ENDLESS = ["--solver", "mcmc", "--work-limit", 2**62]


@pytest.fixture
def mlp(generated):
    return generated("mlp.py", "--widths", "64,128,32", "--batch", 16).onnx


class OnTerminal:
    """The program with a terminal as its stderr."""

    def __init__(self, folder, *arguments, stdin=subprocess.DEVNULL):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [PROGRAM, *map(str, arguments)], cwd=folder, stdin=stdin,
            stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        self.err = ""

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        try:
            self.err += os.read(self.master, 65536).decode() if ready else ""
        except OSError:  # Linux says so when nobody has the other end open.
            return False
        return True

    def wait_for(self, pattern):
        end = time.monotonic() + SECONDS
        while not re.search(pattern, self.err):
            assert time.monotonic() < end and self.process.poll() is None, (
                self.err)
            self.read(0.1)

    def wait_for_reading(self):
        """Until it waits for what is written to its stdin."""
        end = time.monotonic() + SECONDS
        while "pipe_read" not in Path(
                f"/proc/{self.process.pid}/wchan").read_text():
            assert time.monotonic() < end and self.process.poll() is None
            time.sleep(0.01)

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        out, _ = self.process.communicate(timeout=SECONDS)
        while self.read(0.1) and select.select([self.master], [], [], 0)[0]:
            pass
        return self.process.returncode, out.decode()


@pytest.fixture
def start(tmp_path):
    started = []

    def run(*arguments, **options):
        started.append(OnTerminal(tmp_path, *arguments, **options))
        return started[-1]

    yield run
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.communicate()
        os.close(each.master)


def recorded(text):
    """How the module says that its plan was found."""
    return re.search(r'ended = "(\w+)"', text).group(1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_plan_keeps_the_best_so_far(divisi, start, mlp, number):
    run = start("plan", mlp, "--devices", 4, *ENDLESS, "-o", "p.mlir")
    run.wait_for(r"plan +\d+\.\d s  best \d+")
    run.signal(number)
    code, _ = run.end()
    assert code == 0, run.err
    assert re.search(r"divisi: note: interrupted after \d+\.\d s; the best "
                     r"plan so far is kept: cost \d+, bound -?\d+, gap "
                     r"\d+\.\d+%", run.err), run.err
    assert recorded(divisi.path("p.mlir").read_text()) == "interrupted"
    divisi("check", "p.mlir", "--data", mlp)


def test_compile_goes_on_to_the_artifact(divisi, start, mlp):
    run = start("compile", mlp, "--devices", 4, *ENDLESS, "-o", "m.divisi")
    run.wait_for(r"best \d+")
    run.signal(signal.SIGINT)
    code, _ = run.end()
    assert code == 0 and "wrote m.divisi" in run.err, run.err
    inputs = mlp.with_suffix(".inputs.npz")
    divisi("check", "m.divisi", "--inputs", inputs, "--expect",
           mlp.with_suffix(".outputs.npz"))


def test_explain_explains_the_best_so_far(start, mlp):
    run = start("explain", mlp, "--devices", 4, *ENDLESS)
    run.wait_for(r"best \d+")
    run.signal(signal.SIGINT)
    code, out = run.end()
    assert code == 0, run.err
    assert "nn.matmul" in out and "interrupted" in out + run.err


def test_second_signal_ends_at_once(tmp_path, start, mlp):
    """It would write the plan, and nobody reads it."""
    os.mkfifo(tmp_path / "p.mlir")
    run = start("plan", mlp, "--devices", 4, *ENDLESS, "-o", "p.mlir")
    run.wait_for(r"best \d+")
    run.signal(signal.SIGINT)
    run.wait_for("interrupted after")
    time.sleep(0.3)
    assert run.process.poll() is None
    run.signal(signal.SIGTERM)
    assert run.end()[0] == -signal.SIGTERM


@pytest.fixture
def large(generated):
    """So large that its first problem is still built when that is shown."""
    return generated("gpt2.py", "--size", "xl", "--batch", 8, "--seq", 128,
                     "--weightless")


def test_before_the_first_plan_there_is_none(start, large):
    run = start("plan", large.onnx, "--devices", 64, "--rewrite", "off", "-o",
                "p.mlir")
    run.wait_for(r"plan +\d+\.\d s")
    run.signal(signal.SIGINT)
    code, _ = run.end()
    assert code == NO_PLAN, run.err
    assert ("divisi: error: interrupted while the planning problem was built, "
            "before the first plan") in run.err


def test_what_takes_long_is_shown(start, large):
    run = start("plan", large.onnx, "--devices", 64, "--rewrite", "off", "-o",
                "p.mlir")
    run.wait_for(r"plan +\d+\.\d s  building the problem")
    run.signal(signal.SIGINT)
    assert run.end()[0] in (0, NO_PLAN), run.err


def test_where_nothing_can_be_kept_the_first_signal_ends_it(start):
    """While the model is read, from a pipe that nobody fills."""
    run = start("plan", "-", "--devices", 4, stdin=subprocess.PIPE)
    run.wait_for("import")
    run.wait_for_reading()
    run.signal(signal.SIGINT)
    assert run.process.wait(timeout=SECONDS) == -signal.SIGINT


def test_progress_is_one_line_that_goes(start, mlp):
    """Phase, best, bound and time on a terminal."""
    run = start("plan", mlp, "--devices", 4, "--solver", "mcmc",
                "--time-limit", 4, "-o", "p.mlir")
    code, _ = run.end()
    assert code == 0
    lines = run.err.split("\r\033[K")
    assert any(line.startswith("import") for line in lines), lines
    assert any(re.match(r"plan +\d+\.\d s  best \d+  bound ", line)
               for line in lines), lines
    # Rewritten, not scrolled.
    assert "\n" not in run.err.split("divisi:")[0].split("wrote")[0].rstrip()


def test_no_progress_elsewhere(divisi, mlp):
    for verb in (["plan", mlp, "-o", "p.mlir"], ["explain", mlp]):
        assert "best" not in divisi(*verb, "--devices", 2).err


# Limits.

def test_time_limit_keeps_the_best_so_far(divisi, mlp):
    begin = time.monotonic()
    result = divisi("plan", mlp, "--devices", 4, "--solver", "mcmc",
                    "--time-limit", 4, "-o", "p.mlir")
    assert 3.5 < time.monotonic() - begin < 60
    assert re.search(r"divisi: note: the time limit of 4.0 s is over; the best "
                     r"plan so far is kept: cost \d+, bound -?\d+, gap ",
                     result.err)
    assert recorded(divisi.path("p.mlir").read_text()) == "time"


@pytest.mark.parametrize("verb", [["plan"], ["compile", "-o", "m.divisi"],
                                  ["explain"], ["check"]])
def test_no_plan_in_time(divisi, mlp, verb):
    """The limit is over before the problem is built."""
    result = divisi(verb[0], mlp, *verb[1:], "--devices", 4, "--time-limit",
                    0.001, exits=NO_PLAN)
    assert ("divisi: error: " in result.err
            and "the time limit came while the planning problem was built, "
            "before the first plan; a larger --time-limit leaves time for one"
            in result.err), result.err
    assert not divisi.path("m.divisi").exists()


def test_limits_that_do_not_strike_change_nothing(divisi, mlp):
    plain = divisi("plan", mlp, "--devices", 4, "-o", "-")
    again = divisi("plan", mlp, "--devices", 4, "--work-limit", 2 * 10**10,
                   "--time-limit", 400, "-o", "-")
    assert plain.out == again.out
    assert recorded(plain.out) in ("finished", "work")


@pytest.mark.parametrize("flags, message", [
    (["--time-limit", 0], "--time-limit is 0.000000, expected seconds above"),
    (["--time-limit", "soon"],
     "--time-limit 'soon': expected a number of seconds"),
    (["--work-limit", -1], "--work-limit is -1, expected 0 or more")])
def test_limits_that_are_none(divisi, mlp, flags, message):
    assert message in divisi("plan", mlp, *flags, exits=2).err
