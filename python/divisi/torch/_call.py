"""Calls of a session on tensors of PyTorch, which are read where they lie."""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Sequence

import torch

from .. import _c
from .._errors import DeviceError, InvalidError, UnsupportedError
from .._session import Session, _abandoned

_TYPES = {
    torch.float64: (2, 64), torch.float32: (2, 32), torch.float16: (2, 16),
    torch.bfloat16: (4, 16), torch.int8: (0, 8), torch.int16: (0, 16),
    torch.int32: (0, 32), torch.int64: (0, 64), torch.uint8: (1, 8),
    torch.uint16: (1, 16), torch.uint32: (1, 32), torch.uint64: (1, 64),
    torch.bool: (6, 8), torch.float8_e4m3fn: (10, 8),
    torch.float8_e5m2: (12, 8),
}
_DTYPES = {kind: dtype for dtype, kind in _TYPES.items()}


class Call:
    """The one entry of a session. `numbers` are of the arguments that are its
    inputs, `kinds` the shape, strides and type of each output."""

    def __init__(self, session: Session, numbers: dict[str, int],
                 kinds: Sequence[tuple[Any, Any, torch.dtype]]) -> None:
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
        self._kinds = [(torch.Size(shape), strides, dtype)
                       for shape, strides, dtype in kinds]
        self._strides: list[Any] = []
        for index, (value, (shape, strides, dtype)) in enumerate(
                zip(entry.outputs, self._kinds)):
            if value.shape != tuple(shape) or _DTYPES.get(
                    (value.code, value.bits)) != dtype:
                raise UnsupportedError(
                    f"output {index} of the artifact is {value!r}; the graph's "
                    f"is {list(shape)} of {dtype}")
            if not torch.empty_strided(shape, strides, dtype=dtype,
                                       device="meta").is_contiguous():
                self._strides.append((ctypes.c_int64 * len(strides))(*strides))
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
            results = [torch.empty_strided(shape, strides, dtype=dtype)
                       for shape, strides, dtype in self._kinds]
            for index, result in enumerate(results):
                self._outputs[index].data = result.data_ptr()
            self._run(kept, arguments, results)
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
