"""One process of a group of gloo, started by torchrun: a compiled model's devices
are shared among the processes, and each gets what eager PyTorch computes.

    torch_group_host.py DEVICES CASE...
"""

import sys
import warnings

import torch
import torch.distributed as dist
from torch import nn

import divisi
import divisi.torch


def close(found, wanted):
    assert torch.allclose(found, wanted, rtol=1e-4, atol=1e-5), (
        (found - wanted).abs().max())


def perceptron():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 7)).eval()


def forward(options):
    """Also with weights that have changed, and the second of two outputs."""
    model = perceptron()
    compiled = torch.compile(model, backend="divisi", options=options)
    x = torch.randn(8, 16)
    with torch.no_grad():
        for _ in range(3):
            close(compiled(x), model(x))
        model[0].weight.mul_(2)
        close(compiled(x), model(x))

    def two(x):
        y = model(x)
        return y.transpose(0, 1), y.sum()

    pair = torch.compile(two, backend="divisi", options=options)
    with torch.no_grad():
        for found, wanted in zip(pair(x), two(x)):
            assert found.stride() == wanted.stride()
            close(found, wanted)


def shapes(options):
    model = perceptron()
    compiled = torch.compile(model, backend="divisi", dynamic=True,
                             options=options)
    with torch.no_grad():
        for rows in (3, 5, 3):
            x = torch.randn(rows, 16)
            close(compiled(x), model(x))


def blocks(options):
    """What has large messages, too."""
    torch.manual_seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(
        64, 4, 256, dropout=0, batch_first=True), 2,
        enable_nested_tensor=False).eval()
    compiled = torch.compile(model, backend="divisi", options=options)
    x = torch.randn(8, 96, 64)
    with torch.no_grad():
        close(compiled(x), model(x))


def training(options):
    """Five steps of an optimizer: losses and weights."""
    losses = []
    for is_compiled in (True, False):
        model = perceptron().train()
        step = torch.compile(model, backend="divisi",
                             options=options) if is_compiled else model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        torch.manual_seed(1)
        x = torch.randn(8, 16)
        found = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = step(x).square().mean()
            loss.backward()
            optimizer.step()
            found.append(loss.detach())
        losses.append(torch.stack(found + [model[0].weight.detach().sum()]))
    close(*losses)


def falls_back(options):
    """On all processes, if on one."""
    def draw(x):
        return (x + torch.rand(3)).cos()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.compile(draw, backend="divisi", options=options)(torch.ones(3))
    assert any(w.category is divisi.DivisiWarning for w in told)


def differs(options):
    """Weights that are not the same on all processes."""
    model = perceptron()
    with torch.no_grad():
        model[0].weight.add_(dist.get_rank())
        compiled = torch.compile(model, backend="divisi",
                                 options={**options, "fallback": "error"})
        try:
            compiled(torch.ones(8, 16))
        except divisi.InvalidError as error:
            assert "different weights" in str(error)
        except Exception as error:  # as Dynamo hands it on
            assert "different weights" in str(error), error
        else:
            raise AssertionError("it compiled")
    try:
        torch.compile(model, backend="divisi",
                      options={**options, "devices": 1})(torch.ones(8, 16))
    except Exception as error:
        assert "each needs a device" in str(error), error
    else:
        raise AssertionError("one device was enough")


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for case in sys.argv[2:]:
        torch._dynamo.reset()
        options = {"devices": int(sys.argv[1]), "process_group": True,
                   "fallback": "error", "cache": False}
        if case == "falls_back":
            options["fallback"] = "warn"
        torch.manual_seed(2)
        globals()[case](options)
        if dist.get_rank() == 0:
            print("passed", case, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
