"""Rows of steady launches, or of executions, in order: all of them, or a sample of very many.

Of more than `_MOST_READ` rows of a side, stretches of consecutive rows are chosen, evenly spread
over the runs: the same stretches of every run, and of both sides if their runs are equally long.
Of a kernel with many rows in these stretches, some are chosen; rows of one with few are chosen from
the whole runs. Both are read at once, since most row groups have rows of either.

Example: of 50 million launches in 32 runs of 1.6 million, there are 8 stretches of 16,000 launches
in each run. A kernel launched in every hundredth of them has 42,000 launches there, of which every
sixth is chosen. One that was launched 100 times has eight there, so all of its 100 are chosen.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, integers, narrow
from kvtrace.figures.scans import row_count
from kvtrace.figures.tables import add_rows, open_times
from kvtrace.schema.window import TraceWindow, split_by_run

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Most times of a kernel on one side that are compared.
MOST_TIMES: Final = 1 << 13
#: Stretches of a run that are read if not all rows are.
STRETCHES: Final = 8
#: Most rows of a side that are all read, and about how many are read of more.
_MOST_READ: Final = 1 << 20
_SAMPLE_ROWS: Final = 1 << 22
#: Rows of a kernel that a sample should have: of host times, which differ by a quarter, medians of
#: so many are within 5 % of each other for 99.9 % of the kernels without a change.
_LEAST_TIMES: Final = 1 << 10
#: Rows that are read at once.
_BATCH: Final = 1 << 17
#: Numbers of rows times the golden ratio, modulo 1, are spread evenly: of 2**20, this one is
#: nearest to the ratio. A row is chosen by this, as every n-th could be the same one of each step.
STEPS: Final = 1 << 20
_GOLDEN: Final = 648_055


def spread(key: str) -> str:
    """Return SQL of a number below `STEPS`, evenly spread over rows, given SQL of their number."""
    return f"((({key} & {STEPS - 1}) * {_GOLDEN}) & {STEPS - 1})"


class TimesKind(NamedTuple):
    """A view of `figures/views.py`, its table and key, and a call's number of steady rows."""

    view: str
    table: str
    key: str
    rows: str


HOST: Final = TimesKind("launch_times", "launches", "seq", "timed_launches")
DEVICE: Final = TimesKind("execution_times", "gpu_kernels", "record", "device_executions")


class TimeRows(NamedTuple):
    """Columns `call_id` and `ns` of a run's steady rows in order; `run` is the run's number."""

    run: int
    rows: pa.Table


def is_sampled(trace: "Trace", runs: Sequence["Run"], kind: TimesKind, figures: pa.Table) -> bool:
    """Return whether the steady rows of runs are too many to be all read.

    Args:
        trace: The opened trace.
        runs: The runs of a side.
        kind: Launches or executions.
        figures: The figures of the runs' calls, as in `Times.calls` of `figures/times.py`.

    """
    return _most_rows(trace, runs, kind, figures) > _MOST_READ


def _most_rows(trace: "Trace", runs: Sequence["Run"], kind: TimesKind, figures: pa.Table) -> int:
    """Return a number of rows that the steady rows do not exceed; a row may stand for many."""
    weights = int(pc.sum(figures[kind.rows]).as_py() or 0)
    if weights <= _MOST_READ:
        return weights
    return min(weights, sum(row_count(trace, run, kind.table) for run in runs))


def read_times(
    trace: "Trace", runs: Sequence["Run"], kind: TimesKind, figures: pa.Table
) -> Iterator[TimeRows]:
    """Yield the steady rows of runs, or a sample of them, in pieces; rows without a call are not.

    Arguments as of `is_sampled`; errors as `Trace.table`.
    """
    with open_times(trace, runs, kind.view) as database:
        batches: Iterable[pa.RecordBatch]
        rows = _most_rows(trace, runs, kind, figures)
        if rows > _MOST_READ:
            of_window = isinstance(trace, TraceWindow)
            batches = _sample(database, kind, figures, rows, of_window=of_window)
        else:
            batches = database.sql(
                f"SELECT run, call_id, ns FROM {kind.view} "  # noqa: S608
                f"WHERE steady AND call_id IS NOT NULL ORDER BY run, {kind.key}"
            ).to_arrow_reader(_BATCH)
        numbers = {run.run_id: number for number, run in enumerate(runs)}
        for batch in batches:
            for run_id, of_run in split_by_run(pa.Table.from_batches([batch])):
                yield TimeRows(numbers[run_id], of_run)


