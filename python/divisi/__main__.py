"""`python -m divisi`, and the command `divisi` of a wheel."""

import os
import sys

from . import _libraries


def main() -> int:
    """Becomes the program divisi."""
    program = str(_libraries.program())
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        print(f"divisi: error: '{program}' cannot be started: {error.strerror}; "
              "install the wheel of Divisi again, or name a build folder by "
              "DIVISI_BUILD", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
