"""A suite that is recorded: which test launches what, and which of it has defects.

Each test is a mark of its id around its setup, its call and its teardown, so that a trace tells
which test a launch is of. Calls are judged before their first launch, as with KVTRACE_SANITIZE=1,
and a test that launches a call with a defect gets the defect reported, whether or not the call is
new. What a test launched is among its report's properties, and so reaches JUnit files, and the
process that pytest-xdist's workers report to.
"""

import os
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

from kvtrace.capture import api, groups
from kvtrace.schema.arrays import memory_of
from kvtrace.settings import settings_from_environment
from kvtrace.text import plural, printable

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session
    from kvtrace.converters.findings.model import Finding

#: The attribute that tells a mark of a test from those of its program.
MARK: Final = {"pytest": "test"}
#: Names of the properties of a test's report.
LAUNCHES: Final = "kvtrace.launches"
KERNELS: Final = "kvtrace.kernels"
FINDING: Final = "kvtrace.finding"
_WORKER_OUT: Final = "kvtrace_out"
_SHOWN: Final = 20


class _Node(Protocol):
    """A worker of pytest-xdist, as its `pytest_configure_node` has it."""

    workerinput: dict[str, Any]


def register(config: pytest.Config) -> None:
    """Record in this process, or have the workers of pytest-xdist do it; report at the end."""
    if config.getoption("collectonly", False):
        return
    given = getattr(config, "workerinput", {}).get(_WORKER_OUT)
    out = Path(config.invocation_params.dir, given or config.getoption("kvtrace_out")).resolve()
    if given is None:
        config.pluginmanager.register(_Summary(out), "kvtrace-summary")
    if given is None and getattr(config.option, "dist", "no") != "no":
        groups.hand_on(os.environ)
        config.pluginmanager.register(_Workers(out), "kvtrace-workers")
        return
    fails = config.getoption("kvtrace_fail") == "violation"
    config.pluginmanager.register(_Recorder(out, fails=fails), "kvtrace-recorder")


class _Workers:
    """The process that starts workers: it records nothing itself."""

    def __init__(self, out: Path) -> None:
        self._out = out

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: _Node) -> None:
        """Tell a worker where to record; each writes a separate run, all of one group."""
        node.workerinput[_WORKER_OUT] = str(self._out)


