#!/usr/bin/env bash
# Fetches the headers of CUDA's libraries where CUDA's own toolkit has come
# without them (cmake/cuda.txt says which). Nothing of CUDA is linked, so the
# libraries, 600 MB of them, are thrown away again. Divisi builds without them,
# too, and then leaves products, convolutions or collectives to the host.
#
#   cuda.sh            fetch what is missing; quick when nothing is
#   cuda.sh --prefix   print where they are and stop
#
# The prefix lies beside that of setup.sh, which comes first.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
hash="$(sha256sum <"$here/cuda.txt" | cut -c1-12)"
tools="$(bash "$here/setup.sh" --prefix)"
prefix="$(dirname "$tools")/cuda-$hash"
toolkit="${CUDA_HOME:-/usr/local/cuda}/include"

case "${1:-}" in
  --prefix) echo "$prefix"; exit ;;
  "") ;;
  *) echo "setup: error: unknown argument '$1'" >&2
     echo "setup: it takes --prefix, or nothing" >&2
     exit 1 ;;
esac

missing=
for header in cublasLt.h cudnn_graph.h nccl.h nvml.h; do
  [ -e "$toolkit/$header" ] || missing="$missing $header"
done
if [ ! -e "$toolkit/cuda.h" ] || [ -z "$missing" ] ||
  [ -e "$prefix/include" ]; then
  exit
fi
echo "setup: headers of CUDA's libraries into $prefix"
mkdir -p "$prefix"
work="$(mktemp -d "$prefix/work.XXXXXX")"
trap 'rm -rf "$work"' EXIT
if ! "$tools/venv/bin/pip" -q download --require-hashes --no-deps \
  --only-binary :all: --platform manylinux_2_27_x86_64 \
  --platform manylinux_2_18_x86_64 --platform manylinux_2_17_x86_64 \
  -d "$work" \
  -r "$here/cuda.txt"; then
  echo "setup: pip could not download cmake/cuda.txt; divisi is built without" \
    "what needs$missing" >&2
  exit
fi
/usr/bin/python3 - "$work" <<'END'
import glob, sys, zipfile
[folder] = sys.argv[1:]
for path in glob.glob(folder + "/*.whl"):
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            head, found, header = name.partition("/include/")
            if found and "/" not in header and header:
                with open(f"{folder}/{header}", "wb") as file:
                    file.write(wheel.read(name))
END
mkdir "$work/include"
mv "$work"/*.h "$work/include/"
mv -T "$work/include" "$prefix/include" 2>/dev/null || true # another was first
