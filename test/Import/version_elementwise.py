"""Recipes of operators on single elements, of reductions and of matrix
products."""

import itertools

import ml_dtypes
import numpy as np
from node_cases import PACKED, onnx_type
from onnx import helper
from version_cases import KINDS, kinds_of, of

# Where a function is defined, if that is less than from -4 to 4.
DOMAINS = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.9, 0.9),
           "Acosh": (1, 6), "Log": (0.1, 6), "Sqrt": (0, 9)}


def special(op):
    """Values at the edges of a type."""
    if op.is_float:
        return np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 0.5,
                         -2.5], op.type)
    return op.values(3, 4, low=-(2 ** 40), high=2 ** 40)


@of("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot",
    "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "HardSwish", "Identity",
    "IsNaN", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round",
    "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan",
    "Tanh")
def unary(op):
    low, high = DOMAINS.get(op.name, (-4, 4))
    if op.name == "Reciprocal":
        low, high = 1, 8
    if op.name == "Erf" and not op.is_float:
        low, high = -3, 3  # Of 4 it is 1 in f32, and below 1 in f64.
    for shape in ((3, 4), (), (2, 0, 3)):
        yield [op.values(*shape, low=low, high=high)], {}
    # Signs of NaN differ from type to type in ONNX Runtime.
    if op.is_float and op.name == "Sign":
        yield [special(op)[3:]], {}
    elif op.name not in ("Erf", "Round") or op.is_float:
        yield [special(op)], {}


# By attribute, the values besides its default.
SCALED = {
    "Celu": {"alpha": [0.5, 2.0]}, "Elu": {"alpha": [0.7, 2.0]},
    "HardSigmoid": {"alpha": [0.3], "beta": [0.1, 0.6]},
    "LeakyRelu": {"alpha": [0.3, -0.5]},
    "Selu": {"alpha": [1.2], "gamma": [0.9]},
    "Shrink": {"lambd": [0.3, 1.5], "bias": [0.1, 1.0]},
    "Swish": {"alpha": [0.5]}, "ThresholdedRelu": {"alpha": [0.5, 2.0]},
    "Gelu": {"approximate": ["none", "tanh"]},
    "IsInf": {"detect_negative": [0, 1], "detect_positive": [0, 1]},
}


@of(*SCALED)
def scaled(op):
    choices = SCALED[op.name]
    for values in itertools.product(*([None, *each] for each in
                                      choices.values())):
        given = {name: value for name, value in zip(choices, values)
                 if value is not None}
        yield [op.values(3, 5)], given
        if op.is_float:
            yield [special(op)], given


SHAPES = (((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2, 3)), ((2, 3, 4), (3, 1)),
          ((2, 0), (1,)))


@of("Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Greater",
    "GreaterOrEqual", "Less", "LessOrEqual", "Mul", "Or", "Sub", "Xor")
def binary(op):
    for left, right in SHAPES:
        yield [op.values(*left), op.values(*right, low=-3)], {}
    yield [special(op), special(op)[..., ::-1].copy()], {}


@of("Div", "Mod")
def division(op):
    for fmod in (0, 1) if op.name == "Mod" else (None,):
        if fmod == 0 and op.is_float and op.version < 28:
            continue
        given = {} if fmod is None else {"fmod": fmod}
        for left, right in SHAPES:
            a, b = op.values(*left, low=-30, high=30), op.values(*right)
            yield [a, np.where(b == 0, np.array(3, op.type), b)], given


@of("Pow")
def power(op):
    kinds = [op.type] if op.version < 12 else KINDS
    for kind in kinds:
        if op.is_float:
            yield [op.values(3, 4, low=0.2),
                   op.values(4, kind=kind, low=-2, high=3)], {}
        else:
            yield [op.values(3, 4), op.values(
                4, kind=np.int8, low=0, high=3).astype(kind)], {}


@of("BitShift")
def shift(op):
    for direction in ("LEFT", "RIGHT"):
        yield [op.values(3, 4, low=0, high=200),
               op.values(3, 4, low=0, high=7)], {"direction": direction}


@of("SwiGLU")
def swiglu(op):
    for given in ({}, {"alpha": 0.5}):
        yield [op.values(3, 4), op.values(3, 4, low=-3)], given


@of("Max", "Mean", "Min", "Sum")
def variadic(op):
    shapes = ((3, 4), (3, 4), (3, 4)) if op.version < 8 else \
        ((3, 4), (4,), (3, 1))
    for count in (1, 2, 3):
        yield [op.values(*shape, low=-4 + i)
               for i, shape in enumerate(shapes[:count])], {}


@of("PRelu")
def prelu(op):
    for slope in ((2, 3, 4), (3, 1), (4,), (1,)):
        if op.version < 9 and slope == (3, 1):
            continue
        yield [op.values(2, 3, 4), op.values(*slope, low=-2)], {}


