"""The stage Rewrite: programs that rules make compute the same, take no longer in
the model, and are dumped, resumed and explained."""

import json
import re
import sys

import numpy as np
import onnx
import pytest
from conftest import ROOT, assert_close, load, model
from onnx import helper, numpy_helper

sys.path.append(str(ROOT / "bench" / "substitutions"))
import models

USAGE, FILE, CONTENT, DIFFERS = 2, 3, 4, 8
# Where launches cost much beside small products, so that merging pays.
GPUS = ["--cluster", "dgx-h100:2", "--gpu", "off"]
TEST_MODELS = ["bert", "t5", "llama", "segformer", "vit", "gpt2", "resnet"]


def nanoseconds(text):
    [found] = re.findall(r"divisi\.plan = \{.*? nanoseconds = (\d+)", text)
    return int(found)


def plan(divisi, m, *flags):
    return divisi("plan", m.onnx, *m.shapes, *flags, "-o", "-").out


@pytest.mark.sample("mode")
@pytest.mark.parametrize("name", TEST_MODELS)
@pytest.mark.parametrize("mode", ["search", "joint", "greedy"])
def test_rewritten_models_compute_the_same(divisi, name, mode):
    m = model(name)
    for flags in GPUS, ["--devices", 3]:
        divisi("compile", m.onnx, *m.shapes, *flags, "--rewrite", mode, "-o",
               "r.divisi")
        divisi("run", "r.divisi", "--inputs", m.inputs, "-o", "r.npz")
        assert_close(load(divisi.path("r.npz")), load(m.outputs))


def test_what_is_planned_jointly_takes_least(divisi):
    m = model("bert")
    off, search, joint = (
        nanoseconds(plan(divisi, m, *GPUS, "--rewrite", mode))
        for mode in ("off", "search", "joint"))
    assert joint <= search and joint < off


# Of bench/substitutions: the exported forms, with random weights.
BENCH = {"nasrnn": {"width": 256}, "gpt2_lora": {"seq": 64, "width": 256,
                                                 "heads": 4, "rank": 8},
         "llama": {"width": 2048, "heads": 32, "inner": 5632}}


@pytest.fixture(scope="session")
def drawn(tmp_path_factory):
    """drawn("llama") is a model of bench/substitutions, cached for the session."""
    folder = tmp_path_factory.mktemp("drawn")

    def make(name):
        path = folder / f"{name}.onnx"
        if not path.exists():
            getattr(models, name)("export", **BENCH[name]).save(path)
        return path

    return make


def planned(divisi, path, *flags):
    """The nanoseconds of the plans by `off`, `search` and `joint`."""
    return [nanoseconds(divisi("plan", path, *flags, "--gpu", "off", "--rewrite",
                               mode, "-o", "-").out)
            for mode in ("off", "search", "joint")]


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("cluster", ["dgx-v100", "cpu", "dgx-h100"])
@pytest.mark.parametrize("devices", [4, 8, 1, 64])
@pytest.mark.parametrize("name", [*TEST_MODELS, *BENCH])
def test_joint_is_at_least_as_fast(divisi, drawn, name, devices, cluster):
    path, shapes = ((drawn(name), ()) if name in BENCH
                    else (model(name).onnx, model(name).shapes))
    off, search, joint = planned(divisi, path, *shapes, "--cluster",
                                 f"{cluster}:{devices}")
    assert joint <= min(off, search)


@pytest.mark.whole
@pytest.mark.parametrize("cluster, least", [("dgx-h100:8", 0.05),
                                            ("dgx-v100:4", 0.2)])
def test_a_share_of_the_work_pays_where_the_whole_does_not(
        divisi, drawn, cluster, least):
    """On one device, products of a Llama are so large that parts of a merged one
    cost more to copy than a launch saves; on several they are not."""
    off, search, joint = planned(divisi, drawn("llama"), "--cluster", cluster)
    assert joint <= search * (1 - least)


