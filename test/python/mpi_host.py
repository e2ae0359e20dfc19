"""One of two processes that mpirun starts: a program that uses MPI itself, and
gives its communicator to contexts.

  mpi_host.py TWO.divisi ONE.divisi    artifacts for as many devices
"""

import ctypes
import os
import sys
from ctypes import byref, c_int, c_int64, c_uint32, c_void_p

import conftest  # noqa: F401 (finds the package)
import numpy as np

from divisi import _c
from divisi._errors import Error

api = _c.runtime()


def say(text):
    """In one write, so that lines of processes do not mix."""
    os.write(1, (text + "\n").encode())


def create(path, **fields):
    artifact, context = c_void_p(), c_void_p()
    _c.check(api, api.artifact_open(path.encode(), None, byref(artifact)))
    _c.check(api, api.context_create(
        artifact, byref(_c.options(_c.ContextOptions, **fields)),
        byref(context)))
    return context


def complain(path, **fields):
    try:
        create(path, **fields)
    except Error as error:
        say(f"{error.code}: {error.message}")


def main(two, one):
    mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
    # OpenMPI's MPI_COMM_WORLD is the address of this object.
    world = c_void_p(ctypes.addressof(
        ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
    comm = ctypes.addressof(world)
    complain(two, mpi_comm=comm)
    provided, rank = c_int(), c_int()
    mpi.MPI_Init_thread(None, None, 3, byref(provided))
    assert provided.value == 3, "MPI_THREAD_MULTIPLE"
    mpi.MPI_Comm_rank(world, byref(rank))
    complain(one, mpi_comm=comm)
    wrong = (c_uint32 * 1)(1 - rank.value)
    complain(two, mpi_comm=comm, local_ranks=wrong, num_local_ranks=1)
    for _ in range(3):
        context = create(two, mpi_comm=comm)
        x = np.random.default_rng(1).standard_normal((8, 16), np.float32)
        y = np.zeros((8, 4), np.float32)
        tensors = [_c.Tensor(
            data=array.ctypes.data, device=_c.Device(1, 0), ndim=2,
            dtype=_c.DType(2, 32, 1), shape=(c_int64 * 2)(*array.shape))
            for array in (x, y)]
        for _ in range(5):
            _c.check(api, api.run(context, None, byref(tensors[0]), 1,
                                  byref(tensors[1]), 1))
        api.context_free(context)
    np.save(f"{two}.{rank.value}.npy", y)
    say("ran")
    mpi.MPI_Finalize()


if __name__ == "__main__":
    main(*sys.argv[1:])
