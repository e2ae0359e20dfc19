"""Modules that PyTorch itself runs on many devices, as a plan divides them.

The module's parameters become DTensors. Its forward pass becomes that of the
graph which was planned: before each operator, operands are brought to the layouts
that the plan gives them, by DTensor's collectives; products and attention compute on
local tensors, all else as DTensor does. Gradients come from autograd.
"""

from __future__ import annotations

import re
from typing import Any, Sequence

import torch
from torch import fx
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

from .._errors import UsageError
from ._module_plan import (CONVOLUTIONS, PRODUCTS, VIEWS, ModulePlan, read_plan,
                           transposed)
from ._moves import Versions, converted
from ._placements import viewed

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

    def run(self, *args: Any, **options: Any) -> Any:
        self._versions.clear()
        return super().run(*args, **options)

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
        return self._versions.setdefault(source, Versions(value)).as_in(placements)

    def run_node(self, node: fx.Node) -> Any:
        result = self._run(node)
        for dead in self.user_to_last_uses.get(node, ()):
            self._versions.pop(dead, None)
        return result

    def _run(self, node: fx.Node) -> Any:
        if node.op != "call_function":
            return super().run_node(node)
        args, keywords = self.fetch_args_kwargs_from_env(node)
        if not any(isinstance(value, DTensor) for value in
                   torch.utils._pytree.tree_leaves((args, keywords))):
            return node.target(*args, **keywords)
        args, keywords = torch.utils._pytree.tree_map_only(
            torch.Tensor, self._spread, (args, keywords))
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
        return node.target(*self._moved(node, args), **keywords)

    def _moved(self, node: fx.Node, args: Any) -> Any:
        """Operands where the plan wants them; `args` are values of the node's."""
        found = self._plan.operands(node)

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
        split_n = [not isinstance(w, Replicate) and not isinstance(r, Partial)
                   for w, r in zip(made.weight, made.result)]
        split_k = [isinstance(r, Partial) for r in made.result]
        rows = [not isinstance(x, Replicate) and not k
                for x, k in zip(made.x, split_k)]
        x = _local(self._in(node.args[at_x], args[at_x], made.x), split_n)
        weight = self._in(node.args[at], args[at], made.weight if is_kn else
                          [transposed(p) for p in made.weight])
        weight = _local(weight if is_kn else weight.t(), rows)
        result = (node.target(x, weight, None, *args[3:]) if is_conv else
                  x @ weight)
        bias = args[at_bias] if at_bias is not None and len(
            args) > at_bias else None
        if bias is not None:
            part = _local(self._in(node.args[at_bias], bias, made.bias),
                          [a or b for a, b in zip(rows, split_k)])
            if is_conv:
                part = part.reshape(-1, *[1] * (result.dim() - 2))
            # Of a sum, one device adds it.
            first = all(self._mesh.get_local_rank(axis) == 0
                        for axis, is_split in enumerate(split_k) if is_split)
            result = result + part if first else result + part * 0
        return DTensor.from_local(
            result, self._mesh, made.result, run_check=False,
            shape=node.meta["val"].shape, stride=node.meta["val"].stride())

    def _attention(self, node: fx.Node, args: Sequence[Any],
                   keywords: Any) -> DTensor:
        """Each device computes the heads and sequences that the plan gives it."""
        wanted = list(self._whole)
        splits = ", ".join(row["split"] for row in self._plan.rows(node)
                           if row["op"] == "nn.attention")
        for loop, axes in re.findall(r"(\w+)@([\w.]+)", splits):
            for axis in axes.split("."):
                number = list(self._plan.axes).index(axis)
                if loop in ("b", "h"):
                    wanted[number] = Shard(0 if loop == "b" else 1)
        if not splits:
            wanted = [p if p in (Shard(0), Shard(1)) else Replicate()
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
