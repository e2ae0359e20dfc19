"""Plants each fault of test/faults/ and expects the tests to catch it: what
`make faults` does.

    DIVISI_BUILD=build python test/planted_faults.py [NAME...]

A fault is a patch of one source file. In front of its diff it says

    Fault: what is wrong then
    Entry: the entry of ctest that catches it
    Filter: which of its cases do (of gtest, of pytest by -k, or files of lit)
    Build: targets that the entry needs beside those that are known

The last two may be left out. It is planted in a work tree of its own at HEAD, in
DIVISI_BUILD/faults, whose build is kept; tests run as `make test` runs them.
Each entry has to pass without the fault and to fail with it.
"""

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAULTS = ROOT / "test" / "faults"
TOOLS = ["divisi", "divisi-opt", "divisi-rules", "list-importers"]
# To build one library and link what has it.
SECONDS = 1800


@dataclass(frozen=True)
class Fault:
    name: str
    entry: str
    filter: str
    build: tuple = field(default=())
    what: str = ""
    file: str = ""
    diff: str = ""


@cache
def places(root, name):
    """Files of that name, by their paths."""
    listing = subprocess.run(["git", "ls-files", f"*/{name}"], cwd=root,
                             capture_output=True, text=True, check=True)
    return listing.stdout.split()


def read(path, root=ROOT):
    """The fault of a patch. A file that was moved is found by its name."""
    head, diff = path.read_text(encoding="utf-8").split("\n\n", 1)
    said = dict(line.split(": ", 1) for line in head.splitlines())
    [file] = re.findall(r"^\+\+\+ b/(.*)$", diff, re.M)
    if not (root / file).exists():
        found = places(root, Path(file).name)
        if len(found) == 1:
            diff, file = diff.replace(file, found[0]), found[0]
    return Fault(path.stem, said["Entry"], said.get("Filter", ""),
                 tuple(said.get("Build", "").split()), said["Fault"], file, diff)


def faults(root=ROOT):
    return [read(path, root) for path in sorted(FAULTS.glob("*.patch"))]


def apply(fault, root, *flags):
    """What git says against it."""
    done = subprocess.run(["git", "apply", *flags, "-"], cwd=root,
                          input=fault.diff, capture_output=True, text=True)
    return done.stderr if done.returncode != 0 else ""


class Tree:
    """A work tree with a build."""

    def __init__(self, folder):
        self.root = folder / "tree"
        self.build = self.root / "build"
        if self.root.exists():
            self.git("checkout", "-q", "--force", "--detach", self.head())
        else:
            subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
            subprocess.run(["git", "worktree", "add", "-q", "--detach",
                            self.root, "HEAD"], cwd=ROOT, check=True)
        self.run("cmake", "--preset", "release", "--log-level=NOTICE")

    @staticmethod
    def head():
        return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True,
                              capture_output=True, check=True).stdout.strip()

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.root, check=True)

    def run(self, *command, **environment):
        """The exit code and what is said."""
        done = subprocess.run(
            command, cwd=self.root, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=SECONDS, env={**os.environ, **environment})
        return done.returncode, done.stdout

    @cache
    def targets(self):
        _, text = self.run("cmake", "--build", "build", "--target", "help")
        return set(re.findall(r"^(\S+): phony", text, re.M))

    def make(self, entry, build):
        own = [entry] if entry in self.targets() else TOOLS
        return self.run("cmake", "--build", "build", "--target", *own, *build)

    def test(self, entry, filter):
        """Whether the tests pass, and what they say."""
        chosen = {"GTEST_FILTER": filter, "LIT_FILTER": filter,
                  "PYTEST_ADDOPTS": f"-k '{filter}'"}
        code, text = self.run(
            "ctest", "--test-dir", "build", "-R", f"^{entry}$",
            "--output-on-failure", "--no-tests=error", "--timeout", "600",
            **(chosen if filter else {}))
        return code == 0, text

    @cache
    def fails(self, entry, filter, build):
        """What the tests say if they fail without a fault."""
        code, text = self.make(entry, build)
        if code != 0:
            return text
        passes, text = self.test(entry, filter)
        return "" if passes else text


def isCaught(tree, fault):
    """Says what became of one fault."""
    begin = time.monotonic()
    tree.git("checkout", "-q", "--force", ".")
    wrong = tree.fails(fault.entry, fault.filter, fault.build)
    if wrong:
        verdict = "FAILS without it"
    elif wrong := apply(fault, tree.root):
        verdict = "DOES NOT APPLY"
    else:
        code, wrong = tree.make(fault.entry, fault.build)
        if code != 0:
            verdict = "DOES NOT COMPILE"
        else:
            wrong = ""
            passes, _ = tree.test(fault.entry, fault.filter)
            verdict = "MISSED" if passes else "caught"
    print(f"{verdict}  {fault.name:18} by {fault.entry} {fault.filter} "
          f"({time.monotonic() - begin:.0f} s): {fault.what}", flush=True)
    if wrong:
        print(wrong[-3000:], flush=True)
    return verdict == "caught"


def main(names):
    everything = faults()
    chosen = [each for each in everything if not names or each.name in names]
    unknown = set(names) - {each.name for each in everything}
    if unknown or not chosen:
        sys.exit(f"there is no fault {sorted(unknown)}")
    build = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
    tree = Tree(build / "faults")
    caught = [fault for fault in chosen if isCaught(tree, fault)]
    tree.git("checkout", "-q", "--force", ".")
    print(f"counted: planted faults: {len(chosen)}, caught {len(caught)}")
    return 0 if caught == chosen else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
