"""Every importer imports something that computes what ONNX says.

Each row of the importers' tables, and each operator that is imported by its
body, has cases from ONNX's own tests of single nodes (node_cases.py) and, where
those leave something out, of our own (own_cases.py). They run on one device and, under random plans, on more.
"""

import os
import re
import subprocess
from pathlib import Path

import node_cases
import numpy as np
import onnx
import own_cases
import pytest
import runtime_cases
from share import sample

BIN = Path(os.environ["DIVISI_BUILD"]) / "bin"
BATCH = 60
# How a case is planned. The seed draws other layouts for the larger grid.
PLANS = {"one device": ["--devices", "1"],
         "three devices": ["--devices", "3", "--random-plans", "1",
                           "--seed", "3"],
         "four devices": ["--devices", "4", "--random-plans", "1",
                          "--seed", "4"]}

# Cases that are refused, by name, and what the message must say.
REFUSED = {
    r"training_dropout(_default|_mask|$)": "it is in training mode",
    r"bitcast_(2d|scalar|float|int\d\d_to_float)":
        "it reads the bits of floats, or as floats, of what is computed at run "
        "time",
    r"scan_sum": "a Scan of opset 8 has a batch",
    r"flexattention_(score_mod|prob_mod|causal_mask|soft_cap|relative)":
        "but ONNX's body for the operator depends on it",
}


def refusal_of(case):
    for name, message in REFUSED.items():
        if re.match(f"test_({name})", case.name):
            return message
    return None


def read_importers():
    done = subprocess.run([BIN / "list-importers"], capture_output=True,
                          text=True, check=True)
    return {line.split()[1] for line in done.stdout.splitlines()}


# These are no rows of a table: they are imported by their graphs.
IMPORTERS = read_importers() | {"If", "Loop", "Scan", "SequenceMap"}
CASES = [*node_cases.standard_cases(IMPORTERS).values(),
         *node_cases.own_cases(), *own_cases.own_cases(),
         *runtime_cases.own_cases()]
GOOD = [case for case in CASES
        if not refusal_of(case) and case.name not in node_cases.DISPUTED
        and not node_cases.has_other_form(case.name)]
# Some of each operator.
CHOSEN = sample(GOOD, lambda case: case.name, lambda case: {case.op_type})
# By endtoend/control_flow_test.py and random_test.py.
TRIED_ELSEWHERE = {
    "Bernoulli", "ConcatFromSequence", "Multinomial", "Optional",
    "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
    "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase",
    "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence"}


def is_coarse(case):
    """Of what is computed by way of eight bits less is expected."""
    return any("float8" in str(np.asarray(value).dtype)
               for value in [*case.inputs, *case.outputs]
               if value is not None)


def batches():
    """Cases of one version of the operators, BATCH at a time."""
    for key in sorted({(case.opset, is_coarse(case)) for case in CHOSEN}):
        group = [case for case in CHOSEN
                 if (case.opset, is_coarse(case)) == key]
        for begin in range(0, len(group), BATCH):
            yield group[begin:begin + BATCH]


BATCHES = list(batches())


def check(folder, cases, *flags):
    onnx.save(node_cases.join(cases), folder / "m.onnx")
    np.savez(folder / "x.npz", **node_cases.feeds(cases))
    np.savez(folder / "y.npz", **node_cases.expectations(cases))
    return subprocess.run(
        [BIN / "divisi", "check", "m.onnx", "--inputs", "x.npz", "--expect",
         "y.npz", *flags], cwd=folder, capture_output=True, text=True)


def named(text, cases):
    """c3_o0 is called by its case."""
    return re.sub(r"\bc(\d+)_", lambda m: f"{cases[int(m[1])].name}: ", text)


@pytest.mark.sample("number", "plan")
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("number", range(len(BATCHES)))
def test_cases_compute_what_is_expected(tmp_path, number, plan):
    cases = BATCHES[number]
    done = check(tmp_path, cases, *PLANS[plan])
    # One node rounds as it says: no code may differ.
    assert done.returncode == 0 and "codes may differ" not in done.stdout, \
        named(done.stdout + done.stderr, cases)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_done_is_refused(tmp_path, name):
    cases = [case for case in CASES if re.match(f"test_({name})", case.name)]
    assert cases
    done = check(tmp_path, cases[:1], "--devices", "1")
    assert done.returncode == 5, done.stderr
    assert REFUSED[name] in done.stderr


def test_every_importer_is_reached(capsys):
    reached = {case.op_type for case in CHOSEN} & IMPORTERS
    with capsys.disabled():
        print(f"\ncounted: importers: {len(reached)} of {len(IMPORTERS)} "
              f"reached, {len(CHOSEN)} of {len(GOOD)} cases ran")
    assert reached == IMPORTERS - TRIED_ELSEWHERE, \
        sorted(reached ^ (IMPORTERS - TRIED_ELSEWHERE))


def test_weights_of_a_body_are_stored_once(tmp_path):
    [case] = [case for case in CASES if case.name == "Loop_ended_by_count"]
    onnx.save(node_cases.join([case]), tmp_path / "m.onnx")
    done = subprocess.run([BIN / "divisi", "plan", tmp_path / "m.onnx", "-o",
                           "-"], capture_output=True, text=True, check=True)
    assert done.stdout.count("nn.add") == 2
    assert done.stdout.count("nn.global") == 1


def test_exceptions_are_needed():
    names = {case.name for case in CASES}
    assert set(node_cases.DISPUTED) <= names
    assert TRIED_ELSEWHERE <= IMPORTERS
    for begin in node_cases.OTHER_FORM:
        assert any(name.startswith(begin) for name in names)
