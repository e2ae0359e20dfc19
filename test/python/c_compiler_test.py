"""The C API of the compiler, as a program may call it: rightly, and wrongly."""

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import threading
import time
from ctypes import byref, c_char_p, c_void_p

import onnx
import pytest
from conftest import ROOT, compile_file, long_chain, perceptron, refuse

from divisi import _c, _libraries
from divisi._c import CompilationOptions, Log, check, options
from divisi._errors import (Cancelled, DeviceError, FileError, InternalError,
                            UsageError, VersionError)


@pytest.fixture(scope="module")
def compiler():
    return _c.compiler()


@pytest.fixture(scope="module")
def model(folder):
    path = folder / "model.onnx"
    onnx.save(perceptron(), path)
    return path


def create(api, *arguments, **fields):
    """The error of create, and what it has made."""
    texts = (c_char_p * len(arguments))(*map(os.fsencode, arguments))
    for name in ("model_path", "compiler"):
        if name in fields:
            fields[name] = os.fsencode(fields[name])
    made = c_void_p()
    error = api.create(byref(options(
        CompilationOptions, arguments=texts, num_arguments=len(arguments),
        **fields)), byref(made))
    assert bool(error) != bool(made.value)
    return error, made


@contextlib.contextmanager
def compilation(api, *arguments, **fields):
    error, made = create(api, *arguments, **fields)
    check(api, error)
    yield made
    api.free(made)


