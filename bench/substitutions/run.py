#!/usr/bin/env python3
"""Compares programs that --rewrite finds with ones rewritten by hand.

    python bench/substitutions/run.py --build build

Each model is compiled in its exported form with --rewrite off, greedy, search
and joint, and in the forms that a person would write, with --rewrite off; ONNX
Runtime runs the exported form without and with its optimizer. All take turns,
round by round, so that a slow minute of the machine meets each. A gain is the
median over rounds of the time of `off` divided by another's in the same round;
the interval is that of the median at 95 %. Programs that are equal byte by
byte are run once. README.md says more.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

import images
import models
import rank

MODES = ["off", "greedy", "search", "joint"]
PEERS = {"ort-plain": "ORT_DISABLE_ALL", "ort": "ORT_ENABLE_ALL"}
# How each is built, and the forms that a person would write. `plain` is no
# mark: it has no adapters.
MODELS = {
    "squeezenet": (images.squeezenet, ["enlarge"]),
    "inception": (images.inception, ["merged"]),
    "resnext": (images.resnext, ["groups"]),
    "nasnet": (images.nasnet, ["merged"]),
    "nasrnn": (models.nasrnn, ["columns", "stack"]),
    "bert": (models.bert, ["columns", "stack"]),
    "gpt2": (models.gpt2, []),
    "llama": (models.llama, ["columns", "stack"]),
    "vit": (models.vit, ["columns", "stack"]),
    "gpt2-lora": (models.gpt2_lora, ["merged", "plain"]),
}
TOLERANCE = 2e-3


class Runs:
    """Divisi's programs and commands, in a folder of their own."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder

    def divisi(self, *arguments, program="divisi"):
        done = subprocess.run([self.build / "bin" / program,
                               *map(str, arguments)],
                              capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{program} {' '.join(map(str, arguments))}: "
                             f"{done.stderr}")
        return done.stdout

    def compile(self, model, name, devices, *flags):
        path = self.folder / f"{name}.divisi"
        self.divisi("compile", model, "--cluster", f"cpu:{devices}", *flags,
                    "-o", path)
        return path

    def predicted(self, artifact):
        report = json.loads(self.divisi("explain", artifact, "--json"))
        return report["predicted_nanoseconds"]

    def outputs(self, artifact, inputs):
        out = self.folder / "out.npz"
        self.divisi("run", artifact, "--inputs", inputs, "-o", out)
        with np.load(out) as file:
            return [file[name] for name in file.files]

    def times(self, artifact, inputs, repeat):
        """Nanoseconds of the later runs of a fresh process."""
        timing = self.folder / "time.json"
        self.divisi("run", artifact, "--inputs", inputs, "--repeat",
                    repeat + 2, "--timing-json", timing, "-o",
                    self.folder / "out.npz")
        return json.loads(timing.read_text())["ns"][2:]


def draw_inputs(net, path):
    random = np.random.default_rng(0)
    values = {value.name: random.standard_normal(
        [d.dim_value for d in value.type.tensor_type.shape.dim], np.float32)
        for value in net.inputs}
    np.savez(path, **values)
    return values


def session(model, level, threads):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, level)
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options,
                                        providers=["CPUExecutionProvider"])


def time_session(peer, values, repeat):
    """Runs as measure.py of bench/onnxruntime times them: run() alone."""
    import time
    times = []
    for _ in range(repeat + 2):
        start = time.perf_counter_ns()
        peer.run(None, values)
        times.append(time.perf_counter_ns() - start)
    return times[2:]


def interval(values):
    """The median of independent values, and its 95 % interval by ranks."""
    values = sorted(values)
    n = len(values)
    reach = 0.98 * math.sqrt(n)
    low = max(0, math.floor(n / 2 - reach))
    high = min(n - 1, math.ceil(n / 2 + reach) - 1)
    return statistics.median(values), values[low], values[high]


def check_close(name, got, expected):
    for a, b in zip(got, expected, strict=True):
        error = np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)
        if not error < TOLERANCE:
            raise SystemExit(f"{name} computes something else: {error:.2g}")


