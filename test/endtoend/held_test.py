"""What is said of memory is what a process holds: from loading on, at its peak.

Held is what only that process has, anonymous and shared memory, less that of a
session of next to nothing. What a process holds beside its devices, inputs and
the weights that `--verify` compares, `run --verbose` says; it holds the outputs
that it writes, too. Models are large enough for that to show: 64 MB and
more.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import bad_models
import numpy as np
import pytest
from bad_models import value
from conftest import PROGRAM
from onnx import TensorProto, helper, numpy_helper
from share import is_sweep

pytestmark = pytest.mark.as_written

TOLERANCE = 0.05
RUNNER = "divisi-run"  # what the program becomes


def random(*shape, seed=0, type=np.float32):
    values = np.random.default_rng(seed).standard_normal(shape, np.float32)
    return (values / np.sqrt(shape[0])).astype(type)


class Model:
    """Nodes one after another, and their weights."""

    def __init__(self, shape, type=np.float32):
        self.type, self.input = type, ("x", shape)
        self.nodes, self.weights, self.last = [], {}, "x"

    def add(self, operator, *others, outputs=1, **attributes):
        names = [f"t{len(self.nodes)}"] + [""] * (outputs - 1)
        operands = [self.last]
        for other in others:
            if isinstance(other, str):
                operands.append(other)
                continue
            operands.append(f"w{len(self.weights)}")
            self.weights[operands[-1]] = other
        self.nodes.append(helper.make_node(operator, operands, names,
                                           f"node{len(self.nodes)}",
                                           **attributes))
        self.last = names[0]
        return self

    def save(self, folder, shape):
        self.nodes[-1].output[:] = ["y" if name == self.last else name
                                    for name in self.nodes[-1].output]
        type = helper.np_dtype_to_tensor_dtype(np.dtype(self.type))
        bad_models.save(folder, bad_models.graph(
            self.nodes, [value(*self.input, type)], [value("y", shape, type)],
            [numpy_helper.from_array(values, name)
             for name, values in self.weights.items()]), opsets=[("", 17)])
        name, shape = self.input
        np.savez(folder / "x.npz", **{name: random(*shape, type=self.type)})


def shared(folder, uses=12, width=4096, type=np.float32, batch=4):
    """One weight that is read again and again."""
    model = Model((batch, width), type)
    model.weights["w"] = random(width, width, type=type)
    for _ in range(uses):
        model.add("MatMul", "w").add("Tanh")
    model.save(folder, (batch, width))


def recurrent(folder, operator="LSTM", width=2048, steps=40, features=8):
    """One weight in every step."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator]
    model = Model((steps, 1, features))
    model.add(operator, random(1, gates * width, features),
              random(1, gates * width, width) / 8, outputs=1, hidden_size=width)
    model.save(folder, (steps, 1, 1, width))


def wide(folder, rows=1024, columns=40000, type=np.float32, transposed=False):
    """One weight that is nearly all there is."""
    model = Model((4, rows), type)
    if transposed:
        model.add("Gemm", random(columns, rows, type=type), transB=1)
    else:
        model.add("MatMul", random(rows, columns, type=type))
    model.save(folder, (4, columns))


def layers(folder, count=12, width=2048, type=np.float32):
    """Weights that are each a little of it."""
    model = Model((8, width), type)
    for i in range(count):
        model.add("MatMul", random(width, width, seed=i, type=type)).add("Relu")
    model.save(folder, (8, width))


def tied(folder, tokens=20000, width=1024):
    """A table that is looked up in, and multiplied with."""
    model = Model((4, width))
    table = random(tokens, width)
    model.weights["w"] = table
    model.nodes.append(helper.make_node("Gather", ["w", "ids"], ["rows"], "rows"))
    model.weights["ids"] = np.arange(4, dtype=np.int64) * 7
    model.add("Add", "rows").add("Gemm", "w", transB=1)
    model.save(folder, (4, tokens))


def convolutions(folder, count=8, channels=512, image=14):
    model = Model((1, channels, image, image))
    for i in range(count):
        model.add("Conv", random(channels, channels, 3, 3, seed=i),
                  pads=[1] * 4).add("Relu")
    model.save(folder, (1, channels, image, image))


def quantized(folder, count=8, width=4096):
    """Bytes, whose sums are packed with them."""
    model = Model((8, width))
    scale, zero = np.float32(0.02), np.uint8(128)
    for i in range(count):
        model.weights[f"s{i}"], model.weights[f"z{i}"] = scale, zero
        weight = np.random.default_rng(i).integers(
            -127, 127, (width, width), np.int8)
        model.weights[f"q{i}"] = weight
        model.weights[f"qs{i}"] = np.float32(1e-4)
        model.nodes.append(helper.make_node(
            "DequantizeLinear", [f"q{i}", f"qs{i}"], [f"d{i}"], f"d{i}"))
        model.add("QuantizeLinear", f"s{i}", f"z{i}")
        model.add("DequantizeLinear", f"s{i}", f"z{i}")
        model.add("MatMul", f"d{i}")
    model.save(folder, (8, width))


