"""The include rule of cmake/layers.txt, over every .h and .cpp of the tree."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Folders whose code may use every room.
FREE = {"test", "bench", "models"}


def read_layers(text):
    """Returns {room: allowed names} and [(prefix, external name)]."""
    rooms, externals = {}, []
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, names = (part.strip() for part in line.split(":"))
        if name.startswith("external "):
            external = name.split()[1]
            externals += [(prefix, external) for prefix in names.split()]
        else:
            rooms[name] = set(names.split())
    return rooms, externals


# Their folders are rooms of their own.
PARTED = ("passes", "runtime")


def room_of_file(path):
    """lib/Layout/X.cpp and include/divisi/Layout/X.h belong to Layout,
    include/divisi-c/X.h to C, lib/Search/Dual/X.cpp to Search/Dual, and
    runtime/core/X.cpp and runtime/include/divisi/runtime/core/X.h to
    runtime/core."""
    parts = path.parts
    if parts[:4] == ("runtime", "include", "divisi", "runtime"):
        return "/".join(parts[3:-1])
    if parts[0] in PARTED:
        return "/".join(parts[:-1])
    if parts[:2] == ("include", "divisi"):
        return parts[2]
    if parts[:2] == ("include", "divisi-c"):
        return "C"
    if parts[0] == "lib":
        return "/".join(parts[1:-1])
    return parts[1] if parts[0] == "dialects" else parts[0]


def room_of_include(include, externals):
    """The room or external that an include names, or None if neither."""
    for prefix, external in externals:
        if include.startswith(prefix):
            return external
    parts = include.split("/")
    if parts[0] == "divisi-c":
        return "C"
    if parts[:2] == ["divisi", "runtime"]:
        return "/".join(parts[1:-1])
    if parts[0] in ("divisi", "dialects") and len(parts) > 2:
        return parts[1]
    if parts[0] == "lib" and len(parts) > 2:
        return "/".join(parts[1:-1])
    if parts[0] in PARTED:
        return "/".join(parts[:-1])
    return parts[0] if parts[0] == "tools" else None


def is_private(include):
    """Whether it is a header of lib/ or runtime/ and not a generated one."""
    return include.startswith("lib/") or (
        include.startswith("runtime/")
        and not include.startswith("runtime/schema/"))


def privacy_error(path, room, include, target):
    """What forbids the private header to this file, or None."""
    if "include" in path.parts[:2]:
        return "a public header may not include a private one"
    if room.split("/")[0] != target.split("/")[0]:
        return f"{room} may not include a private header of {target}"
    return None


def check_file(root, path, rooms, externals):
    """Yields 'file:line: what is wrong' for each include against the rule."""
    room = room_of_file(path)
    if room not in rooms:
        yield f"{path}:1: room '{room}' is not listed in cmake/layers.txt"
        return
    allowed = rooms[room] | {room}
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        bracket, include = match.groups()
        target = room_of_include(include, externals)
        if target is None:
            beside = (root / path).parent / include
            if bracket == '"' and not ("/" not in include and beside.exists()):
                yield (f'{path}:{number}: "{include}" names no room; begin it '
                       "with divisi/<Room>/, dialects/ or passes/")
            continue
        error = None
        if is_private(include):
            error = privacy_error(path, room, include, target)
        if not error and target not in allowed and include not in allowed:
            error = f"{room} may not include {target}"
        if error:
            yield (f"{path}:{number}: {error} ({include}); cmake/layers.txt "
                   "says who may")


def check_layers(root, layers):
    """Yields what layers.txt names that is not there."""
    rooms, externals = read_layers(layers)
    known = set(rooms) | {external for _, external in externals}
    for room, allowed in rooms.items():
        folders = [root / room] + [root / parent / room for parent in
                                   ("lib", "include/divisi", "dialects")]
        if not any(folder.is_dir() for folder in folders):
            yield (f"cmake/layers.txt lists the room '{room}', which has no "
                   "folder")
        for name in sorted(allowed - known):
            if name.startswith("divisi/") and (root / "include" / name).exists():
                continue
            yield (f"cmake/layers.txt lets {room} include '{name}', which it "
                   "does not list")


def check_tree(root, layers):
    rooms, externals = read_layers(layers)
    errors = []
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        top = relative.parts[0]
        if path.suffix not in (".h", ".cpp") or top in FREE:
            continue
        if top.startswith((".", "build")):
            continue
        errors += check_file(root, relative, rooms, externals)
    return errors


def test_repository_keeps_the_rule():
    layers = (ROOT / "cmake/layers.txt").read_text()
    errors = [*check_layers(ROOT, layers), *check_tree(ROOT, layers)]
    assert not errors, "\n" + "\n".join(errors)


LAYERS = """
external LLVM: llvm/
Support:
Layout: Support LLVM   # a comment
NN: Layout LLVM
Search: Support Search/Dual
Search/Dual: Support
Search/Check: divisi/Search/Problem.h
passes/Import: NN
runtime/core: Support runtime/kernels runtime/schema
runtime/kernels:
runtime/schema:
"""


def errors_of(tmp_path, path, text):
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return check_tree(tmp_path, LAYERS)


def test_allowed_includes_pass(tmp_path):
    assert errors_of(tmp_path, "lib/Layout/Layout.cpp",
                     '#include "divisi/Layout/Layout.h"\n'
                     '#include "divisi/Support/CheckedMath.h"\n'
                     '#include "llvm/ADT/SmallVector.h"\n'
                     "#include <vector>\n") == []


def test_upward_include_is_reported_with_its_line(tmp_path):
    [error] = errors_of(tmp_path, "include/divisi/Layout/Layout.h",
                        '#include <vector>\n#include "dialects/NN/NN.h"\n')
    assert error.startswith(
        "include/divisi/Layout/Layout.h:2: Layout may not include NN")


def test_runtime_and_support_may_not_include_llvm(tmp_path):
    for room, path in [("runtime/core", "runtime/core/Load.cpp"),
                       ("Support", "include/divisi/Support/File.h")]:
        [error] = errors_of(tmp_path / room, path,
                            '#  include "llvm/ADT/StringRef.h"\n')
        assert f"{room} may not include LLVM" in error


def test_runtime_may_not_include_the_compiler(tmp_path):
    [error] = errors_of(tmp_path, "runtime/core/Load.cpp",
                        '#include <divisi/Layout/Layout.h>\n'
                        '#include <divisi/Support/CheckedMath.h>\n')
    assert "runtime/core may not include Layout" in error


def test_parts_of_the_runtime_within_the_rule_pass(tmp_path):
    assert errors_of(tmp_path, "runtime/core/Load.cpp",
                     '#include "divisi/runtime/core/Session.h"\n'
                     '#include "divisi/runtime/kernels/Kernel.h"\n'
                     '#include "runtime/core/Rank.h"\n'
                     '#include "runtime/kernels/Formats.h"\n'
                     '#include "runtime/schema/artifact.pb.h"\n') == []


def test_part_of_the_runtime_may_not_include_what_another_may(tmp_path):
    first, second = errors_of(tmp_path, "runtime/kernels/Matmul.cpp",
                              '#include "divisi/runtime/core/Session.h"\n'
                              '#include "runtime/core/Rank.h"\n')
    assert "Matmul.cpp:1: runtime/kernels may not include runtime/core" in first
    assert "Matmul.cpp:2: runtime/kernels may not include runtime/core" in second


def test_private_header_of_the_runtime_is_reported(tmp_path):
    [error] = errors_of(tmp_path, "lib/Layout/Layout.cpp",
                        '#include "runtime/kernels/Formats.h"\n')
    assert ("Layout may not include a private header of runtime/kernels"
            in error)


def test_private_header_in_a_public_one_of_the_runtime_is_reported(tmp_path):
    public = "runtime/include/divisi/runtime/core/Session.h"
    [error] = errors_of(tmp_path, public,
                        '#include "runtime/schema/artifact.pb.h"\n'
                        '#include "runtime/kernels/Formats.h"\n')
    assert "Session.h:2: a public header may not include a private one" in error


def test_public_header_of_no_part_is_reported(tmp_path):
    [error] = errors_of(tmp_path, "runtime/include/divisi/runtime/Box.h", "")
    assert "room 'runtime' is not listed" in error


def test_stage_may_not_include_what_its_line_lacks(tmp_path):
    [error] = errors_of(tmp_path, "passes/Import/Fold.cpp",
                        '#include "passes/Import/Passes.h"\n'
                        '#include "dialects/NN/NN.h"\n'
                        '#include "passes/Plan/Passes.h"\n')
    assert "Fold.cpp:3: passes/Import may not include passes/Plan" in error


def test_include_that_names_no_room_is_reported(tmp_path):
    [error] = errors_of(tmp_path, "lib/Layout/Layout.cpp",
                        '#include "../Support/Secret.h"\n')
    assert "names no room" in error


def test_private_headers_within_the_rule_pass(tmp_path):
    assert errors_of(tmp_path, "lib/Search/Portfolio.cpp",
                     '#include "lib/Search/Dual/Messages.h"\n'
                     '#include "divisi/Search/Problem.h"\n') == []


def test_private_header_of_another_room_is_reported(tmp_path):
    [error] = errors_of(tmp_path, "lib/Layout/Layout.cpp",
                        '#include "lib/Support/Secret.h"\n')
    assert "Layout may not include a private header of Support" in error


def test_private_header_in_a_public_one_is_reported(tmp_path):
    [error] = errors_of(tmp_path, "include/divisi/Search/Problem.h",
                        '#include "lib/Search/Dual/Messages.h"\n')
    assert "a public header may not include a private one" in error


def test_checker_may_not_include_a_solver(tmp_path):
    first, second = errors_of(tmp_path, "lib/Search/Check/Check.cpp",
                              '#include "lib/Search/Dual/Messages.h"\n'
                              '#include "divisi/Search/Problem.h"\n'
                              '#include "divisi/Search/Solvers.h"\n')
    assert "Check.cpp:1: Search/Check may not include Search/Dual" in first
    assert "Check.cpp:3: Search/Check may not include Search " in second


def test_sub_room_may_not_include_what_its_room_may(tmp_path):
    [error] = errors_of(tmp_path, "lib/Search/Dual/Messages.cpp",
                        '#include "lib/Search/Portfolio.h"\n')
    assert "Search/Dual may not include Search " in error


def test_unlisted_sub_room_is_reported(tmp_path):
    [error] = errors_of(tmp_path, "lib/Search/Misc/Misc.cpp", "")
    assert "room 'Search/Misc' is not listed" in error


def test_unlisted_room_is_reported(tmp_path):
    [error] = errors_of(tmp_path, "lib/Misc/Misc.cpp", "")
    assert "room 'Misc' is not listed" in error


def test_room_without_a_folder_is_reported(tmp_path):
    (tmp_path / "lib" / "Layout").mkdir(parents=True)
    [error] = check_layers(tmp_path, "Layout:\nGone: Layout\n")
    assert "lists the room 'Gone', which has no folder" in error


def test_name_that_is_no_room_is_reported(tmp_path):
    (tmp_path / "lib" / "Layout").mkdir(parents=True)
    [error] = check_layers(tmp_path, "Layout: Suport\n")
    assert "lets Layout include 'Suport', which it does not list" in error
