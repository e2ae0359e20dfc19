"""A step of decoding with a cache of keys and values: each token is inserted at
its position, which is state itself, and attends to all before it. Whatever the
cache is split over, only what is new in it is written.
"""

import json

import numpy as np
import pytest
from conftest import assert_close, load
from written_programs import write_program

pytestmark = pytest.mark.as_written

BATCH, HEADS, LENGTH, DEPTH, WIDTH = 2, 12, 6, 4, 16
CACHE = 4 * BATCH * HEADS * LENGTH * DEPTH
SPLITS = {"batch": "[x, *, *, *]", "heads": "[*, x, *, *]",
          "length": "[*, *, x, *]", "depth": "[*, *, *, x]",
          "nothing": "[*, *, *, *]"}


def program(devices, split, also=""):
    """Token by token of x, the position being a state. `also` goes at the
    end."""
    cache = f"{BATCH}x{HEADS}x{LENGTH}x{DEPTH}xf32"
    row = f"{BATCH}x{HEADS}x1x{DEPTH}xf32"
    scores = f"{BATCH}x{HEADS}x1x{LENGTH}"
    weight = 4 * WIDTH * HEADS * DEPTH
    place = f"{{spmd.place = #spmd.place<@g: {SPLITS[split]}>}}"
    lines = [f"spmd.grid @g (x = {devices})"]
    for i, name in enumerate("qkvo"):
        shape = (f"{WIDTH}x{HEADS}x{DEPTH}" if name != "o"
                 else f"{HEADS}x{DEPTH}x{WIDTH}")
        lines.append(f'nn.global @w{name} parameter : tensor<{shape}xf32> '
                     f'from "weights.bin" [{i * weight}, {weight}]')
    for name in "kv":
        lines.append(f"nn.global @{name} state : tensor<{cache}> zero {place}")
    total = "nn.global @sum state : tensor<f32> zero" if also else ""
    tokens = f"tensor<{LENGTH + 1}x{BATCH}x1x{WIDTH}xf32>"
    lines.append(f"""
nn.global @position state : tensor<i64> zero
{total}
func.func @decode(%tokens: {tokens} {{nn.name = "x"}})
    -> (tensor<{BATCH}x1x{WIDTH}xf32> {{nn.name = "y"}}) {{
  %p = nn.read @position : tensor<i64>
  %x = nn.gather %tokens, %p {{axis = 0, batch_dims = 0}}
      : ({tokens}, tensor<i64>) -> tensor<{BATCH}x1x{WIDTH}xf32>""")
    for name in "qkv":
        lines.append(f"""
  %w{name} = nn.read @w{name} : tensor<{WIDTH}x{HEADS}x{DEPTH}xf32>
  %{name} = nn.matmul %x, %w{name} {{labels = "bte,ehd->bhtd"}}
      : (tensor<{BATCH}x1x{WIDTH}xf32>, tensor<{WIDTH}x{HEADS}x{DEPTH}xf32>)
      -> tensor<{row}>""")
    for name in "kv":
        lines.append(f"""
  %old_{name} = nn.read @{name} : tensor<{cache}>
  %all_{name} = nn.insert %old_{name}, %{name}, %p {{axis = 2}}
      : (tensor<{cache}>, tensor<{row}>, tensor<i64>) -> tensor<{cache}>
  nn.update @{name}, %all_{name} : tensor<{cache}>""")
    lines.append(f"""
  %s = nn.matmul %q, %all_k {{labels = "bhtd,bhsd->bhts"}}
      : (tensor<{row}>, tensor<{cache}>) -> tensor<{scores}xf32>
  %i = nn.iota {{axis = 0}} : () -> tensor<{LENGTH}xi64>
  %seen = nn.compare %i, %p {{predicate = "le"}}
      : (tensor<{LENGTH}xi64>, tensor<i64>) -> tensor<{LENGTH}xi1>
  %never = nn.constant dense<-1.0e30> : tensor<f32>
  %m = nn.select %seen, %s, %never
      : (tensor<{LENGTH}xi1>, tensor<{scores}xf32>, tensor<f32>)
      -> tensor<{scores}xf32>
  %a = nn.softmax %m {{axis = 3, log = false}}
      : (tensor<{scores}xf32>) -> tensor<{scores}xf32>
  %h = nn.matmul %a, %all_v {{labels = "bhts,bhsd->bhtd"}}
      : (tensor<{scores}xf32>, tensor<{cache}>) -> tensor<{row}>
  %wo = nn.read @wo : tensor<{HEADS}x{DEPTH}x{WIDTH}xf32>
  %y = nn.matmul %h, %wo {{labels = "bhtd,hde->bte"}}
      : (tensor<{row}>, tensor<{HEADS}x{DEPTH}x{WIDTH}xf32>)
      -> tensor<{BATCH}x1x{WIDTH}xf32>
  {also}
  %one = nn.constant dense<1> : tensor<i64>
  %next = nn.add %p, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  nn.update @position, %next : tensor<i64>
  return %y : tensor<{BATCH}x1x{WIDTH}xf32>
}}
""")
    return "\n".join(lines)


