#!/usr/bin/env python3
"""Times Divisi on a GPU, beside torch.compile and ONNX Runtime's CUDA.

    bench/gpu/run.py [--only NAME,...] [--peers torch,onnxruntime]

Measures what products reach on this GPU (`divisi profile`), compiles, checks
that all compute the same, then measures in rounds in which peers take turns.
Markdown to stdout, --json FILE has every time. Where there is no GPU it says
so and ends with 9; what fails stands in the table, and makes the exit code 1.
See README.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "models"), str(ROOT / "bench" / "onnxruntime")]

import packages  # noqa: E402

packages.require("numpy", "onnx", "onnxruntime")

import environment  # noqa: E402
import gpu_peers  # noqa: E402
import gpu_report  # noqa: E402
import measure  # noqa: E402
import names  # noqa: E402
import peers  # noqa: E402
import run as processors  # noqa: E402

NO_GPU = 9
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
PRECISIONS = ["f32", "tf32", "bf16"]


class Absent(Exception):
    """There is no GPU, or no driver; the text is divisi's own."""


def profile(folder, seconds):
    """What GPU 0 is, and the rates that products reach there, by type."""
    done = subprocess.run(
        [peers.PROGRAM, "profile", "gpu:1", "--seconds", str(seconds),
         "--cluster-out", folder / "gpu.yaml", "--json"],
        capture_output=True, text=True)
    if done.returncode == NO_GPU:
        raise Absent(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        sys.exit("run.py: " + done.stderr.strip())
    said = json.loads(done.stdout)
    gpu, = said["gpus"]
    peaks = {number["what"].split()[0]: number["value"]
             for number in said["measurements"] if "products" in number["what"]}
    return {"name": gpu["name"], "capability": gpu["compute_capability"],
            "peaks": peaks}


def exported(arguments):
    """The cases of names.GPU, and {name: why} of those that do not export."""
    missing = [name for name in arguments.only
               if not (arguments.models / f"{name}.onnx").exists()]
    failed = {}
    if missing:
        arguments.models.mkdir(parents=True, exist_ok=True)
        try:
            python = arguments.python or environment.ensure(REQUIREMENTS)
            failed = environment.export(missing, arguments.models, python)
        except environment.Unavailable as error:
            failed = {name: str(error) for name in missing}
    stem = arguments.models.joinpath
    return [peers.Case(name, stem(f"{name}.onnx"), stem(f"{name}.inputs.npz"),
                       stem(f"{name}.outputs.npz"))
            for name in arguments.only], failed


def make_peers(arguments, precision, gpu):
    """Divisi, behind those that it is compared with."""
    target = arguments.gpu or f"sm_{gpu['capability']}"
    chosen = [gpu_peers.PEERS[name](precision, REQUIREMENTS, arguments.python)
              for name in arguments.peers]
    return [*chosen, gpu_peers.Divisi(precision, target)]


def flops_of(artifact):
    """Operations of one run, as the plan counts them."""
    said, _, _ = peers.divisi("explain", artifact, "--json")
    return json.loads(said)["flops"]


def measure_row(case, precision, arguments, gpu, folder, failed):
    runners = make_peers(arguments, precision, gpu)
    name = f"{case.name}, {precision}"
    if case.name in failed:
        return {"name": name, "precision": precision, "peers": {
            runner.name: {"failed": failed[case.name]} for runner in runners}}
    print(f"measuring {name}", file=sys.stderr)
    row = measure.Row(case, runners, arguments, folder).measure()
    artifact = runners[-1].artifact(case, folder)
    if artifact.exists():
        row["flops"] = flops_of(artifact)
        artifact.unlink()
    row["settings"] = measure.settings([row], runners)
    return {**row, "name": name, "precision": precision}


def measure_all(arguments, folder):
    gpu = profile(folder, arguments.profile_seconds)
    cases, failed = exported(arguments)
    cases += [processors.given(model, folder) for model in arguments.model]
    rows = [measure_row(case, precision, arguments, gpu, folder, failed)
            for case in cases for precision in arguments.precisions]
    result = {"schema_version": 1, "gpu": gpu, "rounds": arguments.rounds,
              "peers": [*arguments.peers, "divisi"], "models": rows}
    gpu_report.add_shares(result)
    return result


def list_of(known):
    def parse(text):
        chosen = text.split(",")
        if unknown := set(chosen) - set(known):
            raise argparse.ArgumentTypeError(
                f"unknown {', '.join(sorted(unknown))}; there are "
                + ", ".join(known))
        return chosen
    return parse


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", type=list_of([*names.GPU]),
                        metavar="NAME,...", help="default: all of names.GPU")
    parser.add_argument("--peers", type=list_of([*gpu_peers.PEERS]),
                        default=[], metavar="torch,onnxruntime",
                        help="beside Divisi; they are installed if need be")
    parser.add_argument("--precisions", type=list_of(PRECISIONS),
                        default=["f32", "bf16"], metavar="f32,tf32,bf16")
    parser.add_argument("--profile-seconds", type=float, default=5.0)
    parser.add_argument("--gpu", metavar="TARGET", help="as for divisi compile "
                        "(default: what the GPU is)")
    processors.add_options(parser)
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds is at least 1")
    processors.complete(parser, arguments, [*names.GPU])
    arguments.threads = 1  # of what computes a reference on the host
    return arguments


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = measure_all(arguments, Path(folder))
        except Absent as error:
            print(f"run.py: no GPU here, so nothing was measured: {error}",
                  file=sys.stderr)
            sys.exit(NO_GPU)
    processors.finish(gpu_report.markdown(result), result, arguments.json)


if __name__ == "__main__":
    main()
