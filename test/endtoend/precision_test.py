"""Models in f32 that are computed in bf16 or f16, against what their framework
computed in f32: by the tolerance of the precision, on any number of devices.
"""

import json
import re

import numpy as np
import pytest
from conftest import load, model

pytestmark = pytest.mark.as_written

MODELS = ["gpt2", "bert", "llama", "t5", "vit", "resnet", "segformer"]
# What weights become: half, but for those of the first products, which stay
# f32 and have an eighth at most.
HALVED = 0.5 + 0.5 / 8


@pytest.mark.sample("devices", "precision")
@pytest.mark.parametrize("precision", ["bf16", "f16"])
@pytest.mark.parametrize("devices", [1, 3, 4])
@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_within_the_precision(divisi, name, devices, precision):
    m = model(name)
    shown = divisi("check", m.onnx, "--devices", devices, "--precision",
                   precision, "--inputs", m.inputs, "--expect", m.outputs,
                   "--json")
    for output in json.loads(shown.out)["runs"][0]["outputs"]:
        assert output["type"] == "f32"
        assert output["computed_in"] == precision
        # More exact would mean that nothing was lowered.
        assert output["largest_error"] > 0
    assert f"became {precision}" in shown.err


@pytest.mark.parametrize("plans", [2])
def test_random_plans_of_bf16(divisi, plans):
    m = model("llama")
    divisi("check", m.onnx, *m.shapes, "--devices", 4, "--precision", "bf16",
           "--random-plans", plans)


def test_an_artifact_keeps_types_outside_and_halves_weights(divisi):
    m = model("gpt2")
    # Code of casts is no weight.
    flags = (m.onnx, *m.shapes, "--devices", 2, "--native", "off")
    divisi("compile", *flags, "-o", "wide.divisi")
    made = divisi("compile", *flags, "--precision", "bf16", "-o",
                  "narrow.divisi")
    assert "divisi: note: " in made.err
    for part in ("operators and ", "weights became bf16", "stayed f32 (",
                 "norms, softmax and the like", "next to those",
                 "after sums", "residual additions", "first products",
                 " of weights became "):
        assert part in made.err
    wide = divisi.path("wide.divisi").stat().st_size
    narrow = divisi.path("narrow.divisi").stat().st_size
    assert narrow < (HALVED + 0.15) * wide
    divisi("run", "narrow.divisi", "--inputs", m.inputs, "-o", "y.npz")
    for name, want in load(m.outputs).items():
        got = load(divisi.path("y.npz"))[name]
        assert got.dtype == want.dtype == np.float32
    shown = divisi("check", "narrow.divisi", "--inputs", m.inputs, "--expect",
                   m.outputs)
    assert "(computed in bf16)" in shown.out
    # The tolerance of f32 would be too small.
    divisi("check", "narrow.divisi", "--inputs", m.inputs, "--expect",
           m.outputs, "--rtol", 1e-3, "--atol", 1e-4, exits=8)


@pytest.mark.whole
def test_explain_tells_what_was_lowered(divisi):
    m = model("bert")
    flags = (m.onnx, *m.shapes, "--devices", 2, "--no-compare")
    plain = json.loads(divisi("explain", *flags, "--json").out)
    assert plain["precision"] is None
    report = json.loads(divisi("explain", *flags, "--precision", "bf16",
                               "--json").out)
    known = report["precision"]
    assert known["type"] == "bf16"
    assert known["narrow_operators"] > known["f32_sensitive"] > 0
    assert known["f32_named"] == 0
    assert known["weight_bytes_before"] == plain["memory"]["weight_bytes"]
    assert known["weight_bytes_after"] == report["memory"]["weight_bytes"]
    assert (known["weight_bytes_after"]
            < (HALVED + 0.05) * known["weight_bytes_before"])
    assert "norms, softmax and the like" in divisi(
        "explain", *flags, "--precision", "bf16", "--summary").out


@pytest.mark.sample()
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_what_is_gathered_is_narrow(divisi, name):
    """Half the bytes, but for partial sums, which are whole before a cast, and
    for the first products, which stay f32: so beyond the first layer."""
    m = model(name)
    flags = (m.onnx, *m.shapes, "--devices", 4, "--tensor-parallel-size", 4,
             "--no-compare", "--json")
    wide = json.loads(divisi("explain", *flags).out)
    narrow = json.loads(divisi("explain", *flags, "--precision", "bf16").out)

    def gathered(report, within):
        return sum(c["bytes"] for c in report["collectives"]
                   if c["kind"] in ("all_gather", "all_to_all")
                   and re.search(within, c["scope"]))

    assert gathered(narrow, "") < gathered(wide, "")
    later = r"\.1\.|lm_head"
    assert 0 < gathered(narrow, later) <= 0.5 * gathered(wide, later)


