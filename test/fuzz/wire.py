"""Protobuf's wire format without a schema: a tree of fields, and back.

What is length-delimited counts as a message when it parses as one. That may
be wrong for a short string; the bytes that come back are the same.
"""

import struct
from dataclasses import dataclass, replace

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
# Schemas count fields from 1; larger numbers mean that it was no message.
MAX_FIELD = 64


@dataclass(frozen=True)
class Field:
    number: int
    kind: int
    value: object  # int, bytes, or a list of fields

    def replaced(self, value):
        return replace(self, value=value)


def parse(data):
    """A list of fields; ValueError when `data` is no message."""
    fields, at = [], 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if not 1 <= number <= MAX_FIELD:
            raise ValueError("field number")
        if kind == VARINT:
            value, at = _varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            if at + size > len(data):
                raise ValueError("cut off")
            value = int.from_bytes(data[at:at + size], "little")
            at += size
        elif kind == BYTES:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise ValueError("cut off")
            value = _nested(data[at:at + size])
            at += size
        else:
            raise ValueError("wire type")
        fields.append(Field(number, kind, value))
    return fields


def serialize(fields):
    out = bytearray()
    for field in fields:
        out += _to_varint(field.number << 3 | field.kind)
        if field.kind == VARINT:
            out += _to_varint(field.value)
        elif field.kind == FIXED64:
            out += struct.pack("<Q", field.value)
        elif field.kind == FIXED32:
            out += struct.pack("<I", field.value % 2**32)
        else:
            value = field.value
            data = serialize(value) if isinstance(value, list) else value
            out += _to_varint(len(data)) + data
    return bytes(out)


def _nested(data):
    try:
        fields = parse(data) if data else None
    except ValueError:
        return data
    # A varint with needless bytes would not come back as it was.
    return fields if fields and serialize(fields) == data else data


def _varint(data, at):
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at += 1
        if byte < 0x80:
            return value % 2**64, at
    raise ValueError("varint")


def _to_varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
