"""Where the plan wants the operands of a graph's nodes.

An operator of the plan may stand for several nodes: a norm is recognised in five, and
has the name of the last. What enters such a group has the layout that its operator
wants it in; within the group all is computed as operands lie.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Sequence

import torch
from torch import fx

from ._placements import Layout, factored, plain

Rows = Mapping[str, list[dict[str, Any]]]


def group_of(node: fx.Node, rows: Rows) -> list[dict[str, Any]]:
    """The operators of the plan that `node` is part of: its own, or those that
    its results reach through nodes that have none."""
    if node.name in rows:
        return rows[node.name]
    found: dict[str, list[dict[str, Any]]] = {}
    seen, stack = {node}, list(node.users)
    while stack:
        user = stack.pop()
        if user in seen:
            continue
        seen.add(user)
        if user.name in rows:
            found[user.name] = rows[user.name]
        else:
            stack.extend(user.users)
    return next(iter(found.values())) if len(found) == 1 else []


def placed(text: str, extents: Sequence[int], shape: Sequence[int],
           axes: Mapping[str, int]) -> list[Any] | None:
    """A layout of the plan, of a tensor of `extents`, as placements of one of
    `shape`; None where those are another tensor's."""
    layout = Layout.of(text)
    if layout is None or len(layout.dims) != len(extents):
        return None
    if list(extents) == list(shape):
        return plain(layout, axes)
    if [e for e in extents if e != 1] == [e for e in shape if e != 1]:
        where = [d for d, e in enumerate(extents) if e != 1]
        there = [d for d, e in enumerate(shape) if e != 1]
        dims: list[list[str]] = [[] for _ in shape]
        for source, target in zip(where, there):
            dims[target] = layout.dims[source]
        return plain(Layout(dims, layout.partial, layout.kind), axes)
    return factored(layout, extents, shape, axes)


def wanted(node: fx.Node, rows: Rows, axes: Mapping[str, int]
           ) -> dict[fx.Node, list[Any]]:
    """The placements in which the plan wants the operands of `node`, of those
    that are operands of the plan's operator."""
    found: dict[fx.Node, list[Any]] = {}
    group = group_of(node, rows)
    for argument in node.all_input_nodes:
        value = argument.meta.get("val")
        if not isinstance(value, torch.Tensor):
            continue
        matches = _matches(value, group, axes)
        if matches and all(match == matches[0] for match in matches):
            found[argument] = matches[0]
    return found


def _matches(value: torch.Tensor, group: Sequence[dict[str, Any]],
             axes: Mapping[str, int]) -> list[list[Any]]:
    """Of the first operator that has operands of the value's shape."""
    for row in group:
        found = []
        for text, extents in zip(row["operands"], row.get("operand_shapes", ())):
            made = placed(text, extents, value.shape, axes)
            if made is not None and math.prod(extents) == value.numel():
                found.append(made)
        if found:
            return found
    return []


def merge_views(graph: fx.Graph, views: Sequence[Any]) -> None:
    """Makes one of equal views of a tensor, so that it is moved once."""
    seen: dict[Any, fx.Node] = {}
    for node in list(graph.nodes):
        if node.target not in views or node.kwargs:
            continue
        key = node.target, str(node.args)
        if key in seen:
            node.replace_all_uses_with(seen[key])
            graph.erase_node(node)
        else:
            seen[key] = node
