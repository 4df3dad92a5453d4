"""Counts, total times and median times of calls and kernels, on host and devices.

`sums_of` adds up launches, or executions, or reads what they add up to. Medians are those of bins
where sums are stored (`medians.py`). `times_of_engine` computes the same figures with another SQL
engine.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kvtrace.figures.columns import integers
from kvtrace.figures.identity import OWN_KIND, SOURCE, kind_of
from kvtrace.figures.kernels import (
    DEVICE_MEDIAN,
    EXECUTED,
    HOST_MEDIAN,
    LAUNCH_COLUMNS,
    LAUNCHED,
    KernelFigure,
    medians,
    sums,
)
from kvtrace.figures.medians import add_medians
from kvtrace.figures.names import shown_names
from kvtrace.figures.stored import kept, kept_rows, once_per_trace, settled
from kvtrace.figures.sums_reading import (
    VIEWS_ADDED_UP,
    Sums,
    facts_to_keep,
    sums_of,
)
from kvtrace.figures.tables import add_rows, open_times, scratch
from kvtrace.figures.views import LAUNCHES_AT_REST
from kvtrace.schema.launch_flags import LaunchFlags
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.weights import weights
from kvtrace.schema.window import whole_trace

UNKNOWN: Final = "(unknown)"


class Times(Struct, frozen=True):
    """Figures by call, and medians by kernel.

    Attributes:
        calls: columns run, call_id, and the figures of `figures/kernels.py`; executions without a
            call are summed by the columns `name` and `kind`, and call_id is null.
        kernels: columns module, name and source (a key of `identity.py`), kind and the median.
        groups: columns `grouped` and the median; None unless groups were passed.

    """

    calls: pa.Table
    kernels: pa.Table
    groups: pa.Table | None = None


#: Sums by call, as in the view `launch_groups`.
_LAUNCH_GROUPS: Final = f"(SELECT {', '.join((LAUNCHES_AT_REST, *LAUNCH_COLUMNS))} FROM stored)"  # noqa: S608
#: Sums by call, as in the view `execution_groups`; `place` is null for those of no call whose
#: kernel is known, which have names.
_EXECUTION_GROUPS: Final = """
    CREATE TEMP TABLE executed AS
    SELECT s.run, s.call_id, p.place, s.name, s.kind, s.call_id IS NOT NULL AS called,
        s.tuning, s.replayed, s.timed, s.timed AND NOT s.tuning AS steady, s.weight,
        s.taken_ns AS taken, s.bytes
    FROM stored s LEFT JOIN place p ON p.run = s.run AND p.call_id = s.call_id
"""
_OF_CALLS: Final = "(SELECT * FROM executed WHERE place IS NOT NULL)"
_NAMES: Final = """
    SELECT DISTINCT name, kind, called FROM executed WHERE place IS NULL
"""
_BY_NAME: Final = f"""
    SELECT run::VARCHAR AS run, CAST(NULL AS BIGINT) AS call_id, shown AS name, shown_kind AS kind,
        {sums(EXECUTED)}, CAST(sum(CASE WHEN steady THEN bytes END) AS BIGINT) AS bytes,
        CAST(NULL AS DOUBLE) AS {DEVICE_MEDIAN.name}
    FROM (
        SELECT e.* EXCLUDE (name, kind), s.shown, s.shown_kind FROM executed e
        JOIN shown s ON s.called = e.called AND s.name IS NOT DISTINCT FROM e.name
            AND s.kind IS NOT DISTINCT FROM e.kind
        WHERE e.place IS NULL
    ) named GROUP BY run, shown, shown_kind
