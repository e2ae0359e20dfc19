"""Recipes of layers: windows, normalizations, interpolation, recurrence,
attention, losses, signals and optimizers."""

import itertools

import numpy as np
from version_cases import draw, of

#===----------------------------------------------------------------------===#
# Windows
#===----------------------------------------------------------------------===#

WINDOWS = ({}, {"strides": [2, 1]}, {"pads": [1, 0, 1, 1]},
           {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
           {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
           {"auto_pad": "VALID"}, {"dilations": [2, 1]},
           {"strides": [2, 2], "pads": [0, 1, 1, 0], "dilations": [1, 2]})


def windows(op):
    """With ceil_mode where it is known."""
    for window in WINDOWS:
        if set(window) - set(op.schema.attributes):
            continue
        yield window
        if op.has("ceil_mode") and "auto_pad" not in window:
            yield {**window, "ceil_mode": 1}


@of("AveragePool", "LpPool", "MaxPool")
def pool(op):
    image = op.values(2, 3, 7, 6)
    for window in windows(op):
        given = {"kernel_shape": [3, 2], **window}
        yield [image], given
        if op.name == "AveragePool":
            yield [image], {**given, "count_include_pad": 1}
        if op.name == "LpPool":
            yield [image], {**given, "p": 1}
        if op.name == "MaxPool" and op.version >= 8:
            for order in (0, 1):
                yield [image], {**given, "storage_order": order}, 2
    yield [op.values(2, 3, 9)], {"kernel_shape": [4], "strides": [3]}
    yield [op.values(1, 2, 4, 3, 5)], {"kernel_shape": [2, 2, 3]}


@of("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool")
def global_pool(op):
    for shape in ((2, 3, 4, 5), (2, 3, 4)):
        for p in (None, 1, 3) if op.has("p") else (None,):
            yield [op.values(*shape)], {} if p is None else {"p": p}


@of("MaxUnpool")
def max_unpool(op):
    index = np.array([[[[5, 7], [13, 15]]]], np.int64)
    given = {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield [op.values(1, 1, 2, 2), index], given
    # With an output_shape ONNX Runtime and ONNX's own case differ.


@of("LRN")
def lrn(op):
    for given in ({"size": 3}, {"size": 2, "alpha": 0.1, "beta": 0.5,
                                "bias": 2.0}):
        yield [op.values(2, 5, 3, 2)], given


@of("Conv")
def conv(op):
    for window in windows(op):
        for group in (1, 2):
            x, w = op.values(2, 4, 7, 6), op.values(6, 4 // group, 3, 2)
            yield [x, w], {**window, "group": group}
            yield [x, w, op.values(6)], {**window, "group": group,
                                         "kernel_shape": [3, 2]}
    yield [op.values(2, 3, 9), op.values(4, 3, 4)], {"strides": [3]}
    yield [op.values(1, 2, 4, 3, 5), op.values(3, 2, 2, 2, 3)], {}


@of("ConvTranspose")
def conv_transpose(op):
    for window in (*windows(op), {"strides": [2, 3], "output_padding": [1, 2]},
                   {"strides": [2, 2], "output_shape": [12, 9]},
                   {"strides": [2, 2], "output_shape": [12, 9],
                    "auto_pad": "SAME_UPPER"}):
        for group in (1, 2):
            x, w = op.values(2, 4, 6, 5), op.values(4, 6 // group, 3, 2)
            yield [x, w], {**window, "group": group}
            yield [x, w, op.values(6)], {**window, "group": group}


@of("ConvInteger")
def conv_integer(op):
    for right in (np.uint8, np.int8):
        x = op.values(1, 2, 5, 4, low=-9, high=30)
        w = op.values(3, 2, 3, 2, kind=right, low=-9, high=9)
        zero, other = op.values(low=1, high=5), op.values(kind=right, low=1)
        for window in windows(op):
            for more in ((), (zero,), (zero, other)):
                yield [x, w, *more], window


@of("QLinearConv")
def qlinear_conv(op):
    scale = np.float32
    for kind in (np.uint8, np.int8):
        x = op.values(1, 2, 5, 4, low=0, high=30)
        w = op.values(3, 2, 3, 2, kind=kind, low=-9, high=9)
        head = [x, scale(0.25), op.values(low=1, high=5), w]
        tail = [scale(1.7321), op.values(low=3, high=9)]
        zero = op.values(kind=kind, low=1)
        bias = draw(np.int32, (3,), -100, 100)
        for window in windows(op):
            yield [*head, scale(0.125), zero, *tail, bias], window
        columns = np.zeros(3, kind)
        yield [*head, draw(scale, (3,), 0.1, 1), columns, *tail], {}


@of("DeformConv")
def deform_conv(op):
    x, w = op.values(1, 4, 5, 4), op.values(6, 4, 2, 2)
    for given, shape in (({}, (4, 3)), ({"pads": [1, 0, 1, 1]}, (6, 4)),
                         ({"strides": [2, 1]}, (2, 3))):
        offset = op.values(1, 8, *shape, low=-1, high=1)
        yield [x, w, offset], given
        yield [x, w, offset, op.values(6)], given
        yield [x, w, offset, None, op.values(1, 4, *shape, low=0, high=1)], \
            given


@of("Col2Im")
def col2im(op):
    for given, count in (({}, 12), ({"strides": [2, 2]}, 4),
                         ({"pads": [1, 0, 0, 1]}, 20),
                         ({"dilations": [2, 1]}, 8)):
        yield [op.values(1, 2 * 4, count), np.array([4, 5]),
               np.array([2, 2])], given


#===----------------------------------------------------------------------===#
# Normalizations
#===----------------------------------------------------------------------===#


@of("BatchNormalization")
def batch_normalization(op):
    for shape in ((2, 3, 4, 2), (2, 3)):
        x = op.values(*shape)
        vectors = [op.values(3, low=low, high=low + 2)
                   for low in (0.5, -1, -1.5, 0.6)]
        for given in ({}, {"epsilon": 0.1}):
            yield [x, *vectors], given
        if op.has("training_mode"):
            yield [x, *vectors], {"training_mode": 1, "momentum": 0.7}, 3


@of("InstanceNormalization")
def instance_normalization(op):
    for given in ({}, {"epsilon": 0.1}):
        yield [op.values(2, 3, 4, 2), op.values(3), op.values(3, low=-1)], \
            given


@of("GroupNormalization")
def group_normalization(op):
    count = 2 if op.version < 21 else 6
    for given in ({}, {"epsilon": 0.1}):
        yield [op.values(2, 6, 3, 2), op.values(count),
               op.values(count, low=-1)], {"num_groups": 2, **given}


@of("LayerNormalization", "RMSNormalization")
def layer_normalization(op):
    for axis in (None, 1, -2):
        shape = (4,) if axis is None else (3, 4)
        for given in ({}, {"epsilon": 0.1}):
            given = {**given, **({} if axis is None else {"axis": axis})}
            inputs = [op.values(2, 3, 4), op.values(*shape)]
            yield inputs, given
            if op.name == "LayerNormalization":
                yield [*inputs, op.values(*shape, low=-1)], given, 3


@of("LpNormalization")
def lp_normalization(op):
    for axis, p in itertools.product((None, 0, -1), (None, 1, 2)):
        given = {"axis": axis, "p": p}
        yield [op.values(3, 4)], {key: value for key, value in given.items()
                                  if value is not None}


@of("MeanVarianceNormalization")
def mean_variance_normalization(op):
    for axes in (None, [1], [0, 2]):
        yield [op.values(2, 3, 4, 2)], {} if axes is None else {"axes": axes}


#===----------------------------------------------------------------------===#
# Interpolation
#===----------------------------------------------------------------------===#


@of("Upsample")
def upsample(op):
    for mode in (None, "nearest", "linear"):
        for scales in ([1, 1, 2, 3], [1, 1, 1.5, 1], [1, 1, 2, 1.3]):
            given = {} if mode is None else {"mode": mode}
            x = op.values(1, 2, 3, 4)
            if op.version < 9:
                yield [x], {**given, "scales": [float(s) for s in scales]}
            else:
                yield [x, np.array(scales, np.float32)], given


TARGETS = ([1, 1, 2, 3], [1, 1, 0.6, 0.6], [1, 1, 1.5, 0.7], [1, 1, 0.5, 0.25],
           [1, 1, 1, 1])


@of("Resize")
def resize(op):
    low, high = (-4, 4) if op.is_float else (0, 100)
    x = op.values(1, 2, 5, 8, low=low, high=high)
    # Rounding shows in these types; others take the same way.
    targets = TARGETS if op.type in (np.float32, np.uint8, np.int32) else \
        TARGETS[2:4]
    if op.version < 11:
        for mode, scales in itertools.product((None, "nearest", "linear"),
                                              targets):
            if op.type != bool or mode != "linear":
                yield [x, np.array(scales, np.float32)], \
                    {} if mode is None else {"mode": mode}
        return
    coordinates = [None, "pytorch_half_pixel", "align_corners", "asymmetric"] \
        + (["half_pixel_symmetric"] if op.version >= 19 else [])
    for mode, how, scales in itertools.product(("nearest", "linear", "cubic"),
                                               coordinates, targets):
        if op.type == bool and mode != "nearest":
            continue
        # Where ONNX Runtime has no kernel, and onnx's evaluator other corners.
        if not op.is_float and (mode, how) == ("cubic", "align_corners"):
            continue
        given = {"mode": mode}
        if how:
            given["coordinate_transformation_mode"] = how
        empty = np.zeros(0, np.float32) if op.version < 13 else None
        region = np.zeros(0, np.float32) if op.version < 13 else None
        sizes = np.array([1, 2, *(int(extent * scale) for extent, scale in
                                  zip((5, 8), scales[2:]))])
        if mode == "nearest":
            for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor",
                            "ceil"):
                yield [x, region, np.array(scales, np.float32)], {
                    **given, "nearest_mode": nearest}
        else:
            yield [x, region, np.array(scales, np.float32)], given
            if mode == "cubic":
                yield [x, region, np.array(scales, np.float32)], {
                    **given, "cubic_coeff_a": -0.5, "exclude_outside": 1}
        yield [x, region, empty, sizes], given


@of("RoiAlign")
def roi_align(op):
    regions = np.array([[0, 0, 5, 5], [1.5, 2, 4, 9], [1, 1, 2, 1.5]]) \
        .astype(op.type)
    for mode in (None, "max"):
        given = {"output_height": 2, "output_width": 3, "sampling_ratio": 2,
                 "spatial_scale": 0.8, **({} if mode is None else
                                          {"mode": mode})}
        inputs = [op.values(2, 3, 7, 6), regions, np.array([1, 0, 1])]
        yield inputs, given
        if op.version >= 16:
            yield inputs, {**given, "coordinate_transformation_mode":
                           "output_half_pixel"}


@of("GridSample")
def grid_sample(op):
    modes = ("bilinear", "nearest", "bicubic") if op.version < 20 else \
        ("linear", "nearest", "cubic")
    grid = draw(op.type if op.takes(1, op.type) else np.float32, (2, 3, 4, 2),
                -1.2, 1.2)
    for mode, padding, aligned in itertools.product(
            (None, *modes), ("zeros", "border", "reflection"), (0, 1)):
        yield [op.values(2, 2, 5, 6), grid], {
            "padding_mode": padding, "align_corners": aligned,
            **({} if mode is None else {"mode": mode})}


@of("AffineGrid")
def affine_grid(op):
    for aligned in (None, 1):
        given = {} if aligned is None else {"align_corners": aligned}
        yield [op.values(2, 2, 3), np.array([2, 3, 4, 5])], given
        yield [op.values(2, 3, 4), np.array([2, 3, 2, 4, 5])], given


#===----------------------------------------------------------------------===#
# Recurrence and attention
#===----------------------------------------------------------------------===#


@of("GRU", "LSTM", "RNN")
def recurrent(op):
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[op.name]
    outputs = 3 if op.name == "LSTM" else 2
    steps, batch, width, hidden = 3, 2, 3, 4
    for direction in ("forward", "reverse", "bidirectional"):
        d = 2 if direction == "bidirectional" else 1
        x = op.values(steps, batch, width, low=-1, high=1)
        w = op.values(d, gates * hidden, width, low=-1, high=1)
        r = op.values(d, gates * hidden, hidden, low=-1, high=1)
        b = op.values(d, 2 * gates * hidden, low=-1, high=1)
        h = op.values(d, batch, hidden, low=-1, high=1)
        lengths = np.array([3, 2], np.int32)
        given = {"direction": direction, "hidden_size": hidden}
        yield [x, w, r], given, outputs
        yield [x, w, r, b, lengths, h], given, outputs
        if op.name == "GRU":
            yield [x, w, r, b], {**given, "linear_before_reset": 1}, outputs
        if op.name == "LSTM":
            yield [x, w, r, b, None, h, h,
                   op.values(d, 3 * hidden, low=-1, high=1)], given, outputs
            yield [x, w, r, b], {**given, "input_forget": 1}, outputs
        yield [x, w, r, b], {**given, "clip": 0.5}, outputs


@of("Attention")
def attention(op):
    q, k = (2, 4, 3, 8), (2, 2, 5, 8)
    for given in ({}, {"is_causal": 1}, {"scale": 0.3}, {"softcap": 2.0}):
        base = [op.values(*q), op.values(*k), op.values(*k, low=-3)]
        yield base, given
        yield [*base, draw(op.type if op.takes(3, op.type) else np.float32,
                           (3, 5), -1, 1)], given
        yield [*base, draw(bool, (2, 1, 3, 5), seed="mask")], given
        past = op.values(2, 2, 2, 8)
        yield [*base, None, past, past * op.type.type(0.5)], given, 3
        flat = [op.values(2, 3, 32), op.values(2, 5, 16), op.values(2, 5, 16)]
        yield flat, {**given, "q_num_heads": 4, "kv_num_heads": 2}


@of("RotaryEmbedding")
def rotary(op):
    angles = draw(np.float32, (6, 4), 0, 3)
    tables = [np.cos(angles).astype(op.type), np.sin(angles).astype(op.type)]
    for interleaved in (0, 1):
        yield [op.values(2, 3, 5, 8), *tables,
               np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])], {
            "interleaved": interleaved}
        yield [op.values(2, 5, 24), *tables,
               np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])], {
            "interleaved": interleaved, "num_heads": 3}
        halves = [table[:, :2].copy() for table in tables]
        yield [op.values(2, 3, 5, 8), *halves,
               np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])], {
            "interleaved": interleaved, "rotary_embedding_dim": 4}


