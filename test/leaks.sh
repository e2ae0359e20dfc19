#!/usr/bin/env bash
# What `make leaks` does: opens, runs and closes 1,000 sessions of each of some
# artifacts by the C API under the address sanitizer, which reports leaks, too,
# and expects the process to hold no more than before; then runs contexts on
# eight threads, and cancels runs (run-contexts). On the backends of a host, and
# on the reference backend alone. DIVISI_BUILD is a build with the tools.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$here/../build-asan"
folder="$build/leaks"
mkdir -p "$folder"
cd "$folder"
models="$here/models"
"$DIVISI_BUILD/bin/divisi" compile "$here/endtoend/Inputs/loop.mlir" \
  -o loop.divisi
for model in bert resnet; do
  "$DIVISI_BUILD/bin/divisi" compile "$models/$model.onnx" --devices 2 \
    --shapes-from "$models/$model.inputs.npz" -o "$model.divisi"
done
# The same as tests have it.
export ASAN_OPTIONS=abort_on_error=1:detect_container_overflow=0
ASAN_OPTIONS+=:allow_user_poisoning=0:detect_leaks=1
export UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1
for backends in cpu,reference reference; do
  "$build/bin/run-contexts" "$backends" 1000 10 {loop,bert,resnet}.divisi
done
