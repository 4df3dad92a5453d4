"""Counts, total times and median times of calls and kernels, on host and devices.

Where the sums of a run are stored (`sums_reading.py`), they are read: counts and times are exact,
medians those of bins (`bins.py`). Else DuckDB reads launches, or executions, once, into rows of
some 20 bytes, and computes sums and medians from these rows. `times_of_engine` computes the same
figures with another SQL engine.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import duckdb
import pyarrow as pa

from kvtrace.figures.binned_times import BinnedTimes, binned_medians_by_name
from kvtrace.figures.database import scratch
from kvtrace.figures.identity import SOURCE
from kvtrace.figures.kept import kept
from kvtrace.figures.kernels import (
    DEVICE_MEDIAN,
    EXECUTED,
    HOST_MEDIAN,
    LAUNCH_COLUMNS,
    LAUNCHED,
    KernelFigure,
    medians,
    medians_of_single_rows,
    sums,
)
from kvtrace.figures.makers import OWN_KIND, kind_of
from kvtrace.figures.names import shown_names
from kvtrace.figures.older_sums import settled
from kvtrace.figures.sums_reading import Sums, facts_to_keep, sums_of
from kvtrace.figures.tables import add_rows, open_times
from kvtrace.figures.views import LAUNCHES_AT_REST

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

UNKNOWN: Final = "(unknown)"


@dataclass(frozen=True, slots=True)
class Times:
    """Figures by call, and medians by kernel.

    Attributes:
        calls: columns run, call_id, and the figures of `figures/kernels.py`; executions without a
            call are summed by the columns `name` and `kind`, and call_id is null.
        kernels: columns module, name and source (a key of `identity.py`), kind and the median.
        by_phase: columns run, call_id, phase and the number of launches; None for executions.
        groups: columns `grouped` and the median; None unless groups were passed.

    """

    calls: pa.Table
    kernels: pa.Table
    by_phase: pa.Table | None = None
    groups: pa.Table | None = None


#: One row for each steady launch, for medians.
_LAUNCHES: Final = """
    SELECT p.place, p.kernel, t.ns, t.weight::BIGINT AS weight, true AS steady
    FROM launch_times t JOIN place p ON p.run = t.run AND p.call_id = t.call_id WHERE t.steady
"""
#: Sums of launches as the view `launch_groups` has them.
_LAUNCHES_AT_REST: Final = (
    f"CREATE TEMP TABLE grouped AS SELECT {', '.join((LAUNCHES_AT_REST, *LAUNCH_COLUMNS))} "  # noqa: S608
    "FROM stored"
)
_BY_PHASE: Final = """
    SELECT run::VARCHAR AS run, call_id, coalesce(phase, 'run') AS phase,
        sum(weight)::BIGINT AS launches
    FROM grouped GROUP BY run, call_id, coalesce(phase, 'run')
"""
#: One row for each execution of a call whose kernel is known.
_EXECUTIONS: Final = """
    CREATE TEMP TABLE executions AS
    SELECT p.place, p.kernel, t.ns, t.weight::BIGINT AS weight, t.steady
    FROM execution_times t JOIN place p ON p.run = t.run AND p.call_id = t.call_id
"""
_FLAGS: Final = "s.tuning, s.replayed, s.timed, s.timed AND NOT s.tuning AS steady"
#: Sums of calls whose kernel is known, and of all other executions by name.
_EXECUTIONS_AT_REST: Final = (
    f"""CREATE TEMP TABLE grouped AS
    SELECT p.run, p.call_id, {_FLAGS}, s.weight, s.taken_ns AS taken
    FROM stored s JOIN place p ON p.run = s.run AND p.call_id = s.call_id""",  # noqa: S608
    f"""CREATE TEMP TABLE others AS
    SELECT s.run, s.name, s.kind, s.call_id IS NOT NULL AS called, {_FLAGS}, s.weight,
        s.taken_ns AS taken, s.bytes
    FROM stored s ANTI JOIN place p ON p.run = s.run AND p.call_id = s.call_id""",  # noqa: S608
)
_NAMES: Final = "SELECT DISTINCT name, kind, called FROM others"
#: Rows with a name and kind, with those that are shown instead; of a known call, its name is not.
_SHOWN: Final = """
    SELECT r.* EXCLUDE (name, kind, called), s.shown AS name, s.shown_kind AS kind
    FROM {rows} r JOIN shown s ON s.called = r.called AND s.name IS NOT DISTINCT FROM r.name
        AND s.kind IS NOT DISTINCT FROM r.kind
