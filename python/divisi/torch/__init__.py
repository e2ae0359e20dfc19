"""PyTorch: torch.compile(model, backend="divisi"), and programs of modules.

    compiled = torch.compile(model, backend="divisi", options={"devices": 4})

    plan = divisi.torch.plan(model, (x,), devices=2)
    divisi.torch.parallelize(model, plan, device_mesh)

Where the package is installed, torch.compile finds the backend by itself; in a
tree that is built, `import divisi.torch` registers it. docs/pytorch.md describes
all of it.
"""

from __future__ import annotations

import importlib
from typing import Any

from ._backend import backend
from ._module import CompiledModule, compile

__all__ = ["CompiledModule", "ModulePlan", "backend", "compile", "parallelize",
           "plan", "read_plan", "state_dict"]

_OF_PLANS = {"ModulePlan": "_module_plan", "plan": "_module_plan",
             "read_plan": "_module_plan",
             "parallelize": "_parallel", "state_dict": "_parallel"}


def __getattr__(name: str) -> Any:
    """What needs torch.distributed, which not every build of PyTorch has."""
    if name not in _OF_PLANS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_OF_PLANS[name]}", __name__),
                   name)


def _register() -> None:
    """Where no installed package names the backend, which PyTorch then loads."""
    import torch._dynamo as dynamo
    if "divisi" not in dynamo.list_backends(exclude_tags=None):
        dynamo.register_backend(compiler_fn=backend, name="divisi")


_register()
