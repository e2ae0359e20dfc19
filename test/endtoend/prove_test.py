"""`divisi prove`: the rules of Divisi, and false rules.

What is true is proved, what is false is refused by the first gate that can,
with a counter-example. `make prove` asks about all rules, other runs about a
share of them (share.py), and test/proved_test.py says whether the others are as
they were when all were asked about.
"""

import json
import re
import resource
import sys

import pytest
from bad_input_test import fails
from conftest import ROOT, Divisi
from rule_texts import changed
from share import is_sweep, sample

sys.path.insert(0, str(ROOT / "docs"))
import generate_rule_operators  # noqa: E402
import generate_rules  # noqa: E402

USAGE = 2
DIFFERS = 8
FALSE_RULES = ROOT / "test/Prove/Inputs/false.rules"
PAGE = ROOT / "docs/rules.md"
RECORD = ROOT / "rules/proofs.txt"
RULES = sorted((ROOT / "rules").glob("*.rules"))
# Of a core, for all of the rules of Divisi: less than a minute on two.
MOST_SECONDS = 100

def core_seconds():
    """Of all processes that have ended; others at work do not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def verdicts(divisi, *arguments, exits=0):
    result = divisi("prove", *arguments, "--json", exits=exits)
    answer = json.loads(result.out)
    assert answer["schema_version"] == 1
    return {rule["rule"]: rule for rule in answer["rules"]}


def texts_of(paths):
    """{name: the text of that rule, with all comments in front of it}"""
    return {name: text for path in paths for text, name in re.findall(
        r"^((?:(?://.*)?\n)*rule (\S+) \{\n(?:.*\n)*?\}\n)",
        path.read_text(encoding="utf-8"), re.M)}


# The rules of Divisi.

def test_shipped_rules_are_proved(divisi, capsys):
    texts = texts_of(RULES)
    chosen = sample(texts)
    arguments = []
    if not is_sweep():
        divisi.path("a.rules").write_text("\n".join(texts[n] for n in chosen))
        arguments = ["a.rules"]
    begin = core_seconds()
    answers = verdicts(divisi, *arguments, "--record", "proofs.txt")
    seconds = core_seconds() - begin
    assert list(answers) == chosen and len(texts) >= 20
    proved = [name for name, rule in answers.items()
              if rule["standing"] == "proved"]
    with capsys.disabled():
        print(f"\ncounted: rules: {len(chosen)} of {len(texts)}, proved "
              f"{len(proved)}, in {seconds:.1f} s of a core")
    assert len(proved) >= 0.9 * len(chosen)
    for name, rule in answers.items():
        if rule["standing"] == "proved":
            assert rule["axioms"] and rule["instances"] >= 3, name
        else:
            assert rule["standing"] == "tested" and rule["open"], name
    page = PAGE.read_text(encoding="utf-8")
    known = {} if is_sweep() else generate_rules.rows(page)
    assert generate_rules.page(answers, known) == page, (
        "write docs/rules.md again: make prove")
    record = RECORD.read_text().splitlines()
    for line in divisi.path("proofs.txt").read_text().splitlines():
        assert line in record, "write rules/proofs.txt again: make prove"
    if is_sweep():
        assert seconds <= MOST_SECONDS
        assert divisi.path("proofs.txt").read_text() == RECORD.read_text()


def test_what_is_said_of_rules(divisi):
    out = divisi("prove", "--rule", "transposes-cancel").out
    assert re.search(r"^transposes-cancel: proved equal at \d+ instances in "
                     r"the prime field; bit-exact; by elements "
                     r"\([\d.]+ s\)\n1 rule: 1 proved\n$", out), out


def test_number_of_processes_changes_nothing(divisi):
    texts = sample(texts_of([ROOT / "rules/movement.rules"]).values(), least=5)
    path = divisi.path("some.rules")
    path.write_text("\n".join(texts))

    def said(*arguments):
        return re.sub(r" \([\d.]+ s\)", "",
                      divisi("prove", path, *arguments).out)
    one = said("--jobs", "1", "--record", "1.txt")
    assert one.count("proved") >= 5
    assert one == said("--jobs", "3", "--record", "3.txt") == said()
    assert divisi.path("1.txt").read_text() == divisi.path("3.txt").read_text()
    fails(divisi, USAGE, "prove", path, "--jobs", "0",
          because="--jobs 0: expected a number from 1 to 64")


def test_axioms_are_believed(divisi):
    path = ROOT / "rules/axioms/elementwise.rules"
    result = divisi("prove", path, "--rule", "negates-twice")
    assert "negates-twice: believed equal at " in result.out


def test_axioms_hold_both_ways(divisi):
    divisi.path("a.rules").write_text('''axiom one-way {
  summary "the target may be where the source may not"
  size m
  int i
  activation x: float[m]
  source {
    z = softmax(x) {axis = i, log = false}
    return z
  }
  target {
    a = neg(x)
    b = neg(a)
    z = softmax(b) {axis = 0, log = false}
    return z
  }
}
''')
    result = divisi("prove", "a.rules", exits=DIFFERS)
    assert re.search(r"one-way: refused by its forms: at i = -?\d+, m = \d+ "
                     r"the target is legal, and of the source 'z' ",
                     result.out), result.out


def test_smtlib_is_what_is_asked(divisi):
    divisi("prove", "--rule", "relu-of-relu", "--smtlib", "q.smt2", "--axioms",
           ROOT / "rules/axioms/elementwise.rules")
    text = divisi.path("q.smt2").read_text()
    assert text.startswith("; relu-of-relu, ")
    # Floats and integers, of none to four dims.
    assert text.count("(check-sat)") == text.count("(reset)") == 10
    assert "|relu float/4 -> float/4|" in text


# What others believe.

def test_properties_of_taso_are_proved(divisi):
    """Each of its operators' properties, in the words of Divisi."""
    texts = texts_of([ROOT / "test/Prove/Inputs/taso.rules"])
    assert len(texts) == 45
    chosen = sample(texts)
    divisi.path("taso.rules").write_text("\n".join(texts[n] for n in chosen))
    rules = verdicts(divisi, "taso.rules")
    standings = {name: rule["standing"] for name, rule in rules.items()}
    assert list(standings) == chosen
    assert set(standings.values()) == {"proved"}, standings


