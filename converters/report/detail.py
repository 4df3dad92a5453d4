"""Parts of the timeline whose rows are all on the page, where there are too many rows for all.

A page that is zoomed out draws bins, which count every row; single rows are needed where a reader
zooms in. So the page has all rows of some ranges: the steps that it opens on, the slow steps that
its strip of steps leads to, and what fits of their surroundings. Where all rows were read, it has
also the first and the longest row of each call. Ranges are listed by priority; the last is the
whole timeline, of which the rows around the first range are taken that there is room for. Example:
of ten rows at 0, 1, … 9 ns, the ranges (4, 6), (8, 9), (0, 10) have the rows 4, 5 and 8 if there is
room for three, and also 3 and 6 if there is room for seven, since rows around 5 are counted again.
Where not all rows were read, launches that caused executions on the page are on it too.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.converters.report.slices import NO_CALL, Integers, Slices, SlicesType
from kvtrace.figures.columns import union_of
from kvtrace.figures.gaps import Gaps

#: Begin and end in nanoseconds since the page's origin.
Range = tuple[int, int]

#: Most launches (or executions) on a page if there are more than twice as many; else all are.
MOST_ROWS: Final = 150_000
#: Steps that the timeline opens on (`timeline.tsx`), with a part of a step on either side.
_FIRST_STEPS: Final = 3
_MARGIN: Final = 0.25
#: Bars of the strip of steps (`step_strip.tsx`); each shows the slowest step of its share.
_MOST_BARS: Final = 400
#: Ranges of slow steps that are read of one run; each costs a group of rows of each run.
_MOST_READ: Final = 16


def detail_plan(gaps: Gaps | None, begin: int, span: int) -> tuple[Range, ...]:
    """Return the ranges whose rows are wanted on the page, the most wanted first.

    Args:
        gaps: The idle times with the durations of steps, if known.
        begin: When the part with these steps begins, in ns since the page's origin.
        span: Length of the timeline, in ns.
    """
    opening: list[Range] = []
    slow: list[tuple[int, Range]] = []
    for steps in () if gaps is None else gaps.steps:
        begins, durations = np.array(steps.begin) + begin, np.array(steps.duration_ns)
        first = max(0, (len(begins) - _FIRST_STEPS) // 2)
        last = min(first + _FIRST_STEPS, len(begins)) - 1
        low, high = int(begins[first]), int(begins[last] + durations[last])
        margin = int(_MARGIN * (high - low) / _FIRST_STEPS)
        opening.append((low - margin, high + margin))
        shared = -(-len(begins) // _MOST_BARS)
        for bar in range(0, len(begins), shared):
            slowest = bar + int(np.argmax(durations[bar : bar + shared]))
            step_begin, duration = int(begins[slowest]), int(durations[slowest])
            slow.append((-duration, (step_begin, step_begin + duration)))
    return (*opening[:1], *(step for _, step in sorted(slow)), (0, span + 1))


def nearby(
    plan: Sequence[Range], share: float, runs: int, rows_in: Callable[[Range], int]
) -> tuple[Range, ...]:
    """Return a plan in which the whole timeline is replaced by a share (0 to 1) of its length.

    Of the other ranges it has the first and as many as may be read of so many runs. One that has
    too many rows for a page becomes its middle; `rows_in` returns how many a range has at least.
    """
    *ranges, (low, high) = plan
    half = int(share * (high - low) / 2) + 1
    focus = _focus(plan)
    fitting = [
        each if rows_in(each) <= MOST_ROWS else (_focus([each]),) * 2
        for each in ranges[: 1 + _MOST_READ // runs]
    ]
    return (*fitting, (focus - half, focus + half))


def _focus(plan: Sequence[Range]) -> int:
    return sum(plan[0]) // 2


def in_ranges(
    begin: Integers, duration: Integers, ranges: Sequence[Range]
) -> npt.NDArray[np.bool_]:
    """Return for each row whether it overlaps one of the ranges."""
    return _within(begin, duration, _merged(ranges))


def detailed(
    slices: SlicesType,
    plan: Sequence[Range],
    keep: int,
    *,
    all_read: bool,
    causes: Integers | None = None,
) -> tuple[tuple[Range, ...], SlicesType]:
    """Return about `keep` rows, and the sorted ranges of which these are all rows.

    Ranges are taken in the order of the plan while there is room for their rows. If `slices` are
    all rows of the run, and not those of the ranges alone (`all_read`), the first and the longest
    row of each call are added if they are at most half of `keep`. Else the rows at the positions
    `causes`, those in the middle if there are more than `keep`, come before the ranges.
    """
    selected = np.zeros(len(slices), np.bool_)
    begin = further = slices.begin.astype(np.int64)
    if all_read:
        first, longest = _first_and_longest(slices)
        if 4 * len(first) <= keep:
            selected[first] = True
            selected[longest] = True
    elif causes is not None:
        first_cause = max(0, len(causes) - keep) // 2
        selected[causes[first_cause : first_cause + keep]] = True
        further = begin[~selected]
    room = keep - int(selected.sum())
    ranges = []
    *wanted, whole = plan
    for low, high in wanted:
        rows = int(np.searchsorted(further, high) - np.searchsorted(further, low))
        if rows <= room:
            ranges.append((low, high))
            room -= rows
    around = _around(further, _focus(plan), room, whole)
    merged = _merged([*ranges, around])
    selected |= _within(begin, slices.duration, merged)
    return tuple(zip(*(edges.tolist() for edges in merged), strict=True)), slices.take(
        np.flatnonzero(selected)
    )


def _around(begin: Integers, focus: int, room: int, limits: Range) -> Range:
    """Return the range around `focus`, within `limits`, in which about `room` rows begin."""
    inside = begin[np.searchsorted(begin, limits[0]) : np.searchsorted(begin, limits[1])]
    if room >= len(inside):
        return limits
    if room <= 0:
        return focus, focus
    first = int(np.searchsorted(inside, focus)) - room // 2
    first = min(max(first, 0), len(inside) - room - 1)
    return int(inside[first]), int(inside[first + room])


def _merged(ranges: Sequence[Range]) -> tuple[Integers, Integers]:
    """Return begins and ends of the ranges, sorted, without overlaps and empty ones."""
    begins, ends = (np.array(edges, np.int64) for edges in zip(*ranges, strict=True))
    return union_of(begins[begins < ends], ends[begins < ends])


def _within(
    begin: Integers, duration: Integers, ranges: tuple[Integers, Integers]
) -> npt.NDArray[np.bool_]:
    """Return which rows overlap one of the ranges."""
    lows, highs = ranges
    if not len(lows):
        return np.zeros(len(begin), np.bool_)
    last_ns = np.maximum(np.add(begin, duration, dtype=np.int64) - 1, begin)  # columns are narrow
    last_range = np.searchsorted(lows, last_ns, "right") - 1
    overlaps: npt.NDArray[np.bool_] = (last_range >= 0) & (highs[last_range] > begin)
    return overlaps


def _first_and_longest(slices: Slices) -> tuple[Integers, Integers]:
    """Return the positions of each call's first and longest rows; of equal ones, the first."""
    calls = int(slices.call.max()) + 1 if len(slices) else 0  # the column may be unsigned
    first = np.full(calls, len(slices), np.int64)
    longest = np.full(calls, -1, np.int64)
    longest_ns = np.full(calls, -1, np.int64)
    start = 0
    for batch in slices.batches():
        with_call = np.flatnonzero(batch.call != NO_CALL)
        call, duration = batch.call[with_call], batch.duration[with_call].astype(np.int64)
        np.minimum.at(first, call, start + with_call)
        longest_of_batch = np.full(calls, -1, np.int64)
        np.maximum.at(longest_of_batch, call, duration)
        new_longest = np.flatnonzero(
            (duration == longest_of_batch[call]) & (duration > longest_ns[call])
        )[::-1]
        longest[call[new_longest]] = (
            start + with_call[new_longest]
        )  # the last write is the first row
        longest_ns = np.maximum(longest_ns, longest_of_batch)
        start += len(batch)
    return first[first < len(slices)], longest[longest >= 0]
