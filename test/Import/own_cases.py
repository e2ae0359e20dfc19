"""Cases of one node that the standard's tests leave out, against ONNX Runtime:
other attributes, and operands of more than one batch and channel."""

import numpy as np
import onnx
from node_cases import Case, own_case
from onnx import helper


def recurrent_cases(floats):
    """Both directions, whole weights, rows of different lengths."""
    steps, batch, width, hidden = 4, 3, 2, 5
    lengths = np.array([4, 1, 3], np.int32)
    for op_type, gates, more in (
            ("RNN", 1, {"activations": ["Relu", "ScaledTanh"],
                        "activation_alpha": [0.7],
                        "activation_beta": [0.4]}),
            ("RNN", 1, {"activations": ["LeakyRelu", "HardSigmoid"]}),
            ("RNN", 1, {"activations": ["Softsign", "Elu"]}),
            ("RNN", 1, {"activations": ["Affine", "Tanh"],
                        "activation_alpha": [0.5],
                        "activation_beta": [0.1]}),
            ("GRU", 3, {"linear_before_reset": 1}),
            ("GRU", 3, {"linear_before_reset": 0, "clip": 0.5}),
            ("LSTM", 4, {"clip": 0.4}),
            ("LSTM", 4, {"input_forget": 1})):
        inputs = [floats(steps, batch, width),
                  floats(2, gates * hidden, width),
                  floats(2, gates * hidden, hidden),
                  floats(2, 2 * gates * hidden), lengths,
                  floats(2, batch, hidden)]
        if op_type == "LSTM":
            inputs += [floats(2, batch, hidden), floats(2, 3 * hidden)]
        name = "_".join(f"{key}_{value}" for key, value in more.items())
        yield own_case(f"{op_type}_{name}", op_type, inputs,
                       outputs=3 if op_type == "LSTM" else 2,
                       hidden_size=hidden, direction="bidirectional", **more)
    bare = [floats(steps, batch, width), floats(1, 3 * hidden, width),
            floats(1, 3 * hidden, hidden)]
    yield own_case("GRU_without_biases", "GRU", bare, outputs=2,
                   hidden_size=hidden, linear_before_reset=1)
    yield own_case("GRU_whole_rows", "GRU",
                   [*bare, None, np.full(batch, steps, np.int32)], outputs=2,
                   constants=[4], hidden_size=hidden)


