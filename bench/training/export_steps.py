#!/usr/bin/env python3
"""Exports steps of steps.py with torch.onnx: export_steps.py FOLDER NAME...

For each: NAME.onnx, NAME.inputs.npz with the labels, and NAME.outputs.npz with
the loss of the first step by PyTorch.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch

import steps
import torch_steps


def export(name, folder):
    model, inputs, labels = torch_steps.make(name)
    values = tuple(inputs.values())
    part = folder / f"{name}.part"
    # Only the older exporter keeps batch norms as they are trained; the newer
    # one knows the masks of transformers.
    trains = {"training": torch.onnx.TrainingMode.TRAINING,
              "do_constant_folding": False, "dynamo": False}
    torch.onnx.export(model, values, part, input_names=list(inputs),
                      output_names=["y"], verbose=False,
                      **(trains if steps.NAMES[name][0] == "resnet" else
                         {"dynamo": True, "external_data": False}))
    # Exporting in training mode moves the running statistics.
    model, inputs, labels = torch_steps.make(name)
    with torch.no_grad():
        loss = torch_steps.loss_of(name, model(*inputs.values()), labels)
    np.savez(folder / f"{name}.inputs.npz", labels=labels.numpy(),
             **{key: value.numpy() for key, value in inputs.items()})
    np.savez(folder / f"{name}.outputs.npz", loss=loss.numpy())
    part.replace(folder / f"{name}.onnx")


def main():
    folder = Path(sys.argv[1])
    warnings.filterwarnings("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:]:
        export(name, folder)


if __name__ == "__main__":
    main()
