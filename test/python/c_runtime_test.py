"""The C API of the runtime, as a program may call it: rightly, and wrongly."""

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
import threading
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p, sizeof
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, compile_file, long_chain, perceptron, refuse
from share import sample_size

import divisi
from divisi import _c, _libraries
from divisi._c import (Allocate, ContextOptions, DType, MemoryInfo, Tensor,
                       ValueInfo, check, options)
from divisi._errors import (DeviceError, InvalidError, UnsupportedError,
                            UsageError, VersionError)

FLOAT = DType(2, 32, 1)


def tensor_of(array):
    """Of an array, which outlives it."""
    shape = (c_int64 * array.ndim)(*array.shape)
    return Tensor(data=array.ctypes.data, device=_c.Device(1, 0),
                  ndim=array.ndim, dtype=FLOAT, shape=shape)


@pytest.fixture(scope="module")
def runtime():
    return _c.runtime()


@contextlib.contextmanager
def opened(runtime, path):
    artifact = c_void_p()
    check(runtime, runtime.artifact_open(os.fsencode(path), None,
                                         byref(artifact)))
    yield artifact
    runtime.artifact_free(artifact)


@contextlib.contextmanager
def context_of(runtime, artifact, **fields):
    context = c_void_p()
    check(runtime, runtime.context_create(
        artifact, byref(options(ContextOptions, **fields)), byref(context)))
    yield context
    runtime.context_free(context)


@pytest.fixture
def artifact(runtime, small):
    with opened(runtime, small.path) as artifact:
        yield artifact


@pytest.fixture
def context(runtime, artifact):
    with context_of(runtime, artifact) as context:
        yield context


def test_structures_of_other_versions(runtime, artifact):
    class Longer(ctypes.Structure):
        _fields_ = [("now", ContextOptions), ("later", c_size_t)]

    made = c_void_p()
    longer = Longer(now=ContextOptions(struct_size=sizeof(Longer)), later=1)

    def create():
        return runtime.context_create(
            artifact, ctypes.cast(byref(longer),
                                  ctypes.POINTER(ContextOptions)), byref(made))
    at = sizeof(ContextOptions)
    refuse(runtime, create(), VersionError,
           f": a field at byte {at} is set that this version of the library "
           "does not know; update the library")
    longer.later = 0
    check(runtime, create())
    runtime.context_free(made)
    shorter = ContextOptions(struct_size=16, threads_per_device=-5)
    check(runtime, runtime.context_create(artifact, byref(shorter),
                                          byref(made)))
    runtime.context_free(made)
    for size in (0, 7, 9, 1 << 20):
        refuse(runtime, runtime.context_create(
            artifact, byref(ContextOptions(struct_size=size)), byref(made)),
            UsageError, f": struct_size is {size}; set it to sizeof(")
        refuse(runtime, runtime.artifact_input(
            artifact, 0, 0, byref(ValueInfo(struct_size=size))), UsageError,
            f": struct_size is {size}; set it to sizeof(")
    refuse(runtime, runtime.artifact_input(artifact, 0, 0, None), UsageError,
           "divisi_value_info: expected a structure, got NULL")
    assert not made.value


def test_null_and_handles_of_another_kind(runtime, artifact, context):
    made = c_void_p(1)
    refuse(runtime, runtime.artifact_open(None, None, byref(made)), UsageError,
           "path is NULL")
    assert made.value is None
    refuse(runtime, runtime.artifact_open(b"x", None, None), UsageError,
           "artifact is NULL")
    refuse(runtime, runtime.artifact_open_bytes(None, 4, None, byref(made)),
           UsageError, "bytes is NULL")
    refuse(runtime, runtime.context_create(None, None, byref(made)),
           UsageError, "artifact is NULL")
    refuse(runtime, runtime.context_create(context, None, byref(made)),
           UsageError, " is a handle of another kind, or was freed")
    refuse(runtime, runtime.run(artifact, None, None, 0, None, 0), UsageError,
           " is a handle of another kind, or was freed")
    refuse(runtime, runtime.memory(context, 9, byref(options(MemoryInfo))),
           UsageError, "rank 9: there are 2")
    refuse(runtime, runtime.artifact_output(
        artifact, 0, 7, byref(options(ValueInfo))), UsageError,
        "output 7: there are 1")
    runtime.artifact_free(None)
    runtime.context_free(None)
    runtime.errors.free(None)
    assert (runtime.errors.code(None), runtime.errors.message(None)) == (0, b"")


def test_context_options(runtime, artifact):
    for fields, message in (
            ({"threads_per_device": 1025},
             "threads_per_device 1025: expected 1 to 1024, or 0 for 1"),
            ({"timeout_ms": -1},
             "timeout_ms -1: expected 1 to 86400000, or 0 for 60000"),
            ({"num_local_ranks": 1}, "local_ranks is NULL"),
            ({"num_nccl_comms": 2}, "nccl_comms is NULL"),
            ({"num_nccl_comms": 2, "nccl_comms": (c_void_p * 2)()},
             "nccl_comms[0] is NULL"),
            ({"num_cuda_devices": 1}, "got 1 cuda_devices, and 2 devices run in "
             "this process; give one for each of them"),
            ({"num_cuda_devices": 2, "cuda_devices": (c_int32 * 2)(0, -1)},
             "cuda_devices[1] is -1: expected the number of a GPU, from 0 on")):
        made = c_void_p()
        refuse(runtime, runtime.context_create(
            artifact, byref(options(ContextOptions, **fields)), byref(made)),
            UsageError, message)


def run(runtime, context, inputs, outputs, entry=None):
    ins, outs = (Tensor * len(inputs))(*inputs), (Tensor * len(outputs))(*outputs)
    return runtime.run(context, entry, ins, len(inputs), outs, len(outputs)), outs


