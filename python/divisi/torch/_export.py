"""Graphs of PyTorch as ONNX models, in memory.

The model has an input for each tensor that the graph takes, its weights among
them, and an output for each different tensor that it makes. Its size is that of
the program, whatever the weights take.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import warnings
from dataclasses import dataclass, field
from typing import Any, Iterator, NamedTuple, Sequence

import torch
from torch import fx

from .._errors import Error, InvalidError, UnsupportedError
from ._analysis import outputs_of, storage_of
from ._cache import Cache, key_of
from ._decompositions import fused
from ._names import place_of

aten = torch.ops.aten
_RANDOM = {"RandomUniform", "RandomUniformLike", "RandomNormal",
           "RandomNormalLike", "Bernoulli", "Multinomial"}


class Kind(NamedTuple):
    """How an output of a model lies."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    storage: int  #: Outputs of the same number share memory.
    offset: int   #: Of its first element there, in elements.
    size: int     #: Of that memory, in bytes.


@dataclass
class Exported:
    """An ONNX model of a graph, and what its inputs and outputs are."""

    #: The model, serialized.
    content: bytes
    #: For each input of the model, the number of the graph's argument.
    arguments: list[int]
    #: Its inputs' names.
    names: list[str]
    #: For each output of the graph: ("output", n) of the model, ("argument", n)
    #: of the graph, or ("value", v).
    results: list[tuple[str, Any]]
    #: Of each output of the model.
    kinds: list[Kind]
    #: Of operators, by the names of nodes: (operator, where it stands).
    places: dict[str, tuple[str, str]] = field(default_factory=dict)


    def texts(self) -> bytes:
        """All but the model."""
        return json.dumps({
            "arguments": self.arguments, "names": self.names,
            "results": self.results, "places": self.places,
            "kinds": [kind._replace(dtype=str(kind.dtype)[6:])
                      for kind in self.kinds]}).encode()

    @staticmethod
    def of(content: bytes, texts: bytes) -> "Exported":
        """What texts() and `content` were of."""
        told = json.loads(texts)
        return Exported(
            content, told["arguments"], told["names"],
            [(kind, value) for kind, value in told["results"]],
            [Kind(tuple(shape), tuple(strides), getattr(torch, dtype), *lies)
             for shape, strides, dtype, *lies in told["kinds"]],
            {name: (operator, place)
             for name, (operator, place) in told["places"].items()})


def _of_tensors(module: fx.GraphModule, outputs: Sequence[Any]
                ) -> tuple[fx.GraphModule, list[tuple[str, Any]], list[Any]]:
    """A copy of `module` that returns each tensor which it makes once; what its
    results are; these tensors without data."""
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    graph.graph_copy(module.graph, copies)
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    results: list[tuple[str, Any]] = []
    made: dict[fx.Node, int] = {}
    tensors: list[Any] = []
    for node, value in zip(outputs_of(module.graph), outputs):
        if node in placeholders:
            results.append(("argument", placeholders.index(node)))
        elif isinstance(value, torch.Tensor):
            if node not in made:
                made[node] = len(made)
                tensors.append(value)
            results.append(("output", made[node]))
        elif isinstance(node, fx.Node):
            raise UnsupportedError(f"output {node} is a {type(value).__name__}; "
                                   "tensors are computed")
        else:
            results.append(("value", node))
    graph.output(tuple(copies[node] for node in made))
    for node in graph.nodes:
        node.target = fused(node.target)
    return fx.GraphModule(module, graph), results, tensors


def _kinds(tensors: Sequence[torch.Tensor]) -> list[Kind]:
    numbers: dict[int, int] = {}
    return [Kind(tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype,
                 numbers.setdefault(storage_of(tensor), len(numbers)),
                 int(tensor.storage_offset()),
                 int(tensor.untyped_storage().nbytes()))
            for tensor in tensors]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What the exporter tells of itself is not for users of a backend."""
    logger = logging.getLogger("torch.onnx")
    level, logger.level = logger.level, logging.ERROR
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(
                io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.level = level


def _failure(error: BaseException, module: fx.GraphModule) -> Error:
    """Why the exporter refuses the graph: the operator, where it stands, and
    what it says."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    text = str(error)
    found = re.search(r"target=([\w.:]+)", text) or re.search(
        r"No (?:ONNX function|decompositions) (?:found|registered) for "
        r"<?[^']*'?([\w.]+)", text)
    said = str(cause).strip().splitlines()
    place = ""
    for node in module.graph.nodes:
        if f"%{node.name} " in text or f"%{node.name}:" in text:
            place = place_of(node.meta.get("stack_trace"))
    place = place or place_of(text)
    operator = (f"operator {found[1].removeprefix('torch.ops.')}" if found
                else "an operator")
    return UnsupportedError(
        f"{operator}{f' ({place})' if place else ''} cannot be exported to ONNX: "
        f"{type(cause).__name__}: {said[0] if said else ''}")


