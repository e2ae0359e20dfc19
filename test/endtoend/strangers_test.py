"""The meeting of hosts, where anybody may come: strangers and false hosts end
no run and cost no memory, and none that waits for hosts waits for longer.
"""

import os
import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import strangers
from hosts_test import assert_the_bits_of_one_process, mlp  # noqa: F401
from launched import needs_mpi
from strangers import Secret
from torchrun_hosts_test import errors, run_of, start  # noqa: F401
from torchrun_test import PLUGIN, nothing_is_left  # noqa: F401

KEY = "nobody knows it but the hosts of this test"
# Of who waits for hosts that do not come, in ms; in addition, each process
# starts, and its launcher ends it.
TIMEOUT = 1000
SLACK = 15
# What a server of PMIx has for itself, and for some connections.
MEMORY = 200 << 20

pytestmark = [pytest.mark.as_written, needs_mpi, pytest.mark.skipif(
    not PLUGIN.exists(), reason="there is no PMIx here (Debian: libpmix-dev)")]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("DIVISI_HOSTS_KEY", KEY)
    # There may be no other link than that of a host with itself.
    monkeypatch.setenv("OMPI_MCA_btl_tcp_if_include", "lo")


def port():
    """Of the meeting; as in torchrun_hosts_test.py."""
    return 20000 + os.getpid() % 30000 + 1


@contextmanager
def threads(*targets):
    """Each runs with its arguments and an event that says when to stop."""
    stop = threading.Event()
    running = [threading.Thread(target=target, args=(*arguments, stop))
               for target, *arguments in targets]
    for thread in running:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in running:
            thread.join()


def servers():
    """The servers of PMIx of this test."""
    own = f"MASTER_PORT={port() - 1}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text() == "divisi-pmix\n" and \
                    own in (folder / "environ").read_bytes().split(b"\0"):
                found.append(folder)
        except OSError:
            pass # it has ended
    return found


def wait_with_memory(*runs):
    """The exit codes, and the most memory that a server has had."""
    most, deadline = 0, time.monotonic() + 60
    while any(run.poll() is None for run in runs):
        assert time.monotonic() < deadline, "it does not end"
        for server in servers():
            try:
                lines = (server / "status").read_text().splitlines()
            except OSError:
                continue
            most = max([most, *(int(line.split()[1]) << 10 for line in lines
                                if line.startswith("VmHWM:"))])
        time.sleep(0.02)
    return [run.wait() for run in runs], most


def assert_fails(divisi, host, run, began, message):
    """In time, with one error that a user can read."""
    codes, memory = wait_with_memory(run)
    assert time.monotonic() - began < 4 * TIMEOUT / 1000 + SLACK
    err = errors(divisi, host)
    assert codes == [1] and err.count("divisi: error: ") == 1, err
    assert message in err, err
    assert "exitcode: -" not in err, err # a crash
    assert memory < MEMORY


def test_strangers_do_not_disturb_hosts(divisi, mlp, start):
    address = ("127.0.0.1", port())
    replay = strangers.replay(Secret(KEY, divisi.path("m.divisi")))
    attacks = [(strangers.attack, address, act)
               for act in [*strangers.STRANGERS, replay] + [strangers.flood] * 6]
    with threads((strangers.crowd, address), *attacks):
        runs = [start(0, 2, *run_of(mlp, "-o", "two.npz"))]
        time.sleep(0.5) # strangers come first
        runs.append(start(1, 2, *run_of(mlp, "-o", "two.npz")))
        codes, memory = wait_with_memory(*runs)
    assert codes == [0, 0], errors(divisi, 0) + errors(divisi, 1)
    assert 0 < memory < MEMORY
    assert_the_bits_of_one_process(divisi, "two.npz")


@pytest.mark.whole
@pytest.mark.parametrize("act", [*strangers.STRANGERS, "crowd", "replay"],
                         ids=lambda act: getattr(act, "__name__", act))
