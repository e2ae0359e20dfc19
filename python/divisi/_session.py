"""Sessions: running artifacts."""

from __future__ import annotations

import ctypes
import json
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Iterator, NamedTuple, Union

from . import _c
from ._artifact import Artifact, Entry, PathLike, load
from ._errors import DeviceError, InvalidError, UsageError
from ._handles import Handle
from ._processes import Processes
from ._tensors import TENSOR_BYTES, capsule_pointer, copy_tensor, fill

_VERSION, _NAME, _TENSOR_AT = (1, 0), b"dltensor_versioned", 32
# Where a kernel was given up, it may still write to what it was given.
_abandoned: list[Any] = []


class DeviceMemory(NamedTuple):
    """What a device holds, in bytes."""
    weights: int    #: Its part of the globals.
    arena: int      #: Activations.
    workspace: int  #: Of kernels, beyond the arena.
    packed: int     #: Weights in the layouts of kernels.
    messages: int   #: Of collectives.
    device: int     #: All of it that lies in memory of a GPU.


class _Call:
    """What calls of one entry share: tensors of C, filled in again by each."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.name = entry.name.encode()
        self.names = tuple(value.name for value in entry.inputs)
        self.inputs = (_c.Tensor * max(len(entry.inputs), 1))()
        self.outputs = (_c.Tensor * max(len(entry.outputs), 1))()
        at = ctypes.addressof(self.inputs)
        self.takes = [(at + i * TENSOR_BYTES, value, value.is_plain)
                      for i, value in enumerate(entry.inputs)]
        at = ctypes.addressof(self.outputs)
        self.gives = [(self.outputs[i], value, at + i * TENSOR_BYTES)
                      for i, value in enumerate(entry.outputs)]
        self._blank_outputs = [value.tensor() for value in entry.outputs]
        for tensor, blank in zip(self.outputs, self._blank_outputs):
            copy_tensor(ctypes.addressof(tensor), ctypes.addressof(blank),
                        TENSOR_BYTES)

    def order(self, given: Mapping[str, Any]) -> list[Any]:
        """The inputs in the order of the entry."""
        try:
            arrays = [given[name] for name in self.names]
        except KeyError:
            arrays = []
        if len(given) == len(self.names) == len(arrays):
            return arrays
        missing = [name for name in self.names if name not in given]
        unknown = [name for name in given if name not in self.names]
        if missing:
            raise InvalidError(f"input '{missing[0]}' is missing")
        raise InvalidError(f"there is no input '{unknown[0]}'; the inputs are "
                           f"{', '.join(self.names) or 'none'}")

    def use_out(self, out: Mapping[str, Any], kept: list[Any]) -> None:
        """Lets outputs be written to the caller's arrays."""
        names = [value.name for _, value, _ in self.gives]
        for name in out:
            if name not in names:
                raise InvalidError(f"there is no output '{name}'; the outputs "
                                   f"are {', '.join(names) or 'none'}")
        for _, value, address in self.gives:
            if value.name in out:
                kept.append(fill(address, out[value.name], value,
                                 f"output '{value.name}'", is_output=True))

    def reset_outputs(self) -> None:
        """After use_out(): as they were made."""
        for (_, _, address), blank in zip(self.gives, self._blank_outputs):
            copy_tensor(address, ctypes.addressof(blank), TENSOR_BYTES)


