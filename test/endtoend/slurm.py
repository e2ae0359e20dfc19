"""A Slurm of this machine alone, for tests: its three daemons, in a folder."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
# A node of more processors than there are, so that tasks share them.
PROCESSORS = 8
PATIENCE = 30

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
ReturnToService=2
KillWait=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP OverSubscribe=FORCE:8
"""


def missing():
    """Why there can be none here, or nothing."""
    if os.geteuid() != 0:
        return "Slurm's daemons are root's to start"
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    if not all(shutil.which(name, path=path) for name in (*DAEMONS, "srun")):
        return "there is no Slurm here (Debian: slurm-wlm munge)"
    return None


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


class Slurm:
    def __init__(self):
        # A short path: there are sockets in it.
        self.folder = Path(tempfile.mkdtemp(prefix="divisi-slurm-"))
        self.daemons = []
        self.environment = {**os.environ,
                            "SLURM_CONF": str(self.folder / "slurm.conf"),
                            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}

    def up(self):
        self.folder.chmod(0o755) # else munged refuses it
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o600)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], folder=self.folder,
            control=free_port(), node=free_port(), processors=PROCESSORS))
        own = {name: f"--{name}={self.folder}/munge{ending}" for name, ending in
               (("socket", ""), ("key-file", ".key"), ("pid-file", ".pid"),
                ("log-file", ".log"), ("seed-file", ".seed"))}
        self.start("munged", "--foreground", "--force", *own.values())
        self.wait(lambda: (self.folder / "munge").exists(), "munged")
        self.start("slurmctld", "-D", "-i")
        self.start("slurmd", "-D")
        self.wait(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%t"),
                  "the node")

    def start(self, *command):
        with open(self.folder / f"{command[0]}.out", "wb") as output:
            self.daemons.append(subprocess.Popen(
                command, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output))

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, text=True,
                              capture_output=True).stdout

    def wait(self, isDone, what):
        deadline = time.monotonic() + PATIENCE
        while not isDone():
            if time.monotonic() > deadline:
                said = "\n".join(path.read_text(errors="replace") for path in
                                 sorted(self.folder.glob("*.out")))
                raise RuntimeError(f"{what} does not come up:\n{said}")
            time.sleep(0.05)

    def tasks(self):
        """The processes that it has started: pid to number of the task."""
        found = {}
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                variables = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            for variable in variables if mark in variables else ():
                if variable.startswith(b"SLURM_PROCID="):
                    found[int(folder.name)] = int(variable.split(b"=")[1])
        return found

    def down(self):
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for pid in self.tasks():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)
