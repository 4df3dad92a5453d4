"""Counts, total times and median times of calls and kernels, on host and devices.

`sums_of` adds up launches, or executions, or reads what they add up to. Medians are those of bins
where sums are stored (`bins.py`). `times_of_engine` computes the same
figures with another SQL engine.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.figures.bins import added_up, medians_of
from kvtrace.figures.columns import Integers, integers
from kvtrace.figures.database import scratch
from kvtrace.figures.identity import SOURCE
from kvtrace.figures.kept import kept, kept_rows, once_per_trace
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
from kvtrace.figures.makers import OWN_KIND, kind_of
from kvtrace.figures.names import shown_names
from kvtrace.figures.scans import quoted
from kvtrace.figures.sums_reading import (
    VIEWS_ADDED_UP,
    AllSums,
    Sums,
    facts_to_keep,
    stored_bins,
    sums_of,
)
from kvtrace.figures.sums_stored import settled
from kvtrace.figures.tables import add_rows, open_times
from kvtrace.figures.views import LAUNCHES_AT_REST
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.window import split_by_run, whole_trace

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
        groups: columns `grouped` and the median; None unless groups were passed.

    """

    calls: pa.Table
    kernels: pa.Table
    groups: pa.Table | None = None


_FLAGS: Final = "s.tuning, s.replayed, s.timed, s.timed AND NOT s.tuning AS steady"
#: By table: sums by call, as in the views `launch_groups` and `execution_groups`, and those of no
#: call whose kernel is known, by name.
_GROUPED: Final[dict[Sums, str]] = {
    "launch_sums": f"""
        CREATE TEMP TABLE grouped AS
        SELECT {", ".join((LAUNCHES_AT_REST, *LAUNCH_COLUMNS))} FROM stored;

        CREATE TEMP TABLE others (name VARCHAR, kind VARCHAR, called BOOLEAN)
    """,  # noqa: S608
    "execution_sums": f"""
        CREATE TEMP TABLE grouped AS
        SELECT p.run, p.call_id, {_FLAGS}, s.weight, s.taken_ns AS taken
        FROM stored s JOIN place p ON p.run = s.run AND p.call_id = s.call_id;

        CREATE TEMP TABLE others AS
        SELECT s.run, s.name, s.kind, s.call_id IS NOT NULL AS called, {_FLAGS}, s.weight,
            s.taken_ns AS taken, s.bytes
        FROM stored s ANTI JOIN place p ON p.run = s.run AND p.call_id = s.call_id
    """,  # noqa: S608
}
_NAMES: Final = "SELECT DISTINCT name, kind, called FROM others"
_BY_NAME: Final = f"""
    SELECT run::VARCHAR AS run, CAST(NULL AS BIGINT) AS call_id, shown AS name, shown_kind AS kind,
        {sums(EXECUTED)}, CAST(sum(CASE WHEN steady THEN bytes END) AS BIGINT) AS bytes,
        CAST(NULL AS DOUBLE) AS {DEVICE_MEDIAN.name}
    FROM (
        SELECT o.* EXCLUDE (name, kind), s.shown, s.shown_kind FROM others o
        JOIN shown s ON s.called = o.called AND s.name IS NOT DISTINCT FROM o.name
            AND s.kind IS NOT DISTINCT FROM o.kind
    ) named GROUP BY run, shown, shown_kind
"""  # noqa: S608
_NO_BYTES: Final = "CAST(NULL AS BIGINT) AS bytes"
_BY_KERNEL: Final = """
    SELECT k.module, k.name, k.source, k.kind, m.ns AS {median}
    FROM kernel k JOIN kernel_medians m ON m.kernel = k.kernel
    UNION ALL
    SELECT '' AS module, s.shown AS name, '' AS source, s.shown_kind AS kind, m.ns
    FROM (SELECT DISTINCT kernel, shown, shown_kind FROM shown) s
    JOIN kernel_medians m ON m.kernel = s.kernel
"""


