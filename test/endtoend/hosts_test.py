"""Processes on several hosts: laid as the plan's machines are, and two hosts
that a link joins, network namespaces of this machine, which see nothing of each
other but through a pair of veth with a limited rate.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import PROGRAM, load
from launched import (BEGUN, needs_mpi, rank_of, under_mpirun,
                      wait_for_work)

pytestmark = [pytest.mark.as_written, needs_mpi]

ADDRESSES = ("10.77.0.1", "10.77.0.2")
RATE = "400mbit"
TIMEOUT = 3000
# In which all processes end once a wait has: the launcher's own patience with
# mpirun, twice, and what a busy machine adds.
SLACK = 30


# Two machines of two devices each.
CLUSTER = ("--devices", 4, "--cluster", "cpu-server:4")


@pytest.fixture
def mlp(divisi, generated):
    made = generated("mlp.py")
    divisi("compile", made.onnx, *CLUSTER, "-o", "m.divisi")
    divisi("run", "m.divisi", "--inputs", made.inputs, "-o", "one.npz")
    return made


def assert_the_bits_of_one_process(divisi, name):
    one, all_ = load(divisi.path("one.npz")), load(divisi.path(name))
    assert one and list(one) == list(all_)
    assert all(one[key].tobytes() == all_[key].tobytes() for key in one)


#===----------------------------------------------------------------------===#
# Where processes are
#===----------------------------------------------------------------------===#

@pytest.fixture
def lay(divisi):
    """lay("a slots=3", ...) writes the file `hosts`; gives the environment in
    which MPI takes this machine for each of them. A host that is used leaves a
    folder."""
    agent = divisi.path("agent")
    agent.write_text(f"#!/bin/sh\nexport TMPDIR={divisi.folder}/at-$1\n"
                     'mkdir -p $TMPDIR\nshift\nexec sh -c "$*"\n')
    agent.chmod(0o755)

    def write(*lines):
        divisi.path("hosts").write_text("".join(f"{s}\n" for s in lines))
        # Shared memory has names that such hosts would both use.
        return {**os.environ, "OMPI_MCA_plm_rsh_agent": str(agent),
                "OMPI_MCA_btl": "tcp,self"}

    return write


def test_processes_of_a_machine_share_a_host(divisi, mlp, lay):
    """Slot by slot the second machine would lie on two hosts."""
    for lines, used in [
            (["a slots=3", "b", "c slots=2"], ["a", "c"]),
            (["d", "e slots=1", "d slots=1", "f slots=9"], ["d", "f"])]:
        environment = lay(*lines)
        divisi("run", "m.divisi", "--inputs", mlp.inputs, "--launch", 4,
               "--hosts", "hosts", "-o", "all.npz", env=environment)
        assert_the_bits_of_one_process(divisi, "all.npz")
        assert all(divisi.path(f"at-{host}").exists() for host in used)
    assert not divisi.path("at-b").exists()
    assert not divisi.path("at-e").exists()
    # The third of three has two devices, and a machine of its own.
    err = divisi("run", "m.divisi", "--inputs", mlp.inputs, "--launch", 3,
                 "--hosts", "hosts", env=lay("a slots=2", "b slots=2")).err
    assert "warning" not in err


def test_no_host_is_as_large_as_a_machine(divisi, mlp, lay):
    run = ("run", "m.divisi", "--inputs", mlp.inputs, "--launch", 4, "--hosts",
           "hosts")
    err = divisi(*run, exits=2, env=lay("a slots=3", "b", "c")).err
    assert ("the plan assumes that the devices of processes 2 to 3 share a "
            "machine (its links: 'machine'), but no host of 'hosts' has 2 "
            "slots left for them; give such a host, or compile for a cluster "
            "of smaller machines (--cluster)") in err
    err = divisi(*run, exits=2, env=lay("a slots=2", "b")).err
    assert "the hosts of 'hosts' have 3 slots for 4 processes" in err


def test_launch_minds_no_numbers_that_others_have_left(divisi, mlp):
    """A pod of a training operator has RANK, and no LOCAL_RANK."""
    run = ("run", "m.divisi", "--inputs", mlp.inputs, "-o", "y.npz")
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "4"}
    assert "but it would have set LOCAL_RANK and LOCAL_WORLD_SIZE, too" in \
        divisi(*run, exits=2, env=environment).err
    divisi(*run, "--launch", 2, env=environment)


def test_what_mpi_says_is_compared_with_the_plan(divisi, mlp, lay):
    """Of a model it is not known before it is planned, in the processes."""
    environment = lay("a slots=3", "b slots=1")
    err = divisi("check", mlp.onnx, *CLUSTER, "--launch", 4, "--hosts",
                 "hosts", exits=2, env=environment).err
    wrong = ("the plan assumes that devices 2 to 3 share a machine (its "
             "links: 'machine'), but they are on 2: 2 on '")
    assert err.count(wrong) == 1, err
    command, own = under_mpirun(4, PROGRAM, "run", "m.divisi", "--inputs",
                                mlp.inputs.resolve(), "-o", "all.npz")
    command[1:1] = ["--hostfile", "hosts"]
    command.remove("--oversubscribe")
    done = subprocess.run(command, cwd=divisi.folder, capture_output=True,
                          env={**own, **environment}, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("divisi: warning: " + wrong) == 1, done.stderr
    assert "communication will be slower than planned" in done.stderr
    assert_the_bits_of_one_process(divisi, "all.npz")


#===----------------------------------------------------------------------===#
# Two hosts and their link
#===----------------------------------------------------------------------===#

def ip(*arguments):
    return subprocess.run(["ip", *map(str, arguments)], check=True, text=True,
                          capture_output=True).stdout


class TwoHosts:
    """The first is where mpirun runs."""

    def __init__(self, folder):
        self.folder = folder
        self.names = [f"divisi{os.getpid()}{side}" for side in "ab"]

    def up(self):
        ends = [f"dv{os.getpid()}{side}" for side in "ab"]
        for name in self.names:
            ip("netns", "add", name)
        ip("link", "add", ends[0], "netns", self.names[0], "type", "veth",
           "peer", "name", ends[1], "netns", self.names[1])
        for name, end, address in zip(self.names, ends, ADDRESSES):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", end)
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", end, "up")
            subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", end,
                            "root", "tbf", "rate", RATE, "burst", "64kb",
                            "latency", "50ms"], check=True,
                           capture_output=True)
        self.link = ends[0]

    def down(self):
        for name in self.names:
            with contextlib.suppress(subprocess.CalledProcessError):
                for pid in self.processes(name):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                ip("netns", "del", name)

    def cut(self):
        ip("-n", self.names[0], "link", "set", self.link, "down")

    @staticmethod
    def processes(name):
        return [int(pid) for pid in ip("netns", "pids", name).split()]

    def ranks(self):
        """Processes of divisi on either host."""
        found = []
        for name in self.names:
            for pid in self.processes(name):
                with contextlib.suppress(OSError):
                    text = Path(f"/proc/{pid}/cmdline").read_bytes()
                    if b"divisi" in text.split(b"\0")[0]:
                        found.append(pid)
        return found

    def inside(self, *command):
        """The command line, and the environment, of a command on the first
        host, from which mpirun reaches the second one not by ssh but as one
        enters a namespace. Each has a folder of its own for temporary files, in
        which MPI's daemons meet those of their host."""
        homes = [self.folder / side for side in "ab"]
        for home in homes:
            home.mkdir(exist_ok=True)
        agent = self.folder / "agent"
        agent.write_text(f"#!/bin/sh\nshift\nexport TMPDIR={homes[1]}\n"
                         f'exec ip netns exec {self.names[1]} sh -c "$*"\n')
        agent.chmod(0o755)
        return (["ip", "netns", "exec", self.names[0], *map(str, command)],
                {**os.environ, "TMPDIR": str(homes[0]),
                 "OMPI_MCA_plm_rsh_agent": str(agent),
                 "OMPI_MCA_btl": "tcp,self"})

    def start(self, *arguments):
        """The program on the first host."""
        command, environment = self.inside(PROGRAM, *arguments)
        # To a file: MPI's daemon has its stderr, too, and may outlive it.
        with open(self.folder / "stderr", "w", encoding="utf-8") as errors:
            return subprocess.Popen(command, cwd=self.folder, stderr=errors,
                                    env=environment)

    def end(self, process, seconds):
        """The exit code and stderr."""
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = "none: it did not end"
        return code, self.errors()

    def errors(self):
        return (self.folder / "stderr").read_text(encoding="utf-8")


