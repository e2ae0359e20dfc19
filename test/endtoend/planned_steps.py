"""Training steps with their plans, for two devices: SGD on the mean square error
of blocks of two matrices, with a ReLU between them and a residual around."""

import numpy as np
from written_programs import write_program

RATE = 0.01


class Step:
    """`blocks` blocks of `width`, twice that inside, on `batch` rows.

    The plan `zero` splits the batch and, at rest, all weights: they are gathered
    when they are used, and gradients scattered. `megatron` splits what is inside
    of a block: sums after it, and on the way back before it."""

    def __init__(self, plan, blocks, width, batch):
        self.zero = plan == "zero"
        self.blocks, self.batch, self.width = blocks, batch, width
        self.lines, self.count = [], 0

    def shapes(self):
        return [(self.width, 2 * self.width), (2 * self.width, self.width)]

    def weights(self):
        """Bytes of all matrices."""
        random = np.random.default_rng(1)
        return b"".join(
            (random.standard_normal(shape, np.float32)
             * np.float32(shape[0] ** -0.5)).tobytes()
            for _ in range(self.blocks) for shape in self.shapes())

    def write(self, folder):
        """The program as `step.mlir`, with what it reads beside it."""
        (folder / "weights.bin").write_bytes(self.weights())
        write_program(folder / "step.mlir", self.text())

    @staticmethod
    def type(shape, element="f32"):
        return f"tensor<{'x'.join(map(str, [*shape, element]))}>"

    def emit(self, op, operands, shapes, shape, split, attributes="",
             element="f32"):
        """Operands of one number have no shape. An empty split: on all."""
        self.count += 1
        types = ", ".join(s if isinstance(s, str) else self.type(s)
                          for s in shapes)
        strategy = "#spmd.split<@g>" if not split else (
            f"#spmd.split<@g: {split}@x>")
        comma = ", " if attributes else ""
        self.lines.append(
            f"  %{self.count} = nn.{op} {', '.join(operands)} {{{attributes}"
            f"{comma}spmd.split = {strategy}}} : ({types}) -> "
            f"{self.type(shape, element)}")
        return f"%{self.count}"

    def product(self, labels, a, b, shapes, shape, loop):
        return self.emit("matmul", [a, b], shapes, shape, loop,
                         f'labels = "{labels}"')

    def update(self, name, gradient, shape, loop):
        scaled = self.emit("mul", [gradient, "%rate"], [shape, "tensor<f32>"],
                           shape, loop)
        value = self.emit("sub", [f"%{name}", scaled], [shape] * 2, shape,
                          loop)
        self.lines.append(f"  nn.update @{name}, {value} : {self.type(shape)}")

    def forward(self, block, x):
        rows, inner = [self.batch, self.width], [self.batch, 2 * self.width]
        up, down = self.shapes()
        a = self.product("bi,ih->bh", x, f"%u{block}", [rows, up], inner,
                         "b" if self.zero else "h")
        h = self.emit("relu", [a], [inner], inner, self.inside())
        y = self.product("bh,ho->bo", h, f"%d{block}", [inner, down], rows,
                         "b" if self.zero else "h")
        return self.emit("add", [y, x], [rows] * 2, rows, self.outside()), a, h

    def inside(self):
        return "d0" if self.zero else "d1"

    def outside(self):
        return "d0" if self.zero else ""

    def backward(self, block, x, a, h, d):
        """As it is usually derived: the gradient of a weight comes before that
        of the product's other operand."""
        rows, inner = [self.batch, self.width], [self.batch, 2 * self.width]
        up, down = self.shapes()
        loop = "b" if self.zero else "h"
        gradient = self.product("bh,bo->ho", h, d, [inner, rows], down, loop)
        self.update(f"d{block}", gradient, down, "d0")
        back = self.product("bo,ho->bh", d, f"%d{block}", [rows, down], inner,
                            loop)
        mask = self.emit("compare", [a, "%none"], [inner, "tensor<f32>"],
                         inner, self.inside(), 'predicate = "gt"', "i1")
        back = self.emit("select", [mask, back, "%none"],
                         [self.type(inner, "i1"), inner, "tensor<f32>"], inner,
                         self.inside())
        gradient = self.product("bi,bh->ih", x, back, [rows, inner], up, loop)
        self.update(f"u{block}", gradient, up, self.inside())
        if block == 0:
            return d
        back = self.product("bh,ih->bi", back, f"%u{block}", [inner, up], rows,
                            loop)
        return self.emit("add", [back, d], [rows] * 2, rows, self.outside())

    def text(self):
        rows = [self.batch, self.width]
        x, kept = "%x", []
        for block in range(self.blocks):
            y, a, h = self.forward(block, x)
            kept.append((x, a, h))
            x = y
        error = self.emit("sub", [x, "%t"], [rows] * 2, rows, self.outside())
        square = self.emit("mul", [error, error], [rows] * 2, rows,
                           self.outside())
        loss = self.emit("reduce", [square], [rows], [], self.outside(),
                         'kind = "sum", axes = array<i64: 0, 1>')
        d = self.emit("mul", [error, "%share"], [rows, "tensor<f32>"], rows,
                      self.outside())
        for block in reversed(range(self.blocks)):
            d = self.backward(block, *kept[block], d)
        return self.module(loss)

    def module(self, loss):
        globals, reads, offset = [], [], 0
        places = {"u": "[x, *]" if self.zero else "[*, x]", "d": "[x, *]"}
        for block in range(self.blocks):
            for name, shape in zip("ud", self.shapes()):
                size = 4 * shape[0] * shape[1]
                globals.append(
                    f"nn.global @{name}{block} parameter : {self.type(shape)} "
                    f'from "weights.bin" [{offset}, {size}] '
                    f"{{spmd.place = #spmd.place<@g: {places[name]}>}}")
                reads.append(f"  %{name}{block} = nn.read @{name}{block} : "
                             f"{self.type(shape)}")
                offset += size
        count = self.batch * self.width
        for name, value in (("rate", RATE), ("none", 0), ("share", 2 / count)):
            reads.append(f"  %{name} = nn.constant dense<{value:e}> : "
                         "tensor<f32>")
        place = "[x, *]" if self.zero else "[*, *]"
        rows = self.type([self.batch, self.width])
        given = ", ".join(f'%{name}: {rows} {{nn.name = "{name}", spmd.place = '
                          f"#spmd.place<@g: {place}>}}" for name in "xt")
        return "\n".join([
            "spmd.grid @g (x = 2)", *globals,
            f"func.func @train_step({given}) -> (tensor<f32> "
            '{nn.name = "loss", spmd.place = #spmd.place<@g: []>}) {',
            *reads, *self.lines, f"  return {loss} : tensor<f32>", "}", ""])