def test_a_stranger_is_no_host(divisi, mlp, start, act):
    address = ("127.0.0.1", port())
    if act == "crowd":
        attacks = [(strangers.crowd, address)]
    else:
        if act == "replay":
            act = strangers.replay(Secret(KEY, divisi.path("m.divisi")))
        attacks = [(strangers.attack, address, act)] * 7
    began = time.monotonic()
    with threads(*attacks):
        run = start(0, 2, *run_of(mlp, "--timeout", TIMEOUT))
        assert_fails(divisi, 0, run, began,
                     f"of the 2 hosts GROUP_RANK 1 did not come within "
                     f"{TIMEOUT} ms")


@pytest.mark.sample()
@pytest.mark.parametrize("name", strangers.INSIDERS)
def test_a_host_that_says_what_no_host_says(divisi, mlp, start, name):
    secret = Secret(KEY, divisi.path("m.divisi"))
    say, message = strangers.INSIDERS[name]

    def act(connection):
        connection.sendall(say(strangers.introduce(connection, secret)))
        # A half is left so, for the first host to see that it ends there.
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)

    began = time.monotonic()
    with threads((strangers.attack, ("127.0.0.1", port()), act)):
        run = start(0, 2, *run_of(mlp, "--timeout", TIMEOUT))
        assert_fails(divisi, 0, run, began, message)


@pytest.mark.sample()
@pytest.mark.parametrize("name", strangers.ANSWERS)
def test_a_false_first_host(divisi, mlp, start, name):
    secret = Secret(KEY, divisi.path("m.divisi"))
    answer, message = strangers.ANSWERS[name]
    listener = socket.create_server(("127.0.0.1", port()))
    began = time.monotonic()
    with listener, threads((strangers.serve, listener, secret, answer)):
        run = start(1, 2, *run_of(mlp, "--timeout", TIMEOUT))
        assert_fails(divisi, 1, run, began, message)


@pytest.mark.whole
def test_hosts_without_a_common_secret(divisi, mlp, start, monkeypatch):
    runs = []
    for host in range(2):
        monkeypatch.setenv("DIVISI_HOSTS_KEY", f"the secret of host {host}")
        runs.append(start(host, 2, *run_of(mlp, "--timeout", TIMEOUT)))
    assert [run.wait(60) for run in runs] == [1, 1]
    assert "who has come instead" in errors(divisi, 0)
    assert "has another key than GROUP_RANK 1; give all hosts the same " \
        "DIVISI_HOSTS_KEY" in errors(divisi, 1)
    assert "(exitcode: 2)" in errors(divisi, 1)


def test_hosts_with_different_artifacts(divisi, mlp, start):
    divisi("compile", mlp.onnx, "--devices", 4, "--solver", "random",
           "-o", "other.divisi")
    began = time.monotonic()
    runs = [start(0, 2, *run_of(mlp)),
            start(1, 2, *[str(part).replace("m.divisi", "other.divisi")
                          for part in run_of(mlp)])]
    assert [run.wait(60) for run in runs] == [1, 1]
    assert time.monotonic() - began < SLACK
    assert "GROUP_RANK 1 has another artifact than GROUP_RANK 0" \
        in errors(divisi, 0)
    assert "GROUP_RANK 0 has another artifact than GROUP_RANK 1; give all " \
        "hosts the same" in errors(divisi, 1)
    assert all("(exitcode: 4)" in errors(divisi, host) for host in range(2))


def test_where_the_first_host_listens_and_who_reads_its_secret(divisi, mlp,
                                                               start):
    """At the address of the first host alone; no command line has the key."""
    run = start(0, 2, *run_of(mlp, "--timeout", 500))
    sockets = f":{port():04X}"
    while run.poll() is None:
        found = [line.split()[1] for name in ("tcp", "tcp6")
                 for line in Path("/proc/net", name).read_text().splitlines()
                 if line.split()[1].endswith(sockets) and
                 line.split()[3] == "0A"]
        if found:
            break
        time.sleep(0.01)
    assert found == ["0100007F" + sockets]
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(file.read_bytes())
        except OSError:
            pass # it has ended
    assert any(b"m.divisi" in line for line in lines)
    assert not any(KEY.encode() in line for line in lines)
    assert run.wait(60) == 1
