"""How many kernels the programs of this folder have generated, run on the
emulator and compared, each counted once (KernelCount.h)."""

import os
from pathlib import Path

import pytest
from share import is_sweep

LISTS = Path(os.environ["DIVISI_BUILD"]) / "test" / "emulator" / "kernels"
FEWEST = 2000
# A share of the cases has more than that share of them: what is small and often
# drawn.
FEWEST_IN_SAMPLE = 100


def test_kernels_of_all_kinds_were_compared(capsys):
    lists = sorted(LISTS.glob("*.txt"))
    if not (LISTS / "CudaTypesTest.txt").exists():
        pytest.skip("the build found no cuda.h, or makes no code for this "
                    "processor")
    kernels = set()
    for file in lists:
        kernels.update(file.read_text().splitlines())
    with capsys.disabled():
        print(f"\ncounted: kernels of GPUs: {len(kernels)} that differ, of "
              f"{len(lists)} programs")
    assert len(kernels) >= (FEWEST if is_sweep() else FEWEST_IN_SAMPLE)
