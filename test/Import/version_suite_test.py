"""A share of the cases of every operator at every version is right, or refused
with exit code 5; version_suite.py runs all of them."""

import numpy as np
import pytest
import share
import version_cases
import version_suite


@pytest.fixture(scope="module")
def cases():
    return list(version_cases.all_cases())


def version_of(case):
    return case.name.split(" ")[0]


def test_cases_are_right_or_refused(cases, tmp_path, capsys):
    """All in a sweep; else one of a hundred, and more of none."""
    taken = share.sample(cases, key=lambda case: case.name, slow=True)
    outcomes = version_suite.run(taken, tmp_path)
    with capsys.disabled():
        print(f"\ncounted: operator versions: {len(taken)} of {len(cases)} "
              "cases ran")
    assert version_suite.report(outcomes)


def test_every_version_has_a_recipe_or_a_reason(cases):
    left_out = set().union(*version_cases.LEFT_OUT.values())
    wanted = {f"{name}-{schema.since_version}"
              for name, schemas in version_cases.versions().items()
              for schema in schemas if name not in left_out}
    assert wanted == {version_of(case) for case in cases}
    assert not left_out & version_cases.with_recipes()


def test_a_wrong_value_is_seen(cases, tmp_path, monkeypatch):
    [case] = [case for case in cases if case.name == "Add-14 int32 0"]
    true = version_suite.expect

    def spoil(case):
        oracle = true(case)
        case.outputs[0] = case.outputs[0] + np.int32(1)
        return oracle
    monkeypatch.setattr(version_suite, "expect", spoil)
    [outcome] = version_suite.run([case], tmp_path)
    assert outcome.kind == "wrong"
    assert not version_suite.report([outcome])
