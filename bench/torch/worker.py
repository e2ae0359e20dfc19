"""One model by one backend of torch.compile: worker.py NAME PEER THREADS.

PEER is eager, inductor, divisi, or divisi:N for N devices. Says as JSON what the
first call took, how far its result is from eager's, and the memory of the process;
then, for each line of seconds that it reads, the times of calls for so long.
"""

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "onnxruntime"), str(ROOT / "python")]

# Nothing is found that an earlier run has left.
caches = tempfile.TemporaryDirectory(prefix="divisi-bench-")
os.environ["XDG_CACHE_HOME"] = caches.name
os.environ["TORCHINDUCTOR_CACHE_DIR"] = caches.name

import export  # noqa: E402
import torch  # noqa: E402


def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compiled(module, peer):
    if peer == "eager":
        return module
    if peer == "inductor":
        return torch.compile(module)
    import divisi.torch  # noqa: F401
    devices = int(peer.partition(":")[2] or 1)
    return torch.compile(module, backend="divisi", options={
        "devices": devices, "fallback": "error"})


def say(**fields):
    print(json.dumps(fields), flush=True)


def main():
    name, peer, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    module, inputs = export.make(name)
    inputs = tuple(inputs.values())
    with torch.no_grad():
        wanted = module(*inputs)
        before = megabytes()
        run = compiled(module, peer)
        begin = time.perf_counter()
        found = run(*inputs)
        first = time.perf_counter() - begin
        error = ((found - wanted).abs().max() / wanted.abs().max()).item()
        say(first=first, error=error, before=before, after=megabytes())
        for line in sys.stdin:
            times, end = [], time.perf_counter() + float(line)
            while not times or time.perf_counter() < end:
                begin = time.perf_counter()
                run(*inputs)
                times.append(time.perf_counter() - begin)
            say(times=times)


if __name__ == "__main__":
    main()
