"""Files and pipes: a plan or dump is one file, which finds the model again
when both move, and goes through pipes as well."""

import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
from conftest import PROGRAM, ROOT, Divisi, assert_close, load
from onnx import TensorProto, helper, numpy_helper

USAGE, FILES, CONTENT = 2, 3, 4
PROBLEM = ROOT / "test" / "Search" / "data" / "example.json"
FLAGS = ("--devices", 2, "--mesh", "x=2")


def make_model(folder, external=False):
    """y = (x w)[:, index], whose index is a constant too large for the text
    of the program."""
    random = np.random.default_rng(7)
    w = random.standard_normal((8, 100), np.float32)
    index = random.permutation(100).astype(np.int64)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"], name="product"),
         helper.make_node("Gather", ["p", "index"], ["y"], axis=1,
                          name="shuffle")],
        "g", [value("x", TensorProto.FLOAT, (4, 8))],
        [value("y", TensorProto.FLOAT, (4, 100))],
        [numpy_helper.from_array(w, "w"),
         numpy_helper.from_array(index, "index")])
    model = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20)])
    x = random.standard_normal((4, 8), np.float32)
    np.savez(folder / "x.npz", x=x)
    np.savez(folder / "y.npz", y=(x @ w)[:, index])
    if external:
        onnx.save(model, folder / "m.onnx", save_as_external_data=True,
                  location="w.bin", size_threshold=1024)
    else:
        onnx.save(model, folder / "m.onnx")


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    """What the model compiles to, by the shortest way."""
    divisi = Divisi(tmp_path_factory.mktemp("artifact"))
    make_model(divisi.folder)
    divisi("compile", "m.onnx", *FLAGS, "-o", "m.divisi")
    return divisi.path("m.divisi").read_bytes()


@pytest.fixture
def made(divisi):
    make_model(divisi.folder)
    return divisi


def says(result, *texts):
    for text in texts:
        assert text in result.err, result.report(f"it does not say {text!r}")


def shell(divisi, line, exits=0):
    """The line, run by bash in the folder; its stdout as bytes."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=divisi.folder,
        capture_output=True, stdin=subprocess.DEVNULL,
        env={"PATH": f"{PROGRAM.parent}:/usr/bin:/bin"})
    assert done.returncode == exits, (line, done.returncode, done.stderr)
    return done


# One file.

def test_a_plan_on_stdout_compiles(made, artifact):
    shell(made, "divisi plan m.onnx --devices 2 --mesh x=2 > p.mlir")
    made("compile", "p.mlir", "-o", "p.divisi")
    assert made.path("p.divisi").read_bytes() == artifact
    made("check", "p.divisi", "--inputs", "x.npz", "--expect", "y.npz")


@pytest.mark.parametrize("line", [
    "divisi plan m.onnx --devices 2 --mesh x=2 -o - | divisi compile - -o -",
    "divisi plan - --devices 2 --mesh x=2 < m.onnx | divisi compile - -o -",
    "divisi compile m.onnx --devices 2 --mesh x=2 --dump-after import -o - | "
    "divisi compile - --devices 2 --mesh x=2 -o -",
    "divisi compile m.onnx --devices 2 --mesh x=2 --dump-after lower -o - | "
    "divisi compile - -o /dev/stdout",
    "divisi compile <(divisi plan m.onnx --devices 2 --mesh x=2) -o - | cat",
    "cat m.onnx | divisi compile - --devices 2 --mesh x=2 -o -",
    "divisi compile <(cat m.onnx) --devices 2 --mesh x=2 -o - | cat",
])
def test_pipes_give_the_same_artifact(made, line):
    """Up to the model's name, which a pipe does not know."""
    shell(made, f"{line} > p.divisi")
    made("check", "p.divisi", "--inputs", "x.npz", "--expect", "y.npz")
    assert sorted(p.name for p in made.folder.iterdir()) == [
        "m.onnx", "p.divisi", "x.npz", "y.npz"]


