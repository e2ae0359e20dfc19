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

# make_model FILE GENERATOR ARGUMENT…: unless it is there and newer than all
# generators, which share much.
make_model() {
  local file="$out/$1" generator="$here/$2"
  shift 2
  if [ -f "$file" ] &&
    [ -z "$(find "$here" -name '*.py' -newer "$file")" ]; then
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
make_model gpt3-175b.weightless.onnx gpt3.py --weightless
make_model llama-70b.weightless.onnx llama.py --weightless
make_model unet.weightless.onnx unet.py --weightless
make_model vgg16.weightless.onnx vgg16.py --batch 32 --weightless
ls -l "$out"/*.onnx | awk '{print $5, $9}'
