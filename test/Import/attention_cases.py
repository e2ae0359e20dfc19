"""Cases of ONNX Runtime's own operators of attention, over grids of attributes,
optional inputs, shapes and types, against ONNX Runtime.

Where it leaves results undefined (rows of padding), no case looks.
"""

import itertools

import numpy as np
from node_cases import Case, own_case
from onnx import helper

RANDOM = np.random.default_rng(46)


def floats(*shape, kind=np.float32):
    return RANDOM.standard_normal(shape).astype(kind)


def case(name, op_type, inputs, **attributes):
    """A case of the domain com.microsoft; its name says what is in the node."""
    return own_case(f"{op_type}_{name}", op_type, inputs,
                    domain="com.microsoft", **attributes)


def known_case(name, op_type, inputs, outputs, *, constants=(),
               **attributes):
    """A case of what ONNX Runtime does not do, or rounds more than we."""
    node = helper.make_node(
        op_type, ["" if value is None else f"x{i}"
                  for i, value in enumerate(inputs)],
        [f"y{i}" for i in range(len(outputs))], domain="com.microsoft",
        **attributes)
    inputs = [None if value is None else np.asarray(value) for value in inputs]
    return Case(name, node, inputs, outputs, 21, set(constants))


BATCH, HEADS, SHARED, DEPTH = 2, 4, 2, 32


def tables(length, angles, kind=np.float32):
    at = np.outer(np.arange(length), 1 / 10 ** np.linspace(0, 1, angles))
    return [np.cos(at).astype(kind), np.sin(at).astype(kind)]


def rotary_cases():
    for interleaved, form in itertools.product((0, 1), ("flat", "heads")):
        settings = {"interleaved": interleaved}
        x = floats(2, 5, 32) if form == "flat" else floats(2, 4, 5, 8)
        rows = np.array([[3, 4, 5, 6, 7], [0, 1, 2, 8, 1]])
        yield case(f"{form}_{interleaved}", "RotaryEmbedding",
                   [x, rows, *tables(9, 4)], **settings)
        yield case(f"{form}_{interleaved}_from", "RotaryEmbedding",
                   [x, np.array([2]), *tables(9, 4)], **settings)
        yield case(f"{form}_{interleaved}_partial", "RotaryEmbedding",
                   [x, rows, *tables(9, 2)], num_heads=4,
                   rotary_embedding_dim=4, **settings)
    yield case("f16", "RotaryEmbedding",
               [floats(2, 5, 32, kind=np.float16), np.array([1]),
                *tables(9, 4, np.float16)])


def query_inputs(queries, packed, kind=np.float32):
    """Queries, keys and values of a GroupQueryAttention."""
    widths = [HEADS * DEPTH, SHARED * DEPTH, SHARED * DEPTH]
    parts = [floats(BATCH, queries, width, kind=kind) for width in widths]
    return [np.concatenate(parts, 2), None, None] if packed else parts


def query_case(name, queries, past, total, lengths, *, packed=False, also=(),
               kind=np.float32, outputs=3, **attributes):
    """`also` are inputs from the cosines on."""
    cache = [floats(BATCH, SHARED, past, DEPTH, kind=kind) if past else None
             for _ in range(2)]
    return case(name, "GroupQueryAttention",
                [*query_inputs(queries, packed, kind), *cache,
                 np.array(lengths, np.int32) - 1, np.array(total, np.int32),
                 *also], constants=[6], outputs=outputs, num_heads=HEADS,
                kv_num_heads=SHARED, **attributes)


# (name, queries, past, total, lengths): a prompt, its continuation one by one
# and by more, in caches that grow and that have room.
STEPS = [("prompt", 5, 0, 5, [5, 5]), ("step", 1, 6, 7, [7, 4]),
         ("roomy_step", 1, 9, 5, [5, 2]), ("roomy_prompt", 5, 8, 5, [5, 5])]


