"""What a graph of Dynamo does beside computing its outputs.

An artifact is a function: it reads inputs and makes new outputs. A graph may also
write to its inputs, and its outputs may share memory with inputs. This finds out
by running the graph on tensors without data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from .._errors import UnsupportedError


@dataclass
class Analysis:
    """Of one graph, at the shapes of its inputs."""

    #: What the graph returns, flat: tensors without data, or other values.
    outputs: list[Any]
    #: Whether it neither writes to inputs nor returns memory of theirs.
    is_plain: bool


def storage_of(value: torch.Tensor) -> int:
    """The same of those that share memory."""
    return value.untyped_storage()._cdata


def outputs_of(graph: fx.Graph) -> tuple[Any, ...]:
    """The arguments of its output: nodes, and values of Python."""
    [output] = [node for node in graph.nodes if node.op == "output"]
    given = output.args[0]
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def check_inputs(inputs: Sequence[Any]) -> None:
    """Refuses what no artifact takes."""
    for value in inputs:
        if not isinstance(value, torch.Tensor):
            continue
        if value.device.type != "cpu":
            raise UnsupportedError(
                f"a tensor on {value.device}; tensors in the memory of the host "
                "are taken, and GPUs are those of a cluster, such as "
                "options={'cluster': 'dgx-h100:8'}")
        if value.layout != torch.strided or type(value) not in (
                torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            raise UnsupportedError(
                f"a {type(value).__name__} of layout {value.layout}; plain "
                "tensors are taken")
        if value.is_quantized or value.is_conj() or value.is_neg():
            raise UnsupportedError("a tensor whose elements are not its memory's "
                                   "(quantized, conjugated or negated)")


def analyse(module: fx.GraphModule, inputs: Sequence[Any]) -> Analysis:
    """Runs `module` without data on inputs like `inputs`."""
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
        fakes = [mode.from_tensor(value, static_shapes=True)
                 if isinstance(value, torch.Tensor) else value
                 for value in inputs]
        tensors = [fake for fake in fakes if isinstance(fake, torch.Tensor)]
        versions = [tensor._version for tensor in tensors]
        outputs = module(*fakes)
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    is_plain = versions == [tensor._version for tensor in tensors]
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    given = {storage_of(tensor) for tensor in tensors}
    is_plain = is_plain and not any(
        isinstance(value, torch.Tensor) and node not in placeholders
        and storage_of(value) in given
        for node, value in zip(outputs_of(module.graph), outputs))
    return Analysis(outputs, is_plain)
