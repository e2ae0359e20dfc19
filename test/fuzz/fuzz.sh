#!/usr/bin/env bash
# Fuzzes readers: fuzz.sh BUILD SECONDS NAME…, one after the other, SECONDS each.
# A table says what each has done; the exit code is 1 if one was broken. What
# broke it is left in BUILD/fuzz, with the corpus, which the next run goes on
# from; `BUILD/bin/tests/NAMEFuzz FILE` reads one input again. A file that
# broke a reader and no longer does belongs into corpus/NAME.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$1" seconds="$2"
shift 2
if ! [[ "$seconds" =~ ^[1-9][0-9]*$ ]]; then
  echo "error: FUZZ_SECONDS is '$seconds', expected a number of seconds from 1" >&2
  exit 2
fi

# Libraries that are not instrumented (LLVM, MLIR, ONNX, protobuf) have leaks that
# are not ours, and do not know which bytes of an allocator or a container that
# they share with us count as free.
export ASAN_OPTIONS="detect_leaks=0:allow_user_poisoning=0:\
detect_container_overflow=0:${ASAN_OPTIONS:-}"

# number LOG PATTERN: what the last line that matches has in \( \); - if none does.
number() {
  local found
  found="$(sed -n "s/$2/\1/p" "$1" | tail -1)"
  echo "${found:--}"
}

# row NAME OUTCOME: of the table.
row() {
  local log="$build/fuzz/$1.log"
  printf '%-10s %12s %9s %9s %8s %8s  %s\n' "$1" \
    "$(number "$log" '^stat::number_of_executed_units: *\([0-9]*\)')" \
    "$(number "$log" '^#.* cov: \([0-9]*\) .*')" \
    "$(number "$log" '.*modules* *(\([0-9]*\) inline 8-bit counters).*')" \
    "$(number "$log" '^#.* corp: \([0-9]*\)\/.*')" \
    "$(number "$log" '^stat::peak_rss_mb: *\([0-9]*\)')" "$2"
}

# What broke a reader: its sanitizer's or libFuzzer's word for it, and the file.
outcome() {
  grep -aE '^SUMMARY|^violated|^terminate called|Test unit written' \
    "$build/fuzz/$1.log" | tr '\n' ' '
}

failed=() rows=()
for name in "$@"; do
  corpus="$build/fuzz/$name"
  mkdir -p "$corpus"
  options=(-artifact_prefix="$build/fuzz/$name-" -max_len=16384 -timeout=20
    -rss_limit_mb=4096 -max_total_time="$seconds" -print_final_stats=1)
  if [ -f "$here/$name.dict" ]; then
    options+=(-dict="$here/$name.dict")
  fi
  echo "fuzzing $name for $seconds s"
  if nice "$build/bin/tests/${name}Fuzz" "$corpus" "$here/corpus/$name" \
    "${options[@]}" > "$build/fuzz/$name.log" 2>&1; then
    rows+=("$(row "$name" "nothing")")
  else
    failed+=("$name")
    rows+=("$(row "$name" "$(outcome "$name")")")
  fi
done
printf '%-10s %12s %9s %9s %8s %8s  %s\n' \
  reader executions edges "of edges" inputs MB found
printf '%s\n' "${rows[@]}"
if [ "${#failed[@]}" != 0 ]; then
  echo "broken: ${failed[*]}; see the logs in $build/fuzz" >&2
  exit 1
fi
