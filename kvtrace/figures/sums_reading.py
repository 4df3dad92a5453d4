"""Sums of launches and executions: of whole runs, or of the part that a window has.

`sums_building.py` has stored those of whole runs and of their steady parts. Launches and executions
themselves are added up of other windows, and of runs without sums. Sums of rows that a run has
dropped (`schema/older_sums.py`) are read with the stored ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.kernels import KERNEL_FIGURES, LAUNCH_COLUMNS
from kvtrace.figures.stored import (
    LEAVES,
    are_kept,
    has_older_sums,
    older_sums,
    once_per_trace,
    rows_of_runs,
    sizes_of_parts,
    stored_settings,
    sums_stored,
)
from kvtrace.figures.stored import Sums as Sums
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.weights import keeps_sums
from kvtrace.schema.window import TraceWindow, whole_trace

Span = tuple[int, int]


class AtRest(NamedTuple):
    """The runs of which a trace, or a window, has stored or older sums, and those of unsummed rows.

    A run with older sums is in both.
    """

    stored: tuple[Run, ...]
    others: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class AllSums:
    """Sums of launches or of executions of runs.

    Attributes:
        stored: the runs with stored or older sums.
        rows: the columns of `_COLUMNS` without bounds of stretches, `run`, and of launches
            `LAUNCH_COLUMNS`.
        binned: steady sums of rows that are not stored, with `bins` and `counts`; None without any,
            or if nothing is stored.

    """

    stored: tuple[Run, ...]
    rows: pa.Table
    binned: pa.Table | None


def at_rest(trace: Trace, runs: Sequence[Run], table: Sums) -> AtRest:
    """Return which runs' sums are stored, and of which runs rows are to be added to them.

    Errors as `stored_settings`.
    """
    others = tuple(run for run in runs if not _are_stored(trace, run, table))
    stored = (run for run in runs if run not in others or has_older_sums(trace, run))
    return AtRest(tuple(stored), others)


def _are_stored(trace: Trace, run: Run, table: Sums) -> bool:
    """Return whether sums are stored of a run, in a window of its steady part."""
    settings = stored_settings(trace, run)
    if settings is None or not isinstance(trace, TraceWindow):
        return settings is not None
    low, high = span_of(trace, run.run_id, table)
    return low < high and {low, high} <= set(settings["cuts"][table])


def span_of(window: TraceWindow, run_id: str, table: Sums) -> Span:
    """Return begin and end of a run's window for launches, or for executions, in ns since 1970."""
    own = window.window_of(run_id)
    if table == "launch_sums":
        return own.begin, own.end
    return own.device_begin, own.device_end


#: Tables besides sums or their leaves that figures follow from.
_NAMED_BY: Final = ("kernels", "calls")


def facts_to_keep(trace: Trace, runs: Sequence[Run], table: Sums) -> list[Any] | None:
    """Return what figures of many runs follow from, as JSON; None if they are not kept.

    Those of runs with older sums are not, nor those of windows other than the steady part: they are
    rarely asked for again. Errors as `stored_settings`.
    """
    if not are_kept(trace, runs) or any(keeps_sums(run) for run in runs):
        return None
    rest = at_rest(trace, runs, table)
    settings = (stored_settings(trace, run) for run in rest.others)
    if any(known is not None and known["cuts"][table] for known in settings):
        return None
    facts: list[Any] = [table, sorted(KERNEL_FIGURES)]
    for run in runs:
        span = span_of(trace, run.run_id, table) if isinstance(trace, TraceWindow) else None
        tables = (*((table,) if run in rest.stored else LEAVES), *_NAMED_BY)
        facts.append((run.run_id, span, [sizes_of_parts(trace, run, name) for name in tables]))
    return facts


#: Columns of stored sums that figures need, besides times in bins; all are read at once.
_COLUMNS: Final[dict[Sums, tuple[str, ...]]] = {
    "launch_sums": (
        "begin", "end", "call_id", "phase", "compiling", "steady", "weight", "taken_ns",
        "last_end",
    ),
    "execution_sums": (
        "begin", "end", "call_id", "name", "kind", "stack_id", "forward_stack_id", "asked",
        "tuning", "replayed", "timed", "weight", "taken_ns", "bytes",
    ),
}  # fmt: skip


