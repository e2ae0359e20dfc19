"""Nodes of ONNX Runtime's own domain, which no checker knows, that their
importers refuse: rows as those of refused_nodes.py."""

import numpy as np

X, IMAGE = (2, 3), (1, 4, 6, 6)
ONE = np.float32(1)
# A batch of 2, 5 queries, 4 heads of a depth of 8, 2 of keys.
Q, KV = (2, 5, 32), (2, 5, 16)
LAST, TOTAL = np.array([4, 4], np.int32), np.int32(5)
HEADS = {"num_heads": 4}
GROUPS = {**HEADS, "kv_num_heads": 2}
TABLE = np.ones((9, 4), np.float32)
PAST = (2, 2, 6, 8)
# Weights of 6 by 32 codes of 4 bits, in blocks of 16.
CODES, SCALES = np.zeros((6, 2, 8), np.uint8), np.ones((6, 2), np.float32)
BLOCKS = {"K": 32, "N": 6, "block_size": 16}


def floats(*values):
    return np.array(values, np.float32)


def query(message, code=4, more=(), q=Q, kv=KV, past=None, last=LAST,
          total=TOTAL, past_value=None, **settings):
    return (code, message, "GroupQueryAttention",
            [q, kv, kv, past, past if past_value is None else past_value,
             last, total, *more], {**GROUPS, **settings})


def bits(message, code=4, a=(2, 32), codes=CODES, scales=SCALES, more=(),
         **settings):
    return (code, message, "MatMulNBits", [a, codes, scales, *more],
            {**BLOCKS, **settings})


QUANTIZED = [
    (4, "it has no input 4", "QLinearAdd", [X, floats(1), None, X], {}),
    (4, "it has no input 3", "QLinearConcat", [floats(1), None, X], {}),
    (4, "its result has a scale or zero point of shape [2], expected one "
     "number", "QLinearSigmoid", [X, ONE, None, floats(1, 2)], {}),
    (4, "its operands are not matrices", "QGemm",
     [(2, 2, 3), ONE, None, X, ONE], {}),
    (5, "its first operand has 2 scales, expected one; ONNX Runtime takes no "
     "more", "MatMulIntegerToFloat",
     [np.ones((2, 3), np.uint8), np.ones((3, 2), np.uint8), floats(1, 1),
      ONE], {}),
    (4, "its first operand has elements of i64, expected f32",
     "DynamicQuantizeMatMul",
     [np.ones((2, 3), np.int64), np.ones((3, 2), np.int8), ONE], {}),
    (4, "input 1 has the shape [3, 2], expected three dims",
     "DynamicQuantizeLSTM",
     [(3, 2, 4), *[np.ones((3, 2), np.int8)] * 2, *[None] * 5, floats(1),
      np.array([0], np.int8), floats(1), np.array([0], np.int8)], {}),
    (4, "a scale or zero point of shape [] does not fit [1, 4, 8]",
     "DynamicQuantizeLSTM",
     [(3, 2, 4), *[np.ones((1, 4, 8), np.int8)] * 2, *[None] * 5, ONE,
      np.array([0], np.int8), floats(1), np.array([0], np.int8)], {}),
    (4, "it has no input 1", "QLinearConv", [IMAGE], {"channels_last": 1}),
    (4, "a tensor of shape [0] cannot have the shape []", "QLinearConv",
     [np.ones((2, 6, 5, 3), np.uint8), ONE, np.zeros(0, np.uint8),
      np.ones((4, 3, 3, 2), np.int8), *[ONE, np.int8(0)] * 2],
     {"channels_last": 1}),
    (4, "got an input of rank 1 and a kernel of rank 4", "QLinearConv",
     [np.ones(6, np.uint8), ONE, np.uint8(0), np.ones((4, 3, 3, 2), np.int8),
      floats(1, 1, 1, 1), np.zeros(4, np.int8), ONE, np.int8(0)], {}),
    (4, "it has no input 1", "QuantizeLinear", [X], {}),
    (4, "it has no input 1", "DequantizeLinear", [X], {}),
    (4, "a scale or zero point of shape [2, 3] does not fit a tensor of shape "
     "[]", "DequantizeLinear",
     [np.int8(1), ONE, np.zeros((2, 3), np.int8)], {})]
