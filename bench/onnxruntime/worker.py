"""What each Python peer does in a process of its own.

It loads a model, runs it once, writes the outputs, and says how long that
took; then it answers each line "WARM_UP RUNS" on its input with the times of
so many runs, until the input ends. All that it says is JSON, one value a line.
"""

import json
import re
import sys
import time
from pathlib import Path

import numpy as np


def peak_mib():
    """Of this process alone, not of the one that it was started from."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024


def say(value):
    print(json.dumps(value), flush=True)


def time_runs(run, warm_up, runs):
    times = []
    for repetition in range(warm_up + runs):
        begin = time.perf_counter_ns()
        run()
        if repetition >= warm_up:
            times.append(time.perf_counter_ns() - begin)
    return times


def main(load):
    """Serves MODEL INPUTS OUTPUTS SETTING..., the words that a worker gets:
    load(model, inputs, setting, ...)."""
    model, inputs, outputs, *settings = sys.argv[1:]
    tensors = dict(np.load(inputs))
    serve(lambda: load(model, tensors, *settings), outputs)


def serve(load, outputs):
    """`load` gives a function that computes {name: array}, and settings."""
    begin = time.perf_counter_ns()
    run, settings = load()
    loaded = time.perf_counter_ns()
    results = run()
    say({"load_ns": loaded - begin,
         "first_ns": time.perf_counter_ns() - loaded,
         "settings": settings})
    np.savez(outputs, **{name: np.asarray(array)
                         for name, array in results.items()})
    say({"written": str(outputs)})
    for line in sys.stdin:
        times = time_runs(run, *map(int, line.split()))
        say({"ns": times, "peak_mib": peak_mib()})
