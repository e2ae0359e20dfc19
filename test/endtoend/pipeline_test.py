"""Pipelines: layers on parts of the devices, and several batches in a call."""

import json
import re

import numpy as np
import onnx
import pytest
from conftest import ROOT, assert_close, load, model
from onnx import TensorProto, helper, numpy_helper
from train_test import check_steps, package
from trained_models import EXPECTED, Trained
from wide_models import wide_layers

pytestmark = pytest.mark.as_written

USAGE, CONTENT, INFEASIBLE = 2, 4, 6
NAMES = ["gpt2", "t5", "resnet", "bert", "llama", "vit", "segformer"]
# Devices, stages, batches in a call.
SHAPES = [(4, 2, 4), (3, 3, 3), (2, 2, 1), (1, 1, 2), (2, 2, 4), (4, 4, 8)]


# (name, stages per device) of training.
SCHEDULES = [("auto", 1), ("gpipe", 1), ("1f1b", 1), ("zero-bubble-h1", 1),
             ("zero-bubble-h2", 1), ("interleaved", 2), ("wave", 2),
             ("auto", 2), ("interleaved", 3), ("wave", 4)]


def pipeline(stages, batches=1, schedule="auto", per_device=0):
    flags = ("--pipeline-parallel-size", stages, "--micro-batches", batches,
             "--schedule", schedule)
    return (*flags, "--num-stages-per-device", per_device) if per_device \
        else flags


def repeated(tensors, batches):
    """So many batches, each with its rows in another order."""
    return {name: np.concatenate([np.roll(value, i, axis=0)
                                  for i in range(batches)])
            for name, value in tensors.items()}


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_batches_are_those_of_single_calls(divisi, name, shape):
    devices, stages, batches = shape
    m = model(name)
    divisi("compile", m.onnx, *m.shapes, "--devices", devices,
           *pipeline(stages, batches), "-o", "m.divisi")
    np.savez(divisi.path("x.npz"), **repeated(load(m.inputs), batches))
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
    assert_close(load(divisi.path("y.npz")),
                 repeated(load(m.outputs), batches))


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("devices, stages", [(4, 2), (3, 3), (2, 2)])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("name", ["gpt2", "t5", "bert", "vit"])
def test_steps_are_those_of_pytorch(divisi, name, optimizer, devices, stages):
    """Each weight and its state rest on one stage."""
    case = Trained(name, optimizer)
    divisi("compile", case.onnx, *case.flags(), "--devices", devices,
           *pipeline(stages), "-o", "m.divisi")
    check_steps(divisi.path("m.divisi"), case)


def states_after(divisi, case, batches, *flags):
    """Losses of some steps of so many batches, and what they leave."""
    divisi("compile", case.onnx, *case.flags(), *flags, "-o", "m.divisi")
    session = package.Session(package.load(divisi.path("m.divisi")))
    data = repeated(case.data(), batches)
    losses = [float(session.run(data)["loss"]) for _ in range(3)]
    expected = json.loads(EXPECTED.read_text())[case.name][case.optimizer]
    names = expected["weights"] | expected["statistics"]
    return losses, {n: np.array(session.state[n]) for n in names}


@pytest.mark.sample(slow=True, first=True)
@pytest.mark.parametrize("stages, batches, devices", [
    (2, 4, 2), (2, 3, 4), (3, 2, 3), (4, 8, 4), (2, 1, 2)])
@pytest.mark.parametrize("schedule, per_device", SCHEDULES)
@pytest.mark.parametrize("name", ["gpt2", "bert", "llama", "t5", "residual"])
def test_schedules_train_as_one_device(divisi, name, schedule, per_device,
                                       stages, batches, devices):
    """With micro-batches, whose statistics follow each other."""
    case = Trained(name, "sgd")
    line = ("--devices", devices, *pipeline(stages, batches, schedule,
                                            per_device))
    losses, states = states_after(divisi, case, batches, *line)
    expected, whole = states_after(divisi, case, batches,
                                   *pipeline(1, batches))
    np.testing.assert_allclose(losses, expected, 1e-5)
    for weight, value in whole.items():
        np.testing.assert_allclose(states[weight], value, 1e-3, 2e-5, weight)


