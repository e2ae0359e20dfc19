"""ONNX's backend interface: models and nodes, prepared and run.

    import divisi.onnx_backend as backend

    prepared = backend.prepare(model, devices=4)
    [y] = prepared.run([x])

The functions are those of onnx.backend.base.Backend. Keyword arguments are
options of divisi.plan(); `session` has those of divisi.Session. What is compiled
has shapes: where a model leaves extents of its inputs open, or where shapes depend
on values of inputs, it is compiled when it runs, once for each combination of
these.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy
import onnx
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, \
    namedtupledict

from . import _plan
from ._compilation import Compilation
from ._errors import InvalidError, UnsupportedError, UsageError
from ._session import Session
from ._shape_inputs import open_inputs, shape_inputs

# Which onnx's runner of tests hands to prepare(), and uses itself.
_OF_THE_RUNNER = ("rtol", "atol")
_FIRST_OPSET = 7


def _readable(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model of an opset that the compiler is too new for, as one of the first
    that it reads; as it is where onnx cannot convert it, for the compiler to
    refuse."""
    if any(not opset.domain and opset.version < _FIRST_OPSET
           for opset in model.opset_import):
        import onnx.version_converter
        try:
            return onnx.version_converter.convert_version(model, _FIRST_OPSET)
        except (RuntimeError, onnx.checker.ValidationError):
            pass
    return model


def _is_open(info: onnx.ValueInfoProto, dims: Container[str] = ()) -> bool:
    """Whether its shape is left to who runs the model; `dims` are given."""
    kind = info.type.tensor_type
    return info.type.HasField("tensor_type") and (
        not kind.HasField("shape") or
        any(not dim.HasField("dim_value") and dim.dim_param not in dims
            for dim in kind.shape.dim))


def _is_sequence(info: onnx.ValueInfoProto) -> bool:
    """Whether it is a list of tensors, or an optional one; the compiler has an
    input or output for each: `x[0]`, `x[1]` and so on."""
    kind = info.type
    if kind.HasField("optional_type"):
        kind = kind.optional_type.elem_type
    return kind.HasField("sequence_type")


def _holder(name: str) -> str:
    """Of a tensor in a sequence, the sequence; else the tensor."""
    return name.partition("[")[0]


class DivisiRep(BackendRep):
    """A prepared model. It is for one thread at a time."""

    def __init__(self, model: onnx.ModelProto, session: Mapping[str, Any],
                 options: Mapping[str, Any]) -> None:
        model = _readable(model)
        if model.functions:
            import onnx.inliner
            model = onnx.inliner.inline_local_functions(model)
        self._model = model
        self._session_options = dict(session)
        self._options = dict(options)
        infos = open_inputs(model)
        self._inputs = [info.name for info in infos]
        self._outputs = [info.name for info in model.graph.output]
        self._results = namedtupledict("Outputs", self._outputs)
        self._optional = {info.name for info in infos
                          if info.type.HasField("optional_type")}
        self._lists = {info.name for info in infos if _is_sequence(info)}
        given = self._options.pop("constants", None) or {}
        self._given = dict(given)
        fixed = shape_inputs(model)
        self._constants = [
            name for name in self._inputs
            if name not in given and name in fixed
            and name not in self._optional | self._lists]
        shapes = self._options.pop("shapes", None) or {}
        self._shapes = dict(shapes)
        self._open = [info.name for info in infos
                      if _is_open(info, options.get("dims") or ())
                      and info.name not in shapes and info.name not in given]
        self._sessions: dict[Any, Session] = {}
        if self.is_static:
            self._session({})

    @property
    def is_static(self) -> bool:
        """Whether it was compiled when it was prepared."""
        return not (self._constants or self._open or self._optional
                    or self._lists)

    def _session(self, values: Mapping[str, numpy.ndarray]) -> Session:
        """That for inputs of these shapes, and of these values where shapes
        depend on them."""
        constants = {name: values[name] for name in self._constants}
        told = {*self._open, *self._optional}
        shapes = {name: value.shape for name, value in values.items()
                  if name not in constants
                  and (name in told or _holder(name) in self._lists)}
        key = (tuple(sorted(shapes.items())), tuple(
            (name, value.dtype.str, value.shape, value.tobytes())
            for name, value in constants.items()))
        if key not in self._sessions:
            artifact = _plan.compile(
                self._model, shapes={**self._shapes, **shapes},
                constants={**self._given, **constants}, **self._options)
            self._sessions[key] = Session(artifact, **self._session_options)
        return self._sessions[key]

    def run(self, inputs: Any, **options: Any) -> tuple[Any, ...]:
        """The outputs in their order, which are also found by name.

        inputs: a mapping by name, or a sequence in the order of the model.
        """
        names = [name for name in self._inputs if name not in self._given]
        if isinstance(inputs, Mapping):
            given = dict(inputs)
        else:
            if not isinstance(inputs, Sequence):
                inputs = [inputs]
            if len(inputs) != len(names):
                raise InvalidError(f"got {len(inputs)} inputs, expected "
                                   f"{len(names)}: {', '.join(names) or 'none'}")
            given = dict(zip(names, inputs))
        missing = [name for name in names
                   if name not in given and name not in self._optional]
        if missing:
            raise InvalidError(f"input '{missing[0]}' is missing")
        values: dict[str, numpy.ndarray] = {}
        for name, value in given.items():
            if name in self._lists and isinstance(value, (list, tuple)):
                values.update({f"{name}[{i}]": _array(f"{name}[{i}]", item)
                               for i, item in enumerate(value)})
            elif value is not None or name not in self._optional:
                values[name] = _array(name, value)
        for name, value in values.items():
            holder = _holder(name)
            if not value.shape and holder in self._optional | self._lists:
                raise UnsupportedError(
                    f"input '{name}' is a scalar that '{holder}' holds; only "
                    "tensors with dims can be held", name)
        session = self._session(values)
        found = session.run({name: value for name, value in values.items()
                             if name not in self._constants})
        return self._results(*(
            _list_of(found, info.name) if _is_sequence(info)
            else _counted(self._model, found, info.name)
            for info in self._model.graph.output))


