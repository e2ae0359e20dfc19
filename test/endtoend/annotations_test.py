"""Annotations of ONNX for several devices, read as constraints on the plan."""

import os
import re
import subprocess

import onnx
import pytest
from conftest import ROOT
from export_test import gpt2, perceptron, save

USAGE, CONTENT, UNSUPPORTED = 2, 4, 5
MLP = ["up", "relu", "down"]


def shard(tensor, devices, *dims, groups=None):
    """A ShardingSpecProto; dims are (axis, shards) or (axis, [(extent, shards)])."""
    spec = onnx.ShardingSpecProto(tensor_name=tensor, device=devices)
    for key, members in (groups or {}).items():
        spec.index_to_device_group_map.add(key=key, value=members)
    for axis, shards in dims:
        dim = spec.sharded_dim.add(axis=axis)
        for extent, count in ([(None, shards)] if isinstance(shards, int)
                              else shards):
            dim.simple_sharding.add(dim_value=extent, num_shards=count)
    return spec


def annotate(path, devices, nodes, stages=None, name="conf"):
    """Annotates nodes, by their names: lists of ShardingSpecProto."""
    model = onnx.load(path)
    model.ir_version = 11
    model.configuration.add(name=name, num_devices=devices)
    for node in model.graph.node:
        if node.name in nodes or node.name in (stages or {}):
            made = node.device_configurations.add(configuration_id=name)
            made.sharding_spec.extend(nodes.get(node.name, []))
            if node.name in (stages or {}):
                made.pipeline_stage = stages[node.name]
    onnx.checker.check_model(model)
    onnx.save(model, path)


def strategies(path):
    """Of a dump of a plan: (node, operator, grid, strategy) of each operator."""
    text = path.read_text()
    names = dict(re.findall(r'^(#loc\d*) = loc\("([^"]*)"\)', text, re.M))
    return [(names.get(location), op, grid, split) for op, grid, split, location
            in re.findall(r"= (nn\.\w+) .*?spmd\.split = #spmd\.split<@(\w+)"
                          r"(?:: ([^>]*))?>.* loc\((#loc\d*)\)", text)]


def planned(divisi, *flags):
    """The strategies of m.onnx by node, of its first operator."""
    said = divisi("plan", "m.onnx", "-o", "p.mlir", *flags)
    found = {}
    for node, _, _, split in strategies(divisi.path("p.mlir")):
        found.setdefault(node, split)
    return said, found


# The standard's own examples: of a product, both operands along what is summed;
# the second along columns; rows of the first; and replicas.

def test_columns(divisi):
    perceptron(divisi.path("m.onnx"))
    annotate(divisi.path("m.onnx"), 2, {"up": [shard("w", [0, 1], (1, 2))]})
    said, found = planned(divisi)
    assert found["up"] == "n@x0"
    assert ("the plan follows the model's annotations for 'conf', on the mesh "
            "x0=2, and no rewrite rules are applied") in said.err
    assert "plan for 2 devices" in said.err


def test_what_is_summed(divisi):
    """The result is on all devices, though partial there at first."""
    perceptron(divisi.path("m.onnx"))
    annotate(divisi.path("m.onnx"), 2, {"down": [
        shard("r", [0, 1], (-1, 2)), shard("v", [0, 1], (0, 2)),
        shard("y", [-1], groups={-1: [0, 1]})]})
    assert planned(divisi)[1]["down"] == "k@x0"


def test_groups_have_replicas(divisi):
    """x by rows over pairs of devices, w by columns within each pair."""
    perceptron(divisi.path("m.onnx"))
    annotate(divisi.path("m.onnx"), 4, {"up": [
        shard("x", [-1, -2], (0, 2), groups={-1: [0, 1], -2: [2, 3]}),
        shard("w", [-1, -2], (1, 2), groups={-1: [0, 2], -2: [1, 3]})]})
    said, found = planned(divisi)
    assert found["up"] == "m@x0, n@x1"
    assert "on the mesh x0=2,x1=2" in said.err
    # A mesh of a user's has names of its own.
    assert planned(divisi, "--mesh", "data=2,model=2")[1]["up"] == \
        "m@data, n@model"


