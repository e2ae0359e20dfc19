"""Recipes of operators that move, pick and make elements, or tell shapes."""

import itertools

import numpy as np
from node_cases import onnx_type
from onnx.numpy_helper import from_array as tensor
from version_cases import KINDS, draw, is_float, kinds_of, of

INDICES = (np.int32, np.int64)


def ints(*values):
    return np.array(values, np.int64)


@of("Concat")
def concat(op):
    for axis in (0, 1) + ((-1,) if op.version >= 11 else ()):
        shapes = ((2, 3), (1, 3), (4, 3)) if axis == 0 else \
            ((2, 3), (2, 1), (2, 0))
        for count in (1, 3):
            yield [op.values(*shape) for shape in shapes[:count]], {
                "axis": axis}


@of("Constant")
def constant(op):
    yield [], {"value": tensor(op.values(2, 3))}
    if op.type == np.float32:
        yield [], {"value_float": 0.5}
        yield [], {"value_floats": [0.5, -1.0]}
    if op.type == np.int64:
        yield [], {"value_int": 5}
        yield [], {"value_ints": [5, -1]}


@of("ConstantOfShape")
def constant_of_shape(op):
    for kind in KINDS:
        if kind.name in {each.name for each in op_outputs(op)}:
            yield [ints(2, 3)], {"value": tensor(draw(kind, (1,), 1, 3))}
    yield [ints(2, 0)], {}
    yield [np.zeros(0, np.int64)], {}


def op_outputs(op):
    return kinds_of(op.schema, op.schema.outputs[0].type_str)


@of("Compress")
def compress(op):
    x = op.values(3, 4)
    yield [x, np.array([1, 0, 1], bool)], {"axis": 0}
    yield [x, np.array([0, 1], bool)], {"axis": 1}
    yield [x, np.array([0, 1, 0, 0, 1], bool)], {}
    if op.version >= 11:
        yield [x, np.array([0, 1, 1, 1], bool)], {"axis": -1}


@of("DepthToSpace")
def depth_to_space(op):
    for mode in (None, "DCR", "CRD"):
        yield [op.values(2, 8, 2, 3)], {
            "blocksize": 2, **({} if mode is None else {"mode": mode})}


@of("SpaceToDepth")
def space_to_depth(op):
    for mode in (None, "DCR", "CRD"):
        yield [op.values(2, 2, 4, 6)], {
            "blocksize": 2, **({} if mode is None else {"mode": mode})}


@of("Expand")
def expand(op):
    for shape, wanted in (((3, 1), (2, 3, 4)), ((3, 4), (1,)), ((), (2,)),
                          ((3, 1), (3, 4)), ((2, 1, 3), (4, 1))):
        yield [op.values(*shape), ints(*wanted)], {}


@of("EyeLike")
def eye_like(op):
    for k in (None, 1, -2):
        given = {} if k is None else {"k": k}
        yield [op.values(3, 4)], given
        yield [op.values(3, 4)], {**given, "dtype": 1}
        yield [op.values(4, 3)], {**given, "dtype": 7}


@of("Flatten")
def flatten(op):
    for axis in (None, 0, 1, 2, 3) + ((-1,) if op.version >= 11 else ()):
        yield [op.values(2, 3, 4)], {} if axis is None else {"axis": axis}


@of("Gather")
def gather(op):
    negative = -1 if op.version >= 11 else 0
    for kind in INDICES:
        for axis in (None, 0, 1, 2) + ((-1,) if op.version >= 11 else ()):
            for index in ([[0, 1], [1, negative]], 1, [], [0]):
                yield [op.values(2, 3, 4), np.array(index, kind)], \
                    {} if axis is None else {"axis": axis}


@of("GatherElements")
def gather_elements(op):
    for kind in INDICES:
        for axis in (None, 0, 1, -1):
            yield [op.values(2, 3), np.array([[0, 1, -1], [1, 0, 0]], kind)], \
                {} if axis is None else {"axis": axis}


