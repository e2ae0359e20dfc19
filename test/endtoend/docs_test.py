"""What the pages say is what the tools do."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

PAGES = sorted(ROOT.glob("docs/*.md")) + sorted(
    ROOT / name for name in ("README.md", "models/README.md",
                             "test/models/README.md"))


def test_walkthrough_is_what_the_tools_print():
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate_walkthrough.py",
         "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES,
                         ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES,
                         ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_files_that_pages_name_are_there(page):
    """`lib/Layout/Layout.cpp` in backquotes is a file or folder."""
    rooms = "cmake|dialects|include|lib|passes|runtime|tools|models|bench|test"
    for path in re.findall(rf"`((?:{rooms})/[\w./-]+)`", page.read_text()):
        assert (ROOT / path).exists(), path


def test_exit_codes_are_those_of_the_header():
    header = (ROOT / "include/divisi/Support/Status.h").read_text()
    body = header[header.index("enum class ExitCode"):]
    codes = re.findall(r"= (\d+),", body[:body.index("};")])
    page = (ROOT / "docs/error-codes.md").read_text()
    assert re.findall(r"^\| (\d+) \|", page, re.M) == codes