def host_times(trace: "Trace", runs: Sequence["Run"], *, groups: pa.Table | None = None) -> Times:
    """Return the figures of launches.

    `groups` has columns run, kernel_id and `grouped`, the kernel's group; if it is passed,
    `Times.groups` has the groups' medians. Others of sealed runs are kept for an opened trace.
    Errors as `Trace.table`.
    """
    if groups is not None:
        return _read_times(trace, runs, "launch_sums", groups)
    return _times(trace, runs, "launch_sums")


def device_times(trace: "Trace", runs: Sequence["Run"], *, groups: pa.Table | None = None) -> Times:
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
def _times(trace: "Trace", runs: Sequence["Run"], table: Sums) -> Times:
    def read_tables() -> dict[str, pa.Table]:
        times = settled(trace, runs, lambda: _read_times(trace, runs, table))
        return {name: getattr(times, name) for name in _TABLES}

    facts = facts_to_keep(trace, runs, table)
    if facts is None:
        return Times(**read_tables())
    return Times(**kept(trace, "times", facts, _TABLES, read_tables))


def _read_times(
    trace: "Trace", runs: Sequence["Run"], table: Sums, groups: pa.Table | None = None
) -> Times:
    summed = sums_of(trace, runs, table)
    with open_times(trace, runs, None if summed.stored else VIEWS_ADDED_UP[table]) as database:
        add_rows(database, "stored", summed.rows, "TEMP TABLE")
        database.execute(_GROUPED[table])
        database.register("shown", _shown_names(database))
        if groups is not None:
            add_rows(database, "groups", groups, "TEMP TABLE")
        add_medians(database, trace, summed, table, has_groups=groups is not None)
        is_host = table == "launch_sums"
        median = HOST_MEDIAN if is_host else DEVICE_MEDIAN
        calls = database.sql(_by_call(LAUNCHED if is_host else EXECUTED, median)).to_arrow_table()
        if not is_host:
            calls = pa.concat_tables([calls, database.sql(_BY_NAME).to_arrow_table()])
        of_groups = f"SELECT grouped, ns AS {median.name} FROM group_medians"  # noqa: S608
        return Times(
            calls,
            database.sql(_BY_KERNEL.format(median=median.name)).to_arrow_table(),
            None if groups is None else database.sql(of_groups).to_arrow_table(),
        )


def _by_call(figures: Sequence[KernelFigure], median: KernelFigure) -> str:
    """Return the query of `Times.calls` from `grouped`; of executions, with `bytes`."""
    names = ", ".join(f"s.{figure.name}" for figure in figures)
    bytes_column = "" if median is HOST_MEDIAN else f", {_NO_BYTES}"
    return f"""
        SELECT p.run::VARCHAR AS run, p.call_id, CAST(NULL AS VARCHAR) AS name,
            CAST(NULL AS VARCHAR) AS kind, {names}{bytes_column}, m.ns AS {median.name}
        FROM (SELECT run, call_id, {sums(figures)} FROM grouped GROUP BY run, call_id) s
        JOIN place p ON p.run = s.run AND p.call_id = s.call_id
        LEFT JOIN place_medians m ON m.place = p.place
    """  # noqa: S608