def test_tensors_that_do_not_fit(runtime, artifact, context, x):
    y = np.empty((8, 4), np.float32)

    def spoiled(**fields):
        wrong = tensor_of(x)
        for name, value in fields.items():
            setattr(wrong, name, value)
        return wrong
    for wrong, kind, message in (
            (spoiled(ndim=-1), InvalidError,
             "input 'x': -1 dimensions without a shape"),
            (spoiled(shape=None), InvalidError,
             "input 'x': 2 dimensions without a shape"),
            (spoiled(data=None), InvalidError, "input 'x': its data is NULL"),
            (spoiled(dtype=DType(2, 32, 4)), InvalidError,
             "DLPack's type 2 of 32 bits in 4 lanes"),
            (spoiled(device=_c.Device(2, 0)), UnsupportedError,
             "input 'x': device type 2; expected the memory of the host, "
             "which is 1")):
        refuse(runtime, run(runtime, context, [wrong], [tensor_of(y)])[0], kind,
               message)
    refuse(runtime, run(runtime, context, [], [tensor_of(y)])[0], InvalidError,
           "got 0 inputs, expected 1")
    refuse(runtime, runtime.run(context, None, None, 1, None, 1), UsageError,
           "inputs is NULL")
    check(runtime, run(runtime, context, [tensor_of(x)], [tensor_of(y)])[0])
    assert np.isfinite(y).all()


def test_outputs_by_the_callers_allocator(runtime, artifact, x):
    y, given = np.empty((8, 4), np.float32), []

    def allocate(_, size, alignment):
        given.append((size, alignment))
        return y.ctypes.data if len(given) == 1 else None
    keep = Allocate(allocate)
    with context_of(runtime, artifact, allocate=keep) as context:
        error, [out] = run(runtime, context, [tensor_of(x)], [Tensor()])
        check(runtime, error)
        assert given == [(128, 64)] and out.data == y.ctypes.data
        assert out.shape[:2] == [8, 4] and out.dtype.bits == 32
        refuse(runtime, run(runtime, context, [tensor_of(x)], [Tensor()])[0],
               DeviceError, "the allocator has no 128 bytes for output 'y'")
    with context_of(runtime, artifact) as context:
        refuse(runtime, run(runtime, context, [tensor_of(x)], [Tensor()])[0],
               UsageError,
               "output 'y' has no data, and the context no allocator")


def test_entries_and_state(runtime, stateful):
    with opened(runtime, stateful.path) as artifact, \
            context_of(runtime, artifact) as context:
        refuse(runtime, runtime.run(context, None, None, 0, None, 0),
               UsageError, "the artifact has 2 entries; name one")
        total = np.ones(4, np.float32)
        strided = tensor_of(total)
        strided.strides = (c_int64 * 1)(1)
        refuse(runtime, runtime.read_global(context, b"total", byref(strided)),
               UnsupportedError, "global 'total' is copied to row-major memory "
               "only; leave strides NULL")
        check(runtime, runtime.read_global(context, b"total",
                                           byref(tensor_of(total))))
        assert not total.any()


def test_one_thread_works_on_a_context(runtime, long):
    x, y, text = np.zeros((96, 96), np.float32), np.empty((96, 96), "f4"), \
        c_char_p()
    refused = 0
    with opened(runtime, long.path) as artifact, \
            context_of(runtime, artifact, backends=b"reference") as context:
        # A run may be over before this thread is at work again.
        for _ in range(100):
            outcome = []
            work = threading.Thread(target=lambda: outcome.append(run(
                runtime, context, [tensor_of(x)], [tensor_of(y)])[0]))
            work.start()
            while work.is_alive() and not refused:
                if error := runtime.describe(context, byref(text)):
                    refused += 1
                    refuse(runtime, error, UsageError, "context is at work on "
                           "another thread; use one for each thread")
            check(runtime, runtime.cancel(context))
            work.join()
            if outcome[0]:  # or this thread had come first
                caught = runtime.errors.take(outcome[0])
                assert type(caught) is UsageError or \
                    caught.message == "entry 'forward': the run was cancelled", caught
            if refused:
                break
    assert refused


def test_many_contexts(small, folder):
    chain = compile_file(long_chain(12, 48), folder / "chain.divisi")
    done = subprocess.run(
        [Path(_libraries.program()).with_name("run-contexts"), "reference",
         str(sample_size(1000)), str(sample_size(100)), small.path, chain],
        capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" sessions: bytes ") == 2, done.stdout


@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun")
def test_processes_of_the_callers_mpi(small, folder, x):
    one = compile_file(perceptron(), folder / "one.divisi")
    done = subprocess.run(
        ["mpirun", "-n", "2", "--oversubscribe", "--bind-to", "none",
         sys.executable, ROOT / "test/python/mpi_host.py", small.path, one],
        capture_output=True, text=True, timeout=120, env=dict(
            os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    assert done.returncode == 0, done.stderr
    for line in ("2: a communicator needs MPI to be initialized with "
                 "MPI_THREAD_MULTIPLE",
                 "2: mpi_comm has 2 processes, and the artifact 1 devices; "
                 "each process needs one",
                 "5: local_ranks of a process of mpi_comm are its equal share; "
                 "leave them NULL", "ran"):
        assert done.stdout.splitlines().count(line) == 2, done.stdout
    # Each process has the part of its device, and zeros.
    with divisi.Session(small) as session:
        expected = session.run(x)["y"]
    parts = [np.load(f"{small.path}.{rank}.npy") for rank in (0, 1)]
    assert all(part.any() for part in parts)
    for part in parts:
        assert ((part == expected) | (part == 0)).all()
    assert ((parts[0] == expected) | (parts[1] == expected)).all()