"""  # noqa: S608
_NO_BYTES: Final = "CAST(NULL AS BIGINT) AS bytes"
#: Keys and kinds of kernels, in the order of their numbers, which begin with 1.
_KERNELS: Final = "SELECT module, name, source, kind FROM kernel ORDER BY kernel"


def host_times(trace: Trace, runs: Sequence[Run], *, groups: pa.Table | None = None) -> Times:
    """Return the figures of launches.

    `groups` has columns run, kernel_id and `grouped`, the kernel's group; if it is passed,
    `Times.groups` has the groups' medians. Others of sealed runs are kept for an opened trace.
    Errors as `Trace.table`.
    """
    if groups is not None:
        return _read_times(trace, runs, "launch_sums", groups)
    return _times(trace, runs, "launch_sums")


def device_times(trace: Trace, runs: Sequence[Run], *, groups: pa.Table | None = None) -> Times:
    """Return the figures of executions of calls, and of other kernels, copies and fills by name.

    The column `bytes` has the bytes that were copied or filled. `groups`, what is kept and errors
    as in `host_times`.
    """
    if groups is not None:
        return _read_times(trace, runs, "execution_sums", groups)
    return _times(trace, runs, "execution_sums")


#: The tables of `Times`, without groups.
_TABLES: Final = ("calls", "kernels")


@once_per_trace
def _times(trace: Trace, runs: Sequence[Run], table: Sums) -> Times:
    def read_tables() -> dict[str, pa.Table]:
        times = settled(trace, runs, lambda: _read_times(trace, runs, table))
        return {name: getattr(times, name) for name in _TABLES}

    facts = facts_to_keep(trace, runs, table)
    if facts is None:
        return Times(**read_tables())
    return Times(**kept(trace, "times", facts, _TABLES, read_tables))


def _read_times(
    trace: Trace, runs: Sequence[Run], table: Sums, groups: pa.Table | None = None
) -> Times:
    summed = sums_of(trace, runs, table)
    with open_times(trace, runs, None if summed.stored else VIEWS_ADDED_UP[table]) as database:
        add_rows(database, "stored", summed.rows, "TEMP TABLE")
        is_host = table == "launch_sums"
        kernels = database.sql(_KERNELS).to_arrow_table()
        if not is_host:
            database.execute(_EXECUTION_GROUPS)
            shown = _shown_names(database, kernels.num_rows)
            database.register("shown", shown)
            kernels = pa.concat_tables([kernels, _named(shown, kernels.schema)])
        if groups is not None:
            add_rows(database, "groups", groups, "TEMP TABLE")
        numbers, medians_ns = add_medians(
            database, trace, summed, table, has_groups=groups is not None
        )
        median = HOST_MEDIAN if is_host else DEVICE_MEDIAN
        of_calls = _by_call(LAUNCHED if is_host else EXECUTED, median)
        if not is_host:
            of_calls = f"{of_calls} UNION ALL {_BY_NAME}"
        of_groups = f"SELECT grouped, ns AS {median.name} FROM group_medians"  # noqa: S608
        return Times(
            database.sql(of_calls).to_arrow_table(),
            kernels.take(pa.array(numbers - 1)).append_column(median.name, pa.array(medians_ns)),
            None if groups is None else database.sql(of_groups).to_arrow_table(),
        )


def _by_call(figures: Sequence[KernelFigure], median: KernelFigure) -> str:
    """Return the query of `Times.calls` with known calls; of executions, with `bytes`."""
    names = ", ".join(f"s.{figure.name}" for figure in figures)
    is_host = median is HOST_MEDIAN
    groups, bytes_column = (_LAUNCH_GROUPS, "") if is_host else (_OF_CALLS, f", {_NO_BYTES}")
    return f"""
        SELECT p.run::VARCHAR AS run, p.call_id, CAST(NULL AS VARCHAR) AS name,
            CAST(NULL AS VARCHAR) AS kind, {names}{bytes_column}, m.ns AS {median.name}
        FROM (SELECT run, call_id, {sums(figures)} FROM {groups} GROUP BY run, call_id) s
        JOIN place p ON p.run = s.run AND p.call_id = s.call_id
        LEFT JOIN place_medians m ON m.place = p.place
    """  # noqa: S608


def _named(shown: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the distinct names and kinds that are shown, by number, with a kernel's columns."""
    names = dict(zip(shown["kernel"].to_pylist(), shown.to_pylist(), strict=True))
    rows = [("", row["shown"], "", row["shown_kind"]) for _, row in sorted(names.items())]
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def _shown_names(database: duckdb.DuckDBPyConnection, kernels: int) -> pa.Table:
    """Return the rows of `_NAMES`, the shown name and kind, and a number as `kernel`.

    Equal names and kinds that are shown have one number, above those of the `kernels` kernels.
    """
    names = database.execute(_NAMES).fetchall()
    titles_by_symbol = shown_names([UNKNOWN, *(name for name, _, _ in names if name)])
    numbers: dict[tuple[str, str], int] = {}
    rows = []
    for name, kind, called in names:
        symbol, memory_kind = (UNKNOWN, None) if called else (name or UNKNOWN, kind)
        shown = titles_by_symbol[symbol], kind_of(symbol, memory_kind)
        number = numbers.setdefault(shown, kernels + 1 + len(numbers))
        rows.append((name, kind, called, *shown, number))
    columns = list(zip(*rows, strict=True)) or [()] * len(_SHOWN)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, _SHOWN, strict=True)],
        schema=_SHOWN,
    )


_SHOWN: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("name", "kind")),
        ("called", pa.bool_()),
        *((name, pa.string()) for name in ("shown", "shown_kind")),
        ("kernel", pa.int64()),
    ]
)


