"""Sessions of an artifact share the weights that lie on GPUs, as those on the host:
on GPUs that are not there (test/emulator), which say what they hold."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, compile_file, model_of

EMULATOR = Path(os.environ["DIVISI_BUILD"]) / "test" / "emulator" / "lib"
HALF = 512 * 256 * 4  # bytes of one of two weights
# What each GPU has of them: those that all sessions share, and those that GPUs send
# each other as they lie.
PLANS = {"one": ([], 2 * HALF, 0),
         "split": (["--devices=2", "--tensor-parallel-size=2"], HALF, 0),
         "sent": (["--mesh=2", "--solver=random", "--seed=5"], HALF, HALF // 2)}

pytestmark = pytest.mark.skipif(
    not (EMULATOR / "libcuda.so.1").exists(), reason="the build found no cuda.h")


def model():
    random = np.random.default_rng(0)
    return model_of(
        "m (float[4, 256] x) => (float[4, 256] y)"
        "{ a = MatMul(x, w) b = Relu(a) y = MatMul(b, v) }",
        w=random.standard_normal((256, 512), np.float32),
        v=random.standard_normal((512, 256), np.float32))


@pytest.mark.parametrize("name", PLANS)
def test_sessions_share_weights(name, folder):
    options, shared, sent = PLANS[name]
    if name == "sent" and not (EMULATOR / "libnccl.so.2").exists():
        pytest.skip("the build found no nccl.h")
    path = compile_file(model(), folder / f"weights-{name}.divisi", *options,
                        "--gpu=emulated")
    done = subprocess.run(
        [sys.executable, ROOT / "test/python/gpu_weights_host.py", path],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "LD_LIBRARY_PATH": str(EMULATOR)})
    assert done.returncode == 0, done.stderr
    assert "emulator: " not in done.stderr
    told = json.loads(done.stdout)
    for counted, (one, two, again, none, four, end) in zip(
            told["counted"], zip(*told["steps"])):
        own = counted - shared  # what each session has besides
        assert own >= sent
        joined = two - one - own  # what NCCL takes for a session
        code = one - counted - joined  # once for all of them
        assert joined >= 0 and code >= 0
        assert (again, none, end) == (counted + code + joined, 0, 0)
        assert four == shared + 4 * (own + joined) + code
