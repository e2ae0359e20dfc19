"""No name from a file makes a terminal do anything, or a line of its own."""

import json
import os
import pty
import re
import subprocess

import numpy as np
import onnx
import pytest
from bad_models import graph, save, value
from conftest import PROGRAM, ROOT, Divisi
from onnx import helper, numpy_helper

USAGE, FILES, CONTENT, DIFFERS = 2, 3, 4, 8
# A control sequence after ESC, and after its single character in UTF-8; the
# bell, a delete; a mark that reverses what follows, and one that shows nothing;
# a line that looks like one of ours.
EVIL = "\x1b[31m\x9b2J\x07\x7f\u202e\u200b\ndivisi: error: forged"
ESCAPED = (r"\x1b[31m\xc2\x9b2J\x07\x7f\xe2\x80\xae\xe2\x80\x8b\x0a"
           "divisi: error: forged")
FORGED = re.compile("^ *divisi: error: forged", re.M)
OBEYED = re.compile("[^\\n -~\xa1-\u1fff\u2010-\u2027\u2030-\u205f"
                    "\u2070-\ufefe]")


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A model whose every name is evil, and what becomes of it."""
    divisi = Divisi(tmp_path_factory.mktemp("named"))
    weight = numpy_helper.from_array(np.ones((3, 4), np.float32), "w" + EVIL)
    proto = graph(
        [helper.make_node("MatMul", ["x" + EVIL, "w" + EVIL], ["h" + EVIL],
                          "/a" + EVIL + "/product"),
         helper.make_node("Relu", ["h" + EVIL], ["y" + EVIL],
                          "/a" + EVIL + "/relu")],
        inputs=[value("x" + EVIL, (2, 3))],
        outputs=[value("y" + EVIL, (2, 4))], weights=[weight])
    save(divisi.folder, proto)
    np.savez(divisi.path("good.npz"),
             **{"x" + EVIL: np.ones((2, 3), np.float32)})
    np.savez(divisi.path("other.npz"), **{EVIL: np.ones(1, np.float32)})
    np.savez(divisi.path("bad.npz"),
             **{"y" + EVIL: np.zeros((2, 4), np.float32)})
    divisi.path("c.yaml").write_text('name: c\ndevices: []\nlevels: []\n"a\\e]0;b": 1\n')
    yaml = divisi("cluster", "cpu:2").out
    level = "c\\ndivisi: error: forged"
    divisi.path("named.yaml").write_text(
        yaml.replace("'cpu:2'", f'"{level}"'))
    divisi.path("level.yaml").write_text(
        yaml.replace("name:            machine", f'name: "{level}"')
            .replace("fanout:          2", "fanout: 0"))
    divisi.path("bad.mlir").write_text(
        'module { func.func @"f\\1B[2J\\0Adivisi: error: forged"() -> i32 '
        '{ return } }')
    divisi.path("bad.rules").write_text("rule a { summary \"" + EVIL.split("\n")[0] + "\" }")
    divisi.path(f"{EVIL}.onnx").write_bytes(b"")
    divisi("compile", "m.onnx", "--devices", 2, "-o", "m.divisi")
    divisi("compile", "m.onnx", "--devices", 2, "-o", f"{EVIL}.divisi")
    return divisi


def is_shown(result, text):
    """`text` is in what was printed, and nothing that a terminal obeys."""
    printed = result.out + result.err
    found = OBEYED.search(printed)
    assert not found, result.report(f"it holds {found.group()!r}")
    assert not FORGED.search(printed), result.report("a line is forged")
    assert text in printed, result.report(f"it does not say {text!r}")


@pytest.mark.parametrize("code, shown, command", [
    (0, ESCAPED, ["explain", "m.onnx", "--devices", "2"]),
    (0, ESCAPED, ["explain", "m.divisi"]),
    (0, ESCAPED, ["check", "m.onnx", "--devices", "2", "--inputs",
                  "good.npz"]),
    (0, ESCAPED, ["run", "m.divisi", "--inputs", "good.npz", "-o", "y.npz",
                  "--verbose"]),
    (CONTENT, ESCAPED, ["run", "m.divisi", "--inputs", "other.npz",
                        "-o", "y.npz"]),
    (USAGE, ESCAPED, ["compile", "m.onnx", "--shape", "z=2x3",
                      "-o", "n.divisi"]),
    (CONTENT, r"@f\x1b[2J\x0adivisi: error: forged",
     ["compile", "bad.mlir", "-o", "n.divisi"]),
    (CONTENT, ESCAPED, ["compile", f"{EVIL}.onnx", "-o", "n.divisi"]),
    (CONTENT, r"\x1b]0;b", ["plan", "m.onnx", "--cluster", "./c.yaml",
                            "-o", "p.mlir"]),
    (CONTENT, "holds characters that are not shown; remove them",
     ["prove", "bad.rules"]),
    (0, ESCAPED, ["explain", "m.divisi", "--why", "*"]),
    (USAGE, ESCAPED, ["explain", "m.divisi", "--why", "none"]),
    (DIFFERS, ESCAPED, ["check", "m.divisi", "--inputs", "good.npz",
                        "--expect", "bad.npz"]),
    (0, ESCAPED, ["bench", f"{EVIL}.divisi", "--repeat", "1"]),
    (CONTENT, r"'c\x0adivisi: error: forged'",
     ["plan", "m.onnx", "--cluster", "./level.yaml", "-o", "p.mlir"]),
    (0, r"cluster c\x0adivisi: error: forged",
     ["explain", "m.onnx", "--cluster", "./named.yaml", "--devices", "2"]),
    (0, r"w\1B[31m\C2\9B2J", ["plan", "m.onnx", "--devices", "2", "-o", "-"]),
], ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "")
def test_names_are_escaped(named, code, shown, command):
    is_shown(named(*command, exits=code), shown)


def test_json_holds_the_names_themselves(named):
    result = named("explain", "m.onnx", "--devices", 2, "--json")
    is_shown(result, r"\u202e\u200b")
    seen = []
    json.loads(result.out, object_hook=lambda row: seen.extend(
        text for text in row.values() if isinstance(text, str)))
    assert any(EVIL in text for text in seen)


def test_progress_on_a_terminal_moves_nothing_but_its_line(named):
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [PROGRAM, "plan", "m.onnx", "--devices", "2", "-o", "p.mlir"],
        cwd=named.folder, stdin=subprocess.DEVNULL, stdout=theirs,
        stderr=theirs, timeout=60)
    os.close(theirs)
    text = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 0, text
    text = text.replace("\r\x1b[K", "").replace("\r\n", "\n")
    assert not OBEYED.search(text), repr(text)


def test_verbs_print_through_the_console():
    """lib/Driver/Console.h escapes; the line of progress moves its cursor."""
    prints = re.compile(r"\b(errs|outs)\(\)|std::(cout|cerr|clog)\b|"
                        r"\bf?printf\(|\bf?puts\(")
    printers = {path.name for room in ("dialects", "lib", "passes")
                for path in (ROOT / room).rglob("*.cpp")
                if prints.search(path.read_text())}
    # What tools say as they end, they say themselves.
    assert printers == {"Console.cpp", "ProgressLine.cpp", "Program.cpp"}
    # What holds names is a Message: the table of an answer, and help, do not.
    talkers = {path.name for path in (ROOT / "lib").rglob("*.cpp")
               if "textErr()" in path.read_text()}
    assert talkers == {"Console.cpp", "ProgressLine.cpp", "SolveVerb.cpp",
                       "Tool.cpp"}
