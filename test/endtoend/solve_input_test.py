"""`divisi solve --check` and its refusals; bad problems and command lines."""

import gzip
import json
import re

import planning_problems as problems
import pytest
from bad_input_test import fails, nothing_written, small_files_only
from planning_problems import EXAMPLE, G, solution

USAGE, FILES, CONTENT, DIFFERS = 2, 3, 4, 8


# Check.

def change(key, delta):
    def mutate(s):
        s[key] += delta
    return mutate


def swap(s):
    s["assignment"][0] = 1


def pass_limit(s):
    """Cheaper, honest about it, and over the limit."""
    s.update(assignment=[0, 0], cost=3, peak=13, lower_bound=3)


MUTATIONS = {
    "cost": (change("cost", -1), ["cost"]),
    "peak": (change("peak", -1), ["peak"]),
    "time of the peak": (change("peak_time", 1), ["time|peak"]),
    "bound above the proof": (change("lower_bound", 1), ["bound"]),
    "assignment": (swap, ["cost|peak"]),
    "strategy that is none": (lambda s: s["assignment"].__setitem__(1, 2),
                              ["strategy 2"]),
    "too short": (lambda s: s["assignment"].pop(), ["1", "expected 2"]),
    "beyond the limit": (pass_limit, ["limit|8"]),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutated_solution_is_refused(divisi, tmp_path, name):
    p = problems.small(tmp_path / "p.json")
    divisi("solve", p, "-o", "s.json")
    s = solution(divisi, p)
    mutate, because = MUTATIONS[name]
    mutate(s)
    (tmp_path / "m.json").write_text(json.dumps(s))
    result = fails(divisi, DIFFERS, "solve", "--check", p, "m.json",
                   because=["m.json: refused", *because])
    assert not result.out


def test_check_says_what_it_verified(divisi, tmp_path):
    p = problems.small(tmp_path / "p.json")
    divisi("solve", p, "-o", "s.json")
    out = divisi("solve", "--check", p, "s.json").out
    for line in ["s.json: accepted", r"cost +8", r"peak +8 of 8", r"bound",
                 r"gap", r"proof"]:
        assert re.search(f"^{line}", out, re.M), out
    facts = json.loads(divisi("solve", "--check", "--json", p, "s.json").out)
    assert facts["accepted"] is True and facts["cost"] == 8


def test_solution_of_another_problem_is_refused(divisi):
    divisi("solve", EXAMPLE, "-o", "s.json")
    fails(divisi, DIFFERS, "solve", "--check", G, "s.json",
          because=["s.json", "816"])


@pytest.mark.parametrize("text", ["", "[", "{}", "null", '{"assignment": 3}',
                                  "[" * 100_000, '{"schema_version": 1}'],
                         ids=["empty", "open", "no keys", "null", "no list",
                              "deep", "version only"])
def test_malformed_solution(divisi, tmp_path, text):
    (tmp_path / "s.json").write_text(text)
    fails(divisi, CONTENT, "solve", "--check", EXAMPLE, "s.json",
          because=["s.json"])


def test_truncated_solution(divisi, tmp_path):
    divisi("solve", EXAMPLE, "-o", "s.json")
    whole = divisi.path("s.json").read_bytes()
    for size in range(0, len(whole.rstrip()), 17):
        divisi.path("s.json").write_bytes(whole[:size])
        fails(divisi, CONTENT, "solve", "--check", EXAMPLE, "s.json",
              because=["s.json"])


# Bad problems.

def replaced(old, new):
    """In the contest's example."""
    def make(text):
        assert old in text
        return text.replace(old, new, 1).encode()
    return make


BAD_PROBLEMS = {
    "empty": (lambda text: b"", []),
    "words": (lambda text: b"not a problem", []),
    "truncated": (lambda text: text[:300].encode(), []),
    "deep": (lambda text: b"[" * 100_000, []),
    "no problem": (lambda text: b"{}", ["problem"]),
    "negative interval": (replaced("[30, 70]", "[-30, 70]"), ["-30"]),
    "reversed interval": (replaced("[30, 70]", "[70, 30]"), ["70", "30"]),
    "no strategies": (replaced("[15],\n", "[],\n"), ["costs"]),
    "negative usage": (replaced("[25, 25],", "[25, -25],"), ["-25"]),
    "too many usages": (replaced("[25, 25],", "[25, 25, 1],"), ["3", "2"]),
    "missing node": (replaced("[2, 4]", "[2, 5]"), ["5"]),
    "negative node": (replaced("[2, 4]", "[2, -4]"), ["-4"]),
    "matrix too short": (replaced("[50, 10, 40]", "[50, 10]"), ["2", "3"]),
    "one edge too many": (replaced("[3, 4]\n", "[3, 4], [0, 1]\n"),
                          ["6", "5"]),
    "beyond 64 bits": (replaced("[70, 60]", "[9223372036854775808, 60]"), []),
    "fraction": (replaced("[70, 60]", "[70.5, 60]"), []),
    "words for numbers": (replaced("[70, 60]", '["70", 60]'), []),
    "half of a gzip": (lambda text: gzip.compress(text.encode())[:100], []),
    "garbage after gzip": (
        lambda text: gzip.compress(text.encode()) + b"garbage", []),
}


@pytest.mark.parametrize("name", BAD_PROBLEMS)
def test_bad_problem(divisi, tmp_path, name):
    make, because = BAD_PROBLEMS[name]
    (tmp_path / "p.json").write_bytes(make(EXAMPLE.read_text()))
    fails(divisi, CONTENT, "solve", "p.json", "-o", "s.json",
          because=["p.json", *because])
    nothing_written(divisi, "p.json")


def test_problem_that_cannot_be_read(divisi, tmp_path):
    fails(divisi, FILES, "solve", "none.json", because=["none.json"])
    fails(divisi, FILES, "solve", tmp_path, because=[tmp_path.name])
    fails(divisi, FILES, "solve", "--check", EXAMPLE, "none.json",
          because=["none.json"])


# Bad command lines.

BAD_COMMANDS = [
    ([], ["solve needs an input, PROBLEM.json"]),
    ([EXAMPLE, "s.json"], ["one file", "2", "--check"]),
    (["--check", EXAMPLE], ["two files", "1"]),
    (["--check", EXAMPLE, "s.json", "-o", "t.json"], ["-o"]),
    ([EXAMPLE, "--solver", "oracle"], ["oracle", r"\n  auto: \w"]),
    ([EXAMPLE, "--time-limit", 0], ["--time-limit", "0"]),
    ([EXAMPLE, "--time-limit", "nan"], ["--time-limit", "nan"]),
    ([EXAMPLE, "--time-limit", "soon"], ["soon", "expected a number of seconds"]),
    ([EXAMPLE, "--work-limit", -1], ["--work-limit", "-1"]),
    ([EXAMPLE, "--threads", 0], ["--threads", "0"]),
    ([EXAMPLE, "--threads", 100_000], ["--threads", "100000"]),
    ([EXAMPLE, "--seed", -1], ["--seed"]),
    ([EXAMPLE, "--sead", 1], ["--sead"]),
    ([EXAMPLE, "--without", "branching,luck"],
     ["'luck'", "neighbourhoods, branching"]),
    ([EXAMPLE, "--solver", "exact", "--without", "branching"],
     ["'exact'", "--solver auto"]),
]


@pytest.mark.parametrize("flags, because", BAD_COMMANDS,
                         ids=[" ".join(map(str, c[0][-2:])).replace(
                             str(EXAMPLE), "P") or "none"
                             for c in BAD_COMMANDS])
def test_bad_command(divisi, flags, because):
    fails(divisi, USAGE, "solve", *flags, because=because)
    nothing_written(divisi)


def test_output_that_cannot_be_written(divisi, tmp_path):
    p = problems.small(tmp_path / "p.json")
    fails(divisi, FILES, "solve", p, "-o", "no/s.json",
          because=["no/s.json", "folder 'no'"])
    (tmp_path / "s.json").mkdir()
    fails(divisi, FILES, "solve", p, "-o", "s.json", because=["s.json"])
    fails(divisi, USAGE, "solve", p, "-o", "p.json", because=["p.json"])
    nothing_written(divisi, "p.json", "s.json")


def test_full_disk_keeps_the_old_solution(divisi, tmp_path):
    (tmp_path / "s.json").write_text("old")
    result = fails(divisi, FILES, "solve", EXAMPLE, "-o", "s.json",
                   because=["s.json"], preexec_fn=small_files_only)
    assert not result.out
    assert divisi.path("s.json").read_text() == "old"
    nothing_written(divisi, "s.json")