def test_meshes_are_found(divisi):
    """Six devices are 3 · 2 or 2 · 3."""
    perceptron(divisi.path("m.onnx"), rows=12)
    for first, mesh in ((2, "x0=2,x1=3"), (3, "x0=3,x1=2")):
        perceptron(divisi.path("m.onnx"), rows=12)
        size = 6 // first
        groups = {-1 - n: list(range(n * size, (n + 1) * size))
                  for n in range(first)}
        annotate(divisi.path("m.onnx"), 6, {"up": [
            shard("x", list(groups), (0, first), groups=groups)]})
        said, found = planned(divisi)
        assert f"on the mesh {mesh}" in said.err
        assert found["up"] == "m@x0" or found["up"].startswith("m@x0, ")


def test_result_may_be_brought_elsewhere(divisi):
    """An output that no strategy leaves so is what its readers ask for."""
    perceptron(divisi.path("m.onnx"))
    annotate(divisi.path("m.onnx"), 2, {"up": [
        shard("x", [0, 1], (0, 2)), shard("w", [-1], groups={-1: [0, 1]}),
        shard("h", [0, 1], (1, 2))], "relu": [shard("h", [0, 1], (1, 2))]})
    found = planned(divisi)[1]
    assert (found["up"], found["relu"]) == ("m@x0", "d1@x0")


def test_factors_of_heads(divisi):
    gpt2(divisi, "m.onnx")
    annotate(divisi.path("m.onnx"), 4, {"node_addmm": [shard(
        "transformer.h.0.attn.c_attn.weight", [0, 1, 2, 3],
        (1, [(3, 1), (12, 4), (8, 1)]))]})
    assert planned(divisi)[1]["node_addmm"] == "b@x0"


def test_stages(divisi):
    perceptron(divisi.path("m.onnx"))
    for stages in ({"up": 0, "relu": 1, "down": 1}, {"up": 0, "down": 1},
                   {"up": 0, "relu": 0, "down": 1}):
        perceptron(divisi.path("m.onnx"))
        annotate(divisi.path("m.onnx"), 2, {}, stages)
        divisi("plan", "m.onnx", "-o", "p.mlir")
        grids = {node: grid for node, _, grid, _ in strategies(
            divisi.path("p.mlir"))}
        wanted = [stages.get("up"), stages.get("relu", 0), stages["down"]]
        ordered = sorted(set(grids.values()))
        assert [ordered.index(grids[n]) for n in MLP] == wanted
    said = divisi("plan", "m.onnx", "--pipeline-parallel-size", 3, "--devices", 2,
                  "-o", "p.mlir", exits=USAGE)
    assert ("the model is annotated for 2 stages, and --pipeline-parallel-size is "
            "3") in said.err


def test_program_computes_the_same(divisi):
    perceptron(divisi.path("m.onnx"))
    annotate(divisi.path("m.onnx"), 4, {
        "up": [shard("w", [0, 1, 2, 3], (1, 4))],
        "down": [shard("r", [0, 1, 2, 3], (1, 4)),
                 shard("v", [0, 1, 2, 3], (0, 4))]})
    divisi("check", "m.onnx", "--devices", 4)  # against one device
    divisi("compile", "m.onnx", "-o", "m.divisi")


def test_other_numbers_of_devices_are_free(divisi):
    perceptron(divisi.path("m.onnx"))
    annotate(divisi.path("m.onnx"), 2, {"up": [shard("w", [0, 1], (1, 2))]})
    said = divisi("plan", "m.onnx", "--devices", 4, "-o", "p.mlir")
    assert ("the model is not annotated for 4 devices: what it says of other "
            "numbers is not followed") in said.err
    said = divisi("plan", "m.onnx", "--train", "--loss", "mse", "--optimizer",
                  "sgd", "--lr", "0.1", "-o", "t.mlir", "--devices", 2)
    assert ("the model is annotated for 'conf': a training step does not follow "
            "it") in said.err
    annotate(divisi.path("m.onnx"), 4, {"up": [shard("x", [0, 1, 2, 3], (0, 4))]},
             name="four")
    assert planned(divisi, "--devices", 4)[1]["up"] == "m@x0"
    assert planned(divisi, "--devices", 2)[1]["up"] == "n@x0"


