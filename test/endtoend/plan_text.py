"""Reads what a dump of the stage Plan says."""

import re
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Operator:
    """An operator with a strategy."""
    name: str
    labels: str  # Of a product, else empty.
    scope: str
    axes: dict   # Per loop that is split, the axes that split it.
    line: str

    def used(self):
        return {axis for axes in self.axes.values() for axis in axes}


class Plan:
    """The text of a plan on one grid."""

    def __init__(self, text):
        [grid] = re.findall(r"spmd\.grid @g \(([^)]*)\)", text)
        sizes = dict(re.findall(r"(\w+) = (\d+)", grid))
        self.axes = {axis: int(size) for axis, size in sizes.items()}
        [record] = re.findall(r"divisi\.plan = \{([^}]*)\}", text)
        self.nanoseconds, self.bound = (
            int(re.search(rf"\b{key} = (\d+)", record).group(1))
            for key in ("nanoseconds", "lower_bound"))
        self.places = {name: (shape, dims.split(", "))
                       for name, shape, dims in re.findall(
                           r"nn\.global @(\S+) \w+ : tensor<([^>]*)>.*?"
                           r"spmd\.place<@g: \[(.*?)\]", text)}
        self.operators = [op for op in map(read_operator, text.splitlines())
                          if op]

    def degree(self, axes):
        """Over how many devices these axes lie."""
        return prod(self.axes[axis] for axis in axes)

    def named(self, name, scope=""):
        return [op for op in self.operators
                if op.name == f"nn.{name}" and scope in op.scope]


def read_operator(line):
    found = re.search(r"= (nn\.\w+) .*spmd\.split<@g(?:: ([^>]*))?>", line)
    if not found:
        return None
    name, splits = found.groups()
    axes = {loop: tuple(axes.split("."))
            for loop, axes in re.findall(r"(\w+)@([\w.]+)", splits or "")}
    labels, scope = (re.search(rf'{key} = "([^"]*)"', line)
                     for key in ("labels", r"nn\.scope"))
    return Operator(name, labels.group(1) if labels else "",
                    scope.group(1) if scope else "", axes, line)
