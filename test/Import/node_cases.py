"""The cases of one node each that come with ONNX, and more of our own.

A case is a node with inputs and the outputs that it must have: computed with
numpy by those who wrote the standard, or, for the cases made here, by ONNX
Runtime. Cases are joined to models of many nodes, so that one run of the
compiler tests them all.
"""

import importlib
import pkgutil
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from divisi._shape_inputs import SHAPE_INPUTS  # noqa: E402

NEWEST = onnx.defs.onnx_opset_version()
# Whose expected results are computed so slowly that we make cases of our own.
SLOW_MODULES = {"averagepool", "lppool", "maxpool"}
# Cases whose expectation is not that of the frameworks, and why.
DISPUTED = {
    "test_resize_downsample_scales_linear_align_corners":
        "numpy's corners lie at the fraction of an extent that scales give; "
        "PyTorch's and ONNX Runtime's at the last element, as ours",
    "test_resize_downsample_scales_cubic_align_corners": "the same",
}
# What is right in another form than ONNX's cases have it, by the beginning of
# names, and where it is tried.
OTHER_FORM = {
    "test_bernoulli": "other random numbers (endtoend/random_test.py)",
}


def has_other_form(name):
    return any(name.startswith(begin) for begin in OTHER_FORM)


TYPES = {np.dtype(t) for t in (
    "float64", "float32", "float16", ml_dtypes.bfloat16, "int8", "int16",
    "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
    ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2, ml_dtypes.int2, ml_dtypes.uint2,
    ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu)}
# Of less than a byte, of which files hold several in one.
PACKED = {kind for kind in TYPES if kind.name in (
    "int2", "uint2", "int4", "uint4", "float4_e2m1fn")}


@dataclass
class Case:
    name: str
    node: onnx.NodeProto
    inputs: list
    outputs: list
    opset: int = NEWEST
    constants: set = field(default_factory=set)

    @property
    def op_type(self):
        return qualified(self.node)


def qualified(node):
    """The operator, behind a domain that is not ONNX's own."""
    return (f"{node.domain}." if node.domain else "") + node.op_type


def as_array(value):
    """Cases of types that NumPy lacks are given as ONNX's tensors."""
    if isinstance(value, onnx.TensorProto) and \
            value.data_type != onnx.TensorProto.STRING:
        return onnx.numpy_helper.to_array(value)
    return value


def is_plain(values):
    """Whether all are tensors of types with kernels (None: left out)."""
    return all(value is None or isinstance(value, (np.ndarray, np.generic))
               and np.asarray(value).dtype in TYPES for value in values)


def standard_cases(operators):
    """The cases of `operators` that come with ONNX, as {name: Case}."""
    cases = {}

    def record(node, inputs, outputs, name, **settings):
        inputs = [as_array(value) for value in inputs]
        outputs = [as_array(value) for value in outputs]
        opsets = {opset.domain: opset.version
                  for opset in settings.get("opset_imports", ())}
        # An input with a name and no value is an optional of the caller.
        is_given = all(value is not None for value in inputs)
        if qualified(node) not in operators or not is_given or \
                not is_plain([*inputs, *outputs]) or name in cases:
            return
        # The test gives no value for an input that is left out.
        given = iter(inputs)
        values = [np.asarray(next(given)) if name_ else None
                  for name_ in node.input]
        wanted = iter(outputs)
        results = [np.asarray(next(wanted)) if name_ else None
                   for name_ in node.output]
        cases[name] = Case(name, node, values, results,
                           opsets.get("", NEWEST),
                           set(SHAPE_INPUTS.get(node.op_type, ())))

    package = importlib.import_module("onnx.backend.test.case.node")
    package.expect = record
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in pkgutil.iter_modules(package.__path__):
            if not module.ispkg and module.name not in SLOW_MODULES:
                importlib.import_module(f"{package.__name__}.{module.name}")
    return cases


