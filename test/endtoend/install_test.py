"""A build that was installed, and moved: it needs nothing of the folders that it
was made in, and what runs programs needs no solver, no compiler, no prover."""

import os
import re
import subprocess

import numpy as np
import pytest
from conftest import BUILD, ROOT, assert_close, load

PREFIX = subprocess.run(
    ["bash", ROOT / "cmake" / "setup.sh", "--prefix"], check=True,
    capture_output=True, text=True).stdout.strip()
PROBLEM = ROOT / "test" / "Search" / "data" / "example.json"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    done = subprocess.run(
        ["cmake", "--install", BUILD, "--prefix", folder / "first"],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (folder / "first").rename(folder / "moved")


def run_hidden(tree, folder, *arguments, exits=0):
    """Where neither the build nor the prefix can be seen, nor the user's home."""
    namespace = ["unshare", "-m" if os.geteuid() == 0 else "-rm"]
    if subprocess.run([*namespace, "true"], capture_output=True).returncode:
        pytest.skip("no namespace can be made here")
    done = subprocess.run(
        [*namespace, "sh", "-ec", 'mount -t tmpfs none "$1"\n'
         'mount -t tmpfs none "$2"\nshift 2\nexec env -i HOME="$PWD" '
         'PATH=/usr/bin:/bin "$@"', "sh", PREFIX, BUILD,
         tree / "bin/divisi", *map(str, arguments)],
        cwd=folder, capture_output=True, text=True)
    assert done.returncode == exits, (arguments, done.stderr)
    return done


def test_a_moved_tree_works_alone(tree, generated, tmp_path):
    made = generated("mlp.py", "--widths", "16,32,8", "--batch", 4)
    for file in (made.onnx, made.inputs, made.outputs, PROBLEM):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    model, inputs = made.onnx.name, made.inputs.name

    def run(*arguments, **options):
        return run_hidden(tree, tmp_path, *arguments, **options)
    run("compile", model, "--devices", 2, "-o", "m.divisi")
    run("run", "m.divisi", "--inputs", inputs, "-o", "y.npz")
    assert_close(load(tmp_path / "y.npz"), load(made.outputs))
    run("check", "m.divisi", "--inputs", inputs, "--expect",
        made.outputs.name)
    assert "cost " in run("solve", "--solver", "ilp", PROBLEM.name).stdout
    run("rules", "--help")


def test_the_part_that_runs_is_enough_to_run(tree, generated, tmp_path):
    made = generated("mlp.py", "--widths", "16,32,8", "--batch", 4)
    subprocess.run([tree / "bin/divisi", "compile", made.onnx, "--devices",
                    "2", "-o", tmp_path / "m.divisi"], check=True,
                   capture_output=True)
    (tmp_path / "x.npz").write_bytes(made.inputs.read_bytes())
    part = tmp_path / "part"
    for name in ("bin/divisi", "libexec/divisi-run", "lib/libdnnl.so.3"):
        (part / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(tree / name, part / name)
    run_hidden(part, tmp_path, "version")
    run_hidden(part, tmp_path, "run", "m.divisi", "--inputs", "x.npz", "-o",
               "y.npz")
    with np.load(tmp_path / "y.npz") as got, np.load(made.outputs) as want:
        assert got.files == want.files
    missing = run_hidden(part, tmp_path, "solve", "p.json", exits=3)
    assert "libexec/divisi-solve', which solve needs" in missing.stderr


def test_programs_look_nowhere_else(tree):
    found = [path for pattern in ("bin/*", "libexec/*", "lib/libdivisi*")
             for path in tree.glob(pattern)]
    assert {"divisi", "divisi-run", "divisi-solve", "divisi-rules",
            "divisi-compiler"} <= {path.name for path in found}
    built = [BUILD / path.relative_to(tree) for path in found]
    for path in found + built:
        dynamic = subprocess.run(["readelf", "-d", path], check=True,
                                 capture_output=True, text=True).stdout
        [folders] = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
        # An empty one would be the working directory.
        for folder in folders.split(":"):
            assert folder == "$ORIGIN/../lib" or folder.startswith("/usr/lib/")
        needs_highs = "[libhighs.so]" in dynamic
        assert needs_highs == (path.name in ("divisi-solve", "divisi-compiler"))
    for path in found:
        content = path.read_bytes()
        for text in (PREFIX, str(ROOT), str(BUILD)):
            assert text.encode() not in content, path


def test_licences_go_with_the_libraries(tree):
    licenses = tree / "share/doc/divisi/licenses"
    for name in ("HiGHS", "ONNX", "Z3", "oneDNN", "oneDNN-third-party"):
        assert "opyright" in (licenses / f"{name}.txt").read_text()
    assert (tree / "share/doc/divisi/LICENSE").exists()
