"""Memory of training steps: where their states rest, and what of the forward
pass is computed again instead of kept."""

import json
import re
import sys

import numpy as np
import onnx
import pytest
from conftest import ROOT
from onnx import TensorProto, helper, numpy_helper
from share import is_sweep

sys.path.insert(0, str(ROOT / "python"))
import divisi as package  # noqa: E402

pytestmark = pytest.mark.as_written

USAGE = 2
STEP = ("--train", "--loss", "cross_entropy", "--optimizer", "adamw", "--lr",
        0.001)
MIB = 1 << 20


def states(result):
    """Bytes a parameter: of parameters, gradients and the optimizer."""
    said = re.search(r"a device keeps ([\d.]+) bytes of states a parameter: "
                     r"parameters ([\d.]+), gradients ([\d.]+), states of the "
                     r"optimizer ([\d.]+)", result.err)
    assert said, result.report("nothing is said of states")
    total, *parts = map(float, said.groups())
    assert abs(total - sum(parts)) < 0.02
    return parts


def predicted(divisi, name):
    text = divisi.path(name).read_text()
    return int(re.search(r" nanoseconds = (\d+) : i64, peak_bytes",
                         text).group(1))


def held(result):
    """Mebibytes per device."""
    return float(re.search(r"a run needs ([\d.]+) MiB per device",
                           result.err).group(1))


@pytest.fixture(scope="module")
def tiny(generated):
    return generated("gpt2.py", "--size", "tiny", "--batch", 8, "--seq", 16)


# Of N devices: AdamW in f32 keeps 4 + 4 + 8 bytes, each of which may be split.
@pytest.mark.sample("devices", first=True)
@pytest.mark.parametrize("devices", [4, 2])
@pytest.mark.parametrize("zero, split", [
    ("0", (1, 1, 1)), ("1", (1, 1, 0)), ("2", (1, 0, 0)), ("3", (0, 0, 0)),
    ("1,2,4", None)])
def test_stages_keep_what_is_known_of_them(divisi, tiny, zero, split, devices):
    if split:
        over = [1 if whole else devices for whole in split]
    else:
        over = [min(int(n), devices) for n in zero.split(",")]
    found = states(divisi("plan", tiny.onnx, *STEP, "--devices", devices,
                          "--zero", zero, "-o", "p.mlir"))
    expected = [full / n for full, n in zip((4, 4, 8), over)]
    assert found == pytest.approx(expected, rel=0.03)


def shared_weight(path, uses):
    """One matrix, as large as all that there is, used so many times."""
    size = 64
    nodes = [helper.make_node(kind, given, [made], name=made)
             for i in range(uses) for kind, given, made in (
                 ("MatMul", [f"h{i}", "w"], f"p{i}"),
                 ("Tanh", [f"p{i}"], f"h{i + 1}"))]
    weight = np.random.default_rng(0).standard_normal((size, size), np.float32)
    onnx.save(helper.make_model(helper.make_graph(
        nodes, "g", *([helper.make_tensor_value_info(
            name, TensorProto.FLOAT, (16, size))] for name in ("h0", f"h{uses}")),
        [numpy_helper.from_array(weight / 8, "w")]), ir_version=10,
        opset_imports=[helper.make_opsetid("", 20)]), path)


@pytest.mark.sample("zero", "uses", first=True)
@pytest.mark.parametrize("batches", [1, 2, 8])
@pytest.mark.parametrize("optimizer, states_of", [("adamw", 8), ("sgd", 0)])
@pytest.mark.parametrize("uses", [5, 2])
@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_a_weight_that_is_used_several_times_has_one_gradient(
        divisi, zero, uses, optimizer, states_of, batches):
    """The sum of what its uses make is kept, whole or in parts."""
    shared_weight(divisi.path("m.onnx"), uses)
    found = states(divisi(
        "plan", "m.onnx", "--train", "--loss", "mse", "--optimizer", optimizer,
        "--lr", 0.1, "--devices", 4, "--data-parallel-size", 4, "--zero", zero,
        "--micro-batches", batches, "--pipeline-parallel-size", 1, "-o",
        "p.mlir"))
    over = [4 if zero >= stage else 1 for stage in (3, 2, 1)]
    expected = [full / n for full, n in zip((4, 4, states_of), over)]
    assert found == pytest.approx(expected, rel=0.03)