def test_weights_that_have_a_row_for_each_output_are_merged(divisi, generated):
    """As PyTorch keeps them."""
    m = generated("llama.py", "--layers", 1, "--size", "8b", "--batch", 1, "--seq",
                  128, "--width", 1024, "--heads", 16, "--vocabulary", 4096,
                  "--dtype", "f32", "--weightless")
    text = divisi("plan", m.onnx, "--cluster", "dgx-h100:2", "--gpu", "off",
                  "-o", "-").out
    assert re.search(r'"(merge|stack)-matmuls-by-rows-of-weights"', text)


def test_joint_is_the_default(divisi):
    m = model("bert")
    found = plan(divisi, m, *GPUS)
    assert found == plan(divisi, m, *GPUS, "--rewrite", "joint")
    assert "merge-matmuls-of-one-input" in found
    said = divisi("explain", m.onnx, *m.shapes, *GPUS, "--no-compare").out
    assert re.search(r"rewriting +predicted to take \S+ us a run on 2 devices "
                     r"instead of \S+ us, \S+ % less\n", said), said


@pytest.mark.sample("script")
@pytest.mark.parametrize("script, arguments", [
    ("mlp.py", ["--widths", "64,64,64", "--batch", 8]),
    ("mlp.py", ["--widths", "16,512,512,8", "--batch", 1]),
    ("gpt2.py", ["--size", "tiny", "--seq", 32]),
])
@pytest.mark.parametrize("cluster", ["cpu:1", "cpu:3", "dgx-h100:4",
                                     "dgx-v100:8"])
def test_where_no_rule_applies_the_plan_is_that_of_greedy(
        divisi, generated, script, arguments, cluster):
    m = generated(script, *arguments)
    flags = m.onnx, "--cluster", cluster, "--gpu", "off", "-o", "-"
    joint = divisi("plan", *flags).out
    # What was planned beside it, where rules made something.
    joint = re.sub(r"divisi\.programs = \[.*\], (?=divisi\.)", "", joint)
    if "divisi.rules" not in joint:
        assert divisi("plan", *flags, "--rewrite", "off").out == joint
        greedy = divisi("plan", *flags, "--rewrite", "greedy").out
        assert "divisi.rules" in greedy or greedy == joint
    else:
        assert script != "mlp.py"


def test_what_no_rule_makes_cheaper_stays_as_it_is(divisi, generated):
    m = generated("mlp.py", "--widths", "64,64,64", "--batch", 8)
    flags = "--cluster", "cpu:2"
    for mode in "off", "greedy", "search", "joint":
        divisi("compile", m.onnx, *flags, "-o", f"{mode}.divisi", "--rewrite",
               mode)
        assert (divisi.path(f"{mode}.divisi").read_bytes() ==
                divisi.path("off.divisi").read_bytes())
    assert "  no rule was applied\n" in divisi(
        "check", m.onnx, *flags, "--rewrite", "search").out
    assert divisi("check", m.onnx, *flags).out.startswith("the plan found: ")


def test_time_that_is_over_leaves_programs_out(divisi):
    note = "divisi: note: the search for rewritten programs was cut short\n"
    for name, cluster, seconds in [("resnet", "dgx-v100:16", 2),
                                   ("bert", "dgx-h100:2", 60)]:
        m = model(name)
        said = divisi("plan", m.onnx, *m.shapes, "--cluster", cluster,
                      "--time-limit", seconds, "-o", "p.mlir").err
        assert (note in said) == (seconds == 2), said


def test_what_has_a_strategy_is_not_rewritten(divisi):
    """Nor is what is kept of a plan, which is then planned again."""
    m = model("bert")
    flags = *GPUS, "-o", "-"
    text = plan(divisi, m, *GPUS, "--rewrite", "off")
    divisi.path("off.mlir").write_text(text)
    [kept] = re.findall(r"nn.matmul .*(spmd.split = [^}]*)\}.*\n", text)[:1]
    again = divisi("plan", "off.mlir", "--data", m.onnx, "--replan", "--keep",
                   "nn.matmul", *flags).out
    assert "merge-matmuls-of-one-input" not in again and kept in again
    assert "merge-matmuls-of-one-input" in divisi(
        "plan", "off.mlir", "--data", m.onnx, "--replan", *flags).out


