"""What the processes of a mesh send each other in a call, counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

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
    """Counts the bytes of functional collectives, by what calls them: the caller
    sets `cause`."""

    def __init__(self) -> None:
        super().__init__()
        self.cause = ""
        self.bytes: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (),
                           keywords: Any = None) -> Any:
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # its collectives come then
        result = function(*args, **(keywords or {}))
        space, _, name = str(function).partition(".")
        if space == "_c10d_functional" and name.startswith(
                ("all_", "reduce_scatter")):
            self.bytes[self.cause] += _bytes(
                name, args[0], result, _resolve_process_group(args[-1]), args)
        return result
