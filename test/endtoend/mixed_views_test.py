"""Views of parts beside what is written in place: a result over a part of which
another operand is a part, too; parts that are read at different times; states
that become a part, or of which parts are read; products of a stack; bodies of
loops. All plans give numpy's values."""

import re

import numpy as np
import pytest
from conftest import load
from cuda_test import EMULATOR, GPU, emulator
from launched import needs_mpi
from written_programs import write_program

RUNS = 3
PLANS = {"one": ["--devices", 1], "two": ["--devices", 2],
         "no-code": ["--devices", 1, "--native", "off"],
         "apart": ["--devices", 1, "--no-fuse"],
         **{f"random{seed}": ["--devices", 2 + seed % 3, "--solver", "random",
                              "--seed", seed] for seed in range(12)}}


def rows(name, of, begin, end, shape="4x64"):
    """A slice of the first dimension."""
    first, *rest = map(int, shape.split("x"))
    zeros, whole = ", 0" * len(rest), "".join(f", {extent}" for extent in rest)
    to = "x".join(map(str, [end - begin, *rest]))
    return (f"  %{name} = nn.slice %{of} {{starts = array<i64: {begin}{zeros}>, "
            f"limits = array<i64: {end}{whole}>,\n      steps = array<i64: 1"
            f"{', 1' * len(rest)}>}} : (tensor<{shape}xf32>) -> "
            f"tensor<{to}xf32>")


M, ROW, PART = "tensor<4x64xf32>", "tensor<1x64xf32>", "tensor<4x16xf32>"
PROGRAM = f"""
nn.global @s state : tensor<64xf32> zero
nn.global @t state : {M} zero
nn.global @w parameter : tensor<8x64x16xf32> from "w.bin" [0, 32768]
func.func private @step(%i: tensor<i64>, %u: {M}, %v: {ROW}, %z: {M})
    -> ({M}, {ROW}) {{
{rows("high", "u", 1, 4)}
{rows("low", "u", 0, 1)}
{rows("of_z", "z", 2, 3)}
  %0 = nn.add %low, %of_z : ({ROW}, {ROW}) -> {ROW}
  %1 = nn.concat %high, %0 {{axis = 0}} : (tensor<3x64xf32>, {ROW}) -> {M}
{rows("next", "u", 3, 4)}
  %2 = nn.sub %next, %v : ({ROW}, {ROW}) -> {ROW}
  return %1, %2 : {M}, {ROW}
}}
func.func @f(%x: {M} {{nn.name = "x"}}) -> (
    tensor<2x64xf32> {{nn.name = "moved"}}, {ROW} {{nn.name = "later"}},
    tensor<64xf32> {{nn.name = "s"}}, {ROW} {{nn.name = "t"}},
    {PART} {{nn.name = "product"}}, tensor<2x64xf32> {{nn.name = "turned"}},
    {M} {{nn.name = "looped"}}, {ROW} {{nn.name = "last"}}) {{
  %n = nn.neg %x : ({M}) -> {M}
{rows("n0", "n", 0, 2)}
{rows("n1", "n", 1, 3)}
  %moved = nn.sub %n0, %n1
      : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %d = nn.add %x, %x : ({M}, {M}) -> {M}
{rows("d0", "d", 0, 1)}
  %square = nn.mul %d0, %d0 : ({ROW}, {ROW}) -> {ROW}
{rows("d3", "d", 3, 4)}
  %later = nn.sub %square, %d3 : ({ROW}, {ROW}) -> {ROW}
{rows("d2", "d", 2, 3)}
  %flat = nn.reshape %d2 : ({ROW}) -> tensor<64xf32>
  %s = nn.read @s : tensor<64xf32>
  nn.update @s, %flat : tensor<64xf32>
  %old = nn.read @t : {M}
{rows("t1", "old", 1, 2)}
  %new = nn.add %old, %x : ({M}, {M}) -> {M}
  nn.update @t, %new : {M}
  %t = nn.neg %t1 : ({ROW}) -> {ROW}
  %w = nn.read @w : tensor<8x64x16xf32>
  %y = nn.matmul %x, %w {{labels = "bk,skn->sbn"}}
      : ({M}, tensor<8x64x16xf32>) -> tensor<8x4x16xf32>
{rows("y2", "y", 2, 3, "8x4x16")}
{rows("y5", "y", 5, 6, "8x4x16")}
{rows("y7", "y", 7, 8, "8x4x16")}
  %a = nn.reshape %y2 : (tensor<1x4x16xf32>) -> {PART}
  %b = nn.reshape %y5 : (tensor<1x4x16xf32>) -> {PART}
  %c = nn.reshape %y7 : (tensor<1x4x16xf32>) -> {PART}
  %ab = nn.mul %a, %b : ({PART}, {PART}) -> {PART}
  %product = nn.add %ab, %c : ({PART}, {PART}) -> {PART}
  %turned = nn.concat %d3, %d0 {{axis = 0}} : ({ROW}, {ROW}) -> tensor<2x64xf32>
  %count = nn.constant dense<3> : tensor<i64>
  %looped, %last = nn.loop @step(%count, %n, %d2, %x) max 5
      : (tensor<i64>, {M}, {ROW}, {M}) -> ({M}, {ROW})
  return %moved, %later, %s, %t, %product, %turned, %looped, %last
      : tensor<2x64xf32>, {ROW}, tensor<64xf32>, {ROW}, {PART},
        tensor<2x64xf32>, {M}, {ROW}
}}
"""