def children():
    """The processes of this one, zombies too."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(os.getpid())],
                           capture_output=True, text=True).stdout.split()
    return {int(pid) for pid in found if os.path.exists(f"/proc/{pid}")}


def test_compiles_as_the_command_line_does(compiler, model, folder):
    notes = []
    keep = Log(lambda _, severity, text: notes.append((severity, text)))
    by_line = compile_file(model, folder / "line.divisi", "--devices=3")
    content = model.read_bytes()
    ways = ({"model_path": model},
            {"model_bytes": ctypes.cast(c_char_p(content), c_void_p),
             "model_size": len(content)})
    descriptors = len(os.listdir("/proc/self/fd"))
    for way in ways:
        with compilation(compiler, "--devices=3", log=keep, **way) as made:
            text = c_char_p()
            check(compiler, compiler.explain(made, b"text", byref(text)))
            assert b"grid @g           (x0=3)" in text.value
            check(compiler, compiler.dump(made, b"partition", byref(text)))
            assert b"spmd." in text.value
            path = folder / "api.divisi"
            check(compiler, compiler.compile(made, os.fsencode(path)))
        if "model_path" in way:
            assert path.read_bytes() == by_line.read_bytes()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert not [pid for pid in children() if "divisi" in
                open(f"/proc/{pid}/comm").read()]


def test_calls_that_are_wrong(compiler, model):
    for arguments, fields, kind, message in (
            ((), {}, UsageError, "model_path and model_bytes are both NULL"),
            ((), {"model_path": model, "model_bytes": 1}, UsageError,
             "model_path and model_bytes are both set"),
            ((), {"model_path": "-"}, UsageError, "model_path '-' names no "
             "file; give its content as model_bytes"),
            (("4",), {"model_path": model}, UsageError,
             "argument 0 is '4', expected an option of divisi compile in one "
             "text, such as --devices=4"),
            (("--devicez=4",), {"model_path": model}, UsageError, "--devicez"),
            (("-o=x",), {"model_path": model}, UsageError, "-o"),
            (("--dim=" + "x" * (1 << 22),), {"model_path": model}, UsageError,
             "the arguments are too long: "),
            ((), {"model_path": model, "compiler": "/no/such"}, FileError,
             "cannot start '/no/such', which compiles: No such file or "
             "directory; install it beside the library, or name it in the "
             "options (compiler)")):
        error, _ = create(compiler, *arguments, **fields)
        refuse(compiler, error, kind, message)
    made = c_void_p()
    refuse(compiler, compiler.create(byref(options(
        CompilationOptions, model_path=b"x", num_arguments=1)), byref(made)),
        UsageError, "arguments is NULL")
    refuse(compiler, compiler.create(byref(options(CompilationOptions)), None),
           UsageError, "the pointer to the compilation is NULL")
    with compilation(compiler, model_path=model) as made:
        text = c_char_p()
        refuse(compiler, compiler.explain(made, b"html", byref(text)),
               UsageError, "format is 'html', expected 'text' or 'json'")
        refuse(compiler, compiler.explain(made, None, byref(text)), UsageError,
               "format is NULL, expected 'text' or 'json'")
        refuse(compiler, compiler.dump(made, b"plan", None), UsageError,
               "the pointer to the text is NULL")
        refuse(compiler, compiler.dump(made, b"x" * (1 << 17), byref(text)),
               UsageError, "the arguments of the call have 131172 bytes, "
               "expected at most 65536")
        refuse(compiler, compiler.compile(made, b""), UsageError,
               "path '' names no file; an artifact is written to one")
        for operators, split, message in ((None, b"m@x0", "operators is NULL"),
                                          (b"a", None, "split is NULL"),
                                          (b"", b"m@x0", "operators is empty; "
                                           "'*' are all")):
            refuse(compiler, compiler.set_split(made, operators, split, None),
                   UsageError, message)
        refuse(compiler, compiler.layouts(made, b"no", byref(text)), UsageError,
               "no operator is called 'no'; expected the name of a node")
        refuse(compiler, compiler.layouts(made, None, None), UsageError,
               "the pointer to the text is NULL")
        check(compiler, compiler.plan(made))


def test_split_is_set(compiler, model, folder):
    with compilation(compiler, "--devices=2", model_path=model) as made:
        time, same = ctypes.c_double(-1), ctypes.c_double(-1)
        check(compiler, compiler.set_split(made, b"a", b"n@x0", byref(time)))
        assert time.value > 0
        check(compiler, compiler.set_split(made, b"a", b"@g: n@x0", None))
        check(compiler, compiler.set_split(made, b"y", b"m@x0", byref(same)))
        assert same.value == time.value
        text = c_char_p()
        check(compiler, compiler.layouts(made, b"a", byref(text)))
        [row] = json.loads(text.value)["operators"]
        assert (row["split"], row["results"]) == ("n@x0", ["[*, x0]"])
        check(compiler, compiler.compile(
            made, os.fsencode(folder / "edited.divisi")))


def program(tmp_path, text):
    path = tmp_path / "program"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o700)
    return path


def test_programs_that_are_no_compiler(compiler, model, tmp_path):
    def start(text):
        return create(compiler, model_path=model,
                      compiler=program(tmp_path, text))[0]
    refuse(compiler, start("echo oh no >&2; exit 7"), InternalError,
           "the compiler's process has ended with code 7: oh no")
    refuse(compiler, start("printf '\\377\\377\\377\\377\\377\\377\\377\\377'>&3"
                           ";cat <&3"), InternalError,
           " bytes, expected at most ")
    # A frame of one text, which is longer than the frame.
    refuse(compiler, start("printf '\\12\\0\\0\\0\\0\\0\\0\\0\\77\\0\\0\\0\\0\\0"
                           "\\0\\0xx' >&3; cat <&3"), InternalError,
           "a message is broken")
    refuse(compiler, start("printf '\\16\\0\\0\\0\\0\\0\\0\\0\\5\\0\\0\\0\\0\\0"
                           "\\0\\0hello\\0' >&3; cat <&3"), VersionError,
           "' is of version , expected that of the library, ")


def test_compiler_that_is_killed(compiler, model):
    before = children()
    with compilation(compiler, model_path=model) as made:
        [worker] = children() - before
        os.kill(worker, signal.SIGKILL)
        refuse(compiler, compiler.plan(made), DeviceError, "signal 9")
        refuse(compiler, compiler.plan(made), DeviceError,
               "the compilation has ended: ")
        check(compiler, compiler.cancel(made))
    assert children() <= before


def test_cancelled_twice(compiler, folder):
    """The second one ends the process, unless the first was answered before."""
    path = folder / "chain.onnx"
    onnx.save(long_chain(), path)
    assert any(ends_when_cancelled_twice(compiler, path, folder)
               for _ in range(10))


def ends_when_cancelled_twice(compiler, path, folder):
    with compilation(compiler, "--devices=16", model_path=path) as made:
        outcome = []
        work = threading.Thread(
            target=lambda: outcome.append(compiler.compile(
                made, os.fsencode(folder / "never.divisi"))))
        work.start()
        while work.is_alive():
            check(compiler, compiler.cancel(made))
            time.sleep(0.001)
        work.join()
        assert outcome
        error = outcome[0] and compiler.errors.take(outcome[0])
        assert error is None or type(error) is Cancelled, error
        again = error and compiler.plan(made)
        if again:
            refuse(compiler, again, Cancelled, "the compilation was cancelled; "
                   "make another one to go on")
        return bool(again)


def test_host_without_descriptors(compiler, model):
    """At each number of them that is free."""
    content, messages = model.read_bytes(), []
    used = len(os.listdir("/proc/self/fd"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for more in range(-2, 10):
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + more, hard))
        error, made = create(compiler, model_size=len(content),
                             model_bytes=ctypes.cast(c_char_p(content),
                                                     c_void_p))
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if error:
            caught = compiler.errors.take(error)
            assert type(caught) is DeviceError, caught
            messages.append(caught.message)
        compiler.free(made)
    whole = " ".join(messages)
    for message in (f"cannot start the compiler: no file in memory of "
                    f"{len(content)} bytes: Too many open files",
                    "cannot start the compiler: no pair of sockets: ",
                    "cannot start the compiler: no pipe: "):
        assert message in whole, messages
    assert len(os.listdir("/proc/self/fd")) == used


def test_host_in_a_folder_that_is_gone(compiler, model, tmp_path):
    with compilation(compiler, model_path=model) as made:
        here = os.getcwd()
        (tmp_path / "gone").mkdir()
        os.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        try:
            refuse(compiler, compiler.compile(made, b"m.divisi"), FileError,
                   "cannot tell the working directory: No such file or "
                   "directory")
        finally:
            os.chdir(here)


def test_serve_is_no_verb_of_users():
    done = subprocess.run([_libraries.root() / "libexec" / "divisi-compiler",
                           "serve", ROOT / "test"], capture_output=True,
                          text=True)
    assert done.returncode == 2
    assert ("serve is called by libdivisi_compiler alone, which a program "
            "links; on the command line use compile, plan or explain"
            ) in done.stderr