def test_dumps_keep_what_the_model_says(divisi):
    """Until they are asked for another mesh, or to plan again."""
    perceptron(divisi.path("m.onnx"))
    annotate(divisi.path("m.onnx"), 2, {"up": [shard("w", [0, 1], (1, 2))],
                                        "down": [shard("v", [0, 1], (1, 2))]})
    divisi("compile", "m.onnx", "-o", "m.divisi", "--dump-after", "all",
           "--dump-to", ".")
    for dump in ("m.import.mlir", "m.rewrite.mlir"):
        divisi("plan", dump, "-o", "p.mlir")
        found = [split for _, op, _, split in strategies(divisi.path("p.mlir"))
                 if op == "nn.matmul"]
        assert found == ["n@x0", "n@x0"]
    said = divisi("plan", "m.import.mlir", "--devices", 4, "-o", "p.mlir")
    assert ("the model's annotations are for 2 devices on the mesh x0=2, another "
            "one is asked for: they are not followed") in said.err
    assert "divisi.shardings" not in divisi.path("p.mlir").read_text()
    divisi("plan", "m.plan.mlir", "--replan", "--devices", 2, "-o", "p.mlir")
    assert "divisi.shardings" not in divisi.path("p.mlir").read_text()


CONTRADICTIONS = [
    ([shard("b", [0, 1], (0, 2))], 2, CONTENT,
     "node 'up': its annotation for 'conf': 'b' is neither an input nor an output "
     "of the node"),
    ([shard("w", list(range(64)), (1, 64))], 64, CONTENT,
     "it divides 32 elements into 64 shards, along axis 1 of 'w'"),
    ([shard("w", [0, 1], (2, 2))], 2, CONTENT,
     "it shards axis 2, expected one of the 2 dimensions of 'w'"),
    ([shard("w", [0, 1, 2, 3], (1, 2), (-1, 2))], 4, CONTENT,
     "it shards axis 1 twice, of 'w'"),
    ([shard("w", [0, 1], (1, [(3, 1), (8, 2)]))], 2, CONTENT,
     "its factors do not make up the 32 elements along axis 1 of 'w'"),
    ([shard("w", [0, 1], (1, [(64, 1), (8, 1), (8, 2)]))], 2, CONTENT,
     "its factors do not make up the 32 elements along axis 1 of 'w'"),
    ([shard("w", [0, 1, 2], (1, 2))], 2, CONTENT,
     "it lists 3 devices for 2 shards of 'w'"),
    ([shard("w", [0, 2], (1, 2))], 2, CONTENT,
     "there is no device 2 among 2, which has a shard of 'w'"),
    ([shard("w", [0, -3], (1, 2))], 2, CONTENT,
     "there is no device -3 among 2, which has a shard of 'w'"),
    ([shard("w", [0, 0], (1, 2))], 2, CONTENT, "device 0 has two shards of 'w'"),
    ([shard("w", [0, 1], (1, 2)), shard("w", [0, 1], (0, 2))], 2, CONTENT,
     "'w' is sharded twice"),
    ([shard("w", [0, 1], (1, 2))], 4, UNSUPPORTED,
     "2 devices hold 'w', expected all of 0 to 3: operators on other parts of the "
     "devices are not planned from annotations"),
    ([shard("x", [0, 1], (0, 2)), shard("w", [0, 1], (1, 2))], 2, CONTENT,
     "node 'up' (nn.matmul): no strategy has its tensors as the model's "
     "annotations say: 'x' as [x0, *], 'w' as [*, x0]"),
    ([shard("x", [-1, -2], (0, 2), groups={-1: [0, 1, 2], -2: [3, 4, 5]}),
      shard("w", [-1, -2, -3], (1, 3), groups={-1: [0, 1], -2: [2, 3],
                                               -3: [4, 5]})], 6, CONTENT,
     "no mesh of 6 devices has the shards of 'w' and those of the nodes before"),
]


