"""PyTorch: torch.compile(model, backend="divisi"), and programs of modules.

    compiled = torch.compile(model, backend="divisi", options={"devices": 4})

Where the package is installed, torch.compile finds the backend by itself; in a
tree that is built, `import divisi.torch` registers it. docs/pytorch.md describes
all of it.
"""

from __future__ import annotations

from ._backend import backend
from ._module import CompiledModule, compile

__all__ = ["CompiledModule", "backend", "compile"]


def _register() -> None:
    """Where no installed package names the backend, which PyTorch then loads."""
    import torch._dynamo as dynamo
    if "divisi" not in dynamo.list_backends(exclude_tags=None):
        dynamo.register_backend(compiler_fn=backend, name="divisi")


_register()
