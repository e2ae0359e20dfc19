"""Over which programs a plan of `--rewrite joint` is known to be the best."""

import json
import re

from conftest import model
from rewrite_test import CONTENT, GPUS, plan


def test_the_bound_says_over_which_programs_it_holds(divisi):
    """The least of those of all programs that were planned."""
    m = model("bert")
    divisi("plan", m.onnx, *m.shapes, "--cluster", "cpu:16", "--mesh", "16",
           "--judge", "sum", "-o", "p.mlir")
    flags = "p.mlir", "--data", m.onnx, "--no-compare"
    report = json.loads(divisi("explain", *flags, "--json").out)
    programs = report["programs"]
    planned = [p for p in programs if p["nanoseconds"] is not None]
    assert len(planned) > 1 and planned[0]["share"] == 0
    assert planned[0]["rules"] == [] and all(p["rules"] for p in planned[1:])
    [taken] = [p for p in planned if p["taken"]]
    assert taken["nanoseconds"] == report["plan"]["nanoseconds"] == min(
        p["nanoseconds"] for p in planned)
    assert taken["lower_bound"] == report["plan"]["lower_bound"]
    assert all(p["lower_bound"] <= p["nanoseconds"] for p in planned)
    assert report["programs_lower_bound"] == min(
        p["lower_bound"] for p in planned)
    left = [p for p in programs if p["nanoseconds"] is None]
    assert left and all(re.fullmatch(r"not searched for: [23] programs are planned",
                                     p["left_out"]) for p in left)
    said = divisi("explain", *flags).out
    assert re.search(
        rf"\nprograms +{len(planned)} were planned; the lower bound over the "
        r"declared strategies of all of them, each on its grids, is \S+ us; of "
        r"other programs nothing is proved\n"
        r" +without rewriting: \S+ us, bound \S+ us\n"
        r"( +the cheapest (on one device|where a device does one of \d+ parts): "
        r"\S+ us, bound \S+ us(, taken)?; by .*\n)+"
        r"( +the cheapest where .*: not searched for: . programs are planned\n)+",
        said), said
    assert said.count(", taken; by ") == 1


def test_where_no_rule_makes_another_program_none_is_named(divisi, generated):
    m = generated("mlp.py", "--widths", "64,64,64", "--batch", 8)
    flags = m.onnx, "--cluster", "cpu:2", "--no-compare"
    assert json.loads(divisi("explain", *flags, "--json").out)["programs"] == []
    assert "\nprograms " not in divisi("explain", *flags).out


NOTE = r"divisi.programs = \[.*?\](?=, divisi\.|\})"
LEFT_OUT = ["no plan of it fits", "no plan of it was found",
            "found, and not planned: time is over",
            "found, and not measured: its plan takes hardly less as a sum of "
            "times",
            "not searched for: time is over",
            "not searched for: 2 programs are planned"]


def test_why_programs_were_left_out_is_repeated(divisi):
    """Which of these it is depends on the machine and on the program's size,
    but for the last."""
    m = model("bert")
    text = plan(divisi, m, *GPUS)
    [found] = re.findall(r"nanoseconds = (\d+)[^{}]*taken = true", text)
    planned = (f'{{left_out = "", nanoseconds = {found} : i64, rules = [], '
               "share = 0 : i64, taken = true}")
    shares = [4 ** i for i in range(len(LEFT_OUT))]
    left = [f'{{left_out = "{why}", rules = [], share = {share} : i64, '
            "taken = false}" for share, why in zip(shares, LEFT_OUT)]
    divisi.path("p.mlir").write_text(re.sub(
        NOTE, f"divisi.programs = [{', '.join([planned, *left])}]", text))
    said = divisi("explain", "p.mlir", "--data", m.onnx, "--no-compare").out
    lines = [f" {where}: {why}\n" for where, why in zip(
        ["the cheapest on one device"] + [
            f"the cheapest where a device does one of {share} parts"
            for share in shares[1:]], LEFT_OUT)]
    assert "programs          one was planned; of other programs nothing" in said
    assert all(line in said for line in lines), said
    divisi.path("p.mlir").write_text(re.sub(
        NOTE, f"divisi.programs = [{planned}, {planned}]", text))
    assert "2 were planned; of one of them no bound is known; of" in divisi(
        "explain", "p.mlir", "--data", m.onnx, "--no-compare").out


def test_a_broken_note_of_programs(divisi):
    m = model("bert")
    text = plan(divisi, m, *GPUS)
    for broken in ('"all"', "[1]", "[{share = 1 : i64}]",
                   '[{left_out = "", lower_bound = 1.0 : f64, rules = [], '
                   'share = 0 : i64, taken = true}]',
                   '[{left_out = "", rules = [1], share = 0 : i64, '
                   'taken = true}]'):
        changed, count = re.subn(NOTE, f"divisi.programs = {broken}", text)
        assert count == 1
        divisi.path("broken.mlir").write_text(changed)
        assert ("divisi.programs is not what --rewrite joint writes; if the "
                "attribute is removed, reports do not say which programs were "
                "planned" in divisi("explain", "broken.mlir", "--data", m.onnx,
                                    "--no-compare", exits=CONTENT).err)
