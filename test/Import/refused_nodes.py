"""Nodes that their importers refuse: what each is, and what the message says.

A row is (exit code, message, operator, inputs, settings). An input is a shape
(computed at run time), an array (a constant) or None (left out); settings are
the node's attributes and domain, and `opset` and `outputs`, how many it has or
their names.
"""

import ml_dtypes
import numpy as np
import onnx
from onnx import helper
from refused_runtime import RUNTIME

CONTENT, UNSUPPORTED = 4, 5
X, IMAGE, HEADS = (2, 3), (1, 4, 6, 6), (2, 2, 5, 4)


class Int(tuple):
    """The shape of an input of int64."""


def ints(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


def strings(*values):
    return helper.make_tensor("s", onnx.TensorProto.STRING, [len(values)],
                              values)


MOVEMENT = [
    (4, "copies a dim that the input does not have", "Reshape",
     [X, ints(2, 3, 0)], {}),
    (4, "got the shape [-1, -1], expected one -1 at most", "Reshape",
     [X, ints(-1, -1)], {}),
    (4, "an input of shape [2, 3] cannot have the shape [4, -1]", "Reshape",
     [X, ints(4, -1)], {}),
    (5, "input 1 ('i1') is computed at run time, and the shape of the result "
     "depends on it; shapes are static: make it a constant", "Reshape",
     [X, Int((2,))], {}),
    (4, "got axis 3 for a tensor of rank 2", "Flatten", [X], {"axis": 3}),
    (4, "axis 1 has the extent 3, expected 1", "Squeeze", [X, ints(1)], {}),
    (4, "got axis 7 for a tensor of rank 2", "Squeeze", [X, ints(7)], {}),
    (4, "an axis is given twice", "Unsqueeze", [X, ints(0, 0)], {}),
    (4, "got perm [0, 0] for a tensor of rank 2", "Transpose", [X],
     {"perm": [0, 0]}),
    (4, "a tensor of shape [2, 3] does not expand to [2, 2]", "Expand",
     [X, ints(2, 2)], {}),
    (4, "got 1 repeats for a tensor of rank 2", "Tile", [X, ints(2)], {}),
    (4, "got the repeats [-1, 2]", "Tile", [X, ints(-1, 2)], {}),
    (4, "the parts [1, 1] do not make up 2 outputs of an extent of 3",
     "Split", [X, ints(1, 1)], {"axis": 1, "outputs": 2}),
    (4, "num_outputs is 3, but there are 2 outputs", "Split", [X],
     {"num_outputs": 3, "outputs": 2}),
    (4, "an extent of 3 does not split into 2 parts", "Split", [X],
     {"axis": 1, "outputs": 2, "opset": 13}),
    (4, "starts, ends, axes and steps differ in length", "Slice",
     [X, ints(0), ints(1, 1)], {}),
    (4, "a step is 0", "Slice", [X, ints(0), ints(1), ints(0), ints(0)], {}),
    (5, "it pads an extent of 3 by 4 and 0 in mode reflect", "Pad",
     [X, ints(0, 4, 0, 0)], {"mode": "reflect"}),
    (4, "got 3 pads for 2 axes", "Pad", [X, ints(1, 1, 1)], {}),
    (4, "the pads -3 and 0 leave no extent of 2", "Pad",
     [X, ints(-3, 0, 0, 0)], {}),
    (5, "input 2 ('i2') is not one constant number", "Pad",
     [X, ints(0, 0, 0, 1), floats(1, 2)], {}),
    (4, "got shape [1, 4, 6, 6] for a block of 3", "DepthToSpace", [IMAGE],
     {"blocksize": 3}),
    (4, "got shape [1, 4, 6, 6] for a block of 4", "SpaceToDepth", [IMAGE],
     {"blocksize": 4}),
    (4, "cannot concatenate shapes [2, 3] and [3, 3] along axis 1", "Concat",
     [X, (3, 3)], {"axis": 1}),
]

CONTRACTION = [
    (4, "an operand is a scalar", "MatMul", [X, ()], {}),
    (5, "it has more batch dims than there are letters", "MatMul",
     [(1,) * 60, X], {}),
    (4, "batch extents 2 and 3 do not broadcast", "MatMul",
     [(2, 4, 4), (3, 4, 4)], {}),
    (4, "the shapes [2, 3] and [4, 5] do not match for a product "
     "\"mk,kn->mn\"", "MatMul", [X, (4, 5)], {}),
    (4, "got operands of ranks 3 and 2, expected matrices", "Gemm",
     [(1, 2, 3), (3, 4)], {}),
    (4, "C does not broadcast to the product's shape", "Gemm",
     [X, (3, 1), (2, 5)], {}),
    (4, "the equation 'ij,jk' has 2 terms for 1 inputs", "Einsum", [X],
     {"equation": "ij,jk"}),
    (4, "the term 'ijk' of 'ijk->i' does not fit an input of rank 2",
     "Einsum", [X], {"equation": "ijk->i"}),
    (4, "the term 'ii' repeats a label for extents of 2 and 3", "Einsum", [X],
     {"equation": "ii->i"}),
    (4, "label 'k' of the result occurs in no term of 'ij->k'", "Einsum", [X],
     {"equation": "ij->k"}),
    (4, "the result of 'ij->ijj' repeats a label", "Einsum", [X],
     {"equation": "ij->ijj"}),
]

ELEMENTWISE = [
    (5, "it reads elements of type f32 as the element type number 7; expected "
     "one of the same width", "BitCast", [X], {"to": 7, "opset": 26}),
    (5, "it casts to the element type number 99, which Divisi does not "
        "support; "
        "export the model with booleans, integers of 2 to 64 bits, or floats "
        "of 4 to 64",
     "Cast", [X], {"to": 99}),
    (5, "it is in training mode; export the model for inference", "Dropout",
     [X, floats(0.5)[0], np.array(True)], {}),
    (4, "the shapes [2, 3] and [2, 4] do not broadcast to each other", "Add",
     [X, (2, 4)], {}),
    (4, "the operands have the element types f32 and i64, expected one type",
     "Add", [X, Int((3,))], {}),
]

ORDER = [
    (4, "got k [4] for an extent of 3", "TopK", [X, ints(4)], {"outputs": 2}),
    (4, "indices and updates differ in shape, or from the data in rank",
     "ScatterElements", [X, Int((2,)), (2,)], {}),
    (4, "got axis 0 and an update of rank 2 for a cache of rank 2",
     "TensorScatter", [X, (2, 1)], {"axis": 0, "opset": 24}),
    (4, "a scale or zero point of shape [2] does not fit a tensor of shape "
     "[2, 3], axis 1 and blocks of 1", "QuantizeLinear", [X, (2,)], {}),
    (5, "its result has the element type COMPLEX64", "QuantizeLinear",
     [X, floats(1)[0]], {"output_dtype": 14}),
    (4, "its result has elements of type f8e8m0; expected 'output_dtype' "
     "FLOAT, FLOAT16 or BFLOAT16", "DequantizeLinear",
     [np.zeros((2, 3), np.uint8), np.ones((), ml_dtypes.float8_e8m0fnu)],
     {"opset": 24}),
    (4, "an image of shape [2, 3] does not fit a kernel of shape [2, 3] in "
     "1 groups", "ConvTranspose", [X, X], {}),
    (4, "pads [4, 0] and [3, 0] crop more than there is", "ConvTranspose",
     [IMAGE, (4, 1, 1, 1)], {"pads": [4, 0, 3, 0]}),
    (4, "input 0 of shape [2, 5, 7] and q_num_heads 2 do not fit together",
     "Attention", [(2, 5, 7), (2, 5, 8), (2, 5, 8)],
     {"q_num_heads": 2, "kv_num_heads": 2, "opset": 24}),
    (4, "queries [2, 3, 5, 4], keys [2, 2, 5, 4] and values [2, 2, 5, 4] do "
     "not fit together", "Attention", [(2, 3, 5, 4), HEADS, HEADS],
     {"opset": 24}),
    (4, "a mask of shape [5, 6] does not fit 5 keys", "Attention",
     [HEADS, HEADS, HEADS, (5, 6)], {"opset": 24}),
    (4, "a past of shape [2, 1, 3, 4] does not fit one of [2, 2, 5, 4]",
     "Attention", [HEADS, HEADS, HEADS, None, (2, 1, 3, 4), (2, 2, 3, 4)],
     {"opset": 24}),
    (4, "nonpad_kv_seqlen has shape [3], expected one number for each of 2 "
     "batches", "Attention",
     [HEADS, HEADS, HEADS, None, None, None, Int((3,))], {"opset": 24}),
    (4, "an input of shape [2, 5, 7] and num_heads 2 do not fit together",
     "RotaryEmbedding", [(2, 5, 7), (2, 5, 2), (2, 5, 2)],
     {"num_heads": 2, "opset": 23}),
    (4, "tables of shapes [2, 5, 3] and [2, 5, 2] do not fit an input of "
     "shape [2, 2, 5, 4], of which 4 features are rotated", "RotaryEmbedding",
     [HEADS, (2, 5, 3), (2, 5, 2)], {"opset": 23}),
    (4, "strides is [0, 1], expected 2 numbers of at least 1", "ConvTranspose",
     [IMAGE, (4, 1, 3, 3)], {"strides": [0, 1]}),
]

INDEX = [
    (4, "got 4 conditions for an extent of 3", "Compress",
     [X, ints(0, 1, 1, 0)], {"axis": 1}),
    (4, "lengths of shape [3] do not fit a tensor of shape [2, 3]",
     "ReverseSequence", [X, Int((3,))], {"batch_axis": 0, "time_axis": 1}),
    (4, "got the index 5 into an extent of 2", "Gather", [X, ints(5)], {}),
    (4, "indices and data differ in rank", "GatherElements",
     [X, Int((2,))], {}),
    (4, "indices exceed the data along axis 0", "GatherElements",
     [X, Int((4, 3))], {"axis": 1}),
    (4, "indices of rank 2 do not address data of rank 2", "GatherND",
     [X, Int((2, 3))], {}),
    (4, "got depth 0", "OneHot", [Int((2,)), ints(0), floats(0, 1)], {}),
    (4, "got a tensor of rank 1", "Trilu", [(3,)], {}),
    (4, "expected a matrix and an element type", "EyeLike", [(3,)], {}),
    (4, "it has no end", "Range", [floats(0)[0], floats(9)[0],
                                   floats(0)[0]], {}),
]

WINDOW = [
    (4, "a window of 7 does not fit an extent of 6 with its pads", "MaxPool",
     [IMAGE], {"kernel_shape": [7, 1]}),
    (4, "kernel_shape, strides, dilations or pads do not have an entry for "
     "each of 2 spatial dims", "MaxPool", [IMAGE], {"kernel_shape": [2]}),
    (4, "kernel_shape, strides and dilations are not positive, or "
        "unreasonably large", "MaxPool", [IMAGE],
     {"kernel_shape": [2, 2], "strides": [0, 1]}),
    (4, "the dilated kernel is unreasonably large", "MaxPool", [IMAGE],
     {"kernel_shape": [1 << 30, 1], "dilations": [1 << 30, 1]}),
    (5, "it has negative pads; use Pad before it", "MaxPool", [IMAGE],
     {"kernel_shape": [2, 2], "pads": [-1, 0, 0, 0]}),
    (4, "got an input of rank 2 and a kernel of rank 4, expected the same "
     "rank, 3 at least", "Conv", [X, (4, 4, 1, 1)], {}),
    (5, "its image has the shape [2, 3] and its kernel [4, 4, 1, 1]; expected "
     "two spatial dims", "DeformConv", [X, (4, 4, 1, 1), X], {}),
    (4, "it has 3 groups, 1 groups of offsets, 4 channels and a kernel of 4 by "
     "4", "DeformConv", [IMAGE, (4, 4, 1, 1), X], {"group": 3}),
    (4, "kernel_shape is not that of the kernel", "Conv",
     [IMAGE, (4, 4, 1, 1)], {"kernel_shape": [3, 3]}),
    (4, "it has 2 groups, 4 channels and a kernel of 4 by 4", "Conv",
     [IMAGE, (4, 4, 1, 1)], {"group": 2}),
    (4, "the bias does not have one element per channel", "Conv",
     [IMAGE, (4, 4, 1, 1), (3,)], {}),
    (4, "got a tensor of rank 2, expected batch, channels and spatial dims",
     "GlobalMaxPool", [X], {}),
    (5, "its indices are read, and its window has more than 64 elements",
     "MaxPool", [(1, 1, 80)], {"kernel_shape": [65], "outputs": 2}),
    (4, "columns of shape [1, 4, 5] do not fit an image of [4, 4] in blocks "
     "of [2, 2]", "Col2Im", [(1, 4, 5), ints(4, 4), ints(2, 2)], {}),
    (4, "indices of shape [1, 1, 3] do not fit a tensor of shape [1, 1, 2] "
     "and its kernel_shape", "MaxUnpool", [(1, 1, 2), Int((1, 1, 3))],
     {"kernel_shape": [2]}),
    (4, "it gives the shape [1, 1, 4], which output_shape cannot make "
     "[1, 1, 3]", "MaxUnpool", [(1, 1, 2), Int((1, 1, 2)), ints(1, 1, 3)],
     {"kernel_shape": [2], "strides": [2]}),
    (5, "its window or result is too large", "AveragePool",
     [(1, 1, 1 << 17)], {"kernel_shape": [1 << 16 | 1]}),
    (4, "got size 0 and a tensor of rank 4", "LRN", [IMAGE], {"size": 0}),
]

NORMALIZE = [
    (4, "its stash_type is not an element type", "LayerNormalization",
     [X, (3,)],
     {"outputs": 2, "stash_type": 99}),
    (4, "scale or bias do not broadcast to the input", "LayerNormalization",
     [X, (2, 2, 3)], {}),
    (4, "a parameter does not have one element per channel",
     "InstanceNormalization",
     [IMAGE, (3,), (4,)], {}),
    (5, "it is in training mode; export the model for inference, or for opset "
     "14 or later", "BatchNormalization", [IMAGE, (4,), (4,), (4,), (4,)],
     {"opset": 9, "outputs": 5}),
    (4, "got a tensor of rank 2", "InstanceNormalization", [X, (3,), (3,)],
     {}),
    (4, "got 3 groups and a tensor of rank 4", "GroupNormalization",
     [IMAGE, (4,), (4,)], {"num_groups": 3}),
    (4, "scale or bias do not have 4 elements", "GroupNormalization",
     [IMAGE, (2,), (4,)], {"num_groups": 2}),
]

RECURRENT = [
    (4, "got X of rank 2 and R of shape [1, 4, 4], expected rank 3 of both",
     "RNN", [X, (1, 4, 3), (1, 4, 4)], {"hidden_size": 4}),
    (5, "its sequence has no steps", "RNN", [(0, 2, 3), (1, 4, 3), (1, 4, 4)],
     {"hidden_size": 4}),
    (4, "input 1 has the shape [1, 4, 3], expected [1, 16, 3]", "LSTM",
     [(5, 2, 3), (1, 4, 3), (1, 16, 4)], {"hidden_size": 4}),
    (4, "got 1 activations, expected at least 2", "GRU",
     [(5, 2, 3), (1, 12, 3), (1, 12, 4)],
     {"hidden_size": 4, "activations": ["Tanh"]}),
    (5, "its activation 'ThresholdedRelu' is not supported yet", "RNN",
     [(5, 2, 3), (1, 4, 3), (1, 4, 4)],
     {"hidden_size": 4, "activations": ["ThresholdedRelu"]}),
]

SAMPLE = [
    (4, "a grid of shape [1, 2, 2, 3] does not fit an image of shape "
     "[1, 4, 6, 6]", "GridSample", [IMAGE, (1, 2, 2, 3)], {}),
    (5, "its mode is cubic, and the image has 1 spatial dims; expected 2",
     "GridSample", [(1, 2, 5), (1, 3, 1)], {"mode": "cubic"}),
    (4, "theta of shape [2, 3] does not fit the size [1, 1, 4, 4]",
     "AffineGrid", [X, ints(1, 1, 4, 4)], {}),
    (4, "regions of shape [2, 3] do not fit an image of shape "
     "[1, 4, 6, 6]", "RoiAlign", [IMAGE, X, Int((2,))], {}),
    (5, "its sampling_ratio is 0, so that the number of samples depends on the "
     "regions", "RoiAlign", [IMAGE, (2, 4), Int((2,))], {}),
]

SIGNAL = [
    (4, "got a signal of shape [2, 3], expected one or two parts in the last "
     "dim", "DFT", [X], {}),
    (4, "its axis is that of the real and imaginary parts", "DFT",
     [(4, 3, 2), None, ints(2)[0]], {}),
    (5, "a transform of length 1073741824 needs too large a table, or none",
     "DFT", [(4, 3, 2), ints(1 << 30)[0]], {}),
    (5, "it has more dims than there are letters", "DFT", [(1,) * 20], {}),
    (4, "got a signal of shape [2, 9, 1] for frames of 10, and a window that "
     "is as long", "STFT", [(2, 9, 1), ints(2)[0], None, ints(10)[0]], {}),
    (5, "its output_datatype is not supported", "HannWindow",
     [ints(4)[0]], {"output_datatype": 8}),
    (4, "got the size -1", "HannWindow", [ints(-1)[0]], {}),
    (4, "its bands, lengths and frequencies do not describe a table",
     "MelWeightMatrix", [*map(np.int64, (0, 16, 8000)), np.float32(0),
                         np.float32(4000)], {}),
    (4, "got 4 inputs, expected a rate, a count and 3 for each tensor",
     "Momentum", [(), Int(()), X, X],
     {"domain": "ai.onnx.preview.training", "alpha": 0.9, "beta": 0.9,
      "mode": "standard", "norm_coefficient": 0.1}),
]

SCALES = floats(1, 1, 2, 2)
RESIZE = [
    (5, "its mode is 'area'", "Resize", [IMAGE, None, SCALES],
     {"mode": "area"}),
    (5, "its coordinate_transformation_mode is 'half'", "Resize",
     [IMAGE, None, SCALES], {"coordinate_transformation_mode": "half"}),
    (5, "its scales are computed at run time", "Resize", [IMAGE, None, (4,)],
     {}),
    (4, "got 2 scales or sizes for 4 axes", "Resize",
     [IMAGE, None, floats(2, 2)], {}),
    (4, "it resizes an extent of 6 to 0", "Resize",
     [IMAGE, None, None, ints(1, 4, 6, 0)], {}),
]

SHAPE = [
    (5, "its value is not a dense tensor of numbers", "Constant", [],
     {"value_string": "text"}),
    (4, "its value does not have exactly one element", "ConstantOfShape",
     [ints(2, 2)],
     {"value": helper.make_tensor("v", 1, [2], [1.0, 2.0])}),
    (4, "its result of shape [2147483648, 2147483648] has more bytes than "
     "int64 can count", "ConstantOfShape", [ints(1 << 31, 1 << 31)], {}),
    (5, "the operator 'Det' has no importer yet; export the model without it",
     "Det", [(3, 3)], {}),
    (5, "its output 2 ('o2') is not supported yet", "BatchNormalization",
     [IMAGE, (4,), (4,), (4,), (4,)],
     {"outputs": ["o0", "", "o2", "o3", "o4"], "opset": 9}),
]



def body(taken, given):
    """A graph without nodes of `taken` inputs, the first ones of which are its
    outputs."""
    values = [helper.make_tensor_value_info(f"b{i}", onnx.TensorProto.FLOAT, ())
              for i in range(taken)]
    return helper.make_graph([], "body", values, values[:given])


CONTROL = [
    (4, "its condition 'i0' has 2 elements, expected one", "If", [Int((2,))],
     {"then_branch": body(0, 0), "else_branch": body(0, 0)}),
    (4, "its graph 'then_branch' does not give 1 tensors", "If", [Int(())],
     {"then_branch": body(0, 0), "else_branch": body(0, 0)}),
    (5, "its trip count 'i0' is computed at run time: give --max-trip-count N, "
     "the most steps that it may take", "Loop", [Int(()), None, X],
     {"body": body(3, 2)}),
    (5, "only its condition ends it: give --max-trip-count N, the most steps "
     "that it may take", "Loop", [None, Int(()), X], {"body": body(3, 2)}),
    (4, "its trip count 'i0' has 2 elements, expected one", "Loop",
     [Int((2,)), None, X], {"body": body(3, 2)}),
    (4, "its condition 'i1' has 3 elements, expected one", "Loop",
     [None, Int((3,)), X], {"body": body(3, 2)}),
    (5, "it has no steps, so the shapes of its outputs are not known",
     "Loop", [ints(0)[0], None], {"body": body(2, 2)}),
    (4, "its body does not take 3 tensors and give 2", "Loop",
     [ints(2)[0], None, X], {"body": body(2, 2)}),
    (4, "it stacks tensors of rank 1 along axis 3", "Scan", [X],
     {"body": body(1, 1), "num_scan_inputs": 1, "scan_output_axes": [3]}),
    (4, "num_scan_inputs does not fit its inputs", "Scan", [X],
     {"body": body(1, 1), "num_scan_inputs": 2}),
    (4, "its scanned inputs are not for the same number of steps", "Scan",
     [X, (3, 3)], {"body": body(2, 1), "num_scan_inputs": 2}),
    (5, "a Scan of opset 8 has a batch; export the model for opset 9 or later",
     "Scan", [None, X], {"body": body(1, 1), "num_scan_inputs": 1,
                         "opset": 8}),
    (5, "its attribute 'score_mod' is not a number, text or list of "
        "integers, but ONNX's body for the operator depends on it",
        "FlexAttention",
     [(1, 1, 2, 4)] * 3, {"score_mod": body(1, 1), "opset": 26,
                          "domain": "ai.onnx.preview"}),
    (5, "ONNX gives no body for 'LinearAttention' with these inputs",
     "LinearAttention", [(1, 2, 4)] * 3,
     {"q_num_heads": 0, "kv_num_heads": 1, "opset": 27, "outputs": 2}),
]

ROWS = [*RUNTIME, *CONTROL, *MOVEMENT, *CONTRACTION, *ELEMENTWISE, *ORDER,
        *INDEX, *WINDOW, *NORMALIZE, *RECURRENT, *SAMPLE, *SIGNAL, *RESIZE,
        *SHAPE]


def make_model(op_type, inputs, settings):
    """The model of one node i0, i1, … → o0, o1, …"""
    settings = dict(settings)
    opset, outputs = settings.pop("opset", 21), settings.pop("outputs", 1)
    names = ["" if given is None else f"i{i}"
             for i, given in enumerate(inputs)]
    values, constants = [], []
    for name, given in zip(names, inputs):
        if isinstance(given, (np.ndarray, np.generic)):
            constants.append(onnx.numpy_helper.from_array(
                np.asarray(given), name))
        elif given is not None:
            kind = onnx.TensorProto.INT64 if isinstance(given, Int) else \
                onnx.TensorProto.FLOAT
            values.append(helper.make_tensor_value_info(name, kind, given))
    results = [f"o{i}" for i in range(outputs)] \
        if isinstance(outputs, int) else outputs
    domain = settings.get("domain", "")
    node = helper.make_node(op_type, names, results, "only", **settings)
    graph = helper.make_graph(
        [node], "g", values,
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ())
         for name in results if name], constants)
    return helper.make_model(
        graph, ir_version=10,
        opset_imports=[helper.make_opsetid("", opset),
                       *([helper.make_opsetid(domain, 1)] if domain else [])])