"""
#: Executions without a call of a known kernel: times in bins, or one row for each.
_UNPLACED: Final = """(
    SELECT name, kind, call_id IS NOT NULL AS called, bins, counts FROM unplaced
)"""
_OTHER_ROWS: Final = """(
    SELECT CASE WHEN t.call_id IS NULL THEN t.name END AS name,
        CASE WHEN t.call_id IS NULL THEN t.kind END AS kind, t.call_id IS NOT NULL AS called, t.ns,
        t.weight, t.steady
    FROM execution_times t ANTI JOIN place p ON p.run = t.run AND p.call_id = t.call_id
)"""
_NO_BYTES: Final = "CAST(NULL AS BIGINT) AS bytes"
_BYTES: Final = "CAST(sum(CASE WHEN steady THEN bytes END) AS BIGINT) AS bytes"

#: Times of sealed runs of opened traces, by the view that they are of, run ids, and "medians".
_KNOWN: Final[WeakKeyDictionary["Trace", dict[tuple[str, ...], Times]]] = WeakKeyDictionary()


def host_times(
    trace: "Trace",
    runs: Sequence["Run"],
    *,
    with_medians: bool = True,
    groups: pa.Table | None = None,
) -> Times:
    """Return the figures of launches.

    Without `with_medians`, the columns of medians are null. `groups` has columns run, kernel_id and
    `grouped`, the kernel's group; if it is passed, `Times.groups` has the groups' medians. The
    figures of sealed runs are cached for an opened trace. Errors as `Trace.table`.
    """
    return _known_or_read(trace, runs, "launch_sums", _read_host_times, with_medians, groups)


#: The tables of `Times`.
_TABLES: Final[dict[Sums, tuple[str, ...]]] = {
    "launch_sums": ("calls", "kernels", "by_phase"),
    "execution_sums": ("calls", "kernels"),
}
_Read = Callable[["Trace", Sequence["Run"], bool, pa.Table | None], Times]


def _known_or_read(
    trace: "Trace",
    runs: Sequence["Run"],
    sums: Sums,
    read: _Read,
    with_medians: bool,
    groups: pa.Table | None,
) -> Times:
    """Return times that were read before, with medians at least where they are asked for."""
    if groups is not None:
        return read(trace, runs, with_medians, groups)
    known = _KNOWN.setdefault(trace, {})
    key = (sums, *(run.run_id for run in runs))
    for cached in (known.get((*key, "medians")), None if with_medians else known.get(key)):
        if cached is not None:
            return cached
    facts = facts_to_keep(trace, runs, sums)
    with_medians = with_medians or facts is not None

    def read_tables() -> dict[str, pa.Table]:
        times = settled(trace, runs, lambda: read(trace, runs, with_medians, None))
        return {name: getattr(times, name) for name in _TABLES[sums]}

    tables = (
        read_tables() if facts is None else kept(trace, "times", facts, _TABLES[sums], read_tables)
    )
    times = Times(**tables)
    if all(run.sealed for run in runs):
        known[(*key, "medians") if with_medians else key] = times
    return times


def _read_host_times(
    trace: "Trace", runs: Sequence["Run"], with_medians: bool, groups: pa.Table | None
) -> Times:
    summed = sums_of(trace, runs, "launch_sums")
    reads_rows = with_medians and not summed.stored
    with open_times(trace, runs, "launch_times" if reads_rows else None) as database:
        _add_groups(database, groups)
        add_rows(database, "stored", summed.rows, "TEMP TABLE")
        database.execute(_LAUNCHES_AT_REST)
        binned = None
        if reads_rows:
            database.execute(f"CREATE TEMP TABLE steady AS {_LAUNCHES}")
        elif with_medians:
            binned = BinnedTimes(
                database, trace, summed, "launch_sums", has_groups=groups is not None
            )
        of_steady = _medians(database, "steady", binned) if with_medians else _NO_MEDIANS
        return Times(
            database.sql(_by_call(LAUNCHED, of_steady, HOST_MEDIAN)).to_arrow_table(),
            database.sql(_by_kernel(of_steady, HOST_MEDIAN)).to_arrow_table(),
            database.sql(_BY_PHASE).to_arrow_table(),
            None if groups is None else _of_groups(database, of_steady, HOST_MEDIAN),
        )


def _add_groups(database: duckdb.DuckDBPyConnection, groups: pa.Table | None) -> None:
    """Create the table `groups`, if some were passed."""
    if groups is not None:
        add_rows(database, "groups", groups, "TEMP TABLE")


def _medians(
    database: duckdb.DuckDBPyConnection, rows: str, binned: BinnedTimes | None
) -> Mapping[str, str]:
    """Return queries of medians: of the rows of a table, or if there are some, of times in bins.

    They are by `place`, `kernel`, and `grouped` of the table `groups`.
    """
    if binned is not None:
        return binned.medians
    query = _median_query(database, rows)
    return {
        "place": query(rows, "place"),
        "kernel": query(rows, "kernel"),
        "grouped": query(_OF_GROUPS.format(rows=rows), "grouped"),
    }


def _of_groups(
    database: duckdb.DuckDBPyConnection, queries: Mapping[str, str], median: KernelFigure
) -> pa.Table:
    """Return columns `grouped` and the median's name, of the table `groups`."""
    text = f"SELECT grouped, ns AS {median.name} FROM ({queries['grouped']}) m"  # noqa: S608
    return database.sql(text).to_arrow_table()


