"""Plans in files, as `divisi export --to dtensor` and ModulePlan.export() write
them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from .._errors import FileError, InvalidError, UsageError

#: What ONNX calls element types.
NAMES = {
    torch.float32: "FLOAT", torch.float64: "DOUBLE", torch.float16: "FLOAT16",
    torch.bfloat16: "BFLOAT16", torch.int64: "INT64", torch.int32: "INT32",
    torch.int16: "INT16", torch.int8: "INT8", torch.uint8: "UINT8",
    torch.bool: "BOOL",
}
_TYPES = {name: dtype for dtype, name in NAMES.items()}
_NEEDED = ("mesh", "inputs", "parameters", "modules", "tensors")


def read(source: Any) -> Mapping[str, Any]:
    """The content of a file, or that which is given."""
    where = "the plan"
    if isinstance(source, (str, os.PathLike)):
        where = f"'{os.fspath(source)}'"
        try:
            source = json.loads(Path(source).read_text())
        except OSError as error:
            raise FileError(f"cannot read {where}: {error.strerror}") from error
        except ValueError as error:
            raise InvalidError(f"{where} is no JSON: {error}") from error
    if not isinstance(source, Mapping) or source.get("format") != "dtensor" \
            or source.get("version") != 1 or any(
                key not in source for key in _NEEDED):
        raise InvalidError(f"{where} is no plan of version 1 that `divisi export "
                           "--to dtensor` has written")
    return source


def layouts_of(exported: Mapping[str, Any]) -> dict[str, Any]:
    """What Plan.layouts is, of a plan that was exported."""
    mesh = exported["mesh"]
    axes = ", ".join(f"{name}={extent}" for name, extent in zip(
        mesh["names"], mesh["shape"]))
    return {"grids": [{"name": "g", "axes": f"({axes})"}],
            "operators": [row for module in exported["modules"].values()
                          for row in module.get("operators", [])],
            "tensors": exported["tensors"]}


def example_inputs(exported: Mapping[str, Any]) -> tuple[torch.Tensor, ...]:
    """Zeros of the shapes and types that were planned."""
    made = []
    for row in exported["inputs"]:
        if "shape" not in row or row["dtype"] not in _TYPES:
            raise UsageError(f"the plan does not say the shape or type of the "
                             f"input '{row['name']}': give read_plan() the "
                             "inputs of a call")
        made.append(torch.zeros(row["shape"], dtype=_TYPES[row["dtype"]]))
    return tuple(made)
