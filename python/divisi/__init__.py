"""Divisi compiles deep-learning models for many devices.

    import divisi

    artifact = divisi.compile("model.onnx", devices=4)
    session = divisi.Session(artifact)
    outputs = session.run({"x": x})

docs/python.md describes the package, docs/guide.md plans and their options.
"""

from __future__ import annotations

from ._artifact import Artifact, Entry, load
from ._errors import (Cancelled, DeviceError, DivisiWarning, Error, FileError,
                      InfeasibleError, InternalError, InvalidError, NoPlanError,
                      ResultsDifferError, UnsupportedError, UsageError,
                      VersionError)
from ._plan import Explanation, Operators, Plan, compile, plan
from ._processes import Processes
from ._progress import Progress
from ._session import DeviceMemory, Session, State
from ._tensors import Value

__all__ = [
    "Artifact", "Cancelled", "DeviceError", "DeviceMemory", "DivisiWarning",
    "Entry", "Error", "Explanation", "FileError", "InfeasibleError",
    "InternalError", "InvalidError", "NoPlanError", "Operators", "Plan",
    "Processes", "Progress", "ResultsDifferError", "Session", "State",
    "UnsupportedError", "UsageError", "Value", "VersionError", "compile", "load",
    "plan",
]
