"""Programs without a pass that is not necessary compute the same, and have
something that the pass would have changed."""

import numpy as np
import onnx
import pytest
from conftest import load, model
from quantized_models import MODELS as QUANTIZED

USAGE = 2
# A pass, a model that it changes, and the stage after which one sees that.
PASSES = {
    "apply-rules": ("gpt2", "import"),
    "nn-fuse-attention": ("gpt2", "import"),
    "nn-fold-scales": ("normalized", "import"),
    "nn-move-codes": ("quantized", "import"),
    "nn-integer-products": ("quantized", "import"),
    "choose-formats": ("resnet", "lower"),
}


def normalized(path):
    """A convolution, and what batch norm does with its result."""
    draw = np.random.default_rng(3)
    tensors = {"w": draw.standard_normal((8, 4, 3, 3)),
               **{name: draw.uniform(.5, 2, 8)
                  for name in ("scale", "shift", "mean", "variance")}}
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Conv", ["x", "w"], ["c"]),
         onnx.helper.make_node("BatchNormalization",
                               ["c", "scale", "shift", "mean", "variance"],
                               ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, (2, 4, 9, 9))],
        [onnx.helper.make_tensor_value_info("y", 1, (2, 8, 7, 7))],
        [onnx.numpy_helper.from_array(array.astype(np.float32), name)
         for name, array in tensors.items()])
    onnx.save(onnx.helper.make_model(
        graph, ir_version=10,
        opset_imports=[onnx.helper.make_opsetid("", 20)]), path)
    return 2, 4, 9, 9


MADE = {"normalized": normalized,
        "quantized": next(iter(QUANTIZED.values()))}


def compile_dumped(divisi, name, stage, *arguments):
    divisi.path(name).mkdir()
    divisi("compile", *arguments, "--devices", 2, "-o", f"{name}.divisi",
           "--dump-after", stage, "--dump-to", name)
    [dump] = divisi.path(name).glob("*.mlir")
    return dump.read_text(encoding="utf-8")


@pytest.mark.parametrize("left", PASSES)
def test_a_pass_is_left_out(divisi, left):
    name, stage = PASSES[left]
    if name not in MADE:
        m = model(name)
        arguments, inputs = [m.onnx, *m.shapes], m.inputs
    else:
        shape = MADE[name](divisi.path("m.onnx"))
        x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
        np.savez(divisi.path("x.npz"), x=x)
        arguments, inputs = ["m.onnx"], "x.npz"
    results = []
    texts = [compile_dumped(divisi, "all", stage, *arguments),
             compile_dumped(divisi, "less", stage, *arguments,
                            "--leave-out", left)]
    if name == "quantized" and "_integer" not in texts[0]:
        pytest.skip("this processor does not multiply bytes")
    assert texts[0] != texts[1]
    for program in ("all", "less"):
        divisi("run", f"{program}.divisi", "--inputs", inputs, "-o", "y.npz")
        results.append(load(divisi.path("y.npz")))
    # A code that lies between two is one step off.
    tolerance = .03 if name == "quantized" else 1e-4
    for key, value in results[0].items():
        assert np.abs(value - results[1][key]).max() <= (
            tolerance * np.abs(value).max())


def test_what_has_to_run_is_not_left_out(divisi):
    m = model("gpt2")
    err = divisi("compile", m.onnx, "-o", "o", "--leave-out",
                 "choose-formats,lower-to-exec", exits=USAGE).err
    assert ("--leave-out 'lower-to-exec': expected some of "
            "apply-rules, nn-fuse-attention, ") in err
