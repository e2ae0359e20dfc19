"""Every operator at every version from opset 7 on, in every element type and
with the attributes of its recipe, against ONNX Runtime.

    version_suite.py [--only REGEX] [--sample N] [--devices N] [--list]

What ONNX Runtime has no kernel for is compared with its result in another type,
else with ONNX's own evaluator. Prints how many cases are
right, by who said what is right; how many are refused, by reason; and each that
is wrong or fails otherwise, for which it exits with 1. `make sweep` runs all of it
(version_suite_test.py).
"""

import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import ml_dtypes
import node_cases
import numpy as np
import onnx
import onnxruntime
import version_cases
import version_elementwise  # noqa: F401: their recipes
import version_layers  # noqa: F401
import version_movement  # noqa: F401
from onnx import helper
from onnx.reference import ReferenceEvaluator

BIN = Path(os.environ["DIVISI_BUILD"]) / "bin"
BATCH = 150
RIGHT, DIFFERS, UNSUPPORTED = 0, 8, 5
HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
# Types that NumPy lacks.
EXTRA_TYPES = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
               "float8_e5m2fnuz")
IN_ANOTHER_TYPE = "ONNX Runtime in another type"
INTEGERS = [kind for kind in node_cases.TYPES if kind.kind in "iub"]
# Operators for which onnx's evaluator rounds in its own way, or fails.
WIDER = {
    **dict.fromkeys(("Resize", "Upsample"), {
        **{kind: np.int32 for kind in INTEGERS},
        **{kind: np.float32 for kind in HALVES},
        np.dtype(np.float64): np.float32}),
    "GridSample": {**{kind: np.float32 for kind in INTEGERS},
                   **{kind: np.float32 for kind in HALVES}},
    **dict.fromkeys(("GRU", "LSTM", "RNN"), {
        **{kind: np.float32 for kind in HALVES},
        np.dtype(np.float64): np.float32}),
    # The evaluator takes other windows where these end in padding.
    **dict.fromkeys(("LpPool", "MaxPool"), {
        **{kind: np.float32 for kind in HALVES},
        np.dtype(np.float64): np.float32}),
    "Hardmax": {**{kind: np.float32 for kind in HALVES},
                np.dtype(np.float64): np.float32},
    "OneHot": {**{kind: np.int64 for kind in INTEGERS},
               **{kind: np.float32 for kind in HALVES},
               np.dtype(np.float64): np.float32}}
# Integers that are mixed as floats and cut may be the next number where the
# floats are summed in another order; onnx's evaluator rounds them.
MIXED = ("Resize", "Upsample", "GridSample")
# Versions that differ from those before in types alone.
MORE_TYPES = (22, 28)


#===----------------------------------------------------------------------===#
# What is right
#===----------------------------------------------------------------------===#


def as_ort(value):
    """A value for ONNX Runtime, which takes NumPy's own types alone."""
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
        value.view(f"u{value.dtype.itemsize}")
        if value.dtype.name in EXTRA_TYPES else value,
        node_cases.onnx_type(value))


def by_runtime(case):
    """The outputs of ONNX Runtime; raises where it has no kernel. What takes
    less than a byte is given as an initializer, which is packed."""
    packed = {i for i, value in enumerate(case.inputs)
              if value is not None and value.dtype in node_cases.PACKED}
    case = replace(case, constants=case.constants | packed)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.graph_optimization_level = \
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        node_cases.join([case], with_outputs=False).SerializeToString(),
        settings)
    if any(re.search("int[24]|float4", output.type)
           for output in session.get_outputs()):
        raise NotImplementedError("unpacking")
    feeds = node_cases.feeds([case])
    if any(value.dtype.name in EXTRA_TYPES for value in feeds.values()):
        found = session.run_with_ort_values(
            None, {name: as_ort(value) for name, value in feeds.items()})
        return [value.numpy() for value in found]
    return session.run(None, feeds)


def by_evaluator(case):
    model = node_cases.join([case], with_outputs=False)
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, node_cases.feeds([case]))


def widened(case):
    """The same in types for which ONNX Runtime is likelier to have a kernel;
    None if there are none."""
    kinds = {value.dtype for value in case.inputs if value is not None}
    if case.op_type in WIDER:
        targets = WIDER[case.op_type]
    elif kinds & set(HALVES) and "float8" not in str(kinds):
        targets = {kind: np.float32 for kind in HALVES}
    else:
        return None
    return replace(case, inputs=[
        value if value is None or value.dtype not in targets
        else value.astype(targets[value.dtype]) for value in case.inputs])


