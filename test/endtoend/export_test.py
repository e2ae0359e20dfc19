"""divisi export: plans as DTensor's placements, and as annotations of ONNX."""

import json
import math
import re

import numpy as np
import onnx
import pytest
from conftest import ROOT, run_python
from onnx import numpy_helper

USAGE, CONTENT = 2, 4


def array(name, *shape):
    values = np.random.default_rng(len(name)).standard_normal(shape, np.float32)
    return numpy_helper.from_array(values, name)


def save(path, text, **weights):
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 21]>\n{text}')
    model.graph.initializer.extend(array(name, *shape)
                                   for name, shape in weights.items())
    onnx.save(model, path)


def perceptron(path, rows=8):
    save(path, f"""mlp (float[{rows}, 16] x) => (float[{rows}, 4] y) {{
        [up] h = MatMul (x, w)
        [relu] r = Relu (h)
        [down] y = Gemm (r, v, b) }}""", w=(16, 32), v=(32, 4), b=(4,))


def gpt2(divisi, name="g.onnx"):
    run_python(ROOT / "models" / "gpt2.py", "--size", "tiny", "--seq", "16",
               "--batch", "8", "-o",
               divisi.path(name))
    return name


def boxes(spec, shape):
    """By device, the part of a tensor of `shape` that `spec` gives it: indices
    of the flat tensor."""
    factors, shards = [], []
    parts = {dim.axis: dim.simple_sharding for dim in spec.sharded_dim}
    order = []
    for axis, extent in enumerate(shape):
        for simple in parts.get(axis, []):
            order.append((axis, len(factors)))
            factors.append(simple.dim_value)
            shards.append(simple.num_shards)
        if axis not in parts:
            factors.append(extent)
            shards.append(1)
    assert math.prod(factors) == math.prod(shape), (factors, shape)
    positions = [at for dim in spec.sharded_dim for axis, at in order
                 if axis == dim.axis]
    groups = {entry.key: list(entry.value)
              for entry in spec.index_to_device_group_map}
    assert len(spec.device) == math.prod(shards)
    indices = np.arange(math.prod(shape)).reshape(factors)
    found = {}
    for number, device in enumerate(spec.device):
        part, left = indices, number
        for at in reversed(positions):
            left, shard = divmod(left, shards[at])
            size = -(-factors[at] // shards[at])
            part = part.take(range(shard * size,
                                   min((shard + 1) * size, factors[at])), at)
        for each in groups.get(device, [device]):
            assert each not in found
            found[each] = part
    return found


def annotated(path):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version >= 11
    return model


@pytest.mark.parametrize("flags", [
    [], ["--tensor-parallel-size", 4], ["--mesh", "data=2,model=2",
                                        "--tensor-parallel-size", 2]])
def test_annotations_divide_every_tensor(divisi, flags):
    """All devices together have every element, and no other number has any."""
    model = gpt2(divisi)
    said = divisi("export", model, "--to", "onnx", "-o", "a.onnx", "--devices", 4,
                  *flags)
    assert "nodes annotated for 4 devices" in said.err
    assert "not annotated, for no operator of the plan has the name: " in said.err
    made = onnx.shape_inference.infer_shapes(annotated(divisi.path("a.onnx")),
                                             data_prop=True)
    [configuration] = made.configuration
    assert (configuration.name, configuration.num_devices) == ("divisi", 4)
    shapes = {t.name: list(t.dims) for t in made.graph.initializer}
    for value in [*made.graph.value_info, *made.graph.input, *made.graph.output]:
        shapes[value.name] = [d.dim_value for d in value.type.tensor_type.shape.dim]
    split = 0
    for node in made.graph.node:
        for devices in node.device_configurations:
            assert devices.configuration_id == "divisi"
            assert not devices.HasField("pipeline_stage")
            for spec in devices.sharding_spec:
                assert spec.tensor_name in [*node.input, *node.output]
                parts = boxes(spec, shapes[spec.tensor_name])
                assert sorted(parts) == [0, 1, 2, 3]
                seen = np.concatenate([p.ravel() for p in parts.values()])
                assert len(np.unique(seen)) == math.prod(
                    shapes[spec.tensor_name])
                split += bool(spec.sharded_dim)
    assert split > 20
    # All else is as it was.
    for node in made.graph.node:
        del node.device_configurations[:]
        kept = [m for m in node.metadata_props if m.key != "divisi.strategy"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    assert list(made.graph.node) == list(onnx.load(divisi.path(model)).graph.node)


def test_annotation_of_heads_is_by_factors(divisi):
    """Heads in the middle of 3 · 12 · 8 are one of three factors."""
    gpt2(divisi)
    divisi("plan", "g.onnx", "--devices", 2, "--tensor-parallel-size", 2, "-o",
           "p.mlir")
    divisi("export", "p.mlir", "--to", "onnx", "-o", "a.onnx", "--configuration",
           "two")
    made = annotated(divisi.path("a.onnx"))
    [node] = [n for n in made.graph.node if n.name == "node_addmm"]
    [devices] = node.device_configurations
    assert devices.configuration_id == "two"
    [weight] = [s for s in devices.sharding_spec if s.tensor_name.endswith(
        "c_attn.weight")]
    [dim] = weight.sharded_dim
    assert dim.axis == 1 and [(s.dim_value, s.num_shards) for s in
                              dim.simple_sharding] == [(3, 1), (12, 2), (8, 1)]
    # A second configuration stands beside it; one of its name is replaced.
    for _ in range(2):
        divisi("export", "a.onnx", "--to", "onnx", "-o", "b.onnx", "--devices", 4)
    made = annotated(divisi.path("b.onnx"))
    assert [c.name for c in made.configuration] == ["two", "divisi"]


def test_stages_are_annotated(divisi):
    perceptron(divisi.path("m.onnx"))
    divisi("export", "m.onnx", "--to", "onnx", "-o", "a.onnx", "--devices", 2,
           "--pipeline-parallel-size", 2)
    stages = [d.pipeline_stage for n in annotated(divisi.path("a.onnx")).graph.node
              for d in n.device_configurations]
    assert stages == sorted(stages) and set(stages) == {0, 1}


def test_placements_of_dtensor(divisi):
    gpt2(divisi)
    divisi("export", "g.onnx", "--to", "dtensor", "-o", "p.json", "--mesh",
           "model=2", "--tensor-parallel-size", 2)
    plan = json.loads(divisi.path("p.json").read_text())
    assert (plan["format"], plan["version"]) == ("dtensor", 1)
    assert plan["mesh"] == {"names": ["model"], "shape": [2]}
    [ids] = plan["inputs"]
    assert (ids["name"], ids["shape"], ids["dtype"]) == (
        "input_ids", [8, 16], "INT64")
    attention = "transformer.h.0.attn"
    assert plan["parameters"][f"{attention}.c_attn.weight"] == {
        "shape": [96, 288], "placements": ["_StridedShard(dim=1, sf=3)"]}
    assert plan["parameters"][f"{attention}.c_proj.weight"][
        "placements"] == ["Shard(dim=0)"]
    module = plan["modules"][f"{attention}.c_proj"]
    assert module["state_shardings"] == {
        "weight": {"model": "Shard(dim=0)"}, "bias": {"model": "Replicate()"}}
    assert {row["op"] for row in module["operators"]} == {"nn.matmul", "nn.add"}
    fused = plan["modules"][f"{attention}.c_attn"]
    assert fused["out_src_shardings"] == {
        "addmm": {"model": "_StridedShard(dim=1, sf=3)"}}
    # Without -o, the same on stdout.
    assert json.loads(divisi("export", "g.onnx", "--to", "dtensor", "--mesh",
                             "model=2", "--tensor-parallel-size", 2).out) == plan


def test_nearest_to_what_dtensor_cannot_say(divisi):
    """Images divided by rows have halos."""
    save(divisi.path("c.onnx"), """c (float[1, 4, 2048, 256] x)
        => (float[1, 4, 2048, 256] y) {
        [first] h = Conv <pads = [1, 1, 1, 1]> (x, w)
        [second] y = Conv <pads = [1, 1, 1, 1]> (h, w) }""", w=(4, 4, 3, 3))
    said = divisi("export", "c.onnx", "--to", "dtensor", "--devices", 4)
    [line, *_] = json.loads(said.out)["report"]
    assert line in said.err
    assert "its shards have bounds of their own (halos, or uneven parts)" in line
    assert "; the nearest that has placements, '" in line
    assert line.endswith(" us more")


def test_model_is_found_or_named(divisi):
    perceptron(divisi.path("m.onnx"))
    divisi("plan", "m.onnx", "--devices", 2, "-o", "p.mlir")
    model = divisi.path("m.onnx").read_bytes()
    divisi("export", "p.mlir", "--to", "dtensor")
    text = divisi.path("p.mlir").read_text()
    divisi.path("q.mlir").write_text(text.replace(
        'divisi.model = "m.onnx"', 'divisi.model = "lost.onnx"'))
    said = divisi("export", "q.mlir", "--to", "dtensor", exits=USAGE)
    assert ("the ONNX model that 'q.mlir' is a plan of is not found: name it by "
            "--model M.onnx") in said.err
    divisi.path("n.onnx").write_bytes(model)
    divisi("export", "q.mlir", "--to", "dtensor", "--model", "n.onnx")
    divisi.path("n.onnx").write_bytes(model[:-10])
    said = divisi("export", "q.mlir", "--to", "dtensor", "--model", "n.onnx",
                  exits=CONTENT)
    assert "'n.onnx' is no ONNX model that can be read" in said.err


def test_what_is_refused(divisi):
    perceptron(divisi.path("m.onnx"))
    divisi("compile", "m.onnx", "--devices", 2, "--dump-after", "all",
           "--dump-to", ".", "-o", "m.divisi")
    two = ["--devices", 2, "--pipeline-parallel-size", 2]
    for command, message in (
            (["m.onnx"], "export needs --to dtensor or --to onnx"),
            (["m.onnx", "--to", "gguf"], "--to 'gguf': expected dtensor or onnx"),
            (["m.onnx", "--to", "onnx"],
             "export --to onnx needs -o OUT.onnx, a file"),
            (["m.onnx", "--to", "onnx", "-o", "m.onnx"], "-o"),
            (["m.onnx", "--to", "dtensor", "--configuration", "x"],
             "--configuration needs --to onnx, and a name that is not empty"),
            (["m.partition.mlir", "--to", "dtensor"],
             "has been through the stage partition: a plan is exported, before "
             "it is partitioned"),
            (["m.onnx", "--to", "dtensor", *two],
             "the plan has 2 grids, and DTensor has one mesh: plan without "
             "stages")):
        assert message in divisi("export", *command, exits=USAGE).err, command


def test_data_in_other_files_stays_beside(divisi):
    perceptron(divisi.path("m.onnx"))
    onnx.save(onnx.load(divisi.path("m.onnx")), divisi.path("e.onnx"),
              save_as_external_data=True, location="e.data", size_threshold=0)
    divisi.path("folder").mkdir()
    said = divisi("export", "e.onnx", "--to", "onnx", "--devices", 2, "-o",
                  "folder/a.onnx", exits=USAGE)
    assert ("'e.onnx' has data in files beside it; write 'folder/a.onnx' to the "
            "same folder") in said.err
    divisi("export", "e.onnx", "--to", "onnx", "--devices", 2, "-o", "a.onnx")
    divisi("compile", "a.onnx", "-o", "a.divisi", "--devices", 2)


def test_training_steps_are_not_exported(divisi):
    perceptron(divisi.path("m.onnx"))
    divisi("plan", "m.onnx", "--train", "--loss", "mse", "--optimizer", "sgd",
           "--lr", "0.1", "--devices", 2, "-o",
           "t.mlir")
    said = divisi("export", "t.mlir", "--to", "dtensor", exits=USAGE)
    assert ("the plan lacks the entry @forward, on a grid: plans of models are "
            "exported, and not those of training steps") in said.err


def test_plans_that_dtensor_cannot_say(divisi):
    """Another order of axes, and a place of uneven parts, as someone edits them."""
    perceptron(divisi.path("m.onnx"))
    divisi("plan", "m.onnx", "--mesh", "x=2,y=2", "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    text, places = re.subn(r"(nn\.global @b .*@g: \[)[^\]]*", r"\1x{0:1, 1:4}",
                           text)
    text, splits = re.subn(r'(nn\.matmul .*"mk,kn->mn", spmd.split = '
                           r"#spmd.split<@g)[^>]*>", r"\1: n@y.x>", text, count=1)
    assert places == splits == 1
    divisi.path("p.mlir").write_text(text)
    said = divisi("export", "p.mlir", "--to", "dtensor", "-o", "p.json")
    assert "its axes are in another order than the mesh has them" in said.err
    assert ("parameter 'b' rests as [x{0:1, 1:4}], for which DTensor has no "
            "placement: every device has all of it") in said.err
    assert "wrote p.json: placements of 3 parameters" in said.err
    plan = json.loads(divisi.path("p.json").read_text())
    assert plan["parameters"]["b"]["placements"] == ["Replicate()"] * 2
