"""What `make prove` has proved is what ships: the hashes of the rules, of the
axioms, of the prover's sources and of what it has written are those that it has
put down in rules/proved.sums, which nothing else writes.

    python test/proved_test.py     writes it, as the last step of `make prove`
"""

import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUMS = ROOT / "rules" / "proved.sums"
HEAD = "# Written by `make prove`: what was proved last.\n"
# What is proved, from what, by what, and what was said of it. The generator of
# rules proves nothing by itself.
FOLDERS = {
    "rules": [("rules", "*.rules")],
    "axioms": [("rules/axioms", "*.rules")],
    "prover": [("lib/Prove", "**/*.cpp"), ("lib/Prove", "**/*.h"),
               ("lib/Rules", "*.cpp"), ("lib/Rules", "*.h"),
               ("include/divisi/Prove", "*.h"),
               ("include/divisi/Rules", "*.h")],
    "record": [("rules", "proofs.txt"), ("docs", "rules.md")],
}
# A string or a character is kept, a comment is not.
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*')


def tokens(text):
    """C++ without comments, includes and spaces: a file that is moved, or that
    says the same in better words, is what it was."""
    text = re.sub(r"^#\s*(include|ifndef DIVISI_|define DIVISI_|endif).*$", "",
                  text, flags=re.M)
    text = TOKEN.sub(
        lambda m: "" if m[0].startswith("//") else m[0], text)
    return re.sub(r"\s+", "", text)


def digest(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".cpp", ".h"):
        text = tokens(text)
    if path.suffix == ".md":
        text = "\n".join(line for line in text.splitlines()
                         if re.match(r"\| (?!rule \|)", line))
    return hashlib.sha256(text.encode()).hexdigest()


def sums(root=ROOT):
    """A line for each of FOLDERS; which file has which name does not matter."""
    lines = [HEAD]
    for what, places in FOLDERS.items():
        digests = []
        for folder, pattern in places:
            found = list((root / folder).glob(pattern))
            assert found, f"{folder} has no {pattern}; see FOLDERS"
            digests += [digest(path) for path in found]
        whole = hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()
        lines.append(f"{what} {whole[:16]}\n")
    return "".join(lines)


def test_all_that_ships_was_proved():
    proved = dict(line.split() for line in SUMS.read_text().splitlines()[1:])
    now = dict(line.split() for line in sums().splitlines()[1:])
    changed = [what for what in now if now[what] != proved.get(what)]
    assert not changed, (
        f"{', '.join(changed)} changed since all rules were proved: run "
        "'make prove', which writes rules/proved.sums")


def test_comments_and_places_are_no_change():
    text = '#include "a.h"\nint f() { return "//"[0]; } // why\n'
    assert tokens(text) == 'intf(){return"//"[0];}'
    assert tokens(text) == tokens('int f() {\n  return "//"[0];\n}\n')
    assert tokens(text) != tokens(text.replace("//\"", "/*\""))


if __name__ == "__main__":
    SUMS.write_text(sums(), encoding="utf-8")
    print(f"wrote {SUMS.relative_to(ROOT)}", file=sys.stderr)
