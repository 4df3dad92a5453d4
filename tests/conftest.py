"""For all tests: no cache on disk of the user's, and what is printed when a session ends.

What tests have to say travels with their reports as properties, so that it arrives from the
processes of pytest-xdist too.
"""

import ctypes
import gc
import os
import shutil
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from kvtrace.capture.spool import remove_useless_memories
from kvtrace.cli import progress
from tests.support import budgets, changed, tiers
from tests.support.thorough import DAY, THOROUGH, usually

# The costliest tests of properties leave the number of examples to the profile: fifteen, a hundred
# every night, unless `pytest --hypothesis-profile=thorough` asks for more, as after a change to
# what they are about.
settings.register_profile("thorough", max_examples=2000, deadline=None)
# How long an example takes depends on what else the machine does. By day the examples follow from
# the test's code, so that no change is refused for what another drew; the nights draw new ones.
settings.register_profile(
    "untimed",
    max_examples=usually(15, thorough=100),
    deadline=None,
    derandomize=not THOROUGH,
)
settings.load_profile("untimed")


#: Folders of tests lie in memory where it holds that much: every part of a trace is brought to disk
#: (fsync), and waiting for that was half the time of tests/schema.
MEMORY = Path("/dev/shm")
LEAST_FREE = 4 << 30
#: The garbage collector looks rarely: it was a third of the time in which tests are imported, and a
#: seventh of the time of those that make many terms.
COLLECTED_EACH = 50_000

_module = pytest.StashKey[object]()


def pytest_addoption(parser: pytest.Parser) -> None:
    for plugin in (budgets, changed):
        plugin.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(COLLECTED_EACH)
    for plugin in (tiers, budgets, changed):
        config.pluginmanager.register(plugin)
    # Arrow's own allocator keeps what is freed: 92 MB after 14 tests of figures.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    progress._LINES = 1e6  # no test depends on how long a command takes
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As in what a shell starts in the background; programs that tests start would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    cache = getattr(config, "cache", None)  # none with -p no:cacheprovider
    if cache is not None:
        os.environ["KVTRACE_TEST_TTIR"] = str(cache.mkdir("kernels"))
        os.environ["KVTRACE_TEST_TRACES"] = str(cache.mkdir("traces"))
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= LEAST_FREE:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_report_header() -> str:
    return f"sweeps: those of KVTRACE_TEST_DAY={DAY}"


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what lives to the end: modules, tests, parameters."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Free what the tests of the file before left: caches of their module, and what is in cycles.

    Evaluated kernels hold gigabytes. What is alive then is looked at no more, so that this takes
    milliseconds; the C library gives freed pages back where asked.
    """
    module = getattr(item, "module", None)
    before = item.session.stash.get(_module, None)
    if before is module:
        return
    item.session.stash[_module] = module
    for function in list(vars(before).values()) if before is not None else ():
        if hasattr(function, "cache_clear") and function.__module__ == before.__name__:
            function.cache_clear()
    if hasattr(item.config, "workerinput"):
        # The main process counts reports and tests that are left out; a worker prints nothing.
        item.config.pluginmanager.get_plugin("terminalreporter").stats.clear()
    gc.collect()
    gc.freeze()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


def pytest_unconfigure() -> None:
    gc.unfreeze()  # extensions complain at the end of what is left uncollected
    remove_useless_memories(moved_kept_ns=0)  # of processes that tests killed


@pytest.fixture
def young_heap() -> None:
    """Let the collector, and who asks it for all objects, look at what the test makes alone.

    All that earlier tests left takes a second of each such look.
    """
    gc.freeze()


@pytest.fixture
def say(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Add lines to a section of the terminal's summary: say(section, *lines)."""

    def add(section: str, *lines: str) -> None:
        record_property("said", (section, lines))

    return add


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.option.verbose < 0:
        return
    _write_coverage(terminalreporter)
    sections: dict[str, list[str]] = defaultdict(list)
    for _, (section, lines) in _properties(terminalreporter, "said"):
        sections[section].extend(lines)
    for section, said in sections.items():
        terminalreporter.section(section)
        for line in said:
            terminalreporter.line(line)


def _properties(
    reporter: pytest.TerminalReporter, name: str
) -> Iterator[tuple[pytest.TestReport, Any]]:
    """Each property of that name, with the report of the test that recorded it."""
    for outcome in ("passed", "failed"):
        for report in reporter.getreports(outcome):
            if getattr(report, "when", None) == "call":
                yield from ((report, value) for key, value in report.user_properties if key == name)


def _write_coverage(reporter: pytest.TerminalReporter) -> None:
    """What the conformance tests covered, if any ran."""
    ran = [
        (op, dtype, undefined, report.passed)
        for report, (op, dtype, undefined) in _properties(reporter, "conformance")
    ]
    if not ran:
        return
    from tests.kernels.coverage_table import cells_of, plain_table

    failed = sum(not passed for *_, passed in ran)
    reporter.section("coverage of the language by the evaluator")
    reporter.line(
        f"{len(ran)} cases ran, {failed} failed; ✓ equal to its definition, u undefined in Triton, "
        "✗ failed; what is blank is in docs/internals/coverage.md"
    )
    for line in plain_table(cells_of(sorted(ran))):
        reporter.line(line)
