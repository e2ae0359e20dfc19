"""Memory and threads that run out, wherever that is: the exit code is 9, and the
message says what was wanted. Nothing is ended by a signal."""

import re
import resource
import subprocess
import time

import pytest
import share
from conftest import PROGRAM
from share import sample_size

# What the loader of programs says, before there is one.
NOT_LOADED = 127
# What of a message says that memory or threads have run out.
WANTED = re.compile("no memory|cannot start a thread|Cannot allocate memory|"
                    "a library has ended this process|has no memory")
LIMITS = 24


def run(divisi, *command, memory=None, stack=None):
    """The exit code, stderr, and the most address space that it has had."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if stack:
            resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))

    with open(divisi.path("stderr"), "w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [str(part) for part in (PROGRAM, *command)], cwd=divisi.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
            preexec_fn=limit)
        peak, deadline = 0, time.monotonic() + 120
        while process.poll() is None:
            assert time.monotonic() < deadline, "it does not end"
            if not memory:
                peak = max(peak, peak_of(process.pid))
            time.sleep(0.002)
        errors.seek(0)
        return process.returncode, errors.read(), peak


def peak_of(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            found = re.search(r"VmPeak:\s+(\d+)", file.read())
    except OSError:
        found = None
    return int(found[1]) << 10 if found else 0


def assert_said(code, err):
    assert code in (0, 9, NOT_LOADED), (code, err)
    if code == 9:
        assert err.count("divisi: error: ") >= 1 and WANTED.search(err), err
    if "divisi: error: no memory: " in err:
        assert " MiB that this process may have (ulimit -v) it has " in err, err


@pytest.fixture(scope="module")
def made(tmp_path_factory, generated):
    model = generated("mlp.py")
    folder = tmp_path_factory.mktemp("limits")
    subprocess.run([PROGRAM, "compile", model.onnx, "--devices", "4", "-o",
                    "m.divisi"], cwd=folder, check=True, capture_output=True)
    return model, folder / "m.divisi"


COMMANDS = {
    "compile": lambda model, artifact: (
        "compile", model.onnx, "--devices", 4, "-o", "o.divisi"),
    "run": lambda model, artifact: (
        "run", artifact, "--inputs", model.inputs, "-o", "o.npz"),
    "threads": lambda model, artifact: (
        "run", artifact, "--inputs", model.inputs, "--threads-per-device", 4),
    "check": lambda model, artifact: (
        "check", model.onnx, "--devices", 4, "--inputs", model.inputs),
    "bench": lambda model, artifact: (
        "bench", artifact, "--repeat", 2),
    "explain": lambda model, artifact: (
        "explain", model.onnx, "--devices", 4),
}


@pytest.mark.parametrize("verb", COMMANDS if share.is_sweep() else
                         ["compile", "run"])
def test_memory_that_runs_out_anywhere(divisi, made, verb):
    """A whole sweep looks at many limits, down to where nothing is loaded."""
    command = COMMANDS[verb](*made)
    code, err, peak = run(divisi, *command)
    assert code == 0, err
    least = peak_of_loading(divisi, command[0])
    count = sample_size(LIMITS, least=3)
    for step in range(count):
        part = (step + 0.5) / count
        code, err, _ = run(divisi, *command,
                           memory=int(least + part * part * (peak - least)))
        assert_said(code, err)


def peak_of_loading(divisi, verb):
    code, err, peak = run(divisi, verb, "--help")
    assert code == 0, err
    return peak


# Of a thread; no address space has as many.
STACK = 1 << 46


def test_threads_that_do_not_start(divisi, made):
    model, artifact = made
    code, err, _ = run(divisi, "run", artifact, "--inputs", model.inputs,
                       stack=STACK)
    assert code == 9, err
    assert ("cannot start a thread for device 1 of the 4 of this process: "
            "Resource temporarily unavailable; allow more threads (ulimit -u) "
            "or memory (ulimit -v), or ask for fewer devices and threads") in err


def test_a_plan_needs_no_threads(divisi, made):
    """The same bytes come of one thread."""
    model, artifact = made
    command = "compile", model.onnx, "--devices", 4, "-o", "o.divisi"
    code, err, _ = run(divisi, *command, stack=STACK)
    assert code == 0, err
    assert divisi.path("o.divisi").read_bytes() == artifact.read_bytes()


def test_threads_of_a_library(divisi, made):
    """OpenMP's, which end the process."""
    model, _ = made
    divisi("compile", model.onnx, "--devices", 1, "-o", "one.divisi")
    code, err, _ = run(divisi, "run", "one.divisi", "--inputs", model.inputs,
                       "--threads-per-device", 4, stack=STACK)
    assert code == 9, err
    assert "libgomp: " in err
    assert "divisi: error: a library has ended this process, by the reason " \
        "that it gives" in err
