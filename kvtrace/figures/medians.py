"""Medians of steady times of calls, kernels and groups, of rows or of times in bins.

Below 128 ns a bin is one time. From there on each power of two is divided into 64 bins, as in the
buckets of Gil Tene's HdrHistogram. The times in a bin are taken to be evenly spread over it, as in
medians of grouped data, so that a median is wrong by less than 1 part in 64, and usually much less.

Both are rows with a value (the time, or its bin) and a count. They are added up run by run, since
those of all runs would take much memory.
"""

from collections.abc import Iterator
from typing import Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.figures.columns import Integers, integers
from kvtrace.figures.scans import quoted
from kvtrace.figures.sums_reading import AllSums, Sums, stored_bins
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.trace import Trace
from kvtrace.schema.window import split_by_run


def times_at(bins: Integers, place: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return times in bins, in ns, where `place` is 0 for a bin's least time and 1 for its most."""
    exponent = np.maximum(bins // 64 - 1, 0)
    least = (bins - 64 * exponent) << exponent
    times: npt.NDArray[np.float64] = least + ((1 << exponent) - 1) * place
    return times


def medians_of(
    codes: Integers, values: Integers, counts: Integers, *, binned: bool
) -> tuple[Integers, npt.NDArray[np.float64]]:
    """Return the distinct codes, ascending, and the median of each, in ns.

    `counts` has how many times of a code have a value: the time in ns, or its bin. Of n times in a
    bin, that of rank r (from 0) is taken to be (r + 1/2) / n of the way from the bin's least time
    to its most. The median of an even number is the mean of the two in the middle.
    """
    codes, values, counts = added_up(codes, values, counts)
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    upto = np.cumsum(counts)
    before = np.append(0, upto)[first]
    totals = np.append(before[1:], upto[-1:]) - before
    middle = np.zeros(first.size)
    for rank in ((totals - 1) // 2, totals // 2):
        row = np.searchsorted(upto, before + rank, side="right")
        if binned:
            place = (before + rank - (upto[row] - counts[row]) + 0.5) / counts[row]
            middle += times_at(values[row], place)
        else:
            middle += values[row]
    return codes[first], middle / 2


def added_up(
    codes: Integers, values: Integers, counts: Integers
) -> tuple[Integers, Integers, Integers]:
    """Return distinct pairs of code and value, ascending, and the sum of their counts."""
    if not codes.size:
        return codes, values, counts
    width = int(values.max()) + 1
    if width * (int(codes.max()) + 1) >= 1 << 63:  # one number does not hold a pair
        order = np.lexsort((values, codes))
        codes, values, counts = codes[order], values[order], counts[order]
        is_first = np.append(True, (codes[1:] != codes[:-1]) | (values[1:] != values[:-1]))
        first = np.flatnonzero(is_first)
        return codes[first], values[first], np.add.reduceat(counts, first)
    pairs = codes * width + values
    if (counts == 1).all():  # to sort numbers alone takes a fraction of the time
        pairs.sort()
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        counts = np.diff(first, append=pairs.size)
    else:
        order = np.argsort(pairs, kind="stable")
        pairs = pairs[order]
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        counts = np.add.reduceat(counts[order], first)
    return pairs[first] // width, pairs[first] % width, counts


_Counted = tuple[Integers, Integers, Integers]

#: Steady times by call, and those of no call by name, of rows; and of the run `{run}` in bins.
_ROWS: Final[dict[Sums, str]] = {
    "launch_sums": """
        SELECT run, call_id, ns AS value, weight AS count FROM launch_times WHERE steady
    """,
    "execution_sums": """
        SELECT run, call_id, CASE WHEN call_id IS NULL THEN name END AS name,
            CASE WHEN call_id IS NULL THEN kind END AS kind, ns AS value, weight AS count
        FROM execution_times WHERE steady
    """,
}
_BINS: Final[dict[Sums, str]] = {
    "launch_sums": """
        SELECT {run}::run_name AS run, call_id, unnest(bins) AS value, unnest(counts) AS count
        FROM binned
    """,
    "execution_sums": """
        SELECT {run}::run_name AS run, call_id, name, kind, unnest(bins) AS value,
            unnest(counts) AS count
        FROM binned
    """,
}
_KEYS: Final[dict[Sums, tuple[str, ...]]] = {
    "launch_sums": ("call_id",),
    "execution_sums": ("call_id", "name", "kind"),
}
#: Rows with the place of their call, or 0, and the number of their kernel or name (`shown`).
_PLACED: Final[dict[Sums, str]] = {
    "launch_sums": """
        SELECT p.place, p.kernel, t.value, t.count
        FROM ({rows}) t JOIN place p ON p.run = t.run AND p.call_id = t.call_id
    """,
    "execution_sums": """
        SELECT coalesce(p.place, 0) AS place, coalesce(p.kernel, s.kernel) AS kernel, t.value,
            t.count
        FROM ({rows}) t LEFT JOIN place p ON p.run = t.run AND p.call_id = t.call_id
        LEFT JOIN shown s ON s.called = (t.call_id IS NOT NULL)
            AND s.name IS NOT DISTINCT FROM t.name AND s.kind IS NOT DISTINCT FROM t.kind
        WHERE p.place IS NOT NULL OR s.kernel IS NOT NULL
    """,
}
_GROUPS: Final = """
    SELECT p.place, g.grouped FROM place p
    JOIN groups g ON g.run = p.run AND g.kernel_id = p.kernel_id
"""
#: Rows of kernels and groups from which on they are added up, before those of further runs.
_MOST_PENDING_ROWS: Final = 1 << 21
#: Rows that are taken from DuckDB at once.
_PIECE: Final = 1 << 18


def add_medians(
    database: duckdb.DuckDBPyConnection,
    trace: Trace,
    sums: AllSums,
    table: Sums,
    *,
    has_groups: bool,
) -> tuple[Integers, npt.NDArray[np.float64]]:
    """Create tables of medians `ns`: by `place`, and by `grouped` of `groups`.

    Returns the numbers of kernels and names, ascending, and their medians. The database has the
    tables of `open_times`; `shown` for executions; and `groups` if there are some.
    """
    group_of_place, groups = _groups(database) if has_groups else (None, pa.array([], pa.string()))
    binned = bool(sums.stored)
    medians_of_calls = [_NO_MEDIANS]
    of_kernels, of_groups, of_calls = _Counts(), _Counts(), _Counts()
    for rows in _pieces(database, trace, sums, table):
        place, kernel, value, count = (
            integers(rows[name]) for name in ("place", "kernel", "value", "count")
        )
        of_kernels.add(kernel, value, count)
        is_placed = place > 0
        if not is_placed.all():
            place, value, count = place[is_placed], value[is_placed], count[is_placed]
        if binned:  # all times of a call are in one piece
            medians_of_calls.append(medians_of(place, value, count, binned=True))
        else:
            of_calls.add(place, value, count)
        if group_of_place is not None:
            of_groups.add(group_of_place[place], value, count)
    medians_of_calls.append(medians_of(*of_calls.total, binned=binned))
    places, medians = map(np.concatenate, zip(*medians_of_calls, strict=True))
    database.register("place_medians", pa.table({"place": places, "ns": medians}))
    if has_groups:
        codes, medians = medians_of(*of_groups.total, binned=binned)
        grouped = groups.take(pa.array(codes[codes > 0] - 1))
        database.register("group_medians", pa.table({"grouped": grouped, "ns": medians[codes > 0]}))
    return medians_of(*of_kernels.total, binned=binned)


_NOTHING: Final = np.zeros(0, np.int64)
_NO_MEDIANS: Final[tuple[Integers, npt.NDArray[np.float64]]] = (_NOTHING, np.zeros(0))


class _Counts:
    """Counts of times by code and value."""

    def __init__(self) -> None:
        self._pieces: list[_Counted] = [(_NOTHING, _NOTHING, _NOTHING)]
        self._rows = 0

    @property
    def total(self) -> _Counted:
        """Distinct codes and values with their counts."""
        codes, values, counts = map(np.concatenate, zip(*self._pieces, strict=True))
        return added_up(codes, values, counts)

    def add(self, codes: Integers, values: Integers, counts: Integers) -> None:
        """Add values with counts."""
        self._pieces.append((codes, values, counts))
        self._rows += codes.size
        if self._rows > _MOST_PENDING_ROWS:
            self._pieces, self._rows = [self.total], 0


def _pieces(
    database: duckdb.DuckDBPyConnection, trace: Trace, sums: AllSums, table: Sums
) -> Iterator[pa.Table]:
    """Yield the steady times of runs, with the columns of `_PLACED`; stored ones run by run."""
    if not sums.stored:
        reader = database.sql(_PLACED[table].format(rows=_ROWS[table])).to_arrow_reader(_PIECE)
        yield from (pa.Table.from_batches([batch]) for batch in reader)
        return
    keys = _KEYS[table]
    others = {} if sums.binned is None else dict(split_by_run(sums.binned.sort_by("run")))
    stored = {run.run_id: run for run in sums.stored}
    for run_id in dict.fromkeys((*stored, *others)):
        pieces = [others[run_id].select([*keys, "bins", "counts"])] if run_id in others else []
        if run_id in stored:
            pieces.append(stored_bins(trace, stored[run_id], table, keys))
        database.register("binned", pa.concat_tables(map(_plain, pieces)))
        rows = _BINS[table].format(run=quoted(run_id))
        yield database.sql(_PLACED[table].format(rows=rows)).to_arrow_table()


def _plain(rows: pa.Table) -> pa.Table:
    """Return rows without dictionaries."""
    return pa.table([without_dictionary(column) for column in rows.columns], rows.column_names)


def _groups(database: duckdb.DuckDBPyConnection) -> tuple[Integers, pa.Array]:
    """Return the code of the group of each place, counted from 1, and the groups."""
    ((places,),) = database.execute("SELECT count(*) FROM place").fetchall()
    rows = database.sql(_GROUPS).to_arrow_table()
    codes = rows["grouped"].combine_chunks().dictionary_encode()
    group_of_place = np.zeros(places + 1, np.int64)
    group_of_place[integers(rows["place"])] = np.asarray(codes.indices) + 1
    return group_of_place, codes.dictionary
