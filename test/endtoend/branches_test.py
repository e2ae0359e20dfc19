"""Branches of a model beside each other, each on a part of the devices."""

import json
import random
import re

import numpy as np
import onnx
import pytest
from conftest import ROOT, assert_close, load, run_python
from launched import needs_mpi
from onnx import TensorProto, helper, numpy_helper
from train_test import package

USAGE = 2
BRANCHES = ("--branch-parallel", "auto")


@pytest.fixture
def slow(divisi):
    """Of so many processors, that take long to begin an operator."""
    def make(devices):
        text = divisi("cluster", f"cpu:{devices}").out
        path = divisi.path(f"slow{devices}.yaml")
        path.write_text(re.sub(r"(launch_nanoseconds:) *\d+", r"\1 50000", text))
        return path
    return make


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("branches")
    lines = {
        "towers": ("towers.py", "--widths", "128,256,256,64"),
        "three towers": ("towers.py", "--widths", "64,256,64", "--towers", "3"),
        "inception": ("inception.py", "--image", "32", "--blocks", "2",
                      "--width", "32", "--classes", "10")}
    made = {}
    for name, (script, *options) in lines.items():
        made[name] = folder / f"{name}.onnx"
        run_python(ROOT / "models" / script, *options, "-o", made[name])
    return made


def inputs_of(path):
    draw = np.random.default_rng(3)
    model = onnx.load(path, load_external_data=False)
    return {value.name: draw.standard_normal(
        [dim.dim_value for dim in value.type.tensor_type.shape.dim],
        dtype=np.float32) for value in model.graph.input}


def grids_of(divisi, dump):
    """The devices of each grid that operators are on."""
    text = divisi.path(dump).read_text()
    found = re.findall(r"spmd\.grid @(\w+) \(([^)]*)\)"
                       r"(?: devices \[([^]]*)\])?", text)
    count = {name: np.prod([int(n) for n in re.findall(r"= (\d+)", axes)] or
                           [1], dtype=int) for name, axes, _ in found}
    return {name: [int(d) for d in devices.split(",")] if devices
            else list(range(count[name])) for name, _, devices in found}


def time_of(divisi, dump, model):
    [entry] = json.loads(divisi("simulate", dump, "--data", model,
                                "--json").out)["entries"]
    return entry["nanoseconds"]


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("name, devices", [
    ("towers", 2), ("towers", 3), ("towers", 4), ("towers", 8),
    ("three towers", 2), ("three towers", 3), ("three towers", 6),
    ("inception", 2), ("inception", 3), ("inception", 4)])
def test_results_are_those_of_one_device(divisi, models, slow, name, devices):
    """And the plan takes less time than that on one grid, which is no other
    without the option."""
    onnx_file = models[name]
    np.savez(divisi.path("x.npz"), **inputs_of(onnx_file))
    cluster = ("--cluster", slow(devices))
    for dump, flags in {"whole": (), "parts": BRANCHES}.items():
        divisi("plan", onnx_file, *cluster, *flags, "-o", f"{dump}.mlir")
    assert len(grids_of(divisi, "whole.mlir")) == 1
    grids = grids_of(divisi, "parts.mlir")
    assert len(grids) > 1
    assert set().union(*grids.values()) <= set(range(devices))
    times = [time_of(divisi, f"{dump}.mlir", onnx_file)
             for dump in ("whole", "parts")]
    assert times[1] < 0.95 * times[0]
    divisi("compile", "parts.mlir", "--data", onnx_file, "-o", "m.divisi")
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    divisi("compile", onnx_file, "-o", "one.divisi")
    divisi("check", "one.divisi", "--inputs", "x.npz", "--expect", "y.npz")


def losses_of(divisi, onnx_file, flags, steps=3):
    [first, *_] = outputs = [v.name for v in onnx.load(onnx_file).graph.output]
    assert len(outputs) == 1
    divisi("compile", onnx_file, "--train", "--loss-of", first, "--loss", "mse",
           "--labels", "wanted", "--optimizer", "sgd", "--lr", "1e-6", *flags,
           "-o", "m.divisi")
    session = package.Session(package.load(divisi.path("m.divisi")))
    data = inputs_of(onnx_file)
    data["wanted"] = np.zeros([32, 32], np.float32)
    losses = [float(session.run(data)["loss"]) for _ in range(steps)]
    names = {weight.name for weight in onnx.load(onnx_file).graph.initializer}
    return losses, {name: np.array(session.state[name])
                    for name in session.state if name in names}


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("devices", [2, 4])
def test_steps_are_those_of_one_device(divisi, models, slow, devices):
    losses, states = losses_of(divisi, models["towers"],
                               ("--cluster", slow(devices), *BRANCHES))
    expected, whole = losses_of(divisi, models["towers"], ())
    np.testing.assert_allclose(losses, expected, 1e-4)
    assert states.keys() == whole.keys() and len(whole) > 4
    for name, value in whole.items():
        np.testing.assert_allclose(states[name], value, 1e-3, 1e-5, name)


