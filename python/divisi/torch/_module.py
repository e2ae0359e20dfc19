"""divisi.torch.compile: one program of a module, without torch.compile."""

from __future__ import annotations
class CompiledModule: pass
def compile(): pass
