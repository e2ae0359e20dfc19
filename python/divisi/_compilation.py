"""A compilation of the C API: its calls, its messages, its end.

A call blocks for as long as the compiler works, so it runs on a thread of its
own while the main thread waits for it, where Python raises KeyboardInterrupt.
Ctrl-C once cancels: a search for a plan ends, and keeps the best one; another
call ends with the compilation. Ctrl-C twice ends the compiler, whatever it does.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Callable, Mapping

from . import _c
from ._artifact import Messages
from ._errors import Cancelled
from ._handles import Handle
from ._options import Folder, Model, arguments_of
from ._progress import Progress, ProgressOption, shower


def interruptible(work: Callable[[], Any], cancel: Callable[[], None]) -> int:
    """Does `work`, and calls cancel() for each KeyboardInterrupt; how many there
    were. They are raised on the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        work()
        return 0
    failure: list[BaseException] = []
    # Thread.join() that was interrupted takes a thread for ended, in 3.11.
    is_done = threading.Event()

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failure.append(error)
        finally:
            is_done.set()

    thread = threading.Thread(target=guarded, name="divisi", daemon=True)
    interrupts, is_started = 0, False
    while True:
        try:
            if not is_started:
                is_started = True
                thread.start()
            is_done.wait()
            break
        except KeyboardInterrupt:
            interrupts += 1
            cancel()
    if interrupts and failure and isinstance(failure[0], Cancelled):
        raise KeyboardInterrupt from failure[0]
    if failure:
        raise failure[0]
    if interrupts > 1:  # It has answered just before it was ended.
        raise KeyboardInterrupt
    return interrupts


class Compilation:
    """A model on its way to an artifact."""

    def __init__(self, model: Any, external_data: Any,
                 options: Mapping[str, Any], progress: ProgressOption) -> None:
        self._api = _c.compiler()
        self._show = shower(progress)
        self._messages = Messages()
        self._progress_call_back = _c.Progress(self._take_progress)
        self._failure: BaseException | None = None
        self._handle: Handle | None = None
        self._is_abandoned = False
        self.folder = Folder()
        self.model = Model(model, external_data, self.folder)
        self._arguments = arguments_of(options, self.folder)
        self._create()

    def _create(self) -> None:
        texts = (ctypes.c_char_p * max(len(self._arguments), 1))(
            *self._arguments)
        model = self.model
        options = _c.options(
            _c.CompilationOptions, model_path=model.path,
            arguments=texts, num_arguments=len(self._arguments),
            progress=self._progress_call_back,
            log=self._messages.call_back)
        if model.content is not None:
            options.model_bytes = ctypes.cast(
                ctypes.c_char_p(model.content), ctypes.c_void_p)
            options.model_size = len(model.content)
        pointer = ctypes.c_void_p()

        def create() -> None:
            _c.check(self._api, self._api.create(options, pointer))
            handle = Handle(pointer.value, self._api.free, "plan")
            if self._is_abandoned:
                handle.free()
            else:
                handle.keep_for(self)
                self._handle = handle

        self._run(create, self._abandon)
        model.content = None

    def _abandon(self) -> None:
        """Nothing can be cancelled that is not there yet: it ends by itself."""
        self._is_abandoned = True
        raise KeyboardInterrupt

    def _take_progress(self, user: Any, pointer: Any) -> None:
        info = pointer.contents
        if self._show is None or self._failure is not None:
            return
        try:
            self._show(Progress(
                info.phase.decode(),
                info.best_ns / 1e9 if info.best_ns >= 0 else None,
                info.bound_ns / 1e9 if info.bound_ns >= 0 else None,
                self.cancel))
        except BaseException as error:
            self._failure = error
            self.cancel()

    def _run(self, work: Callable[[], None],
             cancel: Callable[[], None]) -> int:
        """Does `work`, then raises what the caller's progress has raised, or
        tells what the compiler has told."""
        self._failure = None
        try:
            interrupts = interruptible(work, cancel)
        finally:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
        self._messages.tell(level=6)
        return interrupts

    def call(self, function: str, *arguments: Any) -> int:
        """One call of C; how often it was interrupted."""
        handle = self._handle
        pointer = handle.take()
        try:
            return self._run(lambda: _c.check(
                self._api, getattr(self._api, function)(pointer, *arguments)),
                self.cancel)
        finally:
            handle.busy.release()

    def text(self, function: str, *arguments: Any) -> str:
        """One that returns a text."""
        text = ctypes.c_char_p()
        handle = self._handle
        pointer = handle.take()

        def ask() -> None:
            _c.check(self._api, getattr(self._api, function)(
                pointer, *arguments, text))

        try:
            self._run(ask, self.cancel)
            return text.value.decode("utf-8", "replace")
        finally:
            handle.busy.release()

    def cancel(self) -> None:
        """Ends what is in progress, from any thread."""
        handle = self._handle
        if handle is None:  # It is still being created.
            return
        with handle.life:
            if handle.pointer is not None:
                _c.check(self._api, self._api.cancel(handle.pointer))

    def close(self) -> None:
        """Ends what is in progress, twice, then the compiler."""
        self.cancel()
        self.cancel()
        self._handle.free()
