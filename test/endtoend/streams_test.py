"""Standard files that take nothing, or are closed: what is printed and lost is an
error (3), what could not be said on stderr changes no outcome."""

import subprocess

import pytest
from conftest import PROGRAM, load
from launched import needs_mpi

pytestmark = pytest.mark.as_written

# How a shell says that nobody takes what is written there.
NOWHERE = ["/dev/full", "&-"]
LAUNCH = pytest.param(("--launch", 2), marks=needs_mpi, id="processes")


@pytest.fixture
def made(divisi, generated):
    model = generated("mlp.py")
    divisi("compile", model.onnx, "--devices", 2, "-o", "m.divisi")
    divisi.run = ("run", "m.divisi", "--inputs", model.inputs)
    return divisi


def shell(divisi, redirections, *command):
    """The exit code, and what was said where stderr is no other."""
    words = [str(word) for word in (PROGRAM, *command)]
    done = subprocess.run(["bash", "-c", f'"$@" {redirections}', "bash", *words],
                          cwd=divisi.folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


@pytest.mark.sample("launch")
@pytest.mark.parametrize("where", NOWHERE)
@pytest.mark.parametrize("launch", [pytest.param((), id="alone"), LAUNCH])
def test_outputs_that_nobody_takes(made, where, launch):
    code, err = shell(made, f">{where}", *made.run, "-o", "-", *launch)
    assert code == 3, err
    assert "divisi: error: cannot write " in err
    assert ("No space left on device" if where == "/dev/full" else
            "Bad file descriptor") in err
    code, err = shell(made, ">out.npz", *made.run, "-o", "-", *launch)
    assert code == 0 and load(made.path("out.npz")), err


@pytest.mark.sample("where")
@pytest.mark.parametrize("where", NOWHERE)
@pytest.mark.parametrize("command", [
    ("--help",), ("version",), ("run", "--help"), ("explain", "m.divisi")])
def test_text_that_nobody_takes(made, where, command):
    code, err = shell(made, f">{where}", *command)
    assert code == 3, err
    assert err.count("\n") == 1
    assert err.startswith("divisi: error: cannot write to stdout: "), err


@needs_mpi
def test_text_of_processes_that_nobody_takes(made):
    code, err = shell(made, ">/dev/full", "bench", "m.divisi", "--repeat", 2,
                      "--launch", 2)
    assert code == 3 and "cannot write to stdout: No space left" in err, err


@pytest.mark.sample("launch")
@pytest.mark.parametrize("where", NOWHERE)
@pytest.mark.parametrize("launch", [pytest.param((), id="alone"), LAUNCH])
def test_messages_that_nobody_takes(made, where, launch):
    """The outcome is as it would be."""
    code, _ = shell(made, f"2>{where}", *made.run, "-o", "out.npz", *launch)
    assert code == 0 and load(made.path("out.npz"))
    code, _ = shell(made, f"2>{where}", "run", "nothere.divisi", *launch)
    assert code == 3


def test_all_are_closed(made):
    """No file that is opened gets the number of one of them."""
    code, _ = shell(made, "<&- >&- 2>&-", *made.run, "-o", "out.npz")
    assert code == 0 and load(made.path("out.npz"))
    code, err = shell(made, "<&-", *made.run[:-1], "-", "-o", "gone.npz")
    assert code == 3, err
    assert "cannot read 'standard input': Bad file descriptor" in err