def sample_cases(floats):
    places = 1.4 * np.tanh(floats(2, 4, 3, 2)).astype(np.float32)
    for mode in ("nearest", "linear", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for aligned in (0, 1):
                yield own_case(f"GridSample_{mode}_{padding}_{aligned}",
                               "GridSample", [floats(2, 3, 5, 6), places],
                               mode=mode, padding_mode=padding,
                               align_corners=aligned, opset=20)
    regions = np.array([[0, 0, 5, 5], [1.5, 2, 4, 9], [-3, -3, 2, 1]],
                       np.float32)
    for coordinates in ("half_pixel", "output_half_pixel"):
        yield own_case(f"RoiAlign_{coordinates}", "RoiAlign",
                       [floats(2, 3, 7, 6), regions, np.array([1, 0, 1])],
                       output_height=2, output_width=3, sampling_ratio=2,
                       spatial_scale=0.8, opset=16,
                       coordinate_transformation_mode=coordinates)
    yield own_case("AffineGrid_3d", "AffineGrid",
                   [floats(2, 3, 4), np.array([2, 1, 3, 4, 2])],
                   constants=[1], align_corners=1, opset=20)


def window_cases(floats):
    image = floats(2, 3, 7, 6)
    for p in (1, 2, 3):
        yield own_case(f"LpPool_{p}", "LpPool", [image], p=p,
                       kernel_shape=[3, 2], strides=[2, 1],
                       pads=[1, 0, 1, 1])
        yield own_case(f"GlobalLpPool_{p}", "GlobalLpPool", [image], p=p)
    for order in (0, 1):
        yield own_case(f"MaxPool_indices_{order}", "MaxPool", [image],
                       outputs=2, kernel_shape=[3, 2], strides=[2, 1],
                       pads=[1, 0, 1, 1], storage_order=order)
    yield own_case("MaxPool_indices_dilated", "MaxPool", [floats(1, 2, 9)],
                   outputs=2, kernel_shape=[3], dilations=[2], ceil_mode=1,
                   strides=[2])
    indices = np.arange(2 * 3 * 2 * 2, dtype=np.int64) * 4 + 1
    yield own_case("MaxUnpool_planes", "MaxUnpool",
                   [floats(2, 3, 2, 2), indices.reshape(2, 3, 2, 2)],
                   kernel_shape=[2, 2], strides=[2, 2])
    yield own_case("Col2Im_batch", "Col2Im",
                   [floats(2, 3 * 4, 6), np.array([4, 5]), np.array([2, 2])],
                   constants=[1, 2], strides=[2, 2], pads=[0, 1, 0, 0])


def resize_cases(floats):
    image = floats(1, 2, 7, 9)
    for mode in ("linear", "cubic"):
        yield own_case(f"Resize_antialias_{mode}", "Resize",
                       [image, None, None, np.array([1, 2, 3, 5])],
                       constants=[3], mode=mode, antialias=1)
    region = np.array([0, 0, 0.2, -0.1, 1, 1, 0.9, 0.8], np.float32)
    yield own_case("Resize_crop", "Resize",
                   [image, region, None, np.array([1, 2, 4, 1])],
                   constants=[1, 3], mode="linear", extrapolation_value=7.0,
                   coordinate_transformation_mode="tf_crop_and_resize")
    for policy in ("not_larger", "not_smaller"):
        yield own_case(f"Resize_{policy}", "Resize",
                       [image, None, None, np.array([5, 5])], constants=[3],
                       mode="linear", axes=[2, 3],
                       keep_aspect_ratio_policy=policy)
    for nearest in ("floor", "ceil", "round_prefer_floor"):
        yield own_case(f"Resize_tf_half_pixel_{nearest}", "Resize",
                       [image, floats(0), np.float32([1, 1, 0.6, 2.3])],
                       constants=[1, 2], mode="nearest", opset=11,
                       nearest_mode=nearest,
                       coordinate_transformation_mode="tf_half_pixel_for_nn")


def deform_cases(floats):
    """Groups of channels and of offsets, with a mask and a bias or without."""
    for group, offsets, taps in ((1, 1, (3, 3)), (2, 2, (2, 3)),
                                 (2, 1, (3, 1)), (1, 4, (1, 1))):
        image, maps = floats(2, 4, 6, 5), offsets * taps[0] * taps[1]
        settings = {"group": group, "offset_group": offsets,
                    "kernel_shape": taps, "opset": 19}
        inputs = [floats(6, 4 // group, *taps),
                  floats(2, 2 * maps, 7 - taps[0], 6 - taps[1])]
        yield own_case(f"DeformConv_{group}_{offsets}", "DeformConv",
                       [image, *inputs], **settings)
        high, wide = (8 - taps[0]) // 2 + 1, 8 - 2 * taps[1]
        if wide < 1:
            continue
        inputs[1] = floats(2, 2 * maps, high, wide)
        yield own_case(f"DeformConv_{group}_{offsets}_windows", "DeformConv",
                       [image, *inputs, floats(6), floats(2, maps, high, wide)],
                       pads=[1, 0, 1, 1], strides=[2, 1], dilations=[1, 2],
                       **settings)


def signal_cases(floats):
    for length in (3, 8):
        for onesided in (0, 1):
            yield own_case(f"DFT_{length}_{onesided}", "DFT",
                           [floats(2, 5, 3, 1), np.array(length)],
                           constants=[1], axis=1, onesided=onesided, opset=17)
    yield own_case("STFT_two_signals", "STFT",
                   [floats(2, 20, 1), np.array(3), floats(6), np.array(6)],
                   constants=[1, 3], onesided=0, opset=17)
    for name in ("Hann", "Hamming", "Blackman"):
        yield own_case(f"{name}Window_symmetric", f"{name}Window",
                       [np.array(7)], constants=[0], periodic=0)
    yield own_case("MelWeightMatrix_odd", "MelWeightMatrix",
                   [np.array(5), np.array(21), np.array(8000),
                    np.float32(30), np.float32(3500)],
                   constants=range(5))


def other_cases(floats):
    # One scale a group; withdrawn, and all that opsets 18 to 20 have.
    yield own_case("GroupNormalization_of_18", "GroupNormalization",
                   [floats(2, 6, 4), floats(3), floats(3)], opset=18,
                   num_groups=3, epsilon=1e-3)
    x = floats(3, 4, 5)
    x[1, 2] = 0
    for p in (1, 2):
        yield own_case(f"LpNormalization_{p}", "LpNormalization", [x], p=p,
                       axis=-1)
    yield own_case("MeanVarianceNormalization_axes",
                   "MeanVarianceNormalization", [floats(2, 3, 4, 5)],
                   axes=[1, 3])
    yield own_case("ReverseSequence_3d", "ReverseSequence",
                   [x, np.array([3, 1, 2, 3])], batch_axis=1, time_axis=0)
    whole = np.array([[3, 1, 3], [2, 1, 2], [3, 1, 3]], np.int64)
    yield own_case("Unique_axis_1", "Unique", [whole], constants=[0],
                   outputs=4, axis=1)
    yield own_case("Unique_unsorted", "Unique", [whole], constants=[0],
                   outputs=4, sorted=0)
    yield own_case("Compress_line", "Compress",
                   [x, np.array([0, 1, 1, 0, 1], bool)], constants=[1])
    yield own_case("NonZero_3d", "NonZero", [x], constants=[0])
    numbers = np.array([1.0, -2.5, np.inf], np.float32)
    yield Case("BitCast_constant",
               helper.make_node("BitCast", ["x"], ["y"],
                                to=onnx.TensorProto.INT32),
               [numbers], [numbers.view(np.int32)], 26, {0})
    yield own_case("Elu_of_older_opset", "Elu", [x], opset=13, alpha=0.5)


def stated_case(name, op_type, inputs, output, opset=21, constants=(),
                **attributes):
    """A case for which ONNX Runtime has no kernel, or another one."""
    node = helper.make_node(
        op_type, ["" if value is None else f"x{i}"
                  for i, value in enumerate(inputs)], ["y"], **attributes)
    return Case(name, node, inputs, [output], opset, set(constants))


def number_cases():
    """Infinities, and integers that floats scale or mix."""
    rows = np.array([[1000, 1000, -1000], [-np.inf] * 3, [np.inf, 1, 2]],
                    np.float32)
    yield own_case("ReduceLogSumExp_infinities", "ReduceLogSumExp",
                   [rows, np.array([1])], constants=[1])
    whole = np.array([1, 2, 3], np.int32)
    yield stated_case("ReduceLogSumExp_integers", "ReduceLogSumExp", [whole],
                      np.array(3, np.int32), keepdims=0)
    halves = np.array([[1000, 999, -1000]], np.float16)
    yield own_case("ReduceL2_beyond_squares_of_f16", "ReduceL2",
                   [halves, np.array([1])], constants=[1])
    yield own_case("LpNormalization_beyond_squares_of_f16", "LpNormalization",
                   [halves])
    line = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)
    for opset in (10, 11):
        yield own_case(f"Resize_nearest_down_of_{opset}", "Resize",
                       [line, np.array([1, 1, .6, .6], np.float32)] if
                       opset == 10 else
                       [line, np.zeros(0, np.float32),
                        np.array([1, 1, .6, .6], np.float32)],
                       constants=[1, 2][opset == 11:], opset=opset,
                       mode="nearest")
    image = (np.arange(36).reshape(1, 1, 6, 6) * 7).astype(np.uint8)
    half = np.array([1, 1, .5, .5], np.float32)
    for kind in (np.uint8, np.int32, np.int16):
        mean = image.reshape(3, 2, 3, 2).mean((1, 3)).reshape(1, 1, 3, 3)
        yield stated_case(f"Resize_linear_of_{kind.__name__}", "Resize",
                          [image.astype(kind), None, half], mean.astype(kind),
                          constants=[2], mode="linear")
    a, b = np.array([[3, -5], [7, 2]], np.int32), np.array([[2, 0], [1, 4]],
                                                           np.int32)
    yield stated_case("Gemm_half_of_integers", "Gemm", [a, b],
                      (.5 * (a @ b)).astype(np.int32), alpha=.5)
    yield stated_case("Gemm_integers_and_a_share", "Gemm", [a, b, a],
                      (2 * (a @ b) + .25 * a).astype(np.int32), alpha=2.0,
                      beta=.25)
    yield stated_case("Shrink_integers", "Shrink",
                      [np.array([3, -3, 1, 0], np.int32)],
                      np.array([2, -2, 0, 0], np.int32), lambd=.3, bias=.1)


def broadcast_cases(floats):
    for equation, *shapes in (
            ("...ij,...jk->...ik", (2, 3, 4), (1, 4, 5)),
            ("...ij,...jk->...ik", (1, 3, 4), (2, 4, 5)),
            ("...ij,...jk", (2, 3, 4), (5, 1, 4, 2)),
            ("bij,bjk->bik", (1, 3, 4), (2, 4, 5))):
        name = "_".join(str(shape) for shape in shapes)
        factors = [floats(*shape) for shape in shapes]
        yield stated_case(f"Einsum_{equation}_{name}", "Einsum", factors,
                          np.einsum(equation, *factors), equation=equation)
    data = floats(3, 2)
    for kind in ("none", "add", "max"):
        count = 1 if kind == "none" else 2
        updates = floats(count, 3, 2)
        right = {"none": updates[-1], "add": data + updates.sum(0),
                 "max": np.maximum(data, updates.max(0))}[kind]
        yield stated_case(f"ScatterND_all_of_it_{kind}", "ScatterND",
                          [data, np.zeros((count, 0), np.int64), updates],
                          right, reduction=kind)


def own_cases():
    yield from number_cases()
    random = np.random.default_rng(1)

    def floats(*shape):
        return random.standard_normal(shape).astype(np.float32)

    for family in (recurrent_cases, sample_cases, window_cases, resize_cases,
                   deform_cases, signal_cases, other_cases, broadcast_cases):
        yield from family(floats)
