"""The command is five programs: which libraries which verb loads, and how the
small one finds the other."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, PROGRAM, ROOT

COMPILER = BUILD / "libexec" / "divisi-compiler"
EXAMPLE = ROOT / "test" / "Search" / "data" / "example.json"
HEAVY = {"libMLIR", "libLLVM", "libdnnl", "libhighs", "libonnx", "libprotobuf"}


def libraries(result):
    """The shared libraries that the loader has opened, by LD_DEBUG=files."""
    files = set(re.findall(r"calling init: (\S+)", result.err))
    assert any("libstdc++" in file for file in files), result.report("no list")
    return {os.path.basename(file).split(".so")[0].split("-")[0]
            for file in files}


def run_listing(divisi, *arguments, exits=0):
    return libraries(divisi(*arguments, exits=exits,
                            env=os.environ | {"LD_DEBUG": "files"}))


@pytest.mark.parametrize("arguments, exits", [
    (["version"], 0), (["--version"], 0), (["--help"], 0), ([], 2),
    (["frobnicate"], 2)])
def test_light_verbs_load_no_compiler(divisi, arguments, exits):
    assert not HEAVY & run_listing(divisi, *arguments, exits=exits)


@pytest.mark.parametrize("arguments", [
    [EXAMPLE], ["--solver", "ilp", EXAMPLE], ["--help"]])
def test_a_search_loads_a_solver_and_no_compiler(divisi, arguments):
    assert HEAVY & run_listing(divisi, "solve", *arguments) == {"libhighs"}


def test_a_run_loads_kernels_and_no_compiler(divisi):
    assert HEAVY & run_listing(divisi, "run", "--help") == {"libdnnl",
                                                            "libprotobuf"}


def symbols_of(program):
    return subprocess.run(["nm", "-C", BUILD / program], check=True,
                          capture_output=True, text=True).stdout


@pytest.mark.parametrize("program, has", [
    ("libexec/divisi-compiler", True), ("bin/divisi", False),
    ("libexec/divisi-run", False), ("libexec/divisi-solve", False)])
def test_the_compiler_is_where_it_is_needed(program, has):
    """As a part of the program, whether or not libMLIR is loaded."""
    assert ("mlir::MLIRContext" in symbols_of(program)) == has


@pytest.mark.parametrize("program, has", [
    ("libexec/divisi-rules", True), ("libexec/divisi-compiler", False),
    ("bin/divisi-opt", False)])
def test_what_compiles_models_has_no_prover_and_no_generator(program, has):
    """What the programs ask for: libLLVM may load a Z3 of its own."""
    needed = subprocess.run(["readelf", "-d", BUILD / program], check=True,
                            capture_output=True, text=True).stdout
    symbols = symbols_of(program)
    assert "divisi::rewrite::parseRules" in symbols
    assert ("[libz3" in needed) == has
    for function in ("checkRules", "generateRules"):
        assert (f"divisi::rewrite::{function}" in symbols) == has


def copied(folder):
    """The program without its neighbour, in `folder`/bin."""
    (folder / "bin").mkdir()
    return shutil.copy(PROGRAM, folder / "bin" / "divisi")


def test_without_its_neighbour_it_says_what_is_missing(tmp_path):
    done = subprocess.run([copied(tmp_path), "compile", "m.onnx"],
                          capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr == (
        f"divisi: error: cannot start '{tmp_path}/libexec/divisi-compiler', "
        "which compile needs: No such file or directory; install it with "
        "divisi, or build both\n")


def test_both_may_move_together(tmp_path):
    program = copied(tmp_path)
    (tmp_path / "libexec").mkdir()
    os.symlink(COMPILER, tmp_path / "libexec" / "divisi-compiler")
    done = subprocess.run([program, "plan", "--help"], capture_output=True,
                          text=True)
    assert done.returncode == 0 and "USAGE: divisi plan" in done.stdout


def test_found_through_a_link_and_by_name(tmp_path):
    os.symlink(PROGRAM, tmp_path / "divisi")
    done = subprocess.run(
        ["divisi", "plan", "--help"], capture_output=True, text=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 0 and "USAGE: divisi plan" in done.stdout


@pytest.mark.parametrize("line, message", [
    ([], "no verb is given; divisi VERB --help explains one of these"),
    (["compil"], "unknown verb 'compil'; did you mean 'compile'?; divisi "
     "without arguments lists them"),
    (["--frobnicate"], "unknown verb '--frobnicate'; divisi without arguments "
     "lists them"),
    (["plan", "m.onnx", "--device", 2],
     "unknown option '--device'; did you mean '--devices'?; divisi plan "
     "--help lists the options"),
    (["solve", "--treads", 2, "p.json"],
     "unknown option '--treads'; did you mean '--threads'?; divisi solve "
     "--help lists the options"),
    (["plan", "--device", 2, "--outptu", "m.onnx"],
     "unknown option '--device'; did you mean '--devices'?; unknown option "
     "'--outptu'; did you mean '--output'?; divisi plan"),
    (["solve", "--threads", "two", "p.json"],
     "--threads 'two': expected a whole number; divisi solve"),
    (["run", "--timeout", "soon", "m.divisi"],
     "--timeout 'soon': expected a whole number of milliseconds; divisi run"),
    (["check", "--rtol", "small", "m.divisi"],
     "--rtol 'small': expected a number; divisi check"),
    (["compile", "m.onnx", "-o"], "-o needs a value, OUT; divisi compile"),
    (["version", "m.onnx"], "version takes no input, got 'm.onnx'"),
    (["explain"], "explain needs an input, "),
    (["plan", "a", "b"], "plan takes one input, "),
    (["plan", "a", "--devices", 2, "--devices=3"],
     "--devices is given more than once; divisi plan"),
    (["run", "a", "--verify=maybe"], "--verify takes no value, got 'maybe'")])
def test_usage_errors_of_both_programs_look_alike(divisi, line, message):
    assert f"divisi: error: {message}" in divisi(*line, exits=2).err


def test_one_mistake_is_one_line(divisi):
    for line in (["plan", "m.onnx", "--device", 2], ["plan", "m.onnx", "--dim"],
                 ["solve", "p.json", "--seed", "x"]):
        assert len(divisi(*line, exits=2).err.splitlines()) == 1


def test_the_long_name_of_the_output(divisi, generated):
    m = generated("mlp.py", "--widths", "4,4", "--batch", 2)
    divisi("plan", m.onnx, "--output", "a.mlir")
    divisi("plan", m.onnx, "-o", "b.mlir")
    assert divisi.path("a.mlir").read_text() == divisi.path(
        "b.mlir").read_text()
    divisi("compile", m.onnx, "--output=m.divisi")
    divisi("run", "m.divisi", "--inputs", m.inputs, "--output", "y.npz")
    divisi("solve", EXAMPLE, "--output", "s.json")
    assert all(divisi.path(name).exists() for name in ("y.npz", "s.json"))
