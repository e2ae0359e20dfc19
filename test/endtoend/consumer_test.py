"""A project that embeds Divisi, the one of docs/embedding.md, built against an
installed tree, by CMake and by pkg-config, and run."""

import os
import re
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from conftest import ROOT

PAGE = (ROOT / "docs/embedding.md").read_text()
WARNINGS = "-Wall -Wextra -Wpedantic -Werror"


def block(language):
    """The only example of the page in that language."""
    [text] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)
    return text


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("consumer")
    for name, language in (("CMakeLists.txt", "cmake"), ("embed.c", "c"),
                           ("embed.cpp", "cpp")):
        (folder / name).write_text(block(language))
    w = np.arange(12, dtype=np.float32).reshape(3, 4)
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]>'
        "m (float[2, 3] x) => (float[2, 4] y)"
        "{ a = MatMul(x, w) y = Add(a, b) }")
    model.graph.initializer.extend([
        onnx.numpy_helper.from_array(w, "w"),
        onnx.numpy_helper.from_array(np.float32([1, 2, 3, 4.5]), "b")])
    onnx.save(model, folder / "m.onnx")
    return folder


@pytest.fixture(scope="module")
def built(tree, project):
    """By CMake, without a word of the build tree."""
    subprocess.run(
        ["cmake", "-G", "Ninja", "-S", project, "-B", project / "out",
         f"-DCMAKE_PREFIX_PATH={tree}", f"-DCMAKE_C_FLAGS={WARNINGS}",
         f"-DCMAKE_CXX_FLAGS={WARNINGS}"], check=True, capture_output=True)
    done = subprocess.run(["ninja", "-C", project / "out"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return project / "out"


def run(program, *arguments, **environment):
    return subprocess.run([program, *arguments], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin",
                               "HOME": os.environ.get("HOME", "/"),
                               **environment})


def expect_results(done):
    """The bias for each of two rows, after the plan as text."""
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("1\n2\n3\n4.5\n" * 2), done.stdout
    assert "(x0=2)" in done.stdout


@pytest.mark.parametrize("program", ["in_c", "in_cpp"])
def test_cmake_finds_the_tree(built, project, tmp_path, program):
    expect_results(run(built / program, project / "m.onnx",
                       tmp_path / "m.divisi"))


@pytest.mark.parametrize("program", ["in_c", "in_cpp"])
def test_errors_are_those_of_the_command_line(built, tmp_path, program):
    done = run(built / program, tmp_path / "none.onnx", tmp_path / "m.divisi")
    assert done.returncode == 3
    path = tmp_path / "none.onnx"
    assert done.stderr.endswith(
        f"cannot read '{path}': No such file or directory\n")


def test_other_versions_are_not_found(tree, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(P LANGUAGES C)\n"
        "find_package(Divisi 99 REQUIRED)\n")
    done = subprocess.run(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "out",
         f"-DCMAKE_PREFIX_PATH={tree}"], capture_output=True, text=True)
    assert done.returncode != 0 and "DivisiConfig.cmake" in done.stderr


def build(tree, program, compiler, *options):
    """With what pkg-config says."""
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config here")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "divisi-compiler",
         "divisi-runtime"], check=True, capture_output=True, text=True,
        env={"PATH": os.environ["PATH"],
             "PKG_CONFIG_PATH": str(tree / "lib/pkgconfig")}).stdout.split()
    done = subprocess.run(
        [compiler, *WARNINGS.split(), *options, *flags, "-o", program,
         f"-Wl,-rpath,{tree}/lib"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize("compiler, source, options", [
    ("cc", "embed.c", ["-std=c11"]),
    ("c++", "embed.cpp", ["-std=c++20", "-fno-exceptions"])])
def test_pkg_config_finds_the_tree(tree, project, tmp_path, compiler, source,
                                   options):
    program = build(tree, tmp_path / "program", compiler, *options,
                    project / source)
    expect_results(run(program, project / "m.onnx", tmp_path / "m.divisi"))


def test_the_wrapper_does_all_that_the_functions_do(tree, project, tmp_path):
    program = build(tree, tmp_path / "program", "c++", "-std=c++20",
                    ROOT / "test/endtoend/Inputs/wrapper.cpp")
    done = run(program, project / "m.onnx", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_libraries_export_one_function_each(tree):
    for name in ("runtime", "compiler"):
        symbols = subprocess.run(
            ["nm", "-D", "--defined-only", tree / f"lib/libdivisi_{name}.so"],
            check=True, capture_output=True, text=True).stdout
        assert {line.split()[-1] for line in symbols.splitlines()} == {
            f"divisi_{name}_get_api@@DIVISI_1.0"}