def _shown_names(database: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return the rows of `_NAMES`, the shown name and kind (`makers.py`), and a number as `kernel`.

    Equal names and kinds that are shown have one number, which no kernel has.
    """
    ((kernels,),) = database.execute("SELECT count(*) FROM kernel").fetchall()
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


def launches_by_phase(trace: "Trace", runs: Sequence["Run"]) -> pa.Table:
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
    WHERE e."start" IS NOT NULL AND e."end" IS NOT NULL ORDER BY e.run, l.seq, e.record
"""


def trial_times(trace: "Trace", runs: Sequence["Run"]) -> pa.Table:
    """Return run, call_id and duration `ns` of executions of autotuners' trials, as launched.

    They are of whole runs; those of many are kept (`kept.py`). Errors as `Trace.table`.
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


# -- medians of the steady times of calls, kernels and groups: of rows, or of times in bins --------
# Both are rows with a value (the time, or its bin) and a count. They are added up run by run, since
# those of all runs would take much memory.


_Counted = tuple[Integers, Integers, Integers]

#: Steady times by call, and those of no call by name, of rows; and of the run `{run}` in bins.
_ROWS: Final[dict[Sums, str]] = {
    "launch_sums": """
        SELECT run, call_id, NULL::VARCHAR AS name, NULL::VARCHAR AS kind, ns AS value,
            weight AS count
        FROM launch_times WHERE steady
    """,
    "execution_sums": """
        SELECT run, call_id, CASE WHEN call_id IS NULL THEN name END AS name,
            CASE WHEN call_id IS NULL THEN kind END AS kind, ns AS value, weight AS count
        FROM execution_times WHERE steady
    """,
}
_BINS: Final[dict[Sums, str]] = {
    "launch_sums": """
        SELECT {run}::run_name AS run, call_id, NULL::VARCHAR AS name, NULL::VARCHAR AS kind,
            unnest(bins) AS value, unnest(counts) AS count
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
_PLACED: Final = """
    SELECT coalesce(p.place, 0) AS place, coalesce(p.kernel, s.kernel) AS kernel, t.value, t.count
    FROM ({rows}) t LEFT JOIN place p ON p.run = t.run AND p.call_id = t.call_id
    LEFT JOIN shown s ON s.called = (t.call_id IS NOT NULL) AND s.name IS NOT DISTINCT FROM t.name
        AND s.kind IS NOT DISTINCT FROM t.kind
    WHERE p.place IS NOT NULL OR s.kernel IS NOT NULL
"""
_GROUPS: Final = """
    SELECT p.place, g.grouped FROM place p
    JOIN groups g ON g.run = p.run AND g.kernel_id = p.kernel_id
"""
#: Rows of kernels and groups from which on they are added up, before those of further runs.
_MOST_PENDING_ROWS: Final = 1 << 21


def add_medians(
    database: duckdb.DuckDBPyConnection,
    trace: "Trace",
    sums: AllSums,
    table: Sums,
    *,
    has_groups: bool,
) -> None:
    """Create tables of medians `ns`: by `place`, by `kernel`, and by `grouped` of `groups`.

    The database has the tables of `open_times`, `shown`, and `groups` if there are some.
    """
    group_of_place, groups = _groups(database) if has_groups else (None, pa.array([], pa.string()))
    binned = bool(sums.stored)
    medians_of_calls, of_kernels, of_groups = [_NO_MEDIANS], _Counts(), _Counts()
    for rows in _pieces(database, trace, sums, table):
        place, kernel, value, count = (
            integers(rows[name]) for name in ("place", "kernel", "value", "count")
        )
        of_kernels.add(kernel, value, count)
        is_placed = place > 0
        if not is_placed.all():
            place, value, count = place[is_placed], value[is_placed], count[is_placed]
        medians_of_calls.append(medians_of(place, value, count, binned=binned))
        if group_of_place is not None:
            of_groups.add(group_of_place[place], value, count)
    places, medians = map(np.concatenate, zip(*medians_of_calls, strict=True))
    database.register("place_medians", pa.table({"place": places, "ns": medians}))
    kernels, medians = medians_of(*of_kernels.total, binned=binned)
    database.register("kernel_medians", pa.table({"kernel": kernels, "ns": medians}))
    codes, medians = medians_of(*of_groups.total, binned=binned)
    grouped = groups.take(pa.array(codes[codes > 0] - 1))
    database.register("group_medians", pa.table({"grouped": grouped, "ns": medians[codes > 0]}))


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
    database: duckdb.DuckDBPyConnection, trace: "Trace", sums: AllSums, table: Sums
) -> Iterator[pa.Table]:
    """Yield the steady times of runs, with the columns of `_PLACED`."""
    if not sums.stored:
        yield database.sql(_PLACED.format(rows=_ROWS[table])).to_arrow_table()
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
        yield database.sql(_PLACED.format(rows=rows)).to_arrow_table()


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