def own_case(name, op_type, inputs, *, constants=(), opset=21, outputs=1,
             also=None, **attributes):
    """A case whose outputs ONNX Runtime computes; `also` has the attributes
    whose names are taken here. `outputs` says how many, or their names, which
    are empty for those left out."""
    names = ["" if value is None else f"x{i}"
             for i, value in enumerate(inputs)]
    results = outputs if isinstance(outputs, list) else \
        [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, results, **attributes,
                            **(also or {}))
    inputs = [None if value is None else np.asarray(value) for value in inputs]
    case = Case(name, node, inputs, [None] * len(results), opset,
                set(constants))
    model = join([case], with_outputs=False)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = iter(session.run(None, feeds([case])))
    case.outputs = [next(found) if result else None for result in results]
    return case


def branch(values):
    """A graph without inputs that gives `values`."""
    result = helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT,
                                           [len(values)])
    node = helper.make_node("Constant", [], ["r"], value_floats=values)
    return helper.make_graph([node], "branch", [], [result])


def steps(text):
    """The body of a Loop or Scan, in ONNX's own text."""
    return onnx.parser.parse_graph(text)


def control_flow_cases():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for condition in (True, False):
        yield own_case(f"If_{condition}", "If", [np.array(condition)],
                       constants=[0], then_branch=branch([1.0, 2.0]),
                       else_branch=branch([-1.0, 3.0, 4.0]))
    body = steps("b (int64 i, bool c, float[4] s) => "
                 "(bool d, float[4] t, float[4] u) {"
                 "three = Constant <value = int64 {3}> () "
                 "w = Constant <value = float[4] {1.0, 2.0, 3.0, 4.0}> () "
                 "d = Less (i, three) t = Add (s, w) u = Mul (s, s) }")
    yield own_case("Loop_ended_by_condition", "Loop",
                   [np.array(9), np.array(True), x[0]], constants=[0, 1],
                   outputs=2, body=body)
    yield own_case("Loop_ended_by_count", "Loop",
                   [np.array(2), None, x[1]], constants=[0], outputs=2,
                   body=body)
    yield own_case("Scan_backwards", "Scan", [x[:, 0], x, x.T.copy()],
                   outputs=3, num_scan_inputs=2, scan_input_axes=[1, 0],
                   scan_input_directions=[1, 0], scan_output_axes=[0, 1],
                   scan_output_directions=[0, 1],
                   body=steps("b (float[3] s, float[3] p, float[3] q) => "
                              "(float[3] t, float[3] u, float[3] v) {"
                              "u = Mul (p, q) t = Add (s, u) "
                              "v = Sub (t, p) }"))


def runtime_case(name, op_type, inputs, **attributes):
    """A case of an operator of ONNX Runtime's own domain."""
    return own_case(f"{op_type}_{name}", op_type, inputs,
                    domain="com.microsoft", **attributes)


