"""Pytest plugin that records a test suite: the launches and defects of each test.

A mark with the test's id surrounds setup, call and teardown, so that a trace shows which test made
a launch. Calls are judged before their first launch, as with KVTRACE_SANITIZE=1. A test that
launches a call with a defect reports the defect, even if an earlier test launched the call too. A
test's launches are properties of its report, and so reach JUnit files and the main process of
pytest-xdist.
"""

import os
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

from kvtrace.capture import api, groups
from kvtrace.schema.arrays import memory_of
from kvtrace.settings import settings_in_force
from kvtrace.text import plural, printable

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session
    from kvtrace.converters.findings.model import Finding

#: The attribute that distinguishes a test's mark from marks of the tested program.
MARK: Final = {"pytest": "test"}
#: Names of the properties of a test's report.
LAUNCHES: Final = "kvtrace.launches"
KERNELS: Final = "kvtrace.kernels"
FINDING: Final = "kvtrace.finding"
_WORKER_OUT: Final = "kvtrace_out"
_SHOWN: Final = 20


class _Node(Protocol):
    """A worker of pytest-xdist, as passed to `pytest_configure_node`."""

    workerinput: dict[str, Any]


def register(config: pytest.Config) -> None:
    """Register the plugins that record the tests and print a summary at the end.

    Tests are recorded in the process that runs them: this one, or workers of pytest-xdist.
    """
    if config.getoption("collectonly", False):
        return
    worker_out = getattr(config, "workerinput", {}).get(_WORKER_OUT)
    out = Path(
        config.invocation_params.dir, worker_out or config.getoption("kvtrace_out")
    ).resolve()
    if worker_out is None:
        config.pluginmanager.register(_Summary(out), "kvtrace-summary")
    if worker_out is None and getattr(config.option, "dist", "no") != "no":
        groups.pass_group_on(os.environ)
        config.pluginmanager.register(_Workers(out), "kvtrace-workers")
        return
    fails = config.getoption("kvtrace_fail") == "violation"
    config.pluginmanager.register(_Recorder(out, fails=fails), "kvtrace-recorder")


class _Workers:
    """Plugin of the process that starts pytest-xdist's workers; it records nothing itself."""

    def __init__(self, out: Path) -> None:
        self._out = out

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: _Node) -> None:
        """Pass the trace's folder to a worker; the workers' runs form one group."""
        node.workerinput[_WORKER_OUT] = str(self._out)


