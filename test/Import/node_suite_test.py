"""A sample of ONNX's suite of single nodes is right on four devices.

`make node-suite` runs all of it, on one device too.
"""

import random
from collections import Counter

import node_suite
import numpy as np
import pytest
from share import sample_size

COUNT = sample_size(150, 40)
# At least so many of them are not refused.
MOST_REFUSED = COUNT // 2


@pytest.fixture(scope="module")
def cases():
    return node_suite.collect(all_modules=False)


def test_a_sample_is_right_or_refused(cases, tmp_path, capsys):
    sample = random.Random(1).sample(list(cases.items()), COUNT)
    outcomes = node_suite.run(sample, tmp_path, seed=1, jobs=2, numbers=(4,))
    kinds = Counter(map(node_suite.kind_of, outcomes))
    with capsys.disabled():
        print(f"\ncounted: node suite: {COUNT} of {len(cases)} cases: "
              f"{kinds['right']} right on 4 devices, {kinds['refused']} "
              "refused")
    assert node_suite.report(outcomes)
    assert kinds["refused"] <= MOST_REFUSED


@pytest.mark.parametrize("name, kind", [
    ("test_add", "wrong"), ("test_reshape_negative_dim", "wrong"),
    ("test_relu_expanded_ver18", "wrong"),
    ("test_strnormalizer_nostopwords_nochangecase", "refused")])
def test_a_spoiled_case_is_seen(cases, tmp_path, name, kind):
    case, node = cases[name]
    inputs, outputs = case.data_sets[0]
    spoiled = [np.asarray(output).copy() for output in outputs]
    if kind == "wrong":
        spoiled[0].flat[-1] += 1
    case.data_sets[0] = inputs, spoiled
    [outcome] = node_suite.run([(name, (case, node))], tmp_path, 1, 1)
    assert node_suite.kind_of(outcome) == kind, outcome
    assert (kind == "wrong") != node_suite.report([outcome])
