"""A program that has communicators of NCCL, and gives them to sessions: alone, or
one of several processes that mpirun starts. Its GPUs are not there (test/emulator).

  nccl_host.py run ARTIFACT OUTPUTS      the outputs of runs with and without
  nccl_host.py processes ARTIFACT OUTPUTS
  nccl_host.py wrong ARTIFACT            prints what is said of what does not fit
"""

import ctypes
import json
import os
import sys
import threading
from ctypes import byref, c_char, c_int, c_uint64, c_void_p

import conftest  # noqa: F401 (finds the package)
import numpy as np

import divisi

nccl, cuda = ctypes.CDLL("libnccl.so.2"), ctypes.CDLL("libcuda.so.1")


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", c_char * 128)]


def call(function, *arguments):
    result = function(*arguments)
    assert result == 0, (function.__name__, result)


def communicators(gpus):
    """One of all of these GPUs for each of them."""
    made = (c_void_p * len(gpus))()
    call(nccl.ncclCommInitAll, made, len(gpus), (c_int * len(gpus))(*gpus))
    return list(made)


def communicators_of(ranks, count, number):
    """Those of these ranks of so many, which meet by the number: on the GPUs of
    their numbers."""
    made = {}

    def make(rank):
        context, communicator = c_void_p(), c_void_p()
        call(cuda.cuInit, 0)
        call(cuda.cuDevicePrimaryCtxRetain, byref(context), rank)
        call(cuda.cuCtxSetCurrent, context)
        call(nccl.ncclCommInitRank, byref(communicator), count, number, rank)
        made[rank] = communicator.value

    threads = [threading.Thread(target=make, args=(rank,)) for rank in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [made[rank] for rank in ranks]


def destroy(made):
    for communicator in made:
        call(nccl.ncclCommDestroy, c_void_p(communicator))


def counts():
    """How many communicators were made anew, split from others, and ended."""
    numbers = (c_uint64(), c_uint64(), c_uint64())
    nccl.emulatedCommunicators(*map(byref, numbers))
    return [number.value for number in numbers]


def outputs(artifact, **options):
    """Of three runs, which are the same; the second is recorded as a graph. What
    other processes compute is NaN."""
    random = np.random.default_rng(3)
    entry = artifact.entry()
    inputs = {value.name: random.standard_normal(value.shape, np.float32)
              for value in entry.inputs}
    runs = []
    with divisi.Session(artifact, timeout=20, **options) as session:
        for _ in range(3):
            out = {value.name: np.full(value.shape, np.nan, np.float32)
                   for value in entry.outputs}
            runs.append(session.run(inputs, out=out))
        queued = sum(step["queued"] for entry in session.describe()["entries"]
                     for rank in entry["ranks"]
                     for step in rank["collectives"])
        assert queued > 0, "GPUs do not meet by NCCL"
    for again in runs[1:]:
        for name, value in again.items():
            assert value.tobytes() == runs[0][name].tobytes()
    return runs[0]


def run(path, to):
    artifact = divisi.load(path)
    count = artifact.devices
    own = outputs(artifact)
    made, split, ended = counts()
    assert made == count and ended == made + split
    for gpus in (range(count), range(3, 3 - count, -1)):
        given = communicators(list(gpus))
        for _ in range(2):  # sessions, one after the other
            begin = counts()
            got = outputs(artifact, nccl_comms=given)
            made, split, ended = (now - old
                                  for now, old in zip(counts(), begin))
            assert (made, split) == (0, ended) and ended >= count
            for name, value in got.items():
                assert value.tobytes() == own[name].tobytes()
        begin = counts()
        destroy(given)  # which finds who has ended them before
        assert counts()[2] - begin[2] == count
    got = outputs(artifact, cuda_devices=list(range(3, 3 - count, -1)))
    assert all(got[name].tobytes() == own[name].tobytes() for name in own)
    np.savez(to, **own)


def processes(path, to):
    mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
    # OpenMPI's objects are known by their addresses.
    world, byte = (c_void_p(ctypes.addressof(c_char.in_dll(mpi, name)))
                   for name in ("ompi_mpi_comm_world", "ompi_mpi_byte"))
    provided, self, size = c_int(), c_int(), c_int()
    mpi.MPI_Init_thread(None, None, 3, byref(provided))
    mpi.MPI_Comm_rank(world, byref(self))
    mpi.MPI_Comm_size(world, byref(size))
    artifact = divisi.load(path)
    share = artifact.devices // size.value
    ranks = range(self.value * share, (self.value + 1) * share)
    number = UniqueId()
    if self.value == 0:
        call(nccl.ncclGetUniqueId, byref(number))
    mpi.MPI_Bcast(byref(number), ctypes.sizeof(number), byte, 0, world)
    given = communicators_of(ranks, artifact.devices, number)
    options = {"mpi_comm": ctypes.addressof(world)}
    wrong = [(given[::-1] if share > 1 else given[:0]) if self.value == 1
             else given]
    wrong += [given if self.value == 0 else None, given * 2]
    for comms in wrong:
        try:
            divisi.Session(artifact, nccl_comms=comms, **options)
            raise AssertionError(f"{comms} were taken")
        except divisi.UsageError as error:
            os.write(1, f"{self.value}: {error}\n".encode())
    got = outputs(artifact, nccl_comms=given, **options)
    made, split, ended = counts()
    assert made == share and split == ended
    destroy(given)
    np.savez(f"{to}.{self.value}.npz", **got)
    mpi.MPI_Finalize()


def complain(create):
    try:
        create()
        raise AssertionError("it fits")
    except divisi.Error as error:
        print(json.dumps([error.code, str(error)]), flush=True)


def wrong(path):
    """What does not fit an artifact of two devices."""
    artifact = divisi.load(path)
    two, others, four = (communicators(list(gpus))
                         for gpus in ((0, 1), (2, 3), range(4)))
    for options in (
            {"nccl_comms": two[:1]}, {"nccl_comms": two + two},
            {"nccl_comms": two[::-1]}, {"nccl_comms": four[:2]},
            {"nccl_comms": [two[0], 0]}, {"nccl_comms": [two[0], two[0]]},
            {"nccl_comms": two, "cuda_devices": [1, 0]},
            {"cuda_devices": [0]}, {"cuda_devices": [0, 99]},
            {"nccl_comms": "ab"}, {"cuda_devices": [0, -1]}):
        complain(lambda: divisi.Session(artifact, **options))
    mixed = [two[0], others[1]]  # each waits for the other one of its own
    with divisi.Session(artifact, timeout=1, nccl_comms=mixed) as session:
        x = np.zeros(artifact.entry().inputs[0].shape, np.float32)
        complain(lambda: session.run(x))
        complain(lambda: session.run(x))
    for communicator in two + others:
        call(nccl.ncclCommAbort, c_void_p(communicator))
    complain(lambda: divisi.Session(artifact, nccl_comms=two))


if __name__ == "__main__":
    {"run": run, "processes": processes, "wrong": wrong}[sys.argv[1]](
        *sys.argv[2:])
