"""torch.compile on CUDA: torch_worker.py NAME INPUTS OUTPUTS PRECISION.

NAME is a model of names.GPU, made again with the weights that were exported.
"""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnxruntime"))

import export  # noqa: E402
import worker  # noqa: E402


def load(name, inputs, precision):
    rounds = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = rounds
    torch.backends.cudnn.allow_tf32 = rounds
    # Weights are constants, as they are to the others.
    torch._inductor.config.freezing = True
    model, _ = export.make(name)
    model = model.cuda()
    if precision == "bf16":
        model = model.to(torch.bfloat16)
    compiled = torch.compile(model, mode="max-autotune")
    values = [torch.from_numpy(array) for array in inputs.values()]
    if precision == "bf16":
        values = [value.to(torch.bfloat16) if value.is_floating_point()
                  else value for value in values]

    def run():
        with torch.no_grad():
            result = compiled(*(value.cuda() for value in values))
            return {"y": result.float().cpu().numpy()}

    run()  # which compiles
    return run, {"version": torch.__version__, "cuda": torch.version.cuda,
                 "freezing": True, "mode": "max-autotune"}


if __name__ == "__main__":
    worker.main(load)