def stored_sums(trace: Trace, runs: Sequence[Run], table: Sums) -> pa.Table:
    """Return stored sums of the trace, or of the window's stretch, without bins.

    `runs` have stored sums, whose rows are kept for an opened trace, or older sums, which are
    added. Errors as `Trace.table`.
    """
    stored = [run for run in runs if sums_stored(trace, run)]
    rows = _stored_rows(whole_trace(trace), stored, table)
    return _with_older(trace, runs, table, _inside(trace, rows, table))


@once_per_trace
def _stored_rows(whole: Trace, runs: Sequence[Run], table: Sums) -> pa.Table:
    return rows_of_runs(whole, runs, table, _COLUMNS[table])


def _with_older(trace: Trace, runs: Sequence[Run], table: Sums, rows: pa.Table) -> pa.Table:
    """Return rows of sums, and older sums of those runs that have some, with the same columns."""
    older = [run for run in runs if has_older_sums(trace, run)]
    if not older:
        return rows
    names = [name for name in rows.column_names if name != "run"]
    more = older_sums(trace, older, table, names).select(rows.column_names)
    return pa.concat_tables([rows, more.cast(rows.schema)]).unify_dictionaries()


#: The view of the rows that sums are of.
VIEWS_ADDED_UP: Final[dict[Sums, str]] = {
    "launch_sums": "launch_times",
    "execution_sums": "execution_times",
}
_ROWS: Final[dict[Sums, str]] = {
    "launch_sums": f"""
        SELECT run, {{stretch}} AS stretch, call_id, phase, compiling, steady, ns, weight, taken,
            steady AS binned, epoch_ns("exit") AS end_ns{"".join(f", {c}" for c in LAUNCH_COLUMNS)}
        FROM launch_times
    """,  # noqa: S608
    "execution_sums": """
        SELECT run, {stretch} AS stretch, call_id, CASE WHEN call_id IS NULL THEN name END AS name,
            CASE WHEN call_id IS NULL THEN kind END AS kind,
            CASE WHEN call_id IS NULL THEN stack_id END AS stack_id, forward_stack_id, asked,
            tuning, replayed, timed, ns, weight, taken, steady AS binned, bytes * weight AS bytes,
            epoch_ns("end") AS end_ns
        FROM execution_times
    """,
}
_KEYS: Final[dict[Sums, str]] = {
    "launch_sums": "run, stretch, call_id, phase, compiling, steady",
    "execution_sums": "run, stretch, call_id, name, kind, stack_id, forward_stack_id, tuning, "
    "replayed, timed",
}
_SUMS: Final = """
    WITH {table}_rows AS ({rows}), binned AS (
        SELECT {keys}, CASE WHEN binned THEN {bin} END AS bin, sum(weight) AS weight,
            sum(taken) AS taken, min(ns) AS shortest, max(ns) AS longest, max(end_ns) AS last_end
            {further}
        FROM {table}_rows GROUP BY {keys}, bin
    )
    SELECT {keys}, sum(weight)::BIGINT AS weight, sum(taken)::BIGINT AS taken_ns,
        min(shortest) AS shortest_ns, max(longest) AS longest_ns, max(last_end) AS last_end,
        list(bin::INTEGER ORDER BY bin) FILTER (bin IS NOT NULL) AS bins,
        list(weight::BIGINT ORDER BY bin) FILTER (bin IS NOT NULL) AS counts {further}
    FROM binned GROUP BY {keys}
"""
_FURTHER: Final[dict[Sums, str]] = {
    "launch_sums": "".join(f", sum({c})::BIGINT AS {c}" for c in LAUNCH_COLUMNS),
    "execution_sums": ", bool_or(asked) AS asked, sum(bytes)::BIGINT AS bytes",
}