class Session:
    """What one run at a time of an artifact needs: threads, activations, state.
    Several sessions of an artifact share its weights, and run at the same time
    on several threads.

    artifact: an Artifact, a path or bytes.
    backend: backends in order of preference; by default "cpu,reference". GPUs
        are used where the artifact asks for them.
    threads: of the kernels of one device; by default one.
    timeout: how long a device waits for others in one step, or works at one
        kernel, before the run fails, in seconds; by default 60.
    check_indices: whether indices that data gives are checked.
    trace: record when each instruction began and ended, for write_trace().
    mpi_comm: the address of an MPI_Comm, or a communicator of mpi4py, whose
        processes share the devices and make their sessions at the same time.
    processes: divisi.Processes, in the place of mpi_comm: those that share the
        devices, which make their sessions at the same time.
    whole_outputs: each of several processes gets all of the outputs, not only
        what its own devices have.
    nccl_comms: for each device that runs in this process, the address of an
        ncclComm_t of all devices, which those of the session are split from. It
        stays the caller's, and outlives the session.
    cuda_devices: the numbers of these devices' GPUs; by default those of
        nccl_comms, else the devices' own numbers.
    """

    def __init__(self, artifact: Union[Artifact, PathLike, bytes], *,
                 backend: str | Sequence[str] | None = None,
                 threads: int | None = None, timeout: float | None = None,
                 check_indices: bool = True, trace: bool = False,
                 mpi_comm: Any = None, processes: Processes | None = None,
                 whole_outputs: bool = False,
                 nccl_comms: Sequence[int] | int | None = None,
                 cuda_devices: Sequence[int] | int | None = None) -> None:
        if not isinstance(artifact, Artifact):
            artifact = load(artifact)
        self.artifact = artifact
        self._api = api = _c.runtime()
        comms = _numbers(nccl_comms, ctypes.c_void_p, "nccl_comms")
        gpus = _numbers(cuda_devices, ctypes.c_int32, "cuda_devices")
        options = _c.options(
            _c.ContextOptions, backends=_backends(backend),
            threads_per_device=_threads(threads),
            timeout_ms=_milliseconds(timeout),
            no_index_check=int(not check_indices), trace=int(trace),
            mpi_comm=_communicator(mpi_comm),
            processes=processes._handle.get() if processes else None,
            whole_outputs=int(whole_outputs),
            nccl_comms=comms, num_nccl_comms=len(comms),
            cuda_devices=gpus, num_cuda_devices=len(gpus))
        pointer = ctypes.c_void_p()
        with artifact._handle.life:
            _c.check(api, api.context_create(artifact._handle.get(), options,
                                             pointer))
        self._processes = processes  # which outlive it
        self._handle = Handle(pointer.value, api.context_free, "session")
        self._handle.keep_for(self)
        self._calls: dict[str | None, _Call] = {}
        #: Its state: what entries update.
        self.state = State(self)

    def _call_of(self, entry: str | None) -> _Call:
        found = self.artifact.entry(entry)
        call = self._calls.get(found.name) or _Call(found)
        self._calls[found.name] = self._calls[entry] = call
        return call

    def run(self, *inputs: Any, entry: str | None = None,
            out: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Runs an entry, by default the only one.

        inputs: a mapping by name, or arrays in the order of the entry. An array
            is anything with `__dlpack__` in the memory of the host: of NumPy,
            PyTorch and others. It is read where it lies, whatever its strides.
        out: arrays to write outputs to, by name; others are made.

        Returns the outputs by name, as arrays of NumPy, or what `out` has.
        Raises InvalidError where inputs do not fit, Cancelled, DeviceError.
        """
        handle = self._handle
        pointer = handle.take()
        try:
            call = self._calls.get(entry) or self._call_of(entry)
            if len(inputs) == 1 and isinstance(inputs[0], Mapping):
                inputs = call.order(inputs[0])
            elif len(inputs) != len(call.takes):
                raise InvalidError(f"got {len(inputs)} inputs, expected "
                                   f"{len(call.takes)}: "
                                   f"{', '.join(call.names) or 'none'}")
            return self._run(pointer, call, inputs, out)
        finally:
            handle.busy.release()

    def _run(self, pointer: int, call: _Call, inputs: Sequence[Any],
             out: Mapping[str, Any] | None) -> dict[str, Any]:
        kept: list[Any] = []
        results: dict[str, Any] = {}
        for (address, value, is_plain), array in zip(call.takes, inputs):
            try:
                if not is_plain:
                    raise TypeError
                capsule = array.__dlpack__(max_version=_VERSION)
                copy_tensor(address, capsule_pointer(capsule, _NAME)
                            + _TENSOR_AT, TENSOR_BYTES)
            except Exception:  # fill() takes more, and says what is wrong
                capsule = fill(address, array, value, f"input '{value.name}'")
            kept.append(capsule)
        try:
            if out:
                call.use_out(out, kept)
            for tensor, value, _ in call.gives:
                if out and value.name in out:
                    results[value.name] = out[value.name]
                else:
                    results[value.name], tensor.data = value.allocate()
            error = self._api.run(pointer, call.name, call.inputs,
                                  len(call.takes), call.outputs,
                                  len(call.gives))
        finally:
            if out:
                call.reset_outputs()
        if error:
            failure = self._api.errors.take(error)
            if isinstance(failure, DeviceError):
                _abandoned.append((kept, results))
            raise failure
        for _, value, _ in call.gives:
            if not value.is_plain and not (out and value.name in out):
                results[value.name] = value.show(results[value.name])
        return results

    def cancel(self) -> None:
        """Ends the run that is in progress on another thread, if any: it raises
        Cancelled. The session can be used again."""
        handle = self._handle
        with handle.life:
            _c.check(self._api, self._api.cancel(handle.get()))

    def close(self) -> None:
        """Ends the run that is in progress, if any, then the session."""
        with self._handle.life:
            if self._handle.pointer is not None:
                self._api.cancel(self._handle.pointer)
        self._handle.free()

    def describe(self) -> dict[str, Any]:
        """Which operators run on which backend, and what each run does to
        memory and with others."""
        text = ctypes.c_char_p()
        pointer = self._handle.take()
        try:
            _c.check(self._api, self._api.describe(pointer, text))
            return json.loads(text.value)
        finally:
            self._handle.busy.release()

    def memory(self) -> list[DeviceMemory]:
        """What each device holds."""
        pointer = self._handle.take()
        try:
            devices = []
            for rank in range(self.artifact.devices):
                info = _c.options(_c.MemoryInfo)
                _c.check(self._api, self._api.memory(pointer, rank, info))
                devices.append(DeviceMemory(*(
                    getattr(info, name) for name in DeviceMemory._fields)))
            return devices
        finally:
            self._handle.busy.release()

    def write_trace(self, path: PathLike) -> None:
        """Writes what the last run did as Chrome's trace events; the session was
        made with trace=True."""
        pointer = self._handle.take()
        try:
            _c.check(self._api,
                     self._api.write_trace(pointer, _c.path_bytes(path)))
        finally:
            self._handle.busy.release()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<divisi.Session of {self.artifact!r}>"


class State(Mapping):
    """The globals of a session: weights, and what entries update. Their present
    values by name, as new arrays."""

    def __init__(self, session: Session) -> None:
        import weakref
        self._session = weakref.proxy(session)

    def __getitem__(self, name: str) -> Any:
        session = self._session
        value = session.artifact.globals.get(name)
        if value is None:
            raise KeyError(name)
        pointer = session._handle.take()
        try:
            array, address = value.allocate()
            tensor = value.tensor()
            tensor.data = address
            _c.check(session._api, session._api.read_global(
                pointer, name.encode(), tensor))
        finally:
            session._handle.busy.release()
        return value.show(array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._session.artifact.globals)

    def __len__(self) -> int:
        return len(self._session.artifact.globals)

    def reset(self) -> None:
        """Gives all that entries update the values that the artifact has."""
        session = self._session
        pointer = session._handle.take()
        try:
            _c.check(session._api, session._api.reset_state(pointer))
        finally:
            session._handle.busy.release()


#===----------------------------------------------------------------------===#
# Options
#===----------------------------------------------------------------------===#

def _backends(backend: str | Sequence[str] | None) -> bytes | None:
    if backend is None:
        return None
    return (backend if isinstance(backend, str) else ",".join(backend)).encode()


def _threads(threads: int | None) -> int:
    if threads is None:
        return 0
    if not 1 <= threads <= 1024:
        raise UsageError(f"threads {threads}: expected 1 to 1024")
    return threads


def _milliseconds(timeout: float | None) -> int:
    if timeout is None:
        return 0
    if not 0 < timeout <= 86400:  # not of NaN either
        raise UsageError(f"timeout {timeout}: expected more than 0 and up to "
                         "86400 seconds")
    return max(1, math.ceil(timeout * 1000))


def _numbers(given: Sequence[int] | int | None, kind: Any,
             name: str) -> ctypes.Array:
    """An array of C, empty for None."""
    if given is None:
        given = ()
    elif hasattr(given, "__index__"):
        given = (given,)
    try:
        numbers = [operator.index(one) for one in given]
    except TypeError:
        raise UsageError(f"{name}: expected a number, or one for each device "
                         "that runs in this process") from None
    for one in numbers:
        if not 0 <= one < 1 << 8 * ctypes.sizeof(kind) - 1:
            raise UsageError(f"{name}: {one} is out of range")
    return (kind * len(numbers))(*numbers)


def _communicator(comm: Any) -> int | None:
    if comm is None or isinstance(comm, int):
        return comm
    try:
        from mpi4py import MPI
        return MPI._addressof(comm)
    except (ImportError, TypeError):
        raise UsageError("mpi_comm: expected a communicator of mpi4py, or the "
                         "address of an MPI_Comm") from None
