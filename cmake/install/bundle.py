"""Makes an installed tree need nothing of this machine but what every Linux has.

    bundle.py TREE [--strip] [--patchelf PROGRAM]

Each library that something in bin, libexec or lib of TREE needs, and which is not
in SYSTEM, is copied to lib under a name of its own: libgomp.so.1 becomes
libgomp-divisi.so.1, in its soname too, so that a process that has loaded another
one of that name has both. What needs it asks for it by that name and looks in lib
alone. Plug-ins that speak to the machine's MPI and PMIx keep asking for those.
What Debian says of the licence of each goes with it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# As manylinux has it: of glibc and GCC, and compatible with what is older.
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-x86-64|"
                    r"libgcc_s|libstdc\+\+)\.so\.\d+")
# Of the machine: they are the same in all of its processes.
MACHINE = re.compile(r"(libmpi|libpmix)\.so\.\d+")

# Debian's packages of what the programs have linked as archives.
LINKED = ("libllvm22", "libsodium-dev")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bundle: error: {' '.join(map(str, command))}: "
                 f"{done.stderr.strip()}")
    return done.stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def elves(tree):
    """What is of ELF in the tree, once where links name it."""
    return sorted(path for folder in ("bin", "libexec", "lib")
                  for path in (tree / folder).glob("*")
                  if path.is_file() and not path.is_symlink() and is_elf(path))


def owner(path):
    """Debian's package of a file, which it may know without /usr."""
    for known in (path, Path("/") / path.relative_to("/usr")):
        done = subprocess.run(["dpkg", "-S", known], capture_output=True,
                              text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    sys.exit(f"bundle: error: '{path}' is of no package, so its licence is not "
             "known; run 'make setup'")


def private(name):
    """libhighs.so and libz3.so.5.4 to libhighs-divisi.so, libz3-divisi.so.5.4."""
    stem, ending = name.split(".so", 1)
    return f"{stem}-divisi.so{ending}"


class Bundle:
    """The tree while it is changed."""

    def __init__(self, tree, patchelf):
        self.tree, self.patchelf = tree, patchelf
        self.names = {}  # Of libraries, to those of their copies.

    def edit(self, path, *options):
        run(self.patchelf, *options, path)

    def needed(self, path):
        return run(self.patchelf, "--print-needed", path).split()

    def locate(self, name, user):
        """The file of a library: that of the tree, or as the loader finds it for
        `user`, which looks for others in its own folders."""
        if (self.tree / "lib" / name).exists():
            return self.tree / "lib" / name
        found = re.search(rf"^\s*{re.escape(name)} => (/\S+)", run("ldd", user),
                          re.M)
        if not found:
            sys.exit(f"bundle: error: '{user}' needs {name}, which is nowhere; "
                     "run 'make setup'")
        return Path(found[1])

    def license(self, package):
        """A copy of what Debian says, beside the other licences."""
        target = self.tree / "share/doc/divisi/licenses"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(f"/usr/share/doc/{package}/copyright",
                        target / f"{package}.txt")

    def add(self, name, user):
        """The name of the copy of a library, which is made if it is not there."""
        if name not in self.names:
            source = self.locate(name, user)
            mine = self.tree / "lib" / private(name)
            if source.parent == mine.parent:
                source.rename(mine)
            else:
                shutil.copyfile(source, mine)
                self.license(owner(source.resolve()))
            mine.chmod(0o755)
            self.names[name] = mine.name
            self.edit(mine, "--set-soname", mine.name)
            self.rename(mine, user)
        return self.names[name]

    def rename(self, path, user=None):
        """Lets a file ask for copies."""
        options = ["--set-rpath", "$ORIGIN" if path.parent.name == "lib"
                   else "$ORIGIN/../lib"]
        of_machine = False
        for name in self.needed(path):
            if MACHINE.fullmatch(name):
                of_machine = True
            elif not SYSTEM.fullmatch(name) and "-divisi.so" not in name:
                options += ["--replace-needed", name,
                            self.add(name, user or path)]
        if not of_machine:
            self.edit(path, *options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--patchelf", default="patchelf")
    parser.add_argument("--strip", action="store_true",
                        help="keep no symbols but those that others use")
    arguments = parser.parse_args()
    bundle = Bundle(arguments.tree.resolve(), arguments.patchelf)
    for path in elves(bundle.tree):
        if path.name not in bundle.names and path.exists():
            bundle.rename(path)
    for package in LINKED:
        bundle.license(package)
    if arguments.strip:
        for path in elves(bundle.tree):
            run("strip", "--strip-unneeded", path)


if __name__ == "__main__":
    main()
