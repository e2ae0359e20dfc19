"""What `divisi prove` says of files that are no rules, and of its options.

A file that is not understood is told so, at its line and column, with what was
expected there.
"""

import pytest
from bad_input_test import fails
from conftest import ROOT
from rule_texts import RULE, changed

USAGE, FILES, CONTENT = 2, 3, 4

# Files that are no rules: what is changed, where and what is said.
MALFORMED = {
    "no rule": ([("rule r", "rul r")], "1:1: expected 'rule' or 'axiom', got "
                "'rul'"),
    "no name": ([("rule r", "rule 7")], "1:6: expected the name of a rule, got "
                "'7'"),
    "end": ([("}\n  class bit-exact\n}\n", "")],
            "11:3: expected '}', got the end of the file"),
    "statement": ([("size m", "sizes m")], "3:3: expected summary, size, "
                  "shape, int, real, operator, activation, weight, constant, "
                  "where, source, target, class, open, by, generated, "
                  "always, forward or definition, got 'sizes'"),
    "no statement": ([("size m", "7 m")],
                     "3:3: expected a statement or '}', got '7'"),
    "twice": ([("class", "summary \"s\"\n  class")],
              "12:3: 'summary' is given twice in one rule"),
    "summary": ([("\"relu does nothing\"", "relu")],
                "2:11: expected a text in quotes, got 'relu'"),
    "missing": ([("  summary \"relu does nothing\"\n", "")],
                "1:6: 'r' has no summary; expected one"),
    "open": ([("class", "open 3\n  class")],
             "12:8: expected what is open, in quotes, got '3'"),
    "class": ([("bit-exact", "exact")], "12:9: expected bit-exact, "
              "reassociates, changes-range or discontinuous, got 'exact'"),
    "no class": ([("bit-exact", "")],
                 "13:1: expected a numeric class, got '}'"),
    "two rules": ([("rule r", RULE + "rule r")],
                  "14:6: there are two rules called 'r'"),
    "character": ([("size m", "size %m")],
                  "3:8: the character '%' has no meaning here"),
    "byte": ([("size m", "size \u00e9m")],
             "3:8: the byte 195 has no meaning here"),
    "string": ([("nothing\"", "nothing")],
               "2:11: the string does not end on its line; expected '\"'"),
    "number": ([("float[m, n]", "float[m, 99999999999999999999]")],
               "4:26: the number 99999999999999999999 is too large"),
    "type": ([("float[m, n]", "7")],
             "4:17: expected an element type, as in 'float[m, n]', got '7'"),
    "extent": ([("float[m, n]", "float[m, *]")], "4:26: expected a size, an "
               "integer or a number, got '*'"),
    "minus": ([("float[m, n]", "float[m, -n]")],
              "4:27: expected a number behind '-', got 'n'"),
    "nested": ([("float[m, n]", f"float[m, {'(' * 70}n{')' * 70}]")],
               "4:90: there are more than 64 parentheses in each other"),
    "brackets": ([("float[m, n]", f"float[m, {'m[' * 70}n{']' * 70}]")],
                 ": there are too many brackets in each other"),
    "node": ([("a = relu", "7 = relu")],
             "6:5: expected a name, 'return' or '}', got '7'"),
    "operator": ([("relu(x)", "\"relu\"")],
                 '6:9: expected an operator or a number, got "relu"'),
    "integer splat": ([("relu(x)", "7")], "7:5: expected ':' and the type of "
                      "a tensor of equal elements, got 'return'"),
    "splat": ([("relu(x)", "0.5")], "7:5: expected ':' and the type of a "
              "tensor of equal elements, got 'return'"),
    "attribute twice": ([("relu(x)", "concat(x, x) {axis = 0, axis = 1}")],
                        "6:33: the attribute 'axis' is given twice"),
    "relation": ([("size m, n", "size m, n\n  where m n")],
                 "4:11: expected ==, !=, <, <=, >, >=, divides or broadcasts, "
                 "got 'n'"),
    # What names mean.
    "declared twice": ([("size m, n", "size m, n, m")],
                       "1:6: 'r': the name 'm' is declared twice"),
    "node twice": ([("return a", "a = relu(a)\n    return a")],
                   "7:5: 'r': the name 'a' is declared twice"),
    "unbound": ([("relu(x)", "relu(y)")], "6:5: 'r': 'y' is no variable or "
                "earlier node of this rule; expected one that is declared"),
    "name of an operand": ([("a = relu(x)", "m = relu(x)\n    a = neg(m)")],
                           "6:5: 'r': the name 'm' is declared twice"),
    "repeated shape": ([("size m, n", "size m, n\n  where p broadcasts m")],
                       "4:9: 'r': 'p' is no size or int of this rule"),
    "unbound size": ([("float[m, n]", "float[m, k]")],
                     "4:26: 'r': 'k' is no size or int of this rule"),
    "unbound shape": ([("float[m, n]", "float[m, n, p...]")],
                      "4:17: 'r': 'p' is no shape of this rule"),
    "element type": ([("float[m, n]", "f31[m, n]")],
                     "4:17: 'r': 'f31' is not an element type; expected "
                     "float, int, "
                     "number, bool, any, or one type as f32 or i64"),
    "brace": ([("relu(x)", "matmul(x, x) {labels = \"{mk,kn->mn\"}")],
              "6:5: 'r': a brace stands alone in \"{mk,kn->mn\"; expected '{' "
              "shape '}'"),
    "not needed": ([("a = relu(x)", "a = relu(x)\n    b = relu(x)")],
                   "7:5: 'r': nothing needs 'b'; return it, or leave it out"),
    "empty source": ([("    a = relu(x)\n    return a", "    return x"),
                      ("    return x\n  }\n  class",
                       "    a = relu(x)\n    return a\n  }\n  class")],
                     ": 'r': the source has no operator, so it would match "
                     "everything"),
    "results": ([("return x", "return x, x")], "9:10: 'r': the target returns "
                "2 results, expected 1 as the source does"),
    "forward": ([("class", "forward\n  class")],
                "1:6: 'r': a rule is used from its source to its target in "
                "any case; take 'forward' out"),
    "definition": ([("class", "definition\n  class")],
                   "1:6: 'r': a definition is an axiom whose source is one "
                   "operator, on variables and numbers"),
    "axiom": ([("rule r", "axiom r")], "1:7: 'r': an axiom is about exact "
              "numbers and believed; it has no class, no lemmas, is not open, "
              "not "
              "generated and not applied"),
    "class is missing": ([("  class bit-exact\n", "")], "1:6: 'r': has no "
                         "class; expected bit-exact, reassociates, "
                         "changes-range or discontinuous"),
    "same": ([("return x", "a = relu(x)\n    return a")],
             "1:6: 'r': source and target are the same"),
    "not used": ([("size m, n", "size m, n, k")],
                 "1:6: 'r': 'k' is declared and not used"),
    "not in the source": ([("source {\n    a = relu(x)", "activation y: "
                            "float[m, n]\n  source {\n    a = relu(x)"),
                           ("return x", "b = add(x, y)\n    return b")],
                          "5:14: 'r': the variable 'y' does not occur in the "
                          "source"),
    "count": ([("a = relu(x)", "a = count(m) : float[m, n]")],
              "6:9: 'r': 'm' is no shape of this rule; expected one that is "
              "declared"),
    "element": ([("a = relu(x)", "a = e : float[m, n]")],
                "6:9: 'r': 'e' is no size or int of this rule; expected one "
                "that is declared"),
    "real as extent": ([("size m, n", "size m, n\n  real e"),
                        ("float[m, n]", "float[m, e]")],
                       "5:26: 'r': 'e' is no size or int of this rule; "
                       "expected one that is declared"),
    "real in arithmetic": ([("size m, n", "size m, n\n  real e\n"
                             "  where e + 1 < 2.0")],
                           "5:11: 'r': reals are multiplied, divided and "
                           "compared with reals and numbers, got 'e + 1'"),
    "not found": ([("size m, n", "size m, n, k"), ("float[m, n]",
                                                   "float[m, n + k]")],
                  "1:6: 'r': a match does not say what 'k' is; it has to stand "
                  "alone in the type of a variable, in an attribute of the "
                  "source, or on a side of =="),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files(divisi, name):
    replacements, says = MALFORMED[name]
    divisi.path("r.rules").write_text(changed(*replacements))
    result = divisi("prove", "r.rules", exits=CONTENT)
    where = "r.rules" if says.startswith(":") else "r.rules:"
    assert (says in result.err if says.startswith(":") else
            f"divisi: error: {where}{says}" in result.err), result.report(
                f"it does not say {says}")


def test_files_and_options(divisi):
    divisi.path("none").write_text("// nothing\n")
    fails(divisi, CONTENT, "prove", "none", because=["'none' has no rules"])
    fails(divisi, FILES, "prove", "none.rules", because=["none.rules"])
    fails(divisi, USAGE, "prove", "--rule", "none",
          because=["--rule 'none': there is no rule of that name"])
    fails(divisi, USAGE, "prove", "--smtlib", "q.smt2",
          because=["--smtlib needs --rule NAME"])
    divisi.path("r.rules").write_text(RULE)
    fails(divisi, CONTENT, "prove", "--axioms", "r.rules",
          because=["--axioms 'r.rules': 'r' is a rule, expected axioms alone"])
    fails(divisi, USAGE, "prove", "r.rules", "--rule", "r", "--smtlib",
          "r.rules", because=["the rules"])
    fails(divisi, USAGE, "prove", "r.rules", "--record", "r.rules",
          because=["the rules"])
    axioms = ROOT / "rules/axioms/elementwise.rules"
    divisi.path("a.rules").write_text(axioms.read_text())
    fails(divisi, USAGE, "prove", "r.rules", "--rule", "r", "--axioms",
          "a.rules", "--smtlib", "a.rules", because=["the axioms"])


@pytest.mark.parametrize("cut", range(0, len(RULE), 7))
def test_parts_of_files(divisi, cut):
    """A rule that ends anywhere is told so, and nothing crashes."""
    divisi.path("r.rules").write_text(RULE[:cut].rstrip("}\n"))
    divisi("prove", "r.rules", exits=CONTENT)
