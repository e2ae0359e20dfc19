"""The backend of torch.compile."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Sequence

import torch
from torch import fx

from .._errors import DivisiWarning, Error, UsageError
from ._analysis import Analysis, analyse, check_inputs
from ._autograd import needs_gradients, through_autograd
from ._cache import Cache
from ._export import export
from ._names import input_names, is_weight, place_of
from ._options import Options
from ._program import Program

_CALLS = ("call_function", "call_method", "call_module")


def _fall_back(module: fx.GraphModule, why: BaseException,
               options: Options) -> None:
    """Tells that PyTorch runs the graph, or raises."""
    if options.fallback == "error":
        raise why
    calls = [node for node in module.graph.nodes if node.op in _CALLS]
    first = place_of(calls[0].meta.get("stack_trace")) if calls else ""
    warnings.warn(
        f"a graph of {len(calls)} operators"
        f"{f', from {first}' if first else ''} is run by PyTorch: {why}",
        DivisiWarning, stacklevel=2)


class Graph:
    """A graph that is a function, compiled when it is called, once for each
    combination of shapes."""

    def __init__(self, module: fx.GraphModule, inputs: Sequence[Any],
                 options: Options) -> None:
        self._module = module
        self._options = options
        self._cache = Cache(options.cache)
        self._placeholders = [node for node in module.graph.nodes
                              if node.op == "placeholder"]
        self._names = input_names(self._placeholders)
        self._weights = [index for index, node in enumerate(self._placeholders)
                         if is_weight(node)
                         and isinstance(inputs[index], torch.Tensor)]
        #: Whether its inputs have extents that are known when it is called.
        self.is_open = any(isinstance(value, torch.SymInt) or (
            isinstance(value, torch.Tensor) and any(
                isinstance(extent, torch.SymInt) for extent in value.shape))
            for value in inputs)
        self._moving = [index for index in range(len(inputs))
                        if index not in self._weights]
        self._programs: dict[Any, Callable[..., Any]] = {}
        self._pending: dict[Any, Future] = {}
        self._has_fallen_back = False
        self._lock = threading.Lock()

    def compile(self, inputs: Sequence[Any], analysis: Analysis) -> None:
        """For inputs like these, now."""
        self._programs[self._key(inputs)] = self._compiled(inputs, analysis)

    @property
    def programs(self) -> list[Callable[..., Any]]:
        """Those that there are: Programs, and PyTorch's own."""
        return list(self._programs.values())

    def _key(self, arguments: Sequence[Any]) -> Any:
        if not self.is_open:
            return None
        return tuple(tuple(value.shape) if isinstance(value, torch.Tensor)
                     else value
                     for value in map(arguments.__getitem__, self._moving))

    def __call__(self, *arguments: Any) -> Any:
        key = self._key(arguments)
        program = self._programs.get(key)
        if program is None:
            program = self._find(key, arguments)
        return program(*arguments)

    def _find(self, key: Any, arguments: Sequence[Any]) -> Callable[..., Any]:
        with self._lock:
            if key in self._programs:
                return self._programs[key]
            if len(self._programs) >= self._options.max_shapes:
                return self._module.forward
            pending = self._pending.get(key)
            if pending is None:
                # Where AOTAutograd calls, the thread has modes set that no
                # other graph can be traced in; the worker has none.
                pending = self._pending[key] = _worker().submit(
                    self._compiled, list(arguments))
            if not self._options.background or pending.done():
                self._programs[key] = self._pending.pop(key).result()
                return self._programs[key]
            return self._module.forward

    def _compiled(self, arguments: Sequence[Any],
                  analysis: Analysis | None = None) -> Callable[..., Any]:
        """A program for arguments like these, or what PyTorch does."""
        try:
            check_inputs(arguments)
            analysis = analysis or analyse(self._module, arguments)
            exported = export(self._module, arguments, analysis.outputs,
                              self._names, self._cache)
            return Program(exported, self._weights, self._options, arguments,
                           self._cache)
        except Error as error:
            if not self._has_fallen_back:
                self._has_fallen_back = True
                _fall_back(self._module, error, self._options)
            return self._module.forward


_workers: list[ThreadPoolExecutor] = []


def _worker() -> ThreadPoolExecutor:
    """One thread, which compiles in the background."""
    if not _workers:
        _workers.append(ThreadPoolExecutor(1, "divisi-compile"))
    return _workers[0]


def backend(module: fx.GraphModule, inputs: Sequence[Any], *,
            options: Mapping[str, Any] | None = None, mode: str | None = None,
            graphs: list[Graph] | None = None) -> Callable[..., Any]:
    """What torch.compile(…, backend="divisi") calls for each graph. `options`
    are those of divisi.plan(), and of Options; `graphs` gets what is made."""
    if mode is not None:
        raise UsageError(f"mode {mode!r}: the backend has no modes; options={{…}}"
                         " has those of divisi.plan()")
    chosen = Options.of(options)
    if not any(node.op in _CALLS for node in module.graph.nodes):
        return module.forward

    def graph_of(part: fx.GraphModule, given: Sequence[Any]) -> Graph:
        graph = Graph(part, given, chosen)
        if graphs is not None:
            graphs.append(graph)
        return graph

    concrete = [value.node.hint if isinstance(value, torch.SymInt) else value
                for value in inputs]
    try:
        check_inputs(inputs)
        analysis = analyse(module, concrete)
    except Error as error:
        _fall_back(module, error, chosen)
        return module.forward
    if needs_gradients(inputs) or not analysis.is_plain:
        return through_autograd(module, inputs, graph_of)
    graph = graph_of(module, inputs)
    if not graph.is_open:
        graph.compile(inputs, analysis)
    return graph