@pytest.mark.parametrize("per_device", [1, 2])
@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_sums_stay_where_they_are_made(divisi, name, per_device):
    """What stages make of the gradient of one weight is added once a step."""
    case = Trained(name, "sgd")
    schedule = "interleaved" if per_device > 1 else "1f1b"
    text = divisi("plan", case.onnx, *case.flags(), "--devices", 2,
                  *pipeline(2, 4, schedule, per_device), "-o", "-").out
    zeros = set(re.findall(r"(%\w+) = nn.constant", text))
    made = dict(re.findall(r"(%\w+)(?::\d+)? = nn\..*?(@g\d+)", text))
    sums = re.findall(r"(%\w+) = nn.add (%\w+), (%\w+) {.*pipe.gives", text)
    assert len(sums) > 10
    for total, *operands in sums:
        [summand] = zeros.symmetric_difference(operands) - zeros
        assert made[summand] == made[total], summand
    totals = {total for total, *_ in sums}
    assert any(totals.issuperset(pair)
               for pair in re.findall(r"= nn.add (%\w+), (%\w+) ", text))


def order_of(text):
    """The schedule in the dump of a plan: name, and steps of each stage."""
    [found] = re.findall(r'name = "([^"]*)", order = \[([^]]*)\]', text)
    return found[0], [part.split()
                      for part in re.findall(r'"([^"]*)"', found[1])]