def test_sums_are_whole_before_they_are_rounded(divisi):
    m = model("gpt2")
    divisi("compile", m.onnx, *m.shapes, "--devices", 4,
           "--tensor-parallel-size", 4, "--precision", "bf16", "--dump-after",
           "partition", "-o", "m.divisi")
    program = divisi.path("gpt2.partition.mlir").read_text()
    local = re.findall(r"= (\S+) .*-> tensor<[0-9x]*x(\w+), "
                       r"#spmd.local<([^>]*)>", program)
    # Of the parts of an embedding all but one are zero.
    partial = {element for op, element, layout in local
               if "partial" in layout and op != "nn.gather"}
    assert partial == {"f32"}
    local = [(element, layout) for _, element, layout in local]
    assert "bf16" in {element for element, layout in local}


@pytest.mark.parametrize("element", ["bf16", "f16"])
@pytest.mark.parametrize("plan", [
    ("--devices", 4, "--tensor-parallel-size", 4),
    ("--mesh", "2x2", "--solver", "random", "--seed", 5),
    ("--mesh", "3", "--solver", "random", "--seed", 6)], ids=str)
def test_sums_travel_in_the_type_that_is_asked_for(divisi, plan, element):
    m = model("gpt2")
    flags = (m.onnx, *m.shapes, *plan, "--precision", element)
    times, wide = [], []
    for sums in ("f32", element):
        made = divisi("compile", *flags, "--reduce-precision", sums,
                      "--dump-after", "partition", "-o", "m.divisi")
        said = f"sums of products became {element}, in which their parts travel"
        assert (said in made.err) == (sums == element)
        program = divisi.path("gpt2.partition.mlir").read_text()
        travels = re.findall(r"spmd\.(?:all_reduce|reduce_scatter) .* : "
                             r"tensor<[0-9x]*x(\w+), ", program)
        assert (element in travels) >= (sums == element)
        wide.append(travels.count("f32"))
        times.append(int(re.search(r"[{ ]nanoseconds = (\d+)", re.search(
            r"divisi\.plan = {[^}]*}", program)[0])[1]))
        divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)
    if "random" not in plan:
        # The products that inputs meet first stay f32, and an embedding.
        assert wide[1] < wide[0] and times[1] < times[0]


def test_narrow_sums_are_the_same_between_processes(divisi):
    m = model("gpt2")
    divisi("compile", m.onnx, *m.shapes, "--devices", 4,
           "--tensor-parallel-size", 4, "--precision", "bf16",
           "--reduce-precision", "bf16", "-o", "m.divisi")
    divisi("run", "m.divisi", "--inputs", m.inputs, "-o", "one.npz")
    divisi("run", "m.divisi", "--inputs", m.inputs, "--launch", 2, "-o",
           "two.npz")
    one, two = load(divisi.path("one.npz")), load(divisi.path("two.npz"))
    assert all(one[name].tobytes() == two[name].tobytes() for name in one)


def test_sums_are_no_wider_than_products(divisi):
    m = model("gpt2")
    for flags in ((), ("--precision", "f16")):
        refused = divisi("compile", m.onnx, *m.shapes, *flags,
                         "--reduce-precision", "bf16", "-o", "m.divisi",
                         exits=2)
        assert ("--reduce-precision bf16 needs --precision bf16: parts of sums "
                "travel in the type of the product that makes them; give both"
                ) in refused.err


def test_names_keep_their_f32(divisi):
    m = model("gpt2")
    flags = (m.onnx, *m.shapes, "--precision", "bf16")
    found = divisi("compile", *flags, "--keep-f32", "h.0.*,lm_head", "-o",
                   "m.divisi")
    assert "by --keep-f32" in found.err
    unknown = divisi("compile", *flags, "--keep-f32", "h.9", "-o", "m.divisi",
                     exits=2)
    assert "--keep-f32 names 'h.9', and there is nothing" in unknown.err


def test_a_model_without_weights_is_planned(divisi, generated):
    m = generated("gpt2.py", "--size", "tiny", "--batch", 2, "--seq", 16,
                  "--weightless")
    divisi("plan", m.onnx, "--devices", 4, "--precision", "bf16", "-o",
           "p.mlir")
    assert "bf16" in divisi.path("p.mlir").read_text()


def test_what_cannot_be_asked_for(divisi):
    m = model("gpt2")
    flags = (m.onnx, *m.shapes, "-o", "m.divisi")
    wrong = divisi("compile", *flags, "--precision", "int8", exits=2)
    assert "--precision 'int8': expected bf16 or f16" in wrong.err
    alone = divisi("compile", *flags, "--keep-f32", "h.0", exits=2)
    assert "--keep-f32 needs --precision; give both" in alone.err
    divisi("compile", *flags, "--precision", "bf16", "--dump-after", "import")
    late = divisi("compile", "gpt2.import.mlir", "--precision", "f16", "-o",
                  "n.divisi", exits=2)
    assert "--precision" in late.err
    dump = divisi.path("gpt2.import.mlir")
    dump.write_text(dump.read_text().replace("f32_tables = ", "tables = "))
    broken = divisi("explain", "gpt2.import.mlir", exits=4)
    assert ("divisi.precision has no 'f32_tables' of the type that "
            "--precision writes; if the attribute is removed, reports do not "
            "say what it changed" in broken.err)