def device_times(
    trace: "Trace",
    runs: Sequence["Run"],
    *,
    with_medians: bool = True,
    groups: pa.Table | None = None,
) -> Times:
    """Return the figures of executions of calls, and of other kernels, copies and fills by name.

    Without `with_medians`, the medians of calls are null; kernels have medians in any case. The
    column `bytes` has the bytes that were copied or filled. `groups`, what is cached and errors as
    in `host_times`.
    """
    return _known_or_read(trace, runs, "execution_sums", _read_device_times, with_medians, groups)


def _read_device_times(
    trace: "Trace", runs: Sequence["Run"], with_medians: bool, groups: pa.Table | None
) -> Times:
    summed = sums_of(trace, runs, "execution_sums")
    with open_times(trace, runs, None if summed.stored else "execution_times") as database:
        _add_groups(database, groups)
        add_rows(database, "stored", summed.rows, "TEMP TABLE")
        for statement in _EXECUTIONS_AT_REST:
            database.execute(statement)
        database.register("shown", _shown_names(database))
        database.execute(f"CREATE TEMP TABLE named AS {_SHOWN.format(rows='others')}")
        if summed.stored:
            binned = BinnedTimes(
                database, trace, summed, "execution_sums", has_groups=groups is not None
            )
            database.register("unplaced", binned.unplaced)
        else:
            binned = None
            database.execute(_EXECUTIONS)
            others = _SHOWN.format(rows=_OTHER_ROWS)
            database.execute(f"CREATE TEMP TABLE named_rows AS {others}")
        of_executions = _medians(database, "executions", binned)
        of_calls = of_executions if with_medians else _NO_MEDIANS
        calls = database.sql(_by_call(EXECUTED, of_calls, DEVICE_MEDIAN, f", {_NO_BYTES}"))
        kernels = database.sql(_by_kernel(of_executions, DEVICE_MEDIAN))
        unlaunched = database.sql(
            "SELECT run::VARCHAR AS run, CAST(NULL AS BIGINT) AS call_id, name, kind, "  # noqa: S608
            f"{sums(EXECUTED)}, {_BYTES}, "
            f"CAST(NULL AS DOUBLE) AS {DEVICE_MEDIAN.name} FROM named GROUP BY run, name, kind"
        )
        if binned:
            medians_by_name = binned_medians_by_name(database, _SHOWN.format(rows=_UNPLACED))
        else:
            medians_by_name = _median_query(database, "named_rows")("named_rows", "name, kind")
        by_name = database.sql(
            f"SELECT '' AS module, name, '' AS source, kind, ns AS {DEVICE_MEDIAN.name} "  # noqa: S608
            f"FROM ({medians_by_name}) m"
        )
        return Times(
            pa.concat_tables([calls.to_arrow_table(), unlaunched.to_arrow_table()]),
            pa.concat_tables([kernels.to_arrow_table(), by_name.to_arrow_table()]),
            groups=None if groups is None else _of_groups(database, of_executions, DEVICE_MEDIAN),
        )


