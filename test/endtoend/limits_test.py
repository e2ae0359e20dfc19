"""Memory and threads that run out, wherever that is: the exit code is 9, and the
message says what was wanted. Nothing is ended by a signal."""

import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import share
from conftest import BUILD, PROGRAM, model
from share import sample_size

# What the loader of programs says, before there is one.
NOT_LOADED = 127
# What of a message says that memory or threads have run out.
WANTED = re.compile("no memory|cannot start a thread|Cannot allocate memory|"
                    "a library has ended this process|has no memory")
LIMITS = 24
FAILING = BUILD / "test" / "endtoend" / "libfailing-primitive.so"


def run(divisi, *command, memory=None, stack=None, **env):
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
            preexec_fn=limit, env={**os.environ, **env})
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


def test_memory_that_runs_out_where_ranks_prepare(divisi):
    """All at once, in a library that does not look at what it gets."""
    m = model("gpt2")
    divisi("compile", m.onnx, *m.shapes, "--devices", 4, "-o", "m.divisi")
    command = "run", "m.divisi", "--inputs", m.inputs, "-o", "o.npz"
    code, err, peak = run(divisi, *command)
    assert code == 0, err
    least = peak_of_loading(divisi, "run")
    count = sample_size(LIMITS, least=3)
    for step in range(count):
        part = 0.5 + 0.25 * (step + 0.5) / count
        assert_said(*run(divisi, *command,
                         memory=int(least + part * (peak - least)))[:2])


@pytest.mark.parametrize("what", ["code", "object"])
def test_memory_of_a_library(divisi, made, what):
    """It is not the device that has failed, and nothing else computes."""
    model, artifact = made
    code, err, _ = run(divisi, "run", artifact, "--inputs", model.inputs,
                       LD_PRELOAD=str(FAILING), FAIL_FOR=what)
    assert code == 9, err
    assert "divisi: error: no memory: this process has " in err, err


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


# Processes and threads of a user. Root may have any number, so that it becomes
# a user of whom nothing runs, for whom the programs lie where all may read.
USER = 54321


@pytest.fixture(scope="module")
def of_user(made):
    model, artifact = made
    folder = Path(tempfile.mkdtemp(prefix="divisi-user-"))
    try:
        for name in ("bin/divisi", "libexec/divisi-run", "lib/libdnnl.so.3",
                     *(f"lib/{path.name}" for path in
                       (BUILD / "lib").glob("libdivisi_*.so"))):
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(BUILD / name, folder / name)
        for path in (artifact, model.inputs):
            shutil.copy(path, folder / path.name)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(folder, USER, USER)
        yield folder, artifact.name, model.inputs.name
    finally:
        shutil.rmtree(folder)


def threads_of(user):
    count = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.stat().st_uid == user:
                count += len(list((path / "task").iterdir()))
        except OSError:
            pass # it has ended
    return count


def run_with(limit, folder, *command):
    """Of a user who may have so many threads, beside those that there are."""
    is_root = os.geteuid() == 0
    user = USER if is_root else os.geteuid()
    deadline = time.monotonic() + 20
    while is_root and threads_of(user): # of an earlier run
        assert time.monotonic() < deadline, "a process does not end"
        time.sleep(0.05)
    limit += 0 if is_root else threads_of(user)

    def confine():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
    become = [f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    done = subprocess.run(
        [*(["setpriv", *become] if is_root else []), folder / "bin/divisi",
         *map(str, command)], cwd=folder, stdin=subprocess.DEVNULL, timeout=120,
        capture_output=True, text=True, preexec_fn=confine,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)})
    return done.returncode, done.stderr


@pytest.mark.parametrize("flags", [
    [], ["--threads-per-device", 4], ["--launch", 2]],
    ids=lambda flags: " ".join(map(str, flags)) or "alone")
def test_threads_that_a_user_may_not_have(of_user, flags):
    """Also those of mpirun, which ends with codes of its own."""
    folder, artifact, inputs = of_user
    wanted = re.compile(
        r"cannot start a thread|mpirun or a process has failed \(exit code|"
        r"cannot start 'mpirun', which --launch needs: Resource temporarily "
        r"unavailable; allow more processes \(ulimit -u\) or memory|"
        r"a library has ended this process")
    limits = [1, 2, 3, 4, 6, 8, 12, 16, 24] if share.is_sweep() else [1, 4]
    for limit in limits:
        code, err = run_with(limit, folder, "run", artifact, "--inputs", inputs,
                             *flags)
        assert code in ((0, 9) if limit > 4 else (9,)), (limit, code, err)
        if code == 9:
            assert "divisi: error: " in err and wanted.search(err), (limit, err)
