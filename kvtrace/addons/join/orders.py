"""Launches found by order: a stream runs kernels in the order in which they were launched."""

from collections.abc import Iterator

import numpy as np

from kvtrace.addons.join.alignment import can_align, certain_partners
from kvtrace.addons.join.found import Found, Grade, Reason, open_rows
from kvtrace.addons.join.sides import Executed, Launched
from kvtrace.figures.causes import NONE, Flags, Integers, by_place


def join_by_order(
    launched: Launched,
    executed: Executed,
    wanted: Flags,
    possible: Flags,
    uncertain: set[int],
    found: Found,
) -> None:
    """Note the launches of the `wanted` executions by the order on their streams.

    Args:
        launched: The launches.
        executed: The executions.
        wanted: Those of a direct launch.
        possible: Launches that may have caused them.
        uncertain: Looks that are known in part: of these nothing is better than inferred.
        found: What is found is noted here.

    """
    direct = launched.chosen(possible & (launched.graph == NONE)).in_order()
    ran = np.flatnonzero(wanted)
    order = (executed.start[ran], executed.correlation[ran], executed.file[ran])
    ran = ran[np.lexsort(order)]
    for own, theirs in _streams(direct, executed, ran):
        partner, grade = _partners(own.look, executed.look[theirs])
        hit = np.flatnonzero(partner >= 0)
        rows, made = theirs[hit], partner[hit]
        grades = np.full(rows.size, int(grade))
        grades[np.isin(executed.look[rows], sorted(uncertain))] = Grade.INFERRED
        found.tell(rows, own.seq[made], own.call[made], grades)
    join_only_calls(direct, executed, wanted, found)
    found.refuse(ran, Reason.ORDER)


def _streams(
    direct: Launched, executed: Executed, ran: Integers
) -> Iterator[tuple[Launched, Integers]]:
    """Give launches and executions of one stream; a stream's number is not the same in both.

    Streams that agree in all looks belong together, if there is one such pair. Of the others those
    belong together that have more in common with each other than with any other one.
    """
    own = {place: direct.chosen(rows) for place, rows in by_place(direct.place)}
    theirs = {place: ran[rows] for place, rows in by_place(executed.place[ran])}
    looks = [{place: launches.look for place, launches in own.items()}]
    looks.append({place: executed.look[rows] for place, rows in theirs.items()})
    for pairs in (_equal, _nearest):
        for mine, other in pairs(*looks):
            yield own[mine], theirs[other]
            del looks[0][mine], looks[1][other]


def _equal(own: dict[int, Integers], theirs: dict[int, Integers]) -> list[tuple[int, int]]:
    alike: dict[bytes, tuple[list[int], list[int]]] = {}
    for side, looks in enumerate((own, theirs)):
        for place, sequence in looks.items():
            alike.setdefault(sequence.tobytes(), ([], []))[side].append(place)
    return [(mine[0], other[0]) for mine, other in alike.values() if len(mine) == len(other) == 1]


def _nearest(own: dict[int, Integers], theirs: dict[int, Integers]) -> list[tuple[int, int]]:
    """Return pairs of streams, each of which has most in common with the other."""
    top = max((int(looks.max(initial=0)) for looks in (*own.values(), *theirs.values())), default=0)
    counts = [
        {place: np.bincount(looks, minlength=top + 1) for place, looks in side.items()}
        for side in (own, theirs)
    ]
    common = {
        (mine, other): int(np.minimum(first, second).sum())
        for mine, first in counts[0].items()
        for other, second in counts[1].items()
    }
    found = []
    for (mine, other), size in common.items():
        rivals = [
            value
            for pair, value in common.items()
            if pair != (mine, other) and (pair[0] == mine or pair[1] == other)
        ]
        if size > max(rivals, default=0):
            found.append((mine, other))
    return found


def _partners(own: Integers, theirs: Integers) -> tuple[Integers, Grade]:
    """Return the position of the launch of each execution of a stream, or -1, and how certain."""
    if np.array_equal(own, theirs):
        return np.arange(own.size), Grade.ORDERED
    if can_align(own, theirs):
        return certain_partners(own, theirs), Grade.INFERRED
    found = np.full(theirs.size, -1)
    for look in np.unique(theirs).tolist():
        mine, other = np.flatnonzero(own == look), np.flatnonzero(theirs == look)
        if mine.size == other.size:
            found[other] = mine
    return found, Grade.INFERRED


def join_only_calls(direct: Launched, executed: Executed, wanted: Flags, found: Found) -> None:
    """Note the call of executions whose launch is not certain, where one call looks like them."""
    left = np.flatnonzero(wanted & open_rows(executed, found))
    if not left.size or not len(direct):
        return
    looks, calls = direct.look, direct.call
    lowest = np.full(int(looks.max()) + 1, np.iinfo(np.int64).max)
    highest = np.full(lowest.size, NONE)
    np.minimum.at(lowest, looks, calls)
    np.maximum.at(highest, looks, calls)
    look = executed.look[left]
    known = look < lowest.size
    left, look = left[known], look[known]
    call = np.where(lowest[look] == highest[look], lowest[look], NONE)
    found.tell(left, NONE, call, Grade.INFERRED)