def _list_of(found: Mapping[str, numpy.ndarray],
             name: str) -> list[numpy.ndarray]:
    """The tensors of a sequence."""
    count = sum(other.startswith(name + "[") for other in found)
    return [found[f"{name}[{i}]"] for i in range(count)]


def _counted(model: onnx.ModelProto, found: Mapping[str, numpy.ndarray],
             name: str) -> numpy.ndarray:
    """Of an output whose rows the run has counted, those that count: along the
    first dim that the model does not say to be as large as it is."""
    rows, count = found[name], name + ".count"
    own = {output.name for output in model.graph.output}
    if count not in found or count in own or not rows.ndim:
        return rows
    shape = next((output.type.tensor_type.shape.dim
                  for output in model.graph.output if output.name == name), ())
    fixed = [dim.dim_value for dim in shape] + [0] * rows.ndim
    axis = next((axis for axis, extent in enumerate(rows.shape)
                 if fixed[axis] != extent), 0)
    return rows.take(range(int(found[count])), axis)


def _array(name: str, value: Any) -> numpy.ndarray:
    """Of what the interface lets callers give: arrays, scalars, TensorProtos."""
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if value is None or isinstance(value, (list, tuple, dict)):
        raise UnsupportedError(
            f"input '{name}' is a {type(value).__name__}; maps, and lists where "
            "the model has a tensor, are not supported", name)
    return numpy.asarray(value)


def _model_of(node: onnx.NodeProto, values: Mapping[str, numpy.ndarray],
              outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None,
              opset: int | None) -> onnx.ModelProto:
    """A model of that node alone, with inputs like `values`."""
    def info(name: str, dtype: Any, shape: Any) -> onnx.ValueInfoProto:
        kind = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
        return onnx.helper.make_tensor_value_info(name, kind, shape)

    names = [name for name in node.output if name]
    told = dict(zip(names, outputs_info or ()))
    graph = onnx.helper.make_graph(
        [node], node.op_type,
        [info(name, value.dtype, value.shape)
         for name, value in values.items()],
        [info(name, *told[name]) if name in told else
         onnx.ValueInfoProto(name=name) for name in names])
    if opset is None:
        opset = 1 if node.domain else onnx.defs.onnx_opset_version()
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
    if len(told) < len(names):
        model = onnx.shape_inference.infer_shapes(model)
    for output in model.graph.output:
        if output.type.WhichOneof("value") is None:
            raise UsageError(f"the type of output '{output.name}' of operator "
                             f"'{node.op_type}' cannot be inferred; give "
                             "outputs_info")
    return model


class DivisiBackend(Backend):
    """The interface. A subclass can set `options`, which callers' own come
    before."""

    #: Of divisi.plan(), and `session`.
    options: Mapping[str, Any] = {}

    @classmethod
    def _all_options(cls, device: str, given: Mapping[str, Any]) -> tuple:
        if not cls.supports_device(device):
            raise UsageError(
                f"device '{device}': expected CPU; GPUs are those of a cluster, "
                "such as cluster='dgx-h100:8'")
        options = {**cls.options, **given}
        for name in _OF_THE_RUNNER:
            options.pop(name, None)
        return options.pop("session", {}), options

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU",
                      **options: Any) -> bool:
        """Whether all of its operators and types are supported, as far as can
        be told without values of inputs that shapes depend on."""
        _, options = cls._all_options(device, options)
        model = _readable(model)
        if shape_inputs(model) or any(map(_is_open, open_inputs(model))):
            return True
        try:
            Compilation(model, None, options, False).close()
            return True
        except UnsupportedError:
            return False

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU",
                **options: Any) -> DivisiRep:
        """Compiles it. Raises as divisi.plan() does."""
        session, options = cls._all_options(device, options)
        super().prepare(model, device)
        return DivisiRep(model, session, options)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU",
                  **options: Any) -> tuple[Any, ...]:
        """prepare() and DivisiRep.run()."""
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU",
                 outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
                 **options: Any) -> tuple[Any, ...]:
        """Runs one operator. `opset_version` is that of the operator's domain,
        by default the newest."""
        names = [name for name in node.input if name]
        if isinstance(inputs, Mapping):
            inputs = [inputs[name] for name in names]
        values = [_array(name, value) for name, value in zip(names, inputs)]
        if len(values) != len(names) or len(inputs) != len(names):
            raise InvalidError(f"got {len(inputs)} inputs, expected "
                               f"{len(names)}: {', '.join(names) or 'none'}")
        model = _model_of(node, dict(zip(names, values)), outputs_info,
                          options.pop("opset_version", None))
        session, options = cls._all_options(device, options)
        prepared = DivisiRep(model, session, options)
        return prepared.run(dict(zip(names, values)))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Of the CPU. GPUs are asked for by `cluster`."""
        try:
            return Device(device).type == DeviceType.CPU
        except (AttributeError, ValueError):
            return False


is_compatible = DivisiBackend.is_compatible
prepare = DivisiBackend.prepare
run_model = DivisiBackend.run_model
run_node = DivisiBackend.run_node
supports_device = DivisiBackend.supports_device
