#!/usr/bin/env python3
"""Times torch.compile's backend divisi beside inductor and eager PyTorch.

    python bench/torch/run.py [--only NAME,...] [--peers PEER,...]

The models are those of bench/onnxruntime, in whose environment it runs. Each peer
has a process of its own; they take turns of --seconds, in another order each round,
one at a time. Markdown to stdout. See README.md.
"""

import argparse
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "onnxruntime"))

import environment  # noqa: E402
import names  # noqa: E402

TOLERANCE = 1e-4


class Peer:
    """A worker."""

    def __init__(self, python, name, peer, threads):
        self.times = []
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [python, HERE / "worker.py", name, peer, str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, text=True)
        self.told = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            said = self.errors.read().strip().splitlines()
            raise RuntimeError(said[-1] if said else "it ended")
        return json.loads(line)

    def turn(self, seconds):
        print(seconds, file=self.process.stdin, flush=True)
        self.times += self.read()["times"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    @property
    def median(self):
        return statistics.median(self.times)


def measure(arguments, python, name):
    """The peers that work, and {peer: why it does not} of the others."""
    peers, failed = {}, {}
    for peer in arguments.peers:
        try:
            peers[peer] = Peer(python, name, peer, arguments.threads)
            if not peers[peer].told["error"] <= TOLERANCE:
                raise RuntimeError("the results differ by "
                                   f"{peers[peer].told['error']:.1e}")
        except RuntimeError as error:
            failed[peer] = str(error)
            if peer in peers:
                peers.pop(peer).close()
    for round_ in range(arguments.rounds):
        order = list(peers)
        turn = round_ % max(len(order), 1)
        for peer in order[turn:] + order[:turn]:
            peers[peer].turn(arguments.seconds)
    for peer in peers.values():
        peer.close()
    return peers, failed


def row_of(name, peers, failed, arguments):
    cells = [name]
    base = peers.get("inductor")
    for peer in arguments.peers:
        if peer in failed:
            cells.append("failed")
            continue
        told = peers[peer].told
        speed = f" ({base.median / peers[peer].median:.2f}x)" if base else ""
        cells.append(f"{peers[peer].median * 1e3:.2f} ms{speed}, first "
                     f"{told['first']:.1f} s, {told['after']:.0f} MB")
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default=",".join(names.MODELS))
    parser.add_argument("--peers", default="eager,inductor,divisi,divisi:2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--python", type=Path, help="an environment that has "
                        "what bench/onnxruntime/requirements.txt names")
    arguments = parser.parse_args()
    arguments.peers = arguments.peers.split(",")
    for peer in arguments.peers:
        if not re.fullmatch(r"eager|inductor|divisi(:[1-9]\d*)?", peer):
            parser.error(f"no peer {peer}; there are eager, inductor, divisi, "
                         "and divisi:N for N devices")
    python = arguments.python or environment.ensure(environment.REQUIREMENTS)
    print("| model | " + " | ".join(arguments.peers) + " |")
    print("|---" * (1 + len(arguments.peers)) + "|")
    speeds, why = {peer: [] for peer in arguments.peers}, []
    for name in arguments.only.split(","):
        peers, failed = measure(arguments, python, name)
        print(row_of(name, peers, failed, arguments), flush=True)
        why += [f"{name} by {peer}: {text}" for peer, text in failed.items()]
        for peer, worker in peers.items():
            if "inductor" in peers:
                speeds[peer].append(peers["inductor"].median / worker.median)
    for peer, found in speeds.items():
        if found:
            mean = math.exp(statistics.fmean(map(math.log, found)))
            print(f"\n{peer}: geomean {mean:.2f}x of inductor's speed, lowest "
                  f"{min(found):.2f}x")
    if why:
        sys.exit("run.py: failed: " + "; ".join(why))


if __name__ == "__main__":
    main()
