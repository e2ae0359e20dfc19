"""A slice of elements that lie one behind the other is no call but a view, which
has numpy's bits whatever it is of: an input, a weight, a constant, a result, a
view, an output, or a state whose new value the same run writes."""

import itertools
import re

import numpy as np
import pytest
from conftest import load
from cuda_test import EMULATOR, GPU, emulator
from launched import needs_mpi
from share import drawn, is_sweep
from written_programs import write_program

TYPES = {"f32": np.float32, "f16": np.float16, "i8": np.int8}
# Of 256 bytes in each line of the widest type.
SHAPES = [(256,), (4, 64), (1, 4, 64), (4, 1, 64), (2, 3, 64), (3, 2, 128)]
SOURCES = ["input", "weight", "constant", "result", "reshaped", "sliced",
           "output", "state"]
DEVICES = [1, 2, 3, 4]
RUNS = 3


def intervals(extent):
    """Of a dimension."""
    bounds = range(extent + 1) if extent <= 4 else [0, 8, 16, 32, 64, extent]
    return [pair for pair in itertools.product(sorted(set(bounds)), repeat=2)
            if pair[0] < pair[1]]


def slices(shape):
    """All, or some that are always the same."""
    every = list(itertools.product(*map(intervals, shape)))
    return every if is_sweep() else drawn(every)[:8]


def is_view(shape, part, width):
    """Whether no call makes it on one device."""
    inside = [begin != 0 or end != extent
              for (begin, end), extent in zip(part, shape)]
    last = max([d for d, cut in enumerate(inside) if cut], default=-1)
    offset = int(np.ravel_multi_index([begin for begin, _ in part], shape))
    return (all(end - begin == 1 for begin, end in part[:max(last, 0)])
            and offset * width % 64 == 0)


def tensor(shape, kind):
    return f"tensor<{'x'.join(map(str, [*shape, kind]))}>"


def slice_op(name, of, from_shape, part, kind):
    shape = [end - begin for begin, end in part]
    starts, limits = (", ".join(str(pair[i]) for pair in part) for i in (0, 1))
    return (f"  %{name} = nn.slice %{of} {{starts = array<i64: {starts}>, limits "
            f"= array<i64: {limits}>, steps = array<i64: "
            f"{', '.join('1' for _ in part)}>}}\n      : "
            f"({tensor(from_shape, kind)}) -> {tensor(shape, kind)}")


class Program:
    """One that returns `parts` of a source, and their negatives."""

    def __init__(self, source, shape, kind, parts, devices):
        self.kind, self.parts, self.source = kind, parts, source
        rng = np.random.default_rng(len(parts))
        given = (shape[0] + 1, *shape[1:]) if source == "sliced" else shape
        flat = (int(np.prod(shape)),)
        self.x = rng.integers(-30, 30, flat if source == "reshaped"
                              else given).astype(TYPES[kind])
        whole, this = tensor(shape, kind), tensor(self.x.shape, kind)
        self.globals = {
            "weight": f'nn.global @w parameter : {whole} from "w.bin" '
                      f"[0, {self.x.nbytes}]",
            "state": f"nn.global @s state : {whole} zero"}.get(source, "")
        lines = {
            "input": [], "output": [],
            "weight": [f"  %s = nn.read @w : {whole}"],
            "constant": [f'  %s = nn.constant dense<"0x{self.x.tobytes().hex()}">'
                         f" : {whole}"],
            "result": [f"  %s = nn.neg %x : ({whole}) -> {whole}"],
            "reshaped": [f"  %s = nn.reshape %x : ({this}) -> {whole}"],
            "sliced": [slice_op("s", "x", given, [(1, given[0])] + [
                (0, extent) for extent in shape[1:]], kind)],
            "state": [f"  %s = nn.read @s : {whole}",
                      f"  %t = nn.add %s, %x : ({whole}, {whole}) -> {whole}",
                      f"  nn.update @s, %t : {whole}"]}[source]
        root = "x" if source in ("input", "output") else "s"
        if source == "output":
            lines.append(f"  %s = nn.neg %x : ({whole}) -> {whole}")
            root = "s"
        returned = []
        for i, part in enumerate(parts):
            to = tensor([end - begin for begin, end in part], kind)
            lines.append(slice_op(f"a{i}", root, shape, part, kind))
            lines.append(f"  %b{i} = nn.neg %a{i} : ({to}) -> {to}")
            returned += [(f"a{i}", to), (f"b{i}", to)]
        if source == "output":
            returned.append(("s", whole))
        types = ", ".join(f'{to} {{nn.name = "{name}"}}' for name, to in returned)
        self.text = "\n".join([
            f"spmd.grid @g (x = {devices})", self.globals,
            f'func.func @f(%x: {this} {{nn.name = "x"}}) -> ({types}) {{',
            *lines,
            f"  return {', '.join('%' + name for name, _ in returned)} : "
            f"{', '.join(to for _, to in returned)}", "}", ""])

    def write(self, divisi):
        divisi.path("w.bin").write_bytes(self.x.tobytes())
        np.savez(divisi.path("in.npz"), x=self.x)
        write_program(divisi.path("p.mlir"), self.text)


