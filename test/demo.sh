#!/usr/bin/env bash
# A GPT-2 of 124 million parameters over four devices, end to end: what
# `make demo` does once the build is done. Needs no network and no GPU: the
# devices are threads of this machine, so four of them are not faster than
# one here. What it shows is that they compute the same.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="${DIVISI_BUILD:-$here/../build}"
prefix="$(bash "$here/../cmake/setup.sh" --prefix)"
python="${DIVISI_PYTHON:-$prefix/venv/bin/python}"
divisi="$build/bin/divisi"
out="$build/demo"
mkdir -p "$out"

# step WORDS COMMAND…: says what comes, shows the command, times it.
step() {
  local words="$1" begin
  shift
  begin=$(date +%s%N)
  printf '\n== %s\n$ %s\n' "$words" "${*//$PWD\//}"
  "$@"
  printf -- '-- %s: %d.%d s\n' "$words" \
    $((($(date +%s%N) - begin) / 1000000000)) \
    $((($(date +%s%N) - begin) / 100000000 % 10))
}

step "generate GPT-2 124M as PyTorch exports it" \
  "$python" "$here/../models/gpt2.py" --size small --batch 1 --seq 128 \
  -o "$out/gpt2.onnx"
step "compute what is expected, with ONNX Runtime" \
  "$python" "$here/../models/expect.py" "$out/gpt2.onnx"
step "compile for four devices, tensor parallel" \
  "$divisi" compile "$out/gpt2.onnx" --devices 4 --tensor-parallel-size 4 \
  --dump-after plan --dump-to "$out" -o "$out/gpt2.divisi"
step "explain the plan" "$divisi" explain "$out/gpt2.divisi"
step "run the parts" "$divisi" run "$out/gpt2.divisi" \
  --inputs "$out/gpt2.inputs.npz" -o "$out/gpt2.logits.npz"
step "compare with ONNX Runtime" "$divisi" check "$out/gpt2.divisi" \
  --inputs "$out/gpt2.inputs.npz" --expect "$out/gpt2.outputs.npz"

echo
echo "The model, its plan and the artifact are in ${out#$PWD/}."
