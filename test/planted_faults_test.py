"""Each fault that `make faults` plants can still be planted: its patch applies, and
the entry that has to catch it is there (planted_faults.py)."""

import re
from pathlib import Path

import planted_faults
import pytest

ROOT = Path(__file__).resolve().parents[1]
ALL = planted_faults.faults()
FEWEST = 25


def entries():
    """The names in the CMakeLists.txt of test/, some of them made of a list."""
    text = "\n".join(path.read_text(encoding="utf-8")
                     for path in (ROOT / "test").rglob("CMakeLists.txt"))
    families = re.findall(r"foreach\((\w+) ([\w\s]+?)\)[^f]*?test\((\w*)\$\{\1\}"
                          r"(\w*)", text)
    made = {f"{head}{each}{tail}" for _, each_of, head, tail in families
            for each in each_of.split()}
    return made | set(re.findall(r"test\((\S+)", text))


@pytest.mark.parametrize("fault", ALL, ids=[each.name for each in ALL])
def test_fault_can_be_planted(fault):
    assert fault.file.endswith(".cpp") and (ROOT / fault.file).exists()
    wrong = planted_faults.apply(fault, ROOT, "--check")
    assert not wrong, f"write test/faults/{fault.name}.patch again:\n{wrong}"
    assert fault.what and fault.entry in entries()


def test_there_are_faults_enough():
    assert len(ALL) >= FEWEST
    assert len({(each.file, each.diff) for each in ALL}) == len(ALL)