def runtime_cases():
    """Quantized operators that ONNX does not have. Scales of operands are
    powers of 2, so that in whatever order they are multiplied, nothing is
    rounded; that of results is none, so that none lies half-way."""
    random = np.random.default_rng(1)
    scale = [np.array(s, np.float32) for s in (0.25, 0.5, 0.125, 1.7321)]

    def bytes_(*shape, kind=np.uint8):
        limits = np.iinfo(kind)
        return random.integers(limits.min, limits.max, shape, kind,
                               endpoint=True)

    for kind, zero in ((np.uint8, 120), (np.int8, -5)):
        z = np.array(zero, kind)
        x, y = bytes_(2, 3, 4, kind=kind), bytes_(3, 1, kind=kind)
        tail = [scale[3], np.array(zero + 3, kind)]
        for op_type in ("QLinearAdd", "QLinearMul"):
            yield runtime_case(kind.__name__, op_type,
                               [x, scale[0], z, y, scale[1], z, *tail])
        yield runtime_case(kind.__name__, "QLinearConcat",
                           [scale[1], z, x, scale[0], z,
                            x[:, :1].copy(), scale[2], z], axis=1)
        yield runtime_case(kind.__name__, "QLinearLeakyRelu",
                           [x, scale[0], z, *tail], alpha=0.5)
        yield runtime_case(kind.__name__, "QLinearSigmoid",
                           [x // 16, scale[0], np.array(zero // 16, kind),
                            np.array(1 / 256, np.float32), z])
        yield runtime_case(kind.__name__, "QLinearGlobalAveragePool",
                           [x.reshape(2, 3, 2, 2), scale[0], z, *tail])
    x = bytes_(2, 3, 4)
    for opset in (12, 20):
        yield runtime_case(f"of_{opset}", "QLinearSoftmax",
                           [x // 16, scale[1], np.array(0, np.uint8),
                            np.array(1 / 256, np.float32),
                            np.array(0, np.uint8)], axis=1, also={"opset": opset})
    # ONNX Runtime adds two products in 16 bits, and saturates, on processors
    # that have no VNNI; of weights of 7 bits these fit.
    a, b = bytes_(3, 5), bytes_(5, 4, kind=np.int8) // 2
    z, bias = np.array(7, np.uint8), np.arange(4, dtype=np.int32) * 100
    head = [a, scale[0], z]
    for name, right, attributes in (("plain", b, {}),
                                    ("transB", b.T.copy(), {"transB": 1})):
        yield runtime_case(name, "QGemm",
                           [*head, right, scale[1], np.array(3, np.int8), bias,
                            np.array(64, np.float32), z], **attributes)
    columns = [np.array([0.25, 0.5, 1, 0.125], np.float32),
               np.array([0, 3, -7, 1], np.int8)]
    yield runtime_case("by_columns", "QGemm",
                       [a.T.copy(), scale[0], z, b.T.copy(), *columns, bias],
                       transA=1, transB=1, alpha=2.0)


def own_cases():
    yield from runtime_cases()
    random = np.random.default_rng(0)

    def floats(*shape):
        return random.standard_normal(shape).astype(np.float32)

    image, odd = floats(2, 3, 9, 8), floats(1, 2, 7, 5)
    for op_type in ("AveragePool", "MaxPool"):
        yield own_case(f"{op_type}_plain", op_type, [image],
                       kernel_shape=[3, 2])
        yield own_case(f"{op_type}_strides_pads", op_type, [odd],
                       kernel_shape=[3, 3], strides=[2, 1],
                       pads=[1, 0, 1, 2])
        yield own_case(f"{op_type}_same", op_type, [odd],
                       kernel_shape=[3, 3], strides=[2, 2],
                       auto_pad="SAME_UPPER")
        yield own_case(f"{op_type}_ceil_1d", op_type, [floats(2, 3, 10)],
                       kernel_shape=[3], strides=[2], ceil_mode=1)
        yield own_case(f"{op_type}_dilated", op_type, [image],
                       kernel_shape=[2, 2], dilations=[2, 3])
    yield own_case("AveragePool_counts_pads", "AveragePool", [odd],
                   kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                   count_include_pad=1)
    # ONNX gives a body from opset 18 on.
    for kind in ("L1", "L2", "LogSum", "SumSquare"):
        for keepdims in (0, 1):
            yield own_case(f"Reduce{kind}_attribute_{keepdims}",
                           f"Reduce{kind}", [np.abs(image)], axes=[1, 3],
                           keepdims=keepdims, opset=13)
    # And to these from opset 12, 16 or 18 on.
    for op_type, attributes in (
            ("Elu", {"alpha": 0.7}), ("HardSigmoid", {}), ("LeakyRelu", {}),
            ("LeakyRelu", {"alpha": 0.3}), ("PRelu", {}), ("Selu", {}),
            ("Shrink", {"lambd": 0.4}), ("Softsign", {}),
            ("ThresholdedRelu", {"alpha": 0.5})):
        inputs = [image] + ([floats(3, 1, 1)] if op_type == "PRelu" else [])
        yield own_case("_".join([op_type, "of_11", *attributes]), op_type,
                       inputs, opset=11, **attributes)
    yield own_case("Upsample_nearest", "Upsample",
                   [odd, np.array([1, 1, 2, 3], np.float32)], constants=[1],
                   opset=9, mode="nearest")
    whole = np.array([[-3, 0, 2], [7, 1, -1]], np.int64)
    fractions = np.array([[-2.7, 0.0, 0.4], [1.5, 2.5, -0.5]], np.float32)
    for value in (fractions, whole, whole.astype(np.int32), whole > 0):
        for target in ("float32", "int32", "int64", "bool"):
            name = f"{value.dtype}_to_{target}"
            yield own_case(f"Cast_{name}", "Cast", [value],
                           to=helper.np_dtype_to_tensor_dtype(
                               np.dtype(target)))
            yield own_case(f"CastLike_{name}", "CastLike",
                           [value, np.zeros(1, target)])
    for equation, *shapes in (("ij,jk->ik", (3, 4), (4, 5)),
                              ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
                              ("ij->ji", (3, 4)), ("ij->i", (3, 4)),
                              ("...ij,jk->...ik", (2, 3, 4), (4, 5)),
                              ("ij,ij", (3, 4), (3, 4)), ("ii", (3, 3)),
                              ("iji,jj->ij", (3, 4, 3), (4, 4))):
        yield own_case(f"Einsum_{equation}", "Einsum",
                       [floats(*shape) for shape in shapes],
                       equation=equation)
    yield from control_flow_cases()
    yield own_case("Gemm_transposed", "Gemm",
                   [floats(4, 3), floats(5, 4), floats(5)], transA=1,
                   transB=1, alpha=0.5, beta=2.0)
    # PyTorch's exporter writes tables that all batches share, which ONNX
    # Runtime does not take.
    angles, heads = floats(1, 5, 4), floats(2, 3, 5, 8)
    tables = [np.cos(angles), np.sin(angles)]
    case = own_case("RotaryEmbedding_shared_tables", "RotaryEmbedding",
                    [heads, *(np.repeat(table, 2, 0) for table in tables)],
                    opset=23)
    case.inputs = [heads, *tables]
    yield case


