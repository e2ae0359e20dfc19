"""Calls of a session on tensors of PyTorch, which are read where they lie."""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from typing import Any, Sequence

import torch

from .. import _c
from .._errors import DeviceError, InvalidError, UnsupportedError
from .._session import Session, _abandoned
from ._export import Kind

_TYPES = {
    torch.float64: (2, 64), torch.float32: (2, 32), torch.float16: (2, 16),
    torch.bfloat16: (4, 16), torch.int8: (0, 8), torch.int16: (0, 16),
    torch.int32: (0, 32), torch.int64: (0, 64), torch.uint8: (1, 8),
    torch.uint16: (1, 16), torch.uint32: (1, 32), torch.uint64: (1, 64),
    torch.bool: (6, 8), torch.float8_e4m3fn: (10, 8),
    torch.float8_e4m3fnuz: (11, 8), torch.float8_e5m2: (12, 8),
    torch.float8_e5m2fnuz: (13, 8),
}
_DTYPES = {kind: dtype for dtype, kind in _TYPES.items()}


class Call:
    """The one entry of a session. `numbers` are of the arguments that are its
    inputs."""

    def __init__(self, session: Session, numbers: dict[str, int],
                 kinds: Sequence[Kind]) -> None:
        self.session = session
        entry = session.artifact.entry()
        self._name = entry.name.encode()
        self._inputs = (_c.Tensor * max(len(entry.inputs), 1))(
            *(value.tensor() for value in entry.inputs))
        self._outputs = (_c.Tensor * max(len(entry.outputs), 1))(
            *(value.tensor() for value in entry.outputs))
        self._takes = [(self._inputs[index], value, numbers[value.name],
                        torch.Size(value.shape),
                        _DTYPES.get((value.code, value.bits)))
                       for index, value in enumerate(entry.inputs)]
        self._kinds = list(kinds)
        owners = Counter(kind.storage for kind in kinds)
        self._is_shared = [owners[kind.storage] > 1 for kind in kinds]
        self._strides: list[Any] = []
        for index, (value, kind) in enumerate(zip(entry.outputs, kinds)):
            if value.shape != kind.shape or _DTYPES.get(
                    (value.code, value.bits)) != kind.dtype:
                raise UnsupportedError(
                    f"output {index} of the artifact is {value!r}; the graph's "
                    f"is {list(kind.shape)} of {kind.dtype}")
            if not torch.empty_strided(kind.shape, kind.strides,
                                       device="meta").is_contiguous():
                self._strides.append(
                    (ctypes.c_int64 * len(kind.strides))(*kind.strides))
                self._outputs[index].strides = ctypes.cast(
                    self._strides[-1], ctypes.POINTER(ctypes.c_int64))
        self._lock = threading.Lock()

    @property
    def arguments(self) -> list[int]:
        """The numbers of those that it reads."""
        return [number for _, _, number, _, _ in self._takes]

    def __call__(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        """Runs it; by one thread at a time, the others wait."""
        with self._lock:
            kept: list[Any] = []
            for tensor, value, number, shape, dtype in self._takes:
                given = arguments[number]
                if given.shape != shape or given.dtype != dtype:
                    raise InvalidError(
                        f"input '{value.name}': got {list(given.shape)} of "
                        f"{given.dtype}, expected {list(shape)} of {dtype}")
                tensor.data = given.data_ptr()
                if given.is_contiguous():
                    tensor.strides = None
                else:
                    strides = (ctypes.c_int64 * len(shape))(*given.stride())
                    kept.append(strides)
                    tensor.strides = ctypes.cast(
                        strides, ctypes.POINTER(ctypes.c_int64))
            results = self._allocate()
            for index, result in enumerate(results):
                self._outputs[index].data = result.data_ptr()
            self._run(kept, arguments, results)
            return results

    def _allocate(self) -> list[torch.Tensor]:
        """Outputs that share memory in the graph do so here: each writes its
        part, and where they overlap the same."""
        storages: dict[int, torch.UntypedStorage] = {}
        results = []
        for kind, is_shared in zip(self._kinds, self._is_shared):
            if not is_shared:
                results.append(torch.empty_strided(kind.shape, kind.strides,
                                                   dtype=kind.dtype))
                continue
            if kind.storage not in storages:
                storages[kind.storage] = torch.empty(
                    kind.size, dtype=torch.uint8).untyped_storage()
            results.append(torch.empty(0, dtype=kind.dtype).set_(
                storages[kind.storage], kind.offset, kind.shape, kind.strides))
        return results

    def _run(self, *kept: Any) -> None:
        api, handle = self.session._api, self.session._handle
        pointer = handle.take()
        try:
            error = api.run(pointer, self._name, self._inputs,
                            len(self._takes), self._outputs, len(self._kinds))
        finally:
            handle.busy.release()
        if error:
            failure = api.errors.take(error)
            if isinstance(failure, DeviceError):
                _abandoned.append(kept)
            raise failure