@of("GatherND")
def gather_nd(op):
    x = op.values(2, 3, 4)
    for index, batch in (([[0, 1], [1, -1]], 0), ([[[0, 1, 2]], [[1, 0, 3]]], 0),
                         ([[1], [0]], 1), ([[[1], [0]], [[2], [2]]], 1),
                         ([1], 0), (np.zeros((0, 1), np.int64), 0)):
        if batch == 0 or op.has("batch_dims"):
            yield [x, np.array(index, np.int64)], \
                {"batch_dims": batch} if batch else {}


def reductions(op):
    return [None] if not op.has("reduction") else \
        [None, "none", "add", "mul"] + (["max", "min"] if op.version >= 18
                                        else [])


@of("Scatter", "ScatterElements")
def scatter_elements(op):
    for kind in INDICES:
        for axis in (None, 0, 1, -1):
            if op.name == "Scatter" and axis == -1:
                continue
            index = np.array([[0, 2], [1, 0]] if axis in (None, 0)
                             else [[0, 2], [3, 0]], kind)
            for way in reductions(op):
                given = {} if axis is None else {"axis": axis}
                yield [op.values(3, 4), index, op.values(2, 2, low=-3)], \
                    {**given, **({} if way is None else {"reduction": way})}
    for way in reductions(op):
        if way in ("add", "mul", "max", "min"):
            yield [op.values(3, 4), np.array([[1, 1], [1, 1]], np.int64),
                   op.values(2, 2, low=-3)], {"reduction": way, "axis": 1}


@of("ScatterND")
def scatter_nd(op):
    for way in reductions(op):
        given = {} if way is None else {"reduction": way}
        for index in ([[0], [2]], [[0, 1], [3, 2]], [[[0], [1]], [[2], [0]]],
                      np.zeros((0, 1)), np.zeros((2, 0))):
            index = np.array(index, np.int64)
            if index.shape[-1] == 0 and way not in ("add", "mul"):
                index = index[:1]
            if index.ndim == 3 and way not in ("add", "mul", "max", "min"):
                index = index[:1]
            shape = index.shape[:-1] + (4, 3)[index.shape[-1]:]
            yield [op.values(4, 3), index, op.values(*shape, low=-3)], given


@of("TensorScatter")
def tensor_scatter(op):
    for mode in (None, "linear", "circular"):
        for axis in (None, 2):
            given = {"mode": mode, "axis": axis}
            given = {key: value for key, value in given.items()
                     if value is not None}
            cache, new = (2, 3, 5, 4), (2, 3, 2, 4)
            for index in (None, ints(1, 3)):
                yield [op.values(*cache), op.values(*new, low=-3),
                       *([] if index is None else [index])], given


@of("NonZero")
def non_zero(op):
    yield [op.values(3, 4, low=0, high=2)], {}
    yield [op.values(5, low=-1, high=1)], {}


@of("OneHot", by=2)
def one_hot(op):
    for kind in INDICES:
        for axis in (None, 0, 1):
            for depth in (np.array([4]), np.array(4, np.int64)):
                index = [[0, 3], [1, -1 if op.version >= 11 else 2]]
                yield [np.array(index, kind), depth,
                       op.values(2, low=1)], \
                    {} if axis is None else {"axis": axis}


@of("Pad")
def pad(op):
    x = op.values(3, 4)
    # What a power of 2 is padded with is left open: it cannot be 0.
    has_zero = op.type.name != "float8_e8m0fnu"
    modes = [None, "constant", "reflect", "edge"] + (
        ["wrap"] if op.version >= 19 else [])
    for mode, pads in itertools.product(modes, ([1, 0, 0, 2], [1, 2, 2, 1],
                                                [0, -1, 1, 0])):
        if min(pads) < 0 and mode not in (None, "constant"):
            continue
        given = {} if mode is None else {"mode": mode}
        if op.version < 11:
            yield [x], {**given, "pads": pads}
            if op.is_float:
                yield [x], {**given, "pads": pads, "value": 1.5}
            continue
        if has_zero:
            yield [x, ints(*pads)], given
        value = op.values(low=1)
        yield [x, ints(*pads), value], given
        if op.version >= 18:
            yield [x, ints(1, 2), value, ints(1)], given
            if has_zero:
                yield [x, ints(1, 2), None, ints(-2)], given


