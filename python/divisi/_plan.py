"""Plans: how a model is divided, and what that costs."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from ._artifact import Artifact, PathLike, load
from ._compilation import Compilation
from ._errors import DivisiWarning, UsageError
from ._html import page_of
from ._progress import ProgressOption, duration

#: A path, the content of a file, or an onnx.ModelProto.
ModelLike = Any
Shape = Union[str, Sequence[int]]


class Explanation(str):
    """A text that an interpreter shows as it is."""

    def __repr__(self) -> str:
        return str(self)


class Plan:
    """How a model is divided over devices. Made by plan().

    It is for one thread at a time, but for cancel().
    """

    def __init__(self, compilation: Compilation, interrupts: int,
                 weights: str | None) -> None:
        self._compilation = compilation
        self._weights = weights
        self._price: float | None = None
        self._explained: dict[str, str] = {}
        #: Whether Ctrl-C has ended the search for it.
        self.interrupted = interrupts > 0

    def explain(self, format: str = "text") -> Any:
        """What it gains, costs, holds and moves, as `divisi explain` says it:
        "text", or "dict", whose form docs/guide.md calls the JSON of explain."""
        if format not in ("text", "dict"):
            raise UsageError(f"format '{format}': expected 'text' or 'dict'")
        if format == "text":
            return Explanation(self._explain("text"))
        return json.loads(self._explain("json"))

    def _explain(self, format: str) -> str:
        if format not in self._explained:
            self._explained[format] = self._compilation.text(
                "explain", format.encode())
        return self._explained[format]

    @property
    def price(self) -> float:
        """The predicted time of a run, in seconds."""
        if self._price is None:
            self._price = self.explain("dict")["predicted_nanoseconds"] / 1e9
        return self._price

    @property
    def layouts(self) -> dict[str, Any]:
        """The grids, the operators with their strategies and layouts, and the
        tensors at rest; docs/python.md has the form."""
        return json.loads(self._compilation.text("layouts", None))

    def __getitem__(self, name: str) -> "Operators":
        """The operators of that name: a node's, a module scope's, or a kind
        such as "nn.matmul"; `*` and `?` stand for any characters."""
        if not isinstance(name, str) or not name or "\0" in name:
            raise UsageError(f"operators of a plan are found by a name, not by "
                             f"{name!r}")
        return Operators(self, name)

    def _set_split(self, name: str, split: str) -> None:
        price = ctypes.c_double()
        self._compilation.call("set_split", name.encode(), split.encode(),
                               price)
        self._explained.clear()
        self._price = price.value / 1e9

    def dump(self, stage: str = "plan") -> str:
        """The module after a stage, as text: "import", "train",
        "rewrite", "plan", "partition", "schedule" or "lower". plan() and compile() read it again."""
        return self._compilation.text("dump", stage.encode())

    def compile(self, path: PathLike | None = None) -> Artifact:
        """The artifact, written to `path`, or kept in memory."""
        if path is not None:
            whole = Path(path).absolute()
            self._compilation.call("compile", os.fsencode(whole))
            return load(whole)
        if self._weights == "external":
            raise UsageError("weights='external' refers to files beneath the "
                             "artifact's folder: give compile() a path")
        with tempfile.TemporaryDirectory(prefix="divisi-") as folder:
            name = os.path.join(folder, "model.divisi")
            self._compilation.call("compile", os.fsencode(name))
            artifact = load(name)
            artifact._keep(open(name, "rb"))
        return artifact

    def cancel(self) -> None:
        """Ends the call that is in progress on another thread, which raises
        Cancelled, and with it the plan."""
        self._compilation.cancel()

    def close(self) -> None:
        """Ends the compiler's process."""
        self._compilation.close()

    def __enter__(self) -> "Plan":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return page_of(self.explain("dict"))

    def __repr__(self) -> str:
        price = "" if self._price is None else f", {duration(self._price)} a run"
        return f"<divisi.Plan of {self._compilation.model.name}{price}>"