def test_rules_are_explained_and_dumps_resumed(divisi):
    m = model("bert")
    divisi("compile", m.onnx, *m.shapes, *GPUS, "--rewrite", "search", "-o",
           "m.divisi", "--dump-after", "rewrite", "--dump-to", ".")
    said = divisi("explain", "m.divisi").out
    assert re.search(r"rule +merge-matmuls-of-one-input of Divisi "
                     r"\(reassociates\): applied 2 times: ", said), said
    assert re.search(r"rewriting +predicted to take \S+ us a run on one device "
                     r"instead of \S+ us, \S+ % less\n", said), said
    why = divisi("explain", "m.divisi", "--why", "nn.slice").out
    assert ("  made by merge-matmuls-of-one-input of Divisi "
            "(reassociates)\n"
            in why), why
    divisi("compile", f"{m.name}.rewrite.mlir", "--data", m.onnx, *GPUS, "-o",
           "again.divisi")
    assert (divisi.path("again.divisi").read_bytes() ==
            divisi.path("m.divisi").read_bytes())
    error = divisi("compile", f"{m.name}.rewrite.mlir", "--data", m.onnx,
                   "--rewrite", "search", "-o", "x", exits=USAGE).err
    assert ("--rewrite is decided already: "
            f"'{m.name}.rewrite.mlir' has been through the stage rewrite"
            in error)


def test_what_rewriting_saves(divisi):
    """The plan without it and the plan with it, where plans decide."""
    m = model("bert")
    report = json.loads(divisi("explain", m.onnx, *m.shapes, *GPUS,
                               "--rewrite", "joint", "--no-compare",
                               "--json").out)
    off, joint = (nanoseconds(plan(divisi, m, *GPUS, "--rewrite", mode))
                  for mode in ("off", "joint"))
    assert report["saving"] == {"devices": 2, "nanoseconds_before": off,
                                "nanoseconds_after": joint}
    assert {"merge-matmuls-of-one-input"} < {
        rule for row in report["rows"] for rule in row["rules"]}
    said = divisi("explain", m.onnx, *m.shapes, "--devices", 1, "--rewrite",
                  "greedy", "--summary").out
    assert re.search(r"rewriting .* % more\n", said), said


def test_a_broken_note_of_what_is_saved(divisi):
    m, dump = rewritten(divisi, "bert")
    for broken in "{devices = 2 : i64}", '"much"', None:
        note = r"divisi.saving = \{[^}]*\}"
        text, count = re.subn(note, f"divisi.saving = {broken}" if broken
                              else "divisi.saved = 1", dump.read_text())
        assert count == 1
        divisi.path("broken.mlir").write_text(text)
        result = divisi("explain", "broken.mlir", "--data", m.onnx, *GPUS,
                        "--no-compare", exits=CONTENT if broken else 0)
        assert not broken or ("divisi.saving is not what --rewrite writes; if "
                              "the attribute is removed, reports do not say "
                              "what rewriting saves" in result.err)


def test_only_rules_that_keep_bits(divisi):
    m = model("bert")
    text = plan(divisi, m, *GPUS, "--rewrite", "search", "--rewrite-class",
                "bit-exact")
    assert "reassociates" not in text


def rewritten(divisi, name):
    """A model and its dump after a search, with a merge of three products."""
    m = model(name)
    divisi("plan", m.onnx, *m.shapes, *GPUS, "--rewrite", "search", "-o", "p",
           "--dump-after", "rewrite", "--dump-to", ".")
    return m, divisi.path(f"{name}.rewrite.mlir")


def test_rewritten_programs_are_checked(divisi):
    """On one device and as planned, with the program before."""
    m = model("bert")
    said = divisi("check", m.onnx, *m.shapes, *GPUS, "--rewrite", "search").out
    assert re.search(
        r"^the rewritten program on one device: equal\n"
        r"(  rule .*\n)*"
        r"  rule merge-matmuls-of-one-input of Divisi \(reassociates\) "
        r"applied 2 times\n(  rule .*\n)*  logits .* allowed 0\.0.*\n"
        r"the plan found: equal\n  logits ", said), said
    said = json.loads(divisi("check", m.onnx, *m.shapes, "--devices", 2,
                             "--rewrite", "greedy", "--json").out)["runs"]
    assert [run["name"] for run in said] == [
        "the rewritten program on one device", "the plan found"]
    assert {rule["name"] for rule in said[0]["rules"]} == {
        "merge-three-matmuls-of-one-input"}


