"""What was exported and compiled, kept in the user's cache.

A graph is found again by a hash of what it computes: its operators, their
arguments and the shapes and types of its inputs, by the numbers of nodes rather
than their names, and of the programs that would export and compile it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any, Sequence

import torch
from torch import fx

from .. import _libraries
from .._files import replace_file

_FORMAT = 1
_LIMIT = 8 << 30  # bytes; what was used least recently goes first
_OURS = ("torch", "_operator", "operator", "math", "builtins")
_VALUES = (int, float, bool, str, complex, type(None), type(Ellipsis),
           torch.dtype, torch.device, torch.layout, torch.memory_format)


class _Unknown(Exception):
    """A graph that has no hash."""


@functools.cache
def tools() -> str:
    """The programs that make what is kept."""
    import onnxscript
    root = _libraries.root()
    found = [torch.__version__, onnxscript.__version__]
    for path in [*root.glob("libexec/divisi-compiler"),
                 *root.glob("tools/divisi-compiler"),
                 *Path(__file__).parent.glob("*.py")]:
        status = path.stat()
        found.append(f"{path.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(sorted(found))


def _tensor(value: torch.Tensor) -> str:
    data = value.detach().cpu().contiguous().reshape(-1)
    content = data.view(torch.uint8).numpy().tobytes() if data.numel() else b""
    return (f"{value.dtype} {list(value.shape)} "
            f"{hashlib.sha256(content).hexdigest()}")


def _argument(value: Any, numbers: dict[fx.Node, int]) -> str:
    if isinstance(value, fx.Node):
        return f"%{numbers[value]}"
    if type(value) in _VALUES or isinstance(value, _VALUES):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(_argument(v, numbers) for v in value) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_argument(v, numbers)}"
                               for key, v in value.items()) + "}"
    if isinstance(value, slice):
        return "slice" + _argument((value.start, value.stop, value.step),
                                   numbers)
    raise _Unknown


def _target(node: fx.Node, module: fx.GraphModule) -> str:
    if node.op == "call_function":
        target: Any = node.target
        home = getattr(target, "__module__", None) or ""
        if isinstance(target, torch._ops.OpOverload):
            return str(target)
        if home.split(".")[0] not in _OURS:
            raise _Unknown  # code of the user's, which may change
        return f"{home}.{getattr(target, '__qualname__', target)}"
    if node.op == "get_attr":
        value: Any = module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if isinstance(value, fx.GraphModule):
            return _graph(value)
        if isinstance(value, torch.Tensor):
            return _tensor(value)
        raise _Unknown
    if node.op in ("call_method", "placeholder", "output"):
        return str(node.target) if node.op == "call_method" else ""
    raise _Unknown


def _graph(module: fx.GraphModule) -> str:
    numbers: dict[fx.Node, int] = {}
    lines = []
    for node in module.graph.nodes:
        lines.append(" ".join((
            node.op, _target(node, module), _argument(node.args, numbers),
            _argument(node.kwargs, numbers))))
        numbers[node] = len(numbers)
    return "\n".join(lines)


def key_of(module: fx.GraphModule, inputs: Sequence[Any],
           names: Sequence[str]) -> str | None:
    """The hash of a graph at the shapes of `inputs`, or None."""
    try:
        lines = [str(_FORMAT), tools(), _graph(module)]
    except (_Unknown, KeyError):
        return None
    for value, name in zip(inputs, names):
        lines.append(f"{name}: " + (
            f"{value.dtype} {list(value.shape)} {list(value.stride())}"
            if isinstance(value, torch.Tensor) else repr(value)))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


class Cache:
    """A folder of files by hashes. Where it cannot be used, nothing is kept."""

    def __init__(self, chosen: Any) -> None:
        self._folder: Path | None = None
        if chosen is True:
            home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
            self._folder = Path(home) / "divisi" / "torch"
        elif chosen:
            self._folder = Path(chosen)

    def find(self, key: str | None, ending: str) -> Path | None:
        """The file that is kept for `key`."""
        if self._folder is None or key is None:
            return None
        path = self._folder / (key + ending)
        try:
            os.utime(path)  # used now
        except OSError:
            return None
        return path

    def keep(self, key: str | None, ending: str, content: bytes) -> None:
        """Writes one."""
        if self._folder is None or key is None:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with replace_file(self._folder / (key + ending)) as file:
                file.write(content)

    def path(self, key: str, ending: str) -> Path | None:
        """Where to write one; trim() is called after that."""
        if self._folder is None:
            return None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        return self._folder / (key + ending)

    def trim(self) -> None:
        """Removes what was used least recently, beyond _LIMIT."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            files = sorted(((status.st_mtime_ns, status.st_size, path)
                            for path in self._folder.iterdir()
                            if path.is_file()
                            for status in [path.stat()]), reverse=True)
            total = 0
            for _, size, path in files:
                total += size
                if total > _LIMIT:
                    path.unlink()
