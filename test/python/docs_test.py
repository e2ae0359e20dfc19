"""The examples of docs/python.md do what they say."""

import doctest
import re

from conftest import ROOT

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_examples_are_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    test = doctest.DocTestParser().get_doctest(
        "".join(blocks), {}, "python.md", "python.md", 0)
    assert len(test.examples) > 30
    told = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(
        test, out=told.append)
    assert result.failed == 0, "".join(told)
