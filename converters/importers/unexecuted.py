"""Requests of kernels without an execution: the tool lost it, or claims an impossible time.

A launch function of the runtime may call one of the driver, and tools give the execution the id of
either. Launches into a graph that is being captured have no execution.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.converters.importers.rows import NONE, Integers

#: Launch functions, without their API.
LAUNCHING: Final = frozenset(
    {"LaunchKernel", "LaunchKernelEx", "LaunchKernelExC", "LaunchCooperativeKernel"}
    | {"ModuleLaunchKernel", "ModuleLaunchCooperativeKernel", "ExtModuleLaunchKernel"}
    | {"ExtLaunchKernel"}
)
#: Functions between which launches of a thread are captured into a graph.
CAPTURE_BEGIN: Final = frozenset({"StreamBeginCapture", "StreamBeginCaptureToGraph"})
CAPTURE_END: Final = frozenset({"StreamEndCapture"})

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of some functions by host threads: times in ns, and ids (NONE: unknown)."""

    begin: Integers
    end: Integers
    thread: Integers
    correlation: Integers

    def rows(self, rows: Integers | _Mask) -> "Calls":
        """Return some of the calls."""
        return Calls(self.begin[rows], self.end[rows], self.thread[rows], self.correlation[rows])


def unexecuted(
    launches: Calls, captures: tuple[Calls, Calls], executed: Integers
) -> tuple[Integers, int]:
    """Return the rows of launches without an execution, and the number of all that should have one.

    Of calls in one another, only the outermost counts.

    Args:
        launches: Calls of launch functions.
        captures: Calls that begin and that end the capture of a graph.
        executed: The ids of executions with possible times.

    """
    candidates = np.flatnonzero(launches.correlation != NONE)
    has_execution = np.isin(launches.correlation, executed)
    if not has_execution.any():
        return candidates[:0], 0  # these ids do not say what was executed
    lost, total = [candidates[:0]], 0
    for thread in np.unique(launches.thread).tolist():
        of_thread = candidates[launches.thread[candidates] == thread]
        begin, end = launches.begin[of_thread], launches.end[of_thread]
        order = np.lexsort((-end, begin))
        of_thread, begin, end = of_thread[order], begin[order], end[order]
        latest = np.maximum.accumulate(end)
        is_outermost = np.append(True, end[1:] > latest[:-1])[: end.size]
        group = np.cumsum(is_outermost) - 1
        is_executed = np.bincount(group, has_execution[of_thread]) > 0
        outermost = of_thread[is_outermost]
        started, ended = (np.sort(calls.begin[calls.thread == thread]) for calls in captures)
        moments = launches.begin[outermost]
        open_captures = np.searchsorted(started, moments) - np.searchsorted(ended, moments)
        is_expected = is_executed | (open_captures <= 0)
        total += int(is_expected.sum())
        lost.append(outermost[is_expected & ~is_executed])
    return np.concatenate(lost), total


def unexecuted_note(lost: int, total: int) -> str | None:
    """Return a sentence on requests without an execution; None if there are none."""
    if not lost:
        return None
    return (
        f"{lost:,} of {total:,} requests have no execution, or none with a possible time, so idle "
        "time is at most what is shown, and causes of gaps there are unknown"
    )