QUERIES = [
    (4, "it has no input 5", "GroupQueryAttention", [Q, KV, KV], GROUPS),
    query("its sliding_window_cache is 1; export the model with a cache of all "
          "positions", 5, sliding_window_cache=1),
    query("its k_quant_type is PER_TENSOR; export the model with a cache that "
          "is not quantized", 5, k_quant_type="PER_TENSOR"),
    (4, "it has one of past_key and past_value, expected both or none",
     "GroupQueryAttention", [Q, KV, KV, PAST, None, LAST, TOTAL], GROUPS),
    (4, "it has num_heads 4 and kv_num_heads 2, and key without value or the "
     "reverse", "GroupQueryAttention",
     [Q, KV, None, None, None, LAST, TOTAL], GROUPS),
    query("input 0 of shape [2, 5, 30] and num_heads 4 do not fit together",
          q=(2, 5, 30)),
    query("it has 1 queries and 5 keys; use MultiHeadAttention for attention "
          "to another sequence", 5, q=(2, 1, 32)),
    query("numbers of total_sequence_length and seqlens_k of shape [3] do not "
          "fit a batch of 2", last=np.array([1, 1, 1], np.int32)),
    query("total_sequence_length is 9, expected the sum of 6 past and 5 new "
          "keys, or at most what the past has room for", past=PAST,
          total=np.int32(9)),
    query("input 6 ('i6') is computed at run time", 5, total=(1,)),
    query("tables of shapes [9, 5] and [9, 4] do not rotate heads of a depth "
          "of 8", more=[np.ones((9, 5), np.float32), TABLE], do_rotary=1),
    query("it has no input 7", do_rotary=1),
    query("an attention_bias of shape [1, 1, 5, 4] does not fit 5 keys",
          more=[None, None, None, (1, 1, 5, 4)]),
    query("input 11 has the shape [3], expected [4]",
          more=[None, None, None, None, (3,)]),
    (5, "its scale is 2.000000, expected 1; scale the tables instead",
     "RotaryEmbedding", [Q, np.array([0]), TABLE, TABLE], {"scale": 2.0}),
    (4, "an input of shape [2, 5, 32] and rotary_embedding_dim 6 do not fit "
     "tables of shape [9, 4]", "RotaryEmbedding",
     [Q, np.array([0]), TABLE, TABLE], {**HEADS, "rotary_embedding_dim": 6})]
HEADED = [
    (4, "it has no input 2", "MultiHeadAttention", [Q, Q], HEADS),
    (4, "it has one of past_key and past_value, expected both or none",
     "MultiHeadAttention", [Q, Q, Q, None, None, None, (2, 4, 3, 8)], HEADS),
    (4, "a past of shape [2, 4, 3, 7] does not fit one of [2, 4, 5, 8]",
     "MultiHeadAttention", [Q, Q, Q, None, None, None, *[(2, 4, 3, 7)] * 2],
     HEADS),
    (5, "it writes into a cache in place; export the model with past and "
     "present apart", "MultiHeadAttention",
     [Q, Q, Q, *[None] * 5, np.array([1], np.int32)], HEADS),
    (5, "a mask of shape [8] for [2, 5, 5] batches, queries and keys; export "
     "the model with one of [batch, keys], [batch, queries, keys] or [batch]",
     "MultiHeadAttention", [Q, Q, Q, None, np.ones(8, np.int32)], HEADS),
    (4, "an attention_bias of shape [2, 3], expected four dims",
     "MultiHeadAttention", [Q, Q, Q, None, None, X], HEADS),
    (4, "a bias of shape [32] does not fit 4 heads of a depth of 8",
     "MultiHeadAttention", [Q, Q, Q, (32,)], HEADS),
    (4, "input 1 of shape [2, 5, 4, 3, 8] does not have 4 heads of 2 parts",
     "MultiHeadAttention", [Q, (2, 5, 4, 3, 8)], HEADS),
    (5, "its do_rotary is 1; export the model with RotaryEmbedding apart",
     "Attention", [Q, (32, 96)], {**HEADS, "do_rotary": 1}),
    (4, "an input of shape [2, 3] and weights of shape [32, 96] do not fit "
     "together", "Attention", [X, (32, 96)], HEADS),
    (4, "a projection to 95, 4 heads and qkv_hidden_sizes [31, 31, 31] do not "
     "fit together", "Attention", [Q, (32, 95)], HEADS),
    (4, "a past of shape [1, 2, 4, 3, 8], expected keys and values in one of "
     "five dims", "Attention",
     [Q, (32, 96), None, None, (1, 2, 4, 3, 8)], HEADS),
    (4, "it gives keys and values of different depths as one tensor",
     "Attention", [Q, (32, 72)],
     {**HEADS, "qkv_hidden_sizes": [32, 32, 8], "outputs": 2})]
