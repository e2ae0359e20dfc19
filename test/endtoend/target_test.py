"""What is compiled follows from the description of the processors that it is
for, not from the one that compiles. ONEDNN_MAX_CPU_ISA makes other hosts."""

import os
import re

import pytest
from conftest import model
from quantized_models import MODELS

# By instruction set: the level of native code, and whether bytes are multiplied.
SETS = {
    "avx": (None, False),
    "avx2": ("x86-64-v3", False),
    "avx2_vnni": ("x86-64-v3", True),
    "avx512_core": ("x86-64-v4", False),
    "avx512_core_vnni": ("x86-64-v4", True),
}


def describe(divisi, name):
    """c.yaml: two processors of that instruction set."""
    text = divisi("cluster", "cpu:2").out
    assert "instruction_set" not in text
    text = text.replace("    kind: ", f"    instruction_set: {name}\n    kind: ")
    divisi.path("c.yaml").write_text(text)


def host(isa):
    return {**os.environ, "ONEDNN_MAX_CPU_ISA": isa}


def levels(text):
    return set(re.findall(r'"x86_64-linux-rows1:([^"]+)"', text))


def dump(divisi, stage, source, *arguments, **options):
    """The module after `stage`."""
    divisi("compile", source, *arguments, "-o", "m.divisi", "--dump-after",
           stage, "--dump-to", ".", **options)
    [path] = divisi.folder.glob(f"*.{stage}.mlir")
    return path.read_text()


@pytest.mark.parametrize("name", SETS)
def test_code_is_for_the_processors_that_are_described(divisi, name):
    m = model("bert")
    describe(divisi, name)
    level, _ = SETS[name]
    text = dump(divisi, "lower", m.onnx, *m.shapes, "--cluster", "c.yaml")
    assert f'instruction_set = "{name}"' in text
    assert levels(text) == ({level} if level else set())
    # Asked for by itself, a level stays what it is.
    text = dump(divisi, "lower", m.onnx, *m.shapes, "--cluster", "c.yaml",
                "--target-cpu", "x86-64-v3")
    assert levels(text) == {"x86-64-v3"}


@pytest.mark.parametrize("name", SETS)
def test_bytes_are_multiplied_where_processors_do(divisi, name):
    MODELS[next(iter(MODELS))](divisi.path("m.onnx"))
    describe(divisi, name)
    text = dump(divisi, "import", "m.onnx", "--cluster", "c.yaml")
    assert ("_integer" in text) == SETS[name][1]


@pytest.mark.whole
def test_other_hosts_compile_the_same(divisi):
    m = model("bert")
    describe(divisi, "avx512_core_vnni")
    one, other = (dump(divisi, "lower", m.onnx, *m.shapes, "--cluster",
                       "c.yaml", env=host(isa)) for isa in ("SSE41", "AVX2"))
    assert one == other


def test_a_plan_says_which_host_it_was_made_for(divisi):
    m = model("bert")
    plan = divisi("plan", m.onnx, *m.shapes, "--devices", 2, "-o", "-",
                  env=host("AVX2")).out
    assert 'instruction_set = "avx2"' in plan
    divisi.path("p.mlir").write_text(plan)
    # Also where another one goes on.
    assert levels(dump(divisi, "lower", "p.mlir", "--data", m.onnx)) == {"x86-64-v3"}
    again = divisi("plan", "p.mlir", "--replan", "--devices", 4, "-o", "-").out
    assert 'instruction_set = "avx2"' in again and '"cpu:4"' in again
