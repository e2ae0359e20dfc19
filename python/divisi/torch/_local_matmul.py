"""Products of two activations, computed on local tensors.

DTensor brings such a product to one of matrices in one batch dimension, and cannot
where several are divided or in no order of memory. What each device has is enough
where the operands are divided alike.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

aten = torch.ops.aten
MATMULS = (aten.matmul.default, aten.bmm.default, aten.mm.default)


def _axis(a: DTensor, b: DTensor, at: Any, bt: Any) -> tuple[Any, Any, Any] | None:
    """Of one axis of the mesh: the placements of the result and of both gradients;
    None where the product is not local."""
    if any(hasattr(p, "split_factor") or isinstance(p, Partial) for p in (at, bt)):
        return None
    rank = max(a.dim(), b.dim())
    left = None if isinstance(at, Replicate) else at.dim - a.dim()
    right = None if isinstance(bt, Replicate) else bt.dim - b.dim()

    def misses(value: DTensor, dim: int) -> bool:
        return value.dim() < -dim or value.shape[dim] == 1

    if left is None and right is None:
        return Replicate(), at, bt
    if left == right:
        return (Shard(rank + left), at, bt) if left is not None and left < -2 \
            else None
    if (left, right) == (-1, -2):
        return Partial(), at, bt
    if right is None and left is not None and left < -1 and (
            left == -2 or misses(b, left)):
        return Shard(rank + left), at, Partial()
    if left is None and right is not None and right != -2 and (
            right == -1 or misses(a, right)):
        return Shard(rank + right), Partial(), bt
    return None


def local_matmul(target: Any, a: DTensor, b: DTensor, shape: Any) -> DTensor | None:
    """a @ b, which has `shape`; None where devices lack what they need."""
    if min(a.dim(), b.dim()) < 2:
        return None
    found = [_axis(a, b, at, bt) for at, bt in zip(a.placements, b.placements)]
    if None in found:
        return None
    results, lefts, rights = zip(*found)
    return DTensor.from_local(
        target(a.to_local(grad_placements=lefts), b.to_local(grad_placements=rights)),
        a.device_mesh, results, run_check=False, shape=shape,
        stride=torch.empty(shape, device="meta").stride())
