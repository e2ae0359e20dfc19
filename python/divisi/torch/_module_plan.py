"""Plans of modules: how a module's parameters and activations are divided."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Sequence

import torch
from torch import fx
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

from .. import _plan
from .._errors import UnsupportedError, UsageError
from ._export import _quiet, _failure, rename
from ._operands import merge_views, wanted
from ._placements import Layout, Product, factored, product
from ._plan_file import NAMES, example_inputs, layouts_of, read

aten = torch.ops.aten
#: Of operators x @ w: the places of x, w and bias among arguments, and whether w
#: is [k, n].
PRODUCTS = {
    aten.linear.default: (0, 1, 2, False), aten.addmm.default: (1, 2, 0, True),
    aten.mm.default: (0, 1, None, True), aten.matmul.default: (0, 1, None, True),
}
VIEWS = (aten.view.default, aten.reshape.default, aten._unsafe_view.default)
CONVOLUTIONS = (aten.conv1d.default, aten.conv2d.default, aten.conv3d.default,
                aten.convolution.default)


class ModulePlan:
    """A plan of a module for the shapes of its example inputs. Made by plan()."""

    def __init__(self, module: torch.nn.Module, inputs: Sequence[Any],
                 options: Mapping[str, Any],
                 exported: Mapping[str, Any] | None = None,
                 backward: bool = False) -> None:
        with torch.no_grad():
            program = torch.export.export(module, tuple(inputs), strict=False)
        signature = program.graph_signature
        #: For each input of the graph the parameter or buffer, or None.
        self.sources = [
            spec.target if spec.kind.name in ("PARAMETER", "BUFFER") else None
            for spec in signature.input_specs]
        self.constants = {
            index: program.constants[spec.target]
            for index, spec in enumerate(signature.input_specs)
            if spec.kind.name == "CONSTANT_TENSOR"}
        if any(spec.kind.name != "USER_OUTPUT" for spec in
               program.run_decompositions({}).graph_signature.output_specs):
            raise UnsupportedError("the module writes to its buffers or inputs; "
                                   "such a module is not parallelized")
        self.out_spec = program.call_spec.out_spec
        self.graph, model = _lifted(program, module, inputs, self.sources)
        #: The plan of its ONNX model; None of one that was read.
        self.plan: Any = None
        if exported is None:
            if backward:
                options = {**_training(module, model), **options}
            # PyTorch runs the operators that the module has.
            self.plan = _plan.plan(model, **{"progress": False, "rewrite": "off",
                                             **options})
            self.layouts = self.plan.layouts
            forward = {node.name for node in model.graph.node}
            #: The collectives of the forward pass, as explain("dict") has them; a
            #: plan that was read knows none.
            self.collectives = [
                each for each in self.plan.explain("dict")["collectives"]
                if each["node"] in forward or not options.get("train")]
        else:
            self.collectives = []
            self.layouts = layouts_of(exported)
        if len(self.layouts["grids"]) != 1:
            raise UnsupportedError("plans on several grids have no device mesh")
        #: The axes of the mesh, and their extents.
        self.axes = {name: int(extent) for name, extent in re.findall(
            r"(\w+)=(\d+)", self.layouts["grids"][0]["axes"])}
        #: What DTensor cannot say, and what is done instead.
        self.report: list[str] = list((exported or {}).get("report", []))
        merge_views(self.graph, (*VIEWS, aten.transpose.int, aten.permute.default))
        self._nodes = _rows(model, self.layouts)
        self._tensors = {row["name"]: row for row in self.layouts["tensors"]}
        #: Of products with weights, by the names of nodes.
        self.products: dict[str, Product] = {}
        self._operands: dict[fx.Node, dict[fx.Node, list[Any]]] = {}
        self.parameters = self._parameters()
        self._check()
        self._names = self._tie(module)

    def _tie(self, module: torch.nn.Module) -> list[str]:
        """Names of one tensor are placed alike: as the one that the graph reads.
        Returns a name of each tensor."""
        state = {**dict(module.named_parameters(remove_duplicate=False)),
                 **dict(module.named_buffers(remove_duplicate=False))}
        read = {name for name, node in zip(self.sources, self.graph.nodes)
                if name and node.users}
        chosen: dict[int, str] = {}
        for name in sorted(self.parameters, key=lambda name: name not in read):
            first = chosen.setdefault(id(state[name]), name)
            if name in read:
                self._place(self.parameters, first, self.parameters[name])
            self.parameters[name] = self.parameters[first]
        return list(chosen.values())

    def _check(self) -> None:
        """Refuses what DTensor gathers in another order than it was divided."""
        for name, placements in self.parameters.items():
            strided = [axis for axis, placement in zip(self.axes, placements)
                       if hasattr(placement, "split_factor")]
            if len(strided) > 1:
                raise UnsupportedError(
                    f"{name}: the plan divides a factor in the middle of a "
                    f"dimension over the axes {' and '.join(strided)}, which "
                    "DTensor cannot gather; plan on a mesh that has one axis for "
                    f"both, such as mesh={{'model': "
                    f"{math.prod(self.axes[a] for a in strided)}}}")

    def rows(self, node: fx.Node) -> list[dict[str, Any]]:
        """The plan's operators of a node."""
        return self._nodes.get(node.name, [])

    def _layout(self, text: str, what: str) -> Layout | None:
        layout = Layout.of(text)
        if layout is None:
            self.report.append(f"{what}: DTensor has no placement for {text}; it "
                               "is left to DTensor's own choice")
        return layout

    def _parameters(self) -> dict[str, list[Any]]:
        """The placements of all that the module has, by name."""
        found: dict[str, list[Any]] = {}
        inputs = [n for n in self.graph.nodes if n.op == "placeholder"]
        owners = dict(zip(inputs, self.sources))
        for node in self.graph.nodes:
            if node.target in PRODUCTS and self._product(node, owners):
                _, at, bias, is_kn = PRODUCTS[node.target]
                made = self.products[node.name]
                placements = made.weight if is_kn else [
                    transposed(p) for p in made.weight]
                self._place(found, owners[node.args[at]], placements)
                if bias is not None and len(node.args) > bias and \
                        owners.get(node.args[bias]):
                    self._place(found, owners[node.args[bias]], made.bias)
            elif node.target in CONVOLUTIONS and self._convolution(node, owners):
                made = self.products[node.name]
                self._place(found, owners[node.args[1]], made.weight)
                if len(node.args) > 2 and owners.get(node.args[2]):
                    self._place(found, owners[node.args[2]], made.bias)
        for node, name in owners.items():
            if name is None or name in found:
                continue
            placements = None
            row = self._tensors.get(name)
            if row and (layout := self._layout(row["layout"], name)):
                placements = factored(layout, row["shape"],
                                      node.meta["val"].shape, self.axes)
            found[name] = placements or [Replicate() for _ in self.axes]
        return found

    def _place(self, found: dict[str, list[Any]], name: str,
               placements: list[Any]) -> None:
        if found.setdefault(name, placements) != placements:
            self.report.append(
                f"{name} is used twice, as {found[name]} and as {placements}; it "
                "rests as the first, and is moved for the second in each run")

    def _product(self, node: fx.Node, owners: Mapping[fx.Node, Any]) -> bool:
        """Whether `node` is a product with a weight that the plan divides so
        that DTensor can say it, which is then known."""
        at_x, at, _, is_kn = PRODUCTS[node.target]
        x, weight = node.args[at_x], node.args[at]
        name = owners.get(weight)
        rows = [row for row in self.rows(node) if row["op"] == "nn.matmul"]
        if not name or len(rows) != 1 or weight.meta["val"].dim() != 2:
            return False
        layouts = [self._layout(text, node.name) for text in
                   (*rows[0]["operands"][:2], rows[0]["results"][0])]
        shape = list(weight.meta["val"].shape)
        shape = shape if is_kn else shape[::-1]
        batch = list(x.meta["val"].shape[:-1])
        flat = [batch]
        if x.target is aten.view.default and len(batch) == 1:
            flat.insert(0, list(x.args[0].meta["val"].shape[:-1]))
        if None in layouts:
            return False
        for each in self._tensors.values():
            if each["name"] != name and not each["name"].startswith(
                    f"{name}.derived"):
                continue
            for rows_of in flat:
                made = product(*layouts, each["shape"], shape, self.axes,
                               rows_of, len(rows_of) != len(batch))
                if made is not None:
                    self.products[node.name] = made
                    return True
        self.report.append(f"{node.name}: the plan's division of {name} has no "
                           "placement; it is left to DTensor's own choice")
        return False

    def _convolution(self, node: fx.Node, owners: Mapping[fx.Node, Any]) -> bool:
        """The same of a convolution with a weight of the module's, whose outputs,
        inputs or images are divided. Where the plan divides images' areas, each
        device has all of them, for DTensor has no halos."""
        if not owners.get(node.args[1]):
            return False
        rows = [row for row in self.rows(node) if row["op"].startswith("nn.conv")]
        groups = groups_of(node)
        texts = [*rows[0]["operands"][:2], rows[0]["results"][0]] if len(
            rows) == 1 else []
        layouts = [Layout.of(text) for text in texts]
        made = Product([], [], [], [])
        for axis in self.axes:
            places = [layout and layout.dim_of(axis) for layout in layouts]
            x, weight, result = places or (None, None, None)
            extent = self.axes[axis]
            if groups > 1 and (x, weight, result) == (1, 0, 1) and \
                    None not in layouts and groups % extent == 0:
                made.weight.append(Shard(0))
                made.x.append(Shard(1))
                made.result.append(Shard(1))
                made.bias.append(Shard(0))
                continue
            if weight in (0, 1) and None not in layouts and groups == 1:
                made.weight.append(Shard(weight))
                made.x.append(Shard(1) if weight else Replicate())
                made.result.append(Partial() if weight else Shard(1))
                made.bias.append(Replicate() if weight else Shard(0))
                continue
            rest: Any = Shard(0) if x == 0 and None not in layouts \
                else Replicate()
            if not layouts or None in layouts or x not in (None, 0) or \
                    weight is not None:
                self.report.append(
                    f"{node.name}: along {axis} the plan divides {texts}; DTensor "
                    "has no halos, so all devices compute all of it")
            made.weight.append(Replicate())
            made.bias.append(Replicate())
            made.x.append(rest)
            made.result.append(rest)
        self.products[node.name] = made
        return True

    def add_to_report(self, line: str) -> None:
        """Once."""
        if line not in self.report:
            self.report.append(line)

    def add_received(self, received: Mapping[str, int]) -> None:
        """What a device has received in a call, by the nodes that DTensor has moved
        operands of on its own; by "", what the plan asks for."""
        extra = {name: count for name, count in received.items() if name and count}
        total = sum(received.values())
        planned = total - sum(extra.values()) if self.plan is None else sum(
            each["bytes"] for each in self.collectives)
        if extra or total != planned:
            others = "".join(f"; {count} of them at {name}, which DTensor computes "
                             "in another way than the plan"
                             for name, count in extra.items())
            self.add_to_report(f"a call moves {total} bytes to a device, {planned} "
                               f"are planned{others}")

    def operands(self, node: fx.Node) -> dict[fx.Node, list[Any]]:
        """Where the plan wants those operands of a node that it says."""
        if node not in self._operands:
            self._operands[node] = wanted(node, self._nodes, self.axes)
        return self._operands[node]

    def to_dict(self) -> dict[str, Any]:
        """The placements by parameter and by module, for files and for other
        programs, as `divisi export --to dtensor` writes them: parallelize()
        applies them."""
        modules: dict[str, Any] = {}
        calls = {id(row): name for name, rows in self._nodes.items()
                 for row in rows}
        for row in self.layouts["operators"]:
            modules.setdefault(row["layer"], {}).setdefault(
                "operators", []).append({**row, "torch": calls.get(id(row), "")})
        values = dict(zip(self.sources, (
            node.meta["val"] for node in self.graph.nodes)))
        for name, placements in self.parameters.items():
            owner, _, last = name.rpartition(".")
            modules.setdefault(owner, {}).setdefault("state_shardings", {})[
                last] = dict(zip(self.axes, map(repr, placements)))
        return {
            "format": "dtensor", "version": 1,
            "mesh": {"names": list(self.axes),
                     "shape": list(self.axes.values())},
            "inputs": [{"name": node.name, "shape": list(value.shape),
                        "dtype": NAMES[value.dtype]}
                       for name, node in zip(self.sources, self.graph.nodes)
                       for value in [node.meta["val"]]
                       if not name and isinstance(value, torch.Tensor)],
            "parameters": {name: {
                "shape": list(values[name].shape),
                "placements": [repr(p) for p in placements]}
                for name, placements in self.parameters.items()},
            "modules": modules, "tensors": self.layouts["tensors"],
            "report": self.report}

    def export(self, path: Any) -> None:
        """Writes to_dict() as JSON."""
        from .._files import replace_file
        with replace_file(path) as file:
            file.write(json.dumps(self.to_dict(), indent=1).encode())

    def bytes_per_device(self) -> int:
        """What one device holds of parameters and buffers."""
        total = 0
        sizes = {name: node.meta["val"].nbytes for name, node in zip(
            self.sources, self.graph.nodes) if name}
        for name in self._names:
            parts = math.prod(extent for extent, placement in zip(
                self.axes.values(), self.parameters[name])
                if not isinstance(placement, Replicate))
            total += sizes[name] // parts
        return total

    def __repr__(self) -> str:
        return f"<divisi.torch.ModulePlan on {self.axes}>"


