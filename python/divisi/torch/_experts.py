"""Products whose rows are in groups, each with a weight of its own, such as those of
experts. The groups' sizes are data, which no shape of a program can be: each row is
multiplied by all weights, and its group's result is kept."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import UnsupportedError


def _members(rows: int, offs: torch.Tensor) -> torch.Tensor:
    """Which rows each group has, as [groups, rows, 1]: those from the end of the
    group before to its own."""
    row = torch.arange(rows, device=offs.device)
    ended = row[None, :] >= offs[:, None]
    first = torch.ones_like(ended[:1])
    began = torch.cat([first, ended[:-1]])
    return began.logical_and(ended.logical_not()).unsqueeze(-1)


def grouped_product(input: torch.Tensor, weight: torch.Tensor, *,
                    offs: torch.Tensor | None = None, bias: Any = None,
                    out_dtype: Any = None) -> torch.Tensor:
    """torch._grouped_mm of rows [s, k] and weights [g, k, n]; offs[i] is where
    group i ends. Rows of no group become zeros."""
    if input.dim() != 2 or weight.dim() != 3 or offs is None or bias is not None:
        raise UnsupportedError(
            f"a grouped product of {input.dim()} and {weight.dim()} dimensions"
            f"{'' if bias is None else ' with a bias'}; one of rows, of 2, and "
            "weights, of 3, is computed")
    made = torch.where(_members(input.shape[0], offs), input @ weight, 0).sum(0)
    return made if out_dtype is None else made.to(out_dtype)


def transformers_product(input: torch.Tensor, weight: torch.Tensor,
                         offs: torch.Tensor) -> torch.Tensor:
    """transformers' operator of its own."""
    return grouped_product(input, weight, offs=offs)


def transformers_backward(input: torch.Tensor, weight: torch.Tensor,
                          offs: torch.Tensor, grad_output: torch.Tensor
                          ) -> tuple[torch.Tensor, torch.Tensor]:
    """Its gradients."""
    members = _members(input.shape[0], offs)
    grad_input = torch.where(members, grad_output @ weight.transpose(1, 2), 0)
    own = torch.where(members, input, 0)
    return grad_input.sum(0), own.transpose(1, 2) @ grad_output


def of_transformers() -> dict[Any, Any]:
    """By its operators, if it is there."""
    ops = torch.ops.transformers
    if not hasattr(ops, "grouped_mm_fallback"):
        return {}
    return {ops.grouped_mm_fallback.default: transformers_product,
            ops.grouped_mm_fallback_backward.default: transformers_backward}
