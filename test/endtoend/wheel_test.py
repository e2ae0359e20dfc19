"""The wheel: what is in it, and that it needs nothing else. It is installed in a
new virtual environment, and used, with Debian's Python by another user, where
neither this tree, its build and its dependencies, nor a compiler can be seen."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from conftest import BUILD, ROOT

INSTALL = ROOT / "cmake/install"
TOOLS = Path(subprocess.run(
    ["bash", INSTALL / "tools.sh", "--prefix"], check=True, text=True,
    capture_output=True).stdout.strip()) / "bin"
PREFIX = TOOLS.parents[1]  # With those of setup.sh.
MOST_BYTES, MOST_SECONDS = 120e6, 0.3
# Who compiles without any of these needs none.
COMPILERS = ("cc", "gcc", "c++", "g++", "ld", "ld.bfd", "ld.lld", "as", "clang",
             "clang-22", "clang++-22", "cmake", "ninja", "nvcc")

USE = """
import sys, time
begin = time.perf_counter()
import divisi
seconds = time.perf_counter() - begin
import numpy as np
with divisi.plan("mlp.onnx", devices=2) as plan:
    assert "(x0=2)" in plan.explain()
    artifact = plan.compile()
inputs, expected = np.load("mlp.inputs.npz"), np.load("mlp.outputs.npz")
outputs = divisi.Session(artifact).run(dict(inputs))
for name in expected.files:
    np.testing.assert_allclose(outputs[name], expected[name], rtol=1e-4,
                               atol=1e-5)
