"""Keyword arguments as options of `divisi compile`, and models as it reads them.

Each option has the name of the command line, with `_` for `-`:
memory_limit="2GiB" is --memory-limit=2GiB. True is an option without a value,
None and False leave it out; a list is a list, as the option writes it. Four
that take NAME=VALUE are mappings here: shapes, dims, constants and mesh.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Iterator

from . import _c
from ._errors import UsageError

# Options whose lists have commas; others are given once for each element.
_WITH_COMMAS = {"keep", "keep_f32", "leave_out", "shared_inputs"}


def arguments_of(options: Mapping[str, Any], folder: "Folder") -> list[bytes]:
    """The arguments; `folder` gets the files that some of them name."""
    found = [argument for name, value in options.items()
             if value is not None and value is not False
             for argument in _arguments(name, value, folder)]
    for argument in found:
        if "\0" in argument:
            raise UsageError(f"an option has no byte 0 in it: {argument!r}")
    return [os.fsencode(argument) for argument in found]


def _arguments(name: str, value: Any, folder: "Folder") -> Iterator[str]:
    flag = "--" + name.replace("_", "-")
    if value is True:
        yield flag
    elif name == "mesh" and not isinstance(value, str):
        yield f"{flag}={_mesh(value)}"
    elif name in ("shapes", "dims", "constants"):
        if not isinstance(value, Mapping):
            raise UsageError(f"{name}: got a {type(value).__name__}, expected a "
                             "mapping by name")
        for key, each in value.items():
            text = (_shape(key, each) if name == "shapes" else
                    folder.tensor(each) if name == "constants" else str(each))
            yield f"{flag[:-1]}={key}={text}"
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield f"{flag}={key}={_text(each)}"
    elif isinstance(value, (list, tuple, set, frozenset)):
        texts = sorted(map(_text, value)) if isinstance(
            value, (set, frozenset)) else list(map(_text, value))
        if name in _WITH_COMMAS:
            yield f"{flag}={','.join(texts)}"
        else:
            yield from (f"{flag}={text}" for text in texts)
    else:
        yield f"{flag}={_text(value)}"


def _text(value: Any) -> str:
    return os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(
        value)


def _mesh(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{axis}={extent}" for axis, extent in value.items())
    if isinstance(value, int):
        return str(value)
    return "x".join(map(str, value))


def _shape(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return "x".join(str(int(extent)) for extent in value)
    except (TypeError, ValueError):
        raise UsageError(f"shapes: input '{name}': got {value!r}, expected its "
                         "extents, such as (2, 16)") from None


class Folder:
    """A temporary one, made when first needed, for files that options name."""

    def __init__(self) -> None:
        self._made: tempfile.TemporaryDirectory | None = None
        self._count = 0

    def path(self, name: str) -> Path:
        """Of a file in it."""
        if self._made is None:
            self._made = tempfile.TemporaryDirectory(prefix="divisi-")
            weakref.finalize(self, self._made.cleanup)
        return Path(self._made.name) / name

    def tensor(self, value: Any) -> str:
        """The path of a file with that tensor; of a file, its own."""
        if isinstance(value, (str, bytes, os.PathLike)):
            return _text(value)
        import numpy
        self._count += 1
        path = self.path(f"constant{self._count}.npy")
        numpy.save(path, numpy.asarray(value), allow_pickle=False)
        return str(path)


class Model:
    """A model as C takes it: a path, or content."""

    def __init__(self, model: Any, external_data: Any, folder: Folder) -> None:
        self.path: bytes | None = None
        self.content: bytes | None = None
        #: What messages call it.
        self.name = "model"
        if isinstance(model, (str, os.PathLike)):
            if external_data is not None:
                raise UsageError("external_data is for a model that is no file; "
                                 "data of a file lies beneath its folder")
            self.path = _c.path_bytes(model)
            self.name = os.fspath(model)
        elif isinstance(model, (bytes, bytearray, memoryview)):
            self.content = bytes(model)
            if external_data is not None:
                self._embed(_onnx().load_from_string(self.content),
                            external_data, folder)
        elif hasattr(model, "SerializeToString") and hasattr(model, "graph"):
            if external_data is not None:
                copy = type(model)()
                copy.CopyFrom(model)
                model = copy
            self._embed(model, external_data, folder)
        else:
            raise UsageError(f"the model is a {type(model).__name__}; expected a "
                             "path, bytes or an onnx.ModelProto")

    def _embed(self, model: Any, external_data: Any, folder: Folder) -> None:
        """Takes a ModelProto with its external data; what exceeds Protocol
        Buffers' 2 GiB goes to files."""
        if external_data is not None:
            from onnx.external_data_helper import load_external_data_for_model
            load_external_data_for_model(model, os.fspath(external_data))
        if model.ByteSize() < 2**31:
            self.content = model.SerializeToString()
            return
        path = folder.path("model.onnx")
        copy = type(model)()
        copy.CopyFrom(model)  # which saving changes
        _onnx().save_model(copy, str(path), save_as_external_data=True,
                           location="model.data")
        self.path = _c.path_bytes(path)


def _onnx() -> Any:
    try:
        import onnx
        return onnx
    except ImportError:
        raise UsageError("external data of a model that is no file is read by "
                         "the package onnx, which is not installed; install it, "
                         "or give the model's path") from None