def weights():
    random = np.random.default_rng(4)
    shapes = [(WIDTH, HEADS, DEPTH)] * 3 + [(HEADS, DEPTH, WIDTH)]
    return [random.standard_normal(shape, np.float32) / 4 for shape in shapes]


def tokens():
    random = np.random.default_rng(5)
    return random.standard_normal((LENGTH + 1, BATCH, 1, WIDTH), np.float32)


def attend(count):
    """What the last of `count` tokens gives, in double precision."""
    wq, wk, wv, wo = (w.astype(np.float64) for w in weights())
    x = tokens()[:count, :, 0]
    k = np.einsum("sbe,ehd->bhsd", x, wk)
    v = np.einsum("sbe,ehd->bhsd", x, wv)
    s = np.einsum("be,ehd,bhsd->bhs", x[-1], wq, k)
    a = np.exp(s - s.max(-1, keepdims=True))
    a /= a.sum(-1, keepdims=True)
    return np.einsum("bhs,bhsd,hdm->bm", a, v, wo)[:, None].astype(np.float32)


@pytest.fixture
def decode(divisi):
    """decode(COUNT, DEVICES, SPLIT) runs so many steps."""
    divisi.path("weights.bin").write_bytes(
        b"".join(w.tobytes() for w in weights()))
    np.savez(divisi.path("x.npz"), x=tokens())

    def run(count, devices, split="nothing", also="", **expected):
        write_program(divisi.path("m.mlir"), program(devices, split, also))
        divisi("compile", "m.mlir", "--devices", devices, "-o", "m.divisi")
        return divisi("run", "m.divisi", "--inputs", "x.npz", "--verbose",
                      "--repeat", count, "-o", "y.npz", **expected).err
    return run


def written(err):
    """Bytes written in place and copied, by device."""
    rows = [line.split() for line in err.splitlines()
            if "bytes of globals in place" in line]
    return [(int(row[5]), int(row[-1])) for row in rows]


@pytest.mark.sample("devices", "split")
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("devices", [1, 2, 3, 4])
def test_a_row_is_written_and_nothing_copied(divisi, decode, devices, split):
    for count in (1, 4, LENGTH):
        err = decode(count, devices, split)
        assert_close(load(divisi.path("y.npz")), {"y": attend(count)})
        rows = written(err)
        assert len(rows) == devices
        assert all(copied == 0 for _, copied in rows)
        parts = 1 if split == "nothing" else devices
        assert max(place for place, _ in rows) >= 2 * CACHE // parts


def test_the_planner_counts_no_second_cache(divisi, decode):
    """A limit that leaves room for the caches once is kept, and by little."""
    decode(1, 1)

    def device(*what):
        memory = json.loads(divisi("explain", *what, "--json").out)["memory"]
        return memory["per_device"][0] | {"all": memory["weight_bytes"]}

    # Kernels want more scratch than these caches have: of others nothing is
    # known.
    planned = device("m.mlir", "--cluster", "dgx-h100:1")
    assert planned["arena_bytes"] < CACHE
    # Keys and values are caches, and lie in the GPU's memory.
    assert 0 <= planned["own_bytes"] - planned["all"] < 2 * CACHE
    total = device("m.divisi")["total_bytes"]
    divisi("compile", "m.mlir", "--devices", 1, "--memory-limit", total,
           "-o", "m.divisi")
    divisi("compile", "m.mlir", "--devices", 1, "--memory-limit", total - 1,
           "-o", "m.divisi", exits=6)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_position_behind_the_end_is_a_bad_index(decode, devices):
    err = decode(LENGTH + 1, devices, "length", exits=4)
    assert (f"(nn.insert): index {LENGTH} at [] is outside of an extent of "
            f"{LENGTH}; expected {-LENGTH} to {LENGTH - 1}") in err


def test_a_cache_whose_old_value_is_needed_is_copied(divisi, decode):
    """By an operator that comes later: as many bytes as the keys have."""
    cache = f"tensor<{BATCH}x{HEADS}x{LENGTH}x{DEPTH}xf32>"
    err = decode(3, 1, "nothing", f"""
  %old = nn.reduce %old_k {{kind = "sum", axes = array<i64: 0, 1, 2, 3>}}
      : ({cache}) -> tensor<f32>
  nn.update @sum, %old : tensor<f32>""")
    assert_close(load(divisi.path("y.npz")), {"y": attend(3)})
    assert written(err) == [(CACHE + 8 + 4, CACHE)]
