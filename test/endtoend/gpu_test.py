"""On GPUs that are there (`make test-gpu`): the drawn kernels of the tests of
the emulator, models and random plans on as many as there are, twice to the bit,
how long they take, and how fast devices and links are. The same without a GPU:
test/emulator, cuda_test.py, profile_test.py."""

import json
import subprocess

import numpy as np
import pytest
from conftest import BUILD, assert_close, load, model
from cuda_test import MODELS, PLANS


def capabilities():
    """Of each GPU, as in `sm_90`."""
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=60)
    except OSError:
        return []
    return ["sm_" + line.strip().replace(".", "")
            for line in done.stdout.splitlines()] if not done.returncode else []


GPUS = sorted(capabilities(), key=lambda name: int(name[3:]))
DEVICES = {"one": 1, "found": 2, "four": 4, "uneven": 3}
pytestmark = [pytest.mark.as_written, pytest.mark.skipif(
    not GPUS, reason="nvidia-smi lists no GPU: nothing of this was run")]


@pytest.fixture
def compiled(divisi, monkeypatch):
    """compiled(model, flags) is an artifact for these GPUs."""
    monkeypatch.setenv("XDG_DATA_HOME", str(divisi.path("user")))

    def make(m, *flags, name="g.divisi", gpu=True):
        divisi("compile", m.onnx, *m.shapes, *flags,
               *(["--gpu", GPUS[0]] if gpu else []), "-o", name)
        return name

    return make


def test_drawn_kernels_give_what_the_reference_gives():
    program = BUILD / "bin" / "tests" / "cuda-on-gpu"
    if not program.exists():
        pytest.skip("cuda-on-gpu is not built: ninja gpu-tests, where "
                    "cublasLt.h and cudnn_graph.h are")
    done = subprocess.run([program, "--gtest_filter=-Emulated*"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    for line in done.stdout.splitlines():
        if line.startswith("counted: "):
            print(line)


def test_devices_and_links_are_measured(divisi):
    result = divisi("profile", "gpu", "--cluster-out", "m.yaml", "--json")
    divisi("cluster", "m.yaml")
    said = json.loads(result.out)
    for number in said["measurements"]:
        if "products" in number["what"] or "memory" in number["what"]:
            print(f"counted: {number['what']}: {number['value']:.4g} "
                  f"{number['unit']}")
    for note in said["notes"]:
        print(f"counted: {note}")


# Bytes that each member sends of a ring, by the time, as nccl-tests count them.
def test_collectives_between_gpus(divisi):
    if len(GPUS) < 2:
        pytest.skip("there is one GPU, and collectives take two")
    result = divisi("profile", "gpu", "--cluster-out", "m.yaml", "--json")
    said = json.loads(result.out)
    times = [number for number in said["measurements"]
             if number["what"].split()[0] in ("all_reduce", "all_gather",
                                              "reduce_scatter", "all_to_all")]
    if not times:
        pytest.skip("; ".join(note for note in said["notes"]
                              if "collectives" in note))
    for number in times:
        kind, _, members = number["what"].split()
        sent = number["bytes"] * (int(members) - 1) / int(members)
        sent *= 2 if kind == "all_reduce" else 1
        print(f"counted: {number['what']}, {number['bytes']} B: "
              f"{number['value'] / 1e3:.1f} us, {sent / number['value']:.2f} "
              "GB/s on the bus")


def median_ms(divisi, artifact, inputs, *flags):
    told = divisi("bench", artifact, "--inputs", inputs, "--json", *flags).out
    return np.median(json.loads(told)["runs"][0]["ns"]) / 1e6


def run(divisi, m, *flags):
    result = divisi("run", "g.divisi", "--inputs", m.inputs, "--verbose", "-o",
                    "out.npz", *flags)
    assert "by kernels of 'cuda': " in result.err
    return load(divisi.path("out.npz"))


def tell(divisi, what, m, compiled):
    host = compiled(m, "--devices", 1, name="h.divisi", gpu=False)
    print(f"counted: {what}: {median_ms(divisi, 'g.divisi', m.inputs):.3f} ms "
          f"on GPUs, {median_ms(divisi, host, m.inputs):.3f} ms on the host")


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", MODELS)
def test_models_give_what_they_have_to_twice(divisi, compiled, name, plan):
    if DEVICES[plan] > len(GPUS):
        pytest.skip(f"there are {len(GPUS)} GPUs, and the plan takes "
                    f"{DEVICES[plan]}")
    m = model(name)
    compiled(m, *PLANS[plan])
    first = run(divisi, m)
    assert_close(first, load(m.outputs))
    for key, values in run(divisi, m).items():
        assert values.tobytes() == first[key].tobytes()
    tell(divisi, f"{name}, {plan}", m, compiled)


@pytest.mark.parametrize("precision", ["f32", "tf32", "bf16"])
def test_gpt2_of_its_real_size(divisi, compiled, generated, precision):
    m = generated("gpt2.py", "--size", "small", "--seq", 128)
    lower = ["--precision", "bf16"] if precision == "bf16" else []
    rounds = ["--tf32"] if precision == "tf32" else []
    compiled(m, *lower)
    got, want = run(divisi, m, *rounds), load(m.outputs)
    if precision == "f32":
        assert_close(got, want)
    # What `divisi check` allows in bf16.
    for key, values in want.items():
        np.testing.assert_allclose(got[key], values, rtol=5e-2,
                                   atol=1.6e-2 * np.abs(values).max())
    print(f"counted: GPT-2 124M, 128 tokens, {precision}: "
          f"{median_ms(divisi, 'g.divisi', m.inputs, *rounds):.3f} ms")
