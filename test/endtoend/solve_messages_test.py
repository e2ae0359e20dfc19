"""What `divisi solve` says of its flags, its solvers and its answers."""

import re

import pytest
from conftest import ROOT

USAGE, FILES = 2, 3
EXAMPLE = ROOT / "test" / "Search" / "data" / "example.json"

FLAGS = [
    (USAGE, ["--check"], "--check takes two files, PROBLEM.json and "
     "SOLUTION.json, got 1"),
    (USAGE, [EXAMPLE], "solve takes one file, PROBLEM.json, got 2; a solution "
     "is checked by --check, written by -o"),
    (USAGE, ["--check", EXAMPLE, "-o", "s.json"],
     "--check writes nothing; -o is for solving"),
    (USAGE, ["--time-limit", "-1"],
     "--time-limit is -1.000000, expected seconds above 0"),
    (USAGE, ["--work-limit", "-1"],
     "--work-limit is -1, expected 0 or more"),
    (USAGE, ["--threads", "0"], "--threads is 0, expected 1 to 1024"),
    (USAGE, ["--without", "luck"], "--without names an unknown ingredient "
     "'luck', expected some of neighbourhoods, branching"),
    (USAGE, ["--solver", "ilp", "--without", "branching"],
     "--without is for --solver auto, got 'ilp', which has no such "
     "ingredients"),
    (FILES, ["-o", "."], "cannot write '.': it is a folder, expected a file"),
    (FILES, ["-o", "lost/s.json"],
     "cannot write 'lost/s.json': there is no folder 'lost'"),
]


def says(result, *texts):
    for text in texts:
        assert text in result.out + result.err, result.report(
            f"it does not say {text!r}")


@pytest.mark.parametrize("code, flags, message", FLAGS,
                         ids=[row[2][:40] for row in FLAGS])
def test_flags(divisi, code, flags, message):
    says(divisi("solve", EXAMPLE, *flags, exits=code), message)


def test_output_over_the_problem(divisi):
    divisi.path("p.json").write_bytes(EXAMPLE.read_bytes())
    says(divisi("solve", "p.json", "-o", "p.json", exits=USAGE),
         "-o 'p.json' is the problem, which would be lost; choose another name")


def test_unknown_solver_lists_all(divisi):
    says(divisi("solve", EXAMPLE, "--solver", "oracle", exits=USAGE),
         "unknown solver 'oracle', expected one of",
         "auto: composes the others; the default",
         "proves the optimum of small problems by elimination",
         "large neighbourhoods of the first answer",
         "message passing and prices of memory, jointly: bounds",
         "the integer program of Alpa, by HiGHS; for small problems",
         "Metropolis-Hastings, as FlexFlow does it; plans by simulated time")


def test_report_of_an_optimum(divisi):
    result = divisi("solve", EXAMPLE, "-o", "s.json")
    says(result, ": proved optimal\n", ", first answer after ",
         "e9 matrix entries, ")
    assert re.search(r"ended +the proof is complete", result.out + result.err)


def test_solver_that_proves_nothing(divisi):
    says(divisi("solve", EXAMPLE, "--solver", "mcmc", "--work-limit", 100000),
         "nothing is left to try")


def test_budget_that_is_spent(divisi):
    problem = ROOT / "test/Search/data/asplos-2025-iopddl-G.json.gz"
    says(divisi("solve", problem, "--work-limit", 1000000),
         "work budget used up")


def test_answers_say_what_proves_them(divisi):
    divisi("solve", EXAMPLE, "-o", "proved.json")
    says(divisi("solve", "--check", EXAMPLE, "proved.json"),
         "proof  0 reduction steps, 1 bounding nodes")
    divisi("solve", EXAMPLE, "--solver", "exact", "-o", "bare.json")
    says(divisi("solve", "--check", EXAMPLE, "bare.json"),
         "proof  none: the bound is the sum of the least costs")


def test_a_budget_that_is_too_small(divisi):
    says(divisi("solve", EXAMPLE, "--solver", "exact", "--work-limit", 1,
                exits=7),
         "the budget ended before an order of elimination was found",
         "; one may exist: a larger --work-limit may find it")
