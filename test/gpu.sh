#!/usr/bin/env bash
# What `make test-gpu` does, once, on a machine with GPUs: first what no run has
# shown yet (gpu_first_test.py), then the kernels, models and measurements of
# gpu_test.py, then bench/gpu. A part that fails or takes too long does not keep
# the next ones from being tried. All that they say is in one file, gpu-report.txt
# of the build, which begins with the machine and ends with a table.
# DIVISI_BUILD and DIVISI_PYTHON come from the Makefile, PEERS and DIVISI_GPU from
# the user: DIVISI_GPU=emulated tries on the emulator what that can show.
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$here/.."
export DIVISI_BUILD="${DIVISI_BUILD:-$root/build}"
DIVISI_PYTHON="${DIVISI_PYTHON:-$(bash "$root/cmake/setup.sh" --prefix)/venv/bin/python}"
export DIVISI_TEST_SHARE="${DIVISI_TEST_SHARE:-1}" DIVISI_GPU="${DIVISI_GPU:-}"
report="${DIVISI_GPU_REPORT:-$DIVISI_BUILD/gpu-report.txt}"
table=()
status=0
say() { echo "$@" | tee -a "$report"; }

# part SECONDS NAME COMMAND…
part() {
  local seconds="$1" name="$2" begin=$SECONDS code
  shift 2
  say
  say "== $name"
  timeout --kill-after=30 "$seconds" "$@" 2>&1 | tee -a "$report"
  code=${PIPESTATUS[0]}
  if [ "$code" = 0 ]; then
    table+=("passed  $((SECONDS - begin)) s  $name")
  else
    table+=("FAILED  $((SECONDS - begin)) s  $name: exit code $code")
    status=1
  fi
}

check() {
  local seconds="$1" name="$2"
  shift 2
  part "$seconds" "$name" "$DIVISI_PYTHON" -m pytest -q -rsP -p no:cacheprovider \
    "$@"
}

: > "$report"
say "divisi on GPUs: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
say "source: $(git -C "$root" describe --always --dirty 2> /dev/null || echo unknown)"
if [ "$DIVISI_GPU" = emulated ]; then
  say "GPUs: emulated; nothing below was run on a GPU"
elif nvidia-smi -L > /dev/null 2>&1; then
  part 60 "the machine" bash -c 'nvidia-smi; nvidia-smi topo -m; uname -a; env |
    grep -E "^(CUDA|NCCL|LD_LIBRARY_PATH)" | sort'
else
  say "nvidia-smi lists no GPU: nothing of this was run"
  say "report: $report"
  exit 0
fi

check 1800 "what no run has shown yet" "$here/endtoend/gpu_first_test.py"
if [ "$DIVISI_GPU" != emulated ]; then
  check 7200 "kernels, models, links" "$here/endtoend/gpu_test.py"
  part 600 "a model to measure" "$root/models/gpt2.py" --size small --seq 512 \
    -o "$DIVISI_BUILD/gpt2-124m.onnx"
  if [ -n "${PEERS:-}" ]; then
    models=(--peers "$PEERS")
  else
    models=(--model "$DIVISI_BUILD/gpt2-124m.onnx")
  fi
  part 7200 "how fast it is" "$DIVISI_PYTHON" "$root/bench/gpu/run.py" --json \
    "$DIVISI_BUILD/gpu.json" "${models[@]}"
fi

say
for line in "${table[@]}"; do say "$line"; done
say "report: $report"
exit $status
