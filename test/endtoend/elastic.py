"""A stand-in for torchrun, for tests where there is no PyTorch: starts a command
several times with the variables that torchrun sets, and ends all when one fails.

    python elastic.py -n COUNT [--hosts N --host K --address A] [--absent RANK]
        [--twin RANK] COMMAND...

With --hosts it starts the processes of one host of N. A process that is absent
is not started; one with a twin takes the local number of another, too.
"""

import argparse
import os
import signal
import subprocess
import sys
import time

# How long processes may take to end when they are told to.
PATIENCE = 2


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", dest="count", type=int, required=True)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--host", type=int, default=0)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=os.getpid())
    parser.add_argument("--absent", type=int)
    parser.add_argument("--twin", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def variables(options, local):
    rank = options.host * options.count + local
    return {"RANK": rank, "WORLD_SIZE": options.hosts * options.count,
            "LOCAL_RANK": local, "LOCAL_WORLD_SIZE": options.count,
            "GROUP_RANK": options.host, "GROUP_WORLD_SIZE": options.hosts,
            "MASTER_ADDR": options.address, "MASTER_PORT": options.port,
            "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": 0,
            "OMP_NUM_THREADS": 1}


def start(options):
    processes = {}
    for local in range(options.count):
        if local == options.absent:
            continue
        values = variables(options, local)
        if local == options.twin:
            values["LOCAL_RANK"] = local - 1
        processes[values["RANK"]] = subprocess.Popen(
            options.command, start_new_session=True,
            env={**os.environ, **{k: str(v) for k, v in values.items()}})
    return processes


def end(processes):
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + PATIENCE
        for process in processes.values():
            if process.poll() is None:
                os.killpg(process.pid, number)
        while time.monotonic() < deadline:
            if all(p.poll() is not None for p in processes.values()):
                return
            time.sleep(0.02)


def interrupted(number, _):
    raise SystemExit(128 + number)


def main():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    processes = start(arguments())
    try:
        while True:
            codes = {rank: p.poll() for rank, p in processes.items()}
            for rank, code in codes.items():
                if code:
                    print(f"rank {rank} failed (exitcode: {code})",
                          file=sys.stderr)
                    return 1
            if all(code == 0 for code in codes.values()):
                return 0
            time.sleep(0.05)
    finally:
        end(processes)


if __name__ == "__main__":
    sys.exit(main())