_EXPONENT: Final = "(CAST(floor(log2(ns)) AS BIGINT) - 6)"
#: The bin of a time `ns`, which is not negative. The logarithm may be rounded to the next power of
#: two, which does not change the bin.
BIN: Final = f"CASE WHEN ns < 128 THEN ns ELSE 64 * {_EXPONENT} + (ns >> {_EXPONENT}) END"


def summed_rows(
    trace: Trace,
    runs: Sequence[Run],
    table: Sums,
    stretch: str = "-1",
    *,
    has_bins: bool = True,
) -> pa.Table:
    """Return what launches or executions add up to, with `run` and the columns of `table`.

    `stretch` is SQL of the stretch of a row. Without `has_bins`, `bins` and `counts` are null,
    which takes less time. Errors as `Trace.table`.
    """
    # Imported here, since `info` works without NumPy, which both need.
    from kvtrace.figures.tables import open_times

    query = _SUMS.format(
        table=table,
        rows=_ROWS[table].format(stretch=stretch),
        keys=_KEYS[table],
        bin=BIN if has_bins else "NULL",
        further=_FURTHER[table],
    )
    with open_times(trace, runs, VIEWS_ADDED_UP[table]) as database:
        rows = database.sql(f"SELECT * REPLACE (run::VARCHAR AS run) FROM ({query})")  # noqa: S608
        return rows.to_arrow_table()


@once_per_trace
def sums_of(trace: Trace, runs: Sequence[Run], table: Sums) -> AllSums:
    """Return the sums of runs, stored or not, and times in bins of the rows that are not stored.

    Those of sealed runs are kept for an opened trace. Errors as `Trace.table`.
    """
    rest = at_rest(trace, runs, table)
    rows = stored_sums(trace, rest.stored, table)
    names = [name for name in rows.column_names if name not in ("begin", "end")]
    rows = rows.select(names)
    for name in LAUNCH_COLUMNS if table == "launch_sums" else ():
        rows = rows.append_column(name, pa.nulls(rows.num_rows, pa.int64()))
    binned = None
    if rest.others:
        summed = summed_rows(trace, rest.others, table, has_bins=bool(rest.stored))
        rows = pa.concat_tables([rows, _like(summed, rows)])
        if rest.stored:
            binned = summed.filter(pc.is_valid(summed["bins"]))
    return AllSums(rest.stored, rows.unify_dictionaries(), binned)


def _like(summed: pa.Table, rows: pa.Table) -> pa.Table:
    """Return sums with the columns and types of `rows`."""
    columns = [
        (summed[f.name].cast(pa.int64()) if pa.types.is_timestamp(f.type) else summed[f.name])
        for f in rows.schema
    ]
    return pa.table(columns, rows.column_names).cast(rows.schema)


def stored_bins(trace: Trace, run: Run, table: Sums, keys: Sequence[str]) -> pa.Table:
    """Return `keys`, `bins` and `counts` of a run's stored and older sums of steady rows.

    Errors as `Trace.table`.
    """
    columns = ("begin", "end", *keys, "bins", "counts")
    stored = [run] if sums_stored(trace, run) else []
    rows = _inside(trace, whole_trace(trace).table(table, stored, columns), table)
    rows = _with_older(trace, [run], table, rows)
    return rows.filter(pc.is_valid(rows["bins"])).select(columns[2:])


def _inside(trace: Trace, rows: pa.Table, table: Sums) -> pa.Table:
    """Return the rows of whole stretches of a window; all rows if the trace is not a window."""
    if not isinstance(trace, TraceWindow) or not rows.num_rows:
        return rows
    runs = rows["run"].unify_dictionaries().combine_chunks()
    spans = [span_of(trace, run_id, table) for run_id in runs.dictionary.to_pylist()]
    edges = zip(*spans, strict=True)
    low, high = (pa.array(edge, pa.int64()).take(runs.indices) for edge in edges)
    begin, end = rows["begin"].cast(pa.int64()), rows["end"].cast(pa.int64())
    inside = pc.and_(pc.greater_equal(begin, low), pc.less_equal(end, high))
    return rows.filter(pc.fill_null(inside, False))
