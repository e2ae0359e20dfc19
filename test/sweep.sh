#!/usr/bin/env bash
# Every case of the tests of which `make test` runs a share: what `make sweep` does.
# Says how many cases there are and how long each part took. DIVISI_BUILD and
# DIVISI_PYTHON come from the Makefile.
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
export DIVISI_BUILD="${DIVISI_BUILD:-$here/../build}"
prefix="$(bash "$here/../cmake/setup.sh" --prefix)"
export DIVISI_TEST_SHARE=1
export DIVISI_PYTHON="${DIVISI_PYTHON:-$prefix/venv/bin/python}"
summary=()
status=0

# part NAME COMMAND…: runs it, and notes its time and last line.
part() {
  local name="$1" begin=$SECONDS log
  shift
  log="$DIVISI_BUILD/sweep-${name// /-}.log"
  echo "sweep: $name"
  if "$@" 2>&1 | tee "$log"; then
    summary+=("passed  $((SECONDS - begin)) s  $name: $(tail -1 "$log")")
  else
    summary+=("FAILED  $((SECONDS - begin)) s  $name: see $log")
    status=1
  fi
}

part "light weights" "$DIVISI_PYTHON" "$here/models/light_weights.py" \
  --out "$DIVISI_BUILD/test/light"
part "all tests" ctest --test-dir "$DIVISI_BUILD" --output-on-failure \
  --no-tests=error -j $((2 * $(nproc))) --timeout 36000
part "damaged files" "$DIVISI_PYTHON" "$here/fuzz/mutate.py" --model segformer \
  --model t5

echo
sed -n 's/^counted: /  /p' "$DIVISI_BUILD/Testing/Temporary/LastTest.log"
echo "sweep: $SECONDS s in all"
printf '  %s\n' "${summary[@]}"
exit $status
