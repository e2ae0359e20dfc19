"""Artifacts: what was compiled, loaded."""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import warnings
import weakref
from pathlib import Path
from typing import Any, Union

from . import _c
from ._errors import DivisiWarning, UsageError
from ._handles import Handle
from ._tensors import Value

PathLike = Union[str, "os.PathLike[str]"]


class Messages:
    """Collects what a call tells of, to be told when it is over: as warnings of
    Python, and as lines of the logger "divisi"."""

    def __init__(self) -> None:
        self._all: list[tuple[int, str]] = []
        self.call_back = _c.Log(self._take)

    def _take(self, user: Any, severity: int, message: bytes) -> None:
        self._all.append((severity, message.decode("utf-8", "replace")))

    def tell(self, level: int = 3) -> None:
        """`level`: the caller's frame, as warnings.warn counts."""
        told, self._all = self._all, []
        for severity, message in told:
            if severity >= _c.WARNING:
                warnings.warn(message, DivisiWarning, stacklevel=level)
            else:
                logging.getLogger("divisi").info("%s", message)


class Entry:
    """A function of an artifact."""

    __slots__ = ("name", "inputs", "outputs")

    def __init__(self, name: str, inputs: tuple[Value, ...],
                 outputs: tuple[Value, ...]) -> None:
        self.name = name
        self.inputs = inputs
        self.outputs = outputs

    def __repr__(self) -> str:
        return (f"<entry {self.name}: {', '.join(map(repr, self.inputs))} -> "
                f"{', '.join(map(repr, self.outputs))}>")


class Artifact:
    """A loaded artifact: programs for its devices, and weights, which all of its
    sessions share. Made by load(), compile() and Plan.compile()."""

    def __init__(self, pointer: int, file: Any, path: Path | None) -> None:
        api = _c.runtime()
        self._handle = Handle(pointer, api.artifact_free, "artifact")
        self._handle.keep_for(self)
        self._file = file  # bytes, or an open file without a name
        #: Where it lies, if it has a name.
        self.path = path
        self._read(api, pointer)

    def _read(self, api: _c.RuntimeApi, pointer: int) -> None:
        text, count = ctypes.c_char_p(), ctypes.c_size_t()
        ranks = ctypes.c_uint32()
        _c.check(api, api.artifact_hash(pointer, text))
        #: SHA-256 of what it is.
        self.hash: str = text.value.decode()
        _c.check(api, api.artifact_num_ranks(pointer, ranks))
        #: For how many devices it was compiled.
        self.devices: int = ranks.value
        _c.check(api, api.artifact_num_entries(pointer, count))
        #: Its functions, by name.
        self.entries: dict[str, Entry] = {}
        for index in range(count.value):
            entry = _entry(api, pointer, index)
            self.entries[entry.name] = entry
        _c.check(api, api.artifact_num_globals(pointer, count))
        #: Weights and states, by name.
        self.globals: dict[str, Value] = {}
        #: The names of those that an entry updates.
        self.state_names: tuple[str, ...] = ()
        for index in range(count.value):
            updated = ctypes.c_int32()
            value = _value(api, api.artifact_global, (pointer, index), updated)
            self.globals[value.name] = value
            if updated.value:
                self.state_names += (value.name,)

    def entry(self, name: str | None = None) -> Entry:
        """The entry of that name, or the only one."""
        if name is None:
            if len(self.entries) != 1:
                raise UsageError(f"the artifact has {len(self.entries)} "
                                 f"entries ({', '.join(self.entries)}); name "
                                 "one: entry=…")
            return next(iter(self.entries.values()))
        if name not in self.entries:
            raise UsageError(f"the artifact has no entry '{name}'; its entries "
                             f"are {', '.join(self.entries)}")
        return self.entries[name]

    def _keep(self, file: Any) -> None:
        """Its content is that of `file`, which has no name for long."""
        self._file = file
        self.path = None
        weakref.finalize(self, file.close)

    def save(self, path: PathLike) -> None:
        """Writes a copy of its file."""
        from ._files import replace_file
        with replace_file(path) as to:
            if isinstance(self._file, bytes):
                to.write(self._file)
            elif self._file is not None:
                self._file.seek(0)
                shutil.copyfileobj(self._file, to)
            else:
                with open(self.path, "rb") as source:
                    shutil.copyfileobj(source, to)

    def __bytes__(self) -> bytes:
        if isinstance(self._file, bytes):
            return self._file
        if self._file is not None:
            self._file.seek(0)
            return self._file.read()
        return self.path.read_bytes()

    def close(self) -> None:
        """Lets go of it; its sessions keep what they need."""
        self._handle.free()

    def __enter__(self) -> "Artifact":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (f"<divisi.Artifact for {self.devices} device"
                f"{'' if self.devices == 1 else 's'}: "
                f"{', '.join(map(repr, self.entries.values()))}>")


def _value(api: _c.RuntimeApi, query: Any, at: tuple, *more: Any) -> Value:
    info = _c.options(_c.ValueInfo)
    _c.check(api, query(*at, info, *more))
    return Value(info)


def _entry(api: _c.RuntimeApi, pointer: int, index: int) -> Entry:
    name = ctypes.c_char_p()
    inputs, outputs = ctypes.c_size_t(), ctypes.c_size_t()
    _c.check(api, api.artifact_entry(pointer, index, name, inputs, outputs))
    return Entry(
        name.value.decode(),
        tuple(_value(api, api.artifact_input, (pointer, index, at))
              for at in range(inputs.value)),
        tuple(_value(api, api.artifact_output, (pointer, index, at))
              for at in range(outputs.value)))


def load(source: Union[PathLike, bytes, bytearray, memoryview], *,
         external_data: PathLike | None = None,
         trusted_keys: PathLike | None = None,
         allow_native_code: bool = False,
         verify: bool = False) -> Artifact:
    """Loads an artifact: a path, or its bytes.

    external_data: the folder of weights that are not in it; by default its own.
    trusted_keys: a file with public keys, as `divisi key` prints them, whose
        native code is run beside that of this user.
    allow_native_code: run native code whoever made it.
    verify: hash all weights now, not when they are first read.

    Raises FileError, InvalidError, VersionError.
    """
    api = _c.runtime()
    messages = Messages()
    options = _c.options(
        _c.ArtifactOptions,
        external_folder=external_data and _c.path_bytes(external_data),
        trusted_keys=trusted_keys and _c.path_bytes(trusted_keys),
        allow_native_code=int(allow_native_code), verify_hashes=int(verify),
        log=messages.call_back)
    pointer = ctypes.c_void_p()
    if isinstance(source, (bytes, bytearray, memoryview)):
        content = bytes(source)
        error = api.artifact_open_bytes(content, len(content), options, pointer)
        artifact_file, path = content, None
    else:
        path = Path(source)
        error = api.artifact_open(_c.path_bytes(path), options, pointer)
        artifact_file = None
    _c.check(api, error)
    artifact = Artifact(pointer.value, artifact_file, path)
    messages.tell()
    return artifact