#===----------------------------------------------------------------------===#
# Losses, signals, optimizers
#===----------------------------------------------------------------------===#


@of("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(op):
    for kind, way, ignored in itertools.product(
            (np.int32, np.int64), (None, "none", "sum"), (None, 1)):
        given = {"reduction": way, "ignore_index": ignored}
        given = {key: value for key, value in given.items()
                 if value is not None}
        for shape in ((3, 4), (2, 4, 3)):
            target = draw(kind, shape[:1] + shape[2:], 0, 3, "target")
            yield [op.values(*shape), target], given
            yield [op.values(*shape), target, op.values(4, low=0.5)], given


@of("BlackmanWindow", "HammingWindow", "HannWindow")
def window(op):
    for size, periodic in itertools.product((3, 6, 7), (None, 0)):
        yield [np.array(size, op.type)], \
            {} if periodic is None else {"periodic": periodic}


@of("DFT")
def dft(op):
    for inverse, onesided in ((0, 0), (0, 1), (1, 0)):
        x = op.values(2, 5, 2 if inverse else 1)
        given = {"inverse": inverse, "onesided": onesided}
        for length in (None, 3, 8):
            more = [] if length is None else [np.array(length)]
            yield [x, *more], {**given, **({"axis": 1} if op.version < 20
                                           else {})}


@of("STFT")
def stft(op):
    for onesided in (None, 0):
        yield [op.values(2, 20, 1), np.array(3), op.values(6, low=0),
               np.array(6)], {} if onesided is None else {
            "onesided": onesided}


@of("MelWeightMatrix")
def mel(op):
    yield [np.array(value, op.type) for value in (5, 17, 8000)] + [
        np.float32(30), np.float32(3500)], {}


@of("ai.onnx.preview.training.Adagrad", "ai.onnx.preview.training.Adam",
    "ai.onnx.preview.training.Momentum")
def optimizer(op):
    count = 4 if op.name.endswith("Adam") else 3
    states = [op.values(3, 2, low=0.1 * (i + 1)) for i in range(count)]
    given = {"mode": "standard", "alpha": 0.9, "beta": 0.1} \
        if op.name.endswith("Momentum") else {}
    for norm in (None, 0.1):
        yield [np.array(0.1, op.type), np.array(2), *states], {
            **given, **({} if norm is None else {"norm_coefficient": norm}),
            **({"norm_coefficient": 0.0} if norm is None and
               given else {})}, count - 1
    if op.name.endswith("Momentum"):
        yield [np.array(0.1, op.type), np.array(0), *states], {
            **given, "mode": "nesterov", "norm_coefficient": 0.1}, count - 1


@of("MaxRoiPool")
def max_roi_pool(op):
    regions = np.array([[0, 0, 0, 5, 5], [1, 1, 2, 4, 6]]).astype(op.type)
    for scale in (None, 0.5):
        yield [op.values(2, 3, 7, 8), regions], {
            "pooled_shape": [2, 3], **({} if scale is None else
                                       {"spatial_scale": scale})}


@of("Det")
def det(op):
    yield [op.values(2, 3, 3)], {}
    yield [op.values(4, 4)], {}


@of("NonMaxSuppression")
def non_max_suppression(op):
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]],
                     np.float32)
    yield [boxes, np.array([[[0.9, 0.75, 0.6]]], np.float32), np.array([3]),
           np.array([0.5], np.float32), np.array([0.0], np.float32)], {}
