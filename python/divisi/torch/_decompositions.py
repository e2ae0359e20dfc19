"""Operators that ONNX has no equal of, by others: those of backward graphs, and the
fused ones that modules call where no gradients are wanted."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

from .._errors import UnsupportedError
from ._experts import grouped_product, of_transformers, transformers_product

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


def _empty_permuted(size: Sequence[int], order: Sequence[int],
                    **options: Any) -> torch.Tensor:
    """Elements that all are written to. Programs know no strides."""
    return torch.zeros(size, dtype=options.get("dtype"))


def _mask_of(mask: torch.Tensor | None, kind: int | None, length: int
             ) -> torch.Tensor | None:
    """The mask of a fused operator, as scaled_dot_product_attention takes it."""
    if mask is None:
        return None
    if kind == 1:  # of keys: [batch, keys]
        mask = mask.reshape(mask.shape[0], 1, 1, length)
    return mask.logical_not() if mask.dtype == torch.bool else mask


def _attention(x: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
               width: int, heads: int, in_weight: torch.Tensor,
               in_bias: torch.Tensor, out_weight: torch.Tensor,
               out_bias: torch.Tensor, mask: torch.Tensor | None = None,
               need_weights: bool = True, average: bool = True,
               mask_type: int | None = None) -> tuple[torch.Tensor, None]:
    """torch._native_multi_head_attention of one tensor with itself."""
    if need_weights or x is not key or x is not value:
        raise UnsupportedError("fused attention of several tensors, or with its "
                               "weights as a result, is not computed")
    batch, length = x.shape[0], x.shape[1]
    parts = torch.nn.functional.linear(x, in_weight, in_bias).chunk(3, -1)
    q, k, v = (part.reshape(batch, length, heads, width // heads)
               .transpose(1, 2) for part in parts)
    found = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, _mask_of(mask, mask_type, length))
    found = found.transpose(1, 2).reshape(batch, length, width)
    return torch.nn.functional.linear(found, out_weight, out_bias), None


def _encoder_layer(x: torch.Tensor, width: int, heads: int, in_weight: Any,
                   in_bias: Any, out_weight: Any, out_bias: Any, is_gelu: bool,
                   norm_first: bool, epsilon: float, scale1: Any, shift1: Any,
                   scale2: Any, shift2: Any, up_weight: Any, up_bias: Any,
                   down_weight: Any, down_bias: Any, mask: Any = None,
                   mask_type: int | None = None) -> torch.Tensor:
    """torch._transformer_encoder_layer_fwd."""
    functional = torch.nn.functional
    act = functional.gelu if is_gelu else functional.relu

    def attend(x: torch.Tensor) -> torch.Tensor:
        return _attention(x, x, x, width, heads, in_weight, in_bias, out_weight,
                          out_bias, mask, False, True, mask_type)[0]

    def feed(x: torch.Tensor) -> torch.Tensor:
        return functional.linear(act(functional.linear(x, up_weight, up_bias)),
                                 down_weight, down_bias)

    def norm(x: torch.Tensor, scale: Any, shift: Any) -> torch.Tensor:
        return functional.layer_norm(x, [width], scale, shift, epsilon)

    if norm_first:
        x = x + attend(norm(x, scale1, shift1))
        return x + feed(norm(x, scale2, shift2))
    x = norm(x + attend(x), scale1, shift1)
    return norm(x + feed(x), scale2, shift2)


def _cond(chosen: torch.Tensor, then: Any, other: Any, operands: Any) -> Any:
    """torch.cond, whose branches are functions of tensors: both are computed."""
    return tuple(torch.where(chosen, a, b)
                 for a, b in zip(then(*operands), other(*operands)))


#: By what modules call.
FUSED: dict[Any, Callable[..., Any]] = {
    torch._native_multi_head_attention: _attention,
    torch._transformer_encoder_layer_fwd: _encoder_layer,
    torch.ops.higher_order.cond: _cond,
    torch._grouped_mm: grouped_product,
    torch.nn.functional.grouped_mm: grouped_product,
    aten._grouped_mm.default: grouped_product,
}


def fused(target: Any) -> Any:
    """What stands for the target of a node, or that itself."""
    if str(target).startswith("transformers.grouped_mm_fallback"):
        return transformers_product
    return FUSED.get(target, target)


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
    found.update(of_transformers())
    found[aten.empty_permuted.default] = _empty_permuted
    found[aten.convolution_backward.default] = _convolution_backward
    found[aten.max_pool2d_with_indices_backward.default] = _max_pool2d_backward
    found[aten.avg_pool2d_backward.default] = _avg_pool2d_backward
    return found