def drawn(seed):
    """A model of layers that read some of those before them."""
    draw = random.Random(seed)
    values = np.random.default_rng(seed)
    nodes, weights, made = [], [], ["x"]
    for i in range(draw.randint(6, 12)):
        a, b = draw.choice(made[-4:]), draw.choice(made[-4:])
        if a != b and draw.random() < 0.4:
            nodes.append(helper.make_node("Add", [a, b], [f"h{i}"],
                                          name=f"/add{i}"))
        else:
            weights.append(numpy_helper.from_array(
                values.standard_normal((96, 96)).astype(np.float32) / 10,
                f"w{i}"))
            nodes.append(helper.make_node("MatMul", [a, f"w{i}"], [f"p{i}"],
                                          name=f"/product{i}"))
            nodes.append(helper.make_node("Tanh", [f"p{i}"], [f"h{i}"],
                                          name=f"/tanh{i}"))
        made.append(f"h{i}")
    read = {name for node in nodes for name in node.input}
    ends = [name for name in made[1:] if name not in read]

    def value(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, (24, 96))
    return helper.make_model(
        helper.make_graph(nodes, "drawn", [value("x")],
                          [value(name) for name in ends], weights),
        opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("seed", range(20))
def test_models_drawn_at_random(divisi, slow, seed):
    onnx.save(drawn(seed), divisi.path("m.onnx"))
    np.savez(divisi.path("x.npz"), **inputs_of(divisi.path("m.onnx")))
    divisi("compile", "m.onnx", "--cluster", slow(2 + seed % 3), *BRANCHES,
           "-o", "m.divisi")
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    divisi("compile", "m.onnx", "-o", "one.divisi")
    divisi("run", "one.divisi", "--inputs", "x.npz", "-o", "z.npz")
    assert_close(load(divisi.path("y.npz")), load(divisi.path("z.npz")))


@needs_mpi
def test_processes_give_the_bits_of_threads(divisi, models, slow):
    np.savez(divisi.path("x.npz"), **inputs_of(models["towers"]))
    divisi("compile", models["towers"], "--cluster", slow(2), *BRANCHES, "-o",
           "m.divisi")
    line = ("run", "m.divisi", "--inputs", "x.npz", "-o")
    divisi(*line, "a.npz")
    divisi(*line, "b.npz", "--launch", 2)
    one, other = (load(divisi.path(f"{a}.npz")) for a in "ab")
    for key, value in one.items():
        np.testing.assert_array_equal(value, other[key], key)


@pytest.mark.parametrize("flags, count", [
    ((), 3), (("--branch-parallel", "off"), 1)])
def test_a_plan_is_made_again(divisi, models, slow, flags, count):
    """--replan divides devices among branches again, unless it is told not
    to."""
    divisi("plan", models["towers"], "--cluster", slow(2), *BRANCHES,
           "--rewrite", "off", "-o", "p.mlir")
    before = grids_of(divisi, "p.mlir")
    told = divisi("plan", "p.mlir", "--data", models["towers"], "--replan",
                  *flags, "-o", "q.mlir").err
    assert ("--branch-parallel auto" in told) == (not flags), told
    after = grids_of(divisi, "q.mlir")
    assert len(after) == 1 if flags else after == before


@pytest.mark.parametrize("flags, message", [
    (("--data-parallel-size", 2), "--replan: the degrees of parallelism that "
     "the plan was made with are those of all devices, which it divides among "
     "branches; give --tensor-parallel-size or --data-parallel-size again")])
def test_degrees_are_those_of_all_devices(divisi, models, slow, flags, message):
    divisi("plan", models["towers"], "--cluster", slow(4), *BRANCHES, *flags,
           "--rewrite", "off", "-o", "p.mlir")
    told = divisi("plan", "p.mlir", "--data", models["towers"], "--replan",
                  "-o", "q.mlir").err
    assert (message in told) == (len(grids_of(divisi, "p.mlir")) > 1), told


def test_equal_options_give_equal_bytes(divisi, models, slow):
    for name in ("a", "b"):
        divisi("compile", models["towers"], "--cluster", slow(4), *BRANCHES,
               "-o", f"{name}.divisi")
    assert divisi.path("a.divisi").read_bytes() == \
        divisi.path("b.divisi").read_bytes()


def test_no_more_is_held_than_devices_have(divisi, models, slow):
    """A tower's weights fit on devices that share them, not on one."""
    divisi("plan", models["towers"], "--cluster", slow(2), "--memory-limit",
           "700KiB", *BRANCHES, "-o", "p.mlir")
    assert len(grids_of(divisi, "p.mlir")) == 1
    divisi("plan", models["towers"], "--cluster", slow(2), *BRANCHES, "-o",
           "p.mlir")
    assert len(grids_of(divisi, "p.mlir")) > 1


@pytest.mark.parametrize("flags, message", [
    (("--branch-parallel", "both"),
     "--branch-parallel 'both': expected auto or off"),
    ((*BRANCHES, "--pipeline-parallel-size", 2, "--devices", 2),
     "divides devices among branches, and --pipeline-parallel-size among "
     "layers; leave one of them out"),
    ((*BRANCHES, "--solver", "random"),
     "compares plans, and the solver random draws one; leave one of them out"),
])
def test_says_what_does_not_go_together(divisi, models, flags, message):
    assert message in divisi("plan", models["towers"], *flags, "-o", "p.mlir",
                             exits=USAGE).err


def test_strategies_that_are_there_are_not_divided(divisi, models):
    divisi("plan", models["towers"], "--devices", 2, "-o", "p.mlir")
    assert "--branch-parallel is decided already" in divisi(
        "plan", "p.mlir", "--data", models["towers"], *BRANCHES, "-o",
        "q.mlir", exits=USAGE).err
