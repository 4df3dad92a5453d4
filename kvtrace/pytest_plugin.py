"""Plugin of pytest: `pytest --kvtrace out/` records the suite, test by test.

Every pytest of an environment imports this module, so the module imports nothing, and without an
option does nothing. With an option, entries of that name in the group `kvtrace.pytest` are called.
"""

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Add the options `--kvtrace`, `--kvtrace-fail` and `--kvtrace-tolerances`."""
    group = parser.getgroup("kvtrace", "kernels that tests launch")
    group.addoption(
        "--kvtrace",
        metavar="DIR",
        default=None,
        dest="kvtrace_out",
        help="Record every kernel launch of the tests in the trace DIR, and judge each distinct "
        "call.",
    )
    group.addoption(
        "--kvtrace-fail",
        choices=("never", "violation"),
        default="never",
        dest="kvtrace_fail",
        help="With --kvtrace, fail a test that launches a kernel with a violation.",
    )
    group.addoption(
        "--kvtrace-tolerances",
        action="store_true",
        default=False,
        dest="kvtrace_tolerances",
        help="Without a GPU, derive a tolerance for each comparison of a kernel's results in "
        "tests, and print it beside the test's own.",
    )


def pytest_configure(config: "pytest.Config") -> None:
    """Call the add-ons for `--kvtrace` and `--kvtrace-tolerances`, if these options are given."""
    if config.getoption("kvtrace_out", None):
        _hand_over(config, "kvtrace", "records suites")
    if config.getoption("kvtrace_tolerances", False):
        _hand_over(config, "kvtrace-tolerances", "derives tolerances")


def _hand_over(config: "pytest.Config", option: str, what: str) -> None:
    """Call the add-ons that implement an option; UsageError, with `what`, if there are none."""
    from kvtrace.registry import loaded

    plugins = [plugin for _, plugin in loaded("pytest", option)]
    if not plugins:
        import pytest

        raise pytest.UsageError(f"--{option} needs an add-on of kvtrace that {what}")
    for plugin in plugins:
        plugin(config)
