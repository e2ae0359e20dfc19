"""Programs without a pass that is not necessary compute the same, and have
something that the pass would have changed."""

import numpy as np
import pytest
from conftest import load, model
from quantized_models import MODELS as QUANTIZED

USAGE = 2
# A pass, a model that it changes, and the stage after which one sees that.
PASSES = {
    "nn-fuse-activations": ("bert", "import"),
    "nn-fuse-attention": ("gpt2", "import"),
    "nn-fold-scales": ("resnet", "import"),
    "nn-move-codes": (None, "import"),
    "nn-integer-products": (None, "import"),
    "choose-formats": ("resnet", "lower"),
}


def compile_dumped(divisi, name, stage, *arguments):
    divisi("compile", *arguments, "--devices", 2, "-o", f"{name}.divisi",
           "--dump-after", stage, "--dump-to", name)
    [dump] = divisi.path(name).glob("*.mlir")
    return dump.read_text(encoding="utf-8")


@pytest.mark.parametrize("left", PASSES)
def test_a_pass_is_left_out(divisi, left):
    name, stage = PASSES[left]
    if name:
        m = model(name)
        arguments, inputs = [m.onnx, *m.shapes], m.inputs
    else:
        shape = next(iter(QUANTIZED.values()))(divisi.path("m.onnx"))
        x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
        np.savez(divisi.path("x.npz"), x=x)
        arguments, inputs = ["m.onnx"], "x.npz"
    results = []
    texts = [compile_dumped(divisi, "all", stage, *arguments),
             compile_dumped(divisi, "less", stage, *arguments,
                            "--leave-out", left)]
    if not name and "_integer" not in texts[0]:
        pytest.skip("this processor does not multiply bytes")
    assert texts[0] != texts[1]
    for program in ("all", "less"):
        divisi("run", f"{program}.divisi", "--inputs", inputs, "-o", "y.npz")
        results.append(load(divisi.path("y.npz")))
    # A code that lies between two is one step off.
    tolerance = 1e-4 if name else .03
    for key, value in results[0].items():
        assert np.abs(value - results[1][key]).max() <= (
            tolerance * np.abs(value).max())


def test_what_has_to_run_is_not_left_out(divisi):
    m = model("gpt2")
    err = divisi("compile", m.onnx, "-o", "o", "--leave-out",
                 "choose-formats,lower-to-exec", exits=USAGE).err
    assert ("--leave-out 'lower-to-exec': expected some of "
            "nn-fuse-activations, nn-fuse-attention, ") in err
