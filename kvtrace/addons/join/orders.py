"""Launches matched by order: a stream runs kernels in the order of their launches."""

from collections.abc import Iterator

import numpy as np

from kvtrace.addons.join.alignment import can_align, certain_partners
from kvtrace.addons.join.matches import Grade, Matches, Reason, open_rows
from kvtrace.addons.join.sides import Executed, Launched
from kvtrace.figures.causes import NONE, Flags, Integers, by_place


def join_by_order(
    launched: Launched,
    executed: Executed,
    chosen: Flags,
    possible: Flags,
    uncertain: set[int],
    matches: Matches,
) -> None:
    """Store the launches of the chosen executions by the order on their streams.

    Args:
        launched: The launches.
        executed: The executions.
        chosen: Executions of direct launches.
        possible: Launches that may have caused the executions.
        uncertain: Partly known looks, whose matches are at best inferred.
        matches: Receives the matches.
    """
    direct = launched.chosen(possible & (launched.graph == NONE)).in_order()
    ran = np.flatnonzero(chosen)
    order = (executed.start[ran], executed.correlation[ran], executed.file[ran])
    ran = ran[np.lexsort(order)]
    for launches, rows_of_stream in _streams(direct, executed, ran):
        partner, grade = _partners(launches.look, executed.look[rows_of_stream])
        matched = np.flatnonzero(partner >= 0)
        rows, launch_rows = rows_of_stream[matched], partner[matched]
        grades = np.full(rows.size, int(grade))
        grades[np.isin(executed.look[rows], sorted(uncertain))] = Grade.INFERRED
        matches.add(rows, launches.seq[launch_rows], launches.call[launch_rows], grades)
    join_only_calls(direct, executed, chosen, matches)
    matches.refuse(ran, Reason.ORDER)


def _streams(
    direct: Launched, executed: Executed, ran: Integers
) -> Iterator[tuple[Launched, Integers]]:
    """Yield launches and executions of the same stream; stream numbers differ between the sides.

    Streams that agree in all looks are paired, if there is one such pair. Of the others, streams
    are paired that have more in common with each other than with any other stream.
    """
    launches_by_place = {place: direct.chosen(rows) for place, rows in by_place(direct.place)}
    rows_by_place = {place: ran[rows] for place, rows in by_place(executed.place[ran])}
    looks = [{place: launches.look for place, launches in launches_by_place.items()}]
    looks.append({place: executed.look[rows] for place, rows in rows_by_place.items()})
    for pairs in (_equal, _nearest):
        for mine, other in pairs(*looks):
            yield launches_by_place[mine], rows_by_place[other]
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
    pairs = []
    for (mine, other), size in common.items():
        rivals = [
            value
            for pair, value in common.items()
            if pair != (mine, other) and (pair[0] == mine or pair[1] == other)
        ]
        if size > max(rivals, default=0):
            pairs.append((mine, other))
    return pairs


def _partners(own: Integers, theirs: Integers) -> tuple[Integers, Grade]:
    """Return the position of each execution's launch in a stream, or -1, and the grade."""
    if np.array_equal(own, theirs):
        return np.arange(own.size), Grade.ORDERED
    if can_align(own, theirs):
        return certain_partners(own, theirs), Grade.INFERRED
    partners = np.full(theirs.size, -1)
    for look in np.unique(theirs).tolist():
        mine, other = np.flatnonzero(own == look), np.flatnonzero(theirs == look)
        if mine.size == other.size:
            partners[other] = mine
    return partners, Grade.INFERRED


def join_only_calls(direct: Launched, executed: Executed, chosen: Flags, matches: Matches) -> None:
    """Store the call of executions without a certain launch, if only one call looks alike."""
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