def groups_of(node: fx.Node) -> int:
    """Of a convolution."""
    groups: Any = node.args[-1] if len(node.args) in (7, 9) else 1
    return int(groups)


def transposed(placement: Any) -> Any:
    if isinstance(placement, Replicate):
        return placement
    if factor := getattr(placement, "split_factor", None):
        return _StridedShard(1 - placement.dim, split_factor=factor)
    return Shard(1 - placement.dim)


def _lifted(program: torch.export.ExportedProgram, module: torch.nn.Module,
            inputs: Sequence[Any], sources: Sequence[str | None]
            ) -> tuple[fx.Graph, Any]:
    """The graph with all that the module has as inputs, so that the exporter folds
    none of it, and its ONNX model, in which weights are declared, without data."""
    state = {**dict(module.named_parameters(remove_duplicate=False)),
             **dict(module.named_buffers(remove_duplicate=False))}
    flat = iter(torch.utils._pytree.tree_leaves((tuple(inputs), {})))
    given = [state[spec.target] if spec.kind.name in ("PARAMETER", "BUFFER")
             else program.constants[spec.target]
             if spec.kind.name == "CONSTANT_TENSOR" else next(flat)
             for spec in program.graph_signature.input_specs]
    with _quiet(), torch.no_grad():
        lifted = torch.export.export(program.graph_module, tuple(given),
                                     strict=False)
        try:
            made = torch.onnx.export(lifted, (), dynamo=True, verbose=False)
        except Exception as error:
            raise _failure(error, program.graph_module) from error
    model = made.model_proto
    names = rename(model, [name or f"input.{index}"
                           for index, name in enumerate(sources)])
    _declare(model, {used: state[name] for used, name in zip(names, sources)
                     if name})
    return made.exported_program.graph, model


