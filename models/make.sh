#!/usr/bin/env bash
# Writes the generated models to build/models: what `make models` does.
# DIVISI_BUILD and DIVISI_PYTHON come from the Makefile.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="${DIVISI_BUILD:-$here/../build}"
prefix="$(bash "$here/../cmake/setup.sh" --prefix)"
python="${DIVISI_PYTHON:-$prefix/venv/bin/python}"
out="$build/models"
mkdir -p "$out"

# make_model FILE GENERATOR ARGUMENT…: unless it is there and newer.
make_model() {
  local file="$out/$1" generator="$here/$2"
  shift 2
  if [ "$file" -nt "$generator" ] && [ "$file" -nt "$here/graph.py" ]; then
    return
  fi
  "$python" "$generator" "$@" -o "$file"
}

# For runs: also inputs and what ONNX Runtime computes from them.
make_model gpt2-tiny.onnx gpt2.py --size tiny --batch 8 --seq 16
make_model gpt2.onnx gpt2.py --size small --batch 1 --seq 128
make_model mlp.onnx mlp.py
for name in gpt2-tiny gpt2 mlp; do
  if [ ! "$out/$name.outputs.npz" -nt "$out/$name.onnx" ]; then
    "$python" "$here/expect.py" "$out/$name.onnx"
  fi
done

# For plans: the shapes alone.
for size in small medium large xl; do
  make_model "gpt2-$size.weightless.onnx" gpt2.py --size "$size" \
    --batch 8 --seq 1024 --weightless
done
ls -l "$out"/*.onnx | awk '{print $5, $9}'
