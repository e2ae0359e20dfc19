"""The measures of the house style, over every source file of the tree.

- No file over 450 lines, no C++ function over 80.
- Every .h, .hpp, .cpp and .td begins with the banner, every header has the guard
  that its path gives: `python test/style_test.py --fix [PATH…]` writes both.
- Every declaration in a header has a `///` comment: one above it, which speaks
  also for the members that follow without an empty line, or one behind it.
- How many functions of 15 lines or more say why or how is printed.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES, MOST_FUNCTION_LINES, LONG_FUNCTION = 450, 80, 15

# Headers that need not be documented.
UNDOCUMENTED = ("test/", "bench/")

BANNER = """//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
"""
MODE = {".h": "-*- C++ -*-", ".hpp": "-*- C++ -*-",
        ".td": "-*- tablegen -*-"}


def tracked(*endings):
    """The files of the tree under version control or about to be."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(path for path in done.stdout.split("\n")
                  if path.endswith(endings) and (ROOT / path).is_file())


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


# Lines of files and functions.

SOURCES = (".h", ".hpp", ".cpp", ".td", ".py", ".sh", ".cmake", ".txt", ".mlir",
           ".proto")
# Generated: the pages and lists are data. Licences are as others wrote them.
DATA = re.compile(r"/data/|^licenses/|\.dict$|messages\.txt$")


def without_directives(text):
    """The text with nothing on the lines of the preprocessor."""
    return re.sub(r"^[ \t]*#(?:.*\\\n)*.*", lambda match:
                  "\n" * match.group().count("\n"), text, flags=re.M)


