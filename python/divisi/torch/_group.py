"""Process groups of PyTorch, whose processes run one model together.

Each process runs its share of the devices, on the same inputs, and gets all of
the outputs. The group says who they are and agrees on programs, which the first
process compiles; what devices send each other goes by sockets of their own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from .._artifact import Artifact, load
from .._errors import Error, InvalidError, UsageError
from .._processes import Processes
from ._cache import Cache


class Group:
    """A process group whose processes share the devices of programs."""

    def __init__(self, group: Any) -> None:
        if not dist.is_initialized():
            raise UsageError("process_group: call "
                             "torch.distributed.init_process_group() before")
        if group is True:
            group = dist.group.WORLD
        rank = dist.get_rank(group)
        if rank < 0:
            raise UsageError("process_group: this process is none of the group")
        if not str(dist.get_backend_config(group)).count("gloo"):
            raise UsageError("process_group: a group that has tensors of the "
                             "host is needed, such as "
                             "torch.distributed.new_group(backend='gloo')")
        self.rank, self.size = rank, dist.get_world_size(group)
        self._group = group
        self.processes = Processes(rank, self.size, self._exchange)

    def _exchange(self, own: bytes) -> list[bytes]:
        return self.gather(own)

    def gather(self, own: Any) -> list[Any]:
        """What all processes give."""
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, own, self._group)
        return found

    def broadcast(self, own: Any) -> Any:
        """What the first process gives."""
        found = [own]
        dist.broadcast_object_list(
            found, dist.get_global_rank(self._group, 0), self._group)
        return found[0]

    def _share_bytes(self, content: bytes | None) -> bytes:
        size = self.broadcast(len(content) if content is not None else 0)
        data = (torch.frombuffer(bytearray(content), dtype=torch.uint8)
                if content else torch.empty(size, dtype=torch.uint8))
        dist.broadcast(data, dist.get_global_rank(self._group, 0), self._group)
        return data.numpy().tobytes()

    def artifact(self, key: str, cache: Cache,
                 make: Callable[[], Artifact]) -> Artifact:
        """One artifact on all processes: that which the first makes, or why it
        cannot. `key` says what it is of."""
        if any(other != key for other in self.gather(key)):
            raise InvalidError(
                "the processes of the group compile different graphs, or have "
                "different weights or options; all have to make the same calls")
        made: Artifact | None = None
        failure: Error | None = None
        if self.rank == 0:
            try:
                made = make()
            except Error as error:
                failure = error
        if failure := self.broadcast(failure):
            raise failure
        if made is None and (found := cache.find(key, ".divisi")):
            with contextlib.suppress(Error):
                made = load(found)
        if any(self.gather(made is None)):
            content = self._share_bytes(
                bytes(made) if self.rank == 0 and made else None)
            made = made or load(content)
        assert made is not None
        return made


_groups: dict[Any, Group] = {}


def group_of(chosen: Any) -> Group:
    """That of an option, connected once for each process group."""
    if chosen is not True and not isinstance(chosen, dist.ProcessGroup):
        raise UsageError("process_group: expected True, for the default group, "
                         "or a group of torch.distributed")
    key = dist.group.WORLD if chosen is True and dist.is_initialized() else chosen
    if key not in _groups:
        _groups[key] = Group(chosen)
    return _groups[key]
