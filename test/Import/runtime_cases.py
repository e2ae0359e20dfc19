"""Cases of ONNX Runtime's own operators: those that its optimizer, its
quantizer and exporters of language models write, over grids of attributes,
optional inputs, shapes and types, against ONNX Runtime."""

import itertools

import attention_cases
import numpy as np
from attention_cases import RANDOM, case, floats, known_case
from node_cases import own_case


def spell(**settings):
    return "_".join(f"{key}_{value}" for key, value in settings.items())


#===------------------------------------------------------------------------===
# Weights of few bits
#===------------------------------------------------------------------------===

def packed(codes, bits):
    """Rows of codes in bytes, the first in the low bits; the last is filled."""
    per = 8 // bits
    padded = np.pad(codes, [(0, 0), (0, -codes.shape[1] % per)])
    parts = padded.reshape(len(codes), -1, per).astype(np.uint8)
    return sum(parts[:, :, i] << (bits * i) for i in range(per)).astype(
        np.uint8)


def bits_case(bits, block, k, zero, *, n=6, kind=np.float32, front=(2, 3),
              bias=False, groups=False, name="", **attributes):
    blocks = -(-k // block)
    codes = RANDOM.integers(0, 1 << bits, (n, blocks * block))
    scales = RANDOM.uniform(.01, .1, (n, blocks)).astype(kind)
    zeros = None
    if zero == "packed":
        points = RANDOM.integers(0, 1 << bits, (n, blocks))
        zeros = packed(points, bits)
    elif zero == "numbers":
        zeros = RANDOM.uniform(4, 9, (n, blocks)).astype(kind)
    order = (RANDOM.permutation(k) // block).astype(np.int32)
    name = name or "_".join(map(str, (bits, block, k, zero, kind.__name__)))
    a = floats(*front, k, kind=kind)
    made = case(name, "MatMulNBits",
                [a, packed(codes, bits).reshape(n, blocks, block * bits // 8),
                 scales, zeros, order if groups else None,
                 floats(n, kind=kind) if bias else None],
                constants=[1, 2, 3, 4, 5], K=k, N=n, bits=bits,
                block_size=block, **attributes)
    if groups and zero == "packed":
        # ONNX Runtime's kernel does not read the zero points of groups.
        middles = codes[:, :k] - points[:, order]
        made.outputs = [a @ (middles * scales[:, order]).T.astype(kind)]
    return made


def block_cases():
    for bits, block, k, zero in itertools.product(
            (4, 8), (16, 32), (32, 64, 80), ("none", "packed", "numbers")):
        # A kernel of ONNX Runtime's that takes no numbers for bytes.
        if (bits, zero) != (8, "numbers"):
            yield bits_case(bits, block, k, zero)
    yield bits_case(2, 16, 64, "packed")
    yield bits_case(4, 32, 64, "packed", kind=np.float16)
    yield bits_case(4, 32, 96, "packed", bias=True, front=(5,), name="bias")
    yield bits_case(4, 16, 64, "packed", groups=True, name="groups")
    yield bits_case(4, 16, 64, "none", groups=True, name="groups_no_zero")
    table = RANDOM.integers(0, 16, (9, 64))
    scales = RANDOM.uniform(.01, .1, (9, 4)).astype(np.float32)
    zeros = RANDOM.integers(0, 16, (9, 4))
    ids = np.array([[0, 8, 3], [3, 3, 1]])
    for name, more in (("middle", []), ("zeros", [packed(zeros, 4)])):
        yield case(name, "GatherBlockQuantized",
                   [packed(table, 4), ids, scales, *more],
                   constants=[0, 2, 3], block_size=16, bits=4)
    yield case("bytes", "GatherBlockQuantized",
               [table.astype(np.uint8), ids, scales], constants=[0, 2],
               block_size=16, bits=8)


#===------------------------------------------------------------------------===
# What the optimizer fuses
#===------------------------------------------------------------------------===

def normalization_cases():
    for kind in (np.float32, np.float16):
        x, skip = floats(2, 5, 12, kind=kind), floats(2, 5, 12, kind=kind)
        gamma, beta, bias = (floats(12, kind=kind) for _ in range(3))
        tail = kind.__name__
        yield own_case(f"SimplifiedLayerNormalization_{tail}",
                       "SimplifiedLayerNormalization", [x, gamma],
                       epsilon=1e-4, opset=17)
        yield own_case(f"LayerNormalization_of_12_{tail}",
                       "LayerNormalization", [x, gamma, beta], opset=12,
                       epsilon=1e-4)
        for name, other in (("whole", skip), ("shared", skip[:1].copy()),
                            ("rows", skip[0].copy())):
            for has_bias in (False, True):
                more = [bias] if has_bias else [None]
                name_ = f"{name}_{has_bias}_{tail}"
                yield case(name_, "SkipLayerNormalization",
                           [x, other, gamma, beta, *more], epsilon=1e-5,
                           outputs=["y", "", "", "s"])
                yield case(name_, "SkipSimplifiedLayerNormalization",
                           [x, other, gamma, *more],
                           outputs=["y", "", "", "s"])
    yield case("no_beta", "SkipLayerNormalization",
               [floats(2, 5, 12), floats(2, 5, 12), floats(12)])
    ids = RANDOM.integers(0, 9, (2, 5), np.int32)
    parts = [floats(9, 12), floats(7, 12), floats(2, 12), floats(12),
             floats(12)]
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32)
    places = np.array([[2, 1, 0, 4, 6]] * 2, np.int32)
    yield case("segments", "EmbedLayerNormalization",
               [ids, ids % 2, *parts, mask], outputs=3, epsilon=1e-4)
    yield case("words", "EmbedLayerNormalization",
               [ids, None, *parts[:2], None, *parts[3:]], outputs=2)
    yield case("places", "EmbedLayerNormalization",
               [ids, ids % 2, *parts, None, places], outputs=3)


def activation_cases():
    for kind in (np.float32, np.float16):
        x, bias = floats(3, 4, 7, kind=kind), floats(7, kind=kind)
        tail = kind.__name__
        yield case(tail, "Gelu", [x])
        yield case(tail, "BiasGelu", [x, bias])
        yield case(tail, "FastGelu", [x])
        yield case(f"bias_{tail}", "FastGelu", [x, bias])
        yield case(tail, "QuickGelu", [x])
        yield case(f"silu_{tail}", "QuickGelu", [x], alpha=1.0)


def product_cases():
    for a, b, batch_a, batch_b in itertools.product((0, 1), repeat=4):
        # [batch, rows, columns], or with the rows in front of the batch.
        left, right = [3, 4, 5], [3, 5, 6]
        left[1:] = left[1:][::-1] if a else left[1:]
        right[1:] = right[1:][::-1] if b else right[1:]
        left = [left[1], left[0], left[2]] if batch_a else left
        right = [right[1], right[0], right[2]] if batch_b else right
        settings = {"transA": a, "transB": b, "transBatchA": batch_a,
                    "transBatchB": batch_b}
        yield case(spell(**settings), "FusedMatMul",
                   [floats(*left), floats(*right)], alpha=0.5, **settings)
    yield case("vector", "FusedMatMul", [floats(5), floats(5, 6)], transA=1)
    yield case("plain", "TransposeMatMul", [floats(2, 4, 3), floats(2, 4, 5)],
               transA=1)
    image, kernel = floats(2, 4, 6, 5), floats(6, 2, 3, 3)
    for name, values in (("Relu", []), ("Tanh", []), ("Sigmoid", []),
                         ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]),
                         ("HardSigmoid", [0.3, 0.4])):
        yield case(name, "FusedConv", [image, kernel, floats(6)],
                   activation=name, group=2, pads=[1, 0, 1, 0],
                   strides=[2, 1],
                   **({"activation_params": values} if values else {}))
    yield case("sum", "FusedConv",
               [image, kernel, floats(6), floats(2, 6, 4, 3)],
               activation="Relu", group=2)
    for name, more in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.3}),
                       ("Tanh", {}), ("Elu", {"activation_alpha": 0.7})):
        yield case(name, "FusedGemm", [floats(4, 3), floats(5, 3), floats(5)],
                   transB=1, activation=name, alpha=0.5, **more)


