"""What the profile is made from, summed in the database: rows per kernel, call and source line.

Of launches and executions it is given how often each time was taken, by call.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa

from kvtrace.converters.counted_times import CountedTimes
from kvtrace.converters.database import database as new_database

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

Row = dict[str, Any]

_WANTED: Final = {
    "kernels": ("kernel_id", "name", "module", "file", "line", "target", "compile_ns"),
    "calls": ("call_id", "kernel_id", "grid_x", "grid_y", "grid_z", "args"),
    "ops": (
        "call_id", "op_index", "kind", "dtype", "stack_id", "elements", "masked_off", "bytes",
        "unique_bytes", "sectors", "flops", "buffer", "fresh_bytes",
    ),
    "stacks": ("stack_id", "frames"),
}  # fmt: skip

#: `place` numbers (run, call_id) and `kernel` numbers (module, name). An access whose active lanes
#: are not known has null bytes.
_PREPARE_PLACES: Final = """
    CREATE TABLE kernel AS
    SELECT dense_rank() OVER (ORDER BY coalesce(module, ''), coalesce(name, '')) AS kernel,
        run, kernel_id, name, module, file, line, target, compile_ns
    FROM kernels;

    CREATE TABLE place AS
    SELECT row_number() OVER (ORDER BY c.run, c.call_id) AS place, k.kernel, c.run, c.call_id,
        [c.grid_x, c.grid_y, c.grid_z] AS grid,
        list_transform(list_filter(c.args, lambda a: a.kind = 'tensor'),
            lambda a: a.name || ' ' || coalesce(a.dtype, '?') || coalesce(a.shape::VARCHAR, ''))
            AS tensors, c.args
    FROM calls c JOIN kernel k ON c.run = k.run AND c.kernel_id = k.kernel_id;
"""

#: `times` says for how many launches, or executions, a row stands.
_PREPARE_TIMES: Final = """
    CREATE TABLE host AS
    SELECT p.place, p.kernel, l.ns, l.tuning, l.captured, l.compiling, l.times
    FROM launched_times l JOIN place p ON l.run = p.run AND l.call_id = p.call_id;

    CREATE TABLE device AS
    SELECT p.place, p.kernel, e.ns, e.replayed, e.times
    FROM executed_times e JOIN place p ON e.run = p.run AND e.call_id = p.call_id
    WHERE NOT e.tuning;

    -- What was captured into a graph ran when the graph was replayed, so it counts as often as
    -- that; without a device timeline nobody knows, and it counts once.
    CREATE TABLE launched AS
    WITH told AS (
        SELECT place, kernel, coalesce(sum(times) FILTER (NOT tuning), 0)::BIGINT AS launches,
            coalesce(sum(times) FILTER (tuning), 0)::BIGINT AS tuning,
            coalesce(sum(times) FILTER (captured), 0)::BIGINT AS captured
        FROM host GROUP BY ALL
    ), ran AS (
        SELECT place, coalesce(sum(times) FILTER (ns IS NOT NULL), 0)::BIGINT AS executions,
            sum(ns::HUGEINT * times) AS ns,
            coalesce(sum(times) FILTER (replayed), 0)::BIGINT AS replays
        FROM device GROUP BY ALL
    ), counted AS (
        SELECT place, told.kernel, launches, tuning, executions, ns, CASE
            WHEN p.run IN (SELECT run FROM executed_times)
            THEN launches - captured + coalesce(replays, 0) ELSE launches END AS runs
        FROM told JOIN place p USING (place) LEFT JOIN ran USING (place)
    )
    SELECT *, ns * runs / executions AS all_ns FROM counted;
