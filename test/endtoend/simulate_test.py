"""What is simulated: loops run by run, and plans that are judged by it."""

import json
import re

import onnx
import pytest
from conftest import ROOT, run_python
from control_flow import counted_loop, long_loop

USAGE = 2
TRAINED = ("--train", "--loss", "mse", "--optimizer", "adam", "--lr", 0.1)


def simulate(divisi, case, *more):
    """(text, facts, spans of rank 0) of a model."""
    onnx.save(case.model, divisi.path("m.onnx"))
    line = ("simulate", "m.onnx", "--devices", 2, *case.options, *more)
    text = divisi(*line, "-o", "t.json").out
    [facts] = json.loads(divisi(*line, "--json").out)["entries"]
    events = json.loads(divisi.path("t.json").read_text())["traceEvents"]
    return text, facts, [e for e in events
                         if e["ph"] == "X" and e["pid"] == 100000]


def test_loops_are_shown_run_by_run(divisi):
    """As often as an input may say; all runs of a body are alike."""
    text, facts, spans = simulate(divisi, counted_loop())
    [loop] = facts["loops"]
    assert loop["runs"] == 9 and loop["shown"] and loop["nanoseconds"] > 0
    assert f"  @{loop['body']} runs 9 times at most, each " in text, text
    runs = {}
    for span in spans:
        if run := span["args"].get("run"):
            runs.setdefault(run, []).append(span)
    assert sorted(runs) == [f"{loop['body']} {i}" for i in range(9)]
    first = min(e["ts"] for e in runs[f"{loop['body']} 0"])
    for i in range(9):
        events = runs[f"{loop['body']} {i}"]
        later = first + i * loop["nanoseconds"] / 1000
        assert [e["name"] for e in events] == [
            e["name"] for e in runs[f"{loop['body']} 0"]]
        assert min(e["ts"] for e in events) == pytest.approx(later, abs=0.01)
    assert facts["nanoseconds"] >= 9 * loop["nanoseconds"]
    for program in facts["programs"]:
        assert (program["busy_nanoseconds"] + program["idle_nanoseconds"]
                + program["exposed_nanoseconds"] == facts["nanoseconds"])


def test_very_many_runs_are_one_event(divisi):
    text, facts, spans = simulate(divisi, long_loop(150_000))
    [loop] = facts["loops"]
    assert loop["runs"] == 150_000 and not loop["shown"]
    assert ("; one event stands for all, which would be more than 200000"
            in text), text
    [span] = [e for e in spans if e["cat"] == "nn.loop"]
    assert span["dur"] * 1000 == pytest.approx(150_000 * loop["nanoseconds"])
    assert facts["nanoseconds"] >= 150_000 * loop["nanoseconds"]
    for program in facts["programs"]:
        assert (program["busy_nanoseconds"] + program["idle_nanoseconds"]
                + program["exposed_nanoseconds"] == facts["nanoseconds"])


def test_plans_are_judged_by_their_time_with_overlap(divisi):
    """A judged plan takes no longer than that of the least sum, and its bound is
    that of the sums."""
    run_python(ROOT / "models" / "mlp.py", "--widths", "64,64,64,8", "--batch",
               "8", "-o", divisi.path("m.onnx"))
    facts = {}
    for judge in ("sum", "simulated"):
        divisi("plan", "m.onnx", "--devices", 4, *TRAINED, "--judge", judge,
               "--rewrite", "off", "-o", "p.mlir")
        facts[judge] = json.loads(divisi("explain", "p.mlir", "--json").out)
    plans = {judge: fact["plan"] for judge, fact in facts.items()}
    assert plans["sum"]["judged"] is None and plans["sum"]["judge"] == "sum"
    assert plans["simulated"]["judge"] is None
    assert 1 <= plans["simulated"]["judged"] <= 4
    times = {judge: sum(e["nanoseconds"] for e in fact["schedule"])
             for judge, fact in facts.items()}
    assert times["simulated"] == plans["simulated"]["simulated"]
    assert times["simulated"] <= times["sum"]
    least = plans["simulated"]["least_sum"] or plans["simulated"]["nanoseconds"]
    assert least == plans["sum"]["nanoseconds"]
    assert plans["simulated"]["lower_bound"] <= least
    # Without overlap, sums are times.
    divisi("plan", "m.onnx", "--devices", 4, *TRAINED, "--no-overlap", "-o",
           "p.mlir")
    plan = json.loads(divisi("explain", "p.mlir", "--json").out)["plan"]
    assert plan["judged"] is None


def test_a_plan_of_a_larger_sum_is_taken(divisi, generated):
    """On GPUs, what a training step moves is hidden behind its backward pass."""
    m = generated("gpt2.py", "--size", "tiny", "--batch", 8, "--seq", 16)
    facts = {}
    for judge in ("sum", "simulated"):
        divisi("plan", m.onnx, "--cluster", "dgx-h100:4", "--train", "--loss",
               "cross_entropy", "--optimizer", "adam", "--lr", 0.001,
               "--judge", judge, "-o", "p.mlir")
        done = divisi("explain", "p.mlir", "--no-compare")
        facts[judge] = json.loads(
            divisi("explain", "p.mlir", "--no-compare", "--json").out)
    assert re.search(r"\nsearch +auto, seed 0: taken for its time with overlap; "
                     r".*\njudged +[2-4] plans were simulated with overlap, and "
                     r"this one takes least, [\d.]+ us; the least sum of times "
                     r"is another's, [\d.]+ [um]s\n", done.out), done.out
    less, least = (facts[judge]["schedule"][0]["nanoseconds"]
                   for judge in ("simulated", "sum"))
    assert less < least
    plan = facts["simulated"]["plan"]
    assert plan["least_sum"] == facts["sum"]["plan"]["nanoseconds"]
    assert plan["nanoseconds"] > plan["least_sum"] >= plan["lower_bound"]


def test_mcmc_is_judged_by_simulated_time(divisi):
    """The same seed gives the same plan."""
    run_python(ROOT / "models" / "mlp.py", "--widths", "64,64,64,8", "--batch",
               "8", "-o", divisi.path("m.onnx"))
    texts = []
    for name in ("a.mlir", "b.mlir"):
        divisi("plan", "m.onnx", "--devices", 4, *TRAINED, "--solver", "mcmc",
               "--work-limit", 20_000_000, "-o", name)
        texts.append(divisi.path(name).read_text())
    assert texts[0] == texts[1]
    divisi("simulate", "a.mlir")


def test_the_judge_is_one_of_two(divisi):
    error = divisi("plan", "m.onnx", "--judge", "oracle", "-o", "-",
                   exits=USAGE).err
    assert "--judge 'oracle': expected simulated or sum" in error, error


def test_stdout_takes_one_document(divisi):
    """The trace alone; JSON as well is refused."""
    onnx.save(counted_loop().model, divisi.path("m.onnx"))
    line = ("simulate", "m.onnx", "--devices", 2, *counted_loop().options)
    result = divisi(*line, "-o", "-")
    assert json.loads(result.out)["traceEvents"]
    error = divisi(*line, "-o", "-", "--json", exits=USAGE).err
    assert ("-o - and --json both write to stdout; name a file for one" in
            error), error
    error = divisi(*line, "-o", "m.onnx", exits=USAGE).err
    assert "-o 'm.onnx' is the model, which would be lost" in error, error
    divisi(*line, "-o", "t.json")
    error = divisi(*line, "-o", "t.json", "--measured", "t.json",
                   exits=USAGE).err
    assert "-o 't.json' is the measured trace, which would" in error, error
