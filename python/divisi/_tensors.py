"""Arrays as tensors of C, by DLPack.

Whatever has `__dlpack__` is taken where it lies: its DLTensor is what C wants.
C checks its type, shape and device, and names what does not fit.
"""

from __future__ import annotations

import ctypes
from typing import Any, Callable

from . import _c
from ._dtypes import row_of, shown, stored
from ._errors import InvalidError

_VERSION = (1, 0)
_LEGACY, _VERSIONED = b"dltensor", b"dltensor_versioned"
# In DLManagedTensorVersioned: the flags, and the tensor. In DLManagedTensor it
# comes first.
_FLAGS_AT, _TENSOR_AT = 24, 32
_IS_READ_ONLY = 1
TENSOR_BYTES = ctypes.sizeof(_c.Tensor)
ALIGNMENT = 64  # Where C can use memory as it is.

# A function of its own: others may set the types of the shared one.
capsule_pointer: Callable[[Any, bytes], int] = ctypes.PYFUNCTYPE(
    ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi))
_byte_of, _address_of = ctypes.c_char.from_buffer, ctypes.addressof
copy_tensor = ctypes.memmove


class Value:
    """An input or output of an entry, or a global."""

    __slots__ = ("name", "shape", "dtype", "code", "bits", "stored", "_c_shape",
                 "nbytes", "is_plain")

    def __init__(self, info: _c.ValueInfo) -> None:
        self.name: str = info.name.decode()
        self.shape: tuple[int, ...] = tuple(info.shape[:info.ndim])
        self.code: int = info.dtype.code
        self.bits: int = info.dtype.bits
        #: The dtype of its arrays.
        self.dtype = shown(self.code, self.bits)
        self.stored = stored(self.code, self.bits)
        #: Whether DLPack and NumPy agree about it.
        self.is_plain: bool = not row_of(self.code, self.bits).extra
        self._c_shape = (ctypes.c_int64 * max(info.ndim, 1))(*self.shape)
        count = 1
        for extent in self.shape:
            count *= extent
        self.nbytes: int = count * self.stored.itemsize

    @property
    def type_name(self) -> str:
        """As messages have it: f32."""
        return row_of(self.code, self.bits).name

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"<{self.name}: {shape + 'x' if shape else ''}{self.type_name}>"

    def tensor(self) -> _c.Tensor:
        """One of it, row-major, without data."""
        return _c.Tensor(
            None, _c.Device(1, 0), len(self.shape),
            _c.DType(self.code, self.bits, 1),
            ctypes.cast(self._c_shape, ctypes.POINTER(ctypes.c_int64)), None, 0)

    def allocate(self) -> tuple[Any, int]:
        """An array for it, and where its data lies: at a multiple of ALIGNMENT."""
        import numpy
        block = numpy.empty(self.nbytes + ALIGNMENT, numpy.uint8)
        at = _address_of(_byte_of(block))
        skip = -at % ALIGNMENT
        return numpy.ndarray(self.shape, self.stored, block, skip), at + skip

    def show(self, array: Any) -> Any:
        """What allocate() gave, and C filled, as users see it."""
        if self.dtype is self.stored:
            return array
        # ml_dtypes has the sign of 2 and 4 bits within these.
        is_small = self.bits < 8 and self.code < 2
        return array.astype(self.dtype) if is_small else array.view(
            self.dtype)


def fill(address: int, array: Any, value: Value, what: str,
         is_output: bool = False) -> Any:
    """Makes a Tensor at `address` of what a caller gives for `value`. What is
    returned lives as long as the tensor is used."""
    if not value.is_plain:
        array = _raw(array, value, what, is_output)
    try:
        capsule = _capsule_of(array, value, what, is_output)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, InvalidError):
            raise
        raise InvalidError(f"{what}: {error}") from None
    name = _capsule_name(capsule)
    pointer = capsule_pointer(capsule, name)
    if name == _VERSIONED:
        flags = ctypes.c_uint64.from_address(pointer + _FLAGS_AT).value
        if is_output and flags & _IS_READ_ONLY:
            raise InvalidError(f"{what}: the array is read-only")
        pointer += _TENSOR_AT
    copy_tensor(address, pointer, TENSOR_BYTES)
    if not value.is_plain and hasattr(array, "__array_interface__"):
        _c.Tensor.from_address(address).dtype = _c.DType(value.code,
                                                         value.bits, 1)
    return capsule


def _capsule_of(array: Any, value: Value, what: str, is_output: bool) -> Any:
    is_scalar = value.code == 2 and not value.shape and not is_output
    if is_scalar and type(array) is float:
        import numpy  # Python's own numbers are f64
        array = numpy.asarray(array, value.stored)
    export = getattr(array, "__dlpack__", None)
    if export is None and hasattr(array, "__array_interface__"):
        import numpy  # a scalar of it
        export = numpy.asarray(array).__dlpack__
    if export is None:
        raise InvalidError(f"{what}: got a {type(array).__name__}, expected an "
                           "array: something with __dlpack__, as those of "
                           "NumPy and PyTorch")
    try:
        return export(max_version=_VERSION)
    except TypeError:
        pass  # Older than versions.
    except BufferError as error:
        return _numpy_capsule(array, what, is_output, error)
    try:
        return export()
    except BufferError as error:
        return _numpy_capsule(array, what, is_output, error)


def _numpy_capsule(array: Any, what: str, is_output: bool,
                   error: BufferError) -> Any:
    """Of an array of NumPy that DLPack cannot describe: one with gaps that are
    no whole elements, or, before NumPy 2.1, a read-only one. An input is
    copied."""
    import numpy
    if not isinstance(array, numpy.ndarray) or not array.dtype.isnative:
        raise error
    if is_output:
        raise InvalidError(f"{what}: the array is read-only"
                           if not array.flags.writeable
                           else f"{what}: {error}")
    copy = array.copy(order="C")
    try:
        return copy.__dlpack__(max_version=_VERSION)
    except TypeError:
        return copy.__dlpack__()


def _raw(array: Any, value: Value, what: str, is_output: bool) -> Any:
    """An array of a type that NumPy's DLPack lacks, as that of its bits."""
    if not hasattr(array, "__array_interface__") or hasattr(
            array, "__cuda_array_interface__"):
        return array
    import numpy
    array = numpy.asarray(array)
    if array.dtype != value.dtype:
        raise InvalidError(f"{what}: got elements of type {array.dtype}, "
                           f"expected {value.type_name}"
                           + ("" if value.dtype != value.stored else
                              f", as {value.dtype} of its bits"))
    if value.dtype == value.stored:
        return array
    if value.bits >= 8 or value.code >= 2:
        return array.view(value.stored)
    if is_output:
        raise InvalidError(f"{what}: elements of {value.bits} bits cannot be written to an "
                           "array of the caller; leave it out of `out`")
    return array.astype(value.stored)