"""

_PREPARE_WORK: Final = """
    CREATE TABLE done AS
    SELECT p.place, p.kernel, coalesce(l.runs, 0) AS runs, p.args, o.*,
        o.kind IN ('load', 'store', 'atomic') AS is_access
    FROM ops o JOIN place p ON o.run = p.run AND o.call_id = p.call_id
    LEFT JOIN launched l USING (place);

    CREATE TABLE work AS
    SELECT place, kernel, runs, sum(bytes) AS bytes, coalesce(sum(flops), 0) AS flops,
        sum(elements) FILTER (masked_off IS NOT NULL) AS lanes, sum(masked_off) AS masked,
        sum(sectors) AS sectors, sum(bytes) FILTER (sectors IS NOT NULL) AS sector_bytes,
        sum(unique_bytes) AS unique_once,
        sum(bytes) FILTER (unique_bytes IS NOT NULL) AS unique_asked,
        count(*) FILTER (is_access AND bytes IS NULL) AS unknown,
        count(*) FILTER (is_access AND unique_bytes IS NULL) AS uncounted,
        count(*) FILTER (is_access) AS accesses
    FROM done o GROUP BY place, kernel, runs;

    -- What no op before has touched adds up to what a launch reads and writes. Where the pass has
    -- not said it, as older ones, of several ops that read (or write) one buffer the one with most
    -- distinct bytes counts: all may touch the same ones. Buffers that share a storage are one.
    CREATE TABLE traffic AS
    SELECT place, CASE WHEN bool_and(most IS NOT NULL) THEN sum(most)::BIGINT END AS unique_bytes
    FROM (
        SELECT place, CASE count(fresh_bytes) WHEN count(*) THEN sum(fresh_bytes)
            WHEN 0 THEN max(unique_bytes) END AS most
        FROM (
            SELECT place, kind = 'load' AS read, unique_bytes, fresh_bytes,
                coalesce(list_filter(args, lambda a: a.name = buffer)[1].alias_group::VARCHAR,
                    buffer) AS storage
            FROM done o WHERE unique_bytes IS NOT NULL)
        GROUP BY place, read, storage)
    GROUP BY place;
"""

_KERNELS: Final = """
    SELECT kernel, any_value(name) AS name, any_value(module) AS module, any_value(file) AS file,
        min(line) AS line, count(*) AS compilations, sum(compile_ns) AS compile_ns
    FROM kernel GROUP BY kernel ORDER BY kernel
"""

_SUMS: Final = """
    WITH timed AS (
        SELECT {key} AS key, coalesce(sum(times) FILTER (NOT tuning), 0)::BIGINT AS launches,
            coalesce(sum(times) FILTER (tuning), 0)::BIGINT AS tuning,
            sum(ns::HUGEINT * times) FILTER (NOT tuning AND NOT compiling) AS host,
            coalesce(sum(times) FILTER (compiling), 0)::BIGINT AS compiling,
            sum(ns::HUGEINT * times) FILTER (compiling) AS compiling_host
        FROM host GROUP BY ALL
    ), ran AS (
        SELECT {key} AS key, sum(times)::BIGINT AS executions, sum(ns::HUGEINT * times) AS device
        FROM device GROUP BY ALL
    ), ranked AS (
        SELECT {key} AS key, false AS on_device, ns, sum(times) AS times
        FROM host WHERE NOT tuning AND NOT compiling AND ns IS NOT NULL GROUP BY ALL
        UNION ALL
        SELECT {key} AS key, true AS on_device, ns, sum(times) AS times
        FROM device WHERE ns IS NOT NULL GROUP BY ALL
    ), counted AS (
        SELECT key, on_device, ns, sum(times) OVER (PARTITION BY key, on_device) AS total,
            sum(times) OVER (PARTITION BY key, on_device ORDER BY ns) AS reached
        FROM ranked
    ), middle AS (  -- the mean of the two in the middle, which may be one and the same
        SELECT key, on_device, min(ns) FILTER (2 * reached >= total)::DOUBLE AS low,
            min(ns) FILTER (2 * reached > total)::DOUBLE AS high
        FROM counted GROUP BY ALL
    ), medians AS (
        SELECT key, any_value(low + (high - low) / 2) FILTER (NOT on_device) AS host_median,
            any_value(low + (high - low) / 2) FILTER (on_device) AS device_median
        FROM middle GROUP BY ALL
    ), summed AS (
        SELECT {key} AS key, sum(bytes * runs) AS bytes, sum(flops * runs) AS flops,
            sum(lanes * runs) AS lanes, sum(masked * runs) AS masked,
            sum(sectors * runs) AS sectors, sum(sector_bytes * runs) AS sector_bytes,
            sum(unique_once * runs) AS unique_once,
            sum(unique_asked * runs) AS unique_asked,
            sum(unknown) FILTER (runs > 0) AS unknown, sum(runs) AS replayed_runs
        FROM work GROUP BY ALL
    ), whole AS (
        SELECT {key} AS key, sum(runs) AS runs,
            CASE WHEN bool_and(all_ns IS NOT NULL) FILTER (runs > 0) THEN sum(all_ns) END AS all_ns
        FROM launched GROUP BY ALL
    )
    SELECT * FROM timed FULL JOIN ran USING (key) LEFT JOIN medians USING (key)
    LEFT JOIN summed USING (key) LEFT JOIN whole USING (key)
