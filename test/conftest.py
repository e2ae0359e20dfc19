"""Says how many cases each file of tests ran; `make test` shows these lines.
What ran none, for all are skipped, is no success: it ends with the code that
ctest shows as skipped, if ctest has named one (cmake/DivisiTargets.cmake)."""

import os

import pytest


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