#===------------------------------------------------------------------------===
# What the quantizer writes
#===------------------------------------------------------------------------===

def dynamic_cases():
    """ONNX Runtime adds two products in 16 bits on processors that have no
    VNNI, so weights have 7 bits."""
    a = RANDOM.integers(0, 256, (2, 3, 8), np.uint8)
    b = RANDOM.integers(-60, 61, (8, 5), np.int8)
    columns = np.float32(RANDOM.uniform(.01, .02, 5))
    one = np.float32(.015).reshape(1)
    for name, scale, zero in (("one", one, np.array([3], np.int8)),
                              ("columns", columns, np.zeros(5, np.int8)),
                              ("no_zero", columns, None)):
        yield case(name, "MatMulIntegerToFloat",
                   [a, b, np.float32(0.02), scale, np.uint8(120), zero,
                    floats(5)])
        yield case(name, "DynamicQuantizeMatMul",
                   [floats(2, 3, 8), b, scale, zero, floats(5)],
                   constants=[1, 2, 3, 4])
    yield case("zeros", "DynamicQuantizeMatMul",
               [np.zeros((3, 8), np.float32), b, one])
    image = RANDOM.integers(0, 256, (2, 3, 6, 5), np.uint8)
    tail = [np.float32(0.02), np.uint8(117), np.float32(0.0171),
            np.uint8(120)]
    for last in (0, 1):
        x = np.ascontiguousarray(np.moveaxis(image, 1, -1)) if last else image
        yield case(f"pads_{last}", "QLinearAveragePool", [x, *tail],
                   kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1],
                   channels_last=last)
        yield case(f"last_{last}", "QLinearGlobalAveragePool", [x, *tail],
                   channels_last=last)
    yield case("counts_pads", "QLinearAveragePool", [image, *tail],
               kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    kernel = RANDOM.integers(-60, 61, (4, 3, 3, 2), np.int8)
    for last in (0, 1):
        x = np.ascontiguousarray(np.moveaxis(image, 1, -1)) if last else image
        yield case(f"last_{last}", "QLinearConv",
                   [x, *tail[:2], kernel, np.float32([.01, .02, .013, .01]),
                    np.zeros(4, np.int8), np.float32(0.171), np.uint8(120),
                    RANDOM.integers(-99, 99, 4, np.int32)],
                   constants=range(1, 9), channels_last=last,
                   pads=[1, 0, 1, 1], strides=[2, 1])
    yield case("pads", "NhwcMaxPool",
               [np.ascontiguousarray(np.moveaxis(image, 1, -1))],
               kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1])
    yield case("plain", "QLinearWhere",
               [floats(2, 3, 6, 5) > 0, image, *tail[:2], image[:, :, ::-1],
                np.float32(0.03), np.uint8(100), *tail[2:]])


