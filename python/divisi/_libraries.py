"""Where the libraries and programs of Divisi lie.

A wheel has them beside this file: lib/, libexec/ and bin/. In the source tree
they are in the build folder, which $DIVISI_BUILD names; without it, `build` of
the tree. Nothing else is looked at.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from ._errors import FileError, VersionError

_HERE = Path(__file__).resolve().parent


def root() -> Path:
    """The folder of lib, libexec and bin."""
    if chosen := os.environ.get("DIVISI_BUILD"):
        return Path(chosen).absolute()
    if (_HERE / "lib").is_dir():
        return _HERE
    return _HERE.parents[1] / "build"


def program() -> Path:
    """The command line."""
    return root() / "bin" / "divisi"


def load(name: str) -> ctypes.CDLL:
    """The library lib/lib<name>.so, whose symbols nobody else sees."""
    folder = root() / "lib"
    for ending in (".so.1", ".so"):
        path = folder / f"lib{name}{ending}"
        if path.is_file():
            break
    else:
        raise FileError(
            f"there is no lib{name}.so; install the wheel of Divisi, or build "
            "it and name the build folder by DIVISI_BUILD", str(folder))
    try:
        return ctypes.CDLL(str(path), mode=os.RTLD_LOCAL | os.RTLD_NOW)
    except OSError as error:
        raise FileError(f"the library cannot be loaded: {error}",
                        str(path)) from None


def table(library: ctypes.CDLL, function: str, kind: type[ctypes.Structure],
          version: int):
    """The functions of a library as a `kind`."""
    get = getattr(library, function)
    get.argtypes = [ctypes.c_uint32]
    get.restype = ctypes.POINTER(kind)
    found = get(version)
    if not found:
        raise VersionError(
            f"the library has no version {version >> 16}.{version & 0xFFFF} of "
            "its functions; this package is of another version",
            str(library._name))
    return found.contents
