"""What a recording costs its program, measured during the recording.

Three things delay a program's threads. What runs in them: of one launch in some the
hot path times what recording adds, and all that new kernels and calls take (`Recorder.costs`).
The journal's thread, which holds the interpreter's lock for a while: the program's threads use less
of the processor in its rounds than between them, and what they lack is what they waited. And what a
device profiler does inside the program's launches: it is timed once, by launching with and without
it, and counted for each execution.

The start, which are the rounds with a new kernel, and the end are distinguished from the time in
which known kernels were launched: only of that a share in per cent says what the next hour would
cost.
"""

import sys
import time
from collections.abc import Iterable
from typing import Any, Final, Protocol

#: Of what was measured between earlier rounds, so much counts beside the last one.
_MEMORY: Final = 0.75

#: Launches of a round that have to be timed for their mean to be taken, rather than that of all.
_ENOUGH: Final = 8


#: The clock, the processor time of threads by their native id, and that of the thread that asks.
Moment = tuple[int, dict[int, int], int]


class Costing(Protocol):
    """A recorder, as far as what it costs is asked for; see `hot.Recorder`."""

    @property
    def costs(self) -> tuple[int, int, int]:
        """Nanoseconds for what is new, launches that were timed, and their nanoseconds."""


class Overhead:
    """Adds up the rounds of a journal; all times are nanoseconds."""

    def __init__(self, recorder: Costing, clocks: "ThreadClocks | None" = None) -> None:
        """Begin now; what the recorder has measured before is counted in the first round."""
        self.start_ns = self.launches_ns = self.running_ns = self.end_ns = self.thread_ns = 0
        #: Executions that a profiler recorded, in the start and later, and what it took for each.
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
        """Count time of one of the program's threads that is in no launch that was timed."""
        self._spent += nanoseconds

    def add_executions(self, count: int) -> None:
        """Observe executions that a device profiler recorded, each launched by the program."""
        self._executions += count

    def profiler_took(self, each_ns: int | None) -> None:
        """Note what the profiler took for each execution; None: that is not known."""
        self._each_ns = each_ns

    def add_kernel(self) -> None:
        """Note that the round has a new kernel."""
        self._kernels += 1

    def add_launches(self, threads: Iterable[int], count: int) -> None:
        """Observe launches of the round, and of the native ids of the threads that made them."""
        self._launches += count
        self._processor.tell(threads)

    def begin_round(self) -> None:
        """Begin a round, in the thread that does it."""
        self._begun = now = self._processor.now()
        if self._left is not None:
            between = used(self._left, now)
            self._between = (
                _MEMORY * self._between[0] + between[0],
                _MEMORY * self._between[1] + between[1],
            )

    def end_round(self, waited: float | None = None) -> None:
        """End a round, in the same thread; `waited`: how long the program waited, if that is known.

        Otherwise this is a thread beside the program's, and what they waited is measured.
        """
        now = self._processor.now()
        theirs, passed = used(self._begun, now)
        if waited is None:
            waited = self._waited(theirs, passed)
            self.thread_ns += now[2] - self._begun[2]
        self._processor.follow_those_told()
        self._left = self._processor.now()
        known, wall = self._known_launches(), now[0]
        elapsed, self._last = wall - self._last, wall
        steady = self._launches > 0 and not self._kernels
        self._profiled[steady] += self._executions
        self._kernels = self._launches = self._executions = 0
        if steady:
            self.launches_ns += known
            self.running_ns += elapsed
            self._waits += waited
        else:
            self.start_ns += known
            self._waits_at_start += waited

    def end(self, begun: int) -> None:
        """Count the end of the recording, which began at that monotonic time and is over now."""
        self.end_ns = time.monotonic_ns() - begun

    def columns(self) -> dict[str, Any]:
        """Return `overhead` and `self_overhead_ns`, which is its sum, of `runs`."""
        at_start, later = (count * (self._each_ns or 0) for count in self._profiled)
        parts = {
            "start_ns": self.start_ns + _whole(self._waits_at_start) + at_start,
            "launches_ns": self.launches_ns,
            "waits_ns": _whole(self._waits),
            "profiler_ns": later,
            "end_ns": self.end_ns,
        }
        row: dict[str, int | None] = {**parts, "running_ns": self.running_ns}
        row["thread_ns"] = self.thread_ns
        if self._each_ns is None and any(self._profiled):
            row["profiler_ns"] = None
        return {"self_overhead_ns": sum(parts.values()), "overhead": row}

    def _known_launches(self) -> int:
        """What the program's threads spent since this was asked last."""
        new, timed, timed_ns = self._recorder.costs
        spent, self._spent = self._spent + new - self._new, 0
        count, took = timed - self._timed, timed_ns - self._timed_ns
        self._new, self._timed, self._timed_ns = new, timed, timed_ns
        if count < _ENOUGH:
            count, took = timed, timed_ns
        return spent + (self._launches * took // count if count else 0)

    def _waited(self, theirs: int, passed: int) -> float:
        """How long the program's threads were kept waiting in a round, by their usual pace."""
        usual, wall = self._between
        if not wall:
            return 0.0
        pace = usual / wall  # above 1 where several run at once
        return (pace * passed - theirs) / max(1.0, pace)


class ThreadClocks:
    """The processor time of some threads of this process, where it can be asked for: on Linux."""

    def __init__(self) -> None:
        """Follow no thread yet."""
        self._threads: set[int] = set()
        self._told: set[int] = set()

    def tell(self, threads: Iterable[int]) -> None:
        """Observe threads to follow, by native id."""
        if sys.platform == "linux":
            self._told.update(threads)

    def follow_those_told(self) -> None:
        """Follow them from now on."""
        self._threads |= self._told
        self._told.clear()

    def now(self) -> Moment:
        """Read all clocks; threads that have ended are followed no more."""
        times = {}
        for thread in tuple(self._threads):
            try:
                # The clock of a thread: clock_getcpuclockid(3) and Linux's posix-timers.h.
                times[thread] = time.clock_gettime_ns(~thread << 3 | 6)
            except OSError:
                self._threads.discard(thread)
        return time.monotonic_ns(), times, time.thread_time_ns()


def used(before: Moment, after: Moment) -> tuple[int, int]:
    """Processor time of the threads that are in both moments, and how much time lies between."""
    threads = before[1].keys() & after[1].keys()
    return sum(after[1][each] - before[1][each] for each in threads), after[0] - before[0]


def _whole(waits: float) -> int:
    """What was measured of waits; a little below nothing, by chance, is nothing."""
    return max(0, round(waits))
