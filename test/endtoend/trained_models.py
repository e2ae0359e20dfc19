"""Models of test/models as training steps, and what PyTorch makes of them.

    DIVISI_TORCH=PYTHON python test/endtoend/trained_models.py [MODEL…]

has them trained by PyTorch in f64, and writes what tests expect: the loss of
each step, and how far each weight has moved."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent / "models"
EXPECTED = HERE / "Inputs" / "trained.json"
TORCH = os.environ.get("DIVISI_TORCH", sys.executable)
STEPS = 20
RATES = {"sgd": 0.05, "adamw": 1e-3}
SMALL_RATES = {("resnet", "sgd"): 2e-5, ("resnet", "adamw"): 2e-5,
               ("t5", "adamw"): 1e-4}
NEXT_TOKENS = {"gpt2", "llama"}
FROZEN = {"llama": ["m.model.rotary_emb.inv_freq"]}
NAMES = ["gpt2", "bert", "llama", "vit", "resnet", "t5"]


class Trained:
    """One model with one optimizer."""

    def __init__(self, name, optimizer):
        self.name, self.optimizer = name, optimizer
        self.onnx = MODELS / f"{name}.onnx"
        self.shift = name in NEXT_TOKENS
        # Larger rates amplify rounding, as does Adam where gradients are near 0:
        # in f32 PyTorch is then as far from f64 as we are.
        self.rate = SMALL_RATES.get((name, optimizer), RATES[optimizer])
        self.epsilon = 1e-3 if name == "resnet" else 1e-6

    def data(self):
        """A batch, which every step has, with labels of which one does not
        count."""
        inputs = dict(np.load(self.onnx.with_suffix(".inputs.npz")))
        [logits] = np.load(self.onnx.with_suffix(".outputs.npz")).values()
        random = np.random.default_rng(0)
        labels = random.integers(0, logits.shape[-1], logits.shape[:-1])
        labels.flat[3] = -100
        return {**inputs, "labels": labels}

    def flags(self):
        own = (["--momentum", 0.9] if self.optimizer == "sgd" else
               ["--epsilon", self.epsilon])
        shift = ["--shift-labels"] if self.shift else []
        return ["--shapes-from", self.onnx.with_suffix(".inputs.npz"),
                "--train", "--loss", "cross_entropy", *shift, "--optimizer",
                self.optimizer, "--lr", self.rate, *own]

    def by_torch(self, dtype, folder):
        """What PyTorch does: the losses, and weights before and after."""
        data, to = folder / "data.npz", folder / f"{dtype}.npz"
        np.savez(data, **self.data())
        case = {"model": str(self.onnx), "type": dtype,
                "frozen": FROZEN.get(self.name, []), "data": str(data),
                "shift": self.shift, "optimizer": self.optimizer,
                "rate": self.rate, "epsilon": self.epsilon, "steps": STEPS, "to": str(to)}
        subprocess.run([TORCH, "-W", "ignore", HERE / "torch_model.py"],
                       input=json.dumps(case), text=True, check=True)
        return dict(np.load(to))


def norm(array):
    return float(np.sqrt(np.square(array, dtype=np.float64).sum()))


def main():
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    for name in sys.argv[1:] or NAMES:
        for optimizer in RATES:
            with tempfile.TemporaryDirectory() as folder:
                found = Trained(name, optimizer).by_torch("float64",
                                                          Path(folder))
            moved = {
                key[len("after:"):]: norm(
                    after - found["before:" + key[len("after:"):]])
                for key, after in found.items() if key.startswith("after:")}
            expected.setdefault(name, {})[optimizer] = {
                "losses": [float(f"{x:.9g}") for x in found["losses"]],
                "moved": {k: float(f"{v:.6g}") for k, v in moved.items()}}
    EXPECTED.write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
