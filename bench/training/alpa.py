"""The lines of alpa.txt, and what Alpa counts as the operations of a step."""

import sys
from dataclasses import dataclass

import plans

sys.path.insert(0, str(plans.ROOT / "models"))

import moe  # noqa: E402

TOKENS = 1024
VOCABULARY = 51200  # of GPTs
# Of GPTs and MoEs: forward, backward, and forward again.
PASSES = 4
# Of an image, forward, backward and forward again: published TFLOP/s by published
# seconds of steps on one machine, or two ("parax.intra_only").
IMAGE_FLOPS = {"250m": 2.398e11, "500m": 4.693e11, "1b": 9.569e11,
               "2b": 1.874e12, "4b": 3.821e12, "6.8b": 6.310e12}


@dataclass
class Published:
    """A line of alpa.txt; `free` leaves its stages to the planner."""
    name: str
    source: str
    cluster: str
    generator: str
    size: str
    batch: int
    micro_batches: int
    stages: list
    teraflops: float
    free: bool

    @staticmethod
    def parse(line, free):
        *words, batch, micro_batches, stages, teraflops = line.split()
        return Published(*words, int(batch), int(micro_batches),
                         stages.split(","), float(teraflops), free)

    @property
    def is_of_images(self):
        return self.generator == "wide_resnet.py"

    @property
    def step(self):
        if self.is_of_images:
            return ("--train", "--loss", "cross_entropy", "--optimizer", "sgd",
                    "--momentum", "0.9", "--lr", "0.1")
        return plans.STEP

    def how(self):
        return ", ".join(self.stages) if not self.free else "any"

    def devices(self):
        return int(self.cluster.split(":")[1])

    def batches(self):
        return self.micro_batches

    def model(self):
        if self.generator != "gpt3.py":
            return [self.generator, "--size", self.size]
        layers, width, heads = self.size.split("x")
        return [self.generator, "--layers", layers, "--width", width, "--heads",
                heads, "--vocabulary", str(VOCABULARY), "--seq", str(TOKENS),
                "--positions", str(TOKENS), "--dtype", "f16"]

    def constraints(self):
        given = ["--micro-batches", str(self.micro_batches), "--recompute", "full",
                 "--rewrite", "off"]
        if self.free:
            return [*given, "--stage-devices", "auto"]
        if "x" in self.stages[0]:
            return [*given, *(word for pair in zip(
                ("--tensor-parallel-size", "--pipeline-parallel-size",
                 "--data-parallel-size"), self.stages[0].split("x"))
                for word in pair)]
        if len(self.stages) == 1:
            return [*given, "--pipeline-parallel-size", "1"]
        return [*given, "--stage-devices", ",".join(self.stages)]

    def flops(self):
        """Of a step, as Alpa counts (benchmark/alpa/util.py there)."""
        if self.is_of_images:
            return self.batch * IMAGE_FLOPS[self.size]
        if self.generator == "moe.py":
            return self._of_experts(moe.SIZES[self.size])
        layers, width, _ = map(int, self.size.split("x"))
        tokens = self.batch * TOKENS
        return (tokens * width * (24 * PASSES * width * layers
                                  * (1 + TOKENS / (6 * width)) + 6 * VOCABULARY))

    def _of_experts(self, size):
        """Of every other layer an MLP, of the others two experts for each token, to
        which products over a group send it and back. The logits are computed again,
        too: so counted, published TFLOP/s are within 2 % of published seconds."""
        tokens, width = self.batch * TOKENS, size.width
        attention = 8 * width ** 2 + 4 * TOKENS * width
        inner = 4 * size.inner * width
        experts = 2 * (inner + size.experts * width + 2 * size.group
                       + 4 * size.group * width)
        per_pair = 2 * attention + inner + experts
        return tokens * (PASSES * per_pair * size.layers / 2
                         + 2 * PASSES * width * size.vocabulary)
