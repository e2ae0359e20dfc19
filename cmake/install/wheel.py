"""Writes the wheel of an installed tree: the Python package over its libraries and
programs, which need nothing of the machine but glibc, GCC's libraries and Python.

    wheel.py TREE FOLDER [--wheel PROGRAM]

TREE is one of stage.sh. The wheel is for every Python from 3.11 on, as the package
calls C by ctypes, and for the glibc of this machine or a later one.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Of the package; headers and files for CMake are for trees.
FOLDERS = ("bin", "libexec", "lib")
METADATA = """\
Metadata-Version: 2.4
Name: divisi
Version: {version}
Summary: Compiles deep-learning models for many devices, and runs them
License-Expression: Apache-2.0 WITH LLVM-exception
{licenses}Requires-Python: >=3.11
Requires-Dist: numpy>=1.23
Provides-Extra: onnx
Requires-Dist: onnx>=1.16; extra == "onnx"
Provides-Extra: torch
Requires-Dist: torch>=2.13; extra == "torch"
Requires-Dist: onnxscript>=0.7; extra == "torch"
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """\
Wheel-Version: 1.0
Generator: divisi
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """\
[console_scripts]
divisi = divisi.__main__:main

[torch_dynamo_backends]
divisi = divisi.torch:backend
"""


def version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(Divisi VERSION ([\d.]+)", text)[1]


def tag():
    libc, number = platform.libc_ver()
    if libc != "glibc":
        sys.exit("wheel: error: this machine has no glibc; build it on Linux "
                 "with glibc")
    return (f"py3-none-manylinux_{number.replace('.', '_')}_"
            f"{platform.machine()}")


def copy_package(tree, package):
    """A wheel has no links: of those to a library, the one that is its soname is
    kept, by which others find it."""
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard",
         "python/divisi"], cwd=ROOT, check=True, text=True,
        capture_output=True).stdout.split()
    for name in tracked:
        target = package / Path(name).relative_to("python/divisi")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    for folder in FOLDERS:
        (package / folder).mkdir()
        for path in sorted((tree / folder).iterdir()):
            is_alias = re.search(r"libdivisi_\w+\.so(\.\d+\.\d+\.\d+)?$",
                                 path.name) and list(
                tree.glob(f"{folder}/{path.name.split('.so')[0]}.so.1"))
            if path.is_file() and not is_alias:
                shutil.copy(path, package / folder / path.name)
                (package / folder / path.name).chmod(
                    0o644 if folder == "lib" else 0o755)


def copy_licenses(tree, info):
    """They are named in the metadata."""
    lines = []
    for path in [tree / "share/doc/divisi/LICENSE",
                 *sorted(tree.glob("share/doc/divisi/licenses/*.txt"))]:
        shutil.copy(path, info / "licenses" / path.name)
        lines.append(f"License-File: {path.name}\n")
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wheel", default="wheel")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        name = f"divisi-{version()}"
        info = Path(work) / f"{name}.dist-info"
        (info / "licenses").mkdir(parents=True)
        copy_package(arguments.tree, Path(work) / "divisi")
        # What shells and man look for in share of the environment.
        for part in ("man", "bash-completion", "zsh", "fish"):
            if (arguments.tree / "share" / part).exists():
                shutil.copytree(arguments.tree / "share" / part, Path(work) /
                                f"{name}.data" / "data" / "share" / part)
        (info / "METADATA").write_text(METADATA.format(
            version=version(), licenses=copy_licenses(arguments.tree, info),
            readme=(ROOT / "README.md").read_text()))
        (info / "WHEEL").write_text(WHEEL.format(tag=tag()))
        (info / "entry_points.txt").write_text(ENTRY_POINTS)
        arguments.folder.mkdir(parents=True, exist_ok=True)
        for old in arguments.folder.glob("divisi-*.whl"):
            old.unlink()
        # Times of files do not matter: the same tree is the same wheel.
        subprocess.run([arguments.wheel, "pack", work, "-d", arguments.folder],
                       check=True, stdout=subprocess.DEVNULL,
                       env=os.environ | {"SOURCE_DATE_EPOCH": "315532800"})
    [wheel] = arguments.folder.glob("divisi-*.whl")
    print(f"wrote {wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
