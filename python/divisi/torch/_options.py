"""Options of the backend, and those of divisi.plan() beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._errors import UsageError


@dataclass(frozen=True)
class Options:
    """How graphs are compiled and run."""

    #: Of kernels of one device; None: PyTorch's, divided among the devices.
    threads: int | None = None
    #: Weights are constants until one changes: they are folded and packed.
    freeze: bool = True
    #: PyTorch answers while a shape that has not been seen is compiled.
    background: bool = False
    #: "warn": PyTorch runs what cannot be compiled; "error": that is raised.
    fallback: str = "warn"
    #: Where what was exported is kept: True, False, or a folder.
    cache: Any = True
    #: How many combinations of shapes one graph is compiled for.
    max_shapes: int = 16
    #: Options of divisi.Session.
    session: Mapping[str, Any] = field(default_factory=dict)
    #: True, or a group of torch.distributed, whose processes share the devices.
    process_group: Any = None
    #: Options of divisi.plan().
    plan: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(given: Mapping[str, Any] | None) -> "Options":
        """Of what a user gives: all that are not the backend's are the
        plan's."""
        given = dict(given or {})
        own = {name: given.pop(name) for name in Options.__dataclass_fields__
               if name in given and name != "plan"}
        if own.get("fallback", "warn") not in ("warn", "error"):
            raise UsageError(f"fallback {own['fallback']!r}: expected 'warn' or "
                             "'error'")
        if (own.get("session") or {}).get("mpi_comm") is not None:
            raise UsageError(
                "session: mpi_comm: the processes of an MPI_Comm do not compile "
                "together; give process_group, a group of torch.distributed")
        group = own["process_group"] = _group(own)
        for name in ("shapes", "dims", "constants"):
            if name in given:
                raise UsageError(f"{name}: the inputs of a module have the "
                                 "shapes that it is called with")
        given.setdefault("progress", False)
        if "devices" not in given and "cluster" not in given:
            given["devices"] = group.size if group else 1
        if group and given.get("devices", group.size) < group.size:
            raise UsageError(f"devices {given['devices']}: the process_group has "
                             f"{group.size} processes; each needs a device")
        return Options(plan=given, **own)

    def threads_of(self, devices: int) -> int:
        """Of each device's kernels."""
        import torch
        if self.process_group:
            devices = -(-devices // self.process_group.size)
        return self.threads or max(1, torch.get_num_threads() // devices)


def _group(own: Mapping[str, Any]) -> Any:
    """The Group of what a user gives, or None."""
    chosen = own.get("process_group")
    if chosen is None or chosen is False:
        return None
    if own.get("background"):
        raise UsageError("background: the processes of a process_group compile "
                         "together, and none runs meanwhile")
    from ._group import group_of
    return group_of(chosen)