def test_an_order_is_edited_and_resumed(divisi):
    """1F1B becomes GPipe in the dump, and is what runs; what would wait for
    itself is refused, with the cycle."""
    case = Trained("gpt2", "sgd")
    divisi("plan", case.onnx, *case.flags(), "--devices", 2,
           *pipeline(2, 4, "1f1b"), "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    name, orders = order_of(text)
    assert name == "1f1b"
    assert orders[1] == [f"1.{step}" for step in
                         "F0 B0 F1 B1 F2 B2 F3 B3".split()]
    assert orders[0][:3] == ["0.F0", "0.F1", "0.B0"]
    old = " ".join(orders[0])
    new = " ".join(f"0.{phase}{i}" for phase in "FB" for i in range(4))
    divisi.path("q.mlir").write_text(text.replace(old, new))
    divisi("compile", "q.mlir", "--data", case.onnx, "-o", "q.divisi")
    divisi("compile", "p.mlir", "--data", case.onnx, "-o", "p.divisi")
    np.savez(divisi.path("x.npz"), **repeated(case.data(), 4))
    for artifact in ("p", "q"):
        divisi("run", f"{artifact}.divisi", "--inputs", "x.npz", "-o",
               f"{artifact}.npz")
    [p], [q] = (load(divisi.path(f"{a}.npz")).values() for a in "pq")
    assert p == q
    steps = [s for s in orders[0] if s != "0.B0"]
    wrong = " ".join(["0.B0", *steps])
    divisi.path("w.mlir").write_text(text.replace(old, wrong))
    error = divisi("compile", "w.mlir", "--data", case.onnx, "-o", "w.divisi",
                   exits=CONTENT).err
    assert "steps wait for each other: " in error, error
    assert "0.B0" in error and "0.F0" in error, error


def test_streams_are_of_inference(divisi):
    case = Trained("gpt2", "sgd")
    error = divisi("plan", case.onnx, *case.flags(), "--devices", 2,
                   *pipeline(2, 2, "stream"), "-o", "p.mlir", exits=USAGE).err
    assert ("--schedule stream orders forward steps, and the program has "
            "backward steps: use 1f1b, or leave it out") in error, error


@pytest.mark.parametrize("stages", [5, 8])
def test_many_stages_compute_again(divisi, stages):
    """What all of them may hold together, where nothing limits it."""
    case = Trained("gpt2", "sgd")
    divisi("plan", case.onnx, *case.flags(), "--devices", stages,
           *pipeline(stages, 2), "--recompute", "full", "-o", "p.mlir")
    assert "pipe.micro_batches = 2" in divisi.path("p.mlir").read_text()


def test_a_plan_is_dropped_with_its_schedule(divisi):
    m = model("gpt2")
    divisi("plan", m.onnx, *m.shapes, "--devices", 2, *pipeline(2, 2), "-o",
           "p.mlir")
    divisi("plan", "p.mlir", "--data", m.onnx, "--replan", "--devices", 2,
           "--pipeline-parallel-size", 1, "-o", "q.mlir")
    text = divisi.path("q.mlir").read_text()
    assert "pipe.s" in divisi.path("p.mlir").read_text()  # steps, a schedule
    assert "pipe.s" not in text
    assert stages_of(text) == {}


def test_simulate_says_what_devices_do(divisi):
    """Gaps of GPipe are those of its closed form; 1F1B holds less."""
    case = Trained("gpt2", "sgd")
    facts = {}
    for schedule in ("gpipe", "1f1b"):
        line = ("simulate", case.onnx, *case.flags(), "--devices", 2,
                "--rewrite", "off", *pipeline(2, 8, schedule))
        text = divisi(*line, "-o", "t.json").out
        assert re.search(r"entry @train_step: [\d.]+ [mu]?s, idle [\d.]+ % of "
                         r"it\n  ranks 0: operators .* %\), exposed "
                         r"communication .* %\), idle .* %\); tensors .* at the "
                         r"peak\n    \d+", text), text
        assert ("  0, 1, ...: forward phase of that micro-batch; a, b, ...: "
                "backward phase of the first, the second; +: operators; -: "
                "communication; .: nothing") in text
        assert re.search(r"\n  0 +\|0[^|]{63}\|\n  1 +\|[.+-][^|]{63}\|",
                         text), text
        [facts[schedule]] = json.loads(divisi(*line, "--json").out)["entries"]
        events = json.loads(divisi.path("t.json").read_text())["traceEvents"]
        spans = [e for e in events if e["ph"] == "X"]
        assert {e["pid"] for e in spans} == {100000, 100001}
        for pid in (100000, 100001):
            steps = [e["args"]["step"] for e in sorted(
                (e for e in spans if e["pid"] == pid and e["tid"] == 0),
                key=lambda e: e["ts"]) if "step" in e["args"]]
            phases = "".join("f" if ".F" in s else "b" for s in steps)
            turns = len(re.findall("f+b+", phases))
            assert turns == 1 if schedule == "gpipe" else turns >= 7, phases
        end = max(e["ts"] + e["dur"] for e in spans)
        assert abs(end * 1000 - facts[schedule]["nanoseconds"]) <= 1
    first = [facts[s]["programs"][1]["peak_bytes"] for s in ("gpipe", "1f1b")]
    assert first[1] < 0.6 * first[0], first
    for entry in facts.values():
        for program in entry["programs"]:
            assert (program["busy_nanoseconds"] + program["idle_nanoseconds"]
                    + program["exposed_nanoseconds"] == entry["nanoseconds"])


def test_simulate_puts_a_measured_trace_beside(divisi):
    m = model("gpt2")
    line = (m.onnx, *m.shapes, "--devices", 2, *pipeline(2, 2))
    divisi("compile", *line, "-o", "m.divisi")
    np.savez(divisi.path("x.npz"), **repeated(load(m.inputs), 2))
    divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz", "--trace",
           "r.json")
    divisi("simulate", *line, "-o", "t.json", "--measured", "r.json")
    events = json.loads(divisi.path("t.json").read_text())["traceEvents"]
    names = [e["args"]["name"] for e in events
             if e["ph"] == "M" and e["name"] == "process_name"]
    assert sorted(names) == ["rank 0", "rank 0, predicted", "rank 1",
                             "rank 1, predicted"]
    divisi.path("bad.json").write_text("[1, 2")
    error = divisi("simulate", *line, "-o", "t.json", "--measured", "bad.json",
                   exits=CONTENT).err
    assert "'bad.json' is no trace: expected a JSON object" in error, error
    error = divisi("simulate", *line, "--measured", "r.json", exits=USAGE).err
    assert "--measured is for the trace: name that by -o" in error, error
    divisi.path("l.mlir").write_text(
        divisi("compile", *line, "--dump-after", "lower", "-o", "-").out)
    one = "(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    divisi.path("two.mlir").write_text(f"func.func @a{one}\nfunc.func @b{one}")
    error = divisi("simulate", "two.mlir", "-o", "t.json", exits=USAGE).err
    assert ("-o writes the events of one entry, and there are 2: name one by "
            "--entry") in error, error
    divisi("simulate", "two.mlir", "-o", "t.json", "--entry", "b")
    error = divisi("simulate", "two.mlir", "--entry", "c", exits=USAGE).err
    assert "no entry 'c'; there are a, b" in error, error
    error = divisi("simulate", "l.mlir", exits=USAGE).err
    assert "is not simulated: give the model" in error, error