"""

_PLACES: Final = "SELECT place, kernel, run, call_id, grid, tensors FROM place ORDER BY place"

_WORK: Final = """
    SELECT w.place, w.kernel, w.runs, w.bytes, w.unknown, w.uncounted, w.accesses,
        t.unique_bytes
    FROM work w LEFT JOIN traffic t USING (place) WHERE w.runs > 0 ORDER BY w.place
"""

_FLOPS: Final = """
    SELECT place, kernel, runs, kind = 'dot' AS dot, coalesce(dtype, '?') AS dtype,
        sum(flops) AS flops
    FROM done WHERE flops > 0 AND runs > 0 GROUP BY ALL ORDER BY place, dot, dtype
"""

_ONE_LAUNCH: Final = """
    SELECT p.run, p.call_id, w.bytes, w.flops, w.lanes, w.masked, w.sectors, w.sector_bytes,
        w.unknown, w.accesses, t.unique_bytes
    FROM work w JOIN place p USING (place) LEFT JOIN traffic t USING (place) ORDER BY place
"""

_ONE_LAUNCH_FLOPS: Final = """
    SELECT p.run, p.call_id, kind = 'dot' AS dot, coalesce(dtype, '?') AS dtype,
        sum(flops) AS flops
    FROM done JOIN place p USING (place) WHERE flops > 0 GROUP BY ALL ORDER BY ALL
"""

_COVERAGE: Final = """
    SELECT (SELECT count(*) > 0 FROM ops),
        (SELECT count(*) FROM launched WHERE launches > 0 AND place NOT IN (SELECT place FROM work))
"""

_TARGETS: Final = """
    SELECT target FROM kernel WHERE target IS NOT NULL GROUP BY target ORDER BY count(*) DESC
"""

_LINES: Final = """
    WITH located AS (
        SELECT DISTINCT stack_id, frames[1].file AS file, frames[1].line AS line FROM stacks
    )
    SELECT s.file, s.line, list_sort(list(DISTINCT k.name)) AS kernels,
        string_agg(DISTINCT o.kind, ', ' ORDER BY o.kind)
            FILTER (o.kind NOT IN ('other', 'elementwise')) AS accesses,
        sum(o.bytes * o.runs) AS bytes, sum(o.flops * o.runs) AS flops,
        sum(o.elements * o.runs) FILTER (o.masked_off IS NOT NULL) AS lanes,
        sum(o.masked_off * o.runs) AS masked,
        sum(o.sectors * o.runs) AS sectors,
        sum(o.bytes * o.runs) FILTER (o.sectors IS NOT NULL) AS sector_bytes,
        sum(o.unique_bytes * o.runs) AS unique_once,
        sum(o.bytes * o.runs) FILTER (o.unique_bytes IS NOT NULL) AS unique_asked,
        count(*) FILTER (o.is_access AND o.bytes IS NULL) AS unknown
    FROM done o JOIN located s USING (stack_id)
    JOIN (SELECT DISTINCT kernel, name FROM kernel) k USING (kernel)
    WHERE o.runs > 0 AND s.file IS NOT NULL AND s.line IS NOT NULL
    GROUP BY s.file, s.line
    ORDER BY bytes DESC NULLS LAST, flops DESC NULLS LAST, s.file, s.line
