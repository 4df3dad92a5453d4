"""Prints, at the end of a session, what the conformance tests covered."""

import re

_MODULE = "test_conformance.py::"


def pytest_terminal_summary(terminalreporter, config):
    outcomes = {
        outcome: [
            re.search(r"\[(.*)\]$", report.nodeid).group(1)
            for report in terminalreporter.getreports(outcome)
            if _MODULE in report.nodeid and report.when == "call"
        ]
        for outcome in ("passed", "failed")
    }
    if not any(outcomes.values()) or config.option.verbose < 0:
        return
    from tests.kernels.catalogue import CASES
    from tests.kernels.coverage import cells_of_cases, plain_table

    terminalreporter.section("coverage of the language by the evaluator")
    ran = len(outcomes["passed"]) + len(outcomes["failed"])
    terminalreporter.line(
        f"{ran} of {len(CASES)} cases ran, {len(outcomes['failed'])} failed; ✓ equal to its "
        "definition, u undefined in Triton, ✗ failed; what is blank is in docs/coverage.md"
    )
    for line in plain_table(cells_of_cases(outcomes["failed"])):
        terminalreporter.line(line)
