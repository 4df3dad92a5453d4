"""pytest's plugin: `pytest --kvtrace out/` records the suite, test by test.

Every pytest of an environment imports this module, so it imports nothing, and without the option
nothing happens. With it, entries of the group `kvtrace.suites` do what there is to do.
"""

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Add the options."""
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


def pytest_configure(config: "pytest.Config") -> None:
    """Record the suite where that is asked for."""
    if config.getoption("kvtrace_out", None):
        from kvtrace.registry import loaded

        recorders = [record for _, record in loaded("suites")]
        if not recorders:
            import pytest

            raise pytest.UsageError("--kvtrace: this kvtrace has no add-on that records suites")
        for record in recorders:
            record(config)
