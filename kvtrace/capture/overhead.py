"""The time that a recording costs its program, measured during the recording.

Three things delay a program's threads:

- Work in these threads. The hot path times a sample of launches, and all new kernels and calls
  (`Recorder.costs`). What a timed launch took beyond the quickest one is the time that recording
  waited for its own data. For each cache line that it fetches, one of the program's is evicted and
  has to be fetched again, outside of what can be timed: that is counted as equally long. Example:
  a mean of 1,200 ns and a quickest launch of 400 ns count as 2,000 ns.
- The journal's thread, which holds the interpreter's lock while it works. A thread of the program
  waits for all of this that falls on its own work: the thread's processor time in a round, times
  the pace of the program between rounds, at most 1. Example: the program's threads use 0.9 ms of
  processor time per ms between rounds, and the journal's thread 5 ms in a round; so they waited
  4.5 ms. Before the pace is known it counts as 1.
- A device profiler inside the program's launches. Its cost is measured once, by launches with and
  without the profiler, and counted for each execution.

Rounds with a new kernel (the start), and the end, are summed separately from rounds in which only
known kernels were launched: only the share of the latter predicts the cost of the next hour.
"""

import time
from collections.abc import Iterable
from typing import Any, Final

from kvtrace.capture.hot import Recorder

#: Weight of the time between earlier rounds, relative to that before the present round.
_MEMORY: Final = 0.75

#: Fewest timed launches of a round for the round's mean; with fewer, the run's mean is used.
_ENOUGH: Final = 8


#: Wall clock, processor time of threads by native id, processor time of the calling thread; ns.
Moment = tuple[int, dict[int, int], int]


