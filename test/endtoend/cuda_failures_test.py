"""What fails on a GPU ends the run with code 9 on every rank, within the
deadline, and is told with node, operator and device. On emulated GPUs."""

import re
import time

import pytest
from conftest import model
from cuda_test import (DEVICE, _needs_emulator, compile_for_gpus,  # noqa: F401
                       emulator)
from launched import needs_mpi

pytestmark = pytest.mark.as_written

TIMEOUT = 2000
# A node, a rank, an operator, or what else a device does.
PLACE = (r"instruction \d+ \([^)]+\), rank [01], "
         r"(nn\.\w+|fused|a copy|a fill|a step): ")
FAILURES = {
    "fail_launch": PLACE + r"CUDA cannot .* on device [01]: an illegal memory "
                   r"access was encountered \(CUDA_ERROR_ILLEGAL_ADDRESS\)",
    "fail_copy": r"(global '.+'|rank [01], a copy): CUDA cannot copy on device "
                 r"[01]: uncorrectable ECC error encountered "
                 r"\(CUDA_ERROR_ECC_UNCORRECTABLE\)",
    "lose": PLACE + r"CUDA cannot .* on device [01]: unknown error "
            r"\(CUDA_ERROR_UNKNOWN\)",
    "hang": PLACE + fr"the kernel has not returned for {TIMEOUT} ms and is "
            r"given up",
}


def run_failing(divisi, m, *flags, timeout=TIMEOUT, **settings):
    """What it says; it has to end in time."""
    begin = time.monotonic()
    result = divisi("run", "g.divisi", "--inputs", m.inputs, "-o", "out.npz",
                    "--timeout", timeout, *flags, exits=DEVICE,
                    env=emulator(**settings))
    assert time.monotonic() - begin < timeout / 1000 + 60
    assert not divisi.path("out.npz").exists()
    return result.err


def test_what_fails_on_a_gpu_is_told(divisi):
    m = compile_for_gpus(divisi, "gpt2", "found")
    for failure, message in FAILURES.items():
        # Copies begin with those of weights.
        for number in (3, 60 if failure == "fail_copy" else 9):
            # Emulated kernels take longer than the deadline of one that hangs.
            patience = TIMEOUT if failure == "hang" else 30000
            told = run_failing(divisi, m, timeout=patience, **{failure: number})
            assert re.search(message, told), (failure, told)


def test_a_lone_gpu_that_hangs_is_given_up(divisi):
    m = compile_for_gpus(divisi, "gpt2", "one")
    told = run_failing(divisi, m, hang=5)
    assert re.search(FAILURES["hang"], told), told


# What comes late, of a run that is recorded or done as one.
@pytest.mark.whole
def test_what_fails_in_a_graph_is_told(divisi):
    m = compile_for_gpus(divisi, "gpt2", "one")

    def told(**failure):
        return run_failing(divisi, m, "--repeat", 3, timeout=30000, **failure)

    assert re.search(r"the graph from .* on: CUDA cannot finish its work on "
                     r"device 0: an illegal memory access",
                     told(fail_launch=30))
    assert ("recording what a device does, which --no-graphs leaves out: "
            in told(lose=30))


@needs_mpi
def test_the_other_process_ends_too(divisi):
    m = compile_for_gpus(divisi, "gpt2", "found")
    # A process has GPUs of its own, of which each rank uses one.
    told = run_failing(divisi, m, "--launch", 2, fail_launch=9)
    assert re.search(FAILURES["fail_launch"], told), told


def test_a_shortage_is_told_in_bytes(divisi):
    m = compile_for_gpus(divisi, "gpt2", "found")
    told = run_failing(divisi, m, bytes=65536)
    assert re.search(r"CUDA cannot allocate (\d+) bytes, of \d+ that are free "
                     r"of 65536, on device [01]: out of memory "
                     r"\(CUDA_ERROR_OUT_OF_MEMORY\)", told), told
    assert re.search(r"(global '.+'|arena of rank [01]|workspace of rank [01]): "
                     r"CUDA", told), told
