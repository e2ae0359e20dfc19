"""What the generators of decoders share: a Decoder embeds tokens, sends them
through blocks with a causal mask, and makes logits of them.

Attention is what PyTorch's exporter makes of scaled_dot_product_attention:
keys are transposed through a 3-d reshape, the scale goes in two halves, and
the softmax is guarded against rows of NaN.
"""

import dataclasses
import math

import numpy as np
from ml_dtypes import finfo
from onnx import TensorProto

from graph import FLOATS, Graph, make_parser, positive, write_model


@dataclasses.dataclass(frozen=True)
class Size:
    """What a model is made with; subclasses add theirs, and `inner`, the
    width within the MLP."""
    layers: int
    width: int
    heads: int
    vocabulary: int

    @property
    def head(self):
        return self.width // self.heads

    def changed(self, **fields):
        return dataclasses.replace(self, **fields)

    def check(self, seq):
        """Raises ValueError if there is no such model of `seq` tokens."""
        if self.width % self.heads:
            raise ValueError(f"width {self.width}: expected a multiple of the "
                             f"{self.heads} heads")


def inner_widths(size, perturb=None):
    """The MLP's inner width of each layer: the size's or, with a seed to
    perturb by, that and a multiple of 64 that no other layer has."""
    if perturb is None:
        return [size.inner] * size.layers
    steps = np.random.default_rng(perturb).permutation(size.layers)
    return [size.inner + 64 * int(step) for step in steps]


class Decoder:
    """One graph of `batch` x `seq` tokens.

    A subclass has `scope`, the module of all but the logits, and the methods
    embed(ids), block(x, mask, layer) and logits(x).
    """

    def __init__(self, size, batch, seq, seed, floats="f32", perturb=None):
        self.size, self.batch, self.seq = size, batch, seq
        self.inner = inner_widths(size, perturb)
        self.graph = Graph("main_graph", seed, floats)

    def build(self):
        g = self.graph
        ids = g.input("input_ids", TensorProto.INT64, [self.batch, self.seq])
        x = self.embed(ids)
        mask = self.causal_mask()
        for layer in range(self.size.layers):
            x = self.block(x, mask, layer)
        g.output(self.logits(x), g.floats,
                 [self.batch, self.seq, self.size.vocabulary])
        return g

    def arange(self):
        """0, 1, ... of the sequence, which the mask takes as well."""
        g = self.graph
        self.range = g.node("arange", "Range", [
            g.constant(0, np.int64), g.constant(self.seq, np.int64),
            g.constant(1, np.int64)], self.scope)
        return self.range

    def causal_mask(self):
        """What is added to the scores: 0 where key <= query, else -inf."""
        g, scope = self.graph, self.scope
        query = g.node("unsqueeze", "Unsqueeze",
                       [self.range, g.ints(0, 1, 3)], scope)
        key = g.node("unsqueeze", "Unsqueeze",
                     [self.range, g.ints(0, 1, 2)], scope)
        allowed = g.node("le", "LessOrEqual", [key, query], scope)
        allowed = g.node("bitwise_and", "And", [
            g.constant(True, np.bool_), allowed], scope)
        allowed = g.node("expand", "Expand", [
            allowed, g.ints(self.batch, 1, self.seq, self.seq)], scope)
        return g.node("where", "Where", [
            allowed, g.number(0), g.number(finfo(g.dtype).min)], scope)

    def heads(self, x, scope):
        """[batch, seq, heads * head] -> [batch, heads, seq, head]"""
        g = self.graph
        x = g.node("view", "Reshape", [
            x, g.ints(self.batch, self.seq, -1, self.size.head)], scope,
            allowzero=1)
        return g.node("transpose", "Transpose", [x], scope, perm=[0, 2, 1, 3])

    def attend(self, q, k, v, mask, scope):
        """[batch, heads, seq, head] each -> [batch, seq, heads, head]"""
        g, size = self.graph, self.size
        flat = g.node("sdpa_view", "Reshape", [
            k, g.ints(-1, self.seq, size.head)], scope, allowzero=0)
        flat = g.node("sdpa_t", "Transpose", [flat], scope, perm=[0, 2, 1])
        k = g.node("sdpa_view", "Reshape", [
            flat, g.ints(self.batch, size.heads, size.head, self.seq)], scope,
            allowzero=0)
        scale = g.number(size.head ** -0.25)
        q = g.node("sdpa_mul", "Mul", [q, scale], scope)
        k = g.node("sdpa_mul", "Mul", [k, scale], scope)
        scores = g.node("sdpa_matmul", "MatMul", [q, k], scope)
        scores = g.node("sdpa_add", "Add", [scores, mask], scope)
        weights = g.node("sdpa_softmax", "Softmax", [scores], scope, axis=-1)
        bad = g.node("sdpa_isnan", "IsNaN", [weights], scope)
        weights = g.node("sdpa_where", "Where", [bad, g.number(0), weights],
                         scope)
        x = g.node("scaled_dot_product_attention", "MatMul", [weights, v],
                   scope)
        return g.node("transpose", "Transpose", [x], scope, perm=[0, 2, 1, 3])

    def residual_gain(self):
        """Two projections a layer add up to about the residual's scale."""
        return 1 / math.sqrt(2 * self.size.layers)


def run_command(doc, decoder, sizes, size, batch, seq, floats):
    """Writes the `decoder` that the command line asks for, by default with
    this size, batch, sequence and type."""
    parser = make_parser(doc, batch)
    parser.add_argument("--size", choices=sizes, default=size)
    for field in dataclasses.fields(sizes[size]):
        parser.add_argument("--" + field.name.replace("_", "-"),
                            type=positive, help="instead of the size's")
    parser.add_argument("--seq", type=positive, default=seq)
    parser.add_argument("--dtype", choices=FLOATS, default=floats)
    parser.add_argument("--perturb", type=int, metavar="SEED",
                        help="give the MLP of each layer a width of its own")
    arguments = parser.parse_args()
    given = {field.name: getattr(arguments, field.name)
             for field in dataclasses.fields(sizes[size])}
    changed = sizes[arguments.size].changed(
        **{name: value for name, value in given.items() if value})
    try:
        changed.check(arguments.seq)
        made = decoder(changed, arguments.batch, arguments.seq, arguments.seed,
                       arguments.dtype, arguments.perturb)
    except ValueError as error:
        parser.error(str(error))
    write_model(made.build(), arguments)
