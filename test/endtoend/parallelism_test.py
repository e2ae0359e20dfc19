"""explain says in the field's words what a plan does: data, tensor, sequence
and expert parallelism, FSDP, by the products with weights."""

import json

import numpy as np
import pytest
from conftest import model
from written_programs import write_program

pytestmark = pytest.mark.as_written

TRAIN = ("--train", "--loss", "cross_entropy", "--optimizer", "adamw", "--lr",
         "1e-3", "--devices", 4)


def words(divisi, *arguments):
    said = json.loads(divisi("explain", *arguments, "--json").out)
    found = [grid.get("parallelism", "") for grid in said["grids"]]
    text = divisi("explain", *arguments, "--summary").out
    assert all(part in text for part in found)
    return found


@pytest.mark.parametrize("flags, wanted", [
    (("--devices", 4, "--data-parallel-size", 4), "DP 4"),
    (("--devices", 4, "--tensor-parallel-size", 4), "TP 4"),
    (("--mesh", "data=2,model=2"), "DP 2, TP 2"),
    (("--devices", 1), ""),
    ((*TRAIN, "--zero", 0), "DP 4"),
    ((*TRAIN, "--zero", 3), "FSDP (ZeRO-3) 4"),
])
def test_degrees_have_their_names(divisi, flags, wanted):
    m = model("classifier")
    assert words(divisi, m.onnx, *m.shapes, *flags) == [wanted]


@pytest.mark.parametrize("split, wanted", [
    ("a@x", "DP 2"), ("m@x", "SP 2"), ("n@x", "TP 2"), ("k@x", "TP 2"),
    ("e@x", "EP 2"), ("", "unused by products 2")])
def test_a_split_of_a_product_is_named(divisi, split, wanted):
    """x[a, e, m, k] w[e, k, n], by experts."""
    x, w, y = (f"tensor<{shape}xf32>" for shape in
               ("4x2x6x8", "2x8x10", "4x2x6x10"))
    divisi.path("w.bin").write_bytes(np.zeros((2, 8, 10), np.float32).tobytes())
    at = f": {split}" if split else ""
    write_program(divisi.path("m.mlir"), f"""
spmd.grid @g (x = 2)
nn.global @w parameter : {w} from "w.bin" [0, 640]
func.func @f(%x: {x} {{nn.name = "x"}}) -> ({y} {{nn.name = "y"}}) {{
  %w = nn.read @w : {w}
  %y = nn.matmul %x, %w {{labels = "aemk,ekn->aemn",
      spmd.split = #spmd.split<@g{at}>}} : ({x}, {w}) -> {y}
  return %y : {y}
}}
""")
    assert words(divisi, "m.mlir", "--devices", 2) == [wanted]
