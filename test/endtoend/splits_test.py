"""Any stage by divisi-opt, the rest by divisi: a module knows how far it has
come, where it was planned for, and which node each operator is."""

import re
import subprocess

import pytest
from conftest import BUILD, ROOT, Divisi
from files_test import make_model, shell

OPT = BUILD / "bin" / "divisi-opt"
STAGES = ("import", "train", "rewrite", "plan", "partition", "schedule", "lower")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The dumps of a model, and its artifact."""
    divisi = Divisi(tmp_path_factory.mktemp("splits"))
    make_model(divisi.folder)
    divisi("compile", "m.onnx", "--devices", 4, "--mesh", "x=2,y=2",
           "--dump-after", "all", "-o", "m.divisi")
    # Code for GPUs is signed by the user's key, which the shell has not.
    shell(divisi, "divisi compile m.onnx --cluster dgx-h100:2 -o h.divisi")
    return divisi


PLAN = '--divisi-plan="devices=4 mesh=x=2,y=2"'
SPLITS = [
    ("import", '--nn-plan="devices=4 mesh=x=2,y=2"'),
    ("import", PLAN),
    ("import", f"{PLAN} --divisi-partition"),
    ("import", f"{PLAN} --divisi-partition --divisi-schedule --divisi-lower"),
    ("plan", "--divisi-partition"),
    ("plan", "--divisi-partition --divisi-schedule --divisi-lower"),
    ("partition", "--divisi-schedule"),
    ("partition", "--divisi-schedule --divisi-lower"),
    ("schedule", "--divisi-lower"),
    ("schedule", "--pass-pipeline='builtin.module(lower-to-exec,"
     "ask-kernels,plan-memory)'"),
    ("lower", ""),
]


@pytest.mark.parametrize("dump, passes", SPLITS,
                         ids=[f"{d}: {p}" for d, p in SPLITS])
def test_every_split_gives_the_same_artifact(made, dump, passes):
    """Plan and report and names of nodes included."""
    shell(made, f"{OPT} m.{dump}.mlir {passes} | divisi compile - -o o.divisi")
    assert (made.path("o.divisi").read_bytes() ==
            made.path("m.divisi").read_bytes())


def test_stages_one_process_each(made):
    shell(made, f"{OPT} m.import.mlir {PLAN} | {OPT} --divisi-partition | "
          f"{OPT} --divisi-schedule | {OPT} --divisi-lower | "
          "divisi compile - -o o.divisi")
    assert (made.path("o.divisi").read_bytes() ==
            made.path("m.divisi").read_bytes())


def test_the_cluster_goes_along(made):
    shell(made, f"{OPT} m.import.mlir --divisi-plan=cluster=dgx-h100:2 | "
          "divisi compile - -o o.divisi")
    assert (made.path("o.divisi").read_bytes() ==
            made.path("h.divisi").read_bytes())


def test_what_is_half_done_is_refused(made):
    for dump, passes in (("plan", "--spmd-partition"),
                         ("partition", "--lower-to-exec")):
        shell(made, f"{OPT} m.{dump}.mlir {passes} | divisi compile - "
              "-o half.divisi", exits=4)


def test_another_folder(made):
    """The text names the model from where it goes to."""
    made.path("sub").mkdir(exist_ok=True)
    shell(made, f"cd sub && {OPT} ../m.import.mlir {PLAN} | "
          "divisi compile - --data ../m.onnx -o ../o.divisi")
    assert (made.path("o.divisi").read_bytes() ==
            made.path("m.divisi").read_bytes())
    shell(made, f"{OPT} m.import.mlir {PLAN} -o sub/p.mlir")
    assert 'from "../m.onnx"' in made.path("sub/p.mlir").read_text()
    made("compile", "sub/p.mlir", "--data", "m.onnx", "-o", "o.divisi")
    assert (made.path("o.divisi").read_bytes() ==
            made.path("m.divisi").read_bytes())


def test_a_round_trip_keeps_the_text(made):
    """Locations and resources too."""
    for stage in [s for s in STAGES if s != "train"]:
        text = made.path(f"m.{stage}.mlir").read_text()
        assert 'loc("product")' in text
        again = shell(made, f"{OPT} m.{stage}.mlir").stdout.decode()
        assert again.rstrip("\n") == text.rstrip("\n")


def test_help_shows_what_divisi_has():
    text = subprocess.run([OPT, "--help"], capture_output=True, text=True,
                          check=True).stdout
    passes = [name for table in (ROOT / "passes").glob("*/Passes.td")
              for name in re.findall(r'Pass<"([\w-]+)"', table.read_text())]
    names = re.findall(r"^  --([\w-]+)", text, re.M)
    assert sorted(names[:len(STAGES) + len(passes)]) == sorted(
        [f"divisi-{stage}" for stage in STAGES] + passes)
    assert names[:len(STAGES)] == [f"divisi-{stage}" for stage in STAGES]
    for words in ("divisi-opt: runs stages, or single passes, on the text of a "
                  "module", "Passes, in the order of the stages:",
                  "--tensor-parallel-size"):
        assert words in text
    for other in ("--canonicalize", "--cse", "amdgpu", "test-"):
        assert other not in text, other
    hidden = subprocess.run([OPT, "--help-hidden"], capture_output=True,
                            text=True, check=True).stdout
    assert "--canonicalize" in hidden and "--divisi-plan" in hidden


# Errors in what somebody has edited.

def edited(made, dump, pattern, replacement):
    """The message, and the line and column of the first difference."""
    text = made.path(f"m.{dump}.mlir").read_text()
    new = re.sub(pattern, replacement, text, count=1)
    assert new != text, pattern
    made.path("e.mlir").write_text(new)
    at = next(i for i, (a, b) in enumerate(zip(text, new)) if a != b)
    line = new[:at].count("\n") + 1
    return made("compile", "e.mlir", "-o", "e.divisi", exits=4).err, line


@pytest.mark.parametrize("dump, pattern, replacement, message", [
    # By the parser, a dialect's verifier, the stage's one, and in later stages.
    ("plan", r"nn\.gather", "nn.gathre", r": custom op 'nn\.gathre' is "
     "unknown"),
    ("plan", r"spmd\.split<@g: ", "spmd.split<@h: ",
     ": node 'product': 'nn.matmul' op "),
    ("plan", r", spmd\.split = #spmd\.split<[^>]*>", "",
     ": node 'product': 'nn.matmul' op has no strategy"),
    ("plan", r'parameter : tensor<8x100xf32>', 'parameter : tensor<8x99xf32>',
     ": node 'w': 'nn.global' op has 3200 bytes in its file"),
    ("lower", r"exec\.alloc at \d+", "exec.alloc at 1000000",
     ": node 'product': 'exec.alloc' op .*arena"),
])
def test_errors_say_line_and_column(made, dump, pattern, replacement, message):
    error, line = edited(made, dump, pattern, replacement)
    assert re.search(rf"^divisi: error: e\.mlir:{line}:\d+{message}", error), \
        (line, error)
    assert "loc(" not in error
    columns = re.search(rf"e\.mlir:{line}:(\d+)", error)
    text = made.path("e.mlir").read_text().splitlines()[line - 1]
    assert 1 <= int(columns[1]) <= len(text)


@pytest.mark.parametrize("said, shown", [
    ("", ""),
    (' loc("read"("b.py":3:4))', " node 'read':"),
    (' loc(fused["one", "two"])', " nodes 'one', 'two':"),
    (' loc(callsite("inner" at "b.py":3:4))',
     " node 'inner', called from b.py:3:4:"),
])
def test_locations_are_for_people(made, said, shown):
    made.path("n.mlir").write_text(
        "nn.global @w parameter : tensor<4xf32>\n"
        "func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        f"  %w = nn.read @w : tensor<5xf32>{said}\n"
        "  return %x : tensor<4xf32>\n}\n")
    error = made("compile", "n.mlir", "-o", "e.divisi", exits=4).err
    assert error == (
        f"divisi: error: n.mlir:3:8:{shown} 'nn.read' op has the type "
        "'tensor<5xf32>', expected 'tensor<4xf32>' as @w\n"
        "  note: n.mlir:1:1: the global is declared here\n")


def test_positions_are_not_dumped(made):
    made("compile", "m.import.mlir", "--devices", 4, "--mesh", "x=2,y=2",
         "--dump-after", "plan", "--dump-to", "sub", "-o", "o.divisi")
    assert "m.import.mlir" not in made.path("sub/m.plan.mlir").read_text()
