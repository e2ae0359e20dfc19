"""`divisi rules`: rules that nobody wrote, and what rules say of all equations.

The slice of the table that is tried here is generated in seconds; docs/
generated-rules.md says what became of all of it.
"""

import json
import re

import pytest
from bad_input_test import fails
from conftest import Divisi, ROOT

PAGE = ROOT / "docs/generated-rules.md"
USAGE, INVALID, DIFFERS = 2, 4, 8
SLICE = ["--world", "elementwise", "--operators", "2"]
SMALL = ["--world", "elementwise", "--operators", "1"]


def rows(text):
    """{(world, operators): the other columns} of a table of counts."""
    found = re.findall(r"^\| (\w+) \| (\d) \| (.*) \|$", text, re.M)
    return {(world, int(size)): [int(count) for count in rest.split(" | ")]
            for world, size, rest in found}


def entailed(out):
    """What is said of each world and number of operators."""
    return [{name: int(count) for name, count in found.groupdict().items()}
            for found in re.finditer(
                r"operators: (?P<equations>\d+) equations, (?P<unsaid>\d+) "
                r"without words, (?P<asked>\d+) asked about, (?P<entailed>\d+) "
                r"entailed, (?P<open>\d+) open, (?P<false>\d+) false "
                r"elsewhere\n", out)]


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    divisi = Divisi(tmp_path_factory.mktemp("generated"))
    result = divisi("rules", "generate", *SLICE, "-o", "a.rules", "--counts",
                    "a.md", "--journal", "a.journal")
    assert ("elementwise, 2 operators: 2526 graphs, 552 equations up to names, "
            in result.err)
    return divisi


def test_counts_add_up(generated):
    text = generated.path("a.md").read_text()
    assert text.startswith(
        "| world | operators | enumerated | classes | equal | up to names | not "
        "rewritten | no words | derived | refused | kept | proved | tested only "
        "|\n")
    counts = rows(text)
    assert list(counts) == [("elementwise", 1), ("elementwise", 2)]
    documented = rows(PAGE.read_text(encoding="utf-8"))
    for key, row in counts.items():
        (enumerated, classes, equal, named, asked, unsaid, derived, refused,
         kept, proved, tested) = row
        assert enumerated == classes + equal
        assert equal >= named >= asked
        assert asked == unsaid + derived + refused + kept
        assert kept == proved + tested and proved > 0
        # What is enumerated does not depend on how many operators follow.
        assert documented[key][:4] == row[:4], (
            "write the counts of docs/generated-rules.md again")


def test_rules_pass_the_gates_of_every_rule(generated):
    result = generated("prove", "a.rules", "--json")
    rules = json.loads(result.out)["rules"]
    counts = rows(generated.path("a.md").read_text())
    proved = [rule for rule in rules if rule["standing"] == "proved"]
    tested = [rule for rule in rules if rule["standing"] == "tested"]
    assert len(proved) == sum(row[9] for row in counts.values())
    assert len(tested) == sum(row[10] for row in counts.values())
    assert len(rules) == len(proved) + len(tested)
    text = generated.path("a.rules").read_text()
    assert text.count("\n  generated\n") == len(rules)
    assert text.count("\n  open ") == len(tested)
    # Sums commute, at all ranks, and products distribute over them.
    for summary in ["add(x, y) = add(y, x)",
                    "add(mul(x, z), mul(x, y)) = mul(x, add(y, z))"]:
        assert f'summary "{summary}"' in text, summary


def test_every_equation_follows_from_what_was_kept(generated):
    """The prover alone, from the rules alone: nothing was dropped that they do
    not say."""
    out = generated("rules", "entail", *SLICE, "--rules", "a.rules").out
    counts = rows(generated.path("a.md").read_text())
    found = entailed(out)
    assert [each["equations"] for each in found] == [
        row[3] for row in counts.values()]
    for each in found:
        assert each["open"] == 0
        assert each["asked"] == each["entailed"] + each["false"]
        assert each["equations"] == each["asked"] + each["unsaid"]


