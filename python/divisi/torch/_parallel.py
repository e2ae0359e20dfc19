"""Modules that PyTorch itself runs on many devices, as a plan divides them.

The module's parameters become DTensors. Its forward pass becomes that of the
graph which was planned: before each operator, operands are brought to the layouts
that the plan gives them, by DTensor's collectives; products and attention compute on
local tensors, all else as DTensor does. Gradients come from autograd.
"""

from __future__ import annotations

import contextlib
import math
import re
from typing import Any, Sequence

import torch
from torch import fx
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

from .._errors import UsageError
from ._local_matmul import MATMULS, local_matmul
from ._module_plan import (CONVOLUTIONS, PRODUCTS, VIEWS, ModulePlan, groups_of,
                           read_plan, transposed)
from ._moves import Versions, converted
from ._placements import viewed
from ._received import Received

aten = torch.ops.aten
_SPLITS = (aten.split.Tensor, aten.chunk.default, aten.split_with_sizes.default)
_SAME = (aten.clone.default, aten.alias.default, aten.contiguous.default,
         aten.dropout.default)


def _local(value: DTensor, partial: Sequence[bool]) -> torch.Tensor:
    """The shard of `value`; its gradient is a sum over the axes where `partial`
    says so."""
    return value.to_local(grad_placements=[
        Partial() if is_partial else placement
        for is_partial, placement in zip(partial, value.placements)])