assert str(divisi.__file__).startswith(sys.prefix)
print(seconds)
"""

# The examples of docs/python.md, as test/python/docs_test.py runs them.
EXAMPLES = """
import doctest, sys
result = doctest.testfile("examples.txt", module_relative=False, optionflags=
                          doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
sys.exit(result.failed > 0 or result.attempted < 30)
"""


def laid_out(tree, tmp_path, generated):
    """The package as in a wheel, by links to an installed tree, and a model."""
    made = generated("mlp.py", "--widths", "16,32,8", "--batch", 4)
    for file in (made.onnx, made.inputs, made.outputs):
        (tmp_path / file.name.replace(made.onnx.stem, "mlp")).write_bytes(
            file.read_bytes())
    package = tmp_path / "site/divisi"
    package.mkdir(parents=True)
    for path in (ROOT / "python/divisi").glob("*.py"):
        shutil.copy(path, package)
    for name in ("bin", "lib", "libexec"):
        (package / name).symlink_to(tree / name)
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(package.parent),
                   "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    return package, environment


def test_the_package_finds_what_lies_beside_it(tree, tmp_path, generated):
    package, environment = laid_out(tree, tmp_path, generated)
    for arguments in (["-m", "divisi", "version"],
                      ["-c", USE.replace("sys.prefix", repr(str(package)))]):
        done = subprocess.run([sys.executable, *arguments], cwd=tmp_path,
                              env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= MOST_SECONDS


BESIDE = """
import ctypes, os, re
for name in ("libgomp.so.1", "libprotobuf.so.32", "libz.so.1"):
    ctypes.CDLL(name, mode=os.RTLD_GLOBAL)
exec(open("use.py").read())
loaded = open("/proc/self/maps").read()
for name in ("libgomp", "libprotobuf", "libz"):
    assert re.search(name + r"\\.so", loaded), name
    assert re.search(name + r"-divisi\\.so", loaded), name
assert "libdnnl.so" not in loaded and "libLLVM" not in loaded
"""


def test_the_package_works_beside_other_libraries(tree, tmp_path, generated):
    """Those of the system, whose symbols all see, and those of the tree."""
    package, environment = laid_out(tree, tmp_path, generated)
    (tmp_path / "use.py").write_text(
        USE.replace("sys.prefix", repr(str(package))))
    done = subprocess.run([sys.executable, "-c", BESIDE], cwd=tmp_path,
                          env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    for command in (
            ["bash", INSTALL / "stage.sh", BUILD, folder / "tree", "--strip"],
            [TOOLS / "python", INSTALL / "wheel.py", folder / "tree", folder,
             "--wheel", TOOLS / "wheel"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    [path] = folder.glob("divisi-*.whl")
    return path


@pytest.mark.whole
def test_wheel_has_what_it_needs_and_no_more(wheel, capsys):
    assert "-py3-none-manylinux_2_" in wheel.name
    assert wheel.stat().st_size <= MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for path in (ROOT / "python/divisi").glob("*.py*"):
            assert f"divisi/{path.name}" in names
        needed = (ROOT / "test/endtoend/needed.txt").read_text()
        for name in ("divisi/lib/libdivisi_runtime.so.1", "divisi/bin/divisi",
                     "divisi/lib/libdivisi_compiler.so.1", "divisi/py.typed"):
            assert name in names
        # A library is there once.
        assert sum("libdivisi_" in name for name in names) == needed.count(
            "lib/libdivisi_")
        [metadata] = [name for name in names if name.endswith("/METADATA")]
        text = archive.read(metadata).decode()
        for line in text.partition("\n\n")[0].split("\n"):
            if line.startswith("License-File: "):
                license = line.split(": ")[1]
                assert metadata.replace(
                    "METADATA", f"licenses/{license}") in names
        for info in archive.infolist():
            content = archive.read(info)
            for path in (ROOT, BUILD, PREFIX):
                assert str(path).encode() not in content, info.filename
    with capsys.disabled():
        print(f"counted: wheel: {wheel.stat().st_size / 1e6:.1f} MB")


@pytest.mark.whole
def test_the_same_tree_is_the_same_wheel(wheel, tmp_path):
    subprocess.run([TOOLS / "python", INSTALL / "wheel.py", wheel.parent / "tree",
                    tmp_path, "--wheel", TOOLS / "wheel"], check=True)
    [again] = tmp_path.glob("*.whl")
    assert again.read_bytes() == wheel.read_bytes()


def pythons():
    """Debian's, and the newest other one, where there is any."""
    newer = [path for pattern in (
        "usr/local/bin/python3.1[2-9]",
        f"{Path.home()}/.pyenv/versions/3.1[2-9].*/bin/python3".lstrip("/"))
        for path in sorted(Path("/").glob(pattern))]
    return [Path("/usr/bin/python3"), *newer[-1:]]


def run_hidden(folder, user, *command):
    """Runs a command in `folder` by a user who sees less."""
    hidden = " ".join(map(str, (ROOT, BUILD, PREFIX, "/usr/lib/llvm-22",
                                "/usr/local/cuda")))
    script = (f"for each in {hidden}; do\n"
              'if [ -d "$each" ]; then mount -t tmpfs none "$each"; fi\ndone\n'
              f'for each in {" ".join(COMPILERS)}; do\n'
              'each=/usr/bin/$each\n'
              'if [ -e "$each" ]; then mount --bind /dev/null "$each"; fi\n'
              f'done\nexec setpriv --reuid={user} --regid={user} '
              '--clear-groups env -i HOME="$PWD" PATH=/usr/bin:/bin "$@"')
    return subprocess.run(["unshare", "-m", "sh", "-ec", script, "sh", *command],
                          cwd=folder, capture_output=True, text=True)


@pytest.fixture
def folder():
    """A folder where others may come: not one of pytest's, which every session
    closes."""
    with tempfile.TemporaryDirectory() as name:
        for each in (name, os.path.dirname(name)):
            if not os.stat(each).st_mode & 0o001:
                os.chmod(each, 0o755)
        yield Path(name)


@pytest.mark.whole
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may be another user")
@pytest.mark.parametrize("python", pythons(), ids=str)
def test_wheel_works_alone(wheel, generated, python, capsys, folder):
    # Nobody else may come where another Python is.
    user = 65534 if str(python).startswith("/usr/bin") else 0
    made = generated("mlp.py", "--widths", "16,32,8", "--batch", 4)
    for file, name in ((made.onnx, "mlp.onnx"), (made.inputs, "mlp.inputs.npz"),
                       (made.outputs, "mlp.outputs.npz")):
        shutil.copy(file, folder / name)
    environment = folder / "environment"
    for command in ([python, "-m", "venv", environment],
                    [environment / "bin/pip", "-q", "install", f"{wheel}[onnx]"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    (folder / "use.py").write_text(USE)
    (folder / "examples.py").write_text(EXAMPLES)
    (folder / "examples.txt").write_text("".join(re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs/python.md").read_text(),
        re.M | re.S)))
    for each in (folder, *folder.glob("*.*")):
        os.chown(each, user, user)
    tool = environment / "bin/divisi"
    for command in (
            [tool, "--version"],
            [tool, "plan", "mlp.onnx", "--devices=2", "-o", "plan.mlir"],
            [tool, "compile", "plan.mlir", "-o", "m.divisi"],
            [tool, "check", "m.divisi", "--inputs", "mlp.inputs.npz",
             "--expect", "mlp.outputs.npz"],
            [tool, "prove", "--help"], [tool, "solve", "--help"],
            # It writes files of the same names.
            [environment / "bin/python", "use.py"],
            [environment / "bin/python", "examples.py"]):
        done = run_hidden(folder, user, *command)
        assert done.returncode == 0, (command, done.stdout + done.stderr)
        if "use.py" in command:
            seconds = done.stdout.strip()
    for name in ("man/man1/divisi.1", "bash-completion/completions/divisi"):
        assert (environment / "share" / name).exists()
    assert float(seconds) <= MOST_SECONDS
    with capsys.disabled():
        print(f"counted: wheel: imported in {seconds} s by "
              f"{python.name} of {python.parents[1]}")