def older(case):
    """The same at the version before, if this one is known to take more types
    and else nothing; None otherwise."""
    if case.opset not in MORE_TYPES or case.node.domain:
        return None
    try:
        schema = onnx.defs.get_schema(case.op_type, case.opset - 1, "")
    except onnx.defs.SchemaError:
        return None
    known = {attribute.name for attribute in case.node.attribute} <= \
        set(schema.attributes)
    return replace(case, opset=case.opset - 1) if known else None


def output_types(case):
    """As ONNX infers them."""
    model = onnx.shape_inference.infer_shapes(
        node_cases.join([case], with_outputs=False))
    return [np.dtype(helper.tensor_dtype_to_np_dtype(
        output.type.tensor_type.elem_type))
        for output in model.graph.output]


def typed(value, kind):
    """What a library without this type has said."""
    value = np.asarray(value)
    if value.dtype == kind:
        return value
    is_bits = kind.name in EXTRA_TYPES and value.dtype.kind in "u" and \
        value.dtype.itemsize == kind.itemsize
    return value.view(kind) if is_bits else value.astype(kind)


def expect(case):
    """Sets the outputs that the case must have; who said so, or None."""
    wide, before = widened(case), older(case)
    ways = [("ONNX Runtime", by_runtime, case),
            ("ONNX Runtime", by_runtime, before),
            (IN_ANOTHER_TYPE, by_runtime, wide),
            (IN_ANOTHER_TYPE, by_runtime,
             before and wide and older(wide)),
            ("onnx's evaluator", by_evaluator, case)]
    try:
        kinds = output_types(case)
    except Exception:
        return None
    for name, compute, given in ways:
        if given is None:
            continue
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                case.outputs = [typed(value, kind) for value, kind in
                                zip(compute(given), kinds, strict=True)]
            return name
        except Exception:  # Each library has its own.
            continue
    return None


#===----------------------------------------------------------------------===#
# What Divisi says
#===----------------------------------------------------------------------===#


@dataclass
class Outcome:
    case: node_cases.Case
    oracle: str  # Who said what is right.
    kind: str = "right"
    message: str = ""

    @property
    def reason(self):
        text = re.sub(r"^'[^']*': (node '[^']*' \((\w+)\))?", r"\2",
                      self.message)
        return re.sub(r"-?\b\d+(\.\d+)?\b", "N", text)[:120]


def import_each(outcomes, folder):
    """Marks those that the importer does not take."""
    paths = []
    for number, outcome in enumerate(outcomes):
        paths.append(folder / f"{number}.onnx")
        onnx.save(node_cases.join([outcome.case],
                                  outcome.oracle is not None), paths[-1])
    for begin in range(0, len(paths), 500):
        done = subprocess.run([BIN / "import-each",
                               *paths[begin:begin + 500]],
                              capture_output=True, text=True, check=True)
        lines = re.split(r"^(?=\d+\t)", done.stdout, flags=re.M)[1:]
        assert len(lines) == len(paths[begin:begin + 500]), done.stdout
        for outcome, line in zip(outcomes[begin:begin + 500], lines):
            code, message = line.rstrip("\n").split("\t", 1)
            if int(code) != RIGHT:
                outcome.kind = "refused" if int(code) == UNSUPPORTED \
                    else "failed"
                outcome.message = message
    for path in paths:
        path.unlink()


def is_rough(outcome):
    """Whether f64 was computed in f32."""
    return outcome.oracle == IN_ANOTHER_TYPE and any(
        value is not None and value.dtype == np.float64
        for value in outcome.case.inputs)


def batches(outcomes):
    """Of one opset and, for the tolerance, one type of floats."""
    groups = {}
    for outcome in outcomes:
        kinds = [np.asarray(value).dtype for value in
                 outcome.case.inputs + outcome.case.outputs
                 if value is not None]
        coarse = sorted({str(kind) for kind in kinds
                         if kind in HALVES or "float8" in str(kind)})
        groups.setdefault((is_rough(outcome), outcome.case.opset, *coarse),
                          []).append(outcome)
    for group in groups.values():
        for begin in range(0, len(group), BATCH):
            yield group[begin:begin + BATCH]


