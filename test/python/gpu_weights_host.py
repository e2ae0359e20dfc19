"""A program with several sessions of one artifact on GPUs that are not there
(test/emulator): what they hold there together.

  gpu_weights_host.py ARTIFACT
"""

import ctypes
import json
import sys
import threading
from ctypes import byref, c_size_t, c_void_p

import conftest  # noqa: F401 (finds the package)
import numpy as np

import divisi

cuda = ctypes.CDLL("libcuda.so.1")


def call(function, *arguments):
    result = function(*arguments)
    assert result == 0, (function.__name__, result)


def held(count):
    """Bytes on each of so many GPUs."""
    bytes_ = []
    for gpu in range(count):
        context, free, whole = c_void_p(), c_size_t(), c_size_t()
        call(cuda.cuDevicePrimaryCtxRetain, byref(context), gpu)
        call(cuda.cuCtxSetCurrent, context)
        call(cuda.cuMemGetInfo_v2, byref(free), byref(whole))
        call(cuda.cuDevicePrimaryCtxRelease_v2, gpu)
        bytes_.append(whole.value - free.value)
    return bytes_


def main(path):
    call(cuda.cuInit, 0)
    artifact = divisi.load(path)
    x = np.random.default_rng(2).standard_normal(
        artifact.entry().inputs[0].shape, np.float32)
    begin = held(artifact.devices)
    steps, sessions, results = [], [], []

    def note():
        now = held(artifact.devices)
        steps.append([a - b for a, b in zip(now, begin)])

    def add():
        session = divisi.Session(artifact)
        sessions.append(session)
        results.append(session.run(x)["y"].tobytes())

    for _ in range(2):  # one after the other
        add()
        note()
    counted = [memory.device for memory in sessions[0].memory()]
    sessions.pop(0).close()
    note()
    results.append(sessions[0].run(x)["y"].tobytes())
    sessions.pop().close()
    note()
    threads = [threading.Thread(target=add) for _ in range(4)]  # at once
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    note()
    for session in sessions:
        results.append(session.run(x)["y"].tobytes())
        session.close()
    note()
    assert len(results) == 11 and len(set(results)) == 1, len(results)
    print(json.dumps({"counted": counted, "steps": steps}))


if __name__ == "__main__":
    main(*sys.argv[1:])
