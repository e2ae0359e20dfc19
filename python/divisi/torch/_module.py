"""divisi.compile() of modules: one program each, without torch.compile."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Sequence

import torch

from .._artifact import Artifact
from .._errors import UnsupportedError, UsageError
from ._backend import Graph, backend


class CompiledModule:
    """A module as one program, for inference. It is called as the module is;
    arguments of other shapes are compiled when they come."""

    def __init__(self, module: torch.nn.Module,
                 options: Mapping[str, Any]) -> None:
        self._graphs: list[Graph] = []
        self._run = torch.compile(
            module, fullgraph=True, dynamic=False, backend=functools.partial(
                backend, options=options, graphs=self._graphs))

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        with torch.no_grad():
            return self._run(*arguments, **keywords)

    @property
    def artifact(self) -> Artifact:
        """The artifact of the first shapes, as it runs now."""
        for graph in self._graphs:
            for program in graph.programs:
                return program.artifact
        raise UnsupportedError("the module computes nothing")

    def __repr__(self) -> str:
        return f"<divisi.torch.CompiledModule of {self.artifact!r}>"


def compile(module: torch.nn.Module | torch.export.ExportedProgram,
            example_inputs: Sequence[Any],
            example_keywords: Mapping[str, Any] | None = None,
            **options: Any) -> CompiledModule:
    """A module or an exported program as one program for inference, compiled for
    arguments of these shapes. `options` are those of the backend; what cannot be
    compiled raises, unless they say fallback="warn"."""
    if not isinstance(example_inputs, (tuple, list)):
        raise UsageError("example_inputs: got a "
                         f"{type(example_inputs).__name__}, expected a tuple of "
                         "the arguments of a call")
    options.setdefault("fallback", "error")
    if isinstance(module, torch.export.ExportedProgram):
        module = module.module()
    compiled = CompiledModule(module, options)
    compiled(*example_inputs, **(example_keywords or {}))
    return compiled
