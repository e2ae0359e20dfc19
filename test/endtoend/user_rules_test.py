"""`--rules FILE`: rules of a user's own are proved once, applied, and reported."""

import json
import shutil

import numpy as np
import onnx
import pytest
from bad_input_test import fails, says
from conftest import assert_close, load
from onnx import TensorProto, helper, numpy_helper
from share import sample

USAGE, FILE, INVALID, DIFFERS = 2, 3, 4, 8

SCALE = """rule scale-weights {
  summary "(x w) c = x (w c)"
  size m, k, n
  activation x: float[m, k]
  weight w: float[k, n]
  weight c: float[]
  source {
    a = matmul(x, w) {labels = "mk,kn->mn"}
    z = mul(a, c)
    return z
  }
  target {
    v = mul(w, c)
    z = matmul(x, v) {labels = "mk,kn->mn"}
    return z
  }
  class reassociates
}
"""
SIGNS = """rule signs-cancel {
  summary "-tanh(-x) = tanh(x)"
  shape p
  activation x: float[p...]
  source {
    a = neg(x)
    b = tanh(a)
    z = neg(b)
    return z
  }
  target {
    z = tanh(x)
    return z
  }
  class reassociates
}
"""
# In the same place as the one before, and false.
FALSE = SIGNS.replace("signs-cancel", "sign-stays").replace(
    "    z = tanh(x)\n", "    a = tanh(x)\n    z = neg(a)\n")


def noted(count):
    rules = "1 rule" if count == 1 else f"{count} rules"
    return f"divisi: note: {rules} of --rules proved, which is not done again\n"


def model(path):
    """y = -tanh(-(x w c)) v, each operator under its name."""
    draw = np.random.default_rng(7)
    tensors = {"w": draw.standard_normal((16, 32)), "c": 0.5,
               "v": draw.standard_normal((32, 16))}
    nodes = [("MatMul", "x w", "a", "/up"), ("Mul", "a c", "b", "/scale"),
             ("Neg", "b", "n", "/turn"), ("Tanh", "n", "t", "/tanh"),
             ("Neg", "t", "m", "/back"), ("MatMul", "m v", "y", "/down")]
    graph = helper.make_graph(
        [helper.make_node(op, read.split(), [made], name=name)
         for op, read, made, name in nodes], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 16])],
        [numpy_helper.from_array(np.asarray(value, np.float32), name)
         for name, value in tensors.items()])
    onnx.save(helper.make_model(
        graph, ir_version=10,
        opset_imports=[helper.make_opsetid("", 20)]), path)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A cache and its key, in which tests find what others have proved."""
    return tmp_path_factory.mktemp("known")


@pytest.fixture
def divisi(divisi, known, monkeypatch):
    """With a model and a file of rules."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(known / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(known / "data"))
    model(divisi.path("m.onnx"))
    divisi.path("my.rules").write_text(SCALE + "\n" + SIGNS)
    return divisi