def blank_out(text):
    """Comments and literals become blanks, so that braces count."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"'
                  r"|(?<!\w)'(?:[^'\\\n]|\\.)+'", blank, text, flags=re.S)


NO_FUNCTION = re.compile(
    r"\b(namespace|class|struct|enum|union|if|for|while|switch|catch|else|do)\b"
    r"(?![^(]*\boperator\b)")


def functions(text):
    """Yields (first line, last line) of each function, lambdas aside."""
    code = blank_out(without_directives(text))
    open_braces, begin = [], 0
    for match in re.finditer(r"[;{}]", code):
        at, char = match.start(), match.group()
        if char == "{":
            head = code[begin:at]
            inside = any(kind == "function" for kind, _ in open_braces)
            is_function = "(" in head and not inside and not \
                NO_FUNCTION.match(head.strip()) and "=" not in \
                re.sub(r"operator\s*[=<>!]+|[=<>!]=|\([^()]*(?:\([^()]*\)"
                       r"[^()]*)*\)", "", head)
            skipped = len(head) - len(head.lstrip())
            open_braces.append(("function" if is_function else "",
                                begin + skipped))
        elif char == "}" and open_braces:
            kind, start = open_braces.pop()
            if kind:
                yield (code.count("\n", 0, start) + 1,
                       code.count("\n", 0, at) + 1)
        begin = at + 1


def test_no_file_is_too_long():
    files = [path for path in tracked(*SOURCES) if not DATA.search(path)]
    assert len(files) > 300
    long = {path: count for path in files
            if (count := read(path).count("\n")) > MOST_LINES}
    assert not long, f"over {MOST_LINES} lines: {long}"


def test_no_function_is_too_long():
    found, long = 0, []
    for path in tracked(".h", ".hpp", ".cpp"):
        for first, last in functions(read(path)):
            found += 1
            if last - first >= MOST_FUNCTION_LINES:
                long.append(f"{path}:{first}: {last - first + 1} lines")
    assert found > 1000
    assert not long, f"over {MOST_FUNCTION_LINES} lines:\n" + "\n".join(long)


def test_how_many_long_functions_are_explained(capsys):
    explained = total = 0
    for path in tracked(".cpp"):
        if path.startswith(("test/", "bench/")):
            continue
        lines = read(path).split("\n")
        for first, last in functions("\n".join(lines)):
            if last - first + 1 >= LONG_FUNCTION:
                total += 1
                above = lines[first - 2].strip() if first > 1 else ""
                explained += above.startswith("//") or any(
                    "//" in line for line in lines[first - 1:last])
    with capsys.disabled():
        print(f"\ncounted: functions of {LONG_FUNCTION} lines or more: {total},"
              f" explained {100 * explained / total:.0f} %")
    assert total > 100


# Documentation of headers.

# What needs no words: what the language or MLIR fixes, and what is declared
# for later.
OBVIOUS = re.compile(
    r"^(namespace\b|using namespace|friend\b|static_assert|class \w+;|"
    r"struct \w+;|DIVISI_|MLIR_|LLVM_|using \w+Base::|~|extern \"C\"$|"
    r"virtual ~)|= default;|= delete;|\boverride\b|\bfinal;|\bfinal$|\boperator\W|"
    r"^(\w+)\(\2 &&\w*\)|"
    # A statement, or the definition of what is declared above.
    r"^return\b|^template <[^>]*> ([\w:<>]+ \w+|\w+<[^>]*>)::\w+\(")


def words_of(text):
    """Yields (line number, line, code of the line): code without comments,
    literals, directives of the preprocessor and what is in parentheses."""
    code = blank_out(without_directives(text))
    depth, characters = 0, []
    for char in code:
        depth += (char == "(") - (char == ")")
        characters.append("," if depth and char in "{};" else char)
    return enumerate(zip(text.split("\n"), "".join(characters).split("\n")))


TYPE = re.compile(r"\b(namespace|class|struct|union|enum)\b")
TEMPLATE = re.compile(r"\btemplate\s*<[^<>]*(?:<[^<>]*>[^<>]*)*>")
NAME_OF_OPERATOR = re.compile(r"\boperator[^\w\s(]+")


def without_parentheses(head):
    """The head of a declaration without parameters, and what is like them."""
    outer, depth = "", 0
    for char in head:
        depth -= char == ")"
        outer += "" if depth else char
        depth += char == "("
    return re.sub(r"\balignas\(\)", "", outer)


def is_function(head):
    """Whether a declaration is of one; no pointer to one is."""
    head = re.sub(r"\bdecltype\([^;]*\)(?= \w)|\(\*\w+\)\(.*|=.*", "", head)
    while re.search(r"<[^<>]*>", head):
        head = re.sub(r"<[^<>]*>", "", head)
    return "(" in head


def family_of(head):
    """The last word of the name of a function; None if it declares none."""
    name = re.search(r"(\w+)\(", head)
    return name and re.search(r"[A-Z]?[a-z0-9]*$", name[1])[0]


class Declarations:
    """Reads a header: what is declared at namespace or public class scope,
    as (line, declaration, is documented)."""

    def __init__(self, text):
        self.found, self.scopes = [], ["open"]
        self.statement, self.first = "", 0
        self.skipped = 0  # Open braces of a body or an initializer.
        self.ends_with_brace = False  # As that body does.
        self.is_documented = self.run_is_documented = False
        self.family = None  # Of the function that a comment speaks of.
        for number, (line, code) in words_of(text):
            self.read_line(number, line, code)
        assert self.scopes == ["open"] and not self.skipped, self.scopes

    def read_line(self, number, line, code):
        if not self.skipped:
            if not self.statement.strip():
                if line.strip().startswith("///"):
                    self.is_documented = True
                elif not line.strip():
                    self.is_documented = self.run_is_documented = False
                self.first = number
            self.is_trailed = "///<" in line
        for at, char in enumerate(code):
            if self.skipped:
                self.skip(char)
            elif char == "{":
                self.open_brace()
            elif char == "}":
                self.scopes.pop()
                self.end()
            elif char == ";":
                self.declare(";")
                self.end()
            else:
                self.statement += char
                label = re.fullmatch(r"\s*(public|private|protected)\s*:",
                                     self.statement)
                if label and code[at + 1:at + 2] != ":":
                    if self.scopes[-1] != "closed":
                        self.scopes[-1] = "open" if label[1] == "public" \
                            else "private"
                    self.statement = ""
        self.statement += " "

    def skip(self, char):
        self.skipped += (char == "{") - (char == "}")
        if not self.skipped and self.ends_with_brace:
            self.end()

    def is_initialized(self):
        """Whether a brace is no body: behind a = that is no parameter's, or
        at once behind a name."""
        head = without_parentheses(TEMPLATE.sub(
            "", NAME_OF_OPERATOR.sub("operator", self.statement)))
        return "=" in head or re.search(r"[\w>]$", self.statement)

    def declare(self, ending):
        head = " ".join(self.statement.split())
        # The name behind the brace of C's `typedef struct` says nothing new.
        if self.scopes[-1] == "open" and not re.fullmatch(r"\w*", head):
            # A comment speaks for all members up to the next empty line, and
            # for the functions of a family: overloads, makeAVerb and makeBVerb.
            is_member = ending == ";" and not is_function(head)
            family = is_function(head) and family_of(head)
            is_covered = self.run_is_documented and (
                family == self.family if family else
                is_member and not self.family)
            self.found.append((
                self.first + 1, head + ending,
                self.is_documented or self.is_trailed or is_covered))
            self.run_is_documented |= self.is_documented
            if self.is_documented:
                self.family = family

    def end(self):
        self.statement, self.is_documented = "", False

    def open_brace(self):
        head = " ".join(TEMPLATE.sub("", self.statement).split())
        scope = TYPE.search(head)
        is_type = scope and "(" not in without_parentheses(head) and \
            "=" not in head
        kind = "namespace" if head == "extern" else \
            scope[1] if is_type else "body"
        if kind == "body" and self.is_initialized():
            self.skipped, self.ends_with_brace = 1, False
            return
        if kind != "namespace":
            self.declare("")
            self.run_is_documented &= kind in ("body", "enum")
        if kind in ("body", "enum"):
            self.skipped, self.ends_with_brace = 1, True
            return
        opens = {"namespace": "open", "class": "private"}.get(kind, "open")
        self.scopes.append(opens if self.scopes[-1] == "open" else "closed")
        self.end()


def room_of(path):
    """Where a header is counted: public ones of a room apart from its own."""
    parts = path.removeprefix("runtime/include/divisi/").split("/")
    return "/".join(parts[1:3] if parts[0] == "include" else parts[:2])


def undocumented():
    """{room: [declarations without ///]} and {room: how many in all}."""
    missing, total = {}, Counter()
    for path in tracked(".h", ".hpp"):
        if path.startswith(UNDOCUMENTED):
            continue
        room = room_of(path)
        for line, head, documented in Declarations(read(path)).found:
            if OBVIOUS.search(head):
                continue
            total[room] += 1
            if not documented:
                missing.setdefault(room, []).append(f"{path}:{line}: {head}")
    return missing, total


def test_declarations_are_documented(capsys):
    missing, total = undocumented()
    lacking = {room: len(found) for room, found in missing.items()}
    percent = ", ".join(
        f"{room} {100 - 100 * lacking.get(room, 0) / total[room]:.0f}"
        for room in sorted(total))
    whole = 100 - 100 * sum(lacking.values()) / sum(total.values())
    with capsys.disabled():
        print(f"\ncounted: declarations in headers: {sum(total.values())}, "
              f"documented {whole:.1f} % ({percent})")
    assert not missing, "\n".join(sum(missing.values(), []))


# Banners and guards.

def guard_of(path):
    """DIVISI_ and the path in capitals, from the include root on."""
    for root in ("include/divisi/", "runtime/include/divisi/"):
        path = path.removeprefix(root)
    return "DIVISI_" + re.sub(r"\W", "_", path).upper()


def title_line(path, title):
    """`//===- Name.h - Title ---*- C++ -*-===//`, 80 columns wide."""
    mode = MODE.get(Path(path).suffix, "")
    start = f"//===- {Path(path).name} " + (f"- {title} " if title else "")
    rest = 80 - len(start) - len(mode) - len("===//")
    return start + "-" * rest + mode + "===//" if rest >= 0 else None


def title_of(text):
    """The title of a file ("" if it has none); None if the file does not begin
    with a title line, the end of which may stand on the next."""
    line = re.match(r"//===-+ [^ ]+ (- )?(.*?) ?"
                    r"(?:-*\*- *[\w+]+\n?(?:// ?)? ?-\*)?[-=/]*\n", text)
    if not line:
        return None
    return line[2].strip(" -") if line[1] else ""


def with_banner(path, text):
    title = title_of(text)
    line = None if title is None else title_line(path, title)
    end = re.search(r"^//===-{60,}===//\n", text, re.M)
    return line and end and line + "\n" + BANNER + text[end.end():]


def with_guard(path, text):
    if not path.endswith((".h", ".hpp", ".td")):
        return text
    guard = guard_of(path)
    old = re.search(r"^#ifndef (\w+)\n#define \1\b", text, re.M)
    if not old:
        return None
    body = text[:old.start()] + f"#ifndef {guard}\n#define {guard}" + \
        text[old.end():]
    ending = "#endif // " + guard
    if re.search(r"^#endif[^\n]*\n*\Z", body, re.M):
        return re.sub(r"^#endif[^\n]*\n*\Z", ending + "\n", body, flags=re.M)
    return None


def unified(path, text):
    """The file with the one banner and guard; None if it has none to mend."""
    text = with_banner(path, text)
    return text and with_guard(path, text)


def test_banners_and_guards_are_one():
    files = tracked(".h", ".hpp", ".cpp", ".td")
    other = [path for path in files if unified(path, read(path)) != read(path)]
    assert not other, "run test/style_test.py --fix on:\n" + "\n".join(other)


# The script itself.

def test_functions_are_measured():
    code = ("namespace a {\nint f(int x) {\n  if (x) {\n    return 1;\n  }\n"
            "  return 2;\n}\nstruct S {\n  int g() const { return 1; }\n};\n"
            "const int t[] = {\n  1};\n}\n")
    assert list(functions(code)) == [(2, 7), (9, 9)]


def test_declarations_are_found():
    code = ("#ifndef A\nnamespace d {\n/// Good.\nint f();\nint g();\n"
            "class C {\npublic:\n  int h() const { return x; }\n"
            "  /// Said.\n  int i(int a,\n        int b);\n"
            "private:\n  int x;\n};\nstruct P {\n  int a; ///< This.\n"
            "  int b;\n};\n}\n")
    assert [head for _, head, said in Declarations(code).found
            if not said] == ["int g();", "class C", "int h() const",
                             "struct P", "int b;"]


def test_bodies_and_initializers_are_no_declarations():
    code = ("struct S {\n  S(int a) : a_{a}, b_(1) { use(a); }\n"
            "  int c{1};\n  std::array<int, 2> d = {1, 2};\n"
            "  template <int N = 2> int e() {\n"
            "    for (int i = 0; (i = f()) != N;) {\n      g();\n    }\n"
            "    return 1;\n  }\n};\nenum class E : int { A, B };\n"
            "inline auto h = [](int i) { return i; };\n")
    assert [head for _, head, _ in Declarations(code).found] == [
        "struct S", "S(int a) : a_, b_(1)", "int c;",
        "std::array<int, 2> d =;", "template <int N = 2> int e()",
        "enum class E : int", "inline auto h = [](int i);"]


def test_guards_follow_paths():
    assert guard_of("include/divisi/Support/Status.h") == \
        "DIVISI_SUPPORT_STATUS_H"
    assert guard_of("lib/Driver/Flags.h") == "DIVISI_LIB_DRIVER_FLAGS_H"
    assert guard_of("dialects/NN/NN.h") == "DIVISI_DIALECTS_NN_NN_H"
    assert guard_of("runtime/include/divisi/runtime/device/Box.h") == \
        "DIVISI_RUNTIME_DEVICE_BOX_H"


def test_titles_are_80_wide():
    assert len(title_line("lib/A.h", "What it is")) == 80
    for path in ("lib/A.td", "lib/A.h", "lib/A.cpp"):
        assert title_of(title_line(path, "What it is") + "\n") == "What it is"
    assert title_of("//===- A.h - What it is -*- C++\n//-*-===//\n//\n") == \
        "What it is"
    assert title_of("//===- A.cpp -------===//\n") == ""
    assert title_of("#include <vector>\n") is None


if __name__ == "__main__":
    assert sys.argv[1:2] == ["--fix"], __doc__
    for name in tracked(".h", ".hpp", ".cpp", ".td"):
        if len(sys.argv) == 2 or name.startswith(tuple(sys.argv[2:])):
            new = unified(name, read(name))
            if new is None:
                print(f"{name}: mend its title or guard by hand")
            elif new != read(name):
                (ROOT / name).write_text(new, encoding="utf-8")
