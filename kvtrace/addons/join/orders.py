"""Matching by order: a stream runs kernels in the order of their launches.

Matched are the pairs that all longest common subsequences contain. Example: of `a b a` and `a b`,
every longest common subsequence is `a b`, with the first `a` only; so both positions of the second
sequence have a certain partner. Of `a b a` and `a`, the partner is not certain.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from kvtrace.addons.join.sides import RecordedLaunches, TimedExecutions
from kvtrace.figures.causes import NONE, Flags, Integers, by_place

# Matches of device executions: launch, call and certainty, or the reason why there is no match.


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


class Matches(Struct, frozen=True):
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


def join_by_order(
    launched: RecordedLaunches,
    executed: TimedExecutions,
    chosen: Flags,
    possible: Flags,
    uncertain: set[int],
    matches: Matches,
) -> None:
    """Match executions with launches by their order on streams, and store the matches.

    `chosen` are the executions to match, of direct launches; `possible` the launches that may have
    caused them. Looks in `uncertain` are partly known, so that matches are graded inferred at best.
    `matches` also gets reasons for executions without a match.
    """
    direct = launched.chosen(possible & (launched.graph == NONE)).in_order()
    execution_rows = np.flatnonzero(chosen)
    order = (
        executed.start[execution_rows],
        executed.correlation[execution_rows],
        executed.file[execution_rows],
    )
    execution_rows = execution_rows[np.lexsort(order)]
    for launches, rows_of_stream in _paired_streams(direct, executed, execution_rows):
        partner, grade = _partners(launches.look, executed.look[rows_of_stream])
        matched = np.flatnonzero(partner >= 0)
        rows, launch_rows = rows_of_stream[matched], partner[matched]
        grades = np.full(rows.size, int(grade))
        grades[np.isin(executed.look[rows], sorted(uncertain))] = Grade.INFERRED
        matches.add(rows, launches.seq[launch_rows], launches.call[launch_rows], grades)
    join_only_calls(direct, executed, chosen, matches)
    matches.refuse(execution_rows, Reason.ORDER)


def _paired_streams(
    direct: RecordedLaunches, executed: TimedExecutions, execution_rows: Integers
) -> Iterator[tuple[RecordedLaunches, Integers]]:
    """Yield the launches of a stream, and the rows of the executions of the same stream.

    Stream numbers differ between the sides. First, streams with equal sequences of looks are
    paired, unless several have that sequence. Then streams are paired that share more kernels with
    each other than with any other stream.
    """
    launches_by_place = {place: direct.chosen(rows) for place, rows in by_place(direct.place)}
    rows_by_place = {
        place: execution_rows[rows] for place, rows in by_place(executed.place[execution_rows])
    }
    looks = [{place: launches.look for place, launches in launches_by_place.items()}]
    looks.append({place: executed.look[rows] for place, rows in rows_by_place.items()})
    for pairs in (_equal_streams, _nearest_streams):
        for launch_stream, execution_stream in pairs(*looks):
            yield launches_by_place[launch_stream], rows_by_place[execution_stream]
            del looks[0][launch_stream], looks[1][execution_stream]


def _equal_streams(
    launch_looks: dict[int, Integers], execution_looks: dict[int, Integers]
) -> list[tuple[int, int]]:
    alike: dict[bytes, tuple[list[int], list[int]]] = {}
    for side, looks in enumerate((launch_looks, execution_looks)):
        for place, sequence in looks.items():
            alike.setdefault(sequence.tobytes(), ([], []))[side].append(place)
    return [
        (launch_stream[0], execution_stream[0])
        for launch_stream, execution_stream in alike.values()
        if len(launch_stream) == len(execution_stream) == 1
    ]


def _nearest_streams(
    launch_looks: dict[int, Integers], execution_looks: dict[int, Integers]
) -> list[tuple[int, int]]:
    """Return pairs of streams that share more looks with each other than with other streams."""
    highest_look = max(
        (
            int(looks.max(initial=0))
            for looks in (*launch_looks.values(), *execution_looks.values())
        ),
        default=0,
    )
    counts = [
        {place: np.bincount(looks, minlength=highest_look + 1) for place, looks in side.items()}
        for side in (launch_looks, execution_looks)
    ]
    common = {
        (launch_stream, execution_stream): int(np.minimum(launch_counts, execution_counts).sum())
        for launch_stream, launch_counts in counts[0].items()
        for execution_stream, execution_counts in counts[1].items()
    }
    pairs = []
    for (launch_stream, execution_stream), size in common.items():
        rivals = [
            value
            for pair, value in common.items()
            if pair != (launch_stream, execution_stream)
            and (pair[0] == launch_stream or pair[1] == execution_stream)
        ]
        if size > max(rivals, default=0):
            pairs.append((launch_stream, execution_stream))
    return pairs


def _partners(launch_looks: Integers, execution_looks: Integers) -> tuple[Integers, Grade]:
    """Return the index of each execution's launch in its stream, or -1, and the grade.

    `launch_looks` and `execution_looks` are the looks of a stream's launches and executions, in
    order.
    """
    if np.array_equal(launch_looks, execution_looks):
        return np.arange(launch_looks.size), Grade.ORDERED
    if can_align(launch_looks, execution_looks):
        return certain_partners(launch_looks, execution_looks), Grade.INFERRED
    partners = np.full(execution_looks.size, -1)
    for look in np.unique(execution_looks).tolist():
        launch_indexes, execution_indexes = (
            np.flatnonzero(launch_looks == look),
            np.flatnonzero(execution_looks == look),
        )
        if launch_indexes.size == execution_indexes.size:
            partners[execution_indexes] = launch_indexes
    return partners, Grade.INFERRED


def join_only_calls(
    direct: RecordedLaunches, executed: TimedExecutions, chosen: Flags, matches: Matches
) -> None:
    """Store the call of chosen executions without a match if only one call has their look."""
    open_executions = np.flatnonzero(chosen & open_rows(executed, matches))
    if not open_executions.size or not len(direct):
        return
    looks, calls = direct.look, direct.call
    lowest = np.full(int(looks.max()) + 1, np.iinfo(np.int64).max)
    highest = np.full(lowest.size, NONE)
    np.minimum.at(lowest, looks, calls)
    np.maximum.at(highest, looks, calls)
    look = executed.look[open_executions]
    has_launch = look < lowest.size
    open_executions, look = open_executions[has_launch], look[has_launch]
    call = np.where(lowest[look] == highest[look], lowest[look], NONE)
    matches.add(open_executions, NONE, call, Grade.INFERRED)


# -- longest common subsequences -------------------------------------------------------------------


#: Most compared pairs of positions; two tables of 4 bytes per pair are in memory.
_MOST_PAIRS: Final = 1 << 24


def can_align(first: Integers, second: Integers) -> bool:
    """Return whether `certain_partners` has enough memory for sequences of these lengths."""
    return (first.size + 1) * (second.size + 1) <= _MOST_PAIRS


def certain_partners(first: Integers, second: Integers) -> Integers:
    """Return for each position of `second` the position of its partner in `first`, or -1.

    Positions are partners if every longest common subsequence pairs the two. The
    lengths of common subsequences of all prefixes and of all suffixes are computed row by row
    (https://en.wikipedia.org/wiki/Longest_common_subsequence).
    """
    prefix_lengths = _common_lengths(first, second)
    suffix_lengths = _common_lengths(first[::-1], second[::-1])[::-1, ::-1]
    longest = prefix_lengths[-1, -1]
    partner = np.full(second.size, -1)
    pair_counts = np.zeros(second.size, np.int64)
    may_be_skipped = np.zeros(second.size, bool)
    for row in range(first.size + 1):
        may_be_skipped |= prefix_lengths[row, :-1] + suffix_lengths[row, 1:] == longest
        if row == first.size:
            break
        pairs = (first[row] == second) & (
            prefix_lengths[row, :-1] + 1 + suffix_lengths[row + 1, 1:] == longest
        )
        pair_counts += pairs
        partner[pairs] = row
    partner[may_be_skipped | (pair_counts != 1)] = -1
    return partner


def _common_lengths(first: Integers, second: Integers) -> npt.NDArray[np.int32]:
    """Return a table: at [i, j] the length of the longest common subsequence of two prefixes.

    These are the first i values of `first`, and the first j of `second`.
    """
    lengths = np.zeros((first.size + 1, second.size + 1), np.int32)
    for row, value in enumerate(first.tolist()):
        above = lengths[row]
        longer = np.where(second == value, above[:-1] + 1, above[1:])
        np.maximum.accumulate(longer, out=lengths[row + 1, 1:])
    return lengths