def test_a_wrong_rewriting_is_found(divisi):
    """As if the rule had taken the second product twice."""
    m, dump = rewritten(divisi, "bert")
    flags = "--before", m.onnx, "--data", m.onnx, *GPUS
    assert "the rewritten program on one device: equal" in divisi(
        "check", dump, *flags).out
    text = dump.read_text()
    right = "starts = array<i64: 0, 0, 0, 8>"
    assert text.count(right) == 2
    dump.write_text(text.replace(right, "starts = array<i64: 0, 0, 0, 0>", 1)
                    .replace("limits = array<i64: 8, 16, 8, 16>",
                             "limits = array<i64: 8, 16, 8, 8>", 1))
    result = divisi("check", dump, *flags, exits=DIFFERS)
    assert "the rewritten program on one device: differs\n" in result.out
    assert "the plan found" not in result.out
    assert "the rewritten program on one device differs:\n  logits" in result.err


def transposed(divisi, factor=0.1, rows=6):
    graph = helper.make_graph(
        [helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
         helper.make_node("Relu", ["t"], ["u"]),
         helper.make_node("Transpose", ["u"], ["v"], perm=[1, 0]),
         helper.make_node("Mul", ["v", "f"], ["y"])], "g",
        [helper.make_tensor_value_info("x", 1, [rows, 4])],
        [helper.make_tensor_value_info("y", 1, [rows, 4])],
        [numpy_helper.from_array(np.float32(factor), "f")])
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)]), divisi.path("t.onnx"))
    return "t.onnx"


def test_what_keeps_bits_is_compared_by_bits(divisi):
    divisi("plan", transposed(divisi), "--rewrite", "search", "-o", "p",
           "--dump-after", "rewrite", "--dump-to", ".")
    check = ("check", "t.rewrite.mlir", "--before", "t.onnx", "--backend",
             "reference")
    assert re.search(
        r"rule activate-before-transposing of Divisi \(bit-exact\) applied 1 "
        r"time\n(  rule .* \(bit-exact\) .*\n)*"
        r"  y  f32\[6, 4\]  largest error 0, allowed 0\n", divisi(*check).out)
    dump = divisi.path("t.rewrite.mlir")
    dump.write_text(dump.read_text().replace("1.000000e-01", "0.10000001"))
    assert "allowed 0" in divisi(*check, exits=DIFFERS).out
    divisi(*check, "--rtol", "0.001")


def test_kernels_that_are_fused_otherwise_may_round_otherwise(divisi):
    """Also where rules keep bits, as the reference kernels show."""
    random = np.random.default_rng(3)
    nodes = [("Transpose", "x", "t", {"perm": [1, 0]}), ("Sigmoid", "t", "r", {}),
             ("Transpose", "r", "u", {"perm": [1, 0]}),
             ("Softmax", "u", "q", {"axis": -1}), ("MatMul", "q w", "p", {}),
             ("MatMul", "q v", "g", {}), ("Relu", "p", "a", {}),
             ("Relu", "g", "b", {}), ("Concat", "a b", "y", {"axis": 1})]
    graph = helper.make_graph(
        [helper.make_node(op, of.split(), [to], **more)
         for op, of, to, more in nodes], "g",
        [helper.make_tensor_value_info("x", 1, [64, 64])],
        [helper.make_tensor_value_info("y", 1, [64, 128])],
        [numpy_helper.from_array(random.standard_normal(
            (64, 64), np.float32) / 8, name) for name in "wv"])
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)]), divisi.path("s.onnx"))
    flags = ("check", "s.onnx", "--rewrite", "search", "--rewrite-class",
             "bit-exact")
    said = divisi(*flags).out
    assert "rule activate-before-transposing of Divisi (bit-exact)" in said
    assert "largest error 0, allowed 0\n" in divisi(
        *flags, "--backend", "reference").out


