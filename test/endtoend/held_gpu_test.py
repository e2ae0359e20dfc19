"""What is said of memory is what emulated GPUs hold, and their process with them.

The host holds the GPUs' memory here, and what it has beside them is pinned
memory, through which weights are loaded: one GPU after the other.
"""

import json

import held_test
import pytest
from cuda_test import GPU, emulator
from cuda_test import _needs_emulator  # noqa: F401
from held_test import CASES, HALF, ONE, SPLIT, TOLERANCE, TWO, peak
from share import is_sweep

# Of each GPU and of the process. What the emulator has of its own, numbers of a
# product or convolution in f64, is small beside it.
OF_ALL = {
    **{name: CASES[name] for name in (
        "shared", "shared-half", "layers", "layers-half", "layers-split", "tied",
        "wide-half")},
    "lstm": (held_test.recurrent, {"width": 3072, "steps": 8}, ONE),
    "gru": (held_test.recurrent,
            {"operator": "GRU", "width": 3072, "steps": 8}, ONE),
    "rnn": (held_test.recurrent,
            {"operator": "RNN", "width": 5120, "steps": 8}, ONE),
    "wide": (held_test.wide, {"columns": 80000}, TWO),
    "wide-tall": (held_test.wide, {"rows": 600000, "columns": 64}, ONE),
    "convolutions": (held_test.convolutions,
                     {"count": 96, "channels": 256, "image": 7}, ONE),
}
# Of each GPU: the emulator writes down who read which byte of these weights.
OF_DEVICES = {
    "quantized": (held_test.quantized, {"count": 3}, ONE),
    "quantized-split": (held_test.quantized, {"count": 3}, SPLIT),
    "lstm-split": (held_test.recurrent, {"steps": 8}, SPLIT),
    "wide-odd": (held_test.wide, {"rows": 1021, "columns": 40009}, TWO),
    "wide-4": (held_test.wide, {}, ["--devices", 4]),
    "shared-split": (held_test.shared, {"type": HALF}, SPLIT),
}
SAMPLE = ["shared"]
PIECE = 2 << 20  # of memory that is handed out
PART = 16 << 20  # a communicator that shares what another one has


def compiled(divisi, options):
    divisi("compile", "m.onnx", "-o", "m.divisi", *GPU, *options)
    report = json.loads(divisi("explain", "m.divisi", "--json").out)
    return report["memory"]["per_device"]


@pytest.mark.parametrize("name", [*OF_ALL, *OF_DEVICES] if is_sweep() else SAMPLE)
def test_gpus_hold_what_is_said(divisi, name):
    make, extents, options = {**OF_ALL, **OF_DEVICES}[name]
    run = ("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    settings = emulator(held=divisi.path("held"), bytes=4 << 30)
    held_test.layers(divisi.folder, count=2, width=16)
    compiled(divisi, options)
    empty = peak(divisi.folder, run, settings)
    make(divisi.folder, **extents)
    said = compiled(divisi, options)
    whole = peak(divisi.folder, run, settings) - empty
    lines = divisi.path("held").read_text().splitlines()
    held, contexts, modules, nccl = (
        list(column) for column in zip(*(map(int, line.split())
                                         for line in lines)))
    print(f"{name}: {sum(held) / 2**20:.1f} MiB held by GPUs, "
          f"{whole / 2**20:.1f} by all")
    for device, bytes in zip(said, held):
        assert bytes == pytest.approx(device["own_bytes"], rel=TOLERANCE)
    # Beside that: to the byte, but for code, of which whole pieces are said, and
    # a communicator of all that is said to be a part of one. One product alone has
    # no code of ours, and its devices do not meet.
    for number, device in enumerate(said):
        assert contexts[number] == device["context_bytes"] > 0
        assert 0 <= modules[number] <= device["module_bytes"]
        assert 0 <= device["nccl_bytes"] - nccl[number] <= PART + PIECE
        meets = not name.startswith("wide") and len(said) > 1
        assert (nccl[number] > 0) == meets
    assert sum(held) >= 64e6 / 2
    if name in OF_ALL:
        pinned = max(device["workspace_bytes"] for device in said)
        assert whole == pytest.approx(pinned + sum(
            device["total_bytes"] - device["message_bytes"]
            - device["workspace_bytes"] for device in said), rel=TOLERANCE)
