"""Exports models for training steps, as the TorchScript exporter of PyTorch
writes them in training mode: residual.onnx, a small residual network whose batch
norms have three outputs, and tagger.onnx, a recurrent network.

    PYTHON test/models/for_training.py

by a Python that has PyTorch and onnx."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

HERE = Path(__file__).resolve().parent


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
        self.shortcut_norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = torch.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        return torch.relu(y + self.shortcut_norm(self.shortcut(x)))


class Residual(nn.Module):
    """Images of 3 x 16 x 16 to ten classes."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.blocks = nn.Sequential(Block(8, 12, 2), Block(12, 16, 2))
        self.classifier = nn.Linear(16, 10)

    def forward(self, images):
        x = self.blocks(torch.relu(self.norm(self.stem(images))))
        return self.classifier(x.mean((2, 3)))


class Tagger(nn.Module):
    """One of eight tags for each of twelve words, read in both directions."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(64, 16)
        self.reader = nn.LSTM(16, 12, batch_first=True, bidirectional=True)
        self.classifier = nn.Linear(24, 8)

    def forward(self, words):
        return self.classifier(self.reader(self.words(words))[0])


def residual():
    model = Residual().train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            # No two alike, which an exporter would store once.
            for parameter in module.weight, module.bias:
                nn.init.normal_(parameter, parameter.mean().item(), 0.1)
            nn.init.normal_(module.running_mean, 0, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return model, "images", torch.randn(8, 3, 16, 16)


def tagger():
    return Tagger().train(), "words", torch.randint(0, 64, (6, 12))


def main():
    for make in residual, tagger:
        torch.manual_seed(0)
        model, name, data = make()
        path = HERE / f"{make.__name__}.onnx"
        torch.onnx.export(model, (data,), path, input_names=[name],
                          output_names=["logits"], opset_version=18,
                          dynamo=False, do_constant_folding=False,
                          training=torch.onnx.TrainingMode.TRAINING)
        np.savez(path.with_suffix(".inputs.npz"), **{name: data.numpy()})
        np.savez(path.with_suffix(".outputs.npz"),
                 logits=model(data).detach().numpy())


if __name__ == "__main__":
    main()
