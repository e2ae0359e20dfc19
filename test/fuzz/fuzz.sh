#!/usr/bin/env bash
# Fuzzes readers: fuzz.sh BUILD SECONDS NAME…, one after the other, SECONDS each.
# What breaks one is left in BUILD/fuzz, with the corpus, which the next run goes
# on from; `BUILD/bin/tests/NAMEFuzz FILE` reads one input again. A file that
# broke a reader and no longer does belongs into corpus/NAME.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$1" seconds="$2"
shift 2

# Libraries that are not instrumented (LLVM, MLIR, ONNX, protobuf) have leaks that
# are not ours, and do not know which bytes of an allocator or a container that
# they share with us count as free.
export ASAN_OPTIONS="detect_leaks=0:allow_user_poisoning=0:\
detect_container_overflow=0:${ASAN_OPTIONS:-}"
failed=()
for name in "$@"; do
  corpus="$build/fuzz/$name"
  mkdir -p "$corpus"
  options=(-artifact_prefix="$build/fuzz/$name-" -max_len=16384 -timeout=20
    -rss_limit_mb=4096 -max_total_time="$seconds" -print_final_stats=1)
  if [ -f "$here/$name.dict" ]; then
    options+=(-dict="$here/$name.dict")
  fi
  echo "fuzzing $name for $seconds s"
  nice "$build/bin/tests/${name}Fuzz" "$corpus" "$here/corpus/$name" \
    "${options[@]}" > "$build/fuzz/$name.log" 2>&1 || failed+=("$name")
  grep -E "^stat::number_of_executed_units|^SUMMARY|^violated|Test unit written" \
    "$build/fuzz/$name.log" || true
done
if [ "${#failed[@]}" != 0 ]; then
  echo "broken: ${failed[*]}; see the logs in $build/fuzz" >&2
  exit 1
fi