@pytest.mark.parametrize("specs, devices, code, message", CONTRADICTIONS)
def test_contradictions_are_named(divisi, specs, devices, code, message):
    perceptron(divisi.path("m.onnx"))
    annotate(divisi.path("m.onnx"), devices, {"up": specs})
    said = divisi("plan", "m.onnx", "-o", "p.mlir", exits=code)
    assert message in said.err and "node 'up'" in said.err


def test_contradictions_of_nodes(divisi):
    """Of stages, of configurations, and with a mesh."""
    def made(change):
        perceptron(divisi.path("m.onnx"))
        change()

    def stages(**of):
        return lambda: annotate(divisi.path("m.onnx"), 4, {}, of)

    def edit(change):
        def edited():
            annotate(divisi.path("m.onnx"), 2,
                     {"up": [shard("w", [0, 1], (1, 2))]})
            model = onnx.load(divisi.path("m.onnx"))
            change(model)
            onnx.save(model, divisi.path("m.onnx"))
        return edited

    def rename(model):
        model.configuration[0].name = "other"

    def repeat(model):
        given = model.graph.node[0].device_configurations
        given.add().CopyFrom(given[0])

    def empty(model):
        model.configuration[0].num_devices = 0

    nothing = edit(lambda model: None)
    for change, flags, code, message in (
            (stages(up=1, relu=0), [], CONTENT,
             "node 'relu': its annotation for 'conf': stage 0 reads 'h', which "
             "node 'up' makes on stage 1"),
            (stages(up=0, down=7), [], CONTENT,
             "stage 7 of a pipeline on 4 devices"),
            (stages(up=0, relu=1, down=2), [], UNSUPPORTED,
             "the annotations for 'conf' have 3 stages on 4 devices; stages are "
             "planned on equal parts of them"),
            (edit(rename), [], CONTENT,
             "node 'up' is annotated for 'conf', which is no device "
             "configuration of the model"),
            (edit(repeat), [], CONTENT, "the node has it twice"),
            (edit(empty), [], CONTENT,
             "the device configuration 'conf' has 0 devices, expected 1 to 4096"),
            (nothing, ["--devices", 2, "--mesh", "x=4"], USAGE,
             "the mesh 'x=4' is not one of the 2 devices that the model is "
             "annotated for")):
        made(change)
        said = divisi("plan", "m.onnx", "-o", "p.mlir", *flags, exits=code)
        assert message in said.err, said.err
    perceptron(divisi.path("m.onnx"))
    annotate(divisi.path("m.onnx"), 4, {"up": [
        shard("x", [-1, -2], (0, 2), groups={-1: [0, 1], -2: [2, 3]})]})
    said = divisi("plan", "m.onnx", "-o", "p.mlir", "--mesh", "x=4", exits=USAGE)
    assert "the mesh 'x=4' has no axes for the shards of 'x'" in said.err


EDITS = {"up": ["", "m@x", "n@x", "k@x", "m@x, n@y", "n@x.y"],
         "down": ["", "m@x", "n@y", "k@x.y", "k@y", "m@y, k@x"]}


@pytest.mark.sample(least=2, first=True)
@pytest.mark.parametrize("number", range(6))
def test_edited_plans_come_back(divisi, number):
    """Strategies that nobody would choose are those of the annotated model."""
    perceptron(divisi.path("m.onnx"))
    divisi("plan", "m.onnx", "--mesh", "x=2,y=2", "--rewrite", "off", "-o",
           "p.mlir")
    text = divisi.path("p.mlir").read_text()
    for node, splits in EDITS.items():
        location = re.search(rf'^(#loc\d*) = loc\("{node}"\)', text, re.M)[1]
        text, count = re.subn(
            r"(nn\.matmul .*spmd\.split = #spmd\.split<@g)[^>]*>"
            rf"(.* loc\({location}\))",
            lambda m: f"{m[1]}{': ' if splits[number] else ''}"
                      f"{splits[number]}>{m[2]}", text)
        assert count == 1
    divisi.path("p.mlir").write_text(text)
    divisi("export", "p.mlir", "--to", "onnx", "-o", "a.onnx")
    divisi("plan", "a.onnx", "-o", "q.mlir")
    before, after = (strategies(divisi.path(n)) for n in ("p.mlir", "q.mlir"))
    assert before == after and len(before) == 4