@of("Where", by=1)
def where(op):
    for a, b, c in (((3, 4), (3, 4), (3, 4)), ((3, 1), (4,), ()),
                    ((2, 1, 1), (3, 1), (4,))):
        yield [op.values(*a, kind=bool), op.values(*b),
               op.values(*c, low=-3)], {}


@of("Clip")
def clip(op):
    x = op.values(3, 4)
    if op.version < 11:
        for given in ({}, {"min": -1.5}, {"max": 2.0},
                      {"min": -1.0, "max": 1.0}, {"min": 2.0, "max": -1.0}):
            yield [x], given
        return
    low, high = np.array(-1 if op.takes(0, np.int8) and
                         op.type.name[0] != "u" else 1).astype(op.type), \
        np.array(2).astype(op.type)
    for more in ((), (low,), (None, high), (low, high), (high, low)):
        yield [x, *more], {}
    if op.is_float:
        yield [special(op), low, high], {}


def castable(op, target):
    """Values that every implementation casts alike."""
    target = np.dtype(target)
    kinds = {op.type, target}
    is_power = "float8_e8m0fnu" in {kind.name for kind in kinds}
    low = 1 if is_power else 0 if target.name[0] == "u" or target == bool \
        else -2 if any("int2" in kind.name for kind in kinds) else -4
    high = min([100] + [7 if "4" in kind.name else int(ml_dtypes.iinfo(kind).max)
                        for kind in kinds & PACKED])
    return op.values(3, 4, low=low, high=high)


@of("Cast")
def cast(op):
    for target in KINDS:
        to = helper.np_dtype_to_tensor_dtype(target)
        if target not in cast_targets(op):
            continue
        yield [castable(op, target)], {"to": to}
        if op.is_float and target.name in ("float32", "float64", "bool"):
            # ONNX Runtime takes a -0 of 8 bits for true.
            yield [special(op)[:4] if target == bool else special(op)], \
                {"to": to}
        if op.has("saturate") and "float8" in target.name and op.is_float and \
                target.name != "float8_e8m0fnu":
            wide = op.values(3, 4, low=-1000, high=1000)
            for saturate in (0, 1):
                yield [wide], {"to": to, "saturate": saturate}


def cast_targets(op):
    return kinds_of(op.schema, op.schema.outputs[0].type_str)


@of("CastLike")
def cast_like(op):
    for target in KINDS:
        if op.takes(1, target):
            yield [castable(op, target),
                   op.values(1, kind=target, low=0)], {}


@of("BitCast")
def bit_cast(op):
    for target in KINDS:
        if target.itemsize == op.type.itemsize and \
                not {target, op.type} & PACKED and target != bool:
            yield [op.values(3, 4)], {"to": onnx_type(np.zeros(1, target))}


@of("Dropout")
def dropout(op):
    x = op.values(3, 4)
    for outputs in (1, 2):
        if op.version < 12:
            if outputs == 1:  # What the mask is then, nothing says.
                yield [x], {"ratio": 0.3}
            continue
        yield [x], {}, outputs
        yield [x, np.float32(0.3), np.bool_(False)], {}, outputs
        yield [x, np.float32(0), np.bool_(True)], {"seed": 3}, outputs


#===----------------------------------------------------------------------===#
# Reductions
#===----------------------------------------------------------------------===#


@of("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")
def reduction(op):
    low = 0.5 if op.name == "ReduceLogSum" else -2
    x = op.values(2, 3, 4, low=low, high=3)
    is_attribute = op.has("axes")
    for axes in (None, [], [1], [0, 2], [-1], [2, 0, 1]):
        if axes is not None and (op.version < 11 and -1 in axes or
                                 is_attribute and not axes):
            continue
        for keepdims in (None, 0, 1):
            given = {} if keepdims is None else {"keepdims": keepdims}
            if is_attribute:
                yield [x], {**given, **({"axes": axes} if axes else {})}
                continue
            inputs = [x] if axes is None else [x, np.array(axes, np.int64)]
            yield inputs, given
            # ONNX Runtime computes log(exp(x)), which may be below an integer.
            if not axes and (op.is_float or op.name != "ReduceLogSumExp"):
                yield inputs, {**given, "noop_with_empty_axes": 1}
    if op.is_float and op.name != "ReduceLogSum":
        rows = np.array([[1000, 999, -1000], [-np.inf] * 3, [np.inf, 1, 2],
                         [np.nan, 1, 2], [1e-3, 0, -2]], op.type)
        if op.name in ("ReduceMax", "ReduceMin"):
            rows = rows[~np.isnan(rows).any(1)]
        if op.name == "ReduceLogSumExp" and (op.type.itemsize == 2 or
                                             op.version >= 28):
            rows = rows[2:]  # onnx's evaluator has no shift.
        given = {"axes": [1]} if is_attribute else {}
        yield [rows, *([] if is_attribute else [np.array([1])])], given


