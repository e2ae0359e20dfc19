"""Programs: a graph's model, compiled, with the caller's weights.

Weights are tensors of the module, which may change between calls: an optimizer
steps, a state is loaded. A frozen program has them as constants, folded into each
other and packed for kernels, and is used as long as none changes, which each
call sees by their versions and addresses. After that they are inputs, read where
they lie.
"""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any, Sequence

import torch

from .. import _plan
from .._artifact import Artifact
from .._errors import Error
from .._session import Session
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
                 options: Options, arguments: Sequence[Any]) -> None:
        self.exported = exported
        self._options = options
        self._weights = [index for index in weights
                         if index in exported.arguments
                         and not arguments[index].is_inference()]
        self._frozen: Call | None = None
        self._states: list[tuple[int, int]] = []
        self._open: Call | None = None
        if options.freeze and self._weights:
            self._freeze(arguments)
        else:
            self._open = self._call(self._compile(exported.content))

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
            call = self._open = self._call(self._compile(self.exported.content))
        made = call(arguments)
        return tuple(made[value] if kind == "output" else
                     arguments[value] if kind == "argument" else value
                     for kind, value in self.exported.results)

    def _call(self, artifact: Artifact) -> Call:
        session = {"threads": self._options.threads_of(artifact.devices),
                   **self._options.session}
        numbers = dict(zip(self.exported.names, self.exported.arguments))
        return Call(Session(artifact, **session), numbers, self.exported.kinds)

    def _freeze(self, arguments: Sequence[Any]) -> None:
        self._states = [_state_of(arguments[index]) for index in self._weights]
        with tempfile.TemporaryDirectory(prefix="divisi-") as folder:
            path = os.path.join(folder, "model.onnx")
            self._write_frozen(path, arguments)
            artifact = self._compile(path)
        self._frozen = self._call(artifact)

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

    def _compile(self, model: Any) -> Artifact:
        try:
            return _plan.compile(model, **self._options.plan)
        except Error as error:
            raise placed(error, self.exported) from error


def _write_weight(model: Any, value: Any, weight: torch.Tensor,
                  file: Any) -> None:
    """Its bytes at the end of `file`, and an initializer that refers to them;
    small integers, which shapes may depend on, stand in the model."""
    import onnx
    data = weight.detach().contiguous()
    flat = data.reshape(-1).view(torch.uint8).numpy() if data.numel() else b""
    tensor = model.graph.initializer.add(
        name=value.name, data_type=value.type.tensor_type.elem_type,
        dims=list(data.shape))
    if data.nbytes <= 4096 and not data.is_floating_point():
        tensor.raw_data = bytes(flat)
        return
    file.write(b"\0" * (-file.tell() % 64))
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, text in (("location", "weights"), ("offset", file.tell()),
                      ("length", data.nbytes)):
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
