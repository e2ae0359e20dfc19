"""Says how many cases each file of tests ran; `make test` shows these lines.
What ran none, for all are skipped, is no success: ctest shows it as skipped."""

import pytest

# As cmake/DivisiTargets.cmake has it.
ALL_SKIPPED = 77


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
    if (exitstatus == pytest.ExitCode.OK and reporter.stats.get("skipped")
            and not reporter.stats.get("passed")):
        session.exitstatus = ALL_SKIPPED