# False rules.

EXPECTED = re.findall(r"^// refused by its (\w+)\nrule (\S+) \{",
                      FALSE_RULES.read_text(), re.M)
# Some of each gate.
CHOSEN = sample(EXPECTED, lambda case: case[1], lambda case: {case[0]})


@pytest.fixture(scope="module")
def false(tmp_path_factory):
    divisi = Divisi(tmp_path_factory.mktemp("false"))
    texts = texts_of([FALSE_RULES])
    divisi.path("false.rules").write_text(
        "\n".join(texts[name] for _, name in CHOSEN))
    return verdicts(divisi, "false.rules", exits=DIFFERS)


def test_there_are_false_rules_enough():
    assert len(EXPECTED) >= 60
    assert len(EXPECTED) == FALSE_RULES.read_text().count("\nrule ") + \
        FALSE_RULES.read_text().startswith("rule ")


@pytest.mark.parametrize("gate, name", CHOSEN, ids=[n for _, n in CHOSEN])
def test_false_rules_are_refused(false, gate, name):
    rule = false[name]
    assert (rule["standing"], rule.get("gate")) == ("refused", gate), rule
    # The counter-example: the sizes, and where the results differ for what.
    assert re.search(r"\bat (\w+ = |no sizes)", rule["reason"]), rule
    if gate != "forms":
        assert re.search(r" result \d+ at \[[\d, ]*\] is \S+ by the source and "
                         r"\S+ by the target, for \w+ = ", rule["reason"]), rule