def expected(x, w):
    """In the last run. All but the product are sums of a few small integers."""
    y = np.einsum("bk,skn->sbn", x, w)
    u, v = -x, 2 * x[2:3]
    for _ in range(3):
        u, v = np.concatenate([u[1:], u[:1] + x[2:3]]), u[3:] - v
    return {"moved": x[1:3] - x[:2], "later": 4 * x[:1] ** 2 - 2 * x[3:],
            "s": 2 * x[2], "t": (1 - RUNS) * x[1:2],
            "product": y[2] * y[5] + y[7],
            "turned": 2 * np.stack([x[3], x[0]]), "looped": u, "last": v}


@pytest.fixture
def compute(divisi):
    """Compiles the program, runs it, and compares what it gives; the run."""
    def run(compile_flags, run_flags=(), **options):
        random = np.random.default_rng(0)
        x = random.integers(-9, 9, (4, 64)).astype(np.float32)
        w = random.integers(-9, 9, (8, 64, 16)).astype(np.float32)
        divisi.path("w.bin").write_bytes(w.tobytes())
        np.savez(divisi.path("in.npz"), x=x)
        write_program(divisi.path("p.mlir"), PROGRAM)
        divisi("compile", "p.mlir", *compile_flags, "-o", "m.divisi")
        result = divisi("run", "m.divisi", "--inputs", "in.npz", "--repeat",
                        RUNS, "--verbose", *run_flags, "-o", "out.npz",
                        **options)
        got = load(divisi.path("out.npz"))
        for name, want in expected(x, w).items():
            assert np.array_equal(got[name], want), name
        return result
    return run


@pytest.mark.sample("backends", "plan", slow=True)
@pytest.mark.parametrize("backends", ["cpu,reference", "reference"])
@pytest.mark.parametrize("plan", PLANS)
def test_parts_are_numpys(compute, plan, backends):
    result = compute(PLANS[plan], ["--backend", backends])
    if plan == "one":
        assert not re.search(r"nn\.slice", result.err)


@needs_mpi
@pytest.mark.sample(slow=True)
@pytest.mark.parametrize("seed", range(8))
def test_parts_in_processes(compute, seed):
    devices = 2 + seed % 2
    compute(["--devices", devices, "--solver", "random", "--seed", seed],
            ["--launch", devices])


@pytest.mark.sample("graphs", slow=True)
@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("plan", PLANS)
def test_parts_on_emulated_gpus(divisi, compute, monkeypatch, plan, graphs):
    if not (EMULATOR / "libcuda.so.1").exists():
        pytest.skip("the build found no cuda.h")
    monkeypatch.setenv("XDG_DATA_HOME", str(divisi.path("user")))
    compute([*PLANS[plan], *GPU], [] if graphs else ["--no-graphs"],
            env=emulator(seed=1))