def stages_of(text):
    """{stage: operators} of the dump of a plan."""
    found = re.findall(r"spmd\.split<@g(\d+)", text)
    return {int(s): found.count(s) for s in sorted(set(found))}


def test_stages_share_operators_and_weights(divisi):
    """The dump of a plan has a grid per stage, and is resumed."""
    m = model("gpt2")
    divisi("plan", m.onnx, *m.shapes, "--cluster", "cpu:4", *pipeline(2),
           "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    assert re.search(r"spmd\.grid @g0 .* devices \[0, 1\]", text)
    assert re.search(r"spmd\.grid @g1 .* devices \[2, 3\]", text)
    counts = stages_of(text)
    assert min(counts.values()) * 4 >= sum(counts.values()), counts
    places = re.findall(r"nn\.global .*spmd\.place<@g(\d)", text)
    assert set(places) == {"0", "1"}
    divisi("compile", "p.mlir", "--data", m.onnx, "-o", "m.divisi")
    divisi("check", "m.divisi", "--inputs", m.inputs, "--expect", m.outputs)


def test_explain_says_what_stages_take_beside_each_other(divisi):
    m = model("vit")
    line = ("explain", m.onnx, *m.shapes, "--cluster", "cpu:2", "--rewrite",
            "off")
    text = divisi(*line, *pipeline(2, 8), "--summary").out
    assert ("pipeline          2 stages, 8 micro-batches, schedule stream: the "
            "gap is not known" in text)
    [beside] = re.findall(r"on these 2 .* speed-up ([\d.]+),", text)
    assert re.search(r", of stages beside each other, whose work is [\d.]+ ms "
                     "in all", text)
    assert float(beside) > 1.3, text
    facts = json.loads(divisi(*line, *pipeline(2, 8), "--json").out)
    [schedule] = facts["schedule"]
    assert schedule["nanoseconds"] < facts["predicted_nanoseconds"] / 1.5
    assert facts["speed_up"] == (facts["one_device_nanoseconds"]
                                 / schedule["nanoseconds"])
    assert facts["plan"]["stages"] == 2
    [alone] = [plan for plan in facts["of_one_kind"]
               if plan["parallelism"] == "DP"]
    ratio = alone["nanoseconds"] / schedule["nanoseconds"]
    assert re.search(rf"\nDP 2 .*, {ratio:.2f} times as long", text), text


def test_equal_options_give_equal_bytes(divisi):
    m = model("llama")
    for name in ("a", "b"):
        divisi("compile", m.onnx, *m.shapes, "--devices", 4, *pipeline(2, 3),
               "-o", name)
    assert divisi.path("a").read_bytes() == divisi.path("b").read_bytes()


@pytest.mark.parametrize("flags, code, message", [
    (["--devices", 2, *pipeline(0)], USAGE,
     "--pipeline-parallel-size is 0, expected 1 to 4096"),
    (["--devices", 2, *pipeline(3)], USAGE,
     "--pipeline-parallel-size is 3, and there are 2 devices"),
    (["--devices", 4096, *pipeline(4096)], USAGE,
     "each chunk needs one"),
    (["--devices", 2, *pipeline(2, 1, "1f1b")], USAGE,
     "--schedule 1f1b orders forward and backward steps"),
    (["--devices", 2, *pipeline(2, 1, "dualpipe")], USAGE,
     "--schedule dualpipe: there are auto, stream, gpipe, 1f1b"),
    (["--devices", 2, "--schedule", "stream"], USAGE,
     "--schedule is of a pipeline: give --pipeline-parallel-size, too"),
    (["--devices", 2, "--num-stages-per-device", 2], USAGE,
     "--num-stages-per-device is of a pipeline"),
    (["--devices", 2, *pipeline(2, 1, "auto", 65)], USAGE,
     "--num-stages-per-device is 65, expected 1 to 64"),
    (["--devices", 2, *pipeline(2, 1, "1f1b", 2)], USAGE,
     "--schedule 1f1b runs one stage per device"),
    (["--devices", 2, *pipeline(2, 1, "wave", 3)], USAGE,
     "so --num-stages-per-device is even, and 3 was given"),
    (["--devices", 2, *pipeline(2), "--memory-limit", "10KiB"], INFEASIBLE,
     "10240 bytes per device (--memory-limit), which is 20480 for all stages "
     "together"),
    (["--devices", 2, *pipeline(1, 0)], USAGE,
     "--micro-batches 0: expected a number from 1 to 1024"),
], ids=lambda value: str(value)[:30] if isinstance(value, str) else "")
def test_what_cannot_be_a_pipeline(divisi, flags, code, message):
    m = model("vit")
    result = divisi("plan", m.onnx, *m.shapes, *flags, "-o", "p.mlir",
                    exits=code)
    assert message in result.err, result.err


def test_the_number_of_stages_is_searched(divisi):
    """Of micro-batches, where it is not given: the fastest as simulated."""
    m = model("vit")
    line = ("simulate", m.onnx, *m.shapes, "--devices", 4, "--rewrite", "off",
            "--micro-batches", 6, "--json")
    times = {stages: json.loads(divisi(
        *line, "--pipeline-parallel-size", stages).out)["entries"][0]
        for stages in (1, 2, 4)}
    times = {stages: entry["nanoseconds"] for stages, entry in times.items()}
    [found] = json.loads(divisi(*line).out)["entries"]
    assert found["nanoseconds"] == min(times.values()), times
    divisi("plan", m.onnx, *m.shapes, "--devices", 4, "--micro-batches", 6,
           "--schedule", "stream", "-o", "p.mlir")
    assert len(stages_of(divisi.path("p.mlir").read_text())) > 1


MIXED = ROOT / "test" / "endtoend" / "Inputs" / "a100-v100.yaml"


def test_slow_devices_get_fewer_layers(divisi):
    """A stage of V100s beside one of A100s: faster than the A100s alone."""
    onnx.save(wide_layers(24, 2048), divisi.path("m.onnx"))
    times = {}
    for name, flags in {
            "a100": ("--devices", 4, "--micro-batches", 16),
            "both": pipeline(2, 16)}.items():
        divisi("plan", "m.onnx", "--cluster", MIXED, *flags, "--rewrite", "off",
               "-o", "p.mlir")
        [entry] = json.loads(divisi("simulate", "p.mlir", "--json").out)["entries"]
        times[name] = entry["nanoseconds"]
    text = divisi.path("p.mlir").read_text()
    counts = stages_of(text)
    fast = int(re.search(r"spmd\.grid @g(\d) .* devices \[0, 1, 2, 3\]",
                         text).group(1))
    assert counts[fast] > 1.2 * counts[1 - fast] > 0, counts
    assert times["both"] < 0.9 * times["a100"], times
    text = MIXED.read_text()
    divisi.path("uneven.yaml").write_text(re.sub(
        r"count: +4", lambda found, counts=iter("62"):
        f"count: {next(counts)}", text))
    error = divisi("plan", "m.onnx", "--cluster", "uneven.yaml", *pipeline(2),
                   "-o", "p.mlir", exits=USAGE).err
    assert ("the cluster a100-v100 has room for 1 stages of 4 devices of one "
            "kind each: take more stages, or fewer devices") in error, error
    error = divisi("plan", "m.onnx", "--cluster", MIXED, *pipeline(3, 2), "-o",
                   "p.mlir").err
    assert "3 stages have 2 devices each: of the 8 that there are 2 stay idle" \
        in error, error
    for flags, message in [
            (pipeline(2, 2, "auto", 2), "ask for several chunks a stage, and "
             "the stages have devices of several kinds: leave them out")]:
        error = divisi("plan", "m.onnx", "--cluster", MIXED, *flags, "-o",
                       "p.mlir", exits=USAGE).err
        assert message in error, error


def test_models_that_have_no_batches(divisi):
    """One number for all batches, and a state that each would change."""
    for body, message in [
            ("%y = nn.reduce %x {kind = \"sum\", axes = array<i64: 0>} : "
             "(tensor<4xf32>) -> tensor<f32>\n return %y : tensor<f32>",
             "returns one number as its output 0, which cannot be joined of "
             "micro-batches: leave out --micro-batches"),
            ("nn.update @m, %x : tensor<4xf32>\n return %x : tensor<4xf32>",
             "changes the global @m, and micro-batches are independent")]:
        result = body.rsplit(": ", 1)[1]
        divisi.path("m.mlir").write_text(
            "nn.global @m state : tensor<4xf32> zero\n"
            f"func.func @f(%x: tensor<4xf32>) -> {result} {{\n {body} \n}}")
        error = divisi("plan", "m.mlir", *pipeline(1, 2), "-o", "p.mlir",
                       exits=CONTENT).err
        assert message in error, error


def test_bodies_run_where_their_loop_stands(divisi):
    """On the stage of the loop, whatever that is."""
    random = np.random.default_rng(0)

    def weight(name):
        return numpy_helper.from_array(
            random.standard_normal((16, 16)).astype(np.float32) / 4, name)

    def value(name, kind=TensorProto.FLOAT, dims=(4, 16)):
        return helper.make_tensor_value_info(name, kind, dims)
    body = helper.make_graph(
        [helper.make_node("MatMul", ["s", "v"], ["p"]),
         helper.make_node("Tanh", ["p"], ["s2"]),
         helper.make_node("Identity", ["c"], ["c2"])], "body",
        [value("i", TensorProto.INT64, ()), value("c", TensorProto.BOOL, ()),
         value("s")], [value("c2", TensorProto.BOOL, ()), value("s2")])
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "a"], ["h"], "first"),
         helper.make_node("Relu", ["h"], ["r"], "second"),
         helper.make_node("Loop", ["n", "k", "r"], ["l"], "loop", body=body),
         helper.make_node("MatMul", ["l", "b"], ["y"], "last")], "graph",
        [value("x")], [value("y")],
        [weight("a"), weight("b"), weight("v"),
         numpy_helper.from_array(np.int64(40), "n"),
         numpy_helper.from_array(np.bool_(True), "k")])
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)]), divisi.path("loop.onnx"))
    for devices, stages in (2, 2), (4, 2), (3, 3):
        assert "equal" in divisi("check", "loop.onnx", "--devices", devices,
                                 *pipeline(stages)).out
