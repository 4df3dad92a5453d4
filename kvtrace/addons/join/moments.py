"""Launches found by time: the host asks for a kernel while the function that launches it runs."""

import numpy as np

from kvtrace.addons.join.found import Found, Grade, Reason
from kvtrace.addons.join.sides import Executed, Launched
from kvtrace.figures.causes import NONE, Flags, Integers


def containing(launched: Launched, executed: Executed, wanted: Flags) -> Integers:
    """Return for each execution the row of the launch in which it was requested, or NONE.

    Of launches that contain each other it is the innermost, on the thread of the request. Without
    a thread it is one only if a single thread launched at that moment. The launch has to look like
    the execution.
    """
    row = np.full(executed.look.size, NONE)
    several = np.zeros(row.size, bool)
    asked = wanted & (executed.requested != NONE)
    for thread in np.unique(launched.thread).tolist():
        own = np.flatnonzero((launched.thread == thread) & (launched.graph == NONE))
        own = own[np.lexsort((-launched.leave[own], launched.enter[own]))]
        here = np.flatnonzero(asked & ((executed.thread == thread) | (executed.thread == NONE)))
        if not own.size or not here.size:
            continue
        inside = _innermost(launched.enter[own], launched.leave[own], executed.requested[here])
        hit = np.flatnonzero(inside >= 0)
        at = here[hit]
        several[at] |= row[at] != NONE
        row[at] = own[inside[hit]]
    row[several] = NONE
    same = launched.look[row] == executed.look if launched.look.size else np.zeros(row.size, bool)
    return np.where((row != NONE) & same, row, NONE)


def join_by_time(launched: Launched, executed: Executed, wanted: Flags, found: Found) -> None:
    """Note the launches of the `wanted` executions that were requested in one.

    A launch has one execution: where two were requested in it, neither is certain.
    """
    row = containing(launched, executed, wanted)
    hit = np.flatnonzero(row != NONE)
    counts = np.bincount(row[hit], minlength=launched.seq.size)
    alone = hit[counts[row[hit]] == 1]
    own = row[alone]
    found.tell(alone, launched.seq[own], launched.call[own], Grade.EXACT)
    found.refuse(hit, Reason.SHARED_LAUNCH)
    found.refuse(np.flatnonzero(wanted & (row == NONE)), Reason.NOT_LAUNCHED)


def _innermost(enter: Integers, leave: Integers, moment: Integers) -> Integers:
    """Return the innermost interval around each moment, or -1; they are sorted by `enter`."""
    around = _around(leave, enter)
    found = np.searchsorted(enter, moment, side="right") - 1
    while True:
        ended = (found >= 0) & (leave[found] < moment)
        if not ended.any():
            return found
        found = np.where(ended, around[found], found)


def _around(leave: Integers, enter: Integers) -> Integers:
    """Return for each interval the one that is around it, or -1."""
    if (enter[1:] > leave[:-1]).all():
        return np.full(enter.size, -1)
    around = np.full(enter.size, -1)
    open_ones: list[int] = []
    for index, begin in enumerate(enter.tolist()):
        while open_ones and leave[open_ones[-1]] < begin:
            open_ones.pop()
        around[index] = open_ones[-1] if open_ones else -1
        open_ones.append(index)
    return around