class Overhead:
    """Sums of a recording's cost over the rounds of its journal; all times are nanoseconds."""

    def __init__(self, recorder: Recorder, clocks: "ThreadClocks | None" = None) -> None:
        """Begin to measure; the first round includes the recorder's measurements so far."""
        self.start_ns = self.launches_ns = self.running_ns = self.end_ns = self.thread_ns = 0
        #: Processor time of the last round.
        self.round_ns = 0
        #: Executions that a profiler recorded, in the start and later.
        self._profiled = [0, 0]
        self._each_ns: int | None = None
        self._waits_at_start = self._waits = 0.0
        self._recorder = recorder
        self._new, self._timed, self._timed_ns = 0, 0, 0
        self._spent = 0
        self._kernels = self._launches = self._executions = 0
        self._processor = ThreadClocks() if clocks is None else clocks
        self._between: tuple[float, float] = (0.0, 0.0)  # of threads, and of the wall
        self._begun: Moment = (0, {}, 0)
        self._left: Moment | None = None
        self._last = self._processor.now()[0]

    def spend(self, nanoseconds: int) -> None:
        """Add time that recording took in a thread of the program, besides launches."""
        self._spent += nanoseconds

    def add_executions(self, count: int) -> None:
        """Count executions that a device profiler recorded, each launched by the program."""
        self._executions += count

    def profiler_took(self, each_ns: int | None) -> None:
        """Set the profiler's nanoseconds for each execution; None: not known."""
        self._each_ns = each_ns

    def add_kernel(self) -> None:
        """Count a new kernel, which makes this round part of the start."""
        self._kernels += 1

    def add_launches(self, threads: Iterable[int], count: int) -> None:
        """Count launches of the round; the threads with these native ids are measured later."""
        self._launches += count
        self._processor.note(threads)

    def begin_round(self) -> None:
        """Begin a round, in the thread that executes the round."""
        self._begun = clocks = self._processor.now()
        if self._left is not None:
            processor_ns, wall_ns = used(self._left, clocks)
            self._between = (
                _MEMORY * self._between[0] + processor_ns,
                _MEMORY * self._between[1] + wall_ns,
            )

    def end_round(self, waited: float | None = None) -> None:
        """End a round, in the thread that began it, and add its costs to the sums.

        `waited` is how long the program waited for the round, in ns; None, for a round of the
        journal's thread, means that the wait is estimated.
        """
        clocks = self._processor.now()
        self.round_ns = clocks[2] - self._begun[2]
        if waited is None:
            waited = self._estimated_wait(self.round_ns)
            self.thread_ns += self.round_ns
        self._processor.follow_noted()
        self._left = self._processor.now()
        spent, wall = self._time_in_launches(), clocks[0]
        elapsed, self._last = wall - self._last, wall
        steady = self._launches > 0 and not self._kernels
        self._profiled[steady] += self._executions
        self._kernels = self._launches = self._executions = 0
        if steady:
            self.launches_ns += spent
            self.running_ns += elapsed
            self._waits += waited
        else:
            self.start_ns += spent
            self._waits_at_start += waited

    def end(self, begun: int) -> None:
        """Set the cost of the recording's end: from `begun` (`time.monotonic_ns`) to now."""
        self.end_ns = time.monotonic_ns() - begun

    def columns(self) -> dict[str, Any]:
        """Return the columns `overhead` and `self_overhead_ns` (the sum of the costs) of `runs`."""
        at_start, later = (count * (self._each_ns or 0) for count in self._profiled)
        costs = {
            "start_ns": self.start_ns + _whole(self._waits_at_start) + at_start,
            "launches_ns": self.launches_ns,
            "waits_ns": _whole(self._waits),
            "profiler_ns": later,
            "end_ns": self.end_ns,
        }
        row: dict[str, int | None] = {**costs, "running_ns": self.running_ns}
        row["thread_ns"] = self.thread_ns
        if self._each_ns is None and any(self._profiled):
            row["profiler_ns"] = None
        return {"self_overhead_ns": sum(costs.values()), "overhead": row}

    def _time_in_launches(self) -> int:
        """Return the ns that recording took in the program's threads since the last call.

        A launch counts with the mean of the timed ones, and with the time that the program needs to
        fetch evicted data again: what the mean exceeds the quickest launch by.
        """
        new_ns, timed, timed_ns, quickest_ns = self._recorder.costs
        spent, self._spent = self._spent + new_ns - self._new, 0
        count, sample_ns = timed - self._timed, timed_ns - self._timed_ns
        self._new, self._timed, self._timed_ns = new_ns, timed, timed_ns
        if count < _ENOUGH:
            count, sample_ns = timed, timed_ns
        if not count:
            return spent
        return spent + self._launches * max(sample_ns, 2 * sample_ns - count * quickest_ns) // count

    def _estimated_wait(self, own_ns: int) -> float:
        """Return an estimate, in ns, of the program's wait for `own_ns` of the journal's thread."""
        processor_ns, wall_ns = self._between
        return own_ns * min(1.0, processor_ns / wall_ns) if processor_ns else float(own_ns)


class ThreadClocks:
    """Processor time of chosen threads of this process."""

    def __init__(self) -> None:
        self._threads: set[int] = set()
        self._noted: set[int] = set()

    def note(self, threads: Iterable[int]) -> None:
        """Add threads, by native id, that `follow_noted` begins to measure."""
        self._noted.update(threads)

    def follow_noted(self) -> None:
        """Include the noted threads in `now` from now on."""
        self._threads |= self._noted
        self._noted.clear()

    def now(self) -> Moment:
        """Return the wall clock and the processor time of each followed thread that still runs."""
        times = {}
        for thread in tuple(self._threads):
            try:
                # The clock of a thread: clock_getcpuclockid(3) and Linux's posix-timers.h.
                times[thread] = time.clock_gettime_ns(~thread << 3 | 6)
            except OSError:
                self._threads.discard(thread)
        return time.monotonic_ns(), times, time.thread_time_ns()


def used(before: Moment, after: Moment) -> tuple[int, int]:
    """Return the processor time that threads used between two moments, and the wall time, in ns.

    Only threads that are in both moments count.
    """
    threads = before[1].keys() & after[1].keys()
    return sum(after[1][thread] - before[1][thread] for thread in threads), after[0] - before[0]


def _whole(waits: float) -> int:
    """Return a sum of waits as whole nanoseconds; 0 if noise has made it negative."""
    return max(0, round(waits))
