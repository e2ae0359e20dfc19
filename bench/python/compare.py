#!/usr/bin/env python3
"""Times what a run by the package adds to one by the C API.

    DIVISI_BUILD=build python bench/python/compare.py [--runs N] [--json FILE]

Multi-layer perceptrons of some 3 us, 100 us and 1 ms. In one process, in turns: a call of the C
API by a program in C, with its outputs in place; `Session.run` with a mapping,
with arrays, and with `out`; ONNX Runtime's `InferenceSession.run` of the same
model. Prints medians, and the median of what Python adds to the call of C that was
timed beside it. Also how long `import divisi` takes. Needs a C compiler.
"""

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "models"), str(ROOT / "python")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

import divisi  # noqa: E402
from divisi import _c  # noqa: E402

MODELS = {"mlp-2x64": ("64,64,10", "1"),
          "mlp-7x512": (",".join(["512"] * 7 + ["10"]), "4"),
          "mlp-6x1024": (",".join(["1024"] * 6 + ["10"]), "16")}
WARM_UP = 100


def native(folder):
    """The function of native.c."""
    library = folder / "native.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'include'}",
                    Path(__file__).with_name("native.c"), "-o", library],
                   check=True)
    function = ctypes.CDLL(str(library)).time_run
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.c_void_p] * 3 + [
        ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t]
    return function


class Model:
    """One model, ready to be run in each way."""

    def __init__(self, time_run, folder, widths, batch, devices):
        path = folder / "model.onnx"
        subprocess.run([sys.executable, ROOT / "models" / "mlp.py", "--widths",
                        widths, "--batch", batch, "-o", path], check=True,
                       capture_output=True)
        self.session = divisi.Session(divisi.compile(
            path, devices=devices, progress=False))
        entry = self.session.artifact.entry()
        [self.input], [self.output] = entry.inputs, entry.outputs
        # Where kernels can use it as it is, for all of them.
        memory = np.empty(int(np.prod(self.input.shape)) * 4 + 64, np.uint8)
        begin = -memory.ctypes.data % 64
        self.x = memory[begin:begin + memory.size - 64].view(
            np.float32).reshape(self.input.shape)
        self.x[:] = np.random.default_rng(0).standard_normal(self.x.shape)
        self.mapping = {self.input.name: self.x}
        self.y, address = self.output.allocate()
        self.out = {self.output.name: self.y}
        self.time_run = time_run
        self.c_input, self.c_output = self.input.tensor(), self.output.tensor()
        self.c_input.data = self.x.ctypes.data
        self.c_output.data = address
        self.api = ctypes.addressof(_c.runtime())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = devices
        self.peer = onnxruntime.InferenceSession(
            onnx.load(path).SerializeToString(), options,
            providers=["CPUExecutionProvider"])

    def in_c(self):
        """Nanoseconds of a run by C."""
        took = self.time_run(self.api, self.session._handle.get(),
                             ctypes.byref(self.c_input), 1,
                             ctypes.byref(self.c_output), 1)
        if took < 0:
            raise SystemExit("compare.py: the run by C failed")
        return took

    def ways(self):
        """By name: what runs it."""
        session, x, mapping, out = self.session, self.x, self.mapping, self.out
        return {"Session.run(mapping)": lambda: session.run(mapping),
                "Session.run(array)": lambda: session.run(x),
                "Session.run(array, out=)": lambda: session.run(x, out=out),
                "ONNX Runtime": lambda: self.peer.run(None, mapping)}


def measure(model, runs):
    """Rows of way, median, and what it adds to the call of C."""
    ways, times = model.ways(), {}
    for number in range(WARM_UP + runs):
        model.in_c()
        took = {"C API": model.in_c()}
        for name, run in ways.items():
            model.in_c()  # Caches and processor are as before each other way.
            start = time.perf_counter_ns()
            run()
            took[name] = time.perf_counter_ns() - start
        if number >= WARM_UP:
            for name, each in took.items():
                times.setdefault(name, []).append(each)
    base = times["C API"]
    return [{"way": name, "median_us": statistics.median(each) / 1e3,
             "adds_us": statistics.median(
                 a - b for a, b in zip(each, base)) / 1e3}
            for name, each in times.items()]


def import_seconds():
    """The median of a fresh interpreter's."""
    text = ("import time; t = time.perf_counter(); import divisi; "
            "print(time.perf_counter() - t)")
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
    return statistics.median(float(subprocess.run(
        [sys.executable, "-c", text], env=environment, check=True,
        capture_output=True, text=True).stdout) for _ in range(9))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    # That more devices than one are no use for a model this small.
    warnings.simplefilter("ignore", divisi.DivisiWarning)
    found = {"import_seconds": import_seconds(), "models": []}
    print(f"import divisi: {found['import_seconds'] * 1e3:.0f} ms")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        time_run = native(folder)
        for label, (widths, batch) in MODELS.items():
            for devices in (1, 2):
                model = Model(time_run, folder, widths, batch, devices)
                rows = measure(model, options.runs)
                found["models"].append(
                    {"model": label, "devices": devices, "rows": rows})
                print(f"\n{label}, {devices} device"
                      f"{'s' if devices > 1 else ''}")
                for row in rows:
                    print(f"  {row['way']:26} {row['median_us']:9.1f} us"
                          + ("" if row["way"] == "C API" else
                             f"  {row['adds_us']:+8.1f} us"))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