@pytest.fixture
def fresh(divisi, monkeypatch):
    """The same where nothing was proved yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(divisi.path("cache")))
    monkeypatch.setenv("XDG_DATA_HOME", str(divisi.path("data")))
    return divisi


def compile_with(divisi, *rules, exits=0, devices=2):
    options = [part for file in rules for part in ("--rules", file)]
    # As they are applied without a search among those of Divisi.
    return divisi("compile", "m.onnx", "--devices", devices, *options,
                  "--rewrite", "off", "-o", "m.divisi", exits=exits)


def test_one_command_proves_applies_and_explains(fresh):
    divisi = fresh
    assert compile_with(divisi, "my.rules").err.startswith(noted(2))
    # Proved once; so is what the other verbs that read models are given.
    for verb, *options in (("compile", "-o", "m.divisi"), ("plan", "-o", "-"),
                           ("explain", "--summary"), ("check",)):
        result = divisi(verb, "m.onnx", "--devices", 2, "--rules", "my.rules",
                        *options)
        assert "proved" not in result.err, result.err
    summary = divisi("explain", "m.divisi", "--summary").out
    assert ("rule              scale-weights of my.rules (reassociates): "
            "applied 1 time: /scale\n"
            "rule              signs-cancel of my.rules (reassociates): "
            "applied 1 time: /back\n") in summary
    rules = json.loads(divisi("explain", "m.divisi", "--json").out)["rules"]
    assert rules[0] == {"name": "scale-weights", "file": "my.rules",
                        "class": "reassociates", "times": 1,
                        "nodes": ["/scale"], "declined": ""}
    why = divisi("explain", "m.onnx", "--devices", 2, "--rules", "my.rules",
                 "--why", "/back")
    assert "  made by signs-cancel of my.rules (reassociates)\n" in why.out
    why = divisi("explain", "m.divisi", "--why", "/scale", "--json")
    [item] = [item for item in json.loads(why.out)["items"]
              if item["row"]["node"] == "/scale"]
    assert item["rules"] == [{"name": "scale-weights", "file": "my.rules",
                              "class": "reassociates"}]


@pytest.mark.parametrize("devices", [1, 4])
def test_results_stay_the_same(divisi, devices):
    outputs, operators = [], []
    np.savez(divisi.path("x.npz"),
             x=np.random.default_rng(8).standard_normal((8, 16), np.float32))
    for rules in ((), ("my.rules",)):
        compile_with(divisi, *rules, devices=devices)
        divisi("run", "m.divisi", "--inputs", "x.npz", "-o", "y.npz")
        outputs.append(load(divisi.path("y.npz")))
        rows = json.loads(divisi("explain", "m.divisi", "--json").out)["rows"]
        operators.append([row["op"] for row in rows])
    assert_close(outputs[1], outputs[0])
    assert operators[0].count("nn.neg") == 2
    assert "nn.neg" not in operators[1] and "nn.mul" not in operators[1]


def test_what_changes_is_proved_again(fresh):
    divisi = fresh
    cache = divisi.path("cache/divisi/proofs")
    compile_with(divisi, "my.rules")
    assert len(list(cache.iterdir())) == 2
    # One of two rules.
    divisi.path("my.rules").write_text(
        SCALE + "\n" + SIGNS.replace("-tanh(-x) =", "tanh is odd, so"))
    assert compile_with(divisi, "my.rules").err.startswith(noted(1))
    # The same rule elsewhere, with other spaces.
    shutil.copy(divisi.path("my.rules"), divisi.path("other.rules"))
    text = divisi.path("other.rules").read_text()
    divisi.path("other.rules").write_text("\n\n" + text.replace("  ", " "))
    assert "proved" not in compile_with(divisi, "other.rules").err
    for path in cache.iterdir():
        content = bytearray(path.read_bytes())
        content[-9] ^= 1
        path.write_bytes(content)
    assert compile_with(divisi, "my.rules").err.startswith(noted(2))
    assert "proved" not in compile_with(divisi, "my.rules").err
    shutil.rmtree(divisi.path("data"))  # the key, and nobody believes the rest
    assert compile_with(divisi, "my.rules").err.startswith(noted(2))


def test_without_a_cache_rules_are_proved_each_time(divisi, monkeypatch):
    divisi.path("taken").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(divisi.path("taken")))
    for _ in range(2):
        assert compile_with(divisi, "my.rules").err.startswith(noted(2))


def test_false_rule_is_refused(fresh):
    divisi = fresh
    divisi.path("false.rules").write_text(SCALE + "\n" + FALSE)
    says(compile_with(divisi, "false.rules", exits=DIFFERS), [r"false.rules:20:6: the rule 'sign-stays' is not proved: "
        r"refused by its values: at p = \[", "by the source and"])
    assert not divisi.path("m.divisi").exists()
    # What is true was kept.
    divisi.path("false.rules").write_text(SCALE)
    assert "proved" not in compile_with(divisi, "false.rules").err


def test_open_rule_is_refused(divisi):
    divisi.path("open.rules").write_text("""rule signs {
  summary "sign(sign(x)) = sign(x)"
  size m
  activation x: float[m]
  source {
    a = sign(x)
    z = sign(a)
    return z
  }
  target {
    z = sign(x)
    return z
  }
  class bit-exact
  open "no axiom"
}
""")
    says(compile_with(divisi, "open.rules", exits=DIFFERS),
         ["open.rules:1:6: the rule 'signs' is not proved: tested: it is marked "
          "open, and what is applied has to be proved"])


# Each of these names is as good as another.
NAMES = [f"{a}-{b}" for a in ("a", "signs", "x1", "the-rule")
         for b in ("1", "zero", "of-tanh", "b", "c")]


@pytest.mark.parametrize("name", sample(NAMES, slow=True))
def test_verdict_is_of_any_name(divisi, name):
    divisi.path("my.rules").write_text(SIGNS.replace("signs-cancel", name))
    compile_with(divisi, "my.rules")
    assert f"{name} of my.rules (reassociates): applied 1 time: /back" in divisi(
        "explain", "m.divisi", "--summary").out
    divisi.path("my.rules").write_text(FALSE.replace("sign-stays", name))
    said = compile_with(divisi, "my.rules", exits=DIFFERS).err
    divisi.path("my.rules").write_text(FALSE)
    assert said == compile_with(divisi, "my.rules", exits=DIFFERS).err.replace(
        "sign-stays", name)


def test_rule_of_few_ranks_is_applied_there(divisi):
    for rank, says_of in ((1, "applied nowhere; at /back: it is proved at no "
                              "ranks of these tensors"),
                          (2, "applied 1 time: /back")):
        divisi.path("my.rules").write_text(SIGNS.replace(
            "  source", f"  where rank(p) <= {rank}\n  source", 1))
        compile_with(divisi, "my.rules")
        assert f"signs-cancel of my.rules (reassociates): {says_of}\n" in divisi(
            "explain", "m.divisi", "--summary").out


def test_rule_follows_from_another(fresh):
    """By a lemma, which is applied itself; a change of it is one of both."""
    divisi = fresh
    follows = SIGNS.replace("signs-cancel", "follows").replace(
        "class reassociates", "class reassociates\n  by signs-cancel")
    divisi.path("my.rules").write_text(SIGNS + "\n" + follows)
    assert compile_with(divisi, "my.rules").err.startswith(noted(2))
    assert "proved" not in compile_with(divisi, "my.rules").err
    divisi.path("my.rules").write_text(
        SIGNS.replace("-tanh(-x) =", "as tanh is odd,") + "\n" + follows)
    assert compile_with(divisi, "my.rules").err.startswith(noted(2))
    divisi.path("my.rules").write_text(FALSE + "\n" + follows.replace(
        "by signs-cancel", "by sign-stays"))
    says(compile_with(divisi, "my.rules", exits=DIFFERS),
         ["the rule 'sign-stays' is not proved: refused by its values: at p = "])


def test_rule_by_which_nothing_takes_less_is_idle(divisi):
    turned = SIGNS.replace("source {", "other {").replace(
        "target {", "source {").replace("other {", "target {")
    divisi.path("my.rules").write_text(turned)
    assert ("divisi: note: --rules: by signs-cancel nothing takes less at any "
            "sizes that were tried, so that is not applied\n"
            ) in compile_with(divisi, "my.rules").err


BAD = [
    ("syntax", "rule r {", INVALID,
     r"bad.rules:1:9: expected a statement or '}', got the end of the file"),
    ("empty", "// nothing\n", INVALID, "'bad.rules' has no rules"),
    ("axiom", SIGNS.replace("rule", "axiom").replace("  class reassociates\n", ""),
     INVALID, "bad.rules:1:7: 'signs-cancel' is an axiom, which is believed; "
     "expected rules, which are proved"),
    ("twice", SCALE, USAGE, "--rules: 'my.rules' and 'bad.rules' both have a "
     "rule called 'scale-weights'; rename one of them"),
    ("absent", None, FILE, "cannot read 'bad.rules': No such file"),
]


@pytest.mark.parametrize("name, text, code, because", BAD,
                         ids=[case[0] for case in BAD])
def test_bad_files(divisi, name, text, code, because):
    if text is not None:
        divisi.path("bad.rules").write_text(text)
    says(compile_with(divisi, "my.rules", "bad.rules", exits=code), [because])
    assert not divisi.path("m.divisi").exists()


def test_options_that_do_not_fit(divisi):
    fails(divisi, USAGE, "compile", "m.onnx", "--rules", "my.rules",
          "--leave-out", "apply-rules", "-o", "m.divisi",
          because=["--leave-out apply-rules applies no rules, and --rules "
                   "applies some; give one of them"])
    fails(divisi, USAGE, "compile", "m.onnx", "--rules", "my.rules",
          "-o", "my.rules", because=["-o 'my.rules' is a file of --rules"])
    divisi("plan", "m.onnx", "--devices", 2, "-o", "plan.mlir")
    fails(divisi, USAGE, "compile", "plan.mlir", "--rules", "my.rules",
          "-o", "m.divisi", because=["--rules"])


def test_broken_note_is_refused(divisi):
    divisi("plan", "m.onnx", "--devices", 2, "--rules", "my.rules",
           "-o", "plan.mlir")
    text = divisi.path("plan.mlir").read_text()
    assert "divisi.rules = [" in text
    divisi.path("plan.mlir").write_text(text.replace(
        "times = 1 : i64", 'times = "often"', 1))
    fails(divisi, INVALID, "explain", "plan.mlir",
          because=["divisi.rules is not what --rules writes"])
