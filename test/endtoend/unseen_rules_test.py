"""`divisi prove`: rules of which samples do not show whether they are true, and
what a rule is called.
"""

import re

import pytest
from bad_input_test import fails
from conftest import ROOT
from prove_test import DIFFERS, texts_of, verdicts
from share import is_sweep, sample

# Beside what samples show: in each list all of a kind.
UNSEEN = {kind: texts_of([ROOT / f"test/Prove/Inputs/unseen-{kind}.rules"])
          for kind in ("false", "true")}


@pytest.mark.parametrize("kind", UNSEEN)
def test_what_samples_do_not_show(divisi, kind):
    texts = UNSEEN[kind]
    assert len(texts) >= 40
    chosen = sample(texts)
    divisi.path("r.rules").write_text("\n".join(texts[n] for n in chosen))
    rules = verdicts(divisi, "r.rules", exits=DIFFERS if kind == "false" else 0)
    others = {name: rule for name, rule in rules.items() if rule["standing"] !=
              ("refused" if kind == "false" else "proved")}
    assert list(rules) == chosen and not others, others


def test_name_of_a_rule_changes_nothing(divisi):
    """A false one that draws refuse, one that the proof refuses, an open one,
    and a true one."""
    rules = [UNSEEN["false"][name] for name in
             ("square-is-not-negative", "i32-gather-of-any-extent")]
    rules += [rules[1].replace("class bit-exact",
                               'class bit-exact\n  open "who knows"')]
    rules += [UNSEEN["true"]["widened-plus-one"]]
    named = [re.sub(r"(?m)^rule (\S+)", f"rule r{at}-{number}", rule)
             for number in range(20 if is_sweep() else 2)
             for at, rule in enumerate(rules)]
    divisi.path("r.rules").write_text("\n".join(named))
    out = fails(divisi, DIFFERS, "prove", "r.rules", because="refused: ").out
    said = {}
    for at, number, text in re.findall(
            r"(?m)^r(\d)-(\d+): (.*) \([\d.]+ s\)$", out):
        said.setdefault(at, set()).add(text.replace(f"r{at}-{number}", "NAME"))
    assert [len(said[at]) for at in sorted(said)] == [1] * 4, said
    assert "tested equal at" in next(iter(said["2"])), said
