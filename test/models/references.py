"""What the models of models/ compute, from their weights by name, in float64
and in the words of the papers: none of the generators' nodes.
"""

import ml_dtypes
import numpy as np
import onnx

POOLED_BLOCKS = (2, 2, 3, 3, 3)  # VGG-16's convolutions


def weights_of(path):
    """{name: array} of a model's initializers, floats as float64."""
    arrays = {}
    for tensor in onnx.load(path).graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        if array.dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
            array = array.astype(np.float64)
        arrays[tensor.name] = array
    return arrays


# Decoders.

def attention(q, k, v):
    """Causal; q, k and v are [batch, heads, seq, head]."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    seq = scores.shape[-1]
    scores[..., ~np.tri(seq, dtype=bool)] = -np.inf
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    out = shares / shares.sum(-1, keepdims=True) @ v
    return out.swapaxes(1, 2).reshape(len(q), seq, -1)


def split_heads(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def experts(w, x, name, group):
    """Two experts of each token, which take so many of a group as have room."""
    gate, up, down = (w[f"{name}.{part}"] for part in ("gate.weight", "up", "down"))
    capacity = 2 * group // len(up)
    flat = x.reshape(-1, group, x.shape[-1])
    y = np.zeros_like(flat)
    for tokens, result in zip(flat, y):
        chances = np.exp(tokens @ gate)
        chances /= chances.sum(-1, keepdims=True)
        chosen = np.argsort(-chances, kind="stable")[:, :2]
        taken = np.zeros(len(up), int)
        share = np.zeros(chances.shape)
        for choice in (0, 1):
            for token, expert in enumerate(chosen[:, choice]):
                if taken[expert] < capacity:
                    share[token, expert] = chances[token, expert]
                taken[expert] += 1
        share /= np.maximum(share.sum(-1, keepdims=True), 1e-6)
        for token, expert in zip(*np.nonzero(share)):
            hidden = np.maximum(tokens[token] @ up[expert], 0)
            result[token] += share[token, expert] * (hidden @ down[expert])
    return y.reshape(x.shape)


def gpt(path, ids, heads, group=0):
    """Where `group` is given, a layer may have experts in place of its MLP."""
    w = weights_of(path)

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5)
        return centred / deviation * w[f"{name}.weight"] + w[f"{name}.bias"]

    def affine(x, name):
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    embedding = w["lm_head.weight"]
    x = embedding[ids] + w["transformer.wpe.weight"][:ids.shape[1]]
    layer = 0
    while f"transformer.h.{layer}.ln_1.weight" in w:
        h = f"transformer.h.{layer}"
        qkv = affine(norm(x, f"{h}.ln_1"), f"{h}.attn.c_attn")
        q, k, v = (split_heads(part, heads) for part in np.split(qkv, 3, -1))
        x = x + affine(attention(q, k, v), f"{h}.attn.c_proj")
        y = norm(x, f"{h}.ln_2")
        if f"{h}.moe.up" in w:
            x = x + experts(w, y, f"{h}.moe", group)
            layer += 1
            continue
        y = affine(y, f"{h}.mlp.c_fc")
        y = y / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
        x = x + affine(y, f"{h}.mlp.c_proj")
        layer += 1
    return norm(x, "transformer.ln_f") @ embedding.T


def llama(path, ids, heads, kv_heads):
    w = weights_of(path)

    def norm(x, name):
        root = np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5)
        return x / root * w[f"{name}.weight"]

    def linear(x, name):
        return x @ w[f"{name}.weight"].T

    def turn(x):
        """Pairs (i, i + head / 2) as complex numbers, turned by position."""
        half = x.shape[-1] // 2
        angle = np.outer(np.arange(x.shape[-2]),
                         500000.0 ** (-np.arange(half) / half))
        z = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angle)
        return np.concatenate([z.real, z.imag], -1)

    # Head i reads the keys and values of this one.
    shared = np.arange(heads) * kv_heads // heads
    x = w["model.embed_tokens.weight"][ids]
    layer = 0
    while f"model.layers.{layer}.input_layernorm.weight" in w:
        h = f"model.layers.{layer}"
        y = norm(x, f"{h}.input_layernorm")
        q = split_heads(linear(y, f"{h}.self_attn.q_proj"), heads)
        k, v = (split_heads(linear(y, f"{h}.self_attn.{name}"), kv_heads)
                for name in ("k_proj", "v_proj"))
        y = attention(turn(q), turn(k)[:, shared], v[:, shared])
        x = x + linear(y, f"{h}.self_attn.o_proj")
        y = norm(x, f"{h}.post_attention_layernorm")
        gate = linear(y, f"{h}.mlp.gate_proj")
        y = gate / (1 + np.exp(-gate)) * linear(y, f"{h}.mlp.up_proj")
        x = x + linear(y, f"{h}.mlp.down_proj")
        layer += 1
    return linear(norm(x, "model.norm"), "lm_head")


# Images.

def windows(x, kernel, stride, around):
    """[images, channels, high, wide, kernel, kernel], with a border of `around`."""
    border = ((kernel // 2, kernel // 2),) * 2
    x = np.pad(x, ((0, 0), (0, 0), *border), constant_values=around)
    taps = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))
    return taps[:, :, ::stride, ::stride]


def conv(w, name, x, stride=1):
    """With zeros around, so that the image keeps its size, divided by the stride."""
    kernel = w[f"{name}.weight"]
    y = np.einsum("nchwij,ocij->nohw", windows(x, kernel.shape[-1], stride, 0),
                  kernel, optimize=True)
    return y + w.get(f"{name}.bias", np.zeros(len(kernel)))[:, None, None]


def batch_norm(w, name, x):
    gain, bias, mean, variance = (
        w[f"{name}.{part}"][:, None, None]
        for part in ("weight", "bias", "running_mean", "running_var"))
    return (x - mean) / np.sqrt(variance + 1e-5) * gain + bias


def relu(x):
    return np.maximum(x, 0)


def pool(x):
    high, wide = (side // 2 for side in x.shape[2:])
    x = x[:, :, :2 * high, :2 * wide]
    return x.reshape(*x.shape[:2], high, 2, wide, 2).max((3, 5))


def vgg16(path, x):
    w = weights_of(path)
    index = 0
    for count in POOLED_BLOCKS:
        for _ in range(count):
            x = relu(conv(w, f"features.{index}", x))
            index += 2
        x = pool(x)
        index += 1
    x = x.reshape(len(x), -1)
    for index in (0, 3, 6):
        x = (x @ w[f"classifier.{index}.weight"].T
             + w[f"classifier.{index}.bias"])
        x = relu(x) if index < 6 else x
    return x


def unet(path, x, depth):
    w = weights_of(path)

    def twice(x, name):
        for index in (0, 2):
            x = relu(conv(w, f"{name}.double_conv.{index}", x))
        return x

    x = twice(x, "inc")
    skips = []
    for level in range(1, depth + 1):
        skips.append(x)
        x = twice(pool(x), f"down{level}.maxpool_conv.1")
    for level in range(1, depth + 1):
        skip = skips.pop()
        larger = np.zeros(skip.shape)
        tiles = np.einsum("nchw,coij->nohiwj", x, w[f"up{level}.up.weight"])
        high, wide = 2 * x.shape[2], 2 * x.shape[3]
        larger[:, :, :high, :wide] = (tiles.reshape(*skip.shape[:2], high, wide)
                                      + w[f"up{level}.up.bias"][:, None, None])
        x = twice(np.concatenate([skip, larger], 1), f"up{level}.conv")
    return conv(w, "outc.conv", x)


def wide_resnet(path, x):
    w = weights_of(path)

    def normed(y, name, number="", stride=1, block=""):
        return batch_norm(w, f"{block}{name[1]}{number}",
                          conv(w, f"{block}{name[0]}{number}", y, stride))

    x = relu(normed(x, ("conv", "bn"), 1, 2))
    x = windows(x, 3, 2, -np.inf).max((4, 5))
    for stage in (1, 2, 3, 4):
        index = 0
        while f"layer{stage}.{index}.conv1.weight" in w:
            block = f"layer{stage}.{index}."
            stride = 2 if stage > 1 and index == 0 else 1
            y = x
            for number in (1, 2, 3):
                y = normed(y, ("conv", "bn"), number, stride if number == 2 else 1,
                           block)
                y = relu(y) if number < 3 else y
            if index == 0:
                x = normed(x, ("downsample.0", "downsample.1"), "", stride, block)
            x = relu(x + y)
            index += 1
    return x.mean((2, 3)) @ w["fc.weight"].T + w["fc.bias"]