def test_before_and_after_are_one_program(divisi):
    transposed(divisi)
    divisi("plan", "t.onnx", "-o", "p.mlir")
    transposed(divisi, rows=8)
    error = divisi("check", "p.mlir", "--before", "t.onnx", exits=CONTENT).err
    assert "'x'" in error and "8" in error
    divisi("plan", "t.onnx", "-o", "q.mlir")
    assert ("before, the program has x f32[8, 4] -> y f32[8, 4], but rewritten "
            "x f32[6, 4] -> y f32[6, 4]; expected two forms of one program"
            in divisi("check", "p.mlir", "--before", "q.mlir",
                      exits=CONTENT).err)
    assert "--before: cannot" in divisi("check", "p.mlir", "--before",
                                        "none.onnx", exits=FILE).err


MISTAKES = [
    (["--rewrite", "best"],
     "--rewrite 'best': expected off, greedy, search or joint"),
    (["--rewrite", "search", "--rewrite-class", "any"],
     "--rewrite-class 'any': expected bit-exact or reassociates"),
    (["--rewrite", "off", "--rewrite-class", "bit-exact"],
     "--rewrite-class needs --rewrite search or joint; give both"),
]


@pytest.mark.parametrize("flags, says", MISTAKES)
def test_mistakes(divisi, flags, says):
    m = model("bert")
    assert says in divisi("plan", m.onnx, *m.shapes, *flags, "-o", "p",
                          exits=USAGE).err


def test_help_names_the_group(divisi):
    assert ("Rewrite (if the input has not been rewritten)"
            in divisi("compile", "--help").out)


def recurrent_cell(divisi, rows=16, width=256, gates=8):
    """Products of an input and of a state, which meet in as many gates."""
    nodes, values = [], []
    for of, by, to in ("x", "w", "a"), ("state", "u", "b"):
        nodes += [helper.make_node("MatMul", [of, f"{by}{i}"], [f"{to}{i}"])
                  for i in range(gates)]
    for i in range(gates):
        nodes += [helper.make_node("Mul" if i % 2 else "Add",
                                   [f"a{i}", f"b{i}"], [f"s{i}"]),
                  helper.make_node("Tanh", [f"s{i}"], [f"v{i}_0"])]
        values.append(f"v{i}_0")
    while len(values) > 1:
        sums = [f"{a}_{b}" for a, b in zip(values[::2], values[1::2])]
        for total, a, b in zip(sums, values[::2], values[1::2]):
            nodes += [helper.make_node("Add", [a, b], [total]),
                      helper.make_node("Tanh", [total], [f"{total}t"])]
        values = [f"{total}t" for total in sums]
    random = np.random.default_rng(0)
    weights = [numpy_helper.from_array(random.standard_normal(
        (width, width), np.float32) / 12, name) for i in range(gates)
        for name in (f"w{i}", f"u{i}")]
    graph = helper.make_graph(
        nodes, "cell", [helper.make_tensor_value_info(name, 1, [rows, width])
                        for name in ("x", "state")],
        [helper.make_tensor_value_info(values[0], 1, [rows, width])], weights)
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)]), divisi.path("cell.onnx"))
    np.savez(divisi.path("in.npz"), **{
        name: random.standard_normal((rows, width)).astype(np.float32)
        for name in ("x", "state")})


@pytest.mark.whole
def test_merged_products_have_views_for_results(divisi):
    """So that merging pays wherever nothing is fused into the products."""
    recurrent_cell(divisi, rows=1)
    times, results = {}, {}
    for mode in "off", "search", "joint":
        divisi("compile", "cell.onnx", "--cluster", "cpu:1", "--rewrite", mode,
               "-o", "m.divisi")
        times[mode] = json.loads(divisi("explain", "m.divisi", "--json").out)[
            "predicted_nanoseconds"]
        ran = divisi("run", "m.divisi", "--inputs", "in.npz", "--verbose", "-o",
                     "out.npz")
        assert "nn.slice" not in ran.err
        [results[mode]] = load(divisi.path("out.npz")).values()
    assert times["joint"] <= times["search"] < times["off"]
    why = divisi("explain", "m.divisi").out
    assert "matmuls-of-one-input of Divisi" in why, why
    for mode in "search", "joint":
        np.testing.assert_allclose(results[mode], results["off"], rtol=2e-5,
                                   atol=2e-5)
