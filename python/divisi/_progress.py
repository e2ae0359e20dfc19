"""Shows how far a compilation is: on a terminal, in a notebook, or to the
caller."""

from __future__ import annotations

import html
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Union

_PAUSE = 0.1  # Seconds between two that are drawn.


@dataclass(frozen=True)
class Progress:
    """How far a call is."""
    #: "import", "plan", …; "" when the call is over.
    phase: str
    #: While a plan is searched: the predicted time of the best one so far, in
    #: seconds.
    best: float | None
    #: A time that no plan is below.
    bound: float | None
    #: Ends what is in progress, from any thread: a search keeps its best plan.
    cancel: Callable[[], None] = field(repr=False, compare=False)

    def __str__(self) -> str:
        text = self.phase
        if self.best is not None:
            text += f": {duration(self.best)}"
            if self.bound is not None and self.best > 0:
                gap = max(0.0, 1 - self.bound / self.best)
                text += f", within {100 * gap:.1f} % of the optimum"
        return text


#: None: a line on a terminal or in a notebook, if there is one. False: nothing.
ProgressOption = Union[None, bool, Callable[[Progress], None]]


def duration(seconds: float) -> str:
    """158.4 us"""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"


class _Line:
    """The last line of a terminal, which is empty again in the end."""

    def __init__(self) -> None:
        self._at = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase and now - self._at < _PAUSE:
            return
        self._at = now if progress.phase else 0.0
        text = f"divisi: {progress}" if progress.phase else ""
        try:
            sys.stderr.write(f"\r{text}\x1b[K")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # The terminal is gone, and nobody looks.


class _Cell:
    """A line of a notebook's cell, which stays."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._shown: Any = None
        self._last: Progress | None = None
        self._at = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase:
            self._last = progress
            if now - self._at < _PAUSE:
                return
        self._at = now
        if self._last is None:
            return
        content = self._display.HTML(
            f"<code>divisi: {html.escape(str(self._last))}</code>")
        if self._shown is None:
            self._shown = self._display.display(content, display_id=True)
        else:
            self._shown.update(content)


def _notebook() -> Any:
    """IPython's module of displays, if this is a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    import IPython.display
    return IPython.display


def shower(option: ProgressOption) -> Callable[[Progress], None] | None:
    """Who is told; None: nobody."""
    if option is False:
        return None
    if callable(option):
        return option
    if display := _notebook():
        return _Cell(display)
    stderr = sys.stderr
    if stderr is not None and stderr.isatty():
        return _Line()
    return None