CODED = [
    bits("its weights have 3 bits; quantize them to 2, 4 or 8", 5, bits=3),
    bits("its block_size is 0", block_size=0),
    bits("its weights are packed for one kind of GPU; export the model with "
         "weight_prepacked 0", 5, weight_prepacked=1),
    bits("an input of shape [2, 30] does not fit weights of 6 by 32",
         a=(2, 30)),
    bits("input 1 of shape [6, 2, 7] does not hold 6 times 32 codes of 4 bits",
         codes=np.zeros((6, 2, 7), np.uint8)),
    bits("input 2 of shape [6, 3] does not have 6 times 2 numbers",
         scales=np.ones((6, 3), np.float32)),
    bits("input 3 of shape [6, 2] does not hold 6 times 2 codes of 4 bits",
         more=[np.zeros((6, 2), np.uint8)]),
    bits("input 4 has the shape [3], expected [32]",
         more=[None, np.zeros(3, np.int32)]),
    (4, "it gathers along axis 1, and has scales of shape [9, 2] along axis 1",
     "GatherBlockQuantized",
     [np.zeros((9, 16), np.uint8), np.array([0]), np.ones((9, 2), np.float32)],
     {"gather_axis": 1, "block_size": 16}),
    (4, "zero points of shape [] do not fit codes of shape [9, 16]",
     "GatherBlockQuantized",
     [np.zeros((9, 16), np.uint8), np.array([0]), np.ones((9, 2), np.float32),
      np.uint8(0)], {"block_size": 16})]
FUSED = [
    (4, "skip or bias do not broadcast to the input", "SkipLayerNormalization",
     [(1, 2, 3), (4, 2, 3), (3,)], {}),
    (4, "input 2 has the shape [2], expected [3]", "SkipLayerNormalization",
     [(1, 2, 3), (1, 2, 3), (2,)], {}),
    (4, "it normalizes a scalar", "SkipLayerNormalization", [(), (), ()], {}),
    (5, "its output 1 ('o1') is not supported yet", "SkipLayerNormalization",
     [X, X, (3,)], {"outputs": 2}),
    (4, "it has words of shape [5] and embeddings that are not matrices",
     "EmbedLayerNormalization",
     [np.zeros(5, np.int32), None, X, X, None, (3,), (3,)], {}),
    (4, "it has 5 positions, and embeddings of 2", "EmbedLayerNormalization",
     [np.zeros((2, 5), np.int32), None, X, X, None, (3,), (3,)], {}),
    (5, "its activation 'Softplus' is not supported yet", "FusedGemm",
     [X, (3, 4)], {"activation": "Softplus"}),
    (4, "input 3 has the shape [2, 3], expected [1, 5, 4, 4]", "FusedConv",
     [IMAGE, (5, 4, 3, 3), None, X], {"activation": "Relu"})]
RUNTIME = [(code, message, operator, inputs,
            {"domain": "com.microsoft", **settings})
           for code, message, operator, inputs, settings in
           (*QUANTIZED, *QUERIES, *HEADED, *CODED, *FUSED)]
# In ONNX's own domain, and in one for a processor.
RUNTIME += [
    (4, "it has no input 1", "LayerNormalization", [X], {"opset": 12}),
    (4, "it has no input 1", "GroupNormalization", [IMAGE],
     {"opset": 18, "num_groups": 2}),
    (4, "scale or bias do not broadcast to the input",
     "SimplifiedLayerNormalization", [(1, 3), (4, 3)], {}),
    (5, "it has a form for one processor, which ONNX Runtime's optimizer "
     "writes at level all; let it save the model at level extended "
     "(ORT_ENABLE_EXTENDED)", "ReorderInput", [IMAGE],
     {"domain": "com.microsoft.nchwc"})]