@pytest.mark.parametrize("flags", [
    [], ["--tensor-parallel-size", 4],
    ["--mesh", "data=2,model=2", "--tensor-parallel-size", 2],
    ["--mesh", "data=4", "--data-parallel-size", 4]])
def test_plans_come_back(divisi, flags):
    gpt2(divisi, "m.onnx")
    divisi("plan", "m.onnx", "--devices", 4, *flags, "--rewrite", "off", "-o",
           "p.mlir")
    divisi("export", "p.mlir", "--to", "onnx", "-o", "a.onnx")
    divisi("plan", "a.onnx", "-o", "q.mlir")
    before, after = (strategies(divisi.path(n)) for n in ("p.mlir", "q.mlir"))
    assert before == after and len(before) > 50


def test_pipelines_come_back(divisi):
    perceptron(divisi.path("m.onnx"))
    divisi("plan", "m.onnx", "--devices", 4, "--pipeline-parallel-size", 2, "-o",
           "p.mlir")
    divisi("export", "p.mlir", "--to", "onnx", "-o", "a.onnx")
    divisi("plan", "a.onnx", "-o", "q.mlir")
    before, after = (strategies(divisi.path(n)) for n in ("p.mlir", "q.mlir"))
    assert before == after and len({grid for _, _, grid, _ in before}) == 2


def test_grids_that_are_no_stages(divisi):
    perceptron(divisi.path("m.onnx"))
    divisi("plan", "m.onnx", "--devices", 4, "--solver", "random", "--seed", 1,
           "-o", "p.mlir")
    said = divisi("export", "p.mlir", "--to", "onnx", "-o", "a.onnx",
                  exits=UNSUPPORTED)
    assert ("grids of the plan are no stages of a pipeline, each on as many "
            "devices of its own: grid @") in said.err


def with_onnx_ir():
    """A Python that has onnx-ir: that of the exporters, or DIVISI_TORCH's."""
    import sys
    sys.path.insert(0, str(ROOT / "bench" / "onnxruntime"))
    import environment
    made = environment.folder_of(environment.REQUIREMENTS) / "bin" / "python"
    program = os.environ.get("DIVISI_TORCH") or str(made)
    return program if os.path.exists(program) else None


@pytest.mark.skipif(not with_onnx_ir(), reason="no onnx-ir: DIVISI_TORCH names a "
                    "Python that has it")
def test_onnx_ir_accepts_annotations(divisi):
    gpt2(divisi)
    divisi("export", "g.onnx", "--to", "onnx", "-o", "a.onnx", "--devices", 4,
           "--tensor-parallel-size", 4)
    script = divisi.path("look.py")
    script.write_text("""
import sys
import onnx_ir
model = onnx_ir.load(sys.argv[1])
[found] = model.device_configurations
assert found.name == "divisi" and found.num_devices == 4, found
from onnx_ir import _multi_device
problems = _multi_device._check_device_configurations(model)
assert not problems, problems
proto = onnx_ir.to_proto(model)
assert any(n.device_configurations for n in proto.graph.node)
onnx_ir.save(model, sys.argv[2])
""")
    done = subprocess.run([with_onnx_ir(), script, divisi.path("a.onnx"),
                           divisi.path("b.onnx")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before, after = (onnx.load(divisi.path(n)) for n in ("a.onnx", "b.onnx"))
    assert [n.device_configurations for n in before.graph.node] == [
        n.device_configurations for n in after.graph.node]