class _LaunchCounter:
    """Journal follower that counts the launches of the current test."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._kernels: dict[int, int] = {}
        self._calls: Counter[int] = Counter()

    def begin(self) -> None:
        """Reset the counts for a new test."""
        self._calls.clear()

    @property
    def calls(self) -> frozenset[int]:
        """The unique calls that the test has launched."""
        return frozenset(self._calls)

    @property
    def count(self) -> int:
        """The number of launches of the test."""
        return self._calls.total()

    @property
    def kernels(self) -> list[str]:
        """The sorted names of the launched kernels."""
        return sorted({self._names.get(self._kernels.get(call, -1), "?") for call in self._calls})

    def row(self, table: str, row: Mapping[str, Any]) -> None:
        """Store the kernel of a new call, or the name of a new kernel."""
        if table == "kernels":
            self._names[row["kernel_id"]] = row["name"] or "?"
        elif table == "calls":
            self._kernels[row["call_id"]] = row["kernel_id"]

    def launches(self, columns: Mapping[str, Any], _copied: Sequence[tuple[int, int, int]]) -> None:
        """Count new launches by call."""
        self._calls.update(memory_of(columns["call_id"]))

    def round(self, journal: "Journal") -> None:
        """Add nothing to the recording."""

    def finish(self, journal: "Journal") -> None:
        """Add nothing to the recording."""


class _Recorder:
    """Plugin that records the tests of this process; with `fails`, violations fail a test."""

    _session: "Session"

    def __init__(self, out: Path, *, fails: bool) -> None:
        self._out = out
        self._fails = fails
        self._owns_recording = False
        self._counter = _LaunchCounter()
        self._defects: dict[int, list[Finding]] = {}
        self._reported: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Start recording before the modules of tests are imported."""
        settings, _ = settings_in_force(os.environ)
        is_unset = "KVTRACE_SANITIZE" not in os.environ
        sanitize = (
            "warn"
            if settings.sanitize == "off" and (self._fails or is_unset)
            else settings.sanitize
        )
        outer_session = api.current()
        self._session = api.start(self._out, sanitize=sanitize)
        self._owns_recording = outer_session is None and Path(self._session.out) == self._out
        self._session.settings = replace(self._session.settings, sanitize=sanitize)
        self._session.follow(self._counter)
        self._session.on_defects.append(self._store_defects)

    def _store_defects(self, call_id: int, defects: Sequence["Finding"]) -> None:
        known_defects = self._defects.setdefault(call_id, [])
        known_defects += [
            defect
            for defect in defects
            if defect.finding_id not in {known_defect.finding_id for known_defect in known_defects}
        ]

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        """Reset the counts, and surround a test by a mark from setup to teardown."""
        self._session.flush()
        self._counter.begin()
        self._reported.clear()
        with api.mark(item.nodeid, **MARK):
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        """Add new defects and, after teardown, launches to a test's report.

        With `fails`, a violation makes a passed report a failed one.
        """
        outcome = yield
        report: pytest.TestReport = outcome.get_result()
        if call.when == "setup" and report.passed:
            return  # launches of fixtures are reported with the call
        self._session.flush()
        defects = self._new_defects()
        for defect in defects:
            report.user_properties.append((FINDING, _finding_line(defect)))
        item.user_properties[:] = report.user_properties
        if call.when == "teardown" and self._counter.count:
            report.user_properties.append((LAUNCHES, self._counter.count))
            report.user_properties.append((KERNELS, ", ".join(self._counter.kernels)))
        strict = self._session.settings.strict
        failures = [defect for defect in defects if defect.fails(strict=strict)]
        if self._fails and failures and report.passed:
            report.outcome = "failed"
            report.longrepr = self._failure_text(failures)

    def pytest_sessionfinish(self) -> None:
        """Seal the run, unless the recording began outside of pytest."""
        if self._owns_recording:
            api.stop()

    def _new_defects(self) -> list["Finding"]:
        """Return the defects of the test's launches that were not reported yet."""
        defects = {
            defect.finding_id: defect
            for call in sorted(self._counter.calls & self._defects.keys())
            for defect in self._defects[call]
            if defect.finding_id not in self._reported
        }
        self._reported.update(defects)
        return list(defects.values())

    def _failure_text(self, findings: Sequence["Finding"]) -> str:
        from kvtrace.backends.compiled_kernels.judged_launches import judge_of

        defect = judge_of(self._session).defect(findings)
        return f"a kernel that this test launches has a violation\n\n{defect}"


class _Summary:
    """Plugin that prints a summary of the launches and defects of all tests, in all processes."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._tests = 0
        self._launches = 0
        self._kernels: set[str] = set()
        self._tests_by_finding: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the launches and defects in a test's last report, that of teardown."""
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == LAUNCHES:
                self._tests += 1
                self._launches += int(str(value))
            elif name == KERNELS:
                self._kernels.update(str(value).split(", "))
            elif name == FINDING:
                self._tests_by_finding.setdefault(str(value), []).append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary as a section "kvtrace"."""
        terminalreporter.section("kvtrace")
        for line in self._summary_lines():
            terminalreporter.line(line)

    def _summary_lines(self) -> list[str]:
        out = os.path.relpath(self._out)
        if not self._launches:
            return [f"no test launched a kernel that was recorded in {out}"]
        lines = [
            f"{plural(self._tests, 'test')} launched {plural(len(self._kernels), 'kernel')} "
            f"{self._launches:,} times, recorded in {out} (kvtrace report {out})"
        ]
        tests_with_defects = {test for tests in self._tests_by_finding.values() for test in tests}
        if not tests_with_defects:
            return [*lines, "no defect was found in these launches"]
        lines.append(f"{plural(len(tests_with_defects), 'test')} launched a kernel with a defect:")
        for text, (first, *others) in islice(self._tests_by_finding.items(), _SHOWN):
            more = f" and {plural(len(others), 'more test')}" if others else ""
            lines.append(f"  {printable(first)}{more}: {printable(text)}")
        hidden_count = max(0, len(self._tests_by_finding) - _SHOWN)
        return (
            [*lines, f"  … and {hidden_count} more (kvtrace sanitize {out})"]
            if hidden_count
            else lines
        )


def _finding_line(finding: "Finding") -> str:
    """Return a finding in one line: severity, rule, access, kernel and source line."""
    kind = finding.severity if finding.verdict == "violation" else finding.verdict
    source_line = f"{os.path.relpath(finding.file)}:{finding.line}" if finding.file else "?"
    access = (
        f"{finding.access or 'access'} of {finding.arg}"
        if finding.arg
        else finding.access or "access"
    )
    return f"{kind}[{finding.rule}]: {access} in {finding.kernel}, {source_line}"
