"""JAX, one model on several host devices: jax_worker.py NAME WEIGHTS INPUTS
OUTPUTS DEVICES.

The models are those of handwritten.py, with the weights that were exported,
written once more as functions. Where values lie is said for inputs and
weights, as a user of JAX says it; the partitioner does the rest.
"""

import os
import sys


def host_devices(count):
    """So many devices of one thread each; only before JAX is imported."""
    os.environ["XLA_FLAGS"] = (
        f"--xla_force_host_platform_device_count={count} "
        "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    os.environ["JAX_PLATFORMS"] = "cpu"


if __name__ == "__main__":
    host_devices(int(sys.argv[5]))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

import worker  # noqa: E402


def linear(w, name, x):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def mlp(w, x):
    layers = sorted({int(name.split(".")[0]) for name in w})
    for layer in layers[:-1]:
        x = jax.nn.relu(linear(w, str(layer), x))
    return linear(w, str(layers[-1]), x)


def norm(w, name, x):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return ((x - mean) * jax.lax.rsqrt(variance + 1e-5)
            * w[f"{name}.weight"] + w[f"{name}.bias"])


def transformer(w, x, heads=8):
    batch, length, width = x.shape

    def split(y):
        return y.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3)

    layers = 1 + max(int(name.split(".")[1]) for name in w)
    for layer in range(layers):
        p = f"layers.{layer}"
        y = norm(w, f"{p}.norm1", x)
        q, k, v = (split(linear(w, f"{p}.{part}", y)) for part in "qkv")
        scores = q @ k.swapaxes(-1, -2) / (width // heads) ** 0.5
        y = jax.nn.softmax(scores, axis=-1) @ v
        y = y.transpose(0, 2, 1, 3).reshape(batch, length, -1)
        x = x + linear(w, f"{p}.out", y)
        y = linear(w, f"{p}.up", norm(w, f"{p}.norm2", x))
        x = x + linear(w, f"{p}.down", jax.nn.gelu(y, approximate=False))
    return x


def cnn(w, x):
    for layer in sorted({int(n.split(".")[1]) for n in w if "convs" in n}):
        x = jax.lax.conv_general_dilated(
            x, w[f"convs.{layer}.weight"], (1, 1), "SAME",
            dimension_numbers=("NCHW", "OIHW", "NCHW"))
        x = jax.nn.relu(x + w[f"convs.{layer}.bias"][:, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2),
                                  (1, 1, 2, 2), "VALID")
    return linear(w, "head", x.mean((2, 3)))


def megatron(name):
    """Heads and hidden units split: of weights [outputs, inputs], the rows of
    what begins a block, the columns of what ends it."""
    part = name.split(".")[2]
    if part in ("q", "k", "v", "up"):
        return ("d",)
    return (None, "d") if part in ("out", "down") and "weight" in name else ()


# name: (function, where its input lies, where each weight lies)
MODELS = {
    "spmd-mlp": (mlp, ("d",), lambda name: ()),
    "spmd-transformer": (transformer, (), megatron),
    "spmd-cnn": (cnn, ("d",), lambda name: ()),
}


def load(name, weights, inputs, devices):
    function, split, place = MODELS[name]
    mesh = Mesh(np.array(jax.devices()[:devices]), ("d",))

    def put(array, axes):
        return jax.device_put(array,
                              NamedSharding(mesh, PartitionSpec(*axes)))

    w = {key: put(array, place(key)) for key, array in weights.items()}
    x = put(inputs["x"], split)
    compiled = jax.jit(function).lower(w, x).compile()
    # As the others', a run takes inputs of the host and gives outputs to it.
    return (lambda: {"y": np.asarray(compiled(w, put(inputs["x"], split)))},
            {"version": jax.__version__, "devices": len(jax.devices()),
             "XLA_FLAGS": os.environ["XLA_FLAGS"]})


def main():
    name, weights, inputs, outputs, devices = sys.argv[1:]
    worker.serve(lambda: load(name, dict(np.load(weights)),
                              dict(np.load(inputs)), int(devices)), outputs)


if __name__ == "__main__":
    main()
