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
TOOLS = ["divisi", "divisi-opt", "list-importers"]
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

    def make(self, fault):
        own = [fault.entry] if fault.entry in self.targets() else TOOLS
        return self.run("cmake", "--build", "build", "--target", *own,
                        *fault.build)

    def test(self, fault):
        """Whether the tests pass."""
        chosen = {"GTEST_FILTER": fault.filter, "LIT_FILTER": fault.filter,
                  "PYTEST_ADDOPTS": f"-k '{fault.filter}'"}
        code, text = self.run(
            "ctest", "--test-dir", "build", "-R", f"^{fault.entry}$",
            "--output-on-failure", "--no-tests=error", "--timeout", "600",
            **(chosen if fault.filter else {}))
        return code == 0, text


def main(names):
    everything = faults()
    chosen = [each for each in everything if not names or each.name in names]
    unknown = set(names) - {each.name for each in everything}
    if unknown or not chosen:
        sys.exit(f"there is no fault {sorted(unknown)}")
    build = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
    tree = Tree(build / "faults")
    passes, missed = {}, []
    for fault in chosen:
        begin = time.monotonic()
        tree.git("checkout", "-q", "--force", ".")
        key = (fault.entry, fault.filter)
        if key not in passes:
            code, text = tree.make(fault)
            assert code == 0, text
            passes[key], text = tree.test(fault)
            assert passes[key], f"{fault.entry} fails without a fault:\n{text}"
        wrong = apply(fault, tree.root)
        assert not wrong, f"{fault.name} does not apply:\n{wrong}"
        code, text = tree.make(fault)
        assert code == 0, f"{fault.name} does not compile:\n{text[-3000:]}"
        isCaught = not tree.test(fault)[0]
        print(f"{'caught' if isCaught else 'MISSED'}  {fault.name:18} by "
              f"{fault.entry} {fault.filter} ({time.monotonic() - begin:.0f} s):"
              f" {fault.what}", flush=True)
        missed += [] if isCaught else [fault.name]
    tree.git("checkout", "-q", "--force", ".")
    print(f"counted: planted faults: {len(chosen)}, caught "
          f"{len(chosen) - len(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
