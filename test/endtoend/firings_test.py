"""Which rules are applied to the models, and what is recognised in them."""

import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "docs"))
import generate_firings  # noqa: E402

PAGE = ROOT / "docs/firings.md"


def test_page_is_what_is_applied():
    assert len(generate_firings.MODELS) >= 7
    page = (generate_firings.HEAD + "\n" +
            generate_firings.tables(generate_firings.MODELS))
    assert page == PAGE.read_text(encoding="utf-8"), (
        "write docs/firings.md again: python docs/generate_firings.py")
