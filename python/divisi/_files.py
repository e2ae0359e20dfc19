"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any, Iterator

from ._errors import FileError


@contextlib.contextmanager
def replace_file(path: Any) -> Iterator[Any]:
    """A file that takes the place of `path` once all is written."""
    path = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(path))
    try:
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            try:
                yield file
                file.flush()
                umask = os.umask(0)
                os.umask(umask)
                os.chmod(file.name, 0o666 & ~umask)
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror}", path) from None
