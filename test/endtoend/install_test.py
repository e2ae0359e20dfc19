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


# What is in the tree instead.
SYSTEM_LIBRARIES = ("libsimdjson.so.14", "libdeflate.so.0", "libprotobuf.so.32",
                    "libgomp.so.1", "libz.so.1", "libzstd.so.1")


def run_hidden(tree, folder, *arguments, exits=0):
    """Where neither the build nor the prefix can be seen, nor the user's home, nor
    LLVM, nor the libraries of the system that the tree has."""
    namespace = ["unshare", "-m" if os.geteuid() == 0 else "-rm"]
    if subprocess.run([*namespace, "true"], capture_output=True).returncode:
        pytest.skip("no namespace can be made here")
    done = subprocess.run(
        [*namespace, "sh", "-ec", 'mount -t tmpfs none "$1"\n'
         'mount -t tmpfs none "$2"\nmount -t tmpfs none /usr/lib/llvm-22\n'
         f'for name in {" ".join(SYSTEM_LIBRARIES)}; do\n'
         'mount --bind /dev/null /usr/lib/*/$name\ndone\nshift 2\nexec env -i HOME="$PWD" '
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


# What divisi and divisi-run ask for, and what these do.
NEEDED_TO_RUN = ("dnnl-divisi.so.3", "gomp-divisi.so.1", "protobuf-divisi.so.32",
                 "simdjson-divisi.so.14", "deflate-divisi.so.0", "z-divisi.so.1")


def test_the_part_that_runs_is_enough_to_run(tree, generated, tmp_path):
    made = generated("mlp.py", "--widths", "16,32,8", "--batch", 4)
    subprocess.run([tree / "bin/divisi", "compile", made.onnx, "--devices",
                    "2", "-o", tmp_path / "m.divisi"], check=True,
                   capture_output=True)
    (tmp_path / "x.npz").write_bytes(made.inputs.read_bytes())
    part = tmp_path / "part"
    for name in ("bin/divisi", "libexec/divisi-run", *(
            f"lib/lib{name}" for name in NEEDED_TO_RUN)):
        (part / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(tree / name, part / name)
    run_hidden(part, tmp_path, "version")
    run_hidden(part, tmp_path, "run", "m.divisi", "--inputs", "x.npz", "-o",
               "y.npz")
    with np.load(tmp_path / "y.npz") as got, np.load(made.outputs) as want:
        assert got.files == want.files
    missing = run_hidden(part, tmp_path, "solve", "p.json", exits=3)
    assert "libexec/divisi-solve', which solve needs" in missing.stderr


def dynamic(path):
    """What a program or library needs, and where it looks."""
    text = subprocess.run(["readelf", "-dW", path], check=True,
                          capture_output=True, text=True).stdout
    return (re.findall(r"\(NEEDED\).*\[(.*)\]", text),
            re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", text))


def elves(tree):
    for path in sorted(tree.glob("*/*")):
        if path.is_file() and not path.is_symlink():
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def test_what_is_needed_is_stated(tree):
    """A line each in needed.txt."""
    stated = (ROOT / "test/endtoend/needed.txt").read_text().splitlines()
    stated = {line for line in stated if line and line[0] != "#"}
    found = {f"{path.relative_to(tree)}: {' '.join(sorted(dynamic(path)[0]))}"
             for path in elves(tree)}
    # Plug-ins are built where MPI is.
    absent = {name for name in ("lib/libdivisi_mpi.so", "lib/libdivisi_pmix.so")
              if not (tree / name).exists()}
    assert found == {line for line in stated
                     if line.split(":")[0] not in absent}


def test_programs_look_nowhere_else(tree):
    found = list(elves(tree))
    assert {"divisi", "divisi-run", "divisi-solve", "divisi-rules",
            "divisi-compiler"} <= {path.name for path in found}
    for path in found:
        [folders] = dynamic(path)[1]
        # An empty one would be the working directory.
        for folder in folders.split(":"):
            assert folder in ("$ORIGIN", "$ORIGIN/../lib") or (
                folder.startswith("/usr/lib/") and path.name in (
                    "libdivisi_mpi.so", "libdivisi_pmix.so"))
    for path in tree.glob("**/*"):
        if path.is_file():
            content = path.read_bytes()
            for text in (PREFIX, str(ROOT), str(BUILD)):
                assert text.encode() not in content, path


def test_licences_go_with_the_libraries(tree):
    licenses = tree / "share/doc/divisi/licenses"
    for name in ("HiGHS", "ONNX", "Z3", "oneDNN", "oneDNN-third-party",
                 "libllvm22", "libgomp1", "libprotobuf32", "libsodium-dev"):
        assert "opyright" in (licenses / f"{name}.txt").read_text()
    assert (tree / "share/doc/divisi/LICENSE").exists()
