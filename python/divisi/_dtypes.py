"""Element types: as DLPack, NumPy and messages name them.

NumPy lacks bf16, floats of 4 and 8 bits and integers of 2 and 4. Where ml_dtypes is installed,
its types stand for them. Where it is not, arrays hold the raw bits in unsigned
integers; elements of 2 and 4 bits take a byte each in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class _Row:
    name: str     # As messages and models have it.
    numpy: str    # The type with the bits of an element.
    extra: str    # ml_dtypes' type, or "".


# By DLPack's code and bits.
_ROWS = {
    (2, 64): _Row("f64", "float64", ""), (2, 32): _Row("f32", "float32", ""),
    (2, 16): _Row("f16", "float16", ""),
    (4, 16): _Row("bf16", "uint16", "bfloat16"),
    (0, 8): _Row("i8", "int8", ""), (0, 16): _Row("i16", "int16", ""),
    (0, 32): _Row("i32", "int32", ""), (0, 64): _Row("i64", "int64", ""),
    (1, 8): _Row("u8", "uint8", ""), (1, 16): _Row("u16", "uint16", ""),
    (1, 32): _Row("u32", "uint32", ""), (1, 64): _Row("u64", "uint64", ""),
    (6, 8): _Row("bool", "bool", ""),
    (0, 4): _Row("i4", "int8", "int4"), (1, 4): _Row("u4", "uint8", "uint4"),
    (10, 8): _Row("f8e4m3fn", "uint8", "float8_e4m3fn"),
    (12, 8): _Row("f8e5m2", "uint8", "float8_e5m2"),
    (0, 2): _Row("i2", "int8", "int2"), (1, 2): _Row("u2", "uint8", "uint2"),
    (11, 8): _Row("f8e4m3fnuz", "uint8", "float8_e4m3fnuz"),
    (13, 8): _Row("f8e5m2fnuz", "uint8", "float8_e5m2fnuz"),
    (14, 8): _Row("f8e8m0", "uint8", "float8_e8m0fnu"),
    (17, 4): _Row("f4e2m1", "uint8", "float4_e2m1fn"),
}


def row_of(code: int, bits: int) -> _Row:
    """How a type of DLPack is shown."""
    return _ROWS.get((code, bits)) or _Row(f"DLPack's type {code} of {bits} "
                                           "bits", "uint8", "")


@cache
def stored(code: int, bits: int) -> Any:
    """NumPy's type of an element's bits."""
    import numpy
    return numpy.dtype(row_of(code, bits).numpy)


@cache
def shown(code: int, bits: int) -> Any:
    """The dtype of arrays that users get."""
    import numpy
    extra = row_of(code, bits).extra
    if extra:
        try:
            import ml_dtypes
            return numpy.dtype(getattr(ml_dtypes, extra))
        except (ImportError, AttributeError):
            pass
    return stored(code, bits)
