"""`by a, b` of a rule: its proof uses rules that are proved before it; and rules
that are proved at some ranks alone."""

import re

import pytest
from bad_input_test import fails
from conftest import ROOT
from prove_test import DIFFERS, texts_of, verdicts

INVALID = 4
LEMMAS = texts_of([ROOT / "test/Prove/Inputs/lemmas.rules"])
GELU, GATHER, BOTH = LEMMAS.values()

# Of x * ((1 + erf(x / sqrt(2))) / 2) with DIMS more dims: the axiom of gelu is
# about four at most.
MORE_DIMS = GELU.replace("gelu-of-half", "of-more-dims").replace(
    "  source {\n", "  source {\n    y = reshape(x) : float[DIMS, s...]\n"
).replace("div(x, r)", "div(y, r)").replace(
    "z = mul(x, d)", "e = mul(y, d)\n    z = reshape(e) : float[s...]")
# max(0, x) is -0 of -0, and relu(x) is 0: axioms don't know that.
ZEROS = """rule zeros {
  summary "max(0, --x) = relu(x)"
  shape p
  activation x: float[p...]
  source {
    o = 0.0 : float[]
    a = neg(x)
    b = neg(a)
    z = max(o, b)
    return z
  }
  target {
    z = relu(x)
    return z
  }
  class bit-exact
  by twice
}
"""
TWICE = """rule twice {
  summary "--x = x"
  shape p
  activation x: float[p...]
  source {
    a = neg(x)
    z = neg(a)
    return z
  }
  target {
    return x
  }
  class bit-exact
}
"""


def proves(divisi, *rules, exits=0):
    divisi.path("r.rules").write_text("\n".join(rules))
    return verdicts(divisi, "r.rules", exits=exits)


@pytest.mark.whole
def test_lemmas_are_needed_and_used(divisi):
    said = proves(divisi, *LEMMAS.values())["gather-of-gelu"]
    assert said["standing"] == "proved"
    assert said["axioms"] == ["gather-of-reversed", "gelu-of-half"]
    # The prover looks long for what there is not.
    without = re.sub(r"\n  by .*", "", BOTH)
    said = proves(divisi, GELU, GATHER, without, exits=DIFFERS)
    assert said["gather-of-gelu"]["standing"] == "refused"


def test_one_rule_is_proved_with_what_it_rests_on(divisi):
    other = TWICE.replace("rule twice", "rule other")
    thrice = TWICE.replace("rule twice", "rule rests").replace(
        "bit-exact", "bit-exact\n  by twice")
    divisi.path("r.rules").write_text("\n".join([other, TWICE, thrice]))
    said = verdicts(divisi, "r.rules", "--rule", "rests")
    assert list(said) == ["twice", "rests"]
    assert said["rests"]["standing"] == "proved"


def test_lemma_has_to_be_proved(divisi):
    false = TWICE.replace("twice", "false").replace(
        "    return x\n", "    z = neg(x)\n    return z\n")
    other = TWICE.replace("rule twice", "rule other").replace(
        "bit-exact", "bit-exact\n  by false")
    said = proves(divisi, false, other, exits=DIFFERS)
    assert said["false"]["gate"] == "values"
    assert said["other"]["gate"] == "proof"
    assert said["other"]["reason"] == "its lemma 'false' is not proved"


@pytest.mark.whole
def test_lemma_has_to_be_proved_at_all_ranks(divisi):
    other = TWICE.replace("rule twice", "rule other")
    partly = MORE_DIMS.replace("DIMS", "1")
    other = other.replace("bit-exact", "reassociates\n  by of-more-dims")
    said = proves(divisi, partly, other, exits=DIFFERS)["other"]
    assert said["reason"] == ("its lemma 'of-more-dims' is proved only where "
                              "rank(s) <= 3; say that in it, too")


@pytest.mark.whole
def test_exact_rules_use_exact_lemmas_alone(divisi):
    said = proves(divisi, TWICE, ZEROS, exits=DIFFERS)
    assert said["twice"]["standing"] == "proved"
    assert said["zeros"]["standing"] == "refused"


BAD = {
    "later": ([BOTH, GELU, GATHER],
              "'gather-of-gelu' has the lemma 'gelu-of-half': no rule of that "
              "name stands before it in this file"),
    "itself": ([TWICE.replace("}\n", "}\n", 1)[:-2] + "  by twice\n}\n"],
               "no rule of that name stands before it"),
    "axiom": ([re.sub("rule (.*)\n  class bit-exact\n", r"axiom \1\n",
                      TWICE, flags=re.S), ZEROS],
              "it is an axiom, which proofs use without being told to"),
    "open": ([TWICE[:-2] + '  open "who knows"\n}\n', ZEROS],
             "it is marked open, so it is not proved"),
    "class": ([TWICE.replace("bit-exact", "reassociates"), ZEROS],
              "it is reassociates, and a rule that is bit-exact does not "
              "follow from that"),
    "no name": ([TWICE, ZEROS.replace("by twice", "by 7")],
                "expected the name of a rule, got '7'"),
    "of an axiom": ([TWICE, re.sub("rule (.*)\n  class bit-exact\n",
                                   r"axiom \1\n", ZEROS, flags=re.S)],
                    "it has no class, no lemmas, is not open, not generated "
                    "and not applied"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_lemma(divisi, name):
    rules, because = BAD[name]
    divisi.path("r.rules").write_text("\n".join(rules))
    fails(divisi, INVALID, "prove", "r.rules", because=because)


@pytest.mark.whole
def test_proved_at_some_ranks(divisi):
    said = proves(divisi, MORE_DIMS.replace("DIMS", "1"))["of-more-dims"]
    assert said["standing"] == "proved" and said["where"] == "rank(s) <= 3"
    assert "(rank(s) = 4, all sizes)" in said["open"]
    out = divisi("prove", "r.rules", "--record", "record").out
    assert "of-more-dims: proved where rank(s) <= 3, equal at " in out
    record = divisi.path("record").read_text()
    assert record.endswith(" at s=0 s=1 s=2 s=3\n"), record
    # What holds of few ranks says nothing of the others.
    said = proves(divisi, MORE_DIMS.replace("DIMS", "1, 1, 1"), exits=DIFFERS)
    assert "; it is proved with 'where rank(s) <= 1'" in said[
        "of-more-dims"]["reason"]
