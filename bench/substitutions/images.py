"""The convolutional models; see models.py."""

import numpy as np

from graphs import Net


def pool(n, x, kind, kernel, stride, pad=0, **more):
    return n.op(kind, x, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                pads=[pad] * 4, **more)


def fire(n, x, name, inputs, squeezed, expanded):
    x = n.conv(x, f"{name}.s", inputs, squeezed, 1)
    if n.form != "enlarge":
        return n.op("Concat", n.conv(x, f"{name}.e1", squeezed, expanded, 1),
                    n.conv(x, f"{name}.e3", squeezed, expanded, 3), axis=1)
    small = n.draw(f"{name}.e1", expanded, squeezed, 1, 1, fan=squeezed / 2)
    large = n.draw(f"{name}.e3", expanded, squeezed, 3, 3,
                   fan=squeezed * 9 / 2)
    bias = [n.draw(f"{name}.{e}.bias", expanded, fan=9) for e in ("e1", "e3")]
    weight = np.concatenate([np.pad(small, [(0, 0)] * 2 + [(1, 1)] * 2),
                             large])
    return n.op("Relu", n.conv_of(x, weight, np.concatenate(bias)))


def squeezenet(form, size=224):
    """SqueezeNet 1.1 (Iandola et al.)."""
    n = Net("squeezenet", form)
    x = n.conv(n.input("x", 1, 3, size, size), "first", 3, 64, 3, 2, 0)
    x = pool(n, x, "MaxPool", 3, 2)
    for i, (inputs, squeezed, expanded) in enumerate([
            (64, 16, 64), (128, 16, 64), (128, 32, 128), (256, 32, 128),
            (256, 48, 192), (384, 48, 192), (384, 64, 256), (512, 64, 256)]):
        if i in (2, 4):
            x = pool(n, x, "MaxPool", 3, 2)
        x = fire(n, x, f"f{i}", inputs, squeezed, expanded)
    x = n.op("GlobalAveragePool", n.conv(x, "last", 512, 1000, 1))
    n.output(x, 1, 1000, 1, 1)
    return n


def parallel(n, x, name, inputs, widths):
    """1x1 convolutions of one input; `merged`: one, and slices of it."""
    if n.form != "merged":
        return [n.conv(x, f"{name}.{i}", inputs, width, 1)
                for i, width in enumerate(widths)]
    weights = [n.draw(f"{name}.{i}", width, inputs, 1, 1, fan=inputs / 2)
               for i, width in enumerate(widths)]
    biases = [n.draw(f"{name}.{i}.bias", width, fan=9)
              for i, width in enumerate(widths)]
    y = n.op("Relu", n.conv_of(x, np.concatenate(weights),
                               np.concatenate(biases)))
    return n.split(y, widths, 1)


def inception(form):
    """Blocks of Inception-v3 (Szegedy et al.): two at 35x35, two at 17x17, one
    at 8x8, with their sizes."""
    n = Net("inception", form)
    x = n.input("x", 1, 192, 35, 35)
    inputs = 192
    for i, pooled in enumerate((32, 64)):
        a, b, c = parallel(n, x, f"a{i}", inputs, [64, 48, 64])
        b = n.conv(b, f"a{i}.b", 48, 64, 5)
        c = n.conv(n.conv(c, f"a{i}.c1", 64, 96, 3), f"a{i}.c2", 96, 96, 3)
        d = pool(n, x, "AveragePool", 3, 1, 1, count_include_pad=1)
        d = n.conv(d, f"a{i}.d", inputs, pooled, 1)
        x, inputs = n.op("Concat", a, b, c, d, axis=1), 224 + pooled
    a = n.conv(x, "r.a", inputs, 384, 3, 2, 0)
    b = n.conv(n.conv(x, "r.b1", inputs, 64, 1), "r.b2", 64, 96, 3)
    b = n.conv(b, "r.b3", 96, 96, 3, 2, 0)
    x = n.op("Concat", a, b, pool(n, x, "MaxPool", 3, 2), axis=1)
    inputs = 480 + inputs
    for i, width in enumerate((128, 160)):
        a, b, c = parallel(n, x, f"b{i}", inputs, [192, width, width])
        b = n.conv(b, f"b{i}.b1", width, width, (1, 7))
        b = n.conv(b, f"b{i}.b2", width, 192, (7, 1))
        for j, kernel in enumerate([(7, 1), (1, 7), (7, 1), (1, 7)]):
            c = n.conv(c, f"b{i}.c{j}", width, 192 if j == 3 else width,
                       kernel)
        d = pool(n, x, "AveragePool", 3, 1, 1, count_include_pad=1)
        d = n.conv(d, f"b{i}.d", inputs, 192, 1)
        x, inputs = n.op("Concat", a, b, c, d, axis=1), 768
    x = pool(n, x, "MaxPool", 3, 2)
    a, b, c = parallel(n, x, "c", inputs, [320, 384, 448])
    b = n.op("Concat", n.conv(b, "c.b1", 384, 384, (1, 3)),
             n.conv(b, "c.b2", 384, 384, (3, 1)), axis=1)
    c = n.conv(c, "c.c", 448, 384, 3)
    c = n.op("Concat", n.conv(c, "c.c1", 384, 384, (1, 3)),
             n.conv(c, "c.c2", 384, 384, (3, 1)), axis=1)
    d = pool(n, x, "AveragePool", 3, 1, 1, count_include_pad=1)
    x = n.op("Concat", a, b, c, n.conv(d, "c.d", inputs, 192, 1), axis=1)
    n.output(x, 1, 2048, 8, 8)
    return n


