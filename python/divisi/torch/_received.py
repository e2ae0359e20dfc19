"""What the processes of a mesh send each other in a call, counted."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any, Iterator

from torch.distributed.distributed_c10d import _resolve_process_group
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode


def _bytes(kind: str, given: Any, result: Any, group: Any,
           arguments: Any) -> int:
    """What a process of `group` receives, as plans count it."""
    size = group.size()
    if kind.startswith("all_gather"):
        return int(given.nbytes * (size - 1))
    if kind.startswith("reduce_scatter"):
        return int(result.nbytes * (size - 1))
    if kind.startswith("all_reduce"):
        return int(2 * result.nbytes * (size - 1) // size)
    own = arguments[1][group.rank()] / max(1, sum(arguments[1]))
    return int(result.nbytes - round(result.nbytes * own))


class Received(TorchDispatchMode):
    """Counts the bytes of functional collectives, by what calls them."""

    def __init__(self) -> None:
        super().__init__()
        self._cause = ""
        self.bytes: Counter[str] = Counter()

    @contextlib.contextmanager
    def caused_by(self, cause: str) -> Iterator[None]:
        """Counts what is called within for `cause`."""
        before, self._cause = self._cause, cause
        yield
        self._cause = before

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (),
                           keywords: Any = None) -> Any:
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # its collectives come then
        result = function(*args, **(keywords or {}))
        space, _, name = str(function).partition(".")
        if space == "_c10d_functional" and name.startswith(
                ("all_", "reduce_scatter")):
            self.bytes[self._cause] += _bytes(
                name, args[0], result, _resolve_process_group(args[-1]), args)
        return result
