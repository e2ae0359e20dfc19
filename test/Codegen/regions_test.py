"""Native code of the fused regions of all models against the interpreter of
regions: on odd shapes, uneven and empty boxes, in each float type, of codes of
8 bits, by teams of several sizes, between guard pages."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DIVISI_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "test" / "endtoend"))
import quantized_models  # noqa: E402
from share import is_sweep, sample  # noqa: E402

MODELS = ROOT / "test" / "models"
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
SMALL = ["bert", "gpt2", "llama", "resnet", "segformer", "t5", "vit",
         "classifier"]
# In narrower floats: what is f32 in them is mixed with those.
NARROW = {"gpt2": "bf16", "vit": "bf16", "resnet": "f16", "t5": "f16"}
# Their graphs alone: what regions compute does not depend on weights.
GENERATED = {
    "gpt2": ["--size", "tiny", "--batch", 2, "--seq", 16],
    "gpt3": ["--layers", 1, "--width", 64, "--heads", 4, "--vocabulary", 99,
             "--positions", 32, "--batch", 2, "--seq", 16, "--dtype", "f32"],
    "llama": ["--layers", 1, "--width", 64, "--heads", 4, "--kv-heads", 2,
              "--vocabulary", 99, "--batch", 2, "--seq", 16, "--dtype", "f32"],
    "mlp": [],
    "unet": ["--height", 40, "--width", 40, "--channels", 8, "--depth", 2],
    "vgg16": ["--image", 64, "--channels", 8, "--hidden", 32],
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True,
                          text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def imported(model, dump, *flags):
    dump.write_text(run(BUILD / "bin" / "divisi", "compile", model, *flags,
                        "--dump-after", "import", "-o", "-"))
    return dump


def small(name, folder):
    return imported(MODELS / f"{name}.onnx", folder / f"{name}.mlir",
                    "--shapes-from", MODELS / f"{name}.inputs.npz")


def narrow(name, folder):
    return imported(MODELS / f"{name}.onnx", folder / f"narrow-{name}.mlir",
                    "--shapes-from", MODELS / f"{name}.inputs.npz",
                    "--precision", NARROW[name])


def quantized(name, folder):
    model = folder / f"quantized-{name}.onnx"
    quantized_models.MODELS[name](model)
    return imported(model, folder / f"quantized-{name}.mlir")


def light(path, folder):
    return imported(path, folder / f"{path.stem}.mlir")


def generated(name, folder):
    model = folder / f"{name}.onnx"
    run(sys.executable, ROOT / "models" / f"{name}.py", *GENERATED[name],
        "--weightless", "-o", model)
    return imported(model, folder / f"generated-{name}.mlir")


def test_code_of_regions_computes_what_they_do(tmp_path, capsys):
    sources = ([(small, name) for name in SMALL] +
               [(light, path) for path in sorted(LIGHT.glob("*.onnx"))] +
               [(generated, name) for name in GENERATED] +
               [(narrow, name) for name in NARROW] +
               [(quantized, name) for name in quantized_models.MODELS])
    # Of each kind.
    sources = sample(sources, lambda each: f"{each[0].__name__} {each[1]}",
                     lambda each: {each[0]}, least=8)
    with ThreadPoolExecutor(2) as pool:
        dumps = list(pool.map(lambda each: each[0](each[1], tmp_path),
                              sources))
    out = run(BUILD / "bin" / "compare-regions", *dumps)
    with capsys.disabled():
        print(f"\ncounted: regions of models: {out.strip()}")
    if "skipped" not in out:
        structures, codes, mixed, objects, calls, elements, undecided = map(
            int, re.search(
                r"(\d+) structures, (\d+) of codes of 8 bits, (\d+) of several "
                r"types of floats; (\d+) objects, (\d+) calls, (\d+) elements, "
                r"(\d+) undecided", out).groups())
        assert objects > 2 * structures > 0
        assert undecided < elements / 50
        if is_sweep():
            assert structures > 40 and codes > 5 and mixed > 3
            assert calls > 2000
