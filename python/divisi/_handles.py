"""Handles of the C APIs: freed once, by whoever made them.

A handle is freed by close(), by the garbage collector or when the interpreter
exits, whatever comes first. A forked child has copies of its parent's handles;
the threads and processes behind them stayed with the parent, so the child forgets
them: it neither uses nor frees one.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Callable

from ._errors import UsageError

_live: "weakref.WeakSet[Handle]" = weakref.WeakSet()


class Handle:
    """One handle. `busy` is held by whoever is in a call for one thread at a
    time, `life` while the pointer is used by others, such as cancel()."""

    __slots__ = ("pointer", "busy", "life", "what", "_free", "_why",
                 "__weakref__")

    def __init__(self, pointer: int, free: Callable[[int], None],
                 what: str) -> None:
        self.pointer: int | None = pointer
        self.what = what
        self._free = free
        self._why = f"the {what} is closed"
        self._unlock()
        _live.add(self)

    def _unlock(self) -> None:
        self.busy = threading.Lock()
        # A signal's handler may come in while its own thread holds it.
        self.life = threading.RLock()

    def keep_for(self, owner: object) -> None:
        """Frees it when `owner` goes, and at exit."""
        weakref.finalize(owner, self.free_at_end)

    def get(self) -> int:
        """The pointer, if there is one still."""
        if self.pointer is None:
            raise UsageError(self._why)
        return self.pointer

    def take(self) -> int:
        """The pointer, for this thread alone until `busy` is released."""
        if not self.busy.acquire(False):
            raise UsageError(f"another thread is in a call on the {self.what}; "
                             "use one for each thread")
        if self.pointer is None:
            self.busy.release()
            raise UsageError(self._why)
        return self.pointer

    def free(self) -> None:
        """Ends it, once nobody is in a call on it."""
        with self.busy, self.life:
            pointer, self.pointer = self.pointer, None
            if pointer is not None:
                self._free(pointer)

    def free_at_end(self) -> None:
        """The same, but of one that a thread is at work on, which cannot be but
        at exit: that is left to the end of the process."""
        if self.busy.acquire(False):
            self.busy.release()
            self.free()

    def forget(self) -> None:
        """Of a child of the process that made it."""
        self.pointer = None
        self._why = (f"the {self.what} belongs to the process that this one "
                     "was forked from; make another one here")
        self._unlock()


def _forget_all() -> None:
    for handle in list(_live):
        handle.forget()


os.register_at_fork(after_in_child=_forget_all)
