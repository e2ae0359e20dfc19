"""Models as ONNX Runtime's tools take them and write them: a BERT as exporters
of old spelled it, which its optimizer fuses to attention and embedding; a small
language model in the layout of those published for it, with a cache."""
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.capi import _pybind_state as native

BATCH, LENGTH, WIDTH, HEADS, WORDS = 2, 8, 64, 4, 96
DEPTH = WIDTH // HEADS
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


class Graph:
    """Nodes with names of their own."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.tensors = [], []

    def constant(self, value, name=""):
        name = name or f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weights(self, *shape):
        values = self.random.standard_normal(shape) / np.sqrt(shape[0])
        return self.constant(values.astype(np.float32))

    def ones(self, count):
        values = 1 + 0.1 * self.random.standard_normal(count)
        return self.constant(values.astype(np.float32))

    def node(self, kind, *inputs, outputs=1, domain="", **attributes):
        """`outputs` says how many, or their names."""
        names = outputs if isinstance(outputs, list) else \
            [f"n{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(
            kind, inputs, names, f"{kind}{len(self.nodes)}", domain=domain,
            **attributes))
        return names[0] if len(names) == 1 else names

    def runtime(self, kind, *inputs, **more):
        return self.node(kind, *inputs, domain="com.microsoft", **more)

    def save(self, path, inputs, outputs, opset):
        def values(pairs):
            return [helper.make_tensor_value_info(name, kind, shape)
                    for name, kind, shape in pairs]
        graph = helper.make_graph(self.nodes, "g", values(inputs),
                                  values(outputs), self.tensors)
        opsets = [helper.make_opsetid("", opset),
                  helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets,
                                    ir_version=8), path)


def affine(g, x, rows, columns):
    return g.node("Add", g.node("MatMul", x, g.weights(rows, columns)),
                  g.weights(columns))


def normalized(g, x):
    return g.node("LayerNormalization", x, g.ones(WIDTH), g.weights(WIDTH),
                  axis=-1, epsilon=1e-5)


def bert(path, layers=2, opset=11):
    """Spelled so that ONNX Runtime's optimizer knows its attention, of opset 11;
    its calibration wants 17."""
    g = Graph(1)

    def unsqueeze(x, axis):
        if opset < 13:
            return g.node("Unsqueeze", x, axes=[axis])
        return g.node("Unsqueeze", x, g.constant(np.array([axis])))
    shape = ["batch", LENGTH]
    places = g.constant(np.arange(LENGTH).reshape(1, LENGTH))
    x = g.node("Add", g.node("Gather", g.weights(WORDS, WIDTH), "input_ids"),
               g.node("Gather", g.weights(2, WIDTH), "token_type_ids"))
    x = g.node("Add", x, g.node("Gather", g.weights(LENGTH, WIDTH), places))
    x = normalized(g, x)
    mask = unsqueeze(unsqueeze("attention_mask", 1), 2)
    mask = g.node("Cast", mask, to=FLOAT)
    mask = g.node("Mul", g.node("Sub", g.constant(np.float32(1)), mask),
                  g.constant(np.float32(-10000)))
    for _ in range(layers):
        heads = []
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            y = g.node("Reshape", affine(g, x, WIDTH, WIDTH),
                       g.constant(np.array([0, 0, HEADS, DEPTH])))
            heads.append(g.node("Transpose", y, perm=order))
        y = g.node("Div", g.node("MatMul", *heads[:2]),
                   g.constant(np.float32(np.sqrt(DEPTH))))
        y = g.node("Softmax", g.node("Add", y, mask), axis=3)
        y = g.node("Transpose", g.node("MatMul", y, heads[2]),
                   perm=[0, 2, 1, 3])
        y = g.node("Reshape", y, g.constant(np.array([0, 0, WIDTH])))
        x = normalized(g, g.node("Add", affine(g, y, WIDTH, WIDTH), x))
        y = affine(g, x, WIDTH, 2 * WIDTH)
        erf = g.node("Erf", g.node("Div", y, g.constant(
            np.float32(np.sqrt(2)))))
        y = g.node("Mul", g.node("Mul", y, g.node("Add", erf, g.constant(
            np.float32(1)))), g.constant(np.float32(0.5)))
        x = normalized(g, g.node("Add", affine(g, y, 2 * WIDTH, WIDTH), x))
    y = g.node("Identity", x, outputs=["y"])
    g.save(path, [(name, INT64, shape) for name in
                  ("input_ids", "token_type_ids", "attention_mask")],
           [(y, FLOAT, [*shape, WIDTH])], opset)
    mask = np.ones((BATCH, LENGTH), np.int64)
    mask[1, 5:] = 0
    ids = g.random.integers(0, WORDS, (BATCH, LENGTH))
    return {"input_ids": ids, "token_type_ids": ids % 2,
            "attention_mask": mask}


def lengths_of(g):
    """seqlens_k and total_sequence_length, as the mask says."""
    total = g.node("Gather", g.node("Shape", "attention_mask"),
                   g.constant(1), axis=0)
    total = g.node("Cast", total, to=onnx.TensorProto.INT32)
    last = g.node("ReduceSum", "attention_mask", g.constant(np.array([1])),
                  keepdims=0)
    last = g.node("Cast", g.node("Sub", last, g.constant(np.array([1]))),
                  to=onnx.TensorProto.INT32)
    return last, total


def language_model(path, layers=2, packed=False, apart=False, **attributes):
    """A Llama with a cache, in the layout of models for ONNX Runtime; with
    queries, keys and values `packed`, or rotated by nodes `apart`."""
    g = Graph(2)
    shared, kept = HEADS // 2, WIDTH // 2
    angles = np.outer(np.arange(4 * LENGTH), 1 / 100 ** np.linspace(0, 1, DEPTH // 2))
    tables = [g.constant(f(angles).astype(np.float32), name)
              for f, name in ((np.cos, "cos"), (np.sin, "sin"))]
    last, total = lengths_of(g)
    x = g.node("Gather", g.weights(WORDS, WIDTH), "input_ids")
    y = g.node("SimplifiedLayerNormalization", x, g.ones(WIDTH), axis=-1,
               epsilon=1e-5)
    cache = ["batch", shared, "past", DEPTH]
    present = ["batch", shared, "total", DEPTH]
    inputs = [("input_ids", INT64, ["batch", "length"]),
              ("attention_mask", INT64, ["batch", "total"])]
    outputs = []
    for i in range(layers):
        parts = [g.node("MatMul", y, g.weights(WIDTH, width))
                 for width in (WIDTH, kept, kept)]
        if apart:
            parts[:2] = [g.runtime("RotaryEmbedding", part, "position_ids",
                                   *tables) for part in parts[:2]]
        elif packed:
            parts = [g.node("Concat", *parts, axis=2), "", ""]
        names = [f"{{}}.{i}.{part}" for part in ("key", "value")]
        past = [name.format("past") for name in names]
        now = [name.format("present") for name in names]
        inputs += [(name, FLOAT, cache) for name in past]
        outputs += [(name, FLOAT, present) for name in now]
        y = g.runtime("GroupQueryAttention", *parts, *past, last, total,
                      *([] if apart else tables),
                      outputs=[f"attention.{i}", *now], num_heads=HEADS,
                      kv_num_heads=shared, do_rotary=int(not apart),
                      **attributes)[0]
        skip = g.node("MatMul", y, g.weights(WIDTH, WIDTH))
        y, _, _, x = g.runtime(
            "SkipSimplifiedLayerNormalization", x, skip, g.ones(WIDTH),
            outputs=[f"a{i}", "", "", f"x{i}"], epsilon=1e-5)
        gate, up = (g.node("MatMul", y, g.weights(WIDTH, 2 * WIDTH))
                    for _ in range(2))
        y = g.node("Mul", g.node("Mul", gate, g.node("Sigmoid", gate)), up)
        skip = g.node("MatMul", y, g.weights(2 * WIDTH, WIDTH))
        y, _, _, x = g.runtime(
            "SkipSimplifiedLayerNormalization", x, skip, g.ones(WIDTH),
            outputs=[f"b{i}", "", "", f"z{i}"], epsilon=1e-5)
    logits = g.node("MatMul", y, g.weights(WIDTH, WORDS), outputs=["logits"])
    if apart:
        inputs.append(("position_ids", INT64, ["batch", "length"]))
    g.save(path, inputs, [(logits, FLOAT, ["batch", "length", WORDS]),
                          *outputs], opset=17)
    return inputs


def step_inputs(inputs, length, past, ends):
    """Values for a prompt or a step: `ends` says how many words each row has,
    those of the past among them."""
    random = np.random.default_rng(3)
    mask = np.zeros((BATCH, past + length), np.int64)
    for row, end in zip(mask, ends):
        row[:end] = 1
    extents = {"batch": BATCH, "length": length, "past": past}
    values = {}
    for name, kind, shape in inputs:
        shape = [extents.get(extent, extent) for extent in shape]
        if name == "attention_mask":
            values[name] = mask
        elif name == "position_ids":
            values[name] = np.array(ends)[:, None] - length + np.arange(length)
        elif kind == INT64:
            values[name] = random.integers(0, WORDS, shape)
        else:
            values[name] = random.standard_normal(shape).astype(np.float32)
    return values


def quantize_blocks(source, target, block=16, symmetric=False):
    """Each product by weights as MatMulNBits, packed by ONNX Runtime's own
    quantizer."""
    model = onnx.load(source)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "MatMul" or node.input[1] not in weights:
            continue
        values = numpy_helper.to_array(weights[node.input[1]])
        rows, columns = values.shape
        blocks = -(-rows // block)
        parts = [np.zeros((columns, blocks, block // 2), np.uint8),
                 np.zeros(columns * blocks, np.float32),
                 np.zeros((columns, -(-blocks // 2)), np.uint8)]
        native.quantize_matmul_4bits(*parts[:1], values, *parts[1:], block,
                                     columns, rows, symmetric)
        names = [f"{node.input[1]}_{part}" for part in "qsz"]
        model.graph.initializer.extend(
            numpy_helper.from_array(part, name) for part, name in
            zip(parts[:2] if symmetric else parts, names))
        del node.input[1]
        node.input.extend(names[:2] if symmetric else names)
        node.op_type, node.domain = "MatMulNBits", "com.microsoft"
        node.attribute.extend(helper.make_attribute(name, value) for
                              name, value in (("K", rows), ("N", columns),
                                              ("bits", 4),
                                              ("block_size", block)))
    used = {name for node in model.graph.node for name in node.input}
    kept = [tensor for tensor in model.graph.initializer
            if tensor.name in used]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    onnx.save(model, target)


def optimize(source, target, level):
    """What a session saves, by the name of its level."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level.upper()}")
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(source), options)


def without_shapes(source, target):
    """What is known of values between, which quantizers do not keep true."""
    model = onnx.load(source)
    del model.graph.value_info[:]
    onnx.save(model, target)


def operators(path):
    return {node.op_type for node in onnx.load(path).graph.node}


def expected(path, values):
    """All outputs by name. Nothing is fused: the model is run as it stands."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = \
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, values)))