def scale_cases():
    """Of 16 bits, which ONNX's own operators got later."""
    for kind in (np.int16, np.uint16):
        zero = np.array(7, kind)
        yield case(kind.__name__, "QuantizeLinear",
                   [floats(2, 3), np.float32(0.01), zero])
        yield case(kind.__name__, "DequantizeLinear",
                   [RANDOM.integers(0, 99, (2, 3)).astype(kind),
                    np.float32(0.01), zero])
    codes = RANDOM.integers(-99, 99, (2, 3, 4), np.int8)
    columns = np.float32([.1, .2, .3, .4])
    yield case("axis", "DequantizeLinear",
               [codes, columns, np.array([1, 2, 3, 4], np.int8)], axis=2)
    # ONNX Runtime has no kernel of its own for it.
    values = (codes + 3.0) * 0.25
    for keepdims in (0, 1):
        mean = values.mean((1, 2), keepdims=bool(keepdims))
        yield known_case(f"QLinearReduceMean_{keepdims}", "QLinearReduceMean",
                         [codes, np.float32(0.25), np.int8(-3),
                          np.float32(0.17), np.int8(5)],
                         [np.int8(np.round(mean / np.float32(0.17)) + 5)],
                         axes=[1, 2], keepdims=keepdims)


def recurrent_cases():
    """ONNX Runtime quantizes the input and the state, too, in each step: its
    results are near those of the numbers that the weights stand for."""
    hidden, width, gates = 5, 4, 20
    for name, columns in (("one", ()), ("gates", (gates,))):
        weights, more = [], []
        for rows in (width, hidden):
            codes = RANDOM.integers(-60, 61, (2, rows, gates), np.int8)
            scale = np.float32(RANDOM.uniform(.01, .015, (2, *columns)))
            zero = np.zeros((2, *columns), np.int8)
            weights.append(codes)
            more += [scale, zero]
        rest = [floats(2, 2 * gates) / 4, np.array([4, 2, 3], np.int32),
                floats(2, 3, hidden), floats(2, 3, hidden)]
        x = floats(4, 3, width)
        settings = {"hidden_size": hidden, "direction": "bidirectional"}
        near = case(name, "DynamicQuantizeLSTM",
                    [x, *weights, *rest, None, *more], outputs=3, **settings)
        numbers = [np.moveaxis(codes * scale.reshape(2, 1, -1), 1, 2)
                   for codes, scale in zip(weights, more[::2])]
        exact = own_case(name, "LSTM", [x, *numbers, *rest], outputs=3,
                         **settings)
        for a, b in zip(near.outputs, exact.outputs):
            assert np.abs(a - b).max() < .05
        near.outputs = exact.outputs
        yield near


def own_cases():
    yield from attention_cases.own_cases()
    yield from block_cases()
    yield from normalization_cases()
    yield from activation_cases()
    yield from product_cases()
    yield from dynamic_cases()
    yield from scale_cases()
    yield from recurrent_cases()