class Operators:
    """Operators of a plan, by their name."""

    def __init__(self, plan: Plan, name: str) -> None:
        self._plan = plan
        self._name = name

    @property
    def layouts(self) -> list[dict[str, Any]]:
        """Those of Plan.layouts."""
        text = self._plan._compilation.text("layouts", self._name.encode())
        return json.loads(text)["operators"]

    @property
    def split(self) -> dict[str, str]:
        """Their strategies by node, "down", or, of several operators of a node,
        "down (nn.matmul)": `m@x, n@y`; "" of an operator that every device runs
        whole. Assigning one gives it to those that have its loops, and prices
        the plan again; one that any of these cannot have, or that has loops of
        none, raises and changes nothing."""
        rows = self.layouts
        nodes = Counter(row["node"] for row in rows)
        found: dict[str, str] = {}
        for row in rows:
            node = row["node"]
            name = node if node and nodes[node] == 1 else \
                f"{node} ({row['op']})".lstrip()
            count = sum(key == name or key.startswith(f"{name} #")
                        for key in found)
            found[f"{name} #{count + 1}" if count else name] = row["split"]
        return found

    @split.setter
    def split(self, split: str) -> None:
        if not isinstance(split, str) or "\0" in split:
            raise UsageError(f"a strategy is a text such as 'm@x, n@y', not "
                             f"{split!r}")
        self._plan._set_split(self._name, split)

    def __repr__(self) -> str:
        return f"<operators {self._name!r} of {self._plan!r}>"


def plan(model: ModelLike, *, devices: int | None = None,
         cluster: PathLike | None = None,
         shapes: Mapping[str, Shape] | None = None,
         dims: Mapping[str, int] | None = None,
         constants: Mapping[str, Any] | None = None,
         memory_limit: str | int | None = None,
         mesh: str | Sequence[int] | Mapping[str, int] | None = None,
         external_data: PathLike | None = None,
         progress: ProgressOption = None, **options: Any) -> Plan:
    """Finds a plan.

    model: a path, the content of a file, or an onnx.ModelProto.
    devices, cluster: the machine: so many devices of this one, "dgx-h100:8", or
        a file as `divisi cluster` writes it.
    shapes, dims: the extents that the model leaves open, by input or by name.
    constants: inputs that are made constants, by name: files or arrays.
    memory_limit: bytes per device, or "70GiB".
    mesh: the axes of the grid: "2x4", (2, 4) or {"data": 2, "model": 4}.
    external_data: the folder with the external data of a model that is no file.
    progress: False shows nothing; a callable is called with a Progress.
    options: all others of `divisi compile`, which lists them, with `_` for `-`:
        time_limit=20, tensor_parallel_size=4, precision="bf16", replan=True.

    Ctrl-C ends the search and keeps the best plan; twice, it ends the compiler.
    Raises InfeasibleError, NoPlanError, InvalidError, UnsupportedError, …
    """
    options.update(devices=devices, cluster=cluster, shapes=shapes, dims=dims,
                   constants=constants, memory_limit=memory_limit, mesh=mesh)
    compilation = Compilation(model, external_data, options, progress)
    interrupts = compilation.call("plan")
    if interrupts:
        warnings.warn("interrupted: the best plan so far is kept",
                      DivisiWarning, stacklevel=2)
    return Plan(compilation, interrupts, options.get("weights"))


def compile(model: ModelLike, path: Any = None, **options: Any) -> Any:
    """plan() and Plan.compile() in one: the artifact, written to `path`, or
    kept in memory. Takes all that plan() takes.

    A module of PyTorch, or an exported program, with the arguments of a call in
    place of the path, is compiled by divisi.torch.compile()."""
    if _is_of_torch(model):
        from .torch import compile as compile_module
        return compile_module(model, path, **options)
    with plan(model, **options) as made:
        return made.compile(path)


def _is_of_torch(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(
        model, (torch.nn.Module, torch.export.ExportedProgram))
