"""The C APIs, include/divisi-c/*.h, for ctypes.

test/python/abi_test.py compares every structure with what a C compiler makes of
the headers.
"""

from __future__ import annotations

import ctypes
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int,
                    c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32,
                    c_uint64, c_void_p)

from . import _libraries
from ._errors import Error, error_of

_VERSIONS = {"runtime": (1 << 16) + 2,   # DIVISI_API_VERSION(1, 2)
             "compiler": (1 << 16) + 1}
WARNING = 1        # DIVISI_WARNING

Log = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
Allocate = CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)


def _function(*arguments, result=c_void_p):
    """A pointer to a function, which returns an error unless it says so."""
    return CFUNCTYPE(result, *arguments)


class ErrorApi(Structure):
    _fields_ = [("struct_size", c_size_t),
                ("code", _function(c_void_p, result=c_int)),
                ("message", _function(c_void_p, result=c_char_p)),
                ("place", _function(c_void_p, result=c_char_p)),
                ("free", _function(c_void_p, result=None))]

    def take(self, error: int) -> Error:
        """The exception of an error, which is freed."""
        try:
            return error_of(self.code(error),
                            self.message(error).decode("utf-8", "replace"),
                            self.place(error).decode("utf-8", "replace"))
        finally:
            self.free(error)


#===----------------------------------------------------------------------===#
# runtime.h
#===----------------------------------------------------------------------===#

class Device(Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class DType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device", Device), ("ndim", c_int32),
                ("dtype", DType), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class ValueInfo(Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p),
                ("dtype", DType), ("ndim", c_int32),
                ("shape", POINTER(c_int64))]


class ArtifactOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("external_folder", c_char_p),
                ("trusted_keys", c_char_p), ("allow_native_code", c_int32),
                ("verify_hashes", c_int32), ("log", Log),
                ("log_user", c_void_p)]


class ContextOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("backends", c_char_p),
                ("threads_per_device", c_int32), ("timeout_ms", c_int64),
                ("no_index_check", c_int32), ("trace", c_int32),
                ("allocate", Allocate), ("allocate_user", c_void_p),
                ("local_ranks", POINTER(c_uint32)),
                ("num_local_ranks", c_size_t), ("mpi_comm", c_void_p),
                ("nccl_comms", POINTER(c_void_p)),
                ("num_nccl_comms", c_size_t),
                ("cuda_devices", POINTER(c_int32)),
                ("num_cuda_devices", c_size_t), ("processes", c_void_p),
                ("whole_outputs", c_int32)]


Exchange = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_size_t, c_void_p)


class ProcessesOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("self", c_uint32),
                ("count", c_uint32), ("exchange", Exchange),
                ("exchange_user", c_void_p), ("address", c_char_p),
                ("timeout_ms", c_int64)]


class MemoryInfo(Structure):
    _fields_ = [("struct_size", c_size_t), ("weights", c_int64),
                ("arena", c_int64), ("workspace", c_int64),
                ("packed", c_int64), ("messages", c_int64),
                ("device", c_int64)]


_handle, _out = c_void_p, POINTER(c_void_p)
_count = POINTER(c_size_t)


class RuntimeApi(Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("version", c_uint32), ("errors", ErrorApi),
        ("artifact_open",
         _function(c_char_p, POINTER(ArtifactOptions), _out)),
        ("artifact_open_bytes", _function(c_void_p, c_size_t,
                                          POINTER(ArtifactOptions), _out)),
        ("artifact_free", _function(_handle, result=None)),
        ("artifact_hash", _function(_handle, POINTER(c_char_p))),
        ("artifact_num_ranks", _function(_handle, POINTER(c_uint32))),
        ("artifact_num_entries", _function(_handle, _count)),
        ("artifact_entry", _function(_handle, c_size_t, POINTER(c_char_p),
                                     _count, _count)),
        ("artifact_input", _function(_handle, c_size_t, c_size_t,
                                     POINTER(ValueInfo))),
        ("artifact_output", _function(_handle, c_size_t, c_size_t,
                                      POINTER(ValueInfo))),
        ("artifact_num_globals", _function(_handle, _count)),
        ("artifact_global", _function(_handle, c_size_t, POINTER(ValueInfo),
                                      POINTER(c_int32))),
        ("context_create", _function(_handle, POINTER(ContextOptions), _out)),
        ("context_free", _function(_handle, result=None)),
        ("run", _function(_handle, c_char_p, c_void_p, c_size_t, c_void_p,
                          c_size_t)),
        ("cancel", _function(_handle)),
        ("read_global", _function(_handle, c_char_p, POINTER(Tensor))),
        ("reset_state", _function(_handle)),
        ("memory", _function(_handle, c_uint32, POINTER(MemoryInfo))),
        ("describe", _function(_handle, POINTER(c_char_p))),
        ("write_trace", _function(_handle, c_char_p)),
        ("processes_connect", _function(POINTER(ProcessesOptions), _out)),
        ("processes_free", _function(_handle, result=None)),
    ]


#===----------------------------------------------------------------------===#
# compiler.h
#===----------------------------------------------------------------------===#

class ProgressInfo(Structure):
    _fields_ = [("struct_size", c_size_t), ("phase", c_char_p),
                ("best_ns", c_double), ("bound_ns", c_double)]


Progress = CFUNCTYPE(None, c_void_p, POINTER(ProgressInfo))


class CompilationOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("model_path", c_char_p),
                ("model_bytes", c_void_p), ("model_size", c_size_t),
                ("arguments", POINTER(c_char_p)), ("num_arguments", c_size_t),
                ("progress", Progress), ("progress_user", c_void_p),
                ("log", Log), ("log_user", c_void_p), ("compiler", c_char_p)]


_text = POINTER(c_char_p)


class CompilerApi(Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("version", c_uint32), ("errors", ErrorApi),
        ("create", _function(POINTER(CompilationOptions), _out)),
        ("free", _function(_handle, result=None)),
        ("cancel", _function(_handle)),
        ("plan", _function(_handle)),
        ("explain", _function(_handle, c_char_p, _text)),
        ("dump", _function(_handle, c_char_p, _text)),
        ("compile", _function(_handle, c_char_p)),
        ("set_split", _function(_handle, c_char_p, c_char_p,
                                POINTER(c_double))),
        ("layouts", _function(_handle, c_char_p, _text)),
    ]


_tables: dict[str, Structure] = {}


def _table(name: str, kind):
    if name not in _tables:
        library = _libraries.load(f"divisi_{name}")
        _tables[name] = _libraries.table(
            library, f"divisi_{name}_get_api", kind, _VERSIONS[name])
    return _tables[name]


def runtime() -> RuntimeApi:
    """What loads and runs; its library is opened by the first call."""
    return _table("runtime", RuntimeApi)


def compiler() -> CompilerApi:
    """What plans and compiles, likewise."""
    return _table("compiler", CompilerApi)


def check(api, error: int | None) -> None:
    """Raises what a call has returned, if that is an error."""
    if error:
        raise api.errors.take(error)


def options(kind, **fields):
    """A structure with its size, and what is not None."""
    made = kind(struct_size=ctypes.sizeof(kind))
    for name, value in fields.items():
        if value is not None:
            setattr(made, name, value)
    return made


def path_bytes(path) -> bytes:
    """A path for C, which ends at a 0."""
    import os
    text = os.fsencode(path)
    if b"\0" in text:
        raise error_of(2, "a path has no byte 0 in it", repr(path))
    return text
