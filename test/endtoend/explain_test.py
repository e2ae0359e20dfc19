"""What explain says of a plan: how good it is, where the time goes, and why."""

import json
import re

import bad_models
import numpy as np
import onnx
import pytest
from conftest import ROOT, Divisi
from onnx import helper, numpy_helper
from written_programs import write_program

USAGE = 2
PROGRAMS = ROOT / "test/endtoend/Inputs"


def dense_net(path, blocks, named):
    """Blocks of layers, each of which concatenates one more input, of ever
    more channels: torchvision's DenseNet in small. Names of nodes tell the
    modules, or nothing at all."""
    random = np.random.default_rng(0)
    nodes, weights = [], []

    def add(op, inputs, scope, **attributes):
        output = f"t{len(nodes)}"
        name = f"/{scope}/{op}" if named else f"{op}_{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [output], name=name,
                                      **attributes))
        return output

    def conv(x, channels, growth, scope):
        weight = f"w{len(weights)}"
        weights.append(numpy_helper.from_array(
            random.standard_normal((growth, channels, 1, 1), np.float32),
            weight))
        return add("Conv", [x, weight], scope)

    x, channels = "x", 8
    for block, layers in enumerate(blocks, 1):
        features = [x]
        for layer in range(1, layers + 1):
            scope = f"features/denseblock{block}/denselayer{layer}"
            y = add("Concat", features, f"{scope}/cat", axis=1)
            y = add("Relu", [y], f"{scope}/relu1")
            y = conv(y, channels, 4, f"{scope}/conv1")
            y = add("Relu", [y], f"{scope}/relu2")
            features.append(conv(y, 4, 4, f"{scope}/conv2"))
            channels += 4
        x = add("Concat", features, f"features/denseblock{block}/cat", axis=1)
        x = conv(x, channels, 8, f"features/transition{block}/conv")
        channels = 8
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [value("x", onnx.TensorProto.FLOAT, (4, 8, 4, 4))],
        [value(x, onnx.TensorProto.FLOAT, (4, 8, 4, 4))], weights)
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)]), path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with an MLP, its artifact and its dumps."""
    divisi = Divisi(tmp_path_factory.mktemp("explain"))
    bad_models.good(divisi.folder)
    divisi("compile", "m.onnx", "--devices", 2, "--dump-after", "all",
           "-o", "m.divisi")
    return divisi


def dump(divisi, stage):
    """The dump after `stage`, however it is called."""
    [path] = [p for p in divisi.folder.glob("*.mlir") if stage in p.name]
    return path.name


def report(divisi, *arguments, **options):
    return json.loads(divisi("explain", *arguments, "--json", **options).out)


def check_sums(got):
    """What must hold of every report."""
    rows = got["rows"]
    copies = got.get("space_copies", [])
    total = got["predicted_nanoseconds"]
    assert total == sum(part["nanoseconds"] for part in rows + copies)
    assert got["one_device_nanoseconds"] == sum(
        part["one_device_nanoseconds"] for part in rows + copies)
    assert got["speed_up"] == pytest.approx(
        got["one_device_nanoseconds"] / total)
    assert got["efficiency"] == pytest.approx(
        got["speed_up"] / len(got["memory"]["per_device"]))
    shares = [share["nanoseconds"] for share in got["time_shares"]]
    assert sum(shares) == total and shares == sorted(shares, reverse=True)
    groups = got["groups"]
    assert sum(part["nanoseconds"] for part in groups + copies) == total
    assert sum(len(g["headings"]) * g["rows"] for g in groups) == len(rows)


# How good the plan is.

def test_first_what_the_plan_is_worth(made):
    got = report(made, "m.onnx", "--devices", 2)
    check_sums(got)
    plan = got["plan"]
    assert plan["solver"] == "auto" and plan["ended"] == "finished"
    assert 0 <= plan["lower_bound"] <= plan["nanoseconds"]
    assert plan["nanoseconds"] == got["predicted_nanoseconds"]
    lines = made("explain", "m.onnx", "--devices", 2).out.splitlines()
    starts = [line[:18].strip() for line in lines]
    order = ["on one device", "on these 2", "DP 2", "TP 2", "fewer devices",
             "gap", "search",
             "where the time go", "memory", "assumptions"]
    found = [next(i for i, s in enumerate(starts) if s.startswith(name))
             for name in order]
    assert found == sorted(found)


def test_devices_that_fuse_do_operators_in_one_kernel(made):
    flags = "m.onnx", "--cluster", "dgx-h100:8", "--devices"
    for devices in (1, 2):
        got = report(made, *flags, devices)
        check_sums(got)
        assert got["plan"]["nanoseconds"] == got["predicted_nanoseconds"]
        product, rectified = [row for row in got["rows"] if row["op"] in
                              ("nn.matmul", "nn.relu")]
        assert rectified["fused"] and not product["fused"]
        # The launch is the product's.
        assert rectified["nanoseconds"] < 2000 <= product["nanoseconds"]
        if devices == 1:
            alone = got["predicted_nanoseconds"]
        assert got["one_device_nanoseconds"] == alone
    out = made("explain", *flags, 2).out
    assert "fused             1 of 2 operators run in the kernel" in out
    assert "\n  + nn.relu " in out and "\n  nn.matmul " in out
    [item] = report(made, *flags, 2, "--why", "rectified")["items"]
    [chosen] = [a for a in item["alternatives"] if a["chosen"]]
    assert chosen["nanoseconds"] == item["row"]["nanoseconds"]
    assert item["row"]["fused"]


@pytest.mark.parametrize("name", ["m.divisi", "plan", "partition", "schedule",
                                  "lower"])
def test_every_stage_knows_what_the_plan_is_worth(made, name):
    got = report(made, name if "." in name else dump(made, name))
    check_sums(got)
    want = report(made, "m.onnx", "--devices", 2)
    for key in ("plan", "predicted_nanoseconds", "one_device_nanoseconds",
                "rows", "groups", "schema_version"):
        assert got[key] == want[key], key


def test_the_table_names_what_json_has(made):
    out = made("explain", "m.onnx", "--devices", 2).out
    top = out[out.index("where the time goes"):].split("\n\n")[0]
    printed = [float(text) for text in re.findall(r"([\d.]+) %", top)]
    assert 99 < sum(printed) < 101
    assert "layouts of operands -> results" in out and "entry @" in out


def test_an_edited_plan_says_so(made):
    text = made.path(dump(made, "plan")).read_text()
    edited, count = re.subn(r"(nn\.relu.*?#spmd\.split<@g)[^>]*>", r"\1>",
                            text, count=1)
    if not count or edited == text:
        edited = re.sub(r"#spmd\.split<@g: [^>]*>", "#spmd.split<@g>", text,
                        count=1)
    assert edited != text
    made.path("edited.mlir").write_text(edited)
    assert "not known: the plan was edited" in made(
        "explain", "edited.mlir").out
    assert report(made, "edited.mlir")["plan"]["edited"]
    assert "not known" not in made("explain", dump(made, "plan")).out


def test_a_plan_slower_than_on_fewer_devices_names_it(generated, divisi):
    small = generated("mlp.py", "--widths", "8,8,8", "--batch", "2").onnx
    flags = ("--tensor-parallel-size", 4)
    out = divisi("explain", small, *flags).out
    assert re.search(r"this plan is slower than the one on [12] devices?: "
                     r"--devices [12] is predicted [\d.]+ times as fast", out)
    got = report(divisi, small, *flags)
    assert [plan["devices"] for plan in got["fewer_devices"]] == [2, 1]
    one = got["fewer_devices"][-1]
    assert one["fits"] and one["nanoseconds"] == got["one_device_nanoseconds"]
    assert min(p["nanoseconds"] for p in got["fewer_devices"]) < got[
        "predicted_nanoseconds"]
    assert report(divisi, small, *flags, "--no-compare")["fewer_devices"] == []
    assert got["faster_on_fewer"] in got["fewer_devices"]
    # An artifact knows one device only.
    divisi("compile", small, *flags, "-o", "small.divisi")
    kept = report(divisi, "small.divisi")
    assert kept["fewer_devices"] == []
    assert kept["faster_on_fewer"]["devices"] == 1
    assert "slower than the one on 1 device:" in divisi(
        "explain", "small.divisi").out
    # A plan is never slower than one on fewer devices unless it was forced.
    free = report(divisi, small, "--devices", 4)
    assert all(free["predicted_nanoseconds"] <= plan["nanoseconds"]
               for plan in free["fewer_devices"])


def test_kinds_of_parallelism_stand_beside_the_plan(generated, divisi):
    """Each alone, on all devices; none is faster than what the search found."""
    m = generated("mlp.py", "--widths", "256,512,64", "--batch", "8").onnx
    train = ("--train", "--loss", "mse", "--optimizer", "adamw", "--lr", 0.1)
    for flags, names in [((), ["DP", "TP"]),
                         (train, ["DP", "TP", "FSDP (ZeRO-3)"])]:
        got = report(divisi, m, *flags, "--devices", 4)
        plans = got["of_one_kind"]
        assert [plan["parallelism"] for plan in plans] == names
        for plan in plans:
            assert plan["devices"] == 4 and plan["fits"]
            assert plan["peak_bytes"] > 0
            assert plan["nanoseconds"] >= got["plan"]["lower_bound"]
    by_name = {plan["parallelism"]: plan for plan in plans}
    assert by_name["FSDP (ZeRO-3)"]["peak_bytes"] < by_name["DP"]["peak_bytes"]
    assert report(divisi, m, "--devices", 1)["of_one_kind"] == []
    assert report(divisi, m, "--devices", 4, "--no-compare")[
        "of_one_kind"] == []


def test_memory_is_one_sum_against_the_limit(made):
    out = made("explain", "m.onnx", "--devices", 2, "--memory-limit",
               "1MiB").out
    assert re.search(r"\nmemory +[\d.]+ \w+ on the fullest device, [\d.]+ % of "
                     r"1\.0 MiB \(--memory-limit\)\n +=", out), out
    got = report(made, "m.onnx", "--devices", 2)["memory"]
    assert not got["limit_is_given"] and got["limit_bytes"] == 16 << 30


def test_kernels_are_those_of_the_target(made):
    flags = ("m.onnx", "--cluster", "dgx-h100:2")
    assert {row["backend"] for row in report(made, *flags)["kernels"]} <= {
        "cuda", "cpu", "reference"}
    flags += ("--gpu", "off")
    assert report(made, *flags)["kernels"] == []
    out = made("explain", *flags).out
    assert "kernels" not in out
    assert "workspace, packed constants and messages are not counted" in out
    assert "67 TFLOP/s" in made("explain", *flags).out
    assert "370.8 GB/s" in made("explain", *flags).out
    assert report(made, "m.onnx", "--devices", 2)["kernels"]


# The table.

@pytest.mark.parametrize("named", [True, False])
def test_repeated_layers_are_one_group(divisi, named):
    dense_net(divisi.path("d.onnx"), (4, 8, 8), named)
    got = report(divisi, "d.onnx", "--devices", 2)
    check_sums(got)
    layers = max(got["groups"], key=lambda group: len(group["headings"]))
    assert len(got["rows"]) > 100
    assert len(layers["headings"]) >= (15 if named else 7), layers
    printed = sum(group["rows"] for group in got["groups"])
    assert printed < len(got["rows"]) / (5 if named else 2)
    out = divisi("explain", "d.onnx", "--devices", 2).out
    assert f"{layers['label']}  ({len(layers['headings'])} alike)" in out
    if named:
        assert "features.denseblock" in layers["label"]
    assert out.count("\n  parameter ") < 30 < len(got["globals"])
    # The heading is a name for --why as it stands.
    assert divisi("explain", "d.onnx", "--devices", 2, "--why",
                  layers["label"], "--json")


def test_an_entry_is_shown_alone(divisi):
    divisi.path("weights.bin").write_bytes(
        np.random.default_rng(3).standard_normal(12 * 16 + 16 * 6,
                                                 np.float32).tobytes())
    write_program(divisi.path("p.mlir"),
                  (PROGRAMS / "two_entries.mlir").read_text())
    both = divisi("explain", "p.mlir", "--devices", 2).out
    assert "\nentry @batch2 " in both and "\nentry @batch8 " in both
    one = report(divisi, "p.mlir", "--devices", 2, "--entry", "batch8")
    check_sums(one)
    assert {row["entry"] for row in one["rows"]} == {"batch8"}
    text = divisi("explain", "p.mlir", "--devices", 2, "--entry", "batch8").out
    assert "entry @batch8" in text and "batch2" not in text
    wrong = divisi("explain", "p.mlir", "--devices", 2, "--entry", "b",
                   exits=USAGE)
    assert "no entry 'b'; there are batch2, batch8" in wrong.err


# Why.

def why(divisi, name, *arguments):
    return report(divisi, *arguments, "--why", name)


def test_why_gives_the_alternatives_and_their_costs(generated, divisi):
    mlp = generated("mlp.py", "--widths", "64,256,64", "--batch", "32").onnx
    flags = (mlp, "--devices", 4)
    plan = report(divisi, *flags)["plan"]
    answer = why(divisi, "nn.matmul", *flags)
    assert answer["schema_version"] == 2 and not answer["unknown"]
    assert {item["row"]["op"] for item in answer["items"]} == {"nn.matmul"}
    for item in answer["items"]:
        others = item["alternatives"]
        assert len(others) > 3
        assert [o["chosen"] for o in others].count(True) == 1
        growths = [o["growth"] for o in others if o["growth"] is not None]
        assert growths == sorted(growths)
        # Within what the search left open.
        least = plan["lower_bound"] - plan["nanoseconds"]
        assert growths[0] >= least
        for other in others:
            if other["adapted_growth"] is not None:
                assert least <= other["adapted_growth"] <= other["growth"]
        [chosen] = [o for o in others if o["chosen"]]
        assert chosen["growth"] == 0 and chosen["fits"]
        assert chosen["strategy"] == item["row"]["split"]
        assert chosen["nanoseconds"] == item["row"]["nanoseconds"]
    text = divisi("explain", *flags, "--why", "nn.matmul").out
    assert re.search(r"\n  \*  +0  +0 .*@", text) and " more, of larger" in text
    assert "growth    adapted       time  converting" in text


def test_why_takes_what_the_table_prints(made):
    flags = ("m.onnx", "--devices", 2)
    table = report(made, *flags)
    names = {table["groups"][0]["label"]} - {"(no scope)"}
    names |= {row[key] for row in table["rows"] for key in ("op", "node")}
    names |= {t["name"] for key in ("globals", "tensors") for t in table[key]}
    for name in filter(None, names):
        answer = why(made, name, *flags)
        assert answer["items"], name
        for item in answer["items"]:
            is_step = item.get("row", {}).get("op", "").startswith("spmd.")
            assert bool(item["alternatives"]) != is_step, name


def test_why_without_such_a_name(made):
    wrong = made("explain", "m.onnx", "--devices", 2, "--why", "matmull",
                 exits=USAGE).err
    assert ("nothing in the table is called 'matmull': no heading, operator, "
            "node or tensor; nearest are ") in wrong and "matmul" in wrong


@pytest.mark.parametrize("name", ["m.divisi", "partition", "schedule",
                                  "lower"])
def test_why_after_the_plan_says_what_is_needed(made, name):
    path = name if "." in name else dump(made, name)
    text = made("explain", path, "--why", "nn.matmul").out
    assert ("alternatives are not known: the strategies to choose from are not "
            "kept after the stage plan; explain the model, or its dump after "
            "plan") in text
    assert "MFLOP" in text or "FLOP" in text
    assert why(made, "nn.matmul", path)["unknown"]


def test_why_of_a_plan_is_that_of_the_model(made):
    for name in ("nn.matmul", "w"):
        assert (why(made, name, dump(made, "plan")) ==
                why(made, name, "m.onnx", "--devices", 2))


def test_why_of_plans_on_several_grids(made):
    made("plan", "m.onnx", "--devices", 4, "--solver", "random", "--seed", 3,
         "-o", "r.mlir")
    text = made("explain", "r.mlir", "--why", "nn.matmul").out
    grids = made.path("r.mlir").read_text().count("spmd.grid @")
    assert ("alternatives are known only for plans on one grid" in
            text) == (grids > 1)