"""


#: A line may hold several accesses; they are told apart by what they do.
_ACCESSES: Final = """
    WITH located AS (
        SELECT DISTINCT stack_id, frames[1].file AS file, frames[1].line AS line FROM stacks
    )
    SELECT o.kernel, s.file, s.line, o.kind, o.dtype, o.op_index, sum(o.bytes * o.runs) AS bytes,
        sum(o.bytes * o.runs) FILTER (o.sectors IS NOT NULL) AS sector_bytes,
        sum(o.sectors * o.runs) AS sectors,
        sum(o.elements * o.runs) FILTER (o.masked_off IS NOT NULL) AS lanes,
        sum(o.masked_off * o.runs) AS masked,
        sum(o.bytes * o.runs) FILTER (o.unique_bytes IS NOT NULL) AS unique_asked,
        sum(o.unique_bytes * o.runs) AS unique_once
    FROM done o LEFT JOIN located s USING (stack_id)
    WHERE o.runs > 0 AND o.is_access
    GROUP BY ALL ORDER BY o.kernel, o.op_index
"""


def work_of_calls(trace: "Trace", runs: Sequence["Run"]) -> tuple[list[Row], list[Row]]:
    """Return what one launch of each replayed call does, and its FLOPs by type, dots apart.

    Rows have `run` and `call_id`. Launches are not looked at, however many there are.
    """
    with new_database() as database:
        for name in ("kernels", "calls", "ops"):
            database.register(name, trace.table(name, runs, list(_WANTED[name])))
        database.execute(_PREPARE_PLACES)
        database.execute("CREATE TABLE launched AS SELECT place, 1 AS runs FROM place")
        database.execute(_PREPARE_WORK)
        return _rows(database, _ONE_LAUNCH), _rows(database, _ONE_LAUNCH_FLOPS)


class ProfileTables:
    """The tables of some runs in a database of their own; close it, or use it in a `with`."""

    def __init__(self, trace: "Trace", runs: Sequence["Run"], times: CountedTimes) -> None:
        """Read the tables, and take the times of these runs' launches and executions."""
        self._database = new_database()
        for name, columns in _WANTED.items():
            table: pa.Table = trace.table(name, runs, list(columns))
            self._database.register(name, table)
        self._database.register("launched_times", times.host)
        self._database.register("executed_times", times.device)
        for tables in (_PREPARE_PLACES, _PREPARE_TIMES, _PREPARE_WORK):
            self._database.execute(tables)

    def __enter__(self) -> "ProfileTables":
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def kernels(self) -> list[Row]:
        """Kernels by module and name, numbered."""
        return self._rows(_KERNELS)

    def sums(self, key: str) -> dict[int, Row]:
        """Times and work over all launches, by `kernel` or by `place`."""
        return {row["key"]: row for row in self._rows(_SUMS.format(key=key))}

    def places(self) -> list[Row]:
        """Distinct calls, numbered."""
        return self._rows(_PLACES)

    def work(self) -> list[Row]:
        """What one launch of each launched call moves."""
        return self._rows(_WORK)

    def flops(self) -> list[Row]:
        """FLOPs of one launch of each launched call, by element type, dots apart."""
        return self._rows(_FLOPS)

    def lines(self) -> list[Row]:
        """Source lines, those with most bytes first."""
        return self._rows(_LINES)

    def accesses(self) -> list[Row]:
        """What each access of a kernel did over all launches."""
        return self._rows(_ACCESSES)

    def coverage(self) -> tuple[bool, int]:
        """Whether there are ops at all, and how many launched calls lack them."""
        replayed, missing = self._database.execute(_COVERAGE).fetchall()[0]
        return bool(replayed), int(missing)

    def targets(self) -> list[str]:
        """Compile targets, the one with most variants first."""
        return [row["target"] for row in self._rows(_TARGETS)]

    def _rows(self, query: str) -> list[Row]:
        return _rows(self._database, query)


def _rows(database: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    cursor = database.execute(query)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