def check(group, folder, devices):
    """Runs the cases of `group` as one model, and marks what differs."""
    cases = [outcome.case for outcome in group]
    onnx.save(node_cases.join(cases), folder / "m.onnx")
    np.savez(folder / "x.npz", **node_cases.feeds(cases))
    np.savez(folder / "y.npz", **node_cases.expectations(cases))
    plan = ["--random-plans", "1", "--seed", "5"] if devices > 1 else []
    if any(is_rough(outcome) for outcome in group):
        plan += ["--rtol", "1e-3", "--atol", "1e-4"]
    done = subprocess.run(
        [BIN / "divisi", "check", "m.onnx", "--inputs", "x.npz", "--expect",
         "y.npz", "--devices", str(devices), "--json", *plan], cwd=folder,
        capture_output=True, text=True)
    if done.returncode not in (RIGHT, DIFFERS):
        if len(group) > 1:
            # One of them ends the run.
            middle = len(group) // 2
            check(group[:middle], folder, devices)
            check(group[middle:], folder, devices)
        else:
            group[0].kind = "failed"
            group[0].message = done.stderr.strip()
        return
    for run in json.loads(done.stdout)["runs"]:
        for output in run["outputs"]:
            # One node rounds as it says: no code may differ.
            if not output["equal"] or output["norm_error"] is not None:
                number, index = re.match(r"c(\d+)_o(\d+)",
                                         output["name"]).groups()
                outcome = group[int(number)]
                if outcome.case.op_type in MIXED and \
                        outcome.case.outputs[0].dtype.kind in "iu" and \
                        output["largest_error"] <= 1:
                    continue
                outcome.kind = "wrong"
                outcome.message += f"output {index}: " \
                    f"{output['different_elements']} differ by up to " \
                    f"{output['largest_error']}, allowed " \
                    f"{output['allowed']}; "


def run(cases, folder, devices=1):
    """The outcome of each case."""
    outcomes = [Outcome(case, expect(case)) for case in cases]
    import_each(outcomes, folder)
    ready = []
    for outcome in outcomes:
        if outcome.kind == "right" and outcome.oracle is None:
            outcome.kind = "unjudged"
        elif outcome.kind == "right":
            ready.append(outcome)
    for group in batches(ready):
        check(group, folder, devices)
    return outcomes


def report(outcomes, list_all=False):
    """Prints the counts; whether none is wrong or failed."""
    kinds = collections.Counter(outcome.kind for outcome in outcomes)
    for kind in ("refused", "unjudged"):
        reasons = collections.Counter(
            (outcome.case.name.split("-")[0], outcome.reason)
            for outcome in outcomes if outcome.kind == kind)
        for (name, reason), count in reasons.most_common():
            print(f"{kind} {count:4}  {name}: {reason}")
    for outcome in outcomes:
        if list_all or outcome.kind in ("wrong", "failed"):
            print(f"{outcome.kind}: {outcome.case.name} "
                  f"({describe(outcome.case)}; {outcome.oracle}): "
                  f"{outcome.message}")
    oracles = collections.Counter(outcome.oracle for outcome in outcomes
                                  if outcome.kind == "right")
    print("right, by who says what is: " + ", ".join(
        f"{count} {name}" for name, count in oracles.most_common()))
    print(f"{len(outcomes)} cases of {count_versions(outcomes)} versions: " +
          ", ".join(f"{kinds[kind]} {kind}" for kind in (
              "right", "refused", "unjudged", "wrong", "failed")))
    return not kinds["wrong"] and not kinds["failed"]


def count_versions(outcomes):
    return len({outcome.case.name.split(" ")[0] for outcome in outcomes})


def describe(case):
    shapes = ", ".join("-" if value is None else f"{value.dtype}"
                       f"{list(value.shape)}" for value in case.inputs)
    attributes = ", ".join(
        f"{each.name}={onnx.helper.get_attribute_value(each)}"
        for each in case.node.attribute if not each.HasField("t"))
    return f"{shapes}; {attributes}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="cases whose name this matches")
    parser.add_argument("--sample", type=int, help="so many cases, at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="each outcome")
    options = parser.parse_args()
    cases = [case for case in version_cases.all_cases()
             if re.search(options.only or "", case.name)]
    if options.sample:
        cases = random.Random(options.seed).sample(cases, options.sample)
    with tempfile.TemporaryDirectory(prefix="version-suite.") as folder:
        outcomes = run(cases, Path(folder), options.devices)
    return 0 if report(outcomes, options.list) else 1


if __name__ == "__main__":
    sys.exit(main())
