"""The structures of ctypes are those of the headers, as a C compiler lays them
out; so is the order of functions."""

import ctypes
import re
import subprocess

import pytest
from conftest import ROOT
from divisi import _c

STRUCTURES = {
    "divisi_error_api": _c.ErrorApi, "divisi_device": _c.Device,
    "divisi_dtype": _c.DType, "divisi_tensor": _c.Tensor,
    "divisi_value_info": _c.ValueInfo,
    "divisi_artifact_options": _c.ArtifactOptions,
    "divisi_context_options": _c.ContextOptions,
    "divisi_processes_options": _c.ProcessesOptions,
    "divisi_memory_info": _c.MemoryInfo, "divisi_runtime_api": _c.RuntimeApi,
    "divisi_progress_info": _c.ProgressInfo,
    "divisi_compilation_options": _c.CompilationOptions,
    "divisi_compiler_api": _c.CompilerApi}
HEADERS = ("base", "runtime", "compiler")


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    """(structure, field or "") -> (offset, size), by a C compiler."""
    lines = []
    for name, kind in STRUCTURES.items():
        lines.append(f'printf("{name} - 0 %zu\\n", sizeof({name}));')
        lines += [f'printf("{name} {field} %zu %zu\\n", offsetof({name}, '
                  f'{field}), sizeof((({name} *)0)->{field}));'
                  for field, _ in kind._fields_]
    folder = tmp_path_factory.mktemp("abi")
    (folder / "layout.c").write_text(
        "#include <stdio.h>\n"
        + "".join(f'#include "divisi-c/{name}.h"\n' for name in HEADERS)
        + f"int main(void) {{ {''.join(lines)} return 0; }}\n")
    subprocess.run(["cc", "-std=c11", f"-I{ROOT}/include", "layout.c", "-o",
                    "layout"], cwd=folder, check=True)
    rows = subprocess.run(["./layout"], cwd=folder, check=True, text=True,
                          capture_output=True).stdout.split("\n")
    return {(row[0], row[1]): (int(row[2]), int(row[3]))
            for row in map(str.split, rows) if row}


@pytest.mark.parametrize("name", STRUCTURES)
def test_structure_is_that_of_the_header(layout, name):
    kind = STRUCTURES[name]
    assert layout[name, "-"] == (0, ctypes.sizeof(kind))
    for field, _ in kind._fields_:
        place = getattr(kind, field)
        assert layout[name, field] == (place.offset, place.size), field


def test_no_structure_is_forgotten():
    text = "".join((ROOT / f"include/divisi-c/{name}.h").read_text()
                   for name in HEADERS)
    assert set(re.findall(r"^typedef struct (\w+) \{", text, re.M)) == set(
        STRUCTURES)


def test_versions_are_those_of_the_headers():
    for name in ("runtime", "compiler"):
        text = (ROOT / f"include/divisi-c/{name}.h").read_text()
        found = re.search(r"_VERSION DIVISI_API_VERSION\((\d+), (\d+)\)", text)
        assert _c._VERSIONS[name] == int(found[1]) << 16 | int(found[2])
