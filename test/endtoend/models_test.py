"""Real models, planned in every way, against what their framework computed.

The sample takes each model, and each plan; the sweep takes all models through all
plans at 1, 2, 3, 4 and 8 devices.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import assert_close, light_model, load, model

MODELS = ["gpt2", "bert", "llama", "t5", "vit", "resnet", "segformer"]
LIGHT = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2",
         "resnet50", "shufflenet", "squeezenet", "vgg19", "zfnet512"]
DEVICES = [1, 2, 3, 4, 8]
RANDOM_PLANS = 20


@dataclass(frozen=True)
class Plan:
    name: str
    devices: int

    def flags(self):
        flags = ["--devices", self.devices]
        if self.name == "data":
            flags += ["--data-parallel-size", self.devices]
        if self.name == "tensor":
            flags += ["--tensor-parallel-size", self.devices]
        if self.name == "mesh":
            flags += ["--mesh", "2x2"]
        return flags

    def __str__(self):
        return f"{self.name}-{self.devices}"


PLANS = [Plan(name, devices) for devices in DEVICES
         for name in ("found", "data", "tensor")] + [Plan("mesh", 4)]
SAMPLE_RANDOM = {("gpt2", 4): 3, ("llama", 3): 2, ("resnet", 2): 3,
                 ("vit", 8): 2}


def random_cases():
    for name in MODELS:
        for devices in DEVICES[1:]:
            sample = SAMPLE_RANDOM.get((name, devices))
            if sample:
                yield pytest.param(name, devices, sample,
                                   id=f"{name}-{devices}-sample")
            yield pytest.param(name, devices, RANDOM_PLANS,
                               marks=pytest.mark.whole, id=f"{name}-{devices}")


@pytest.mark.sample("name", "kind")
@pytest.mark.parametrize("kind, plan", [
    pytest.param(plan.name, plan, id=str(plan)) for plan in PLANS])
@pytest.mark.parametrize("name", MODELS)
def test_compiled_model_computes_what_is_expected(divisi, name, kind, plan):
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, *plan.flags(), "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)


@pytest.mark.as_written
@pytest.mark.sample(least=2)
@pytest.mark.parametrize("name, devices, plans", list(random_cases()))
def test_random_plans_compute_what_is_expected(divisi, name, devices, plans):
    m = model(name)
    divisi("check", m.onnx, *m.shapes, "--devices", devices,
           "--random-plans", plans, "--seed", 1,
           "--inputs", m.inputs, "--expect", m.outputs)


@pytest.mark.parametrize("name", ["gpt2", "resnet"])
def test_run_agrees_by_a_comparison_of_our_own(divisi, name):
    """`check` compares with the program's code; this with numpy."""
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, "--devices", 3, "-o", "m.divisi")
    divisi("run", "m.divisi", "--inputs", m.inputs, "-o", "y.npz")
    assert_close(load(divisi.path("y.npz")), load(m.outputs))


@pytest.mark.as_written
@pytest.mark.parametrize("devices", [4, 8])
def test_twelve_heads_over_any_number_of_devices(divisi, generated, devices):
    """Unevenly over 8 devices, or over 4 of them."""
    m = generated("gpt2.py", "--size", "tiny", "--batch", 2, "--seq", 16)
    divisi("compile", m.onnx, "--devices", devices,
           "--tensor-parallel-size", devices, "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)


@pytest.mark.parametrize("plan", [Plan("found", 2), Plan("data", 3),
                                  Plan("tensor", 4)], ids=str)
def test_mlp(divisi, generated, plan):
    m = generated("mlp.py", "--widths", "70,90,50", "--batch", 10)
    divisi("compile", m.onnx, *plan.flags(), "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)


@pytest.mark.whole
@pytest.mark.parametrize("devices", [1, 3, 4])
@pytest.mark.parametrize("name", LIGHT)
def test_light_cnn_found_plan(divisi, name, devices):
    m = light_model(name)
    divisi("compile", m.onnx, "--devices", devices, "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)
    divisi.path("m.divisi").unlink()


@pytest.mark.whole
@pytest.mark.parametrize("devices", [3, 4])
@pytest.mark.parametrize("name", LIGHT)
def test_light_cnn_random_plans(divisi, name, devices):
    m = light_model(name)
    divisi("check", m.onnx, "--devices", devices, "--random-plans", 3,
           "--seed", 1, "--inputs", m.inputs, "--expect", m.outputs)


def test_external_weights_stay_in_the_model(divisi):
    """The artifact names the model's file, which must lie beneath it."""
    m = model("gpt2")
    divisi.path("gpt2.onnx").write_bytes(Path(m.onnx).read_bytes())
    flags = (*m.shapes, "--devices", 2, "--weights", "external")
    divisi("compile", "gpt2.onnx", *flags, "-o", "m.divisi")
    # The weights have half a megabyte.
    assert divisi.path("m.divisi").stat().st_size < 100_000
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)
    divisi.path("apart").mkdir()
    divisi("compile", "gpt2.onnx", *flags, "-o", "apart/m.divisi", exits=2)
    assert not divisi.path("apart/m.divisi").exists()
