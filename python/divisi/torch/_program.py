"""Programs: a graph's model, compiled, with the caller's weights.

Weights are tensors of the module, which may change between calls: an optimizer
steps, a state is loaded. A frozen program has them as constants, folded into each
other and packed for kernels, and is used as long as none changes, which each
call sees by their versions and addresses. After that they are inputs, read where
they lie.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from typing import Any, Callable, Sequence

import torch

from .. import _plan
from .._artifact import Artifact, load
from .._errors import Error
from .._session import Session
from ._cache import Cache, tools
from ._call import Call
from ._export import Exported
from ._options import Options


def _state_of(weight: torch.Tensor) -> tuple[int, int]:
    """What is different after a change."""
    return weight._version, weight.data_ptr()


class Program:
    """A graph of fixed shapes. `weights` are the numbers of arguments that are
    the module's own."""

    def __init__(self, exported: Exported, weights: Sequence[int],
                 options: Options, arguments: Sequence[Any],
                 cache: Cache) -> None:
        self.exported = exported
        self._options = options
        self._cache = cache
        self._weights = [index for index in weights
                         if index in exported.arguments
                         and not arguments[index].is_inference()]
        self._frozen: Call | None = None
        self._states: list[tuple[int, int]] = []
        self._open: Call | None = None
        if options.freeze and self._weights:
            self._freeze(arguments)
        else:
            self._open = self._unfrozen()

    @property
    def artifact(self) -> Artifact:
        """What runs now."""
        call = self._frozen or self._open
        assert call is not None
        return call.session.artifact

    @property
    def is_frozen(self) -> bool:
        """Whether weights are constants now."""
        return self._frozen is not None

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        if self._frozen is not None:
            if self._states != [_state_of(arguments[index])
                                for index in self._weights]:
                self._frozen = None
        call = self._frozen or self._open
        if call is None:
            call = self._open = self._unfrozen()
        made = call(arguments)
        return tuple(made[value] if kind == "output" else
                     arguments[value] if kind == "argument" else value
                     for kind, value in self.exported.results)

    def _call(self, artifact: Artifact) -> Call:
        session = {"threads": self._options.threads_of(artifact.devices),
                   **self._options.session}
        if group := self._options.process_group:
            session.update(processes=group.processes, whole_outputs=True)
        numbers = dict(zip(self.exported.names, self.exported.arguments))
        return Call(Session(artifact, **session), numbers, self.exported.kinds)

    def _unfrozen(self) -> Call:
        content = self.exported.content
        return self._call(self._compile(b"", lambda folder: content))

    def _freeze(self, arguments: Sequence[Any]) -> None:
        self._states = [_state_of(arguments[index]) for index in self._weights]
        hashed = hashlib.sha256()
        for index in self._weights:
            hashed.update(b"%d " % index)
            hashed.update(_bytes_of(arguments[index]))

        def write(folder: str) -> str:
            path = os.path.join(folder, "model.onnx")
            self._write_frozen(path, arguments)
            return path

        self._frozen = self._call(self._compile(hashed.digest(), write))

    def _write_frozen(self, path: str, arguments: Sequence[Any]) -> None:
        """The model with the weights' values in a file beside it."""
        import onnx
        model = onnx.load_from_string(self.exported.content)
        names = {name: number for name, number in zip(
            self.exported.names, self.exported.arguments)
            if number in self._weights}
        inputs = list(model.graph.input)
        del model.graph.input[:]
        model.graph.input.extend(value for value in inputs
                                 if value.name not in names)
        kept = {value.name: value for value in inputs}
        with open(os.path.join(os.path.dirname(path), "weights"), "wb") as file:
            for name, number in names.items():
                _write_weight(model, kept[name], arguments[number], file)
        onnx.save(model, path)

    def _compile(self, weights: bytes,
                 write: Callable[[str], Any]) -> Artifact:
        """The artifact of the model that `write` makes, given a folder, which
        the cache may have."""
        plan = sorted((name, repr(value))
                      for name, value in self._options.plan.items())
        key = hashlib.sha256(b"\n".join((
            tools().encode(), repr(plan).encode(), weights,
            self.exported.content))).hexdigest()
        if group := self._options.process_group:
            return group.artifact(key, self._cache,
                                  lambda: self._make(key, write))
        return self._make(key, write)

    def _make(self, key: str, write: Callable[[str], Any]) -> Artifact:
        """_compile(), of this process."""
        if found := self._cache.find(key, ".divisi"):
            with contextlib.suppress(Error):
                return load(found)
        with tempfile.TemporaryDirectory(prefix="divisi-") as folder:
            try:
                artifact = _plan.compile(write(folder), self._cache.path(
                    key, ".divisi"), **self._options.plan)
            except Error as error:
                raise placed(error, self.exported) from error
        self._cache.trim()
        return artifact


def _bytes_of(weight: torch.Tensor) -> Any:
    """Its elements, in C's order."""
    data = weight.detach().contiguous().reshape(-1)
    return data.view(torch.uint8).numpy() if data.numel() else b""


def _write_weight(model: Any, value: Any, weight: torch.Tensor,
                  file: Any) -> None:
    """Its bytes at the end of `file`, and an initializer that refers to them;
    small integers, which shapes may depend on, stand in the model."""
    import onnx
    flat = _bytes_of(weight)
    tensor = model.graph.initializer.add(
        name=value.name, data_type=value.type.tensor_type.elem_type,
        dims=list(weight.shape))
    if weight.nbytes <= 4096 and not weight.is_floating_point():
        tensor.raw_data = bytes(flat)
        return
    file.write(b"\0" * (-file.tell() % 64))
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, text in (("location", "weights"), ("offset", file.tell()),
                      ("length", weight.nbytes)):
        tensor.external_data.add(key=key, value=str(text))
    file.write(flat)


def placed(error: Error, exported: Exported) -> Error:
    """The same error, which also names the operator of PyTorch and the line of
    the node that it is about."""
    for name in re.findall(r"node '([^']+)'", str(error)):
        operator, place = exported.places.get(name, ("", ""))
        if operator:
            return type(error)(
                f"operator {operator}{f' ({place})' if place else ''}: "
                f"{error.message}", error.place)
    return error
