#!/usr/bin/env python3
"""Compares predicted with published throughputs of training steps.

    python bench/training/published.py [--only NAME,...] [--seconds N] [--kernels]
    python bench/training/published.py --list alpa [--free]

Each line of published.txt, or of alpa.txt, is planned with its degrees of
parallelism, or stages, as constraints; --free leaves the stages of alpa.txt to the
planner. Attention is what models have of it, products and softmax in memory, as
it was there; --kernels takes kernels that store none of that. Says its predicted
TFLOP/s, how far that is from what was published, and whether both put the lines
in one order. Markdown to stdout; each line is told to stderr as it is planned.
"""

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import alpa
import plans
import report

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "substitutions"))

from rank import kendall  # noqa: E402

VOCABULARY = 51200
# Attention as the model has it.
AS_WRITTEN = ["--leave-out", "nn-fuse-attention"]


@dataclass
class Published:
    """A line of published.txt."""
    name: str
    source: str
    cluster: str
    layers: int
    width: int
    heads: int
    tokens: int
    tensor: int
    pipeline: int
    chunks: int
    micro: int
    batch: int
    teraflops: float
    step = plans.STEP

    @staticmethod
    def parse(line):
        name, source, cluster, *numbers, teraflops = line.split()
        return Published(name, source, cluster, *map(int, numbers),
                         float(teraflops))

    def devices(self):
        return int(self.cluster.split(":")[1])

    def how(self):
        return f"{self.tensor} x {self.pipeline} x {self.data()}"

    def data(self):
        return self.devices() // (self.tensor * self.pipeline)

    def model(self):
        return ["gpt3.py", "--layers", str(self.layers), "--width",
                str(self.width), "--heads", str(self.heads), "--vocabulary",
                str(VOCABULARY), "--seq", str(self.tokens)]

    def batches(self):
        return self.batch // (self.micro * self.data())

    def constraints(self):
        given = {"--tensor-parallel-size": self.tensor,
                 "--data-parallel-size": self.data(), "--zero": 0,
                 "--recompute": "full", "--rewrite": "off"}
        if self.batches() > 1:
            given["--micro-batches"] = self.batches()
        if self.pipeline > 1:
            given["--pipeline-parallel-size"] = self.pipeline
            given["--schedule"] = "interleaved" if self.chunks > 1 else "1f1b"
            given["--num-stages-per-device"] = self.chunks
        return [str(word) for pair in given.items() for word in pair]

    def flops(self):
        """Of a step, counted as the publication does."""
        tokens, width, layers = self.tokens, self.width, self.layers
        return (96 * self.batch * tokens * layers * width ** 2 *
                (1 + tokens / (6 * width) + VOCABULARY / (16 * layers * width)))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", metavar="NAME,...",
                        type=lambda text: text.split(","))
    parser.add_argument("--list", choices=["megatron", "alpa"],
                        default="megatron")
    parser.add_argument("--free", action="store_true",
                        help="stages of alpa.txt are the planner's")
    parser.add_argument("--kernels", action="store_true",
                        help="attention by kernels that store no products")
    parser.add_argument("--seconds", type=float, metavar="N",
                        help="leave out what takes longer to plan")
    return parser.parse_args()


def row_of(one, folder, arguments):
    """Its row, and its predicted and published TFLOP/s if it is planned."""
    path = folder / one.name
    path.mkdir()
    model = plans.Model(one.model(), path).of_batch(
        one.batch // one.batches())
    constraints = one.constraints() + ([] if arguments.kernels else AS_WRITTEN)
    plan = plans.Plan(model, one.cluster, constraints, path, arguments.seconds,
                      one.step)
    start = [one.name, one.source, one.cluster, one.how(),
             f"{one.teraflops:.3g}"]
    cpu = f"{plan.cpu_seconds:.0f}"
    if plan.nanoseconds is None:
        return [*start, "no plan", "", "", cpu, plan.why()], None
    found = one.flops() / plan.nanoseconds / 1e3 / one.devices()
    return [*start, f"{found:.3g}", f"{found / one.teraflops - 1:+.0%}",
            f"{plan.bytes / 2**30:.1f}", cpu, ""], (found, one.teraflops)


def lines_of(arguments):
    if arguments.list == "alpa":
        return [alpa.Published.parse(line, arguments.free)
                for line in plans.lines_of(HERE / "alpa.txt")]
    return [Published.parse(line)
            for line in plans.lines_of(HERE / "published.txt")]


def main():
    arguments = parse()
    every = lines_of(arguments)
    only = arguments.only or [one.name for one in every]
    rows, pairs = [], []
    with tempfile.TemporaryDirectory() as name:
        for one in every:
            if one.name in only:
                row, pair = row_of(one, Path(name), arguments)
                print(*row, file=sys.stderr, flush=True)
                rows.append(row)
                pairs += [pair] if pair else []
    print(report.table(["model", "source", "cluster",
                        "devices of stages" if arguments.list == "alpa" else
                        "tensor x pipeline x data", "TFLOP/s", "predicted", "error", "GiB", "CPU s", ""],
                       rows))
    if len(pairs) > 1:
        errors = [abs(found / given - 1) for found, given in pairs]
        print(f"median error {statistics.median(errors):.0%}, Kendall's tau "
              f"{kendall(pairs):.2f} of {len(pairs)}")


if __name__ == "__main__":
    main()
