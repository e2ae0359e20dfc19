"""The whole suite of ONNX's tests of single nodes, by `divisi check`.

    node_suite.py [--only REGEX] [--sample N] [--seed S] [--jobs N]
                  [--folder F] [--list]

Each case becomes a model and its tensors in files. The inputs that shapes
depend on (SHAPE_INPUTS) are given by --constant, as a user would. What is right
on one device runs on four again, under a plan that is drawn at random. Prints
how many are right, refused (by reason), wrong and failed; exits with 1 if any
is wrong or failed. `make node-suite` runs it; test/Import/node_suite_test.py a
sample.
"""

import argparse
import collections
import concurrent.futures
import importlib
import os
import pkgutil
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from node_cases import DISPUTED, SHAPE_INPUTS, SLOW_MODULES, has_other_form

PROGRAM = Path(os.environ["DIVISI_BUILD"]) / "bin/divisi"
RIGHT, DIFFERS, UNSUPPORTED = 0, 8, 5
DEVICES = (1, 4)
TYPE_NAMES = {number: f"element type {name}" for name, number in
              onnx.TensorProto.DataType.items()}


def collect(all_modules=True):
    """ONNX's cases: {name: (its onnx TestCase, the node it is about)}."""
    package = importlib.import_module("onnx.backend.test.case.node")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if all_modules:
            found = package.collect_testcases(None)
        else:
            for module in pkgutil.iter_modules(package.__path__):
                if module.name not in SLOW_MODULES:
                    importlib.import_module(f"{package.__name__}"
                                            f".{module.name}")
            found = package._NodeTestCases
    # A case that is expanded to the node's body is about the node still.
    nodes = package._existing_names
    return {case.name: (case, nodes[case.name.split("_expanded")[0]])
            for case in found}


def tensors_of(value, name):
    """What is given for an input or an output, as ONNX's tensors: one, or those
    of a sequence, or none for an optional without."""
    if isinstance(value, list):
        return [as_proto(each, f"{name}[{i}]") for i, each in enumerate(value)]
    proto = as_proto(value, name)
    return [] if proto is None else [proto]


def as_proto(value, name):
    """Of a tensor; nothing of what is none."""
    if isinstance(value, onnx.TensorProto):
        proto = onnx.TensorProto()
        proto.CopyFrom(value)
        proto.name = name
        return proto
    if isinstance(value, (np.ndarray, np.generic)):
        return onnx.numpy_helper.from_array(np.asarray(value), name)
    return None


def write(case, node, folder):
    """The files of one case; what `check` is to be told of them."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(case.model, folder / "model.onnx")
    given, expected = case.data_sets[0]
    constants = {name for at in SHAPE_INPUTS.get(node.op_type, ())
                 if at < len(node.input) and (name := node.input[at])}
    flags = []
    graph = case.model.graph
    for role, values, infos in (("inputs", given, graph.input),
                                ("expect", expected, graph.output)):
        for value, info in zip(values, infos):
            is_constant = role == "inputs" and info.name in constants
            for proto in tensors_of(value, info.name):
                file = f"{role}_{re.sub(r'[^A-Za-z0-9]', '_', proto.name)}.pb"
                (folder / file).write_bytes(proto.SerializeToString())
                flags += [f"--{'constant' if is_constant else role}",
                          f"{proto.name}={file}"]
    return flags


@dataclass
class Outcome:
    """What came of one case."""
    name: str
    devices: int  # On which it was told.
    code: int
    message: str

    @property
    def reason(self):
        """The message without what differs from case to case."""
        # Of several that the importer lists the first.
        text = self.message.strip().replace("not support:\n", "")
        text = text.split("\n")[0]
        text = re.sub(r".*the model needs features that Divisi does", "", text)
        text = re.sub(r"\belement type (number )?(\d+)", lambda m:
                      TYPE_NAMES.get(int(m[2]), m[2]), text)
        text = re.sub(r"^divisi: error: ('[^']*': )?", "", text).strip()
        text = re.sub(r"^node '[^']*' \((\w+)\)", r"\1", text)
        text = re.sub(r" x \d+, (first )?'[^']*'", "", text)
        text = re.sub(r"^the elements of input '[^']*' are",
                      "input: its elements are", text)
        return re.sub(r"-?\b\d+(\.\d+)?\b", "N", text)[:150]


def check(name, folder, flags, seed, numbers):
    """On each of these numbers of devices, until one is not right."""
    for devices in numbers:
        plan = ["--random-plans", "1", "--seed", str(seed)]
        done = subprocess.run(
            [PROGRAM, "check", "model.onnx", *flags, "--rtol", "0.001",
             "--devices", str(devices), *(plan if devices > 1 else [])],
            cwd=folder, capture_output=True, text=True, timeout=120)
        if done.returncode != RIGHT:
            break
    return Outcome(name, devices, done.returncode, done.stderr)


def run(cases, folder, seed, jobs, numbers=DEVICES):
    """The outcome of each of `cases`, in their order."""
    def one(number):
        name, (case, node) = cases[number]
        flags = write(case, node, folder / name)
        return check(name, folder / name, flags, seed + number, numbers)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, range(len(cases))))


def kind_of(outcome):
    if outcome.name in DISPUTED or has_other_form(outcome.name):
        return "disputed"
    return {RIGHT: "right", DIFFERS: "wrong",
            UNSUPPORTED: "refused"}.get(outcome.code, "failed")


def report(outcomes):
    """Prints the counts; whether none is wrong or failed."""
    kinds = collections.Counter(kind_of(outcome) for outcome in outcomes)
    reasons = collections.Counter(
        outcome.reason for outcome in outcomes
        if kind_of(outcome) == "refused")
    for reason, count in reasons.most_common():
        print(f"refused {count:4}  {reason}")
    for outcome in outcomes:
        if kind_of(outcome) in ("wrong", "failed"):
            print(f"{kind_of(outcome)} on {outcome.devices}: {outcome.name}: "
                  f"exit {outcome.code}: {outcome.message.strip()}")
    single = sum(outcome.code == RIGHT or outcome.devices > 1
                 for outcome in outcomes)
    print(f"right on 1 device: {single}, on {DEVICES[-1]} too: "
          f"{kinds['right']}")
    print(f"{len(outcomes)} cases: " + ", ".join(
        f"{kinds[kind]} {kind}"
        for kind in ("right", "refused", "disputed", "wrong", "failed")))
    return not kinds["wrong"] and not kinds["failed"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="cases whose name this matches")
    parser.add_argument("--sample", type=int, help="so many cases, at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, help="where files stay")
    parser.add_argument("--list", action="store_true", help="each outcome")
    options = parser.parse_args()
    cases = [item for item in collect().items()
             if re.search(options.only or "", item[0])]
    if options.sample:
        cases = random.Random(options.seed).sample(cases, options.sample)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="node-suite."))
    try:
        outcomes = run(cases, folder, options.seed, options.jobs)
    finally:
        if not options.folder:
            shutil.rmtree(folder)
    if options.list:
        for outcome in outcomes:
            print(f"{kind_of(outcome):8} {outcome.name}: "
                  f"{outcome.reason if outcome.code else ''}")
    return 0 if report(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
