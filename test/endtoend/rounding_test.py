"""What is f16 or bf16 is rounded where an operator ends, whichever way operators
run: as calls of their own, or fused, by kernels, in generated code, on GPUs."""

import numpy as np
import pytest
from conftest import load
from cuda_test import EMULATOR, GPU, emulator

pytestmark = pytest.mark.as_written

ROWS, INNER, COLUMNS = 64, 32, 48


def program(element, first):
    """A product or none, and then chains of operators that are exact but for
    their rounding: of a result of their own, of f32 in the middle."""
    x, w = f"tensor<{ROWS}x{INNER}x%s>", f"tensor<{INNER}x{COLUMNS}x%s>"
    r, b = f"tensor<{ROWS}x{COLUMNS}x%s>", f"tensor<{COLUMNS}x%s>"
    types = dict(x=x, w=w, r=r, b=b)
    lines = [f"  %{n}1 = nn.cast %{n} : ({t % 'f32'}) -> {t % element}"
             for n, t in types.items()]
    r1, b1 = r % element, b % element
    begin = "%r1"
    if first == "product":
        begin = "%0"
        lines.append(f'  %0 = nn.matmul %x1, %w1 {{labels = "mk,kn->mn"}} : '
                     f"({x % element}, {w % element}) -> {r1}")
    lines += [
        f"  %1 = nn.add {begin}, %b1 : ({r1}, {b1}) -> {r1}",
        f"  %2 = nn.mul %1, %r1 : ({r1}, {r1}) -> {r1}",
        f"  %3 = nn.sub %2, %b1 : ({r1}, {b1}) -> {r1}",
        f"  %4 = nn.div %3, %r1 : ({r1}, {r1}) -> {r1}",
        f"  %5 = nn.relu %4 : ({r1}) -> {r1}",
        f"  %6 = nn.cast %5 : ({r1}) -> {r % 'f32'}",
        f"  %7 = nn.mul %6, %r : ({r % 'f32'}, {r % 'f32'}) -> {r % 'f32'}",
        f"  %8 = nn.cast %7 : ({r % 'f32'}) -> {r1}",
        f"  %9 = nn.sub %8, %r1 : ({r1}, {r1}) -> {r1}",
        f"  %y = nn.cast %9 : ({r1}) -> {r % 'f32'}"]
    arguments = ", ".join(f'%{n}: {t % "f32"} {{nn.name = "{n}"}}'
                          for n, t in types.items())
    return (f"func.func @forward({arguments}) -> ({r % 'f32'} "
            '{nn.name = "y"}) {\n' + "\n".join(lines)
            + f"\n  return %y : {r % 'f32'}\n}}\n")


@pytest.fixture
def ways(divisi, monkeypatch):
    """ways(ELEMENT, FIRST) is what that program gives, by each way."""
    monkeypatch.setenv("XDG_DATA_HOME", str(divisi.path("user")))

    def run(element, first):
        divisi.path("m.mlir").write_text(program(element, first))
        random = np.random.default_rng(1)
        np.savez(
            divisi.path("in.npz"),
            # Whose sums are exact in any order.
            x=random.integers(-3, 4, (ROWS, INNER)).astype(np.float32),
            w=random.integers(-3, 4, (INNER, COLUMNS)).astype(np.float32) / 4,
            r=random.standard_normal((ROWS, COLUMNS)).astype(np.float32),
            b=random.standard_normal(COLUMNS).astype(np.float32))
        native = ("--native", "off")
        kinds = [("--no-fuse", *native), native, ("--no-fuse",), ()]
        if (EMULATOR / "libcuda.so.1").exists():
            kinds += [("--no-fuse", *GPU), GPU]
        for kind in kinds:
            divisi("compile", "m.mlir", "--devices", 1, *kind, "-o", "m.divisi")
            backends = [()]
            if "--gpu" not in kind:
                backends.append(("--backend", "reference"))
            for backend in backends:
                divisi("run", "m.divisi", "--inputs", "in.npz", *backend, "-o",
                       "out.npz", env=emulator(seed=1))
                yield (*kind, *backend), load(divisi.path("out.npz"))["y"]

    return run


@pytest.mark.parametrize("first", ["product", "elements"])
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_fusing_does_not_decide_what_is_rounded(ways, element, first):
    expected = None
    for way, got in ways(element, first):
        expected = got if expected is None else expected
        different = (got.view(np.int32) != expected.view(np.int32)).sum()
        assert different == 0, (way, different)