class _Runner(fx.Interpreter):
    """Runs the graph of a plan on a mesh."""

    def __init__(self, plan: ModulePlan, mesh: DeviceMesh) -> None:
        super().__init__(fx.GraphModule(torch.nn.Module(), plan.graph))
        self._plan = plan
        self._mesh = mesh
        self._whole = [Replicate() for _ in range(mesh.ndim)]
        self._versions: dict[fx.Node, Versions] = {}
        self._divided: dict[fx.Node, bool] = {}
        self._queries: dict[fx.Node, list[Any] | None] = {}
        self._received: Received | None = None
        self._has_run = False

    def run(self, *args: Any, **options: Any) -> Any:
        self._versions.clear()
        if self._has_run:
            return super().run(*args, **options)
        with Received() as self._received:
            outputs = super().run(*args, **options)
        self._plan.add_received(self._received.bytes)
        self._received, self._has_run = None, True
        return outputs

    def _spread(self, value: Any) -> DTensor:
        if isinstance(value, DTensor):
            return value
        return DTensor.from_local(value, self._mesh, self._whole,
                                  run_check=False)

    def _in(self, source: Any, value: Any, placements: Sequence[Any]) -> DTensor:
        """`value`, of the node `source`, as `placements` have it."""
        value = self._spread(value)
        if not isinstance(source, fx.Node):
            return converted(value, placements)
        versions = self._versions.setdefault(source, Versions(value))
        with self._caused_by(""):
            return versions.as_in(placements)

    def _caused_by(self, cause: str) -> contextlib.AbstractContextManager[None]:
        """For what is counted, in the first run: "" is the plan."""
        return contextlib.nullcontext() if self._received is None \
            else self._received.caused_by(cause)

    def run_node(self, node: fx.Node) -> Any:
        with self._caused_by(node.name):
            result = self._run(node)
        for dead in self.user_to_last_uses.get(node, ()):
            self._versions.pop(dead, None)
        return result

    def _run(self, node: fx.Node) -> Any:
        if node.op != "call_function":
            return super().run_node(node)
        args = self._given(node.args)
        keywords = {name: self._given(value)
                    for name, value in node.kwargs.items()}
        if not self._is_divided(node, (args, keywords)):
            return node.target(*args, **keywords)
        args = self._spread_all(args)
        keywords = {name: self._spread_all(value)
                    for name, value in keywords.items()}
        if node.name in self._plan.products:
            return self._product(node, args)
        if node.target is aten.scaled_dot_product_attention.default:
            return self._attention(node, args, keywords)
        if node.target in VIEWS:
            return self._view(node.target, args[0], node.meta["val"].shape)
        if node.target in _SAME and not (node.target is aten.dropout.default
                                         and args[2]):
            return args[0]  # which DTensor would bring a sum together for
        if node.target in _SPLITS:
            found = self._split(node, args)
            if found is not None:
                return found
        args = self._moved(node, args)
        if node.target is aten.cat.default:  # caches begin as [0]
            args[0] = [value for value in args[0] if value.shape != (0,)] \
                or args[0]
        if node.target in MATMULS and (made := local_matmul(
                node.target, *args, node.meta["val"].shape)) is not None:
            return made
        try:
            return node.target(*args, **keywords)
        except NotImplementedError:
            return self._whole_of(node, args, keywords)

    def _given(self, argument: Any) -> Any:
        """An argument of a node, or several, with values in place of nodes."""
        if isinstance(argument, fx.Node):
            return self.env[argument]
        if isinstance(argument, (list, tuple)):
            made = [self._given(each) for each in argument]
            return made if isinstance(argument, list) else tuple(made)
        if isinstance(argument, slice):
            return slice(*map(self._given, (argument.start, argument.stop,
                                            argument.step)))
        return argument

    def _is_divided(self, node: fx.Node, values: Any) -> bool:
        """Whether some of what a node computes with is on the mesh, as in each
        run."""
        if node not in self._divided:
            self._divided[node] = any(
                isinstance(value, DTensor)
                for value in torch.utils._pytree.tree_leaves(values))
        return self._divided[node]

    def _spread_all(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._spread(value)
        if isinstance(value, (list, tuple)):
            made = [self._spread_all(each) for each in value]
            return made if isinstance(value, list) else tuple(made)
        return value

    def _whole_of(self, node: fx.Node, args: Any, keywords: Any) -> Any:
        """By an operator that DTensor has no rule for: all devices compute all."""
        self._plan.add_to_report(f"{node.name}: DTensor has no rule for "
                                 f"{node.target}; all devices compute all of it")
        args, keywords = torch.utils._pytree.tree_map_only(
            DTensor, lambda value: converted(value, self._whole).to_local(
                grad_placements=self._whole), (args, keywords))
        return torch.utils._pytree.tree_map_only(
            torch.Tensor, self._spread, node.target(*args, **keywords))

    def _moved(self, node: fx.Node, args: Any) -> Any:
        """Operands where the plan wants them; `args` are values of the node's."""
        found = self._plan.operands(node)
        if not found:
            return list(args)

        def move(source: Any, value: Any) -> Any:
            if isinstance(source, (list, tuple)) and isinstance(value, (list, tuple)):
                return type(value)(map(move, source, value))
            return self._in(source, value, found[source]) if isinstance(
                source, fx.Node) and source in found and isinstance(
                    value, DTensor) else value

        return [move(source, value) for source, value in zip(node.args, args)]

    def _product(self, node: fx.Node, args: Sequence[Any]) -> DTensor:
        at_x, at, at_bias, is_kn = PRODUCTS.get(node.target, (0, 1, 2, True))
        is_conv = node.target in CONVOLUTIONS
        made = self._plan.products[node.name]
        # Where one is divided and the other whole, the whole one's gradient is a
        # sum; groups of a convolution divide both.
        whole_x = [isinstance(p, Replicate) for p in made.x]
        whole_w = [isinstance(p, Replicate) for p in made.weight]
        split_n = [x and not w for x, w in zip(whole_x, whole_w)]
        rows = [w and not x for x, w in zip(whole_x, whole_w)]
        split_k = [isinstance(r, Partial) for r in made.result]
        x = _local(self._in(node.args[at_x], args[at_x], made.x), split_n)
        weight = self._in(node.args[at], args[at], made.weight if is_kn else
                          [transposed(p) for p in made.weight])
        weight = _local(weight, rows)
        bias = args[at_bias] if at_bias is not None and len(
            args) > at_bias else None
        if bias is not None:
            bias = _local(self._in(node.args[at_bias], bias, made.bias),
                          [a or b for a, b in zip(rows, split_k)])
        if is_conv:
            result = node.target(x, weight, None, *self._window(node, made))
            bias = bias if bias is None else bias.reshape(
                -1, *[1] * (result.dim() - 2))
        elif any(split_k):
            result = x @ (weight if is_kn else weight.t())
        else:
            result = torch.nn.functional.linear(
                x, weight.t() if is_kn else weight, bias)
            bias = None
        if bias is not None:
            # Of a sum, one device adds it.
            first = all(self._mesh.get_local_rank(axis) == 0
                        for axis, is_split in enumerate(split_k) if is_split)
            result = result + bias if first else result + bias * 0
        return DTensor.from_local(
            result, self._mesh, made.result, run_check=False,
            shape=node.meta["val"].shape, stride=node.meta["val"].stride())

    def _window(self, node: fx.Node, made: Any) -> list[Any]:
        """The arguments of a convolution after the bias, of one device."""
        found = list(node.args[3:])
        if groups_of(node) > 1:
            found[-1] //= math.prod(
                extent for extent, x, w in zip(self._mesh.shape, made.x, made.weight)
                if Replicate() not in (x, w))
        return found

    def _heads(self, node: fx.Node) -> list[Any] | None:
        """Where the plan has the queries of an attention; None where it says
        nothing of it."""
        if node not in self._queries:
            wanted = list(self._whole)
            splits = ", ".join(row["split"] for row in self._plan.rows(node)
                               if row["op"] == "nn.attention")
            for loop, axes in re.findall(r"(\w+)@([\w.]+)", splits):
                for axis in axes.split("."):
                    number = list(self._plan.axes).index(axis)
                    if loop in ("b", "h"):
                        wanted[number] = Shard(0 if loop == "b" else 1)
            self._queries[node] = wanted if splits else None
        return self._queries[node]

    def _attention(self, node: fx.Node, args: Sequence[Any],
                   keywords: Any) -> DTensor:
        """Each device computes the heads and sequences that the plan gives it."""
        wanted = self._heads(node) or [
            p if p in (Shard(0), Shard(1)) else Replicate()
            for p in self._spread(args[0]).placements]
        none = [False] * len(wanted)
        parts = [_local(self._in(source, value, wanted), none)
                 for source, value in zip(node.args[:3], args)]
        mask = args[3] if len(args) > 3 else keywords.get("attn_mask")
        if mask is not None:
            extents = (1, 1, *mask.shape)[-4:]
            lies = [p if isinstance(p, Shard) and extents[p.dim] > 1
                    else Replicate() for p in wanted]
            lies = [Shard(p.dim - 4 + mask.dim()) if isinstance(p, Shard) else p
                    for p in lies]
            mask = self._spread(mask).redistribute(placements=lies).to_local()
        keywords = {**keywords, "attn_mask": mask}
        return DTensor.from_local(
            node.target(*parts, *(args[4:5]), **keywords) if len(args) < 5
            else node.target(*parts, mask, *args[4:]), self._mesh, wanted,
            run_check=False)

    def _split(self, node: fx.Node, args: Sequence[Any]) -> Any:
        """Equal parts of a dimension that is split within each part."""
        value, sizes = args[0], args[1]
        dim = (args[2] if len(args) > 2 else 0) % value.dim()
        extent = value.shape[dim]
        if node.target is aten.chunk.default:
            sizes = -(-extent // sizes)
        if isinstance(sizes, (list, tuple)):
            if len(set(sizes)) != 1:
                return None
            sizes = sizes[0]
        if extent % sizes or not any(
                getattr(p, "dim", None) == dim for p in value.placements):
            return None
        shape = [*value.shape[:dim], extent // sizes, sizes,
                 *value.shape[dim + 1:]]
        return aten.unbind.int(self._view(aten.view.default, value, shape), dim)

    def _view(self, target: Any, value: DTensor, shape: Sequence[int]) -> Any:
        """On local tensors: DTensor's own views do not take two axes in the
        middle of a dimension."""
        shape = torch.Size(shape)
        made = viewed(value.placements, value.shape, shape, self._mesh.shape)
        if made is None:
            return target(value, shape)
        placements, extents = made
        return DTensor.from_local(
            value.to_local(grad_placements=[
                Replicate() if isinstance(p, Partial) else p
                for p in value.placements]).reshape(extents),
            self._mesh, placements, run_check=False, shape=shape,
            stride=torch.empty(shape, device="meta").stride())


def _distribute(value: torch.Tensor, mesh: DeviceMesh,
                placements: Sequence[Any]) -> DTensor:
    """The shards of what every process has, without a collective."""
    whole = DTensor.from_local(value.detach(), mesh,
                               [Replicate() for _ in placements],
                               run_check=False)
    return whole.redistribute(placements=placements)


def parallelize(module: torch.nn.Module, plan: Any, device_mesh: DeviceMesh, *,
                gather_outputs: bool = True) -> torch.nn.Module:
    """Divides `module`, which every process has whole and alike, over a mesh of
    the plan's extents, and returns it. `plan` is a ModulePlan, or what
    read_plan() takes: the path of an exported one. The module then takes inputs
    of the shapes that were planned, the same in all processes; its parameters are
    DTensors. Outputs are whole tensors, or with `gather_outputs=False` DTensors as
    they were computed."""
    if not isinstance(plan, ModulePlan):
        plan = read_plan(module, plan)
    extents = list(plan.axes.values())
    if list(device_mesh.shape) != extents:
        raise UsageError(f"the mesh is {list(device_mesh.shape)}; the plan is for "
                         f"{extents} ({', '.join(plan.axes)})")
    placed: dict[int, Any] = {}
    for name, placements in plan.parameters.items():
        home, _, last = name.rpartition(".")
        owner = module.get_submodule(home)
        value = getattr(owner, last)
        if id(value) not in placed:
            made: Any = _distribute(value, device_mesh, placements)
            if isinstance(value, torch.nn.Parameter):
                made = torch.nn.Parameter(made, value.requires_grad)
            placed[id(value)] = (value, made)
    for owner in module.modules():
        for table in (owner._parameters, owner._buffers):
            for name, value in table.items():
                if id(value) in placed:
                    table[name] = placed[id(value)][1]
    runner = _Runner(plan, device_mesh)

    def forward(*inputs: Any) -> Any:
        flat = iter(torch.utils._pytree.tree_leaves((inputs, {})))
        given = []
        for index, name in enumerate(plan.sources):
            if name:
                home, _, last = name.rpartition(".")
                given.append(getattr(module.get_submodule(home), last))
            elif index in plan.constants:
                given.append(plan.constants[index])
            else:
                value = next(flat)
                given.append(runner._spread(value) if isinstance(
                    value, torch.Tensor) else value)
        outputs = runner.run(*given)
        if gather_outputs:
            outputs = [value.full_tensor() if isinstance(value, DTensor)
                       else value for value in outputs]
        return torch.utils._pytree.tree_unflatten(outputs, plan.out_spec)

    module.forward = forward
    return module


def state_dict(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The state of a parallelized module as whole tensors, in the order that
    the module has them without it. All processes call it at once."""
    return {name: value.full_tensor() if isinstance(value, DTensor) else value
            for name, value in module.state_dict().items()}
