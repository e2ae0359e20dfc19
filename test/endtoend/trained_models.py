"""Models of test/models as training steps, and what PyTorch makes of them.

    DIVISI_TORCH=PYTHON python test/endtoend/trained_models.py [MODEL…]

has them trained by PyTorch in f64, and writes what tests expect: the loss of
each step, how far each weight has moved and how far of that along a direction,
and by how much PyTorch's own f32 misses that: the most of four orders of the
batch, as one rounding may decide what a ReLU lets through."""

import json
import os
import subprocess
import sys
import tempfile
import zlib
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
NAMES = ["gpt2", "bert", "llama", "vit", "resnet", "residual", "tagger", "t5"]


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

    def by_torch(self, dtype, folder, first=0):
        """What PyTorch does: the losses, and weights before and after. The
        batch begins with row `first`, which changes roundings alone."""
        data, to = folder / "data.npz", folder / f"{dtype}.npz"
        np.savez(data, **{name: np.roll(array, -first, 0)
                          for name, array in self.data().items()})
        case = {"model": str(self.onnx), "type": dtype,
                "frozen": FROZEN.get(self.name, []), "data": str(data),
                "shift": self.shift, "optimizer": self.optimizer,
                "rate": self.rate, "epsilon": self.epsilon, "steps": STEPS, "to": str(to)}
        subprocess.run([TORCH, "-W", "ignore", HERE / "torch_model.py"],
                       input=json.dumps(case), text=True, check=True)
        return dict(np.load(to))


def norm(array):
    return float(np.sqrt(np.square(array, dtype=np.float64).sum()))


def along(array, name):
    """How far `array` goes along a direction that depends on `name` and its
    size alone, drawn so that the expected square is that of its norm."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    return float(random.standard_normal(array.size) @ array.astype(float).flat)


class Ways:
    """What a run has made of weights, of what by_torch() returns."""

    def __init__(self, found):
        self.losses = found["losses"]
        ways = {name[len("after:"):]: after - found["before" + name[5:]]
                for name, after in found.items() if name.startswith("after:")}
        self.statistics = {n: ways.pop(n) for n in found["statistics"]}
        self.weights = ways

    def misses(self, exact):
        """Of losses; of weights, as a part of the update's norm."""
        total = norm(list(map(norm, exact.weights.values())))
        miss = [norm(self.weights[n] - way) for n, way in exact.weights.items()]
        return np.max(np.abs(self.losses / exact.losses - 1)), norm(miss) / total


def written(number):
    return float(f"{number:.9g}")


def main():
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    for name in sys.argv[1:] or NAMES:
        for optimizer in RATES:
            with tempfile.TemporaryDirectory() as folder:
                case, folder = Trained(name, optimizer), Path(folder)
                exact = Ways(case.by_torch("float64", folder))
                misses = [Ways(case.by_torch("float32", folder, first)).misses(
                    exact) for first in range(4)]
            found = {kind: {n: [written(norm(w)), written(along(w, n))]
                            for n, w in getattr(exact, kind).items()}
                     for kind in ("weights", "statistics")}
            losses, weights = np.max(misses, 0)
            print(name, optimizer, losses, weights, flush=True)
            expected.setdefault(name, {})[optimizer] = {
                "losses": [written(x) for x in exact.losses], **found,
                "f32_misses": {"losses": written(losses),
                               "weights": written(weights)}}
    EXPECTED.write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
