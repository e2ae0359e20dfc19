"""How a tensor gets from one layout on a mesh to another.

A plan's conversions are collectives of one axis each. DTensor finds such steps itself,
but for two things: on CPUs a shard of another dimension is an all-gather of the whole
tensor, and each use of a tensor starts from the layout that it was computed in. Here
a shard of another dimension is an all-to-all, and a tensor's layouts are kept until
its last use, so that each conversion starts from the nearest one.
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import torch
import torch.distributed._functional_collectives as functional
from torch.distributed.tensor import DTensor, Partial, Replicate


def _dim(placement: Any) -> int | None:
    return getattr(placement, "dim", None)


def _step_cost(source: Any, target: Any, extent: int) -> float:
    """Of one axis, what a device receives, as a part of the whole tensor."""
    if source == target or isinstance(source, Replicate):
        return 0
    others = (extent - 1) / extent
    if isinstance(source, Partial):
        return 2 * others if isinstance(target, Replicate) else others
    return others if isinstance(target, Replicate) else others / extent


def cost(source: Sequence[Any], target: Sequence[Any],
         mesh: Sequence[int]) -> float:
    """What a device receives in a conversion, about, as a part of the whole."""
    return sum(map(_step_cost, source, target, mesh))


def _rank(source: Any, target: Any) -> int:
    """Which axes come first: those that make the tensor smaller."""
    if isinstance(target, Replicate):
        return 2 if isinstance(source, Partial) else 3
    return 1 if _dim(source) is not None else 0


def _next_axis(source: Sequence[Any], target: Sequence[Any]) -> int | None:
    """An axis that can change alone: no other one divides the dimensions that
    it divides before and after."""
    differ = [axis for axis, (a, b) in enumerate(zip(source, target)) if a != b]
    for axis in sorted(differ, key=lambda at: _rank(source[at], target[at])):
        touched = {_dim(source[axis]), _dim(target[axis])} - {None}
        if all(_dim(p) not in touched for at, p in enumerate(source)
               if at != axis):
            return axis
    return None


def _sizes(extent: int, parts: int) -> list[int]:
    """Of torch.chunk, with those that are empty."""
    most = -(-extent // parts)
    return [max(0, min(most, extent - most * part)) for part in range(parts)]


def _exchanged(local: torch.Tensor, source: Any, target: Any, extent: int,
               group: Any) -> torch.Tensor | None:
    """An all-to-all of `local`, a shard of the dimension `source.dim` of
    `extent`, which becomes one of `target.dim`. Dimensions that are divided
    within equal parts are two. None where parts are not equal."""
    parts, me = group.size(), group.rank()
    factors = [getattr(p, "split_factor", 1) for p in (source, target)]
    shape = list(local.shape)
    if (factors[0] > 1 and extent % (factors[0] * parts)) or (
            factors[1] > 1 and shape[target.dim] % (factors[1] * parts)):
        return None
    gathered, divided = source.dim, target.dim
    for placement, factor in sorted(
            zip((source, target), factors), key=lambda each: -each[0].dim):
        if factor > 1:
            shape[placement.dim:placement.dim + 1] = [
                factor, shape[placement.dim] // factor]
    gathered += (factors[0] > 1) + (factors[1] > 1 and target.dim < source.dim)
    divided += (factors[1] > 1) + (factors[0] > 1 and source.dim < target.dim)
    local = local.reshape(shape)
    takes = _sizes(shape[divided], parts)
    comes = _sizes(extent // factors[0], parts)
    sent = torch.cat([part.reshape(-1) for part in
                      local.split(takes, dim=divided)])
    rest = math.prod(size for at, size in enumerate(shape)
                     if at not in (gathered, divided))
    got = functional.all_to_all_single(
        sent, [rest * rows * takes[me] for rows in comes],
        [rest * shape[gathered] * columns for columns in takes], group)
    got = functional.wait_tensor(got)
    pieces = []
    for rows, flat in zip(comes, got.split(
            [rest * rows * takes[me] for rows in comes])):
        shape[gathered], shape[divided] = rows, takes[me]
        pieces.append(flat.reshape(shape))
    result = torch.cat(pieces, dim=gathered)
    shape = list(result.shape)
    for placement, factor in sorted(
            zip((source, target), factors), key=lambda each: each[0].dim):
        if factor > 1:
            at = placement.dim
            shape[at:at + 2] = [shape[at] * shape[at + 1]]
    return result.reshape(shape)


def _stepped(value: DTensor, axis: int, target: Any) -> DTensor:
    """`value`, of which the placement of one axis is another."""
    mesh, placements = value.device_mesh, list(value.placements)
    source = placements[axis]
    placements[axis] = target
    dims = _dim(source), _dim(target)
    if None not in dims and dims[0] != dims[1]:
        local = _exchanged(value.to_local(), source, target,
                           value.shape[source.dim], mesh.get_group(axis))
        if local is not None:
            return DTensor.from_local(
                local, mesh, placements, run_check=False, shape=value.shape,
                stride=value.stride())
    return value.redistribute(placements=placements)


class _Convert(torch.autograd.Function):
    """Of a gradient, the conversion back. A partial sum's is whole."""

    @staticmethod
    def forward(ctx: Any, value: DTensor, target: Sequence[Any]) -> DTensor:
        ctx.source = [Replicate() if isinstance(p, Partial) else p
                      for p in value.placements]
        return _moved(value, target)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return _moved(gradient, ctx.source), None


def _moved(value: DTensor, target: Sequence[Any]) -> DTensor:
    while tuple(value.placements) != tuple(target):
        axis = _next_axis(value.placements, target)
        if axis is not None:
            value = _stepped(value, axis, target[axis])
            continue
        split = [at for at, (a, b) in enumerate(zip(value.placements, target))
                 if a != b and _dim(a) is not None]
        if not split:
            return value.redistribute(placements=target)
        # Each waits for another one's dimension: the innermost makes room.
        value = _stepped(value, split[-1], Replicate())
    return value


def converted(value: DTensor, target: Sequence[Any]) -> DTensor:
    """`value` as `target` has it."""
    if tuple(value.placements) == tuple(target):
        return value
    return _Convert.apply(value, list(target))


class Versions:
    """The layouts that a tensor has been brought to."""

    def __init__(self, value: DTensor) -> None:
        self._all = [value]

    def as_in(self, target: Sequence[Any]) -> DTensor:
        """In this layout, from the nearest of those there are."""
        mesh = self._all[0].device_mesh.shape
        source = min(reversed(self._all),
                     key=lambda each: cost(each.placements, target, mesh))
        if tuple(source.placements) != tuple(target):
            source = converted(source, target)
            self._all.append(source)
        return source