def group_query_cases():
    for (name, *lengths), packed, rotary, window in itertools.product(
            STEPS, (False, True), (None, 0, 1), (-1, 2)):
        settings = {"local_window_size": window}
        also = ()
        if rotary is not None:
            also = tables(16, DEPTH // 2)
            settings |= {"do_rotary": 1, "rotary_interleaved": rotary}
        yield query_case(f"{name}_{packed}_{rotary}_{window}", *lengths,
                         packed=packed, also=also, **settings)
    for (name, *lengths), (kind, settings) in itertools.product(
            STEPS, (("softcap", {"softcap": 2.5}),
                    ("smooth", {"smooth_softmax": 1}),
                    ("scale", {"scale": 0.7}))):
        yield query_case(f"{name}_{kind}", *lengths, **settings)
    nothing = [None] * 3
    for (name, queries, past, total, lengths), heads, window in \
            itertools.product(STEPS, (1, HEADS), (-1, 3)):
        bias = floats(1, heads, queries, total)
        sink = floats(HEADS)
        step = (queries, past, total, lengths)
        yield query_case(f"{name}_bias_{heads}_{window}", *step,
                         also=[*nothing, bias], local_window_size=window)
        yield query_case(f"{name}_bias_sink_{heads}_{window}", *step,
                         also=[*nothing, bias, sink],
                         local_window_size=window, softcap=3.0)
    # Keys that pad the end of a row are not attended.
    yield query_case("padded_everywhere", 5, 0, 5, [5, 3], causal=0)
    yield query_case("everywhere", 5, 0, 5, [5, 5], causal=0,
                     smooth_softmax=1)
    yield query_case("f16", 5, 0, 5, [5, 5], kind=np.float16)
    yield query_case("f16_step", 1, 6, 7, [7, 4], kind=np.float16)
    # Positions that are given: of a prompt the first alone counts.
    places = np.array([[3, 4, 5, 6, 7]] * 2)
    for name, step, ids in (("prompt", STEPS[0], places),
                            ("step", STEPS[1], places[:, :1].copy())):
        yield query_case(f"{name}_positions", *step[1:],
                         also=[*tables(16, 16), ids], do_rotary=1)
        yield query_case(f"{name}_partial", *step[1:],
                         also=tables(16, 8), do_rotary=1)


def padding_masks(queries, keys):
    """By name; rows of 0 are padding."""
    by_key = np.ones((BATCH, keys), np.int32)
    by_key[1, keys - 2:] = 0
    by_query = np.ones((BATCH, queries, keys), np.int32)
    by_query[0, 0, 1:] = by_query[1, -1, :2] = 0
    return {"none": None, "keys": by_key, "queries": by_query,
            "ends": np.array([keys, keys - 2], np.int32),
            "nothing": np.stack([by_key[0], 0 * by_key[1]])}


def multi_head_cases():
    width = HEADS * DEPTH
    for (mask, past), bias, causal in itertools.product(
            (("none", 0), ("keys", 0), ("queries", 0), ("ends", 0),
             ("nothing", 0), ("none", 3), ("keys", 3)), (False, True), (0, 1)):
        q, k, v = (floats(BATCH, 5, width) for _ in range(3))
        cache = [floats(BATCH, HEADS, past, DEPTH) if past else None
                 for _ in range(2)]
        yield case(f"{mask}_{past}_{bias}_{causal}", "MultiHeadAttention",
                   [q, k, v, floats(3 * width) if bias else None,
                    padding_masks(5, 5 + past)[mask],
                    floats(1, HEADS, 5, 5 + past) if bias else None, *cache],
                   outputs=3, num_heads=HEADS, unidirectional=causal)
    # Another sequence, values of another depth, and keys by heads.
    q = floats(BATCH, 5, width)
    yield case("cross", "MultiHeadAttention",
               [q, floats(BATCH, 7, width), floats(BATCH, 7, 12),
                floats(2 * width + 12), padding_masks(5, 7)["keys"]],
               num_heads=HEADS, scale=0.3)
    yield case("cross_by_heads", "MultiHeadAttention",
               [q, floats(BATCH, HEADS, 7, DEPTH),
                floats(BATCH, HEADS, 7, DEPTH)], num_heads=HEADS)
    yield case("bias_of_batch", "MultiHeadAttention",
               [q, floats(BATCH, 7, width), floats(BATCH, 7, width), None,
                None, floats(BATCH, 1, 5, 7)], num_heads=HEADS)
    yield case("filter", "MultiHeadAttention",
               [q, q, q, None, padding_masks(5, 5)["keys"]], num_heads=HEADS,
               mask_filter_value=-2.0)
    half = floats(BATCH, 5, width, kind=np.float16)
    yield case("f16", "MultiHeadAttention", [half, half, half],
               num_heads=HEADS)


def fused_attention_cases():
    """Attention, with its projection, and QAttention, of bytes."""
    width, depth = 24, 6
    masks = padding_masks(5, 5)
    masks["both_ends"] = np.array([5, 4, 1, 0], np.int32)
    for mask, causal, bias in itertools.product(
            masks, (0, 1), (False, True)):
        # What no key may see is what ONNX Runtime adds two filters to.
        if mask == "nothing" and causal:
            continue
        yield case(f"{mask}_{causal}_{bias}", "Attention",
                   [floats(BATCH, 5, 16), floats(16, 3 * width) / 4,
                    floats(3 * width), masks[mask], None,
                    floats(1, HEADS, 5, 5) if bias else None],
                   num_heads=HEADS, unidirectional=causal)
    past = floats(2, BATCH, HEADS, 3, depth)
    for mask, causal in itertools.product(("none", "keys"), (0, 1)):
        yield case(f"past_{mask}_{causal}", "Attention",
                   [floats(BATCH, 5, 16), floats(16, 3 * width) / 4,
                    floats(3 * width), padding_masks(5, 8)[mask], past],
                   num_heads=HEADS, unidirectional=causal, outputs=2)
    yield case("widths", "Attention",
               [floats(BATCH, 5, 16), floats(16, 2 * width + 8) / 4,
                floats(2 * width + 8)], num_heads=HEADS,
               qkv_hidden_sizes=[width, width, 8], scale=0.5)
    x = RANDOM.integers(0, 256, (BATCH, 5, 16), np.uint8)
    weights = RANDOM.integers(-60, 61, (16, 3 * width), np.int8)
    for columns in (1, 3 * width):
        scale = np.float32(RANDOM.uniform(.01, .02, columns))
        yield case(f"columns_{columns}", "QAttention",
                   [x, weights, floats(3 * width), np.float32(0.02).reshape(1),
                    scale, masks["keys"], np.array([117], np.uint8),
                    np.zeros(columns, np.int8)], num_heads=HEADS)
    yield case("past", "QAttention",
               [x, weights, floats(3 * width), np.float32(0.02).reshape(1),
                np.float32(0.01).reshape(1), None, np.array([117], np.uint8),
                np.array([3], np.int8), past], num_heads=HEADS, outputs=2,
               unidirectional=1)


def with_inputs(case_, name, inputs, **attributes):
    """The outputs of `case_` from inputs in a form that ONNX Runtime takes on
    GPUs alone."""
    return known_case(f"{case_.node.op_type}_{name}", case_.node.op_type,
                      inputs, case_.outputs, **attributes)


def packed_cases():
    parts = [floats(BATCH, 5, HEADS, DEPTH) for _ in range(3)]
    flat = [part.reshape(BATCH, 5, -1) for part in parts]
    for bias in (None, floats(3 * HEADS * DEPTH)):
        plain = case("plain", "MultiHeadAttention", [*flat, bias],
                     num_heads=HEADS)
        yield with_inputs(plain, f"three_{bias is None}",
                          [np.stack(parts, 3), None, None, bias],
                          num_heads=HEADS)
        yield with_inputs(plain, f"two_{bias is None}",
                          [flat[0], np.stack(parts[1:], 3), None, bias],
                          num_heads=HEADS)


def normalized_query_cases():
    """Heads are normalized before they are rotated."""
    for (name, queries, past, total, lengths), rotary in itertools.product(
            STEPS, (0, 1)):
        settings = {"num_heads": HEADS, "kv_num_heads": SHARED,
                    "do_rotary": rotary}
        weights = [floats(DEPTH), floats(DEPTH)]
        parts = query_inputs(queries, packed=False)
        normal = list(parts)
        for i, weight in enumerate(weights):
            heads = parts[i].reshape(BATCH, queries, -1, DEPTH)
            root = np.sqrt((heads ** 2).mean(-1, keepdims=True) + 1e-3)
            normal[i] = (heads / root * weight).reshape(parts[i].shape)
        rest = [floats(BATCH, SHARED, past, DEPTH) if past else None
                for _ in range(2)]
        rest += [np.array(lengths, np.int32) - 1, np.array(total, np.int32),
                 *(tables(16, DEPTH // 2) if rotary else (None, None))]
        plain = case("plain", "GroupQueryAttention", [*normal, *rest],
                     constants=[6], outputs=3, **settings)
        yield with_inputs(plain, f"normalized_{name}_{rotary}",
                          [*parts, *rest, *[None] * 5, *weights],
                          constants=[6], qk_norm_epsilon=1e-3, **settings)


def own_cases():
    yield from packed_cases()
    yield from normalized_query_cases()
    yield from rotary_cases()
    yield from group_query_cases()
    yield from multi_head_cases()
    yield from fused_attention_cases()