@pytest.mark.parametrize("line", [
    "divisi explain {} --devices 2",
    "divisi check {} --devices 2 --inputs x.npz --expect y.npz",
    "divisi bench {} --devices 2 --repeat 1",
], ids=lambda line: line.split()[1])
def test_pipes_are_read_by_who_reads_all_of_them(made, line):
    """Whoever looks first whether it is an artifact leaves a pipe alone."""
    shell(made, line.format("<(cat m.onnx)"))
    os.mkfifo(made.path("pipe"))
    for _ in range(3):
        shell(made, "timeout 20 cat m.onnx > pipe & timeout 60 " +
              line.format("pipe") + "; exits=$?; kill $!; exit $exits")


def test_pipes_change_no_byte(made, artifact):
    out = shell(made, "divisi plan m.onnx --devices 2 --mesh x=2 | "
                "divisi compile - -o -").stdout
    assert out == artifact


def test_a_model_by_stdin_goes_with_its_plan(made):
    """There is no file that the plan could name."""
    shell(made, "cat m.onnx | divisi plan - --devices 2 -o p.mlir")
    made.path("m.onnx").unlink()
    made("compile", "p.mlir", "-o", "p.divisi")
    made("check", "p.divisi", "--inputs", "x.npz", "--expect", "y.npz")


def test_data_of_a_model_by_stdin_lies_in_the_working_directory(divisi):
    make_model(divisi.folder, external=True)
    shell(divisi, "cat m.onnx | divisi plan - --devices 2 -o p.mlir")
    assert 'from "w.bin"' in divisi.path("p.mlir").read_text()
    divisi("compile", "p.mlir", "-o", "p.divisi")
    divisi("check", "p.divisi", "--inputs", "x.npz", "--expect", "y.npz")


def test_constants_lie_in_the_dump_and_weights_do_not(made):
    made("plan", "m.onnx", *FLAGS, "-o", "p.mlir")
    text = made.path("p.mlir").read_text()
    body, resources = text.split("{-#")
    [name] = re.findall(r'from "resource:(\w+)" \[0, 800\]', body)
    assert re.search(rf'{name}: "0x[0-9A-F]+"', resources), resources
    model = made.path("m.onnx").read_bytes()
    assert (f'divisi.files = {{m.onnx = {{bytes = {len(model)} : i64, sha256 '
            f'= "{hashlib.sha256(model).hexdigest()}"}}}}') in body
    assert str(made.folder) not in text
    assert not list(made.folder.glob("*.bin"))


# Moving.

def test_model_and_plan_move_together(made, artifact):
    made.path("plans").mkdir()
    made("plan", "m.onnx", *FLAGS, "-o", "plans/p.mlir")
    assert 'from "../m.onnx"' in made.path("plans/p.mlir").read_text()
    moved = made.path("moved")
    moved.mkdir()
    for name in ("plans", "m.onnx"):
        shutil.move(made.path(name), moved / name)
    made("compile", "moved/plans/p.mlir", "--data", "moved", "-o", "p.divisi")
    assert made.path("p.divisi").read_bytes() == artifact
    # A dump of the dump names the model from its own folder.
    made("plan", "moved/plans/p.mlir", "-o", "q.mlir")
    assert 'from "moved/m.onnx"' in made.path("q.mlir").read_text()
    made("compile", "q.mlir", "-o", "p.divisi")
    assert made.path("p.divisi").read_bytes() == artifact


def test_names_lead_through_linked_folders(made, artifact):
    made.path("a/b").mkdir(parents=True)
    made.path("link").symlink_to("a/b")
    made("plan", "m.onnx", *FLAGS, "-o", "link/p.mlir")
    for way in ("link/p.mlir", "a/b/p.mlir"):
        made("compile", way, "--data", "m.onnx", "-o", "p.divisi")
        assert made.path("p.divisi").read_bytes() == artifact


