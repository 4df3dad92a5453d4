"""Matches of device executions: launch, call and certainty, or the reason why there is no match."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from kvtrace.addons.join.sides import TimedExecutions
from kvtrace.figures.causes import NONE, Flags, Integers


class Grade(IntEnum):
    """Certainty of an execution's match; the column `grade` has the names in lower case."""

    #: The host requested the execution inside the launch, on the launch's thread.
    EXACT = 0
    #: Launches and executions of the stream, or of the graph, agree one for one in order.
    ORDERED = 1
    #: Differing sequences were aligned, which is possible in one way only; or only one call fits.
    INFERRED = 2


class Reason(IntEnum):
    """Reasons why an execution that looks like a launch has neither launch nor call."""

    #: No recorded launch was in progress when the host requested the execution.
    NOT_LAUNCHED = 0
    #: Two executions were requested inside one launch.
    SHARED_LAUNCH = 1
    #: No captured graph has the kernels of the replay, or several do and their calls differ.
    GRAPH = 2
    #: Launches and executions can be aligned in several ways, which disagree on the call.
    ORDER = 3


REASONS = {
    Reason.NOT_LAUNCHED: "no recorded launch was in progress when they were requested",
    Reason.SHARED_LAUNCH: "several were requested in one launch",
    Reason.GRAPH: "no single captured graph has the kernels of their replay",
    Reason.ORDER: "their order fits several calls",
}


@dataclass(frozen=True)
class Matches:
    """Launch, call, grade, reason and graph of each execution; NONE where there is none."""

    seq: Integers
    call: Integers
    grade: Integers
    reason: Integers
    #: The captured graph of a replayed execution.
    graph: Integers

    @classmethod
    def none(cls, count: int) -> "Matches":
        """Return columns for `count` executions without any match."""
        return cls(*(np.full(count, NONE) for _ in range(5)))

    def add(
        self,
        rows: Integers,
        seq: Integers | int,
        call: Integers | int,
        grade: Integers | Grade,
        graph: int = NONE,
    ) -> None:
        """Store a match for the executions at `rows`; those whose call is NONE are skipped."""
        seqs, calls, grades = (np.broadcast_to(c, rows.shape) for c in (seq, call, grade))
        has_call = calls != NONE
        matched = rows[has_call]
        self.seq[matched], self.call[matched] = seqs[has_call], calls[has_call]
        self.grade[matched] = grades[has_call]
        self.reason[matched], self.graph[matched] = NONE, graph

    def refuse(self, rows: Integers, reason: Reason) -> None:
        """Store the reason why the executions at `rows` have no match; skip those with a call."""
        self.reason[rows[self.call[rows] == NONE]] = reason


def open_rows(executed: TimedExecutions, matches: Matches) -> Flags:
    """Return for each execution whether it looks like a launch and has no call yet."""
    is_open: Flags = (executed.look >= 0) & (matches.call == NONE)
    return is_open
