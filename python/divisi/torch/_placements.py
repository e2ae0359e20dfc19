"""Layouts of a plan as DTensor's placements.

A plan names factors of dimensions, which no dimension of a tensor of PyTorch may
begin with: the heads of a fused [3, heads, size] are in the middle of one. DTensor
says that by a strided shard, whose split factor is what lies before the heads.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
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

    def outside(self, axis: str, axes: Mapping[str, int]) -> int:
        """Into how many parts axes outside of this one split its dimension."""
        splits = next(splits for splits in self.dims if axis in splits)
        return math.prod(axes[each] for each in splits[:splits.index(axis)])


#: Of each axis of a mesh: the dimension that it splits, and into how many parts that
#: is divided outside of it; or how all have the tensor.
Places = Sequence[Any]


def _outer(places: Places, dim: int, mesh: Sequence[int]) -> list[tuple[int, int]]:
    """Of axes that split `dim`: the parts outside of each, and its extent."""
    return sorted((place[1], extent) for place, extent in zip(places, mesh)
                  if isinstance(place, tuple) and place[0] == dim)


def spoken(places: Places, mesh: Sequence[int]) -> list[Any]:
    """Placements, which DTensor applies one after the other: a strided shard's
    factor is what is left outside of it by the axes before."""
    found: list[Any] = []
    for axis, place in enumerate(places):
        if not isinstance(place, tuple):
            found.append(place)
            continue
        dim, outside = place
        factor = outside // math.prod(
            extent for at, extent in _outer(places[:axis], dim, mesh)
            if at < outside)
        found.append(Shard(dim) if factor == 1 else
                     _StridedShard(dim, split_factor=factor))
    return found


def places_of(placements: Sequence[Any], mesh: Sequence[int]) -> list[Any]:
    """The other way around."""
    found: list[Any] = []
    for placement in placements:
        dim = getattr(placement, "dim", None)
        if dim is None:
            found.append(placement)
            continue
        outside = getattr(placement, "split_factor", 1)
        for at, extent in _outer(found, dim, mesh):
            outside *= extent if outside >= at else 1
        found.append((dim, outside))
    return found


def plain(layout: Layout, axes: Mapping[str, int]) -> list[Any]:
    """Where dimensions are those of PyTorch."""
    found: list[Any] = []
    for axis in axes:
        dim = layout.dim_of(axis)
        found.append(Partial(layout.kind) if axis in layout.partial else
                     Replicate() if dim is None else
                     (dim, layout.outside(axis, axes)))
    return spoken(found, list(axes.values()))


def factored(layout: Layout, extents: Sequence[int], shape: Sequence[int],
             axes: Mapping[str, int]) -> list[Any] | None:
    """Where dimensions of `extents` are factors of those of `shape`, in order;
    None where they are not."""
    owner: list[tuple[int, int]] = []  # of each factor: dimension, what precedes
    dim, before = 0, 1
    for extent in extents:
        if extent == 1:  # which no axis splits
            owner.append((0, 1))
            continue
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
                     Replicate() if at is None else
                     (owner[at][0], owner[at][1] * layout.outside(axis, axes)))
    return spoken(found, list(axes.values()))


def viewed(placements: Sequence[Any], shape: Sequence[int],
           new_shape: Sequence[int], mesh: Sequence[int]
           ) -> tuple[list[Any], list[int]] | None:
    """What a tensor's placements are once it has `new_shape`, and the extents of
    its shards then; None where that is no placement."""
    found: list[Any] = []
    local = list(new_shape)
    for place, extent in zip(places_of(placements, mesh), mesh):
        if not isinstance(place, tuple):
            found.append(place)
            continue
        before = math.prod(shape[:place[0]]) * place[1]
        dim = max((d for d in range(len(new_shape)) if new_shape[d] != 1
                   and math.prod(new_shape[:d]) <= before), default=None)
        if dim is None or before % math.prod(new_shape[:dim]):
            return None
        factor = before // math.prod(new_shape[:dim])
        if new_shape[dim] % (factor * extent):
            return None
        found.append((dim, factor))
        local[dim] //= extent
    return spoken(found, mesh), local


@dataclass
class Product:
    """Where an operator x @ w has its operands and result, by axes."""

    x: list[Any]
    weight: list[Any]
    bias: list[Any]
    result: list[Any]


def product(x: Layout, weight: Layout, result: Layout, extents: Sequence[int],
            shape: Sequence[int], axes: Mapping[str, int],
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
            made.weight.append((0 if is_k else 1, factor))
            made.x.append((last, factor) if is_k else Replicate())
            made.result.append(Partial() if is_k else (last, factor))
            made.bias.append(Replicate() if is_k else (0, factor))
            continue
        at = x.dim_of(axis)
        rows: Any = Replicate()
        if at is not None:
            if at >= len(batch):
                return None
            outside = x.outside(axis, axes)
            rows = (0, math.prod(batch[:at]) * outside) if is_flat else (
                at, outside)
        made.x.append(rows)
        made.result.append(rows)
        made.weight.append(Replicate())
        made.bias.append(Replicate())
    return Product(*(spoken(places, list(axes.values())) for places in (
        made.x, made.weight, made.bias, made.result)))


def _sides(extents: Sequence[int], weight: Layout, result: Layout,
           shape: Sequence[int], axes: Mapping[str, int]
           ) -> list[tuple[bool, int] | None] | None:
    """Of each axis, whether it splits k, and what lies outside of it."""
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
                    math.prod(extents[0 if at < cut else cut:at])
                    * weight.outside(axis, axes)))
            if all(side is None or side[0] == (axis in result.partial)
                   for axis, side in zip(axes, found)):
                return found
    return None
