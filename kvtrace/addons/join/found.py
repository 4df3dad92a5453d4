"""What a join finds of executions: a launch, a call, how certain they are, or why there is none."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from kvtrace.addons.join.sides import Executed
from kvtrace.figures.causes import NONE, Flags, Integers


class Grade(IntEnum):
    """How certain it is that an execution is of its launch or call; the values of `grade`."""

    #: The host asked for it inside of the launch, on its thread.
    EXACT = 0
    #: Launches and executions of its stream, or of its graph, agree one for one in order.
    ORDERED = 1
    #: What differs was aligned, and there is no other way to align it; or only one call fits.
    INFERRED = 2


class Reason(IntEnum):
    """Why an execution that looks like a launch has neither launch nor call."""

    #: No launch that was recorded was in progress when the host asked for it.
    NOT_LAUNCHED = 0
    #: Two executions were asked for inside of one launch.
    SHARED_LAUNCH = 1
    #: No captured graph has the kernels of the replay, or several do and their calls differ.
    GRAPH = 2
    #: Launches and executions can be aligned in several ways, which disagree on its call.
    ORDER = 3


REASONS = {
    Reason.NOT_LAUNCHED: "no recorded launch was in progress when they were requested",
    Reason.SHARED_LAUNCH: "several were requested in one launch",
    Reason.GRAPH: "no single captured graph has the kernels of their replay",
    Reason.ORDER: "their order fits several calls",
}


@dataclass(frozen=True)
class Found:
    """One array a column, for all executions; NONE where nothing is known, or does not apply."""

    seq: Integers
    call: Integers
    grade: Integers
    reason: Integers
    #: The captured graph that it was replayed from.
    graph: Integers

    @classmethod
    def nothing(cls, count: int) -> "Found":
        """Return nothing found of some executions."""
        return cls(*(np.full(count, NONE) for _ in range(5)))

    def tell(
        self,
        rows: Integers,
        seq: Integers | int,
        call: Integers | int,
        grade: Integers | Grade,
        graph: int = NONE,
    ) -> None:
        """Note launches and calls of executions; where no call is given, nothing is noted."""
        seqs, calls, grades = (np.broadcast_to(each, rows.shape) for each in (seq, call, grade))
        known = calls != NONE
        at = rows[known]
        self.seq[at], self.call[at], self.grade[at] = seqs[known], calls[known], grades[known]
        self.reason[at], self.graph[at] = NONE, graph

    def refuse(self, rows: Integers, reason: Reason) -> None:
        """Note why executions have no launch, unless one is known."""
        self.reason[rows[self.call[rows] == NONE]] = reason


def open_rows(executed: Executed, found: Found) -> Flags:
    """Which executions look like a launch, and have no call yet."""
    wanted: Flags = (executed.look >= 0) & (found.call == NONE)
    return wanted