class _Launched:
    """Observes every launch that is recorded, and counts those of the test that runs."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._kernels: dict[int, int] = {}
        self._calls: Counter[int] = Counter()

    def begin(self) -> None:
        """Forget the test before."""
        self._calls.clear()

    @property
    def calls(self) -> frozenset[int]:
        """The unique calls that the test has launched."""
        return frozenset(self._calls)

    @property
    def count(self) -> int:
        """How many launches those are."""
        return self._calls.total()

    @property
    def kernels(self) -> list[str]:
        """The names of the kernels."""
        named = {self._names.get(self._kernels.get(call, -1), "?") for call in self._calls}
        return sorted(named)

    def row(self, table: str, row: Mapping[str, Any]) -> None:
        """Learn which kernel a call launches."""
        if table == "kernels":
            self._names[row["kernel_id"]] = row["name"] or "?"
        elif table == "calls":
            self._kernels[row["call_id"]] = row["kernel_id"]

    def launches(self, columns: Mapping[str, Any], _copied: Sequence[tuple[int, int, int]]) -> None:
        """Count launches."""
        self._calls.update(memory_of(columns["call_id"]))

    def round(self, journal: "Journal") -> None:
        """Add nothing to the recording."""

    def finish(self, journal: "Journal") -> None:
        """Add nothing to the recording."""


class _Recorder:
    """Records the tests of this process, and fails those whose kernels have a violation."""

    _session: "Session"

    def __init__(self, out: Path, *, fails: bool) -> None:
        self._out = out
        self._fails = fails
        self._owns = False
        self._launched = _Launched()
        self._defects: dict[int, list[Finding]] = {}
        self._told: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Begin to record, before the modules of tests are imported."""
        asked, _ = settings_from_environment(os.environ)
        unset = "KVTRACE_SANITIZE" not in os.environ
        judged = "warn" if asked.sanitize == "off" and (self._fails or unset) else asked.sanitize
        before = api.current()
        self._session = api.start(self._out, sanitize=judged)
        self._owns = before is None and Path(self._session.out) == self._out
        self._session.settings = replace(self._session.settings, sanitize=judged)
        self._session.follow(self._launched)
        self._session.on_defects.append(self._hear)

    def _hear(self, call_id: int, defects: Sequence["Finding"]) -> None:
        known = self._defects.setdefault(call_id, [])
        known += [each for each in defects if each.finding_id not in {k.finding_id for k in known}]

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        """Mark a test, from its setup to its teardown."""
        self._session.flush()
        self._launched.begin()
        self._told.clear()
        with api.mark(item.nodeid, **MARK):
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        """Tell a report what was launched, and fail it where that has a violation."""
        outcome = yield
        report: pytest.TestReport = outcome.get_result()
        if call.when == "setup" and report.passed:
            return  # what fixtures launched is reported with the call
        self._session.flush()
        found = self._new_defects()
        for each in found:
            report.user_properties.append((FINDING, _line(each)))
        item.user_properties[:] = report.user_properties
        if call.when == "teardown" and self._launched.count:
            report.user_properties.append((LAUNCHES, self._launched.count))
            report.user_properties.append((KERNELS, ", ".join(self._launched.kernels)))
        strict = self._session.settings.strict
        failing = [each for each in found if each.fails(strict=strict)]
        if self._fails and failing and report.passed:
            report.outcome = "failed"
            report.longrepr = self._text(failing)

    def pytest_sessionfinish(self) -> None:
        """Seal the run, unless it is of a recording around pytest."""
        if self._owns:
            api.stop()

    def _new_defects(self) -> list["Finding"]:
        """Return the defects of what the test has launched that were not reported yet."""
        found = {
            each.finding_id: each
            for call in sorted(self._launched.calls & self._defects.keys())
            for each in self._defects[call]
            if each.finding_id not in self._told
        }
        self._told.update(found)
        return list(found.values())

    def _text(self, findings: Sequence["Finding"]) -> str:
        from kvtrace.backends.compiled_kernels.judged_launches import live_of

        defect = live_of(self._session).defect(findings)
        return f"a kernel that this test launches has a violation\n\n{defect}"


class _Summary:
    """Reports at the end what tests launched, wherever they ran."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._tests = 0
        self._launches = 0
        self._kernels: set[str] = set()
        self._findings: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what a test's last report says."""
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == LAUNCHES:
                self._tests += 1
                self._launches += int(str(value))
            elif name == KERNELS:
                self._kernels.update(str(value).split(", "))
            elif name == FINDING:
                self._findings.append((report.nodeid, str(value)))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a section of a few lines."""
        terminalreporter.section("kvtrace")
        for line in self._lines():
            terminalreporter.line(line)

    def _lines(self) -> list[str]:
        out = os.path.relpath(self._out)
        if not self._launches:
            return [f"no test launched a kernel that was recorded in {out}"]
        lines = [
            f"{plural(self._tests, 'test')} launched {plural(len(self._kernels), 'kernel')} "
            f"{self._launches:,} times, recorded in {out} (kvtrace report {out})"
        ]
        tests = {test for test, _ in self._findings}
        if not tests:
            return [*lines, "no defect was found in what they launched"]
        lines.append(f"{plural(len(tests), 'test')} launched a kernel with a defect:")
        shown = self._findings[:_SHOWN]
        lines += [f"  {printable(test)}: {printable(text)}" for test, text in shown]
        left = len(self._findings) - len(shown)
        return [*lines, f"  … and {left} more (kvtrace sanitize {out})"] if left else lines


def _line(found: "Finding") -> str:
    """Return a defect in one line: what, of which kernel, where."""
    kind = found.severity if found.verdict == "violation" else found.verdict
    place = f"{os.path.relpath(found.file)}:{found.line}" if found.file else "?"
    access = f"{found.access or 'access'} of {found.arg}" if found.arg else found.access or "access"
    return f"{kind}[{found.rule}]: {access} in {found.kernel}, {place}"
