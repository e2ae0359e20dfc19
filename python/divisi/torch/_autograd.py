"""Graphs that write to their inputs, share memory, or are differentiated.

AOTAutograd makes functions of them: what was written becomes outputs, which it
copies back; views are made again from their bases; and where gradients are wanted
there is a graph of the forward and one of the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Sequence

from torch import fx

from ._decompositions import table


def needs_gradients(inputs: Sequence[Any]) -> bool:
    """Whether a run of a graph now is recorded for its gradients."""
    import torch
    return torch.is_grad_enabled() and any(
        isinstance(value, torch.Tensor) and value.requires_grad
        for value in inputs)


def through_autograd(module: fx.GraphModule, inputs: Sequence[Any],
                     compile_graph: Callable[..., Callable[..., Any]]
                     ) -> Callable[..., Any]:
    """`module` by graphs of ATen's operators, each of which `compile_graph`
    makes a function of."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.partitioners import (
        min_cut_rematerialization_partition)
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def boxed(graph: fx.GraphModule, given: Sequence[Any]) -> Any:
        return make_boxed_func(compile_graph(graph, given))

    # The other kernels of attention have gradients of their own, which only
    # they compute.
    with sdpa_kernel(SDPBackend.MATH):
        return aot_autograd(
            fw_compiler=boxed, bw_compiler=boxed, inference_compiler=boxed,
            decompositions=table(),
            partition_fn=min_cut_rematerialization_partition)(module, inputs)
