"""Layouts of a plan as DTensor's placements.

A plan names factors of dimensions, which no dimension of a tensor of PyTorch may
begin with: the heads of a fused [3, heads, size] are in the middle of one. DTensor
says that by a strided shard, whose split factor is what lies before the heads.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Sequence

from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

_LAYOUT = re.compile(r"\[([^\]]*)\](?: partial (\w+) \{([^}]*)\})?$")


@dataclass
class Layout:
    """Of one tensor: the axes of each dimension, and those it is partial over."""

    dims: list[list[str]]
    partial: list[str] = field(default_factory=list)
    kind: str = "sum"

    @staticmethod
    def of(text: str) -> "Layout | None":
        """What a plan writes; None where it has bounds of its own: shards that
        are not those of torch.chunk, or overlap."""
        found = _LAYOUT.match(text)
        if not found or "{" in found[1]:
            return None
        dims = [[] if part.strip() == "*" else part.strip().split(".")
                for part in found[1].split(",")] if found[1].strip() else []
        partial = re.split(r"[,.]\s*", found[3]) if found[3] else []
        return Layout(dims, [axis.strip() for axis in partial],
                      found[2] or "sum")

    def dim_of(self, axis: str) -> int | None:
        """The dimension that an axis splits."""
        return next((d for d, axes in enumerate(self.dims) if axis in axes),
                    None)


def shard(dim: int, factor: int) -> Any:
    """Of a dimension whose split factor comes after one of `factor`."""
    return Shard(dim) if factor == 1 else _StridedShard(dim,
                                                        split_factor=factor)


def plain(layout: Layout, axes: Sequence[str]) -> list[Any]:
    """Where dimensions are those of PyTorch."""
    found: list[Any] = []
    for axis in axes:
        dim = layout.dim_of(axis)
        found.append(Partial(layout.kind) if axis in layout.partial else
                     Replicate() if dim is None else Shard(dim))
    return found


def factored(layout: Layout, extents: Sequence[int], shape: Sequence[int],
             axes: Sequence[str]) -> list[Any] | None:
    """Where dimensions of `extents` are factors of those of `shape`, in order;
    None where they are not."""
    owner: list[tuple[int, int]] = []  # of each factor: dimension, what precedes
    dim, before = 0, 1
    for extent in extents:
        while dim < len(shape) and before == shape[dim]:
            dim, before = dim + 1, 1
        if dim == len(shape) or shape[dim] % (before * extent):
            return None
        owner.append((dim, before))
        before *= extent
    if math.prod(extents) != math.prod(shape) or len(layout.dims) != len(
            extents):
        return None
    found: list[Any] = []
    for axis in axes:
        at = layout.dim_of(axis)
        found.append(Partial(layout.kind) if axis in layout.partial else
                     Replicate() if at is None else shard(*owner[at]))
    return found


def viewed(placements: Sequence[Any], shape: Sequence[int],
           new_shape: Sequence[int], mesh: Sequence[int]
           ) -> tuple[list[Any], list[int]] | None:
    """What a tensor's placements are once it has `new_shape`, and the extents of
    its shards then; None where that is no placement."""
    found: list[Any] = []
    local = list(new_shape)
    for placement, extent in zip(placements, mesh):
        if isinstance(placement, (Replicate, Partial)):
            found.append(placement)
            continue
        factor = getattr(placement, "split_factor", 1)
        before = math.prod(shape[:placement.dim]) * factor
        dim = max((d for d in range(len(new_shape)) if new_shape[d] != 1
                   and math.prod(new_shape[:d]) <= before), default=None)
        if dim is None or before % math.prod(new_shape[:dim]):
            return None
        factor = before // math.prod(new_shape[:dim])
        if local[dim] % (factor * extent):
            return None
        found.append(shard(dim, factor))
        local[dim] //= extent
    return found, local


@dataclass
class Product:
    """Where an operator x @ w has its operands and result, by axes."""

    x: list[Any]
    weight: list[Any]
    bias: list[Any]
    result: list[Any]


def product(x: Layout, weight: Layout, result: Layout, extents: Sequence[int],
            shape: Sequence[int], axes: Sequence[str],
            batch: Sequence[int], is_flat: bool) -> Product | None:
    """Of a weight [k, n] as `shape`, of which the plan's has `extents`, in this
    order or the other. `batch` are the extents of x before k; `is_flat`: x has
    them as one dimension. None where the plan's is none of it."""
    sides = _sides(extents, weight, result, shape, axes)
    if sides is None:
        return None
    last = 1 if is_flat else len(batch)
    made = Product([], [], [], [])
    for axis, side in zip(axes, sides):
        if side is not None:
            is_k, factor = side
            made.weight.append(shard(0 if is_k else 1, factor))
            made.x.append(shard(last, factor) if is_k else Replicate())
            made.result.append(Partial() if is_k else shard(last, factor))
            made.bias.append(Replicate() if is_k else shard(0, factor))
            continue
        at = x.dim_of(axis)
        rows: Any = Replicate()
        if at is not None:
            if at >= len(batch):
                return None
            rows = shard(0, math.prod(batch[:at])) if is_flat else Shard(at)
        made.x.append(rows)
        made.result.append(rows)
        made.weight.append(Replicate())
        made.bias.append(Replicate())
    return made


def _sides(extents: Sequence[int], weight: Layout, result: Layout,
           shape: Sequence[int], axes: Sequence[str]
           ) -> list[tuple[bool, int] | None] | None:
    """Of each axis, whether it splits k, and what lies before its factor."""
    if len(extents) != len(weight.dims):
        return None
    for is_kn in (True, False):
        first = shape[0] if is_kn else shape[1]
        for cut in range(len(extents) + 1):
            if math.prod(extents[:cut]) != first or math.prod(
                    extents[cut:]) * first != math.prod(shape):
                continue
            found: list[tuple[bool, int] | None] = []
            for axis in axes:
                at = weight.dim_of(axis)
                found.append(None if at is None else (
                    (at < cut) == is_kn,
                    math.prod(extents[0 if at < cut else cut:at])))
            if all(side is None or side[0] == (axis in result.partial)
                   for axis, side in zip(axes, found)):
                return found
    return None