# A text that says what is wrong, of what no number shows: (what is changed,
# what is said).
REFUSED = {
    "values": ([], r"refused by its values: at m = \d+, n = \d+, float being "
               r"f64 result 0 at "),
    "forms": ([("return x", "b = transpose(x) {permutation = [1, 0]}\n"
                "    return b")],
              r"refused by its forms: at m = (\d+), n = (\d+) result 0 is "
              r".* by the source and .* by the target"),
    "illegal target": (
        [("return x", "b = slice(x) {starts = [0, 0], limits = [m, n + 1], "
          "steps = [1, 1]}\n    return b")],
        r"at m = \d+, n = \d+ the source is legal, and of the target 'b' "
        r"\(slice\)"),
    "illegal source": (
        [("relu(x)", "relu(x, x)")],
        r"the source is never legal: 'a' \(relu\): it takes 1 operands, got 2"),
    "too few operands": (
        [("relu(x)", "attention(x)")],
        r"'a' \(attention\): it takes at least 3 operands, got 1"),
    "attribute is missing": (
        [("relu(x)", "concat(x, x)")],
        r"'a' \(concat\): it lacks the attribute 'axis'|requires attribute"),
    "attribute by default": (
        [("x: float[m, n]", "x: float[m, n, m, n]"),
         ("relu(x)", "attention(x, x, x) {scale = 1.0, softcap = 0.0, left = "
          "-1, right = 0, offset = 0, nan = false}")],
        r"'a' \(attention\): it lacks the attribute 'labels'; expected all of "
        r"them"),
    "no such attribute": (
        [("relu(x)", "relu(x) {slope = 0.5}")],
        r"'a' \(relu\): it has no attribute 'slope'; expected none"),
    "type is missing": (
        [("relu(x)", "reshape(x)")],
        r"'a' \(reshape\): its result's type is not its own to say; expected "
        r"one, as in ': float\[m, n\]'"),
    "no operator": (
        [("relu(x)", "frobnicate(x)")],
        r"rules have no operator 'frobnicate'; expected a function of tensors "
        r"of the nn dialect"),
    "ill-typed": (
        [("relu(x)", "not(x)")], r"the source is never legal: 'a' \(not\)"),
    "attribute without a value": (
        [("relu(x)", "concat(x, x) {axis = m / (n - n)}")],
        r"'a' \(concat\): attribute 'axis' has no value, by a division or an "
        r"index that is out of range"),
    "element without a value": (
        [("a = relu(x)", "b = m / (n - n) : float[]\n    a = add(x, b)")],
        r"the source is never legal: 'b': its element has no value"),
    "extent without a value": (
        [("relu(x)", "reshape(x) : float[m, n - 100]")],
        r"'a' \(reshape\): an extent of its type has no value, or a negative "
        r"one"),
    "variable without an extent": (
        [("size m, n", "size m, n\n  int i\n  where i == m - 100"),
         ("x: float[m, n]", "x: float[m, n, i]")],
        r"an extent of 'x' has no value, a negative one, or one too large"),
    "contradictory conditions": (
        [("size m, n", "size m, n\n  where m == 3\n  where m == 4")],
        r"the conditions contradict each other: no numbers that were tried "
        r"meet all of them"),
    "target without a value": (
        [("size m, n", "size m, k"), ("x: float[m, n]", "x: float[m]\n"
          "  activation i: i64[k]"),
         ("a = relu(x)", "c = cast(i) : float[k]\n    b = reduce(x) {kind = "
          "\"sum\", axes = [0]}\n    a = add(c, b)"),
         ("return x", "b = gather(x, i) {axis = 0, batch_dims = 0}\n"
          "    return b")],
        r"the target has no value: "),
    "not bit-exact": (
        [("a = relu(x)", "a = sub(x, x)"),
         ("return x", "a = 0.0 : float[m, n]\n    return a")],
        r"refused by its floats: it is not bit-exact: at "),
    "more than rounding": (
        [("a = relu(x)", "c = 1.0e8 : float[]\n    b = add(x, c)\n    "
          "a = sub(b, c)"), ("bit-exact", "reassociates")],
        r"refused by its floats: it differs by more than rounding: at "),
    "no instance in symbols": (
        [("size m, n", "shape p\n  int i\n  where i == 0"),
         ("float[m, n]", "float[p...]"),
         ("a = relu(x)", "c = neg(x)\n    b = neg(c)\n    a = slice(b) "
          "{starts = [0], limits = [p[i]], steps = [1]}"),
         ("return x", "a = slice(x) {starts = [0], limits = [p[i]], steps = "
          "[1]}\n    return a")],
        r"refused by its proof: .*there is nothing to prove it for"),
    "range": (
        [("a = relu(x)", "c = exp(x)\n    d = neg(x)\n    b = exp(d)\n"
          "    a = mul(c, b)"),
         ("return x", "a = 1.0 : float[m, n]\n    return a"),
         ("bit-exact", "reassociates")],
        r"refused by its floats: it changes the range: at "),
    "unproved": (
        [("a = relu(x)", "b = sign(x)\n    a = sign(b)"),
         ("return x", "a = sign(x)\n    return a")],
        r"refused by its proof: it does not follow from the axioms: r "
        r"\(all sizes\): it is not shown that result 0 at \[r0, r1\], =sign "
        r"float -> float\(=sign float -> float\(x0\[r0, r1\]\)\) by the "
        r"source, is =sign float -> float\(x0\[r0, r1\]\) \("),
    "unproved by axioms": (
        [("a = relu(x)", "b = sin(x)\n    c = cos(x)\n    d = mul(b, c)\n"
          "    a = add(d, d)"),
         ("return x", "b = add(x, x)\n    a = sin(b)\n    return a"),
         ("bit-exact", "reassociates")],
        r"it does not follow from the axioms: r \(all sizes\): no axioms were "
        r"found that say so; by elements: r \(all sizes\): it is not shown "),
    "turned by rounding": (
        [("a = relu(x)", "o = 1.0 : float[]\n    b = add(x, o)\n"
          "    a = compare(b, x) {predicate = \"gt\"}"),
         ("return x", "a = 1 : bool[m, n]\n    return a"),
         ("bit-exact", "reassociates")],
        r"refused by its floats: it is not reassociates but discontinuous: r "
        r"\(all sizes\): it is not shown that result 0 at \[r0, r1\], "
        r"=less of float\(x0\[r0, r1\], =add of float\(1, x0\[r0, r1\]\)\) "
        r"by the source, is 1 \("),
    "extents": (
        [("a = relu(x)", "b = neg(x)\n    a = neg(b)"),
         ("return x", "a = slice(x) {starts = [0, 0], limits = [m, n - n / "
          "5000], steps = [1, 1]}\n    return a")],
        r"it is not shown that extent 1 of the result, n by the source, is "
        r"-\(n\)/\(5000\) \+ n "),
    "open and hardly tested": (
        [("m, n\n", "m, n\n  where m == n\n  where n <= 1\n"),
         ("a = relu(x)", "b = sign(x)\n    a = sign(b)"),
         ("return x", "a = sign(x)\n    return a"),
         ("class bit-exact", "class bit-exact\n  open \"who knows\"")],
        r"refused by its values: it is not tested: its source was legal at "
        r"\d+ instances of 1 different sizes, expected at least 20 of 3"),
    "open and proved": (
        [("a = relu(x)", "b = neg(x)\n    a = neg(b)"),
         ("class bit-exact", "class bit-exact\n  open \"who knows\"")],
        r"it is marked open, but is proved; remove 'open'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(divisi, name):
    replacements, says = REFUSED[name]
    divisi.path("r.rules").write_text(changed(*replacements))
    result = fails(divisi, DIFFERS, "prove", "r.rules",
                   because=["1 of 1 rule refused: r$"])
    assert re.search(says, result.out), result.report(f"it does not say {says}")


def test_open_rule_is_tested(divisi):
    divisi.path("r.rules").write_text(changed(
        ("a = relu(x)", "b = sign(x)\n    a = sign(b)"),
        ("return x", "a = sign(x)\n    return a"),
        ("class bit-exact", "class bit-exact\n  open \"no axiom\"")))
    out = divisi("prove", "r.rules").out
    assert "r: tested equal at " in out and "; open: r (" in out


@pytest.mark.parametrize("source, target, where", [
    ("u = add(x, y)\n v = add(c, y)\n a = max(u, v)",
     "u = max(x, c)\n a = add(u, y)", "on small integers;"),
    ("u = exp(x)\n v = exp(y)\n w = mul(u, v)\n a = add(w, c)",
     "u = add(x, y)\n v = exp(u)\n a = add(v, c)",
     "on small integers, up to rounding;")])
def test_what_the_field_does_not_know(divisi, source, target, where):
    divisi.path("r.rules").write_text(changed(
        ("x: float[m, n]", "x: float[m, n]\n  activation y: float[m, n]\n"
         "  activation c: float[m, n]"),
        ("a = relu(x)", source), ("return x", target + "\n return a"),
        ("class bit-exact", "class changes-range")))
    assert " instances " + where in divisi("prove", "r.rules").out


def test_nonsense_proves_nothing(divisi):
    divisi.path("a.rules").write_text("""axiom nonsense {
  summary "a sum is its first operand"
  shape s
  activation x: float[s...]
  activation y: float[s...]
  source {
    z = add(x, y)
    return z
  }
  target {
    return x
  }
}

axiom commutes {
  summary "x + y = y + x"
  shape s
  activation x: float[s...]
  activation y: float[s...]
  source {
    z = add(x, y)
    return z
  }
  target {
    z = add(y, x)
    return z
  }
}
""")
    result = divisi("prove", "--rule", "factor-sum-of-matmuls", "--axioms",
                    "a.rules", exits=DIFFERS)
    assert re.search("the axioms [a-z, -]+ say that all tensors of rank 0 "
                     "are equal", result.out), result.out
    result = divisi("prove", "a.rules", exits=DIFFERS)
    assert "nonsense: refused by its values: at " in result.out
    assert "commutes: believed" in result.out


# A rule as docs/writing-a-rule.md has it.

def test_example_of_the_docs_is_proved(divisi):
    text = (ROOT / "docs/writing-a-rule.md").read_text()
    for word, standing in (("rule", "proved"), ("axiom", "believed")):
        [example] = re.findall(rf"```\n({word} .*?)```", text, re.S)
        divisi.path("r.rules").write_text(example)
        assert f": {standing} equal at " in divisi("prove", "r.rules").out


def test_page_lists_the_operators():
    assert generate_rule_operators.page() == \
        generate_rule_operators.PAGE.read_text(encoding="utf-8"), (
            "write docs/writing-a-rule.md again: "
            "python docs/generate_rule_operators.py")
