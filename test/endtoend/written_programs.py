"""Programs that are written by hand say what the files are that they read, as
dumps do: nothing else is read."""

import hashlib
import re


def write_program(path, text):
    """Writes `text` to `path`; the files that it names lie beside it."""
    names = sorted(set(re.findall(r'from "([^":]+)"', text)))
    found = [(name, (path.parent / name).read_bytes()) for name in names]
    files = ", ".join(f'"{name}" = {{bytes = {len(data)} : i64, sha256 = '
                      f'"{hashlib.sha256(data).hexdigest()}"}}'
                      for name, data in found)
    path.write_text(f"module attributes {{divisi.files = {{{files}}}}} {{\n"
                    f"{text}}}\n" if files else text)