@pytest.fixture
def hosts(divisi):
    if os.geteuid() != 0:
        pytest.skip("network namespaces are root's to make")
    if not shutil.which("ip") or not shutil.which("tc"):
        pytest.skip("there is no ip or no tc here (Debian: iproute2)")
    both = TwoHosts(divisi.folder)
    try:
        try:
            both.up()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here: {error.stderr}")
        yield both
    finally:
        both.down()


def run_on_both(divisi, mlp, output, *options):
    divisi.path("hosts").write_text(
        "".join(f"{address} slots=2\n" for address in ADDRESSES))
    return ("run", "m.divisi", "--inputs", mlp.inputs.resolve(), "--launch", 4,
            "--hosts", "hosts", "-o", output, *options)


def test_two_hosts_give_the_bits_of_one_process(divisi, mlp, hosts):
    process = hosts.start(*run_on_both(divisi, mlp, "two.npz"))
    code, err = hosts.end(process, 60)
    assert code == 0, err
    assert_the_bits_of_one_process(divisi, "two.npz")


@pytest.mark.whole
def test_a_link_that_is_cut_in_mid_run(divisi, mlp, hosts):
    process = hosts.start(*run_on_both(divisi, mlp, "y.npz", "--repeat", 10**9,
                                       "--timeout", TIMEOUT, "--verbose"))
    deadline = time.monotonic() + 60
    while BEGUN not in hosts.errors():
        assert time.monotonic() < deadline, "it did not start"
        time.sleep(0.02)
    wait_for_work(*(pid for pid in hosts.ranks() if rank_of(pid) is not None))
    assert process.poll() is None and len(hosts.ranks()) > 4, hosts.errors()
    hosts.cut()
    began = time.monotonic()
    code, err = hosts.end(process, TIMEOUT / 1000 + SLACK)
    assert code == 9, err
    # Whoever waits is on this side, and whoever does not come on the other.
    assert re.search(r"rank [01] waited 3000 ms in .* for rank [23], which did "
                     "not come", err), err
    deadline = began + TIMEOUT / 1000 + SLACK
    while hosts.ranks():
        assert time.monotonic() < deadline, "processes are left"
        time.sleep(0.1)
    assert not list(divisi.folder.glob("y.npz*"))
    assert not list(divisi.folder.glob("*.tmp*"))
