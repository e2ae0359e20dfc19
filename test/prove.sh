#!/usr/bin/env bash
# What `make prove` does: proves all rules, writes which of them are proved, asks
# the prover all that has a known answer, and, when that went well, writes down
# what was proved (proved_test.py). DIVISI_BUILD and DIVISI_PYTHON come from the
# Makefile.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
record="$here/../rules/proofs.txt"
before="$(cat "$record")"
"$DIVISI_PYTHON" "$here/../docs/generate_rules.py"
if [ "$before" != "$(cat "$record")" ]; then
  cmake --build "$DIVISI_BUILD" # which has the record in the program
fi
DIVISI_TEST_SHARE=1 ctest --test-dir "$DIVISI_BUILD" -L prove -j $((2 * $(nproc))) \
  --output-on-failure --no-tests=error --timeout 3600
"$DIVISI_PYTHON" "$here/proved_test.py"
