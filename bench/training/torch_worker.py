"""PyTorch's step: torch_worker.py NAME INPUTS OUTPUTS THREADS eager|compile.

NAME is a step of steps.py, made again with the weights that were exported.
"""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnxruntime"))

import torch_steps  # noqa: E402
import worker  # noqa: E402


def load(name, inputs, threads, how):
    torch.set_num_threads(int(threads))
    model, _, _ = torch_steps.make(name)
    labels = torch.from_numpy(inputs.pop("labels"))
    values = [torch.from_numpy(array) for array in inputs.values()]
    optimizer = torch_steps.optimizer_of(name, model.parameters())

    def forward():
        return torch_steps.loss_of(name, model(*values), labels)

    forward = torch.compile(forward) if how == "compile" else forward

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = forward()
        loss.backward()
        optimizer.step()
        return {"loss": loss.detach().numpy()}

    return step, {"version": torch.__version__,
                  "num_threads": torch.get_num_threads(),
                  "optimizer": "fused"}


if __name__ == "__main__":
    worker.main(load)