def times_of_engine(run_query: Callable[[str], pa.Table]) -> tuple[Times, Times]:
    """Return the figures of launches and of executions, computed by another SQL engine.

    `run_query` executes a query over the views of `figures/views.py` and returns its result.
    Executions without a known call are left out, and there are no bytes and phases.
    """
    return (
        _times_of_view(run_query, "launch_times", LAUNCHED, HOST_MEDIAN),
        _times_of_view(run_query, "execution_times", EXECUTED, DEVICE_MEDIAN),
    )


_WITH_KERNELS: Final = f"""
    SELECT t.*, coalesce(k.module, '') AS module, coalesce(k.name, '') AS kernel,
        coalesce({SOURCE}, '') AS source, {OWN_KIND} AS own_kind
    FROM {{rows}} t JOIN calls c ON c.run = t.run AND c.call_id = t.call_id
    JOIN kernels k ON k.run = c.run AND k.kernel_id = c.kernel_id
"""  # noqa: S608


def _times_of_view(
    run_query: Callable[[str], pa.Table],
    view: str,
    figures: Sequence[KernelFigure],
    median: KernelFigure,
) -> Times:
    named = _WITH_KERNELS.format(rows=view)
    calls = run_query(
        f"WITH named AS ({named}), "  # noqa: S608
        f"summed AS (SELECT run, call_id, {sums(figures)} FROM named GROUP BY run, call_id), "
        f"middle AS ({medians('named', 'run, call_id', median.name)}) "
        f"SELECT s.*, m.{median.name} FROM summed s "
        "LEFT JOIN middle m ON m.run = s.run AND m.call_id = s.call_id"
    )
    kernels = run_query(
        f"WITH named AS ({named}) SELECT module, kernel AS name, source, own_kind AS kind, "  # noqa: S608
        f"{median.name} FROM "
        f"({medians('named', 'module, kernel, source, own_kind', median.name)}) m"
    )
    unnamed = pa.nulls(calls.num_rows, pa.string())
    for name in ("kind", "name"):
        calls = calls.add_column(2, name, unnamed)
    return Times(calls, kernels)


_BY_PHASE: Final = """
    SELECT run::VARCHAR AS run, call_id, coalesce(phase, 'run') AS phase,
        sum(weight)::BIGINT AS launches
    FROM summed GROUP BY ALL
"""


def launches_by_phase(trace: Trace, runs: Sequence[Run]) -> pa.Table:
    """Return run, call_id, phase and the number of launches; errors as `Trace.table`."""
    summed = settled(trace, runs, lambda: sums_of(trace, runs, "launch_sums"))
    with scratch() as database:
        database.register("summed", summed.rows)
        return database.sql(_BY_PHASE).to_arrow_table()


_TRIALS: Final = """
    SELECT e.run::VARCHAR AS run, l.call_id,
        greatest(epoch_ns(e."end") - epoch_ns(e."start"), 0) AS ns
    FROM gpu_kernels e JOIN (
        SELECT run, seq, call_id FROM launches WHERE phase = 'autotune'
    ) l ON l.run = e.run AND l.seq = e.launch_seq
    WHERE e."start" IS NOT NULL AND e."end" IS NOT NULL AND e.kind IS NULL
    ORDER BY e.run, l.seq, e.record
"""


def trial_times(trace: Trace, runs: Sequence[Run]) -> pa.Table:
    """Return run, call_id and duration `ns` of executions of autotuners' trials, as launched.

    They are of whole runs; those of many are kept (`stored.py`). Errors as `Trace.table`.
    """
    whole = whole_trace(trace)
    facts = facts_to_keep(whole, runs, "launch_sums")

    def read() -> pa.Table:
        with open_times(whole, runs, "placed") as database:
            return database.sql(_TRIALS).to_arrow_table()

    return read() if facts is None else kept_rows(whole, "trials", facts, read)


#: A launch captured into a graph ran at each replay of the graph, and counts as often; without a
#: device timeline the number of replays is not known, and the launch counts once.
_BOTH: Final = """
    SELECT * EXCLUDE (run, call_id), coalesce(h.run, d.run) AS run,
        coalesce(h.call_id, d.call_id) AS call_id,
        coalesce(h.launches, 0) + CASE WHEN coalesce(h.run, d.run) IN (SELECT run FROM executed)
            THEN coalesce(d.replays, 0) - coalesce(h.captured_launches, 0) ELSE 0 END AS runs
    FROM (SELECT * EXCLUDE (name, kind) FROM launched) h
    FULL JOIN (SELECT * EXCLUDE (name, kind) FROM executed WHERE call_id IS NOT NULL) d
        ON d.run = h.run AND d.call_id = h.call_id
"""