class Case:
    """One model on so many devices: all that is timed."""

    def __init__(self, runs, name, devices, layers):
        self.runs, self.name, self.devices = runs, name, devices
        build, self.forms = MODELS[name]
        more = {"layers": layers} if layers and build in (
            models.bert, models.vit, models.gpt2, models.gpt2_lora) else {}
        self.artifacts, self.paths = {}, {}
        for form in ["export", *self.forms]:
            net = build(form, **more)
            path = runs.folder / f"{name}.{form}.onnx"
            net.save(path)
            self.paths[form] = path
        self.inputs = runs.folder / "in.npz"
        self.values = draw_inputs(net, self.inputs)
        for mode in MODES:
            self.artifacts[mode] = runs.compile(
                self.paths["export"], f"{name}.{mode}", devices, "--rewrite",
                mode)
        for form in self.forms:
            self.artifacts[form] = runs.compile(self.paths[form],
                                                f"{name}.{form}", devices,
                                                "--rewrite", "off")
        self.peers = {peer: session(self.paths["export"], level, devices)
                      for peer, level in PEERS.items()}
        self.find_equal()

    def find_equal(self):
        """Which programs are another's byte by byte."""
        self.same, seen = {}, {}
        for name, path in self.artifacts.items():
            content = path.read_bytes()
            self.same[name] = seen.setdefault(content, name)

    def check(self):
        expected = self.peers["ort-plain"].run(None, self.values)
        for name, path in self.artifacts.items():
            if name != "plain" and self.same[name] == name:
                check_close(f"{self.name}.{name}",
                            self.runs.outputs(path, self.inputs), expected)

    def measure(self, rounds, seconds):
        once = statistics.median(self.runs.times(self.artifacts["off"],
                                                 self.inputs, 3))
        repeat = max(3, min(200, int(seconds * 1e9 / once)))
        names = [n for n in self.artifacts if self.same[n] == n] + list(PEERS)
        times = {name: [] for name in names}
        for round_ in range(rounds):
            turn = round_ % len(names)
            for name in names[turn:] + names[:turn]:
                got = (time_session(self.peers[name], self.values, repeat)
                       if name in PEERS else
                       self.runs.times(self.artifacts[name], self.inputs,
                                       repeat))
                times[name].append(statistics.median(got))
        for name, other in self.same.items():
            times[name] = times[other]
        return times

    def rows(self, times):
        for name, values in times.items():
            gains = [a / b for a, b in zip(times["off"], values)]
            median, low, high = interval(gains)
            yield {
                "model": self.name, "devices": self.devices, "program": name,
                "milliseconds": statistics.median(values) / 1e6,
                "gain": median, "low": low, "high": high,
                "equal_to": self.same.get(name),
                "predicted": (self.runs.predicted(self.artifacts[name]) / 1e6
                              if name in self.artifacts else None)}


def found_share(rows):
    """The part of the mark's gain that the search has found; None without a
    mark that is faster than the exported form beyond the interval."""
    by = {row["program"]: row for row in rows}
    marks = [by[form] for form in MODELS[rows[0]["model"]][1]
             if form != "plain" and by[form]["low"] > 1]
    if not marks:
        return None
    mark = max(row["gain"] for row in marks)
    return math.log(max(by["search"]["gain"], by["joint"]["gain"])) / math.log(
        mark)


def print_rows(rows):
    base = rows[0]["predicted"]
    for row in rows:
        predicted = (f"{row['predicted']:>11.3f}"
                     f"{base / row['predicted']:>8.2f}x"
                     if row["predicted"] else " " * 20)
        same = row["equal_to"]
        print(f"{row['model']:11}{row['devices']:>3}  {row['program']:10}"
              f"{row['milliseconds']:>10.3f}{row['gain']:>8.2f}x "
              f"[{row['low']:.2f}, {row['high']:.2f}]{predicted}"
              + (f"  = {same}" if same and same != row["program"] else ""),
              flush=True)
    share = found_share(rows)
    if share is not None:
        print(f"{'':16}of the mark's gain found: {100 * share:.0f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--devices", default="1,2")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.3,
                        help="of runs of one program in a round")
    parser.add_argument("--layers", type=int,
                        help="of transformers (default: 4)")
    parser.add_argument("--programs", type=int, default=0,
                        help="rank so many programs that rules reach, too")
    parser.add_argument("--json", type=Path, help="write all numbers there")
    arguments = parser.parse_args()
    everything, gains, ranks = [], [], {}
    print(f"{'model':11}{'dev':>3}  {'program':10}{'ms':>10}"
          f"{'gain [95 %]':>22}{'predicted':>11}{'gain':>9}")
    for name in arguments.models.split(","):
        for devices in map(int, arguments.devices.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                runs = Runs(arguments.build.resolve(), Path(folder))
                case = Case(runs, name, devices, arguments.layers)
                case.check()
                rows = list(case.rows(case.measure(arguments.rounds,
                                                   arguments.seconds)))
                print_rows(rows)
                everything += rows
                gains.append(next(row["gain"] for row in rows
                                  if row["program"] == "joint"))
                if arguments.programs and devices == 1:
                    ranks[name] = rank.tau(case, arguments.programs)
                    print(f"{'':16}Kendall's tau of {ranks[name]['programs']} "
                          f"programs: {ranks[name]['tau']:.2f}", flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps(
                    {"rows": everything, "ranks": ranks}, indent=1))
    print(f"geometric mean of the gain of joint: "
          f"{statistics.geometric_mean(gains):.3f}x")


if __name__ == "__main__":
    sys.exit(main())
