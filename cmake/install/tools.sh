#!/usr/bin/env bash
# Fetches what makes installed trees and wheels (cmake/install/tools.txt), into a
# virtual environment beside the prefix of setup.sh, which comes first.
#
#   tools.sh            fetch what is missing; quick when nothing is
#   tools.sh --prefix   print where it is and stop
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
hash="$(sha256sum <"$here/tools.txt" | cut -c1-12)"
prefix="$(dirname "$(bash "$here/../setup.sh" --prefix)")/install-$hash"

case "${1:-}" in
  --prefix) echo "$prefix"; exit ;;
  "") ;;
  *) echo "setup: error: unknown argument '$1'" >&2
     echo "setup: it takes --prefix, or nothing" >&2
     exit 1 ;;
esac

if [ -e "$prefix/stamp" ]; then
  exit
fi
echo "setup: what makes installed trees and wheels into $prefix"
mkdir -p "$prefix"
exec 9>"$prefix/lock"
flock 9
[ ! -e "$prefix/stamp" ] || exit 0
/usr/bin/python3 -m venv "$prefix"
"$prefix/bin/pip" -q install --require-hashes --no-deps --only-binary :all: \
  -r "$here/tools.txt" || {
  echo "setup: error: pip could not install cmake/install/tools.txt" >&2
  echo "setup: check that pip reaches its package index, then run this again" >&2
  exit 1
}
touch "$prefix/stamp"
