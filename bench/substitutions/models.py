"""The models, each in the form that is exported and in forms that a person
would write for speed. BUILDERS maps names to functions of a form; FORMS names
the hand-written ones of each.
"""

import numpy as np

from graphs import Net

# All layers of a transformer are alike; a few of them are measured faster.
LAYERS = 4


# Recurrent cells.


def nasrnn(form, batch=16, width=512):
    """Zoph and Le's cell: eight products of the input, eight of the state."""
    n = Net("nasrnn", form)
    x = n.input("x", batch, width)
    state = n.input("state", batch, width)
    names = [f"w{i}" for i in range(8)], [f"u{i}" for i in range(8)]
    left = n.products(x, names[0], width, [width] * 8, bias=False)
    right = n.products(state, names[1], width, [width] * 8, bias=False)
    kinds = ["Sigmoid", "Relu", "Sigmoid", "Tanh",
             "Relu", "Sigmoid", "Tanh", "Sigmoid"]
    values = []
    for i, (a, b, kind) in enumerate(zip(left, right, kinds)):
        values.append(n.op(kind, n.op("Mul" if i % 2 else "Add", a, b)))
    while len(values) > 1:
        values = [n.op("Tanh", n.op("Mul" if i % 4 else "Add",
                                    values[i], values[i + 1]))
                  for i in range(0, len(values), 2)]
    n.output(values[0], batch, width)
    return n


# Transformers.