@of("ArgMax", "ArgMin")
def arg_reduction(op):
    x = op.values(2, 3, 4, high=1)
    for axis in (None, 0, 1, 2) + ((-1, -3) if op.version >= 11 else ()):
        for keepdims in (None, 0):
            for last in (None, 1) if op.has("select_last_index") else (None,):
                given = {"axis": axis, "keepdims": keepdims,
                         "select_last_index": last}
                yield [x], {key: value for key, value in given.items()
                            if value is not None}


@of("Hardmax", "LogSoftmax", "Softmax")
def softmax(op):
    for shape in ((2, 3, 4), (5,)) if op.version >= 13 else ((2, 3, 4),):
        rank = len(shape)
        for axis in (None, *range(rank)) + (
                (-1, -rank) if op.version >= 11 else ()):
            yield [op.values(*shape)], {} if axis is None else {"axis": axis}


@of("CumProd", "CumSum")
def cumulate(op):
    for axis in (0, 2, -2):
        for kind in (np.int32, np.int64):
            for exclusive, reverse in itertools.product((0, 1), (0, 1)):
                yield [op.values(2, 3, 4, low=-2, high=3),
                       np.array(axis, kind)], {
                    "exclusive": exclusive, "reverse": reverse}


@of("TopK")
def top_k(op):
    random = np.random.default_rng(3)
    x = random.permutation(24).reshape(2, 3, 4).astype(op.type)
    if op.type.name in ("int8", "uint8") or not op.is_float or True:
        for axis in (None, 0, 1, -1):
            axes = {} if axis is None else {"axis": axis}
            if op.version < 10:
                yield [x], {**axes, "k": 2}, 2
                continue
            for largest in (None, 0) if op.has("largest") else (None,):
                more = {} if largest is None else {"largest": largest}
                yield [x, np.array([2])], {**axes, **more}, 2


#===----------------------------------------------------------------------===#
# Products
#===----------------------------------------------------------------------===#


@of("MatMul")
def matmul(op):
    for a, b in (((3, 4), (4, 2)), ((4,), (4, 2)), ((3, 4), (4,)),
                 ((4,), (4,)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,))):
        yield [op.values(*a), op.values(*b, low=-3)], {}


@of("Gemm")
def gemm(op):
    for trans_a, trans_b in itertools.product((0, 1), (0, 1)):
        a = op.values(*((4, 3) if trans_a else (3, 4)))
        b = op.values(*((2, 4) if trans_b else (4, 2)), low=-3)
        for c in (None, (3, 2), (2,), (3, 1), ()):
            if c is None and op.version < 11:
                continue
            inputs = [a, b] + ([] if c is None else [op.values(*c, low=-2)])
            for scale in ({}, {"alpha": 0.5}, {"beta": 0.25},
                          {"alpha": 1.5, "beta": 2.0}, {"beta": 0.0}):
                yield inputs, {"transA": trans_a, "transB": trans_b, **scale}


@of("Einsum")
def einsum(op):
    for equation, *shapes in (
            ("ij,jk->ik", (3, 4), (4, 5)), ("ij->ji", (3, 4)),
            ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
            ("...ij,...jk->...ik", (2, 3, 4), (1, 4, 5)),
            ("...ij,...jk->...ik", (1, 3, 4), (2, 4, 5)),
            ("...ij,...jk", (2, 3, 4), (5, 1, 4, 2)),
            ("bij,bjk->bik", (1, 3, 4), (2, 4, 5)),
            ("ii->i", (3, 3)), ("ij,ij->", (3, 4), (3, 4)), ("i,j", (2,), (3,)),
            ("i...->...i", (2, 3, 4)), ("...->...", (2, 3)),
            ("ij,kj,lj->ikl", (2, 3), (4, 3), (5, 3))):
        yield [op.values(*shape, low=-2 + i, high=3)
               for i, shape in enumerate(shapes)], {"equation": equation}


@of("MatMulInteger")
def matmul_integer(op):
    for right in (np.uint8, np.int8):
        a = op.values(3, 4, low=-20, high=20)
        b = op.values(4, 2, kind=right, low=-20, high=20)
        zero, other = op.values(low=1, high=5), op.values(kind=right, low=1)
        for more in ((), (zero,), (None, other), (zero, other)):
            yield [a, b, *more], {}
        columns = op.values(2, kind=right, low=1)
        yield [a, b, zero, columns], {}


@of("QLinearMatMul")
def qlinear_matmul(op):
    scale = np.float32
    for right, result in itertools.product((np.uint8, np.int8), repeat=2):
        if op.version < 21 or op.takes(1, scale):
            yield [op.values(3, 4, low=0, high=60), scale(0.25),
                   op.values(low=3, high=9),
                   op.values(4, 2, kind=right, low=-20, high=20), scale(0.125),
                   op.values(kind=right, low=1, high=5), scale(1.7321),
                   op.values(kind=result, low=2, high=9)], {}
