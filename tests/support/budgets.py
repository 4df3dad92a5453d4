"""Processor time and memory of a session of tests, against the budgets that its caller states.

Each test's time is its own and that of the programs that it waited for, from setup to teardown. A
session's is that of its processes as the system counts it, with collection. What exceeds
`--processor-budget` or `--memory-budget` by more than a fifth is said; it fails a session that
exceeds its memory, and with KVTRACE_REQUIRE_BUDGETS=1, as `.ci/run` sets it, its processor time.

A budget is in seconds of one machine, and another takes longer for the same tests, as this one does
when other work has its caches: at a load of 50 they took 743 s in place of 551, and the same commit
1,816 s here and over 2,400 s in another's CI. So each process times a fixed piece of work between
its tests, and a session's seconds are divided by how much longer than `PROBE_SECONDS` that took.
"""

import os
import resource
import time
from collections import Counter
from collections.abc import Generator
from pathlib import PurePosixPath
from statistics import median
from typing import Any, Final, NamedTuple

import pytest

TOLERANCE: Final = 1.2
#: How many of the dearest tests a summary names; half as many of those that raised a peak.
NAMED: Final = 20
#: Bytes of a unit of `ru_maxrss` on Linux.
KIB: Final = 1024
#: Tests of a process from one probe of the machine's speed to the next.
TESTS_A_PROBE: Final = 50
#: Seconds of processor time that `probe_seconds` measures where the Makefile's budgets were.
PROBE_SECONDS: Final = 0.0072

_started: Final = pytest.StashKey[tuple[float, int]]()


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("budgets")
    group.addoption("--processor-budget", type=float, help="seconds of processor time in all")
    group.addoption("--memory-budget", type=float, help="megabytes that a process may reach")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Sums(config), "budgets-sums")


def processor_seconds() -> float:
    """Return the processor time of this process and of the programs that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def peak_bytes() -> int:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB


def probe_seconds() -> float:
    """Return the processor time that a fixed piece of Python takes on this machine now."""
    begin = time.thread_time()
    ranks = {f"name {number}": number * 7919 % 10_007 for number in range(20_000)}
    sorted(ranks, key=lambda name: ranks[name])
    return time.thread_time() - begin


def folder_of(nodeid: str) -> str:
    """Return the folder of tests that a sum is made of: a room's, or an add-on's."""
    parts = PurePosixPath(nodeid.partition("::")[0]).parts[1:-1]
    return "/".join(parts[: 2 if parts[:1] == ("addons",) else 1]) or "."


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_started] = processor_seconds(), peak_bytes()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        seconds, peak = item.stash[_started]
        item.user_properties.append(("processor", processor_seconds() - seconds))
        item.user_properties.append(("peak", peak_bytes() - peak))


class _Process(NamedTuple):
    """Processor time in seconds, peak memory in bytes and probes of a process that ran tests."""

    seconds: float
    peak: int
    probes: list[float]


class _Sums:
    """Processor time and memory of a session's processes, gathered for its summary."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.tests: dict[str, float] = {}
        #: Bytes by which each test raised its process's peak.
        self.raised: dict[str, int] = {}
        self.processes: list[_Process] = []
        #: Seconds that each probe of this process took.
        self.probes: list[float] = [probe_seconds()]
        self.finished = 0

    def pytest_runtest_logfinish(self) -> None:
        self.finished += 1
        if self.finished % TESTS_A_PROBE == 0:
            self.probes.append(probe_seconds())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            properties = dict(report.user_properties)
            self.tests[report.nodeid] = properties.get("processor", 0.0)
            self.raised[report.nodeid] = properties.get("peak", 0)

    @pytest.hookimpl(optionalhook=True)  # of pytest-xdist
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", None)  # none of a worker that crashed
        if output is not None:
            self.processes.append(_Process(*output["budgets"]))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        process = _Process(processor_seconds(), peak_bytes(), self.probes)
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["budgets"] = tuple(process)
            return
        if not self.processes:
            self.processes.append(process)
        if session.exitstatus == pytest.ExitCode.OK and self.fails():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def fails(self) -> bool:
        """Return whether the session exceeds a budget that is required here."""
        required = os.environ.get("KVTRACE_REQUIRE_BUDGETS") == "1"
        return any(required or " MB " in sentence for sentence in self.exceeded())

    def exceeded(self) -> list[str]:
        """Return a sentence for each budget that is exceeded by more than the tolerance."""
        seconds, peak = self.used()
        seconds /= self.slowness()
        sentences = []
        if (most := self.config.option.processor_budget) and seconds > most * TOLERANCE:
            sentences.append(
                f"{seconds:.0f} s of processor time, speed considered; the budget is {most:.0f} s"
            )
        if (most := self.config.option.memory_budget) and peak > most * TOLERANCE:
            sentences.append(f"{peak:.0f} MB in a process; the budget is {most:.0f} MB")
        return sentences

    def used(self) -> tuple[float, float]:
        """Return the seconds of all processes, and the megabytes of the largest."""
        return (
            sum(process.seconds for process in self.processes),
            max((process.peak for process in self.processes), default=0) / 1e6,
        )

    def slowness(self) -> float:
        """Return how many times as long as where budgets were measured the same work takes."""
        probes = [seconds for process in self.processes for seconds in process.probes]
        return median(probes or self.probes) / PROBE_SECONDS

    # The last section: of a long output, only the end may be shown.
    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.config.option.verbose < 0 and not self.exceeded():
            return
        seconds, peak = self.used()
        terminalreporter.section("processor time")
        terminalreporter.line(
            f"{seconds:.0f} s in all, at most {peak:.0f} MB in a process; the same work takes "
            f"{self.slowness():.2f} times as long as where the budgets were measured"
        )
        folders = Counter[str]()
        for nodeid, used in self.tests.items():
            folders[folder_of(nodeid)] += used
        terminalreporter.line(
            "by folder: " + ", ".join(f"{name} {used:.0f}" for name, used in folders.most_common())
        )
        for nodeid, used in Counter(self.tests).most_common(NAMED):
            terminalreporter.line(f"{used:7.2f} s  {nodeid}")
        for nodeid, raised in Counter(self.raised).most_common(NAMED // 2):
            terminalreporter.line(f"{raised / 1e6:+6.0f} MB  {nodeid}")
        for sentence in self.exceeded():
            terminalreporter.line(f"over the budget by more than a fifth: {sentence}", red=True)
