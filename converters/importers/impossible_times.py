"""Impossible times of an importer's executions.

A stream runs one execution after another. Where one claims to last into later ones of its stream,
its end is wrong: a kernel of 50 µs that claims 1.6 s covers thousands. Two may overlap a little, as
their times are rounded, and as a kernel may begin while the one before it ends (programmatic
dependent launch). Kernels of a graph's replay run at once, and are not compared.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from kvtrace.converters.importers.rows import NONE, Integers
from kvtrace.text import plural

#: Values of `gpu_kernels.impossible`, with what is said of such executions.
REASONS: Final = {
    "unended": "without an end",
    "reversed": "that end before they begin",
    "empty": "without a duration",
    "overlap": "that last into later ones of their stream",
    "outside": "that lie outside of the run",
}
_UNENDED, _REVERSED, _EMPTY, _OVERLAP, _OUTSIDE = range(len(REASONS))
#: Nanoseconds by which executions of a stream may overlap, and by which one may outlast a later.
_MOST_OVERLAP: Final = 10_000
_ROUNDED: Final = 1_000
#: Least nanoseconds from the host's first or last event of the run that lie outside of it.
_LEAST_OUTSIDE: Final = 100_000_000
#: Most names in the sentence.
_NAMED: Final = 3


def impossible_times(
    columns: Mapping[str, Integers], host: tuple[int, int] | None, *, serial: bool, exact: bool
) -> Integers:
    """Return the index in `REASONS` of each execution with an impossible time, else NONE.

    Args:
        columns: Columns of the executions; times in ns.
        host: Begin of the host's first event and end of its last; None without any.
        serial: Whether a stream is known to run one execution at a time.
        exact: Whether times are of ns, so that none lasts 0 ns.

    """
    start, end = columns["start"], columns["end"]
    reason = np.full(start.size, NONE)
    if serial and exact:
        reason[(end == start) & (columns["kind"] == NONE) & (columns["weight"] == NONE)] = _EMPTY
    reason[end < start] = _REVERSED
    reason[end == NONE] = _UNENDED
    if serial:
        reason[_lasting_into_later(columns, reason)] = _OVERLAP
    if host is not None:
        margin = max(_LEAST_OUTSIDE, host[1] - host[0])
        is_outside = (start < host[0] - margin) | (np.maximum(start, end) > host[1] + margin)
        if 2 * int(is_outside.sum()) <= start.size:  # else the clocks differ
            reason[is_outside & (reason == NONE)] = _OUTSIDE
    return reason


def _lasting_into_later(columns: Mapping[str, Integers], reason: Integers) -> Integers:
    """Return the rows of executions that last into later ones of their stream."""
    compared = (reason == NONE) & (columns["stream"] != NONE) & (columns["weight"] == NONE)
    compared &= (columns["graph_id"] == NONE) & (columns["graph_node_id"] == NONE)
    rows = np.flatnonzero(compared)
    start, end, stream, device = (
        columns[name][rows] for name in ("start", "end", "stream", "device")
    )
    order = np.lexsort((-end, start, stream, device))
    start, end, stream, device = (each[order] for each in (start, end, stream, device))
    is_same = (np.diff(stream) == 0) & (np.diff(device) == 0)
    is_wrong = is_same & ((end[:-1] > start[1:] + _MOST_OVERLAP) | (end[:-1] > end[1:] + _ROUNDED))
    return np.asarray(rows[order[:-1][is_wrong]])


def impossible_note(reason: Integers, names: Integers, texts: Sequence[str]) -> str | None:
    """Return a sentence on the executions with a reason, whose names are indices in `texts`."""
    wrong = np.flatnonzero(reason != NONE)
    if not wrong.size:
        return None
    kinds = Counter(reason[wrong].tolist())
    listed = [f"{count:,} {list(REASONS.values())[kind]}" for kind, count in sorted(kinds.items())]
    most = [texts[number] for number, _ in Counter(names[wrong].tolist()).most_common()]
    named = ", ".join(name[:60] for name in most[:_NAMED])
    return (
        f"{plural(wrong.size, 'execution')} with impossible times, which no sum counts (column "
        f"impossible of gpu_kernels): {', '.join(listed)}; of {named}"
        + (" and others" if len(most) > _NAMED else "")
    )