#: The rows of each kernel, and the bounds of the spread below which its rows in stretches, or in
#: the whole runs (`overall`), are chosen. One with `few` in stretches may have too few of them.
_KERNELS: Final = f"""
    CREATE TEMP TABLE sampled_kernels AS
    SELECT kernel, rows, rows * $share / every < {2 * _LEAST_TIMES} AS few,
        ceil({STEPS} / every)::BIGINT AS in_stretches,
        ceil({STEPS} / ceil(rows / {2 * _LEAST_TIMES}))::BIGINT AS overall
    FROM (
        SELECT kernel, rows, ceil(rows * $share / {MOST_TIMES}) AS every FROM (
            SELECT p.kernel, ceil(sum(f.weight) * $rows_per_weight)::BIGINT AS rows
            FROM sampled_calls f JOIN place p ON p.run = f.run AND p.call_id = f.call_id
            GROUP BY p.kernel
        ) WHERE rows > 0
    )
"""  # noqa: S608
_OF_KERNELS: Final = ("rows", "few", "in_stretches", "overall")
_CHOSEN: Final = """
    SELECT p.place, t.key, t.ns FROM (
        SELECT run, call_id, ns, {key} AS key,
            {spread} AS spread
        FROM {view} WHERE steady
    ) t
    JOIN place p ON p.run = t.run AND p.call_id = t.call_id
    JOIN sampled_kernels k ON k.kernel = p.kernel WHERE {condition}
"""
_IN_STRETCHES: Final = "t.spread < k.in_stretches AND ({stretches})"
_OVERALL: Final = "t.spread < k.overall AND {kernels}"


#: Place, key and time in ns of some rows.
_Rows = tuple[Integers, Integers, Integers]


class _ChosenRows(NamedTuple):
    """Places and keys of rows, times in ns, and whether each is chosen in stretches or overall."""

    place: Integers
    key: Integers
    ns: Integers
    in_stretches: npt.NDArray[np.bool_]
    overall: npt.NDArray[np.bool_]


