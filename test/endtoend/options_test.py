"""Which input honours which option: every option of every verb, on models, on
the dumps of every stage, and on artifacts. Nothing is ignored in silence."""

import re

import pytest
from conftest import Divisi, run_python, ROOT
from rule_texts import changed

USAGE, CONTENT = 2, 4
STAGES = ["import", "rewrite", "plan", "partition", "schedule", "lower"]
IMPORT, PLAN = "Import (of models)", "Plan (if the input has none)"
TRAIN = "Train (of models)"
REWRITE = "Rewrite (if the input has not been rewritten)"
SCHEDULE = "Schedule (if the input has none)"
LOWER = "Lower (if the input is not lowered)"
# A value for every option that an input may refuse.
VALUES = {
    "constant": "y=m.inputs.npz", "constants-from": "m.inputs.npz",
    "dim": "n=2", "shape": "x=4x16", "shapes-from": "m.inputs.npz",
    "max-trip-count": "9", "state": "x=y", "shared-inputs": "none",
    "precision": "bf16", "keep-f32": "matmul",
    "reduce-precision": "f32", "leave-out": "choose-formats",
    "rules": "m.rules",
    "train": "true", "loss": "cross_entropy", "loss-of": "y", "labels": "t",
    "shift-labels": "true", "ignore-index": "0", "label-smoothing": "0",
    "optimizer": "adamw", "lr": "0.1", "momentum": "0", "nesterov": "false",
    "beta1": "0", "beta2": "0", "epsilon": "0", "weight-decay": "0.1",
    "lr-schedule": "linear", "lr-warmup": "1", "lr-steps": "9",
    "loss-scale": "8", "skip-nonfinite": "true",
    "dropout-seed": "1",
    "clip-norm": "1", "no-decay": "w", "train-only": "w", "freeze": "w",
    "rewrite": "search", "rewrite-class": "bit-exact",
    "batch-dim": "0", "branch-parallel": "off", "cluster": "cpu:2", "data-parallel-size": "2",
    "devices": "2", "judge": "sum", "memory-limit": "1GiB", "max-axes": "2",
    "mesh": "2", "micro-batches": "2", "pipeline-parallel-size": "2",
    "num-stages-per-device": "1", "objective": "latency", "recompute": "none",
    "schedule": "auto", "stage-devices": "1,1", "seed": "1", "solver": "auto",
    "tensor-parallel-size": "1", "time-limit": "100", "zero": "1",
    "work-limit": "100", "random-plans": "1",
}
# These say what becomes of a plan; they have tests of their own.
OF_PLANS = {"replan", "keep"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model, its dumps, named after their stages, and its artifact."""
    divisi = Divisi(tmp_path_factory.mktemp("made"))
    run_python(ROOT / "models" / "mlp.py", "--widths", "16,32,8", "--batch",
               "4", "-o", divisi.path("m.onnx"))
    run_python(ROOT / "models" / "expect.py", divisi.path("m.onnx"))
    divisi.path("m.rules").write_text(changed(
        ("a = relu(x)", "b = neg(x)\n    a = neg(b)")))
    divisi("compile", "m.onnx", "--mesh", "x=2", "-o", "a.divisi",
           "--dump-after", "all", "--dump-to", ".")
    for stage in STAGES:
        [dump] = divisi.folder.glob(f"*{stage}.mlir")
        dump.rename(divisi.path(f"{stage}.mlir"))
    return divisi


def groups(divisi, verb):
    """The options of a verb as --help has them: {group: names}."""
    found, group = {}, None
    for line in divisi(verb, "--help").out.splitlines():
        if re.fullmatch(r"[A-Z][^:]*:", line):
            group = found.setdefault(line[:-1], [])
        elif option := re.match(r"  --?([\w-]+)", line):
            group.append(option.group(1))
    return found


def refused(result):
    """The options that the message says are decided already."""
    assert "decided already: " in result.err, result.report("nothing refused")
    return sorted(re.findall(r"--([\w-]+)(?= and | is decided| are decided)",
                             result.err))


@pytest.mark.parametrize("verb", ["compile", "plan", "check", "bench", "explain",
                                  "simulate", "run", "train", "export",
                                  "export-weights", "solve", "version"])
def test_help_shows_our_options_alone(made, verb):
    found = groups(made, verb)
    assert not {"General options", "Generic Options"} & set(found)
    assert "help" in found["Options"]
    known = {IMPORT, TRAIN, REWRITE, PLAN, SCHEDULE, LOWER, "Options", "Stages that run",
             "The artifact", "Runs"}
    assert set(found) - {"OPTIONS"} <= known, found


def acts_on(made, verb, group):
    names = groups(made, verb).get(group, [])
    for name in names:
        assert name in OF_PLANS or name in VALUES, (
            f"--{name} is new: this test needs a value for it")
    return sorted(set(names) - OF_PLANS)


@pytest.mark.parametrize("verb", ["compile", "plan", "check", "explain",
                                  "export"])
@pytest.mark.parametrize("stage", STAGES + ["a.divisi"])
def test_what_is_decided_is_refused(made, verb, stage):
    """All options at once: the message names those and no others."""
    name = stage if stage.endswith(".divisi") else f"{stage}.mlir"
    wanted = acts_on(made, verb, IMPORT) + acts_on(made, verb, TRAIN)
    wanted = sorted(wanted)
    if stage != "import":
        wanted = sorted(wanted + acts_on(made, verb, REWRITE))
    if stage not in ("import", "rewrite"):
        wanted = sorted(wanted + acts_on(made, verb, PLAN))
    if stage == "plan":
        # A plan that names no cluster lets it be named.
        text = made.path(name).read_text()
        if "divisi.cluster =" not in text:
            wanted.remove("cluster")
    if verb == "check" and not stage.endswith(".divisi"):
        wanted = [option for option in wanted if option != "seed"]
    given = [f"--{option}={VALUES[option]}" for group in (IMPORT, TRAIN, REWRITE, PLAN)
             for option in acts_on(made, verb, group)]
    output = ["-o", "o"] if verb in ("compile", "plan") else []
    output += ["--to", "dtensor"] if verb == "export" else []
    if name == "a.divisi" and verb in ("compile", "plan", "export"):
        assert "is an artifact, which run, check and explain take" in made(
            verb, name, *given, *output, exits=CONTENT).err
        return
    assert refused(made(verb, name, *given, *output, exits=USAGE)) == wanted
    assert not made.path("o").exists()


SAYS = [
    (["plan", "plan.mlir", "--devices", 2],
     "--devices is decided already: 'plan.mlir' is a plan; --replan plans it "
     "again, or give the model"),
    (["compile", "plan.mlir", "--tensor-parallel-size", 2, "-o", "o"],
     "--tensor-parallel-size is decided already: 'plan.mlir' is a plan"),
    (["explain", "a.divisi", "--cluster", "dgx-h100:2"],
     "--cluster is decided already: 'a.divisi' is an artifact; give the "
     "model, or a plan with --replan"),
    (["check", "a.divisi", "--devices", 2],
     "--devices is decided already: 'a.divisi' is an artifact"),
    (["compile", "import.mlir", "--dim", "n=2", "-o", "o"],
     "--dim is decided already: 'import.mlir' is IR, which has its shapes; "
     "give the model"),
    (["compile", "lower.mlir", "--devices", 2, "--mesh", "2", "-o", "o"],
     "--devices and --mesh are decided already: 'lower.mlir' has been through "
     "the stage lower"),
    (["compile", "schedule.mlir", "--no-overlap", "-o", "o"],
     "--no-overlap is decided already: 'schedule.mlir' has been through the "
     "stage schedule; give the model, or an earlier dump"),
    (["explain", "a.divisi", "--no-overlap"],
     "--no-overlap is decided already: 'a.divisi' is an artifact; give the "
     "model, or a dump"),
    (["compile", "m.onnx", "--replan", "-o", "o"],
     "--replan is for a plan: 'm.onnx' is a model, which has none"),
    (["compile", "partition.mlir", "--replan", "-o", "o"],
     "--replan is for a plan, whose strategies can be dropped: "
     "'partition.mlir' has been through the stage partition; give the plan "
     "that it was made from, or the model"),
    (["explain", "a.divisi", "--replan"],
     "strategies can be dropped: 'a.divisi' is an artifact"),
    (["plan", "plan.mlir", "--keep", "nn.matmul"],
     "--keep needs --replan; give both"),
    (["plan", "plan.mlir", "--replan", "--keep", "nn.matmul,lost"],
     "--keep names 'lost', and nothing of that name has a strategy or a "
     "place; expected a node, a scope, an operator such as nn.matmul, or a "
     "global"),
    (["plan", "lower.mlir"],
     "'lower.mlir' has been through the stage lower, and plan ends with the "
     "stage plan; compile goes on from it"),
    (["compile", "plan.mlir", "--dump-after", "import", "-o", "o"],
     "--dump-after import: 'plan.mlir' has been through the stage plan; "
     "expected a later one"),
    (["compile", "lower.mlir", "--dump-after", "all", "-o", "o"],
     "--dump-after all: 'lower.mlir' has been through the stage lower"),
    (["plan", "m.onnx", "--dump-after", "lower", "-o", "o"],
     "--dump-after lower: this verb ends with the stage plan; compile goes "
     "on"),
    (["compile", "m.onnx", "--dump-to", ".", "-o", "o"],
     "--dump-to needs --dump-after, which writes the dumps"),
    (["check", "lower.mlir"],
     "'lower.mlir' has been through the stage lower, so it cannot be "
     "compared with one device"),
    (["check", "m.onnx", "--devices", 2, "--random-plans", 0],
     "--random-plans 0: expected at least 1"),
    (["check", "m.onnx", "--random-plans", 1, "--solver", "exact"],
     "--random-plans and --solver exclude each other; give one of them"),
]


@pytest.mark.parametrize("line, message", SAYS,
                         ids=[row[1][:40] for row in SAYS])
def test_the_message_says_what_would_help(made, line, message):
    result = made(*line, exits=USAGE)
    assert f"divisi: error: {message}" in result.err or (
        message in result.err and not message.startswith("--")), result.err
    assert len(result.err.splitlines()) == 1, result.err
    assert not made.path("o").exists()


def test_what_is_not_decided_is_honoured(made):
    """The other side: on what has no plan, and with --replan."""
    for name, flags in [("m.onnx", []), ("import.mlir", []),
                        ("plan.mlir", ["--replan"])]:
        text = made("plan", name, *flags, "--mesh", "y=4", "--seed", 3,
                    "--memory-limit", "1GiB", "-o", "-").out
        assert "spmd.grid @g (y = 4)" in text
    made("compile", "lower.mlir", "--weights", "external", "-o", "e.divisi")
    made("check", "plan.mlir", "--seed", 3)


# --replan.

def plan_of(text):
    """Operators with a strategy: {node: (kind, strategy)}."""
    return {node: (op, split) for op, split, node in re.findall(
        r"(nn\.\w+) .*?#spmd\.split<([^>]*)>.*loc\(.*?\"([\w.]+)\"",
        text)}


def test_replan_gives_what_the_model_gives(made):
    """From the dump everything but the strategies is as it was."""
    fresh = made("plan", "m.onnx", "--devices", 4, "-o", "-").out
    again = made("plan", "plan.mlir", "--replan", "--devices", 4, "-o",
                 "-").out
    assert again == fresh
    # Nobody says how many: as many as there were.
    assert made("plan", "plan.mlir", "--replan", "-o", "-").out == made(
        "plan", "m.onnx", "--devices", 2, "-o", "-").out


@pytest.mark.parametrize("name", ["nn.relu", "relu", "node_relu"])
def test_keep_pins_what_it_names(made, name):
    text = made.path("plan.mlir").read_text()
    node = re.search(r'nn\.relu .*loc\("([\w.]+)"|nn\.relu', text)
    assert node
    # One that the planner would not take.
    edited, count = re.subn(r"(nn\.relu .*?spmd\.split = #spmd\.split<@g)"
                            r"(: [^>]*)?>", r"\1>", text)
    assert count == 1
    made.path("e.mlir").write_text(edited)
    if name == "node_relu":
        name = re.search(r"nn\.relu .*\n?", text).group()
        locs = dict(re.findall(r"^(#loc\d+) = loc\(\"([^\"]+)\"", text, re.M))
        at = re.search(r"loc\((#loc\d+|\"[^\"]+\")\)", name).group(1)
        name = locs.get(at, at.strip('"'))
    kept = made("plan", "e.mlir", "--replan", "--keep", name, "-o", "-").out
    assert re.search(r"nn\.relu .*?spmd\.split = #spmd\.split<@g>", kept)
    freed = made("plan", "e.mlir", "--replan", "-o", "-").out
    made.path("kept.mlir").write_text(kept)
    made("check", "kept.mlir")
    assert freed != kept


def test_check_of_a_plan_compares_with_one_device(made):
    """The reference has no strategies: a wrong plan cannot prove itself."""
    result = made("check", "plan.mlir", "--devices", "3", "--replan")
    assert "equal" in result.out
