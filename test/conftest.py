"""Takes the sample of the cases (share.py) and says how many each file of tests
ran; `make test` shows these lines.
What ran none, for all are skipped, is no success: it ends with the code that
ctest shows as skipped, if ctest has named one (cmake/DivisiTargets.cmake)."""

import os

import pytest
import share


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "sample(parameter..., slow, first): a share of the cases runs, with "
        "each value of these parameters")
    config.addinivalue_line(
        "markers", "as_written: models are planned without the search for other "
        "programs, except where all cases run")
    config.addinivalue_line(
        "markers", "whole: runs only where DIVISI_TEST_SHARE is 1")


def pytest_collection_modifyitems(config, items):
    kept = share.kept(items)
    chosen = {id(item) for item in kept}
    config.hook.pytest_deselected(
        items=[item for item in items if id(item) not in chosen])
    items[:] = kept


def pytest_terminal_summary(terminalreporter):
    counts = {}
    for report in terminalreporter.getreports("passed"):
        if report.when == "call":
            name = report.nodeid.split("::")[0]
            counts[name] = counts.get(name, 0) + 1
    for name, count in sorted(counts.items()):
        terminalreporter.write_line(f"counted: {name}: {count} cases passed")
    for report in terminalreporter.getreports("skipped"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        terminalreporter.write_line(
            f"counted: {report.nodeid} is skipped: {reason}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    code = os.environ.get("DIVISI_ALL_SKIPPED")
    if (code and exitstatus == pytest.ExitCode.OK
            and reporter.stats.get("skipped")
            and not reporter.stats.get("passed")):
        session.exitstatus = int(code)