@pytest.mark.sample("zero", first=True)
@pytest.mark.parametrize("zero, split", [
    ("2", (1, 2, 2)), ("0", (1, 1, 1)), ("1", (1, 1, 2)), ("3", (2, 2, 2))])
def test_loops_of_micro_batches_keep_the_same(divisi, tiny, zero, split):
    """Weights reach the loop as arguments, and gradients are what it carries."""
    loop = ("--epsilon", 1e-3, "--micro-batches", 40,
            "--pipeline-parallel-size", 1)
    divisi("compile", tiny.onnx, *STEP, *loop, "-o", "one.divisi")
    found = states(divisi(
        "compile", tiny.onnx, *STEP, *loop, "--devices", 2,
        "--data-parallel-size", 2, "--zero", zero, "-o", "two.divisi"))
    expected = [full / n for full, n in zip((4, 4, 8), split)]
    assert found == pytest.approx(expected, rel=0.03)
    random = np.random.default_rng(0)
    data = {name: random.integers(0, 100, (320, 16))
            for name in ("input_ids", "labels")}
    one, two = (weights_after(divisi, path, data)
                for path in ("one.divisi", "two.divisi"))
    for name, value in one.items():
        np.testing.assert_allclose(two[name], value, 1e-3, 1e-5, name)


def weights_after(divisi, path, data):
    session = package.Session(package.load(divisi.path(path)))
    for _ in range(3):
        session.run(data)
    return {name: np.array(session.state[name]) for name in session.state
            if f"{name}.mean" in session.state}


def test_a_limit_finds_the_last_stage(divisi, tiny):
    """Far below what replicated states take, 16 bytes a parameter."""
    free = divisi("plan", tiny.onnx, *STEP, "--devices", 4, "--zero", 0, "-o",
                  "p.mlir")
    tight = divisi("plan", tiny.onnx, *STEP, "--devices", 4, "--memory-limit",
                   "2.2MiB", "-o", "t.mlir")
    assert held(tight) <= 2.2 < held(free) / 2
    assert sum(states(tight)) < 16 / 3


MISUSES = [
    (["--zero", 4], "ZeRO '4': expected a stage from 0 to 3, or over how many "
     "devices parameters, gradients and states of the optimizer are split, as "
     "in 8,8,64"),
    (["--zero", "8,8"], "ZeRO '8,8': expected a stage from 0 to 3"),
    (["--zero", "8,0,8"], "ZeRO '8,0,8': expected a stage from 0 to 3"),
    (["--zero", "3,1,4", "--devices", 4], "ZeRO over 3 devices: 4 are no "
     "multiple of them; give a number that divides 4, or 4 itself"),
    (["--zero", 1, "--mesh", "2x2"],
     "ZeRO splits states over axes of data, and the grid has none; name one in "
     "--mesh, as in data=8, or leave that out"),
    (["--recompute", "some"], "--recompute 'some': expected auto, none or full"),
]


@pytest.mark.parametrize("flags, message", MISUSES)
def test_misuse_is_told(divisi, tiny, flags, message):
    assert message in divisi("plan", tiny.onnx, *STEP, *flags, "-o", "p.mlir",
                             exits=USAGE).err


def test_nothing_is_split_without_data_parallelism(divisi, tiny):
    divisi("plan", tiny.onnx, *STEP, "--zero", 0, "--data-parallel-size", 1,
           "--tensor-parallel-size", 2, "-o", "p.mlir")


def test_states_are_those_of_steps(divisi, tiny):
    assert ("ZeRO is for training steps, and the module updates no parameter "
            "by a gradient; leave --zero out, or add --train" in
            divisi("plan", tiny.onnx, "--devices", 2, "--zero", 1, "-o",
                   "p.mlir", exits=USAGE).err)


def run(divisi, path, data, steps=3):
    session = package.Session(package.load(divisi.path(path)))
    losses = [session.run(data)["loss"].tobytes() for _ in range(steps)]
    weights = {n: np.array(session.state[n]).tobytes() for n in session.state}
    return losses, weights


@pytest.fixture(scope="module")
def large(generated):
    """Activations are most of what its step holds."""
    return generated("gpt2.py", "--size", "tiny", "--layers", 3, "--vocabulary",
                     64, "--batch", 16, "--seq", 64)