def _sample(
    database: duckdb.DuckDBPyConnection,
    kind: TimesKind,
    figures: pa.Table,
    rows: int,
    *,
    of_window: bool,
) -> Iterator[pa.RecordBatch]:
    """Yield a sample of `rows` in order, with columns run, call_id and ns."""
    calls = figures.select(["run", "call_id", kind.rows])
    calls = calls.rename_columns(["run", "call_id", "weight"])
    add_rows(database, "sampled_calls", calls.filter(pc.is_valid(calls["call_id"])), "TEMP TABLE")
    share = min(1.0, _SAMPLE_ROWS / rows)
    rows_per_weight = rows / pc.sum(calls["weight"]).as_py()
    database.execute(_KERNELS, {"share": share, "rows_per_weight": rows_per_weight})
    # The footers of parts have the first and the last key of a table, but not those of a window.
    source = kind.view if of_window else kind.table
    bounds = f"SELECT min({kind.key}), max({kind.key}) FROM {source}"  # noqa: S608
    ((first, last),) = database.execute(bounds).fetchall()
    stretches = _stretches(first, last, share)
    places = database.sql("SELECT run, call_id, kernel FROM place ORDER BY place").to_arrow_table()
    kernel_of_place = np.append(0, integers(places["kernel"]))
    kernels = {name: np.zeros(kernel_of_place.max() + 1, np.int64) for name in _OF_KERNELS}
    known = database.sql("SELECT * FROM sampled_kernels").to_arrow_table()
    for name, column in kernels.items():
        column[integers(known["kernel"])] = integers(known[name].cast(pa.int64()))

    def chosen(condition: str) -> list[_ChosenRows]:
        columns = {"key": kind.key, "spread": spread(kind.key), "view": kind.view}
        query = _CHOSEN.format(**columns, condition=condition)
        batches = database.sql(query).to_arrow_reader(_BATCH)
        return [_chosen_rows(batch, stretches, kernel_of_place, kernels) for batch in batches]

    inside = " OR ".join(f"t.key BETWEEN {low} AND {high}" for low, high in stretches)
    condition = _IN_STRETCHES.format(stretches=inside)
    if kernels["few"].any():
        condition += " OR " + _OVERALL.format(kernels="k.few")
    pieces = chosen(condition)
    counts = np.zeros(kernels["rows"].size, np.int64)
    for piece in pieces:
        place = piece.place[piece.in_stretches]
        counts += np.bincount(kernel_of_place[place], minlength=counts.size)
    is_rare = counts < np.minimum(kernels["rows"], _LEAST_TIMES)
    unread = is_rare & (kernels["few"] == 0)
    rows_of_pieces = []
    for piece in pieces:
        kernel = kernel_of_place[piece.place]
        kept = np.where(is_rare[kernel], piece.overall & ~unread[kernel], piece.in_stretches)
        rows_of_pieces.append(_rows(piece, kept))
    pieces.clear()
    if unread.any():  # kernels that are launched less in the stretches than elsewhere
        listed = ", ".join(map(str, np.flatnonzero(unread).tolist()))
        further = chosen(_OVERALL.format(kernels=f"k.kernel IN ({listed})"))
        rows_of_pieces += [_rows(piece, piece.overall) for piece in further]
    yield from _in_order(rows_of_pieces, places.drop_columns("kernel"))


def _rows(piece: _ChosenRows, kept: npt.NDArray[np.bool_]) -> _Rows:
    return piece.place[kept], piece.key[kept], piece.ns[kept]


def _chosen_rows(
    batch: pa.RecordBatch,
    stretches: Sequence[tuple[int, int]],
    kernel_of_place: Integers,
    kernels: Mapping[str, Integers],
) -> _ChosenRows:
    place, key, ns = (batch[name].to_numpy() for name in ("place", "key", "ns"))
    kernel, spread_key = kernel_of_place[place], key % STEPS * _GOLDEN % STEPS
    begins, ends = (np.array(bounds) for bounds in zip(*stretches, strict=True))
    stretch = np.searchsorted(begins, key, side="right") - 1
    inside = (stretch >= 0) & (key <= ends[stretch])
    return _ChosenRows(
        place,
        narrow(key),
        narrow(ns),
        inside & (spread_key < kernels["in_stretches"][kernel]),
        spread_key < kernels["overall"][kernel],
    )


def _in_order(pieces: list[_Rows], calls: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield rows by run and key; `calls` has run and call_id of each place, counted from 1."""
    none = np.zeros(0, np.int8)
    place, key, ns = map(np.concatenate, zip((none,) * 3, *pieces, strict=True))
    pieces.clear()
    _, run = np.unique(calls["run"].to_numpy(), return_inverse=True)
    order = np.argsort(run[place - 1] * (int(key.max(initial=0)) + 1) + key)
    for first in range(0, order.size, _BATCH):
        rows = order[first : first + _BATCH]
        of_rows = calls.take(pa.array(place[rows] - 1)).append_column("ns", pa.array(ns[rows]))
        yield from of_rows.combine_chunks().to_batches()


def _stretches(first: int, last: int, share: float) -> list[tuple[int, int]]:
    """Return the first and last key of each stretch, which have a `share` of all keys.

    There is a stretch in each eighth of the keys, in another place of each, as programs repeat.
    """
    if share == 1:
        return [(first, last)]
    eighth = (last - first + 1) / STRETCHES
    length = ceil(share * eighth)
    places = (number * _GOLDEN / STEPS % 1 for number in range(1, STRETCHES + 1))
    begins = (
        first + int(number * eighth + place * (eighth - length))
        for number, place in enumerate(places)
    )
    return [(begin, begin + length - 1) for begin in begins]
