"""Same input, same bytes; and any dumped stage is a way to go on."""

import pytest
from conftest import model

STAGES = ["import", "rewrite", "plan", "partition", "schedule", "lower"]


def compile_flags(m, devices=4):
    return (*m.shapes, "--devices", devices)


@pytest.mark.parametrize("name", ["gpt2", "resnet"])
def test_two_compiles_write_the_same_bytes(divisi, name):
    m = model(name)
    for output in ("a.divisi", "b.divisi"):
        divisi("compile", m.onnx, *compile_flags(m), "-o", output)
    assert (divisi.path("a.divisi").read_bytes() ==
            divisi.path("b.divisi").read_bytes())


@pytest.mark.parametrize("name", ["gpt2", "resnet"])
def test_two_runs_write_the_same_bytes(divisi, name):
    m = model(name)
    divisi("compile", m.onnx, *compile_flags(m, 3), "-o", "m.divisi")
    for output in ("a.npz", "b.npz"):
        divisi("run", "m.divisi", "--inputs", m.inputs, "-o", output)
    assert (divisi.path("a.npz").read_bytes() ==
            divisi.path("b.npz").read_bytes())


@pytest.mark.parametrize("name", ["gpt2", "resnet"])
def test_every_dump_resumes_to_the_same_artifact(divisi, name):
    m = model(name)
    divisi("compile", m.onnx, *compile_flags(m), "--dump-after", "all",
           "-o", "m.divisi")
    expected = divisi.path("m.divisi").read_bytes()
    dumps = sorted(p.name for p in divisi.folder.glob("*.mlir"))
    assert len(dumps) == len(STAGES), dumps
    for stage in STAGES:
        dump = f"{name}.{stage}.mlir"
        # What comes after is decided by the plan.
        flags = (compile_flags(m)[2:] if stage in ("import", "rewrite")
                 else [])
        divisi("compile", dump, "--data", m.onnx, *flags, "-o", "again.divisi")
        assert divisi.path("again.divisi").read_bytes() == expected, stage


def test_seed_changes_a_random_plan_and_nothing_else_does(divisi):
    m = model("gpt2")
    written = []
    for seed in (1, 1, 2):
        divisi("plan", m.onnx, *compile_flags(m), "--solver", "random",
               "--seed", seed, "-o", "p.mlir")
        written.append(divisi.path("p.mlir").read_bytes())
    assert written[0] == written[1]
    assert written[0] != written[2]
