"""One process of a mesh of gloo, started by torchrun: conversions between layouts
keep the tensor, and its gradient, and views of it are what they are of the whole.

    torch_moves_host.py CASES
"""

import math
import random
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.utils._python_dispatch import TorchDispatchMode

from divisi.torch import _moves, _placements


class Gathers(TorchDispatchMode):
    """Counts collectives that gather a tensor."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), keywords=None):
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented
        self.count += "all_gather" in str(function)
        return function(*args, **(keywords or {}))


def shards(whole, mesh, placements):
    value = DTensor.from_local(whole, mesh, [Replicate()] * mesh.ndim,
                               run_check=False)
    return value.redistribute(placements=placements)


def some(choose, shape, mesh):
    """Placements: on factors of dimensions that all parts fit into."""
    places = []
    for extent in mesh.shape:
        dims = [d for d in range(len(shape)) if all(
            not isinstance(p, tuple) or p[0] != d for p in places)]
        if not dims or choose.random() < .25:
            places.append(Replicate())
            continue
        dim = choose.choice(dims)
        factors = [f for f in (1, 2, 3) if f == 1 or
                   shape[dim] % (f * extent) == 0]
        places.append((dim, choose.choice(factors)))
    return _placements.spoken(places, mesh.shape)


def convert(choose, mesh):
    shape = [choose.choice((5, 8, 12, 24)) for _ in range(3)]
    source, target = some(choose, shape, mesh), some(choose, shape, mesh)
    whole = torch.randn(shape)
    value = shards(whole, mesh, source).requires_grad_()
    with Gathers() as gathers:
        found = _moves.converted(value, target)
    what = shape, source, target
    assert list(found.placements) == target, what
    assert torch.equal(found.full_tensor(), whole), what
    if type(source[0]) is type(target[0]) is Shard and mesh.ndim == 1:
        assert gathers.count == 0, what
    weight = torch.randn(shape)
    (found * shards(weight, mesh, target)).sum().backward()
    assert torch.allclose(value.grad.full_tensor(), weight), what


def view(choose, mesh):
    """Of heads, whichever axes split them, together and apart."""
    layout = _placements.Layout([[], [], []])
    axes = {f"x{at}": extent for at, extent in enumerate(mesh.shape)}
    for axis in choose.sample(list(axes), len(axes)):
        choose.choice(layout.dims).append(axis)
    factors = [math.prod(axes[axis] for axis in dim) * choose.choice((1, 2))
               for dim in layout.dims]
    whole = torch.randn(5, *factors)
    apart = [[], *layout.dims]
    value = shards(whole, mesh, _placements.plain(
        _placements.Layout(apart), axes))
    together = [5, factors[0], factors[1] * factors[2]]
    made = _placements.viewed(value.placements, whole.shape, together, mesh.shape)
    wanted = _placements.factored(_placements.Layout(apart), whole.shape, together,
                                  axes)
    assert made is not None and made[0] == wanted, (layout, factors, made, wanted)
    joined = shards(whole.reshape(together), mesh, wanted)
    assert torch.equal(joined.to_local(), value.to_local().reshape(made[1])), (
        layout, factors)
    places = _placements.places_of(wanted, mesh.shape)
    assert _placements.spoken(places, mesh.shape) == wanted


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    choose = random.Random(0)  # the same on all processes
    torch.manual_seed(0)
    for extents in ((4,), (2, 2)):
        mesh = init_device_mesh("cpu", extents)
        for _ in range(int(sys.argv[1])):
            convert(choose, mesh)
            view(choose, mesh)
    if dist.get_rank() == 0:
        print("passed", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
