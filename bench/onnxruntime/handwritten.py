"""Models that no package defines, written in torch as their papers have them.

A U-Net (Ronneberger et al.), DLRM (Naumov et al.), HiFi-GAN's generator (Kong
et al.), and three that run for less than a millisecond.
"""

import torch
from torch import nn


def spread(model, gain=2 ** 0.5):
    """Draws weights of convolutions such that signals keep their size."""
    for layer in model.modules():
        if isinstance(layer, (nn.Conv1d, nn.Conv2d)):
            fan = layer.weight[0].numel()
            nn.init.normal_(layer.weight, std=gain / fan ** 0.5)
        elif isinstance(layer, (nn.ConvTranspose1d, nn.ConvTranspose2d)):
            taps = layer.weight[0, 0].numel() / layer.stride[0] ** (
                layer.weight.dim() - 2)  # that reach one element
            fan = layer.weight.shape[0] * taps
            nn.init.normal_(layer.weight, std=gain / fan ** 0.5)
    return model


def double_conv(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU())


class UNet(nn.Module):
    """Halves the image at each level, doubles the channels, and back."""

    def __init__(self, width, levels, classes):
        super().__init__()
        widths = [width << level for level in range(levels + 1)]
        self.down = nn.ModuleList(
            double_conv(a, b) for a, b in zip([3, *widths], widths))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in widths[:-1])
        self.merge = nn.ModuleList(
            double_conv(2 * w, w) for w in widths[:-1])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.down):
            x = block(x)
            if level + 1 < len(self.down):
                skips.append(x)
                x = nn.functional.max_pool2d(x, 2)
        for up, merge, skip in zip(reversed(self.up), reversed(self.merge),
                                   reversed(skips)):
            x = merge(torch.cat([skip, up(x)], dim=1))
        return self.head(x)


def unet(size=512, width=32):
    return spread(UNet(width, 4, 2)), {"x": torch.randn(1, 3, size, size)}


def mlp(widths, last=None):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1], *([last] if last else []))


class DLRM(nn.Module):
    """Dense features and bags of sparse ones, their dot products, an MLP."""

    def __init__(self, rows, width, dense, bottom, top):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, width) for n in rows)
        self.bottom = mlp([dense, *bottom, width], nn.ReLU())
        count = len(rows) + 1
        pairs = torch.tril_indices(count, count, -1)
        self.register_buffer("pairs", pairs[0] * count + pairs[1])
        self.top = mlp([width + len(self.pairs), *top, 1], nn.Sigmoid())

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        bags = [table(sparse[:, i]).sum(dim=1)
                for i, table in enumerate(self.tables)]
        features = torch.stack([x, *bags], dim=1)
        products = torch.bmm(features, features.transpose(1, 2))
        return self.top(torch.cat(
            [x, products.flatten(1)[:, self.pairs]], dim=1))


def dlrm(batch=128, bag=4):
    rows = [20000] * 26
    model = DLRM(rows, 64, 13, [512, 256], [512, 256])
    return model, {"dense": torch.randn(batch, 13), "sparse":
                   torch.randint(min(rows), (batch, len(rows), bag))}


class Residual(nn.Module):
    """HiFi-GAN's first kind of residual block: three dilations in turn."""

    def __init__(self, channels, kernel):
        super().__init__()
        self.pairs = nn.ModuleList(
            nn.ModuleList(nn.Conv1d(channels, channels, kernel, dilation=d,
                                    padding=d * (kernel - 1) // 2)
                          for d in (dilation, 1))
            for dilation in (1, 3, 5))

    def forward(self, x):
        for first, second in self.pairs:
            y = first(nn.functional.leaky_relu(x, 0.1))
            x = x + second(nn.functional.leaky_relu(y, 0.1))
        return x


class Vocoder(nn.Module):
    """HiFi-GAN's generator: from mel frames to 256 samples for each."""

    def __init__(self, mels, width, rates, kernels):
        super().__init__()
        self.first = nn.Conv1d(mels, width, 7, padding=3)
        widths = [width >> level for level in range(len(rates) + 1)]
        self.up = nn.ModuleList(
            nn.ConvTranspose1d(a, b, 2 * rate, rate, padding=rate // 2)
            for a, b, rate in zip(widths, widths[1:], rates))
        self.residuals = nn.ModuleList(
            nn.ModuleList(Residual(w, kernel) for kernel in kernels)
            for w in widths[1:])
        self.last = nn.Conv1d(widths[-1], 1, 7, padding=3)

    def forward(self, x):
        x = self.first(x)
        for up, blocks in zip(self.up, self.residuals):
            x = up(nn.functional.leaky_relu(x, 0.1))
            x = sum(block(x) for block in blocks) / len(blocks)
        return torch.tanh(self.last(nn.functional.leaky_relu(x)))


def vocoder(frames=64):
    model = spread(Vocoder(80, 256, [8, 8, 2, 2], [3, 7, 11]), 0.8)
    return model, {"mel": torch.randn(1, 80, frames)}


def tiny_mlp():
    return mlp([64, 256, 256, 10]), {"x": torch.randn(4, 64)}


def tiny_cnn():
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32),
        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 49, 10))
    return model, {"x": torch.randn(1, 1, 28, 28)}


def tiny_attention():
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0, activation="gelu",
                                       batch_first=True, norm_first=True)
    return layer, {"x": torch.randn(1, 16, 64)}


def spmd_mlp():
    return mlp([1024, 4096, 4096, 1024]), {"x": torch.randn(64, 1024)}


class Layer(nn.Module):
    """A layer of a transformer, its projections by names that
    jax_worker.py finds again."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        for name in ("q", "k", "v", "out"):
            setattr(self, name, nn.Linear(width, width))
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x):
        y = self.norm1(x)
        y = nn.functional.scaled_dot_product_attention(
            self.split(self.q(y)), self.split(self.k(y)),
            self.split(self.v(y)))
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, width, heads, depth):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def spmd_transformer():
    return Transformer(512, 8, 4), {"x": torch.randn(2, 128, 512)}


class CNN(nn.Module):
    def __init__(self, widths, classes):
        super().__init__()
        self.convs = nn.ModuleList(
            nn.Conv2d(a, b, 3, padding=1) for a, b in zip(widths, widths[1:]))
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x):
        for conv in self.convs:
            x = nn.functional.max_pool2d(torch.relu(conv(x)), 2)
        return self.head(x.mean((2, 3)))


def spmd_cnn():
    return spread(CNN([3, 64, 128, 256], 10)), {"x": torch.randn(8, 3, 64, 64)}