def _declare(model: Any, weights: Mapping[str, torch.Tensor]) -> None:
    """Makes inputs initializers whose bytes are nowhere: enough to plan, but for
    integers, such as indices, and scalars, which shapes may follow from."""
    import onnx
    inputs = list(model.graph.input)
    del model.graph.input[:]
    for value in inputs:
        if value.name not in weights:
            model.graph.input.append(value)
            continue
        weight, kind = weights[value.name].detach(), value.type.tensor_type
        if weight.numel() == 1 or not weight.is_floating_point():
            model.graph.initializer.append(onnx.helper.make_tensor(
                value.name, kind.elem_type, weight.shape,
                weight.contiguous().reshape(-1).view(torch.uint8).numpy()
                .tobytes(), raw=True))
            continue
        tensor = model.graph.initializer.add(
            name=value.name, data_type=kind.elem_type, dims=weight.shape,
            data_location=onnx.TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="weights")


def _rows(model: Any, layouts: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The plan's operators, by the names of the graph's nodes; one that was
    exported names them itself."""
    names = {}
    found: dict[str, list[Any]] = {}
    for node in model.graph.node:
        for entry in node.metadata_props:
            if entry.key == "pkg.torch.onnx.fx_node":
                names[node.name] = entry.value.split(" ")[0].lstrip("%")
    for row in layouts["operators"]:
        if name := row.get("torch", names.get(row["node"])):
            found.setdefault(name, []).append(row)
    return found


def plan(module: torch.nn.Module, example_inputs: Sequence[Any], *,
         backward: bool = False, **options: Any) -> ModulePlan:
    """Plans a module for parallelize(). `options` are those of divisi.plan(). With
    `backward` the plan is the best one for a forward and a backward pass, by which
    the parameters that require gradients get them; else for a forward pass."""
    return ModulePlan(module, example_inputs, options, backward=backward)


def _training(module: torch.nn.Module, model: Any) -> dict[str, Any]:
    """Options for a step whose loss and update cost little, so that what is planned
    is the gradients of parameters as a module has them."""
    read = {name for node in model.graph.node for name in node.input}
    names = [name for name, parameter in module.named_parameters(
        remove_duplicate=False) if parameter.requires_grad and name in read]
    if not names:
        raise UsageError("backward: no parameter of the module requires a gradient")
    return {"train": True, "loss": "mse", "optimizer": "sgd", "lr": 1.0,
            "recompute": "none", "train_only": ",".join(names)}


def read_plan(module: torch.nn.Module, source: Any,
              inputs: Sequence[Any] | None = None) -> ModulePlan:
    """The plan of a module that was exported: a file of `divisi export --to
    dtensor` or ModulePlan.export(), or its content as a dictionary. `inputs` are
    those of a call; else the file says their shapes and types."""
    exported = read(source)
    state = {name for name, _ in (*module.named_parameters(),
                                  *module.named_buffers())}
    if state and not state.intersection(exported["parameters"]):
        raise UsageError(
            "the plan is of another module: it has no parameter of this one, "
            f"such as '{sorted(state)[0]}'")
    if inputs is None:
        inputs = example_inputs(exported)
    return ModulePlan(module, inputs, {}, exported)
