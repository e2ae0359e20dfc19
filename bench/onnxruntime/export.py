#!/usr/bin/env python3
"""Exports the benchmark's models with torch.onnx.

    export.py FOLDER [NAME ...]

Runs in the environment of requirements.txt; run.py makes that and calls this.
For each model of names.py: NAME.onnx, weights inside, NAME.inputs.npz, and,
but for quantized ones, NAME.outputs.npz with what PyTorch computes. Those of
bench/gpu have their weights beside them, in NAME.onnx.data. The same seed each
time.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch

# The wheel's operators do not load beside torch's build for CPUs alone, and
# the models use none of them; timm asks whether these two are there.
operators = torch.library.Library("torchvision", "DEF")
operators.define("nms(Tensor boxes, Tensor scores, float limit) -> Tensor")
operators.define("qnms(Tensor boxes, Tensor scores, float limit) -> Tensor")

import handwritten  # noqa: E402
import names  # noqa: E402
import quantize  # noqa: E402
import zoo  # noqa: E402

SEED = 0
ROOMS = {"zoo": zoo, "handwritten": handwritten}


def settle(model, inputs):
    """Makes random weights behave like trained ones: no bias or scale is
    trivial, nothing is multiplied by zeros, and batch norm has the statistics
    of what reaches it."""
    norms = [m for m in model.modules()
             if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() <= 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
            elif not parameter.any():
                fan = parameter[0].numel()
                parameter.copy_(torch.randn_like(parameter) / fan ** 0.5)
        model.eval()
        for norm in norms:
            norm.momentum = None
            norm.reset_running_stats()
            norm.train()
        if norms:
            for _ in range(2):
                model(*(torch.randn(4, *x.shape[1:]) for x in inputs))
    model.eval()


def make(name):
    """The module, ready to run, and its inputs, by name."""
    torch.manual_seed(SEED)
    function, *arguments = {**names.MODELS, **names.GPU}[name]
    room, function = function.split(".")
    model, inputs = getattr(ROOMS[room], function)(*arguments)
    settle(model, tuple(inputs.values()))
    return model, inputs


def export(name, folder):
    """Writes folder/NAME.part, NAME's inputs, and what PyTorch computes."""
    model, inputs = make(name)
    values = tuple(inputs.values())
    with torch.no_grad():
        output = model(*values)
    if name in names.GPU:  # some are larger than a file may be
        target = folder / f"{name}.parts" / f"{name}.onnx"
        target.parent.mkdir(exist_ok=True)
    else:
        target = folder / f"{name}.part"
    torch.onnx.export(model, values, target, dynamo=True,
                      input_names=list(inputs), output_names=["y"],
                      external_data=name in names.GPU, verbose=False)
    np.savez(folder / f"{name}.inputs.npz",
             **{key: value.numpy() for key, value in inputs.items()})
    np.savez(folder / f"{name}.outputs.npz", y=output.numpy())
    if name.startswith("spmd-"):  # which JAX runs too
        np.savez(folder / f"{name}.weights.npz", **{
            key: value.numpy() for key, value in model.state_dict().items()})


def write(name, folder):
    begin = time.monotonic()
    if name in names.QUANTIZED:
        base, _ = names.QUANTIZED[name]
        if not (folder / f"{base}.onnx").exists():
            write(base, folder)
        quantize.quantize(name, folder, SEED)
    else:
        export(name, folder)
    # The last step: what stands under its name is whole.
    part = folder / f"{name}.part"
    if name in names.GPU:
        parts = folder / f"{name}.parts"
        (parts / f"{name}.onnx.data").replace(folder / f"{name}.onnx.data")
        part = parts / f"{name}.onnx"
    part.replace(folder / f"{name}.onnx")
    if name in names.GPU:
        parts.rmdir()
    print(f"{name}: exported in {time.monotonic() - begin:.0f} s",
          file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or [*names.MODELS, *names.QUANTIZED]:
        write(name, arguments.folder)


if __name__ == "__main__":
    main()