@of("Range")
def range_(op):
    for start, limit, delta in ((1, 9, 2), (5, 0, -1) if
                                op.type.name[0] != "u" else (0, 3, 1),
                                (3, 3, 1), (0, 7, 3)):
        yield [np.array(value).astype(op.type)
               for value in (start, limit, delta)], {}


@of("Reshape")
def reshape(op):
    for shape, wanted in (((2, 3, 4), (4, 6)), ((2, 3, 4), (0, -1)),
                          ((2, 3, 4), (-1,)), ((1,), ()), ((2, 0, 3), (3, 0))):
        if wanted == (3, 0) and not op.has("allowzero"):
            continue
        yield [op.values(*shape), ints(*wanted)], \
            {"allowzero": 1} if wanted == (3, 0) else {}


@of("ReverseSequence")
def reverse_sequence(op):
    for batch, time in ((None, None), (0, 1), (1, 0)):
        given = {} if batch is None else {"batch_axis": batch,
                                          "time_axis": time}
        yield [op.values(4, 4, 2), ints(1, 2, 4, 3)], given


@of("Shape", "Size")
def shape(op):
    x = op.values(2, 3, 4)
    yield [x], {}
    if op.has("start"):
        for start, end in ((1, None), (-2, None), (0, -1), (None, 2), (1, 9)):
            yield [x], {key: value for key, value in
                        (("start", start), ("end", end)) if value is not None}


@of("Slice")
def slice_(op):
    x = op.values(5, 6)
    choices = [([1, 2], [4, 5], None, None), ([1], [3], [1], None),
               ([-3], [-1], [0], None), ([0], [2 ** 31 - 1], [1], None),
               ([2, 0], [5, 9], [1, 0], None)]
    if op.version < 10:
        for starts, ends, axes, _ in choices:
            yield [x], {"starts": starts, "ends": ends,
                        **({} if axes is None else {"axes": axes})}
        return
    choices += [([0, 1], [5, 6], [0, 1], [2, 3]), ([5], [0], [1], [-2]),
                ([-1], [-9], [0], [-1]), ([4], [1], [0], [2]),
                ([0], [2 ** 62], [-1 if op.version >= 11 else 1], [2])]
    for choice in choices:
        for kind in INDICES if max(choice[1]) < 2 ** 40 else (np.int64,):
            inputs = [None if each is None else np.array(each, kind)
                      for each in choice]
            while inputs[-1] is None:
                inputs.pop()
            yield [x, *inputs], {}


@of("Split")
def split(op):
    x = op.values(6, 5)
    for axis in (None, 0) + ((-2,) if op.version >= 11 else ()):
        given = {} if axis is None else {"axis": axis}
        for parts in (None, [2, 4], [1, 5, 0]):
            count = 3 if parts is None else len(parts)
            if op.version < 13:
                yield [x], {**given, **({} if parts is None else
                                        {"split": parts})}, count
            elif parts is not None:
                yield [x, ints(*parts)], given, count
            else:
                yield [x], {**given, **({"num_outputs": 3} if op.version >= 18
                                        else {})}, count
    if op.version >= 18:
        yield [op.values(7, 2)], {"num_outputs": 3}, 3


@of("Squeeze")
def squeeze(op):
    x = op.values(1, 3, 1, 2)
    for axes in (None, [0], [2, 0]) + (([-2],) if op.version >= 11 else ()):
        if op.version < 13:
            yield [x], {} if axes is None else {"axes": axes}
        else:
            yield [x, *([] if axes is None else [ints(*axes)])], {}


@of("Unsqueeze")
def unsqueeze(op):
    for axes in ([0], [1, 3]) + (([-1], [2, 0]) if op.version >= 11 else ()):
        x = op.values(3, 2)
        if op.version < 13:
            yield [x], {"axes": axes}
        else:
            yield [x, ints(*axes)], {}


