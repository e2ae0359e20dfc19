"""Errors, by the exit codes of the command line (docs/error-codes.md)."""

from __future__ import annotations

__all__ = [
    "Cancelled", "DeviceError", "DivisiWarning", "Error", "FileError",
    "InfeasibleError", "InternalError", "InvalidError", "NoPlanError",
    "ResultsDifferError", "UnsupportedError", "UsageError", "VersionError",
]


class Error(Exception):
    """Of any kind. `code` is the exit code that the command line would end
    with, `place` what it is about: a file, an entry, a tensor, or ""."""

    code = 1

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place

    def __str__(self) -> str:
        if self.place and self.place not in self.message:
            return f"{self.place}: {self.message}"
        return self.message

    def __reduce__(self) -> tuple:
        return type(self), (self.message, self.place)


class InternalError(Error):
    """A defect of Divisi."""
    code = 1


class UsageError(Error):
    """A call that is wrong, or contradicts another."""
    code = 2


class FileError(Error, OSError):
    """A file cannot be read or written."""
    code = 3


class InvalidError(Error, ValueError):
    """Invalid content: a model, an artifact, a tensor."""
    code = 4


class UnsupportedError(Error, NotImplementedError):
    """An operator or type that Divisi does not do."""
    code = 5


class InfeasibleError(Error):
    """No plan fits; the message says what binds."""
    code = 6


class NoPlanError(Error):
    """No plan was found in time."""
    code = 7


class ResultsDifferError(Error):
    """Results differ from what was expected."""
    code = 8


class DeviceError(Error, RuntimeError):
    """A device, memory or a connection has failed."""
    code = 9


class VersionError(Error):
    """An artifact, a plan or a library of another version."""
    code = 10


class Cancelled(Error):
    """It was ended by cancel()."""
    code = 130


class DivisiWarning(UserWarning):
    """What a caller may not want."""


for _name in __all__:
    globals()[_name].__module__ = "divisi"  # Where users find them.

_BY_CODE: dict[int, type[Error]] = {
    kind.code: kind for kind in (
        InternalError, UsageError, FileError, InvalidError, UnsupportedError,
        InfeasibleError, NoPlanError, ResultsDifferError, DeviceError,
        VersionError, Cancelled)}


def error_of(code: int, message: str, place: str = "") -> Error:
    """The exception of that exit code."""
    return _BY_CODE.get(code, InternalError)(message, place)
