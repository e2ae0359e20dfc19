"""Names of a graph's inputs: those of the module's parameters, and arguments."""

from __future__ import annotations

import re
from typing import Any, Sequence

from torch import fx

# As Dynamo writes where a value comes from:
# L['self']._modules['h']._modules['0']._parameters['weight']
_PART = re.compile(r"\[['\"]?([^'\"\]]*)['\"]?\]")
_UNNAMED = {"self", ""}


def _name_of(node: fx.Node) -> str:
    source = getattr(node, "_dynamo_source", None)
    if source is None:
        return str(node.target)
    text = source.name if isinstance(source.name, str) else source.name()
    parts = [part for part in _PART.findall(text) if part not in _UNNAMED]
    return ".".join(parts) or str(node.target)


def input_names(placeholders: Sequence[fx.Node]) -> list[str]:
    """One for each, all different."""
    names: list[str] = []
    seen: set[str] = set()
    for node in placeholders:
        name = base = _name_of(node)
        count = 1
        while name in seen:
            count += 1
            name = f"{base}.{count}"
        seen.add(name)
        names.append(name)
    return names


def place_of(trace: str | None) -> str:
    """The line of the user's code in a stack trace of a node: `file.py:12:
    y = torch.foo(x)`."""
    lines = [line.strip() for line in (trace or "").splitlines()
             if line.strip().strip("~^")]
    for index in range(len(lines) - 1, -1, -1):
        found = re.match(r'File "(.*)", line (\d+)', lines[index])
        if found:
            code = lines[index + 1] if index + 1 < len(lines) else ""
            return f"{found[1]}:{found[2]}" + (f": {code}" if code else "")
    return ""


def is_weight(node: fx.Node) -> bool:
    """Whether Dynamo says that the module has it: a parameter or a buffer."""
    tensors: Any = node.meta.get("tensor_dict") or {}
    return "_dynamo_static_input_type" in tensors