_NO_MEDIANS: Final = dict.fromkeys(
    ("place", "kernel", "grouped"),
    "SELECT 0 AS place, 0 AS kernel, 0 AS grouped, CAST(NULL AS DOUBLE) AS ns WHERE false",
)
_OF_GROUPS: Final = """(
    SELECT g.grouped, s.ns, s.weight, s.steady FROM {rows} s JOIN place p ON p.place = s.place
    JOIN groups g ON g.run = p.run AND g.kernel_id = p.kernel_id
) k"""


def _median_query(database: duckdb.DuckDBPyConnection, table: str) -> Callable[[str, str], str]:
    """Return a function from rows and keys (SQL) to the SQL query of their medians, as `ns`.

    If all weights in `table` are 1, the query ignores weights, which is faster.
    """
    ((max_weight,),) = database.execute(f"SELECT max(weight) FROM {table}").fetchall()  # noqa: S608
    query = medians if (max_weight or 1) > 1 else medians_of_single_rows
    return lambda rows, keys: query(rows, keys, "ns")


def _by_call(
    figures: Sequence[KernelFigure],
    medians_by: Mapping[str, str],
    median: KernelFigure,
    bytes_sum: str = "",
) -> str:
    """Return the query of `Times.calls` from `grouped`."""
    names = ", ".join(f"s.{figure.name}" for figure in figures)
    bytes_column = ", s.bytes" if bytes_sum else ""
    return f"""
        SELECT p.run::VARCHAR AS run, p.call_id, CAST(NULL AS VARCHAR) AS name,
            CAST(NULL AS VARCHAR) AS kind, {names}{bytes_column}, m.ns AS {median.name}
        FROM (SELECT run, call_id, {sums(figures)}{bytes_sum} FROM grouped GROUP BY run, call_id) s
        JOIN place p ON p.run = s.run AND p.call_id = s.call_id
        LEFT JOIN ({medians_by["place"]}) m ON m.place = p.place
    """  # noqa: S608


def _by_kernel(medians_by: Mapping[str, str], median: KernelFigure) -> str:
    """Return the query of `Times.kernels`."""
    return f"""
        SELECT k.module, k.name, k.source, k.kind, m.ns AS {median.name}
        FROM kernel k JOIN ({medians_by["kernel"]}) m ON m.kernel = k.kernel
    """  # noqa: S608


def _shown_names(database: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return the rows of `_NAMES` with two columns more: the shown name and kind (`makers.py`)."""
    names = database.execute(_NAMES).fetchall()
    titles_by_symbol = shown_names([UNKNOWN, *(name for name, _, _ in names if name)])
    shown = []
    for name, kind, called in names:
        symbol, memory_kind = (UNKNOWN, None) if called else (name or UNKNOWN, kind)
        shown.append((titles_by_symbol[symbol], kind_of(symbol, memory_kind)))
    columns = list(zip(*names, strict=True)) or [(), (), ()]
    titles, kinds = zip(*shown, strict=True) if shown else ((), ())
    return pa.table(
        {
            "name": pa.array(columns[0], pa.string()),
            "kind": pa.array(columns[1], pa.string()),
            "called": pa.array(columns[2], pa.bool_()),
            "shown": pa.array(titles, pa.string()),
            "shown_kind": pa.array(kinds, pa.string()),
        }
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


def steady_executions(trace: "Trace", run: "Run") -> Iterator[pa.Table]:
    """Yield tables with call_id and duration `ns` of steady executions, sorted by `record`."""
    query = """
        SELECT call_id, ns FROM execution_times WHERE steady AND call_id IS NOT NULL ORDER BY record
    """
    return _rows(trace, run, "execution_times", query)


def compiling_launches(trace: "Trace", run: "Run") -> pa.Table:
    """Return rows of the view `compiling`: launches that compiled, loaded or tuned a kernel."""
    with open_times(trace, [run], "compiling") as database:
        return database.sql(
            """SELECT run::VARCHAR AS run, seq, call_id, phase, "enter", "exit" FROM compiling
            ORDER BY seq"""
        ).to_arrow_table()


def _rows(trace: "Trace", run: "Run", view: str, query: str) -> Iterator[pa.Table]:
    with open_times(trace, [run], view) as database:
        for batch in database.sql(query).to_arrow_reader(1 << 17):
            yield pa.Table.from_batches([batch])
