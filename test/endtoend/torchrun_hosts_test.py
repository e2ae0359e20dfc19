"""Processes that torchrun starts on several hosts: groups of processes on this
one, and the two hosts of hosts_test.py. A stand-in starts them (elastic.py).
"""

import os
import random
import re
import signal
import subprocess
import time

import pytest
from conftest import PROGRAM
from hosts_test import (ADDRESSES, SLACK, assert_the_bits_of_one_process,
                        hosts, mlp)  # noqa: F401
from launched import (BEGUN, needs_mpi, processes_below, rank_of,
                      under_torchrun, wait_for_work)
from torchrun_test import PLUGIN, nothing_is_left  # noqa: F401

TIMEOUT = 3000

pytestmark = [pytest.mark.as_written, needs_mpi, pytest.mark.skipif(
    not PLUGIN.exists(), reason="there is no PMIx here (Debian: libpmix-dev)")]


@pytest.fixture
def start(divisi):
    """start(host, count, *command, options=, enter=) starts one host's."""
    started = []

    def run(host, count, *command, options=(), enter=(), number=2,
            address="127.0.0.1"):
        port = 20000 + os.getpid() % 30000
        command, environment = under_torchrun(
            count, "--hosts", number, "--host", host, "--address", address,
            "--port", port, *options, *command)
        # To a file: whoever is stopped holds a pipe.
        with open(divisi.path(f"stderr{host}"), "w", encoding="utf-8") as errors:
            started.append(subprocess.Popen(
                [*enter, *command], cwd=divisi.folder, env=environment,
                stderr=errors))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.wait(20)


def errors(divisi, host):
    return divisi.path(f"stderr{host}").read_text(encoding="utf-8")


def run_of(mlp, *options):
    return (PROGRAM, "run", "m.divisi", "--inputs", mlp.inputs.resolve(),
            *options)


@pytest.mark.sample()
@pytest.mark.parametrize("groups,count", [(2, 2), (4, 1), (2, 1)])
def test_groups_give_the_bits_of_one_process(divisi, mlp, start, groups,
                                             count):
    # There may be no other link than that of a host with itself.
    alone = ("env", "OMPI_MCA_btl_tcp_if_include=lo")
    runs = [start(host, count, *run_of(mlp, "-o", "two.npz"), number=groups,
                  enter=alone)
            for host in range(groups)]
    for host, run in enumerate(runs):
        assert run.wait(60) == 0, errors(divisi, host)
    assert "wrote two.npz" in errors(divisi, 0)
    assert_the_bits_of_one_process(divisi, "two.npz")


@pytest.mark.sample()
@pytest.mark.parametrize("absent", [0, 1])
def test_a_host_does_not_come(divisi, mlp, start, absent):
    run = start(1 - absent, 2, *run_of(mlp, "--timeout", 1000))
    assert run.wait(60) == 1
    err = errors(divisi, 1 - absent)
    assert err.count("divisi: error") == 1, err
    assert f"of the 2 hosts GROUP_RANK {absent} did not come within 1000 ms" \
        in err, err
    assert "(exitcode: 9)" in err


def test_a_process_of_another_host_does_not_come(divisi, mlp, start):
    runs = [start(host, 2, *run_of(mlp, "--timeout", 1000), options=options)
            for host, options in enumerate([(), ("--absent", 1)])]
    assert [run.wait(60) for run in runs] == [1, 1]
    assert ("of the 2 processes of this host LOCAL_RANK 1 did not come within "
            "1000 ms") in errors(divisi, 1)
    assert "of the 2 hosts GROUP_RANK 1 " in errors(divisi, 0)


def test_where_the_first_host_is(divisi, mlp, start):
    for address, port, message in [
            ("127.0.0.1", "x", "MASTER_ADDR=127.0.0.1 MASTER_PORT=x: expected "
                               "a host and a port below 65535, as torchrun "
                               "says where the first host is"),
            ("host.invalid", "1", "cannot find the host 'host.invalid': ")]:
        wrap = f'export MASTER_PORT={port}; exec "$0" "$@"'
        run = start(0, 2, "bash", "-c", wrap, *run_of(mlp), address=address)
        assert run.wait(60) == 1
        assert message in errors(divisi, 0), errors(divisi, 0)


