"""The C APIs as abi.txt states them: what programs were compiled with.

A line of it is a version, a constant, the place of a field with its declaration,
or the size of a structure. Within a major version lines are added at the end of
structures that begin with their size; `python stated_abi_test.py` prints the file
of the headers as they are.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STATED = ROOT / "test/endtoend/abi.txt"
HEADERS = ("base", "runtime", "compiler")


def declarations():
    """Name of a structure or enumeration to (declaration, name) of its parts,
    without comments."""
    text = subprocess.run(
        ["cc", "-E", "-P", f"-I{ROOT}/include", "-"], check=True, text=True,
        capture_output=True, input="".join(
            f'#include "divisi-c/{name}.h"\n' for name in HEADERS)).stdout
    found = {}
    for kind, name, body in re.findall(
            r"typedef (struct|enum) (divisi_\w+) \{(.*?)\} \w+;", text, re.S):
        parts = [" ".join(part.split())
                 for part in body.split(";" if kind == "struct" else ",")]
        found[name] = kind, [(part, (re.search(r"^[^(]*\(\*(\w+)\)", part) or
                                     re.search(r"(\w+)(?: = .*)?$", part))[1])
                             for part in parts if part]
    found["calls"] = "call", sorted(
        (" ".join(call.split()), "") for call in
        re.findall(r"typedef [^{;]*\(\*divisi_\w+\)\([^;]*\)", text))
    return found


def current():
    """The lines of the headers as they are."""
    lines, prints = [], []
    for name, (kind, parts) in declarations().items():
        for part, field in parts:
            if kind == "call":
                lines.append(part)
            elif kind == "enum":
                prints.append(f'printf("{name}: {field} = %d\\n", (int){field});')
            else:
                prints.append(f'printf("{name}: at %zu {part}\\n", '
                              f"offsetof({name}, {field}));")
        if kind == "struct":
            prints.append(f'printf("{name}: size %zu\\n", sizeof({name}));')
    for name in ("RUNTIME", "COMPILER"):
        prints.append(f'printf("version {name} %u.%u\\n", '
                      f"DIVISI_{name}_VERSION >> 16, "
                      f"DIVISI_{name}_VERSION & 0xffff);")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "layout.c").write_text(
            "#include <stdio.h>\n" + "".join(
                f'#include "divisi-c/{name}.h"\n' for name in HEADERS)
            + f"int main(void) {{ {' '.join(prints)} }}\n")
        subprocess.run(["cc", f"-I{ROOT}/include", path / "layout.c", "-o",
                        path / "layout"], check=True)
        printed = subprocess.run([path / "layout"], check=True, text=True,
                                 capture_output=True).stdout
    return lines + printed.splitlines()


def broken(stated, now):
    """What of the stated lines no longer holds, or was added where programs that
    do not know it would notice."""
    def by_name(lines):
        groups = {}
        for line in lines:
            groups.setdefault(line.partition(":")[0], []).append(line)
        return groups
    wrong, new = [], by_name(now)
    for name, lines in by_name(stated).items():
        kept = new.get(name, [])
        if name.startswith("version"):
            continue
        if "size_t struct_size" in lines[0]:  # It may become longer.
            lines, kept = lines[:-1], kept[:len(lines) - 1]
        if name == "divisi_code" or name == "divisi_severity":
            kept = kept[:len(lines)]
        wrong += [f"stated: {old}" for old in lines if old not in kept]
        wrong += [f"new: {line}" for line in kept if line not in lines]
    return wrong


@pytest.fixture(scope="module")
def stated():
    return STATED.read_text().splitlines()


def test_what_was_stated_holds(stated):
    assert not broken(stated, current())


def test_all_that_there_is_was_stated(stated):
    assert current() == stated, (
        "programs may use what is not stated: python "
        "test/endtoend/stated_abi_test.py > test/endtoend/abi.txt")


@pytest.mark.parametrize("old, new, is_broken", [
    # A field added at the end of what has its size, and in the middle.
    ("divisi_memory_info: size 56", "divisi_memory_info: at 56 int64_t host\n"
     "divisi_memory_info: size 64", False),
    ("divisi_memory_info: at 16 int64_t arena",
     "divisi_memory_info: at 16 int64_t host\n"
     "divisi_memory_info: at 24 int64_t arena", True),
    ("divisi_device: size 8", "divisi_device: at 8 int32_t more\n"
     "divisi_device: size 12", True),
    ("divisi_code: DIVISI_CANCELLED = 130", "divisi_code: DIVISI_CANCELLED = 130\n"
     "divisi_code: DIVISI_MORE = 131", False),
    ("divisi_code: DIVISI_FILE = 3", "divisi_code: DIVISI_FILE = 4", True),
    ("int32_t threads_per_device", "int64_t threads_per_device", True),
    ("divisi_error *(*reset_state)(divisi_context *context)",
     "divisi_error *(*reset_state)(divisi_context *context, int32_t how)", True)])
def test_changes_are_told_apart(stated, old, new, is_broken):
    text = "\n".join(stated)
    assert text.count(old) == 1
    assert bool(broken(stated, text.replace(old, new).splitlines())) == is_broken


if __name__ == "__main__":
    sys.stdout.write("".join(line + "\n" for line in current()))