def test_a_plan_without_its_model(made):
    made("plan", "m.onnx", *FLAGS, "-o", "p.mlir")
    size = made.path("m.onnx").stat().st_size
    digest = hashlib.sha256(made.path("m.onnx").read_bytes()).hexdigest()
    made.path("m.onnx").unlink()
    # Nothing of it is needed to explain the plan.
    made("explain", "p.mlir")
    says(made("compile", "p.mlir", "-o", "p.divisi", exits=FILES),
         f"cannot read '{made.folder}/m.onnx': No such file or directory; "
         f"expected {size} bytes with the SHA-256 {digest} there: move model "
         "and plan together, put that file there, or name it by --data")


def test_another_size_is_seen_on_loading(made):
    made("plan", "m.onnx", *FLAGS, "-o", "p.mlir")
    size = made.path("m.onnx").stat().st_size
    with open(made.path("m.onnx"), "ab") as file:
        file.write(b"x")
    says(made("explain", "p.mlir", exits=CONTENT),
         f"p.mlir: '{made.folder}/m.onnx' has {size + 1} bytes, expected "
         f"{size} bytes with the SHA-256 ",
         "; it is not the file that the plan was made from, or was changed "
         "since: put that one there, or plan again")


def test_another_content_is_seen_before_it_is_used(made):
    made("plan", "m.onnx", *FLAGS, "-o", "p.mlir")
    data = bytearray(made.path("m.onnx").read_bytes())
    data[len(data) // 2] ^= 1
    made.path("m.onnx").write_bytes(data)
    says(made("compile", "p.mlir", "-o", "p.divisi", exits=CONTENT),
         f"m.onnx' has the SHA-256 {hashlib.sha256(data).hexdigest()}, "
         "expected ")


def test_what_is_not_there_is_planned_without(divisi):
    make_model(divisi.folder, external=True)
    divisi.path("w.bin").unlink()
    divisi("plan", "m.onnx", *FLAGS, "-o", "p.mlir")
    assert "divisi.files = {w.bin = {}}" in divisi.path("p.mlir").read_text()
    divisi("plan", "p.mlir", "-o", "q.mlir")
    says(divisi("compile", "q.mlir", "-o", "p.divisi", exits=FILES),
         f"the bytes of 'w': cannot read '{divisi.folder}/w.bin'")


# What somebody has edited.

def edited(divisi, pattern, replacement):
    divisi("plan", "m.onnx", *FLAGS, "-o", "p.mlir")
    text = divisi.path("p.mlir").read_text()
    new = re.sub(pattern, replacement, text, count=1, flags=re.S)
    assert new != text, pattern
    divisi.path("e.mlir").write_text(new)
    return divisi("compile", "e.mlir", "-o", "e.divisi", exits=CONTENT)


EDITS = [
    (r"{-#.*", "", "e.mlir: the global @", ": lies in 'resource:", "', but the text has no such "
                                          "resource; it was truncated, or "
                                          "its resources were left out"),
    (r"(\w+)(: \"0x\w+\")", r"\1\2, \1\2", "' is defined twice; remove one "
                                           "of them"),
    (r"(0x40000000)\w{16}", r"\1", " has 792 bytes; got a tensor of 800 bytes "
     "at offset 0"),
    (r"sha256 = \"..", 'sha256 = "', "divisi.files has no size and hash "
     "for 'm.onnx', expected {bytes = N, sha256 = \"64 digits\"}"),
    (r"divisi\.files = {.*?}}", "divisi.files = 3 : i64",
     "divisi.files is not a dictionary of files"),
]


@pytest.mark.parametrize("pattern, replacement, messages", [
    (row[0], row[1], row[2:]) for row in EDITS], ids=[r[2][:30] for r in EDITS])
def test_edited_resources_and_files(made, pattern, replacement, messages):
    says(edited(made, pattern, replacement), *messages)


PARTITIONED = [
    ("an offset", r'(from "m.onnx" \[)(\d+)', lambda m: m[1] + str(int(m[2]) + 4)),
    ("the hash of a file", r'sha256 = "(..)', lambda m: 'sha256 = "' + m[1][::-1]),
    ("a constant", r"(0x40000000)(\w\w)", lambda m: m[1] + m[2][::-1]),
    ("another file", r'from "m.onnx"', lambda m: 'from "./m.onnx"'),
]


@pytest.mark.parametrize("pattern, change", [row[1:] for row in PARTITIONED],
                         ids=[row[0] for row in PARTITIONED])
def test_where_globals_of_a_partitioned_module_lie_is_kept(made, pattern,
                                                           change):
    made("compile", "m.onnx", *FLAGS, "--dump-after", "partition", "-o",
         "m.divisi")
    text = made.path("m.partition.mlir").read_text()
    new = re.sub(pattern, change, text, count=1)
    assert new != text
    made.path("e.mlir").write_text(new)
    says(made("compile", "e.mlir", "-o", "e.divisi", exits=CONTENT),
         "e.mlir: the globals do not lie where they did when the module was "
         "partitioned: a file, an offset, a resource or divisi.files has been "
         "edited; if this is intended, edit the module before the partition "
         "stage, or drop divisi.sources")
    # A text of somebody's own has no such note.
    made.path("e.mlir").write_text(re.sub(r"divisi\.sources = \S+ ", "", text))
    made("compile", "e.mlir", "-o", "e.divisi")


# What goes to stdout.

def test_one_dump_on_stdout_is_all(made):
    result = made("compile", "m.onnx", *FLAGS, "--dump-after", "partition",
                  "-o", "-")
    assert 'divisi.stage = "partition"' in result.out
    says(result, "wrote stdout: module after partition, ")
    assert not list(made.folder.glob("*.mlir"))


@pytest.mark.parametrize("stages", [["all"], ["import", "plan"]])
def test_stdout_has_room_for_one_dump(made, stages):
    flags = [f"--dump-after={stage}" for stage in stages]
    says(made("compile", "m.onnx", *flags, "-o", "-", exits=USAGE),
         "-o - takes one dump, so --dump-after takes one stage there; or "
         "give a folder by --dump-to")


def test_a_dump_of_a_stage_that_is_over(made):
    made("plan", "m.onnx", *FLAGS, "-o", "p.mlir")
    says(made("compile", "p.mlir", "--dump-after", "import", "-o", "-",
              exits=USAGE), "--dump-after import: 'p.mlir' has been through "
         "the stage plan; expected a later one")


def test_a_dump_of_a_stage_without_work(made):
    says(made("compile", "m.onnx", "--dump-after", "train", "-o", "a.divisi",
              exits=USAGE), "--dump-after train: 'm.onnx' becomes no training "
         "step; give --train")


def test_artifact_on_stdout_and_dumps_in_a_folder(made, artifact):
    made.path("dumps").mkdir()
    out = shell(made, "divisi compile m.onnx --devices 2 --mesh x=2 "
                "--dump-after all --dump-to dumps -o -").stdout
    assert out == artifact
    assert sorted(p.name for p in made.path("dumps").iterdir()) == [
        "m.import.mlir", "m.lower.mlir", "m.partition.mlir", "m.plan.mlir",
        "m.rewrite.mlir", "m.schedule.mlir"]


def test_dumps_are_named_after_the_model(made):
    made("compile", "m.onnx", *FLAGS, "--dump-after", "plan", "-o", "a.divisi")
    made("compile", "m.plan.mlir", "--dump-after", "lower", "-o", "a.divisi")
    shell(made, "divisi compile - --dump-after partition -o a.divisi "
          "< m.plan.mlir")
    shutil.copy(made.path("m.plan.mlir"), made.path("edited.mlir"))
    made("compile", "edited.mlir", "--dump-after", "lower", "-o", "a.divisi")
    assert sorted(p.name for p in made.folder.glob("*.mlir")) == [
        "edited.lower.mlir", "edited.mlir", "m.lower.mlir", "m.partition.mlir",
        "m.plan.mlir"]


def test_tensors_on_stdout(made, artifact):
    made.path("m.divisi").write_bytes(artifact)
    done = shell(made, "divisi run m.divisi --inputs x.npz -o - | cat")
    with np.load(io.BytesIO(done.stdout)) as got:
        assert_close(dict(got), load(made.path("y.npz")))
    assert b"wrote stdout: 1 tensor\n" in done.stderr


def test_problems_and_answers_through_pipes(divisi):
    divisi("solve", PROBLEM, "-o", "a.json")
    answer = divisi.path("a.json").read_bytes()
    divisi.path("p.json.gz").write_bytes(gzip.compress(PROBLEM.read_bytes()))
    for line in (f"cat {PROBLEM} | divisi solve - -o -",
                 "divisi solve -o - - < p.json.gz",
                 f"divisi solve {PROBLEM} -o /dev/stdout --quiet > b.json; "
                 "cat b.json"):
        assert shell(divisi, line).stdout.endswith(answer)
    assert b"cost " in shell(divisi, f"divisi solve - < {PROBLEM}").stdout
    says(divisi("solve", PROBLEM, "-o", "-", "--json", exits=USAGE),
         "-o - and --json both write to stdout; name a file for one")


@pytest.mark.parametrize("line, what", [
    ("compile m.onnx -o -", "an artifact"),
    ("run m.divisi --inputs x.npz -o -", "tensors")])
def test_terminals_get_no_binaries(made, artifact, line, what):
    made.path("m.divisi").write_bytes(artifact)
    script = ("import os, pty, sys\n"
              "code = pty.spawn(sys.argv[1:])\n"
              "sys.exit(os.waitstatus_to_exitcode(code))")
    done = subprocess.run([sys.executable, "-c", script, PROGRAM,
                           *line.split()], cwd=made.folder, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL)
    assert done.returncode == USAGE, done
    assert (f"stdout is a terminal, which cannot show {what}; name a file, or "
            "send it through a pipe") in done.stdout


# What is read.

def test_content_tells_what_a_file_is(made):
    for name, content in [("m.pb", made.path("m.onnx").read_bytes()),
                          ("model", made.path("m.onnx").read_bytes())]:
        made.path(name).write_bytes(content)
        made("plan", name, "-o", "p.txt")
        made("compile", "p.txt", "-o", "p.divisi")
    says(made("compile", "p.divisi", "-o", "q.divisi", exits=CONTENT),
         "'p.divisi' is an artifact, which run, check and explain take; "
         "expected an ONNX model or a dump (.mlir)")
    made.path("page.onnx").write_text("<html>not found</html>\n")
    says(made("plan", "page.onnx", exits=CONTENT),
         "page.onnx' is not a valid ONNX model")
    says(shell_result(made, "head -c 100 m.onnx | divisi plan -", CONTENT),
         "'stdin' is not a valid ONNX model")


def shell_result(divisi, line, exits):
    done = shell(divisi, line, exits)

    class Result:
        err = done.stderr.decode()

        @staticmethod
        def report(wrong):
            return f"{wrong}\n{line}\n{Result.err}"
    return Result


def test_what_was_written_is_said(made):
    says(made("compile", "m.onnx", *FLAGS, "--dump-after", "plan",
              "-o", "m.divisi"),
         "wrote m.plan.mlir: module after plan, ",
         "wrote m.divisi: 2 devices, 3.9 KiB of weights; a run needs ",
         " per device, ")
    says(made("compile", "m.onnx", "-o", "1.divisi"),
         "wrote 1.divisi: 1 device, ")
    says(made("plan", "m.onnx", "--devices", 2, "-o", "p.mlir"),
         "wrote p.mlir: plan for 2 devices; a run needs ", " per device, ",
         " KiB\n")
    says(made("run", "m.divisi", "--inputs", "x.npz", "-o", "o.npz",
              "--repeat", 2, "--timing-json", "t.json", "--trace", "r.json"),
         "wrote o.npz: 1 tensor, ", "wrote t.json: times of 2 runs, ",
         "wrote r.json: trace of the last run, ")
    says(made("solve", PROBLEM, "-o", "s.json"),
         "wrote s.json: answer of cost ")