#===----------------------------------------------------------------------===#
# Two hosts and their link
#===----------------------------------------------------------------------===#

def on_both(hosts, start, *command):
    return [start(side, 2, *command, address=ADDRESSES[0],
                  enter=("ip", "netns", "exec", name))
            for side, name in enumerate(hosts.names)]


def test_two_hosts_give_the_bits_of_one_process(divisi, mlp, hosts, start):
    for side, run in enumerate(on_both(hosts, start,
                                       *run_of(mlp, "-o", "two.npz"))):
        assert run.wait(60) == 0, errors(divisi, side)
    err = errors(divisi, 0)
    assert "warning" not in err # of machines that are not as planned
    assert_the_bits_of_one_process(divisi, "two.npz")


def running(divisi, hosts, start, mlp):
    runs = on_both(hosts, start, *run_of(
        mlp, "-o", "y.npz", "--repeat", 10**9, "--timeout", TIMEOUT,
        "--verbose"))
    deadline = time.monotonic() + 60
    while BEGUN not in errors(divisi, 0):
        assert time.monotonic() < deadline, "it did not start"
        time.sleep(0.02)
    wait_for_work(*(pid for pid in hosts.ranks() if rank_of(pid) is not None))
    assert all(run.poll() is None for run in runs)
    return runs


def assert_all_end(hosts):
    deadline = time.monotonic() + TIMEOUT / 1000 + SLACK
    while hosts.ranks():
        assert time.monotonic() < deadline, "processes are left"
        time.sleep(0.1)


def test_a_link_that_is_cut_in_mid_run(divisi, mlp, hosts, start):
    runs = running(divisi, hosts, start, mlp)
    hosts.cut()
    assert [run.wait(TIMEOUT / 1000 + SLACK) for run in runs] == [1, 1]
    assert re.search(r"rank [01] waited 3000 ms in .* for rank [23], which did "
                     "not come", errors(divisi, 0)), errors(divisi, 0)
    assert_all_end(hosts)


@pytest.mark.sample()
@pytest.mark.parametrize("side", [0, 1])
def test_a_process_that_is_killed(divisi, mlp, hosts, start, side):
    """Its launcher ends those of its host; the others end by themselves."""
    runs = running(divisi, hosts, start, mlp)
    os.kill(min(pid for pid in hosts.processes(hosts.names[side])
                if rank_of(pid) is not None), signal.SIGKILL)
    assert [run.wait(TIMEOUT / 1000 + SLACK) for run in runs] == [1, 1]
    assert "(exitcode: -9)" in errors(divisi, side)
    assert_all_end(hosts)


#===----------------------------------------------------------------------===#
# Signals, at any moment
#===----------------------------------------------------------------------===#

@pytest.mark.sample("name", slow=True, first=True)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["SIGKILL", "SIGSTOP"])
def test_a_process_gets_a_signal(divisi, mlp, start, name, seed):
    draw = random.Random(f"{name} {seed}")
    number = getattr(signal, name)
    runs = [start(host, 2, *run_of(mlp, "-o", "y.npz", "--repeat", 10**9,
                                   "--timeout", 2000),
                  enter=("env", "OMPI_MCA_btl_tcp_if_include=lo"))
            for host in range(2)]
    time.sleep(draw.uniform(0.1, 1.5))
    seen = {pid for run in runs for pid in processes_below(run.pid)}
    oldest = {} # others are servers, and who copy messages
    for pid in sorted(seen, reverse=True):
        oldest[rank_of(pid)] = pid
    oldest.pop(None, None)
    if oldest: # else none has started
        os.kill(oldest[draw.choice(sorted(oldest))], number)
    else:
        runs[0].terminate()
    codes = [run.wait(60) for run in runs]
    assert all(code in (0, 1, 143) for code in codes), codes
    deadline = time.monotonic() + 20
    while left := [pid for pid in seen if rank_of(pid) is not None]:
        assert time.monotonic() < deadline, f"processes are left: {left}"
        time.sleep(0.05)
    assert not divisi.path("y.npz").exists()
