"""Processes that share the devices of an artifact."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from . import _c
from ._errors import UsageError
from ._handles import Handle


class Processes:
    """Several processes, connected by sockets, without MPI. All make it at the
    same time, and then the sessions that they share in the same order.

    self_number: which process this is, from 0 on.
    count: how many there are.
    exchange: called a few times with bytes of this process; returns those of
        all, in the order of the processes. All are as long. What processes have
        in common anyway does it: an all-gather of torch.distributed or MPI.
    address: by which name or address other machines reach this one; by default
        any that it has. Processes of one machine use no network.
    timeout: how long one may take to reach another, in seconds; by default 60.
    """

    def __init__(self, self_number: int, count: int,
                 exchange: Callable[[bytes], Sequence[bytes]], *,
                 address: str | None = None,
                 timeout: float | None = None) -> None:
        from ._session import _milliseconds
        if not 0 <= self_number < count < 1 << 16:
            raise UsageError(f"process {self_number} of {count}: expected "
                             "numbers from 0 on, below how many there are")
        failures: list[BaseException] = []

        def called(_: Any, own: int, size: int, all_of: int) -> int:
            try:
                told = b"".join(exchange(ctypes.string_at(own, size)))
                if len(told) != size * count:
                    raise UsageError(f"the exchange gave {len(told)} bytes, "
                                     f"expected {size * count}")
                ctypes.memmove(all_of, told, len(told))
                return 0
            except BaseException as failure:
                failures.append(failure)
                return 1

        self.count = count
        self._api = api = _c.runtime()
        options = _c.options(
            _c.ProcessesOptions, self=self_number, count=count,
            exchange=_c.Exchange(called), timeout_ms=_milliseconds(timeout),
            address=address.encode() if address else None)
        pointer = ctypes.c_void_p()
        error = api.processes_connect(options, pointer)
        if error:
            failure = api.errors.take(error)
            raise failure from (failures[0] if failures else None)
        self._handle = Handle(pointer.value, api.processes_free, "processes")
        self._handle.keep_for(self)

    def close(self) -> None:
        """Ends the connections. Sessions that these processes share are closed
        before."""
        self._handle.free()

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<divisi.Processes: {self.count}>"
