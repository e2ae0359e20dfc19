#!/usr/bin/env bash
# What `make races` does: compiles steps and models for several devices, with
# overlap and without, and runs both orders, the first on a slow network, under
# the thread sanitizer (run-delayed: equal bits, and no race); then contexts of
# one artifact and of several at once, by the C API, 100 runs on each of eight
# threads, some of them cancelled (run-contexts). DIVISI_BUILD is a build with
# the tools, DIVISI_PYTHON its Python; both come from the Makefile.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$here/../build-tsan"
divisi="$DIVISI_BUILD/bin/divisi"
folder="$build/races"
mkdir -p "$folder"
cd "$folder"
count=0 overlapping=0

# both NAME SOURCE FLAG…: plans it, compiles it in both orders, and runs them.
both() {
  local name="$1" source="$2" data=()
  shift 2
  # Weights that are not beneath this folder are named.
  if [[ $source == *.onnx ]]; then data=(--data "$source"); fi
  {
    "$divisi" plan "$source" "$@" -o plan.mlir
    "$divisi" compile plan.mlir "${data[@]}" --dump-after schedule --dump-to . \
      -o "$name.divisi"
    "$divisi" compile plan.mlir "${data[@]}" --no-overlap \
      -o "$name.order.divisi"
  } >compile.log 2>&1 || { cat compile.log; exit 1; }
  count=$((count + 1))
  if grep -q "spmd.overlap" plan.schedule.mlir; then
    overlapping=$((overlapping + 1))
  fi
  "$build/bin/run-delayed" "$name.divisi" "$name.order.divisi" 2
}

ctest --test-dir "$build" --output-on-failure --no-tests=error -R RuntimeTest
"$DIVISI_PYTHON" - "$here/endtoend" <<'PYTHON'
import sys
sys.path.append(sys.argv[1])
from pathlib import Path
import loop_programs, planned_steps, train_steps
from written_programs import write_program
steps = {plan: planned_steps.Step(plan, blocks=3, width=64, batch=64)
         for plan in ("zero", "megatron")}
steps["adam"] = train_steps.Step(batch=48, width=60, layers=3)
for name, step in steps.items():
    Path(name).mkdir(exist_ok=True)
    step.write(Path(name))
w, r, x = loop_programs.lstm_tensors()
lstm = Path("lstm")
lstm.mkdir(exist_ok=True)
(lstm / "weights.bin").write_bytes(w.tobytes() + r.tobytes())
write_program(lstm / "step.mlir", loop_programs.lstm(2, True))
PYTHON
both lstm lstm/step.mlir --devices 2
both loop "$here/endtoend/Inputs/loop.mlir"
both zero zero/step.mlir
both megatron megatron/step.mlir
for devices in 2 3 4; do
  both "adam-$devices" adam/step.mlir --data-parallel-size "$devices"
  for model in bert gpt2 llama resnet segformer t5 vit; do
    file="$here/models/$model"
    both "$model-$devices" "$file.onnx" --shapes-from "$file.inputs.npz" \
      --tensor-parallel-size "$devices"
    both "$model-$devices-drawn" "$file.onnx" --shapes-from \
      "$file.inputs.npz" --devices "$devices" --solver random --seed "$devices"
  done
done
TSAN_OPTIONS=abort_on_error=1 "$build/bin/run-contexts" reference 20 100 \
  {loop,lstm,bert-2}.divisi
echo "races: none in $count programs, of which $overlapping overlap"
