"""What is timed on a GPU. All get their inputs in the host's memory and leave
their outputs there, as a run of Divisi does."""

import sys
from pathlib import Path

import names
import peers

HERE = Path(__file__).resolve().parent
# Of the largest value, and of each: that of floats, of products whose operands
# are rounded to TF32, and that of `divisi check` for bf16.
TOLERANCES = {"f32": (1e-4, 1e-3), "tf32": (1e-2, 5e-2), "bf16": (1.6e-2, 5e-2)}


class Divisi(peers.Divisi):
    def __init__(self, precision, target):
        """`target` is that of divisi compile --gpu."""
        super().__init__(
            1, 1, "",
            ("--gpu", target, *(("--precision", "bf16")
                                if precision == "bf16" else ())),
            ("--tf32",) if precision == "tf32" else ())
        self.name, self.tolerance = "divisi", TOLERANCES[precision]


class Peer(peers.Elsewhere):
    """One in the environment that requirements.txt describes."""

    def __init__(self, name, precision, requirements, python):
        super().__init__(name, HERE / f"{name}_worker.py", requirements,
                         python)
        self.precision, self.tolerance = precision, TOLERANCES[precision]


class TorchCompile(Peer):
    def __init__(self, *arguments):
        super().__init__("torch", *arguments)

    def skips(self, case):
        if case.name not in names.GPU:
            return "not a module of PyTorch"
        return super().skips(case)

    def arguments(self, case, outputs):
        return case.name, case.inputs, outputs, self.precision


class OnnxRuntime(Peer):
    def __init__(self, *arguments):
        super().__init__("onnxruntime", *arguments)

    def arguments(self, case, outputs):
        return case.model, case.inputs, outputs, self.precision


PEERS = {"torch": TorchCompile, "onnxruntime": OnnxRuntime}