@pytest.mark.parametrize("flag", [["--precision", "f16"], ["--skip-nonfinite"]])
def test_all_is_recomputed_where_steps_may_be_skipped(divisi, large, flag):
    """Whether one is skipped is an output that follows from gradients."""
    held = []
    for choice in ("none", "full"):
        facts = divisi("explain", large.onnx, *STEP, *flag, "--recompute", choice,
                       "--rewrite", "off", "--json")
        [device] = json.loads(facts.out)["memory"]["per_device"]
        held.append(device["total_bytes"])
    assert held[1] < 0.95 * held[0]


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("devices", [1, 2])
def test_less_is_kept_and_the_bits_stay(divisi, large, devices):
    """A plan fits within states + 60 % of the activations, where all that is
    kept does not; at the same strategies it computes the same bits."""
    flags = [large.onnx, *STEP, "--devices", devices, "--native", "off",
             "--rewrite", "off"]
    compiled = divisi("compile", *flags, "--recompute", "none", "--dump-after",
                      "plan", "-o", "none.divisi")
    divisi.path(f"{large.name}.plan.mlir").rename(divisi.path("none.mlir"))
    most = held(divisi("plan", "none.mlir", "-o", "again.mlir"))
    elements = int(re.search(r"of (\d+) elements", compiled.err).group(1))
    kept = 16 * elements / MIB
    limit = kept + 0.6 * (most - kept)
    said = divisi("compile", *flags, "--memory-limit", f"{limit:.3f}MiB",
                  "--dump-after", "plan", "-o", "auto.divisi")
    divisi.path(f"{large.name}.plan.mlir").rename(divisi.path("auto.mlir"))
    assert "operators of the forward pass run again in the backward pass" in \
        said.err
    assert held(divisi("plan", "auto.mlir", "-o", "again.mlir")) <= limit < most
    best = predicted(divisi, "none.mlir")
    assert best < predicted(divisi, "auto.mlir") <= 1.35 * best
    data = dict(np.load(large.inputs))
    random = np.random.default_rng(0)
    data["labels"] = random.integers(0, 64, next(iter(data.values())).shape)
    again, once = (run(divisi, name, data)
                   for name in ("auto.divisi", "none.divisi"))
    if devices == 1:
        assert again == once
    # A limit may let other strategies win, which sum in another order.
    np.testing.assert_allclose(np.frombuffer(b"".join(again[0]), np.float32),
                               np.frombuffer(b"".join(once[0]), np.float32),
                               rtol=1e-5)


def test_micro_batches_of_a_pipeline_follow_each_other(divisi, tiny):
    """1F1B holds as many as there are stages, however many there are, and of
    their gradients the sum."""
    held_by = []
    for count in (6, 24):
        held_by.append(held(divisi(
            "compile", tiny.onnx, *STEP, "--pipeline-parallel-size", 2,
            "--schedule", "1f1b", "--micro-batches", count, "-o", "m.divisi")))
    assert held_by[1] < 1.1 * held_by[0], held_by


def test_micro_batches_of_one_stage_follow_each_other(divisi, tiny):
    """One is held at a time, and of their gradients the sum."""
    held_by = [held(divisi("compile", tiny.onnx, *STEP, "--micro-batches", count,
                           "--pipeline-parallel-size", 1, "-o", "m.divisi"))
               for count in (2, 12)]
    assert held_by[1] < 1.1 * held_by[0], held_by


@pytest.mark.parametrize("count", [3, 9])
def test_micro_batches_of_one_stage_are_computed_again(divisi, large, count):
    """Each from what is kept of it, as a step of one is."""
    held = []
    for choice in ("none", "full"):
        facts = divisi("explain", large.onnx, *STEP, "--micro-batches", count,
                       "--pipeline-parallel-size", 1, "--recompute", choice,
                       "--rewrite", "off", "--json")
        [device] = json.loads(facts.out)["memory"]["per_device"]
        held.append(device["total_bytes"])
    assert held[1] < 0.8 * held[0], held


# Products of all pairs of positions would be 48 MiB at 1,024 of them, 12 at half
# as many; what is kept of a position is about 90 KiB.
def test_attention_stores_no_products(divisi, generated):
    def needs(positions):
        m = generated("gpt2.py", "--size", "small", "--layers", 1,
                      "--vocabulary", 64, "--batch", 1, "--seq", positions,
                      "--weightless")
        return held(divisi("plan", m.onnx, *STEP, "--devices", 1, "-o",
                           f"{positions}.mlir"))
    assert needs(1024) - needs(512) < 60