def onnx_type(value):
    return helper.np_dtype_to_tensor_dtype(value.dtype)


def join(cases, with_outputs=True):
    """One model of all the nodes, side by side; names are prefixed."""
    graph = {"nodes": [], "inputs": [], "outputs": [], "constants": []}
    for number, case in enumerate(cases):
        prefix = f"c{number}_"
        node = onnx.NodeProto()
        node.CopyFrom(case.node)
        node.name = case.name
        for i, (name, value) in enumerate(zip(case.node.input, case.inputs)):
            if not name:
                continue
            node.input[i] = f"{prefix}i{i}"
            if i in case.constants:
                graph["constants"].append(
                    onnx.numpy_helper.from_array(value, node.input[i]))
            else:
                graph["inputs"].append(helper.make_tensor_value_info(
                    node.input[i], onnx_type(value), value.shape))
        for i, (name, value) in enumerate(zip(case.node.output,
                                              case.outputs)):
            if not name:
                continue
            node.output[i] = f"{prefix}o{i}"
            graph["outputs"].append(
                helper.make_tensor_value_info(
                    node.output[i], onnx_type(value), value.shape)
                if with_outputs else onnx.ValueInfoProto(name=node.output[i]))
        graph["nodes"].append(node)
    model = helper.make_model(
        helper.make_graph(graph["nodes"], "cases", graph["inputs"],
                          graph["outputs"], graph["constants"]),
        opset_imports=[helper.make_opsetid("", cases[0].opset), *(
            helper.make_opsetid(domain, 1)
            for domain in sorted({case.node.domain for case in cases})
            if domain)],
        ir_version=10)
    return model


def feeds(cases):
    return {f"c{number}_i{i}": value
            for number, case in enumerate(cases)
            for i, value in enumerate(case.inputs)
            if value is not None and i not in case.constants}


def expectations(cases):
    return {f"c{number}_o{i}": value
            for number, case in enumerate(cases)
            for i, value in enumerate(case.outputs) if value is not None}
