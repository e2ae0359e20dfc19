#!/usr/bin/env python3
"""Times Divisi beside ONNX Runtime, and other peers, on exports of PyTorch.

    python bench/onnxruntime/run.py [--only NAME,...] [--peers inductor,jax]

Makes the exporters' environment and exports what is missing, compiles, checks
that all compute the same, then measures in rounds in which peers take turns,
so that a slow minute of the machine meets all of them. Markdown to stdout,
--json FILE has every time. What fails stands in the table and in the exit
code. See README.md.
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "models"))

import packages  # noqa: E402

packages.require("numpy", "onnx", "onnxruntime")

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import environment  # noqa: E402
import expect  # noqa: E402
import measure  # noqa: E402
import names  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402

ALL = [*names.MODELS, *names.QUANTIZED]


def processor():
    found = re.search(r"model name\s*: (.*)",
                      Path("/proc/cpuinfo").read_text())
    return found.group(1) if found else os.uname().machine


def cpu_seconds():
    """What the machine's cores have worked, and this process's children."""
    user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
    own = os.times()
    return np.array([(user + nice + system) / os.sysconf("SC_CLK_TCK"),
                     sum(own[:4])])


def exported(arguments):
    """The cases of names.py, and {name: why} of those that do not export."""
    cases, failed = [], {}
    missing = [name for name in arguments.only
               if not (arguments.models / f"{name}.onnx").exists()]
    if missing:
        arguments.models.mkdir(parents=True, exist_ok=True)
        try:
            python = (arguments.python or
                      environment.ensure(environment.REQUIREMENTS))
            failed = environment.export(missing, arguments.models, python)
        except environment.Unavailable as error:
            failed = {name: str(error) for name in missing}
    for name in arguments.only:
        base, _ = names.QUANTIZED.get(name, (name, None))
        cases.append(peers.Case(
            name, arguments.models / f"{name}.onnx",
            arguments.models / f"{name}.inputs.npz",
            arguments.models / f"{base}.outputs.npz",
            arguments.models / f"{name}.weights.npz"
            if name.startswith("spmd-") else None))
    return cases, failed


def given(model, folder):
    """The case of a file: with the inputs that stand beside it, or random
    ones."""
    inputs = model.with_suffix(".inputs.npz")
    if not inputs.exists():
        inputs = folder / f"{model.stem}.inputs.npz"
        np.savez(inputs, **expect.random_inputs(
            onnx.load(model, load_external_data=False), seed=0))
    return peers.Case(model.stem, model, inputs)


def make_peers(arguments):
    """ONNX Runtime, which the others are compared with, Divisi, and who else
    is asked for."""
    threads = arguments.threads
    chosen = [peers.OnnxRuntime(threads), peers.Divisi(1, threads)]
    if threads > 1:
        chosen.append(peers.Divisi(threads, 1))
    if "bf16" in arguments.peers:
        chosen.append(peers.DivisiInBF16(threads))
    if "ablation" in arguments.peers:
        chosen += [peers.Divisi(1, threads, f"without {what}", *flags)
                   for what, flags in peers.ABLATED.items()]
    if "inductor" in arguments.peers:
        chosen.append(peers.Inductor(arguments.python, threads))
    if "jax" in arguments.peers:
        chosen.append(peers.Jax(threads))
    return chosen


def measure_all(arguments, folder):
    runners = make_peers(arguments)
    cases, failed = exported(arguments)
    cases += [given(model, folder) for model in arguments.model]
    rows, begin, before = [], time.monotonic(), cpu_seconds()
    for case in cases:
        print(f"measuring {case.name}", file=sys.stderr)
        if case.name in failed:
            rows.append({"name": case.name, "peers": {
                runner.name: {"failed": failed[case.name]}
                for runner in runners}})
            continue
        rows.append(measure.Row(case, runners, arguments, folder).measure())
        for artifact in folder.glob("*.divisi"):
            artifact.unlink()
    all_seconds, own = cpu_seconds() - before
    core_seconds = os.cpu_count() * (time.monotonic() - begin)
    peer_names = [runner.name for runner in runners]
    return {
        "schema_version": 2,
        "machine": {"processor": processor(), "cores": os.cpu_count(),
                    "taken_by_others": max(0, all_seconds - own)
                    / core_seconds},
        "threads": arguments.threads, "rounds": arguments.rounds,
        "peers": peer_names,
        "settings": measure.settings(rows, runners),
        "models": rows, "geomeans": measure.geomeans(rows, peer_names),
    }


def names_of(text):
    chosen = text.split(",")
    if unknown := set(chosen) - set(ALL):
        raise argparse.ArgumentTypeError(
            f"no model {', '.join(sorted(unknown))}; there are "
            + ", ".join(ALL))
    return chosen


def peers_of(text):
    chosen = text.split(",")
    known = ["inductor", "jax", "bf16", "ablation"]
    if unknown := set(chosen) - set(known):
        raise argparse.ArgumentTypeError(
            f"no peer {', '.join(sorted(unknown))}; there are "
            + ", ".join(known))
    return chosen


def add_options(parser):
    """What bench/gpu/run.py takes, too."""
    parser.add_argument("--model", type=Path, action="append", default=[],
                        metavar="FILE.onnx", help="another model; without "
                        "--only, no other is measured")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0,
                        help="about so long is a peer's turn in a round")
    parser.add_argument("--models", type=Path, metavar="FOLDER",
                        default=peers.BUILD / "bench-models",
                        help="where exports are, or are put")
    parser.add_argument("--python", type=Path, help="an environment that has "
                        "what requirements.txt names")
    parser.add_argument("--json", type=Path, metavar="FILE")


def complete(parser, arguments, known):
    """`known` models are measured unless others were named."""
    if arguments.only is None:
        arguments.only = [] if arguments.model else known
    if not peers.PROGRAM.exists():
        parser.error(f"{peers.PROGRAM} is missing: run 'make build' first")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", type=names_of, metavar="NAME,...",
                        help="default: all of names.py")
    parser.add_argument("--peers", type=peers_of, default=[],
                        metavar="inductor,jax,bf16,ablation", help="besides")
    parser.add_argument("--threads", type=int, default=2)
    add_options(parser)
    arguments = parser.parse_args()
    if min(arguments.threads, arguments.rounds) < 1:
        parser.error("--threads and --rounds are at least 1")
    complete(parser, arguments, ALL)
    return arguments


def finish(text, result, file):
    """Says it, writes it, and ends with 1 where something failed."""
    print(text)
    if file:
        file.write_text(json.dumps(result, indent=1) + "\n")
    failed = sum("failed" in cell for row in result["models"]
                 for cell in row["peers"].values())
    if failed:
        sys.exit(f"run.py: {failed} of the table's cells failed")


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        result = measure_all(arguments, Path(folder))
    finish(report.markdown(result), result, arguments.json)


if __name__ == "__main__":
    main()
