"""Operators of backward graphs that ONNX has no equal of, by others."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

from .._errors import UnsupportedError

aten = torch.ops.aten


def _pairs(values: Sequence[int], count: int) -> list[int]:
    return list(values) * count if len(values) == 1 else list(values)


def _convolution_backward(
        grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor,
        bias_sizes: Any, stride: Sequence[int], padding: Sequence[int],
        dilation: Sequence[int], transposed: bool,
        output_padding: Sequence[int], groups: int,
        mask: Sequence[bool]) -> tuple[Any, Any, Any]:
    """The gradient of the input is a transposed convolution of `grad` by the
    weight; that of the weight a convolution of the input by `grad`, which
    exchange the batch with the channels."""
    if transposed:
        raise UnsupportedError("the gradient of a transposed convolution is not "
                               "computed")
    dims = x.dim() - 2
    stride, padding, dilation = (_pairs(v, dims)
                                 for v in (stride, padding, dilation))
    grad_x = grad_weight = grad_bias = None
    if mask[0]:
        left = [x.shape[2 + d] - (
            (grad.shape[2 + d] - 1) * stride[d] - 2 * padding[d]
            + dilation[d] * (weight.shape[2 + d] - 1) + 1)
            for d in range(dims)]
        grad_x = aten.convolution(grad, weight, None, stride, padding, dilation,
                                  True, left, groups)
    if mask[1]:
        grad_weight = _weight_gradient(grad, x, weight, stride, padding,
                                       dilation, groups)
    if mask[2]:
        grad_bias = grad.sum([0, *range(2, grad.dim())])
    return grad_x, grad_weight, grad_bias


def _weight_gradient(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor,
                     stride: list[int], padding: list[int],
                     dilation: list[int], groups: int) -> torch.Tensor:
    batch, channels, kept = x.shape[0], x.shape[1] // groups, weight.shape[0]
    # [N, G*C, …] to [C, G*N, …]: one group of the convolution for each of G.
    swapped = x.reshape(batch, groups, channels, *x.shape[2:]).transpose(0, 2)
    swapped = swapped.reshape(channels, groups * batch, *x.shape[2:])
    # [N, K, …] to [K, N, …], where K is by groups.
    kernel = grad.transpose(0, 1)
    made = aten.convolution(swapped, kernel, None, dilation, padding, stride,
                            False, [0] * len(stride), groups)
    for d in range(len(stride)):
        made = made.narrow(2 + d, 0, weight.shape[2 + d])
    assert made.shape[:2] == (channels, kept)
    return made.transpose(0, 1)


def _max_pool2d_backward(grad: torch.Tensor, x: torch.Tensor,
                         kernel_size: Any, stride: Any, padding: Any,
                         dilation: Any, ceil_mode: bool,
                         indices: torch.Tensor) -> torch.Tensor:
    """Each gradient goes where the greatest element was."""
    planes, size = x.shape[:-2].numel(), x.shape[-2] * x.shape[-1]
    zeros = grad.new_zeros([planes, size])
    return zeros.scatter_add(1, indices.reshape(planes, -1),
                             grad.reshape(planes, -1)).reshape(x.shape)


def _avg_pool2d_backward(grad: torch.Tensor, x: torch.Tensor, kernel_size: Any,
                         stride: Any, padding: Any, ceil_mode: bool,
                         count_include_pad: bool,
                         divisor_override: int | None) -> torch.Tensor:
    """A transposed convolution of each plane by ones."""
    kernel = _pairs(kernel_size, 2)
    stride, padding = _pairs(stride or kernel, 2), _pairs(padding, 2)
    if ceil_mode or (any(padding) and not count_include_pad
                     and not divisor_override):
        raise UnsupportedError("the gradient of an average pool whose windows "
                               "have different sizes is not computed")
    count = divisor_override or kernel[0] * kernel[1]
    plane = grad.reshape(-1, 1, *grad.shape[-2:]) / count
    left = [x.shape[d - 2] - ((grad.shape[d - 2] - 1) * stride[d]
                              - 2 * padding[d] + kernel[d]) for d in range(2)]
    ones = grad.new_ones([1, 1, *kernel])
    return aten.convolution(plane, ones, None, stride, padding, [1, 1], True,
                            left, 1).reshape(x.shape)


def table() -> dict[Any, Callable[..., Any]]:
    """For AOTAutograd: those of core ATen, and these."""
    from torch._decomp import core_aten_decompositions, get_decompositions
    found = dict(core_aten_decompositions())
    # ONNX's own has other statistics in training.
    found.update(get_decompositions([
        aten._native_batch_norm_legit, aten._native_batch_norm_legit_functional,
        aten._native_batch_norm_legit_no_training, aten.native_batch_norm,
        aten._batch_norm_with_update, aten._batch_norm_with_update_functional,
        aten._batch_norm_no_update, aten.batch_norm_backward,
        aten.native_batch_norm_backward]))
    found[aten.convolution_backward.default] = _convolution_backward
    found[aten.max_pool2d_with_indices_backward.default] = _max_pool2d_backward
    found[aten.avg_pool2d_backward.default] = _avg_pool2d_backward
    return found