def test_without_a_rule_equations_are_open(generated):
    text = generated.path("a.rules").read_text()
    rules = re.split(r"(?m)^(?=rule )", text)
    less = [rule for rule in rules if "add(x, y) = add(y, x)" not in rule]
    assert len(less) < len(rules)
    generated.path("less.rules").write_text("".join(less))
    result = generated("rules", "entail", *SMALL, "--rules", "less.rules",
                       exits=DIFFERS)
    assert "  add(x, y) = add(y, x)\n" in result.out
    assert " equations do not follow from the rules" in result.err


@pytest.mark.whole
def test_what_taso_says_follows_from_what_ships(divisi):
    """Every equation that its operators' properties express."""
    properties = ROOT / "test/Prove/Inputs/taso.rules"
    out = divisi("rules", "entail", "--world", "elementwise,linear",
                 "--operators", "2", "--of", properties).out
    found = entailed(out)
    assert len(found) == 4
    assert sum(each["asked"] for each in found) >= 300
    for each in found:
        assert each["entailed"] == each["asked"]
    print(f"counted: equations of TASO's properties: "
          f"{sum(each['asked'] for each in found)}")


def test_what_was_stopped_goes_on(generated):
    """Wherever it was stopped: in the midst of what is decided together, too."""
    whole = generated("rules", "generate", *SMALL, "--journal", "b.journal").out
    journal = generated.path("b.journal.elementwise")
    lines = journal.read_text().splitlines(True)
    assert len(lines) > 20
    for kept in [len(lines), 10]:
        journal.write_text("".join(lines[:kept]))
        again = generated("rules", "generate", *SMALL, "--journal", "b.journal")
        assert again.out == whole, kept
        assert journal.read_text() == "".join(lines), kept


def test_the_page_has_the_table(divisi):
    table = divisi("rules", "generate", "--table").out
    for line in ["  slice(rank 2), the first part along 0",
                 "  slice(rank 2), the second part along 0",
                 "  reshape(rank 2) of dim 0 and the next"]:
        assert line + "\n" in table, line
    assert table in PAGE.read_text(encoding="utf-8"), (
        "write the table of docs/generated-rules.md again: divisi rules "
        "generate --table")


@pytest.mark.parametrize("arguments, because", [
    (["make"], "'make': expected generate, entail or select"),
    (["select"], "select chooses among rules that were generated; --rules "
                 "names their file"),
    (["generate", "--operators", "5"],
     "--operators 5: expected a number from 1 to 4"),
    (["generate", "--world", "none"],
     "'none' is not a world of the table, which --table prints"),
    (["entail", "--world", "none"], "'none' is not a world of the table"),
    (["generate", "--rules", "a.rules"],
     "--rules 'a.rules' is for entail; -o names the file that generate writes"),
    (["generate", "--of", "a.rules"],
     "--of 'a.rules' is for entail; -o names the file that generate writes"),
    (["generate", "--jobs", "0"], "--jobs 0: expected a number from 1 to 64"),
])
def test_usage(divisi, arguments, because):
    fails(divisi, USAGE, "rules", *arguments, because=[because])


def test_equations_are_not_overwritten(divisi):
    divisi.path("e.rules").write_text("")
    fails(divisi, USAGE, "rules", "entail", "--of", "e.rules", "-o", "e.rules",
          because=["-o 'e.rules' is the equations, which would be lost"])


@pytest.mark.sample()
@pytest.mark.parametrize("text, because", [
    ("something\n", "is of something else: it begins with 'something', "
                    "expected 'divisi rules generate, seed 1, up to 1 "
                    "operators of elementwise, table "),
    ("", "is of something else: it begins with ''"),
    ("{head}\nx l0.0\n", "expected a decision, one of u, d, r and k, a space "
                         "and an equation"),
])
def test_journals_that_are_none(divisi, text, because):
    divisi("rules", "generate", *SMALL, "--journal", "j")
    journal = divisi.path("j.elementwise")
    head = journal.read_text().splitlines()[0]
    journal.write_text(text.replace("{head}", head))
    fails(divisi, INVALID, "rules", "generate", *SMALL, "--journal", "j",
          because=[because])
