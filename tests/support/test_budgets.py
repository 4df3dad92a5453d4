"""A session of tests fails when it exceeds its budget of processor time or memory."""

import pytest

from tests.support import budgets
from tests.support.budgets import folder_of
from tests.support.tiers import unnoted

pytest_plugins = ["pytester"]

CONFTEST = """
from tests.support import budgets

def pytest_addoption(parser):
    budgets.add_options(parser)

def pytest_configure(config):
    config.pluginmanager.register(budgets)
"""


@pytest.fixture
def inner(pytester):
    """Run pytest with the budgets on a test that passes."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("def test_passes(): pass")

    def run(*options):
        with unnoted():
            return pytester.runpytest_inprocess(*options)

    return run


def test_session_within_its_budgets_passes(inner):
    result = inner("--processor-budget", "1e6", "--memory-budget", "1e6")

    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*processor time*", "* s  *::test_passes", "* MB  *::test_passes"])
    result.stdout.no_fnmatch_line("over the budget*")


@pytest.mark.parametrize(
    ("budget", "required", "ends"),
    [
        ("--processor-budget", "1", pytest.ExitCode.TESTS_FAILED),
        ("--processor-budget", "", pytest.ExitCode.OK),
        ("--memory-budget", "", pytest.ExitCode.TESTS_FAILED),
    ],
)
def test_session_beyond_a_budget_says_by_which(inner, budget, required, ends, monkeypatch):
    monkeypatch.setenv("KVTRACE_REQUIRE_BUDGETS", required)
    result = inner(budget, "0.001")

    assert result.ret == ends
    result.stdout.fnmatch_lines(["over the budget by more than a fifth: *; the budget is 0 *"])


def test_slower_machine_has_as_much_more_processor_time(inner, monkeypatch):
    monkeypatch.setenv("KVTRACE_REQUIRE_BUDGETS", "1")
    monkeypatch.setattr(budgets, "PROBE_SECONDS", budgets.PROBE_SECONDS / 1e9)
    result = inner("--processor-budget", "0.001")

    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*the same work takes * times as long as *"])


@pytest.mark.parametrize(
    ("nodeid", "folder"),
    [
        ("tests/schema/test_writer.py::test_a[x/y]", "schema"),
        ("tests/addons/agents/commands/test_mcp.py::test_b", "addons/agents"),
        ("tests/test_forks.py::test_c", "."),
    ],
)
def test_sums_are_by_room_or_add_on(nodeid, folder):
    assert folder_of(nodeid) == folder