def grouped(n, x, name, width, stride):
    """32 groups; `groups`: four of them in one, with zeros between."""
    if n.form != "groups":
        return n.conv(x, name, width, width, 3, stride, group=32)
    part = width // 32
    weight = n.draw(name, width, part, 3, 3, fan=part * 9 / 2)
    mixed = np.zeros((width, 4 * part, 3, 3), np.float32)
    for out in range(width):
        begin = out // part % 4 * part
        mixed[out, begin:begin + part] = weight[out]
    return n.op("Relu", n.conv_of(x, mixed, n.draw(f"{name}.bias", width,
                                                   fan=9), stride, group=8))


def resnext(form, size=224):
    """ResNeXt-50 32x4d (Xie et al.)."""
    n = Net("resnext", form)
    x = n.conv(n.input("x", 1, 3, size, size), "first", 3, 64, 7, 2)
    x = pool(n, x, "MaxPool", 3, 2, 1)
    inputs = 64
    for stage, (count, width) in enumerate([(3, 128), (4, 256), (6, 512),
                                            (3, 1024)]):
        for i in range(count):
            name, stride = f"s{stage}.{i}", 2 if stage and not i else 1
            y = grouped(n, n.conv(x, f"{name}.1", inputs, width, 1),
                        f"{name}.2", width, stride)
            y = n.conv_of(y, n.filters(f"{name}.3", 2 * width, width, 1),
                          n.draw(f"{name}.3.bias", 2 * width, fan=9))
            if not i:
                x = n.conv_of(x, n.filters(f"{name}.x", 2 * width, inputs, 1),
                              n.draw(f"{name}.x.bias", 2 * width, fan=9),
                              stride)
            x, inputs = n.op("Relu", n.op("Add", x, y)), 2 * width
    n.output(n.op("GlobalAveragePool", x), 1, inputs, 1, 1)
    return n


def separable(n, x, name, width, kernel):
    """A depthwise and a pointwise convolution behind a ReLU."""
    depth = n.draw(f"{name}.d", width, 1, kernel, kernel, fan=kernel ** 2 / 2)
    y = n.conv_of(n.op("Relu", x), depth, None, group=width)
    return y, n.filters(f"{name}.p", width, width, 1)


def sum_of(n, *parts):
    """The sum of pointwise convolutions; `merged`: of what is joined."""
    if n.form == "merged":
        weight = np.concatenate([weight for _, weight in parts], 1)
        return n.conv_of(n.op("Concat", *(y for y, _ in parts), axis=1),
                         weight, None)
    a, b = (n.conv_of(y, weight, None) for y, weight in parts)
    return n.op("Add", a, b)


def averages(n, x, width):
    """Two averages and their sum; `merged`: one depthwise convolution."""
    if n.form == "merged":
        weight = np.full((width, 1, 3, 3), 2 / 9, np.float32)
        return n.conv_of(x, weight, None, group=width)
    a, b = (pool(n, x, "AveragePool", 3, 1, 1, count_include_pad=1)
            for _ in range(2))
    return n.op("Add", a, b)


def nasnet(form, cells=3, width=168, size=28):
    """Normal cells of NASNet-A (Zoph et al.), 4 @ 1056 of images of 224: 168
    filters at 28x28."""
    n = Net("nasnet", form)
    before = n.input("before", 1, width, size, size)
    x = n.input("x", 1, width, size, size)
    for i in range(cells):
        p = separable(n, before, f"{i}.p3", width, 3)
        sums = [
            sum_of(n, separable(n, x, f"{i}.a5", width, 5),
                   separable(n, before, f"{i}.a3", width, 3)),
            sum_of(n, separable(n, before, f"{i}.b5", width, 5), p),
            n.op("Add", pool(n, x, "AveragePool", 3, 1, 1,
                             count_include_pad=1), before),
            averages(n, before, width),
            n.op("Add", n.conv_of(*(lambda y, w: (y, w, None))(
                *separable(n, x, f"{i}.e3", width, 3))), x)]
        y = n.op("Concat", x, *sums, axis=1)
        y = n.conv_of(n.op("Relu", y), n.filters(f"{i}.out", width, 6 * width,
                                                 1), None)
        before, x = x, y
    n.output(x, 1, width, size, size)
    return n
