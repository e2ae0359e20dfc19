"""Processes that share the devices of an artifact, connected without MPI."""

import ctypes
import multiprocessing

import numpy as np
import pytest
from conftest import compile_file, perceptron, refuse

import divisi
from divisi import _c


def wait_for(connection):
    assert connection.poll(60), "the other process does not answer"
    return connection.recv_bytes()


def run_process(number, connection, jobs):
    """Of two: `jobs` are functions of a Processes."""
    def exchange(own):
        connection.send_bytes(own)
        other = wait_for(connection)
        return [own, other] if number == 0 else [other, own]
    return [job(number, exchange) for job in jobs]


def child(connection, jobs):
    run_process(1, connection, jobs)
    connection.send_bytes(b"done")


def both(*jobs):
    """What process 0 of two gives."""
    context = multiprocessing.get_context("spawn")
    mine, other = context.Pipe()
    process = context.Process(target=child, args=(other, jobs))
    process.start()
    try:
        results = run_process(0, mine, jobs)
        assert wait_for(mine) == b"done"
        process.join(60)
        assert process.exitcode == 0
    finally:
        process.kill()
    return results


class Runs:
    """An artifact's outputs equal those of one process."""

    def __init__(self, path):
        self.path = str(path)

    def __call__(self, number, exchange):
        artifact = divisi.load(self.path)
        x = np.random.default_rng(1).standard_normal((8, 16), np.float32)
        wanted = divisi.Session(artifact).run(x)["y"]
        with divisi.Processes(number, 2, exchange, timeout=20) as processes:
            for _ in range(3):  # one after the other, and two at a time
                with divisi.Session(artifact, processes=processes,
                                    whole_outputs=True) as one, divisi.Session(
                        artifact, processes=processes) as two:
                    for _ in range(3):
                        y = one.run(x)["y"]
                        assert y.tobytes() == wanted.tobytes()
                    strided = np.zeros((4, 8), np.float32).T
                    one.run(x, out={"y": strided})
                    assert (strided == wanted).all()
                    two.run(x)


class Differ:
    """Sessions of different artifacts are refused, and the next ones work."""

    def __init__(self, *paths):
        self.paths = [str(path) for path in paths]

    def __call__(self, number, exchange):
        with divisi.Processes(number, 2, exchange) as processes:
            with pytest.raises(divisi.InvalidError, match="another artifact"):
                divisi.Session(self.paths[number], processes=processes)
            with pytest.raises(divisi.UsageError, match="nccl_comms"):
                divisi.Session(self.paths[0], processes=processes,
                               nccl_comms=[1, 2, 3])
            with pytest.raises(divisi.UsageError, match="got mpi_comm and "
                               "processes; give one of them"):
                divisi.Session(self.paths[0], processes=processes, mpi_comm=64)
            with divisi.Session(self.paths[0], processes=processes,
                                whole_outputs=True) as session:
                session.run(np.zeros((8, 16), np.float32))


def test_outputs_are_those_of_one_process(folder):
    paths = [compile_file(perceptron(), folder / f"p{devices}.divisi",
                          f"--devices={devices}") for devices in (2, 3)]
    both(*map(Runs, paths))


def test_artifacts_differ(folder):
    both(Differ(compile_file(perceptron(), folder / "q2.divisi", "--devices=2"),
                compile_file(perceptron(), folder / "q3.divisi", "--devices=3")))


@pytest.mark.parametrize("number, count", [(2, 2), (-1, 2), (0, 1 << 17)])
def test_numbers_are_checked(number, count):
    with pytest.raises(divisi.UsageError, match="below how many there are"):
        divisi.Processes(number, count, lambda own: [own])


def test_numbers_are_checked_in_c():
    api = _c.runtime()
    options = _c.options(_c.ProcessesOptions, self=1, count=1,
                         exchange=_c.Exchange(lambda *_: 0), timeout_ms=5)
    refuse(api, api.processes_connect(options, ctypes.c_void_p()),
           divisi.UsageError, "process 1 of 1, timeout_ms 5: expected one below "
           "65536, and a day at most")


def test_an_exchange_that_fails():
    def fail(own):
        raise RuntimeError("no network")
    with pytest.raises(divisi.DeviceError, match="exchange of processes has "
                       "failed") as caught:
        divisi.Processes(0, 2, fail)
    assert "no network" in str(caught.value.__cause__)
    with pytest.raises(divisi.DeviceError) as caught:
        divisi.Processes(0, 2, lambda own: [own])
    assert "the exchange gave 4096 bytes" in str(caught.value.__cause__)


def test_one_process(small, x):
    with divisi.Processes(0, 1, lambda own: [own]) as processes:
        with divisi.Session(small, processes=processes,
                            whole_outputs=True) as session:
            assert (session.run(x)["y"] == divisi.Session(small).run(x)["y"]).all()