def _export(module: fx.GraphModule, inputs: Sequence[Any],
            outputs: Sequence[Any], names: Sequence[str]) -> Exported:
    """export() without a cache."""
    copy, results, tensors = _of_tensors(module, outputs)
    try:
        with _quiet(), torch.no_grad():
            program = torch.export.export(copy, tuple(inputs), strict=False)
    except Exception as error:
        raise _failure(error, module) from error
    model = to_onnx(program, module)
    places = places_of(model)
    _check_random(model.graph, places)
    taken = [(index, name) for index, (value, name) in enumerate(
        zip(inputs, names)) if isinstance(value, torch.Tensor)]
    if len(model.graph.input) != len(taken):
        raise InvalidError(f"the exporter made {len(model.graph.input)} inputs, "
                           f"expected {len(taken)}")
    if len(model.graph.output) != len(tensors):
        raise InvalidError(f"the exporter made {len(model.graph.output)} outputs"
                           f", expected {len(tensors)}")
    used = rename(model, [name for _, name in taken])
    return Exported(
        model.SerializeToString(), [index for index, _ in taken], used, results,
        _kinds(tensors), places)


def export(module: fx.GraphModule, inputs: Sequence[Any],
           outputs: Sequence[Any], names: Sequence[str],
           cache: Cache) -> Exported:
    """`module` as a model, which the cache may have. `outputs` are its results
    without data, `names` those of its arguments. Raises UnsupportedError."""
    key = key_of(module, inputs, names)
    found = [cache.find(key, ending) for ending in (".json", ".onnx")]
    if all(found):
        with contextlib.suppress(OSError, ValueError, KeyError):
            return Exported.of(found[1].read_bytes(), found[0].read_bytes())
    exported = _export(module, inputs, outputs, names)
    with contextlib.suppress(TypeError):  # values that JSON has not
        texts = exported.texts()
        cache.keep(key, ".onnx", exported.content)
        cache.keep(key, ".json", texts)
    return exported


def _check_random(graph: Any, places: dict[str, tuple[str, str]]) -> None:
    """Refuses what draws random numbers: PyTorch's are those of its seed."""
    for node in graph.node:
        if node.op_type in _RANDOM:
            operator, place = places.get(node.name, (node.op_type, ""))
            raise UnsupportedError(
                f"operator {operator}{f' ({place})' if place else ''} draws "
                "random numbers, which are PyTorch's")
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                _check_random(inner, places)


# Of which the exporter computes those of small floats in float32, and says so of
# results.
_WIDENED = {aten.sum, aten.prod, aten.cumsum, aten.amax, aten.amin}


def _keep_types(graph: fx.Graph) -> None:
    """Casts results that the exporter leaves in a wider type."""
    for node in list(graph.nodes):
        value = node.meta.get("val")
        if getattr(node.target, "overloadpacket", None) not in _WIDENED or \
                value.dtype not in (torch.float16, torch.bfloat16):
            continue
        with graph.inserting_after(node):
            cast = graph.call_function(aten._to_copy.default, (node,),
                                       {"dtype": value.dtype})
        node.replace_all_uses_with(cast, lambda user, cast=cast: user is not cast)
        cast.meta = dict(node.meta)


def to_onnx(program: torch.export.ExportedProgram, module: Any = None) -> Any:
    """The model of an exported program. Raises UnsupportedError."""
    _keep_types(program.graph)
    try:
        with _quiet(), torch.no_grad():
            return torch.onnx.export(program, (), dynamo=True, verbose=False,
                                     external_data=False).model_proto
    except Exception as error:
        raise _failure(error, module or program.graph_module) from error


def rename(model: Any, names: Sequence[str]) -> list[str]:
    """Gives the inputs of a model these names, as far as no other value has
    them; returns those that they have now."""
    graph = model.graph
    taken = {name for node in graph.node for name in node.output}
    taken.update(initializer.name for initializer in graph.initializer)
    olds = [value.name for value in graph.input]
    new: dict[str, str] = {}
    for old, name in zip(olds, names):
        while name in taken:
            name += "_"
        taken.add(name)
        new[old] = name
    _rename_uses(graph, new)
    for value in graph.input:
        value.name = new[value.name]
    return [new[old] for old in olds]


def _rename_uses(graph: Any, new: dict[str, str]) -> None:
    for node in graph.node:
        for index, name in enumerate(node.input):
            if name in new:
                node.input[index] = new[name]
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                _rename_uses(inner, new)
    for value in graph.output:
        value.name = new.get(value.name, value.name)


def places_of(model: Any) -> dict[str, tuple[str, str]]:
    """By the names of nodes, their operators of PyTorch and lines of code."""
    found = {}
    for node in model.graph.node:
        told = {entry.key: entry.value for entry in node.metadata_props}
        target = re.search(r"target=torch\.ops\.([\w.]+)",
                           told.get("pkg.torch.onnx.fx_node", ""))
        found[node.name] = (target[1] if target else node.op_type,
                            place_of(told.get("pkg.torch.onnx.stack_trace")))
    return found