HALF, ONE, TWO = np.float16, ["--devices", 1], ["--devices", 2]
SPLIT = ["--devices", 2, "--tensor-parallel-size", 2]
CASES = {
    "shared": (shared, {}, ONE),
    "shared-48": (shared, {"uses": 48}, ONE),
    "shared-split": (shared, {}, SPLIT),
    "shared-half": (shared, {"type": HALF, "width": 6144, "uses": 6}, ONE),
    "lstm": (recurrent, {}, ONE),
    "lstm-split": (recurrent, {}, SPLIT),
    "gru": (recurrent, {"operator": "GRU", "width": 2560}, ONE),
    "rnn": (recurrent, {"operator": "RNN", "width": 4096}, ONE),
    "wide": (wide, {}, ONE),
    "wide-split": (wide, {}, TWO),
    "wide-4": (wide, {}, ["--devices", 4]),
    "wide-transposed": (wide, {"transposed": True}, ONE),
    "wide-transposed-split": (wide, {"transposed": True}, TWO),
    "wide-deep": (wide, {"rows": 1500000, "columns": 16}, ONE),
    "wide-odd": (wide, {"rows": 1021, "columns": 40009}, TWO),
    "wide-half": (wide, {"type": HALF, "columns": 80000}, ONE),
    "wide-half-split": (wide, {"type": HALF, "columns": 80000}, TWO),
    "layers": (layers, {}, ONE),
    "layers-split": (layers, {}, SPLIT),
    "layers-half": (layers, {"type": HALF, "count": 20}, ONE),
    "tied": (tied, {}, ONE),
    "convolutions": (convolutions, {}, ONE),
    "quantized": (quantized, {}, ONE),
    # Instructions are not counted: 260 steps have 9 MB of them.
    "lstm-long": (recurrent, {"width": 4096, "steps": 260}, ONE),
    "gru-long": (recurrent, {"operator": "GRU", "width": 5120, "steps": 260}, ONE),
    "rnn-long": (recurrent, {"operator": "RNN", "width": 6144, "steps": 260}, ONE),
    "layers-verified": (layers, {}, ONE),
    "wide-split-verified": (wide, {}, TWO),
    "tied-split": (tied, {}, TWO),
    "convolutions-split": (convolutions, {}, TWO),
}
VERIFY = "--verify"  # holds all weights once more
VERIFIED = ("layers-verified", "wide-split-verified")
SAMPLE = ["shared", "wide-split", "wide-deep"]


def peak(folder, arguments, env=None):
    """What a command holds at most, in bytes, by looking again and again."""
    process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=folder,
                               env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    own, most = Path("/proc") / str(process.pid), 0
    while process.poll() is None:
        try:
            if os.readlink(own / "exe").endswith(RUNNER):
                lines = dict(line.split(":", 1) for line in
                             (own / "status").read_text().splitlines())
                most = max(most, sum(int(lines[part].split()[0]) for part
                                     in ("RssAnon", "RssShmem") if part in lines))
        except (OSError, ValueError):
            continue  # it has ended
    told = process.stderr.read()
    assert process.returncode == 0, told
    return most * 1024


def compiled(divisi, options):
    divisi("compile", "m.onnx", "-o", "m.divisi", *options)
    report = json.loads(divisi("explain", "m.divisi", "--json").out)
    # Threads of one process send no messages.
    return sum(device["total_bytes"] - device["message_bytes"]
               for device in report["memory"]["per_device"])


@pytest.mark.parametrize("name", CASES if is_sweep() else SAMPLE)
def test_a_process_holds_what_is_said(divisi, name):
    make, extents, options = CASES[name]
    run = ["run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz",
           *([VERIFY] if name in VERIFIED else [])]
    layers(divisi.folder, count=2, width=16)
    compiled(divisi, options)
    empty = peak(divisi.folder, run)
    make(divisi.folder, **extents)
    said = compiled(divisi, options)
    held = peak(divisi.folder, run) - empty
    told = divisi(*run, "--verbose").err
    beside = re.search(r"beside what devices hold, this process has (?:(\d+) "
                       r"bytes of verified weights, and )?(\d+) bytes of inputs: x",
                       told)
    said += sum(int(bytes or 0) for bytes in beside.groups())
    shared = re.search(r"of what devices hold, (\d+) bytes are in this process once",
                       told)
    assert shared or name != "convolutions-split"
    said -= int(shared[1]) if shared else 0
    with np.load(divisi.folder / "y.npz") as outputs:
        said += sum(tensor.nbytes for tensor in outputs.values())
    print(f"{name}: {held / 2**20:.1f} MiB held, {said / 2**20:.1f} said")
    assert said >= 64e6
    assert held == pytest.approx(said, rel=TOLERANCE), (
        f"{held / 2**20:.1f} MiB held, {said / 2**20:.1f} said")
