"""Every message of the sources is expected by a test.

A message is a statement outside of test/ with a string literal of prose in it
(two words at least): what a verifier, a reader, a flag or a report can say. It
counts as expected if its longest literal piece stands in what some test
expects: in an `expected-…` or CHECK line of a .mlir file, or in a string of a
.py, .cpp or .h file. Of a long piece a run of RUN characters is enough.

messages.txt lists, with reasons, what no input can provoke.

    python test/messages_test.py [PATH…]    what no test expects, by file
"""

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_name("messages.txt")
SOURCES = ["dialects", "include", "lib", "passes", "runtime", "tools"]
# So much of a long piece has to be expected.
RUN = 24
# How many messages may stand under "not yet provoked"; only ever lowered.
MOST_NOT_YET = 8

# What is no message: said to a developer of Divisi, or the help of a flag.
NO_MESSAGE = {"assert", "static_assert", "llvm_unreachable", "LLVM_DEBUG"}
HELP = {"desc", "value_desc", "setDescription", "SubCommand", "Verb",
        "ModelVerb", "MlirOptMain", "PassPipelineRegistration",
        "registerPassPipeline", "registerCLIOptions"}
# A shorter piece is the label of a place ("operand ", " of "), no message.
SHORTEST = 8

TOKEN = re.compile(r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<raw> R"(?P<mark>[^(\s]*)\( .*? \)(?P=mark)" )
  | (?P<string> "(?:[^"\\\n]|\\.)*" )
  | (?P<char> '(?:[^'\\\n]|\\.)+' )
  | (?P<number> \d(?:'?[\w.])* )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<space> \s+ )
  | (?P<other> . )
""", re.X | re.S)


@dataclass(frozen=True)
class Message:
    path: str
    line: int
    pieces: tuple

    @property
    def text(self):
        """How messages.txt names it, wherever it stands."""
        return " … ".join(self.pieces)

    @property
    def key(self):
        """The piece by which a test must know it."""
        return max(self.pieces, key=len)


def plain(text):
    """Without escapes and runs of spaces, in sources and tests alike."""
    text = re.sub(r"\\[nt]", " ", text)
    return re.sub(r"\s+", " ", text.replace("\\", ""))


def split_at_holes(literal):
    """The pieces of a format string: what stands between {0}, %d."""
    pieces = re.split(r"\{\d[^}]*\}|%[-.\d]*[a-z]+\b", literal)
    return [piece for piece in map(plain, pieces) if piece.strip()]


def statements(text):
    """Yields the tokens of each statement as (kind, text, line); an entry of a
    braced list is one of its own."""
    line, tokens, open_brackets = 1, [], []
    for match in TOKEN.finditer(text):
        kind, token = match.lastgroup, match.group()
        kind = "raw" if match.group("raw") else kind
        if kind in ("string", "raw", "word", "other"):
            inside = open_brackets[-1:] == ["{"]
            if kind == "other" and token in "([{":
                open_brackets.append(token)
            elif kind == "other" and token in ")]}" and open_brackets:
                open_brackets.pop()
            if kind == "other" and (token in "{};" or token == "," and inside):
                yield tokens
                tokens = []
            else:
                tokens.append((kind, token, line))
        line += token.count("\n")
    yield tokens


def literals(tokens):
    """The string literals of a statement; neighbours are joined."""
    result, was_string = [], False
    for kind, token, _ in tokens:
        is_string = kind in ("string", "raw")
        if is_string:
            value = (token[1:-1] if kind == "string"
                     else token[token.index("(") + 1:token.rindex(")")])
            if was_string:
                result[-1] += value
            else:
                result.append(value)
        was_string = is_string
    return result


def is_prose(piece):
    return len(piece.strip()) >= SHORTEST and bool(re.search(
        r"[A-Za-z',]{2,} \(?'?[A-Za-z]|^ [a-z]{2,}|[a-z]{3,}:? $", piece))


def messages_of(path, text):
    """The messages of one source file."""
    text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
    for tokens in statements(text):
        words = {token for kind, token, _ in tokens if kind == "word"}
        if words & NO_MESSAGE or words & HELP:
            continue
        pieces = [piece for literal in literals(tokens)
                  for piece in split_at_holes(literal)]
        if any(map(is_prose, pieces)):
            line = next(line for kind, _, line in tokens
                        if kind in ("string", "raw"))
            yield Message(str(path), line, tuple(pieces))


def all_messages(root=ROOT):
    found = []
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                found += messages_of(path.relative_to(root),
                                     path.read_text(encoding="utf-8"))
    return found


def expectations_of(path, text):
    """The texts that a test file expects."""
    if path.suffix == ".mlir":
        yield from re.findall(r"expected-\w+[^{\n]*\{\{(.*?)\}\}\s*$", text, re.M)
        yield from re.findall(r"//\s*[A-Z][A-Z\d_-]*(?:-[A-Z]+)?: *(.*)$", text,
                              re.M)
    elif path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
    else:
        for tokens in statements(text):
            yield from literals(tokens)


class Expected:
    """All that the tests expect, made to be searched."""

    def __init__(self, texts):
        # A hole in a pattern is a hole in the message.
        self.text = "\n".join(
            plain(re.sub(r"\.\*|\{\{.*?\}\}|\[\[.*?\]\]", "\n", text))
            for text in texts).replace("\n ", "\n")
        self.runs = {self.text[i:i + RUN] for i in range(len(self.text))}

    def __contains__(self, message):
        key = message.key.strip(" ,;:.'")
        if len(key) <= RUN:
            return key in self.text
        return any(key[i:i + RUN] in self.runs
                   for i in range(len(key) - RUN + 1))


def read_expected(root=ROOT):
    texts = []
    for path in sorted((root / "test").rglob("*")):
        if path.suffix in (".mlir", ".py", ".cpp", ".h") and \
                path != Path(__file__).resolve():
            texts += expectations_of(path, path.read_text(encoding="utf-8"))
    return Expected(texts)


def read_list(text):
    """{message text: reason} under each heading of messages.txt."""
    lists, reason, heading = {}, "", None
    for line in text.splitlines():
        if line.startswith("["):
            heading, reason = line.strip("[]"), ""
            lists[heading] = {}
        elif line.startswith("#"):
            reason = line.strip("# ")
        elif line and heading:
            lists[heading][line] = reason
    return lists


def test_every_message_is_expected(capsys):
    messages = all_messages()
    lists = read_list(LIST.read_text(encoding="utf-8"))
    never, not_yet = lists["cannot be provoked"], lists["not yet provoked"]
    expected = read_expected()
    counts = {"expected": 0, "never": 0, "not yet": 0}
    missing, listed = [], set()
    for message in messages:
        where = "expected" if message in expected else (
            "never" if message.text in never else
            "not yet" if message.text in not_yet else None)
        if where:
            counts[where] += 1
            listed |= {message.text} if where != "expected" else set()
        else:
            missing.append(f"{message.path}:{message.line}: {message.text}")
    with capsys.disabled():
        print(f"\ncounted: messages: {len(messages)}, expected by a test "
              f"{counts['expected']}, cannot be provoked {counts['never']}, "
              f"not yet provoked {counts['not yet']}")
    assert not missing, "no test expects:\n" + "\n".join(missing)
    stale = (set(never) | set(not_yet)) - listed
    assert not stale, "messages.txt lists what is expected or gone:\n" + \
        "\n".join(sorted(stale))
    assert all(never.values()), "an entry of messages.txt has no reason"
    assert len(not_yet) <= MOST_NOT_YET


# The script itself.

def pieces_of(source):
    return [message.pieces for message in messages_of("a.cpp", source)]


def test_messages_are_found_in_every_form():
    assert pieces_of('emitOpError("has ") << n << " loops, expected " << m;') \
        == [("has ", " loops, expected ")]
    assert pieces_of('return fail("no axis \'" + name + "\'");') \
        == [("no axis '", "'")]
    assert pieces_of('fail(formatv("{0} is larger than {1} bytes", a, b));') \
        == [(" is larger than ", " bytes")]
    assert pieces_of('const Row rows[] = {{"a", "is too large"}, '
                     '{"b", "is too small"}};') \
        == [("is too large",), ("is too small",)]
    assert pieces_of('return "one " // why\n  "message";') == [("one message",)]


def test_what_is_no_message_is_left_out():
    assert not pieces_of('assert(x && "must be so");')
    assert not pieces_of('#include "a b.h"\nkernel("nn.matmul");')
    assert not pieces_of('cl::opt<bool> quiet("quiet", cl::desc("say less"));')
    assert not pieces_of("// fail(\"not a message\");\n")


def expects(path, text, *pieces):
    return Message("a.cpp", 1, pieces) in Expected(
        expectations_of(Path(path), text))


def test_expectations_are_read_from_every_kind_of_test():
    assert expects("t.mlir", "// expected-error @+1 {{has 3 loops}}", " loops")
    assert expects("t.mlir", "// ERR: error: got a tensor", "got a tensor")
    assert expects("t.py", 'CASES = [("x", r"got \\(a\\) "\n"tensor")]',
                   "got (a) tensor")
    assert expects("t.cpp", 'EXPECT_EQ(m, "got a " "tensor");', "got a tensor")
    assert not expects("t.cpp", "// got a tensor", "got a tensor")
    assert not expects("t.mlir", "nn.add // got a tensor", "got a tensor")


def test_a_run_of_a_long_piece_is_enough():
    long = "shapes are static: make it a constant, or give it a size"
    assert expects("t.py", f"x = {long[5:40]!r}", long)
    assert not expects("t.py", f"x = {long[5:25]!r}", long)


if __name__ == "__main__":
    tests = read_expected()
    for found in all_messages():
        if found not in tests and (len(sys.argv) == 1 or any(
                found.path.startswith(path) for path in sys.argv[1:])):
            print(f"{found.path}:{found.line}: {found.text}")
