"""Writes training steps in `nn`: multi-layer perceptrons with Adam."""

import numpy as np
from written_programs import write_program

RATE, BETA1, BETA2, EPSILON = 0.01, 0.9, 0.99, 1e-5
CONSTANTS = {"zero": 0.0, "two": 2.0, "rate": RATE, "epsilon": EPSILON,
             "beta1": BETA1, "rest1": 1 - BETA1, "beta2": BETA2,
             "rest2": 1 - BETA2}


class Step:
    """One step of a perceptron of `layers` square matrices of `width`, with
    ReLUs between them, on `batch` rows: the mean square error, and Adam
    without correction of its bias."""

    def __init__(self, batch, width, layers):
        self.batch, self.width, self.layers = batch, width, layers

    def weights(self):
        """The matrices, as the program reads them from `weights.bin`."""
        random = np.random.default_rng(1)
        shape = (self.width, self.width)
        return [random.standard_normal(shape, np.float32)
                * np.float32((2 / self.width) ** 0.5)
                for _ in range(self.layers)]

    def batch_of_data(self):
        random = np.random.default_rng(2)
        shape = (self.batch, self.width)
        return [random.standard_normal(shape, np.float32) for _ in range(2)]

    def write(self, folder):
        """The program as `step.mlir`, with what it reads beside it, and a
        batch as `x.npz`."""
        (folder / "weights.bin").write_bytes(
            b"".join(w.tobytes() for w in self.weights()))
        write_program(folder / "step.mlir", self.text())
        x, t = self.batch_of_data()
        np.savez(folder / "x.npz", x=x, t=t)

    def emit(self, op, operands, shape, attributes="", types=None):
        self.count += 1
        name, result = f"%{self.count}", self.type(shape)
        types = types or [result] * len(operands)
        self.lines.append(f"  {name} = nn.{op} {', '.join(operands)} "
                          f"{attributes} : ({', '.join(types)}) -> {result}")
        return name

    @staticmethod
    def type(shape, element="f32"):
        return f"tensor<{'x'.join(map(str, [*shape, element]))}>"

    def scaled(self, op, x, constant, shape):
        return self.emit(op, [x, f"%{constant}"], shape,
                         types=[self.type(shape), "tensor<f32>"])

    def product(self, labels, a, b, shapes, shape):
        return self.emit("matmul", [a, b], shape, f'{{labels = "{labels}"}}',
                         [self.type(s) for s in shapes])

    def adam(self, layer, gradient):
        square = [self.width] * 2
        m, v = f"%m{layer}", f"%v{layer}"
        m = self.emit("add", [
            self.scaled("mul", m, "beta1", square),
            self.scaled("mul", gradient, "rest1", square)], square)
        v = self.emit("add", [
            self.scaled("mul", v, "beta2", square),
            self.scaled("mul", self.emit("mul", [gradient, gradient], square),
                        "rest2", square)], square)
        root = self.scaled("add", self.emit("sqrt", [v], square), "epsilon",
                           square)
        step = self.scaled("mul", self.emit("div", [m, root], square), "rate",
                           square)
        w = self.emit("sub", [f"%w{layer}", step], square)
        for name, value in (("m", m), ("v", v), ("w", w)):
            self.updates.append(f"  nn.update @{name}{layer}, {value} "
                                f": {self.type(square)}")

    def text(self):
        """The program."""
        rows, square = [self.batch, self.width], [self.width] * 2
        self.lines, self.updates, self.count = [], [], 0
        inputs, x = [], "%x"
        for layer in range(self.layers):
            a = self.product("bi,ih->bh", x, f"%w{layer}", [rows, square],
                             rows)
            inputs.append((x, a))
            x = a if layer == self.layers - 1 else self.emit("relu", [a], rows)
        error = self.emit("sub", [x, "%t"], rows)
        total = self.emit("reduce", [self.emit("mul", [error, error], rows)],
                          [], '{kind = "sum", axes = array<i64: 0, 1>}',
                          [self.type(rows)])
        loss = self.scaled("div", total, "count", [])
        d = self.scaled("div", self.scaled("mul", error, "two", rows), "count",
                        rows)
        for layer, (x, _) in reversed(list(enumerate(inputs))):
            gradient = self.product("bi,bh->ih", x, d, [rows, rows], square)
            if layer:
                back = self.product("bh,ih->bi", d, f"%w{layer}",
                                    [rows, square], rows)
                d = self.gate(inputs[layer - 1][1], back, rows)
            self.adam(layer, gradient)
        return self.module(loss)

    def gate(self, before, gradient, rows):
        """What a ReLU of `before` lets through."""
        mask = f"%on{self.count}"
        self.lines.append(
            f'  {mask} = nn.compare {before}, %zero {{predicate = "gt"}} : '
            f"({self.type(rows)}, tensor<f32>) -> {self.type(rows, 'i1')}")
        return self.emit("select", [mask, gradient, "%zero"], rows, types=[
            self.type(rows, "i1"), self.type(rows), "tensor<f32>"])

    def module(self, loss):
        square, rows = self.type([self.width] * 2), self.type(
            [self.batch, self.width])
        bytes = 4 * self.width**2
        globals, reads = [], []
        for layer in range(self.layers):
            globals.append(f"nn.global @w{layer} parameter : {square} from "
                           f'"weights.bin" [{bytes * layer}, {bytes}]')
            globals += [f"nn.global @{s}{layer} state : {square} zero"
                        for s in "mv"]
            reads += [f"  %{s}{layer} = nn.read @{s}{layer} : {square}"
                      for s in "wmv"]
        constants = {**CONSTANTS, "count": float(self.batch * self.width)}
        reads += [f"  %{name} = nn.constant dense<{value:e}> : tensor<f32>"
                  for name, value in constants.items()]
        return "\n".join([
            *globals,
            f'func.func @train_step(%x: {rows} {{nn.name = "x"}}, '
            f'%t: {rows} {{nn.name = "t"}})',
            '    -> (tensor<f32> {nn.name = "loss"}) {',
            *reads, *self.lines, *self.updates,
            f"  return {loss} : tensor<f32>", "}", ""])

    def losses(self, steps):
        """The loss at each step, in double precision."""
        x, t = (a.astype(np.float64) for a in self.batch_of_data())
        w = [a.astype(np.float64) for a in self.weights()]
        m = [np.zeros_like(a) for a in w]
        v = [np.zeros_like(a) for a in w]
        losses = []
        for _ in range(steps):
            inputs, befores = [x], []
            for matrix in w:
                befores.append(inputs[-1] @ matrix)
                inputs.append(np.maximum(befores[-1], 0))
            error = befores[-1] - t
            losses.append((error ** 2).mean())
            d, gradients = 2 * error / error.size, []
            for layer in reversed(range(len(w))):
                gradients.insert(0, inputs[layer].T @ d)
                if layer:
                    d = np.where(befores[layer - 1] > 0, d @ w[layer].T, 0)
            for i, g in enumerate(gradients):
                m[i] = BETA1 * m[i] + (1 - BETA1) * g
                v[i] = BETA2 * v[i] + (1 - BETA2) * g * g
                w[i] = w[i] - RATE * m[i] / (np.sqrt(v[i]) + EPSILON)
        return losses
