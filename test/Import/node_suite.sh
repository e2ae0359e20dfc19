#!/usr/bin/env bash
# All of ONNX's tests of single nodes, on one device and on four: what `make
# node-suite` does. DIVISI_BUILD and DIVISI_PYTHON come from the Makefile;
# arguments are those of node_suite.py.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
export DIVISI_BUILD="${DIVISI_BUILD:-$here/../../build}"
prefix="$(bash "$here/../../cmake/setup.sh" --prefix)"
exec "${DIVISI_PYTHON:-$prefix/venv/bin/python}" "$here/node_suite.py" "$@"