def whole_value(made, shape):
    """What is sliced, in the last run."""
    return {"result": lambda: -made.x, "output": lambda: -made.x,
            "reshaped": lambda: made.x.reshape(shape),
            "sliced": lambda: made.x[1:],
            "state": lambda: made.x * TYPES[made.kind](RUNS - 1),
            }.get(made.source, lambda: made.x)()


def assert_right(divisi, made, shape, file="out.npz"):
    got = load(divisi.path(file))
    value = whole_value(made, shape)
    for i, part in enumerate(made.parts):
        want = value[tuple(slice(begin, end) for begin, end in part)]
        assert got[f"a{i}"].tobytes() == want.tobytes(), (i, part)
        # 0 has a sign, which the reference's negative has, too.
        assert got[f"b{i}"].tobytes() == (-want).tobytes(), (i, part)
    if made.source == "output":
        assert got["s"].tobytes() == value.tobytes()


def compiled(divisi, source, shape, kind, devices, *flags):
    made = Program(source, shape, kind, slices(shape), devices)
    made.write(divisi)
    divisi("compile", "p.mlir", "--devices", devices, *flags, "-o", "m.divisi")
    return made


def run(divisi, *flags, **options):
    return divisi("run", "m.divisi", "--inputs", "in.npz", "--repeat", RUNS,
                  "--verbose", *flags, "-o", "out.npz", **options)


def calls_of_slices(result):
    """Of one device."""
    lines = re.findall("device 0 runs .*", result.err)
    return sum(int(count) for line in lines
               for count in re.findall(r"nn\.slice x (\d+)", line))


@pytest.mark.sample("source", ("kind", "devices"), "backends", "shape",
                    slow=True)
@pytest.mark.parametrize("backends", ["cpu,reference", "reference"])
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("source", SOURCES)
def test_slices_have_numpys_bits(divisi, source, shape, kind, devices, backends):
    made = compiled(divisi, source, shape, kind, devices)
    result = run(divisi, "--backend", backends)
    assert_right(divisi, made, shape)
    if devices == 1 and source != "constant":
        width = np.dtype(TYPES[kind]).itemsize
        views = [is_view(shape, part, width) for part in made.parts]
        if source == "sliced":  # itself a slice, of all lines but the first
            views.append(int(np.prod(shape[1:])) * width % 64 == 0)
        assert calls_of_slices(result) <= views.count(False), made.parts


@needs_mpi
@pytest.mark.sample("source", slow=True)
@pytest.mark.parametrize("devices", [2, 3])
@pytest.mark.parametrize("source", SOURCES)
def test_slices_in_processes(divisi, source, devices):
    made = compiled(divisi, source, (4, 64), "f32", devices)
    run(divisi, "--launch", devices)
    assert_right(divisi, made, (4, 64))


@pytest.mark.sample("source", "graphs", slow=True)
@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("source", SOURCES)
def test_slices_on_emulated_gpus(divisi, monkeypatch, source, shape, devices,
                                 graphs):
    if not (EMULATOR / "libcuda.so.1").exists():
        pytest.skip("the build found no cuda.h")
    monkeypatch.setenv("XDG_DATA_HOME", str(divisi.path("user")))
    made = compiled(divisi, source, shape, "f32", devices, *GPU)
    flags = [] if graphs else ["--no-graphs"]
    result = run(divisi, *flags, env=emulator(seed=1))
    assert "emulator: " not in result.err
    assert_right(divisi, made, shape)