@of("Tile")
def tile(op):
    for repeats in ((2, 3), (1, 1), (3, 0)):
        yield [op.values(2, 3), ints(*repeats)], {}


@of("Transpose")
def transpose(op):
    for perm in (None, [2, 0, 1], [0, 1, 2]):
        yield [op.values(2, 3, 4)], {} if perm is None else {"perm": perm}


@of("Trilu")
def trilu(op):
    for upper, k in itertools.product((None, 0), (None, 1, -2, 9)):
        yield [op.values(2, 3, 4), *([] if k is None else [np.array(k)])], \
            {} if upper is None else {"upper": upper}


@of("Unique")
def unique(op):
    x = op.values(3, 4, low=0, high=2)
    for axis, is_sorted in itertools.product((None, 0, -1), (None, 0)):
        given = {"axis": axis, "sorted": is_sorted}
        yield [x], {key: value for key, value in given.items()
                    if value is not None}, 4


@of("CenterCropPad")
def center_crop_pad(op):
    for axes, wanted in ((None, (5, 2)), ([1], (3,)), ([-2, -1], (2, 7))):
        yield [op.values(3, 4), ints(*wanted)], \
            {} if axes is None else {"axes": axes}


#===----------------------------------------------------------------------===#
# Quantization
#===----------------------------------------------------------------------===#


def small(name):
    return [kind for kind in KINDS if kind.name in (
        "int8", "uint8", "int16", "uint16", "int2", "uint2", "int4", "uint4",
        "float4_e2m1fn", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
        "float8_e5m2fnuz")]


@of("QuantizeLinear")
def quantize(op):
    scale_type = op.type if op.takes(1, op.type) else np.dtype(np.float32)
    scale = np.array(0.25 if is_float(scale_type) else 2).astype(scale_type)
    x = op.values(4, 6, low=-20, high=20)
    for kind in small(op):
        top = 0 if "float" in kind.name else 5
        zero = draw(kind, (), top and 1, top, kind.name)
        yield [x, scale, zero], {}
        if op.has("axis"):
            columns = draw(kind, (6,), 0, top, kind.name)
            for axis in (1, -1):
                yield [x, draw(scale_type, (6,), 0.5, 2), columns], {
                    "axis": axis}
        if op.has("block_size"):
            yield [x, draw(scale_type, (4, 2), 0.5, 2),
                   draw(kind, (4, 2), 0, top)], {"axis": 1, "block_size": 3}
        if op.has("saturate") and "float8" in kind.name:
            yield [x * np.array(100).astype(op.type),
                   scale, zero], {"saturate": 0}
    yield [x, scale], {}
    if op.has("output_dtype"):
        yield [x, scale], {
            "output_dtype": onnx_type(np.zeros(1, np.int8))}


@of("DequantizeLinear")
def dequantize(op):
    x = op.values(4, 6, low=-100, high=100)
    for scale in (np.float32, np.float16):
        is_zero = op.type == np.int32 or op.is_float
        zero = op.values(low=0 if is_zero else 1, high=0 if is_zero else 5)
        yield [x, np.array(0.25, scale)], {}
        yield [x, np.array(0.25, scale), zero], {}
        if op.has("axis"):
            for axis in (1, -1):
                yield [x, draw(scale, (6,), 0.5, 2),
                       np.broadcast_to(zero, (6,)).copy()], {"axis": axis}
        if op.has("block_size"):
            yield [x, draw(scale, (4, 2), 0.5, 2)], {"axis": 1,
                                                     "block_size": 3}
        if op.has("output_dtype"):
            yield [x, np.array(0.25, scale)], {
                "output_dtype": onnx_type(np.zeros(1, np.float32))}


@of("DynamicQuantizeLinear")
def dynamic_quantize(op):
    yield [op.values(3, 4)], {}, 3
    yield [op.values(3, 4, low=1)], {}, 3