def figures_of_calls(host: Times, device: Times) -> pa.Table:
    """Return one row per call with the figures of its launches and of its executions.

    Figures are null for a call without launches or executions. The column `runs` is how often the
    call ran: its launches, with captured ones counted as often as their graph was replayed.
    """
    with scratch() as database:
        database.register("launched", host.calls)
        database.register("executed", device.calls)
        return database.sql(_BOTH).to_arrow_table()


_COMPILING: Final = """
    SELECT run::VARCHAR AS run, seq, call_id, phase, "enter", "exit" FROM compiling
"""
#: The first launch of each kernel, if it took so many ns.
_SLOW_FIRST: Final = """
    UNION SELECT run::VARCHAR, seq, call_id, phase, "enter", "exit" FROM launches SEMI JOIN (
        SELECT min(l.seq) AS seq FROM launches l
        LEFT JOIN calls c ON c.run = l.run AND c.call_id = l.call_id GROUP BY c.kernel_id
    ) USING (seq)
    WHERE epoch_ns("exit") - epoch_ns("enter") >= ?
"""


def compiling_launches(trace: Trace, run: Run, first_ns: int | None = None) -> pa.Table:
    """Return rows of the view `compiling`: launches that compiled, loaded or tuned a kernel.

    With `first_ns`, also the first launch of each kernel that took as long.
    """
    slow, values = (_SLOW_FIRST, [first_ns]) if first_ns is not None else ("", [])
    with open_times(trace, [run], "compiling") as database:
        query = f"{_COMPILING} {slow} ORDER BY seq"
        return database.sql(query, params=values).to_arrow_table()


# -- new launches and executions of a run that is still being recorded -----------------------------
# They count as in the views `launch_times` and `execution_times`, which see all rows at once.
# Executions of trials are not distinguished from others.


Row = dict[str, Any]


def launch_sums(
    database: duckdb.DuckDBPyConnection,
    piece: pa.Table,
    flags: LaunchFlags,
) -> list[Row]:
    """Return one row per call with the `LAUNCHED` figures of the next launches of a run.

    Args:
        database: any connection; it is left without new tables.
        piece: the launches in recorded order, with columns call_id, enter, exit, thread, phase,
            weight and `LAUNCH_COLUMNS`.
        flags: those of the run, which has got its earlier pieces; updated with this piece.

    """
    timed = pc.and_(pc.is_valid(piece["enter"]), pc.is_valid(piece["exit"])).to_numpy()
    enter, leave = (integers(piece[name], 0) for name in ("enter", "exit"))
    weight = weights(piece)
    captured = pc.equal(piece["phase"].cast(pa.string()), "graph_capture")
    rows = {
        "call_id": piece["call_id"],
        **flags.of(piece),
        "captured": pc.fill_null(captured, False),
        "weight": weight,
        "taken": np.where(timed, np.maximum(leave - enter, 0) * weight, 0),
        **{name: pc.multiply(piece[name], pa.array(weight)) for name in LAUNCH_COLUMNS},
    }
    return _summed_rows(database, rows, LAUNCHED, "call_id")


def execution_sums(database: duckdb.DuckDBPyConnection, piece: pa.Table) -> list[Row]:
    """Return one row per call, name and kind with the `EXECUTED` figures of timed executions.

    Columns of `piece`: call_id, name, kind, start, end and weight; start and end are never null.
    """
    weight = weights(piece)
    false = np.zeros(piece.num_rows, np.bool_)
    rows = {
        **{name: piece[name] for name in ("name", "kind")},
        "call_id": pc.if_else(pc.is_null(piece["kind"]), piece["call_id"], None),
        "tuning": false,
        "replayed": false,
        "timed": ~false,
        "steady": ~false,
        "weight": weight,
        "taken": np.maximum(integers(piece["end"]) - integers(piece["start"]), 0) * weight,
    }
    return _summed_rows(database, rows, EXECUTED, "call_id, name, kind")


def _summed_rows(
    database: duckdb.DuckDBPyConnection,
    rows: Mapping[str, Any],
    figures: Sequence[KernelFigure],
    keys: str,
) -> list[Row]:
    database.register("rows", pa.table(rows))
    figure_rows: list[Row] = (
        database.sql(f"SELECT {keys}, {sums(figures)} FROM rows GROUP BY {keys}")  # noqa: S608
        .to_arrow_table()
        .to_pylist()
    )
    database.unregister("rows")
    return figure_rows
