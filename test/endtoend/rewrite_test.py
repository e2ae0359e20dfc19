"""The stage Rewrite: programs that rules make compute the same, take no longer in
the model, and are dumped, resumed and explained."""

import re

import pytest
from conftest import assert_close, load, model

USAGE = 2
# Where launches cost much beside small products, so that merging pays.
GPUS = ["--cluster", "dgx-h100:2", "--gpu", "off"]


def nanoseconds(text):
    [found] = re.findall(r"divisi\.plan = \{.*? nanoseconds = (\d+)", text)
    return int(found)


def plan(divisi, m, *flags):
    return divisi("plan", m.onnx, *m.shapes, *flags, "-o", "-").out


@pytest.mark.sample("name", "mode")
@pytest.mark.parametrize("name", ["bert", "t5", "llama", "segformer", "vit",
                                  "gpt2", "resnet"])
@pytest.mark.parametrize("mode", ["search", "joint", "greedy"])
def test_rewritten_models_compute_the_same(divisi, name, mode):
    m = model(name)
    for flags in GPUS, ["--devices", 3]:
        divisi("compile", m.onnx, *m.shapes, *flags, "--rewrite", mode, "-o",
               "r.divisi")
        divisi("run", "r.divisi", "--inputs", m.inputs, "-o", "r.npz")
        assert_close(load(divisi.path("r.npz")), load(m.outputs))


def test_what_is_planned_jointly_takes_least(divisi):
    m = model("bert")
    off, search, joint = (
        nanoseconds(plan(divisi, m, *GPUS, "--rewrite", mode))
        for mode in ("off", "search", "joint"))
    assert joint <= search and joint < off


def test_what_no_rule_makes_cheaper_stays_as_it_is(divisi, generated):
    m = generated("mlp.py", "--widths", "64,64,64", "--batch", 8)
    flags = "--cluster", "cpu:2", "-o"
    divisi("compile", m.onnx, *flags, "off.divisi")
    for mode in "joint", "search":
        divisi("compile", m.onnx, *flags, "on.divisi", "--rewrite", mode)
        assert (divisi.path("on.divisi").read_bytes() ==
                divisi.path("off.divisi").read_bytes())


def test_rules_are_explained_and_dumps_resumed(divisi):
    m = model("bert")
    divisi("compile", m.onnx, *m.shapes, *GPUS, "--rewrite", "search", "-o",
           "m.divisi", "--dump-after", "rewrite", "--dump-to", ".")
    said = divisi("explain", "m.divisi").out
    assert re.search(r"rule +merge-three-matmuls-of-one-input of Divisi "
                     r"\(reassociates\): applied 2 times: ", said), said
    divisi("compile", f"{m.name}.rewrite.mlir", "--data", m.onnx, *GPUS, "-o",
           "again.divisi")
    assert (divisi.path("again.divisi").read_bytes() ==
            divisi.path("m.divisi").read_bytes())
    error = divisi("compile", f"{m.name}.rewrite.mlir", "--data", m.onnx,
                   "--rewrite", "search", "-o", "x", exits=USAGE).err
    assert ("--rewrite is decided already: "
            f"'{m.name}.rewrite.mlir' has been through the stage rewrite"
            in error)


def test_only_rules_that_keep_bits(divisi):
    m = model("bert")
    text = plan(divisi, m, *GPUS, "--rewrite", "search", "--rewrite-class",
                "bit-exact")
    assert "reassociates" not in text


MISTAKES = [
    (["--rewrite", "best"],
     "--rewrite 'best': expected off, greedy, search or joint"),
    (["--rewrite", "search", "--rewrite-class", "any"],
     "--rewrite-class 'any': expected bit-exact or reassociates"),
    (["--rewrite-class", "bit-exact"],
     "--rewrite-class needs --rewrite search or joint; give both"),
]


@pytest.mark.parametrize("flags, says", MISTAKES)
def test_mistakes(divisi, flags, says):
    m = model("bert")
    assert says in divisi("plan", m.onnx, *m.shapes, *flags, "-o", "p",
                          exits=USAGE).err


def test_help_names_the_group(divisi):
    assert ("Rewrite (if the input has not been rewritten)"
            in divisi("compile", "--help").out)
