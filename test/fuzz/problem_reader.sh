#!/usr/bin/env bash
# Fuzzes the reader of planning problems: problem_reader.sh BUILD SECONDS. What
# breaks it is left in BUILD/fuzz, with the corpus, which the next run goes on
# from; `BUILD/bin/tests/ProblemReaderFuzz FILE` runs one input again.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$1" seconds="$2"

corpus="$build/fuzz/problem-corpus"
mkdir -p "$corpus"
/usr/bin/python3 "$here/problem_seeds.py" "$build/fuzz/problem-seeds"
exec nice "$build/bin/tests/ProblemReaderFuzz" "$corpus" \
  "$build/fuzz/problem-seeds" -dict="$here/problem.dict" \
  -artifact_prefix="$build/fuzz/" -max_len=4096 -timeout=10 \
  -rss_limit_mb=2048 -max_total_time="$seconds" -print_final_stats=1