def attention(n, q, k, v, seq, heads, width, mask=None, kv_heads=None):
    """[1, seq, width] each; the scores are scaled and masked as exported."""
    head = width // heads
    def by_head(x, count):
        x = n.op("Reshape", x, n.constant(np.int64([1, seq, count, head])))
        return n.op("Transpose", x, perm=[0, 2, 1, 3])
    q, k, v = (by_head(x, heads) for x in (q, k, v))
    scores = n.op("MatMul", q, n.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = n.op("Mul", scores, n.constant(np.float32(head ** -0.5)))
    if mask is not None:
        scores = n.op("Add", scores, mask)
    y = n.op("MatMul", n.op("Softmax", scores, axis=-1), v)
    y = n.op("Transpose", y, perm=[0, 2, 1, 3])
    return n.op("Reshape", y, n.constant(np.int64([1, seq, width])))


def causal(n, seq):
    return n.constant(np.triu(np.full((seq, seq), -1e9, np.float32), 1))


def encoder_layer(n, x, name, seq, width, heads, before):
    """Of BERT (norms behind) or ViT (norms before)."""
    y = n.layer_norm(x, f"{name}.n1", width) if before else x
    q, k, v = n.products(y, [f"{name}.{p}" for p in "qkv"], width, [width] * 3)
    y = n.linear(attention(n, q, k, v, seq, heads, width), f"{name}.o", width,
                 width)
    x = n.op("Add", x, y)
    x = x if before else n.layer_norm(x, f"{name}.n1", width)
    y = n.layer_norm(x, f"{name}.n2", width) if before else x
    y = n.op("Gelu", n.linear(y, f"{name}.up", width, 4 * width))
    x = n.op("Add", x, n.linear(y, f"{name}.down", 4 * width, width))
    return x if before else n.layer_norm(x, f"{name}.n2", width)


def bert(form, seq=128, width=768, heads=12, layers=LAYERS):
    n = Net("bert", form)
    x = n.input("x", 1, seq, width)
    for i in range(layers):
        x = encoder_layer(n, x, f"h{i}", seq, width, heads, before=False)
    n.output(x, 1, seq, width)
    return n


def vit(form, width=768, heads=12, layers=LAYERS):
    n = Net("vit", form)
    image = n.input("x", 1, 3, 224, 224)
    x = n.op("Conv", image, n.constant(n.filters("patch", width, 3, 16)),
             strides=[16, 16], kernel_shape=[16, 16])
    x = n.op("Reshape", x, n.constant(np.int64([1, width, 196])))
    x = n.op("Transpose", x, perm=[0, 2, 1])
    x = n.op("Concat", n.constant(n.draw("class", 1, 1, width)), x, axis=1)
    x = n.op("Add", x, n.constant(n.draw("place", 1, 197, width, fan=100)))
    for i in range(layers):
        x = encoder_layer(n, x, f"h{i}", 197, width, heads, before=True)
    n.output(x, 1, 197, width)
    return n


def adapted(n, x, name, inner, width, rank):
    """A product with a frozen low-rank adapter; `merged`: in the weights;
    `plain`: without one."""
    weight, bias = n.draw(name, inner, width), n.draw(name + ".b", width,
                                                      fan=100)
    down = n.draw(name + ".down", inner, rank)
    up = n.draw(name + ".up", rank, width)
    if n.form == "merged":
        weight = weight + np.float32(0.5) * (down @ up)
    y = n.op("MatMul", x, n.constant(weight))
    if n.form == "export":
        low = n.op("MatMul", n.op("MatMul", x, n.constant(down)),
                   n.constant(up))
        low = n.op("Mul", low, n.constant(np.float32(0.5)))
        y = n.op("Add", n.op("Add", y, n.constant(bias)), low)
        return y
    return n.op("Add", y, n.constant(bias))


def gpt2_layers(n, seq, width, heads, layers, product):
    x = n.input("x", 1, seq, width)
    mask = causal(n, seq)
    for i in range(layers):
        y = n.layer_norm(x, f"h{i}.n1", width)
        qkv = product(y, f"h{i}.qkv", width, 3 * width)
        q, k, v = n.split(qkv, [width] * 3, -1)
        y = attention(n, q, k, v, seq, heads, width, mask)
        x = n.op("Add", x, product(y, f"h{i}.o", width, width))
        y = n.layer_norm(x, f"h{i}.n2", width)
        y = n.op("Gelu", product(y, f"h{i}.up", width, 4 * width),
                 approximate="tanh")
        x = n.op("Add", x, product(y, f"h{i}.down", 4 * width, width))
    n.output(x, 1, seq, width)
    return n


def gpt2(form, seq=128, width=768, heads=12, layers=LAYERS):
    n = Net("gpt2", form)
    return gpt2_layers(n, seq, width, heads, layers, n.linear)


def gpt2_lora(form, seq=128, width=768, heads=12, layers=LAYERS, rank=16):
    n = Net("gpt2-lora", form)
    return gpt2_layers(n, seq, width, heads, layers,
                       lambda *given: adapted(n, *given, rank))


def rotated(n, x, seq, width, heads):
    head = width // heads
    angles = np.outer(np.arange(seq), 1e4 ** (-np.arange(head // 2)
                                              / (head // 2)))
    angles = np.concatenate([angles, angles], 1).astype(np.float32)[:, None]
    x = n.op("Reshape", x, n.constant(np.int64([1, seq, heads, head])))
    low, high = n.split(x, [head // 2] * 2, -1)
    turned = n.op("Concat", n.op("Neg", high), low, axis=-1)
    x = n.op("Add", n.op("Mul", x, n.constant(np.cos(angles))),
             n.op("Mul", turned, n.constant(np.sin(angles))))
    return n.op("Reshape", x, n.constant(np.int64([1, seq, width])))


def llama(form, seq=128, width=2048, heads=32, inner=5632, layers=1):
    """A block of the size of TinyLlama's, with as many key heads as heads."""
    n = Net("llama", form)
    x = n.input("x", 1, seq, width)
    mask = causal(n, seq)
    for i in range(layers):
        y = n.rms_norm(x, f"h{i}.n1", width)
        q, k, v = n.products(y, [f"h{i}.{p}" for p in "qkv"], width,
                             [width] * 3, bias=False)
        q, k = (rotated(n, value, seq, width, heads) for value in (q, k))
        y = attention(n, q, k, v, seq, heads, width, mask)
        x = n.op("Add", x, n.linear(y, f"h{i}.o", width, width, bias=False))
        y = n.rms_norm(x, f"h{i}.n2", width)
        gate, up = n.products(y, [f"h{i}.gate", f"h{i}.up"], width,
                              [inner] * 2, bias=False)
        y = n.op("Mul", n.op("Mul", gate, n.op("Sigmoid", gate)), up)
        x = n.op("Add", x, n.linear(y, f"h{i}.down", inner, width, bias=False))
    n.output(x, 1, seq, width)
    return n
