"""Sums behind a profile, computed in DuckDB: rows per kernel, call and source line.

Their inputs are tables of the trace, and times of launches and executions summed by call
(`figures/times.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from kvtrace.converters.profile.device_limits import Work
from kvtrace.converters.profile.stated_work import STATED_WORK, StatedFigures, stated_figures
from kvtrace.figures.device_time import KERNEL_FACTS, KERNEL_NUMBER
from kvtrace.figures.identity import NOT_OWN
from kvtrace.figures.kernels import EXECUTED, LAUNCHED, added_up
from kvtrace.figures.tables import known_rows, row_dicts, scratch
from kvtrace.schema.trace import Run, Trace

Row = dict[str, Any]

_COLUMNS_READ: Final = {
    "kernels": ("kernel_id", "name", "module", "source", "file", "line", "target", "compile_ns",
                "cache_hit"),
    "calls": ("call_id", "kernel_id", "grid_x", "grid_y", "grid_z", "args", "stated"),
    "ops": (
        "call_id", "op_index", "kind", "dtype", "stack_id", "elements", "masked_off", "bytes",
        "unique_bytes", "sectors", "flops", "buffer", "fresh_bytes",
    ),
    "stacks": ("stack_id", "frames"),
}  # fmt: skip

#: `place` numbers (run, call_id) and `kernel` numbers kernels (`identity.py`). An access whose
#: active lanes are not known has null bytes.
_PREPARE_PLACES: Final = f"""
    CREATE TEMP TABLE kernel AS SELECT {KERNEL_NUMBER} AS kernel, * FROM kernels;

    CREATE TEMP TABLE place AS
    SELECT row_number() OVER (ORDER BY c.run, c.call_id) AS place, k.kernel, c.run, c.call_id,
        c.kernel_id, [c.grid_x, c.grid_y, c.grid_z] AS grid, c.stated,
        {{args}}
    FROM calls c JOIN kernel k ON c.run = k.run AND c.kernel_id = k.kernel_id;
"""  # noqa: S608

#: Columns of a call's arguments, which are large and not always needed.
_ARGUMENTS: Final = """
    list_transform(list_filter(c.args, lambda a: a.kind = 'tensor'),
        lambda a: a.name || ' ' || coalesce(a.dtype, '?') || coalesce(a.shape::VARCHAR, ''))
        AS tensors, c.args
"""
_NO_ARGUMENTS: Final = """
    NULL::VARCHAR[] AS tensors, NULL::STRUCT("name" VARCHAR, alias_group BIGINT)[] AS args
"""

_PREPARE_TIMES: Final = f"""
    CREATE TEMP TABLE timed AS
    SELECT p.place, p.kernel, f.* FROM figures f JOIN place p USING (run, call_id);

    CREATE TEMP TABLE launched AS
    SELECT place, kernel, coalesce(launches, 0) AS launches, runs,
        CASE WHEN device_executions > 0
            THEN device_ns::HUGEINT * runs / device_executions END AS all_ns
    FROM timed WHERE launches IS NOT NULL OR runs > 0;

    CREATE TEMP TABLE median_place AS
    SELECT place AS key, host_median_ns, device_median_ns FROM timed;

    CREATE TEMP TABLE median_kernel AS
    SELECT k.kernel AS key, h.host_median_ns, d.device_median_ns
    FROM (SELECT DISTINCT kernel, coalesce(module, '') AS module, coalesce(name, '') AS name,
        coalesce(source, '') AS source FROM kernel) k
    LEFT JOIN launched_medians h USING (module, name, source)
    LEFT JOIN (FROM executed_medians WHERE kind NOT IN {NOT_OWN}) d USING (module, name, source);
"""  # noqa: S608

_PREPARE_WORK: Final = """
    CREATE TEMP TABLE done AS
    SELECT p.place, p.kernel, p.kernel_id, coalesce(l.runs, 0) AS runs, p.args, o.*,
        o.kind IN ('load', 'store', 'atomic') AS is_access
    FROM ops o JOIN place p ON o.run = p.run AND o.call_id = p.call_id
    LEFT JOIN launched l USING (place);

    CREATE TEMP TABLE work AS
    SELECT place, kernel, runs, sum(bytes) AS bytes, coalesce(sum(flops), 0) AS flops,
        sum(elements) FILTER (masked_off IS NOT NULL) AS lanes, sum(masked_off) AS masked,
        sum(sectors) AS sectors, sum(bytes) FILTER (sectors IS NOT NULL) AS sector_bytes,
        sum(unique_bytes) AS unique_once,
        sum(bytes) FILTER (unique_bytes IS NOT NULL) AS unique_asked,
        count(*) FILTER (is_access AND bytes IS NULL) AS unknown,
        count(*) FILTER (is_access) AS accesses
    FROM done o GROUP BY place, kernel, runs;

    -- A launch's traffic is the sum of fresh bytes: those that no earlier op has touched. Older
    -- passes did not record these; then the op with most distinct bytes counts of those that read
    -- (or write) a buffer, since all may touch the same bytes. Buffers with one storage are one.
    CREATE TEMP TABLE traffic AS
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

_KERNELS: Final = f"""
    SELECT {KERNEL_FACTS}, count(*) AS compilations, CASE WHEN bool_and(
        compile_ns IS NOT NULL OR coalesce(cache_hit, true)) THEN sum(compile_ns) END AS compile_ns
    FROM kernel GROUP BY kernel ORDER BY kernel
"""  # noqa: S608

_SUMS: Final = f"""
    WITH times AS (
        SELECT {{key}} AS key, {added_up(LAUNCHED)}, {added_up(EXECUTED, "device_executions > 0")}
        FROM timed WHERE launches IS NOT NULL OR device_executions > 0 GROUP BY ALL
    ), summed AS (
        SELECT {{key}} AS key, sum(bytes * runs) AS bytes, sum(flops * runs) AS flops,
            sum(lanes * runs) AS lanes, sum(masked * runs) AS masked,
            sum(sectors * runs) AS sectors, sum(sector_bytes * runs) AS sector_bytes,
            sum(unique_once * runs) AS unique_once,
            sum(unique_asked * runs) AS unique_asked,
            sum(unknown) FILTER (runs > 0) AS unknown, sum(runs) AS replayed_runs
        FROM work GROUP BY ALL
    ), whole AS (
        SELECT {{key}} AS key, sum(runs) AS runs,
            CASE WHEN bool_and(all_ns IS NOT NULL) FILTER (runs > 0) THEN sum(all_ns) END AS all_ns
        FROM launched GROUP BY ALL
    )
    SELECT * FROM times LEFT JOIN median_{{key}} USING (key)
    LEFT JOIN summed USING (key) LEFT JOIN whole USING (key)
"""  # noqa: S608

_PLACES: Final = """
    SELECT place, kernel, run, call_id, grid, tensors FROM place
    WHERE kernel IN ({kernels}) ORDER BY place
"""

_WORK: Final = """
    SELECT p.run, p.call_id, w.*, t.unique_bytes
    FROM work w JOIN place p USING (place) LEFT JOIN traffic t USING (place)
    WHERE w.runs > 0 ORDER BY place
"""

_FLOPS: Final = """
    SELECT place, kernel, runs, kind = 'dot' AS dot, coalesce(dtype, '?') AS dtype,
        sum(flops) AS flops
    FROM done WHERE flops > 0 AND runs > 0 GROUP BY ALL ORDER BY place, dot, dtype
"""

_COVERAGE: Final = """
    SELECT (SELECT count(*) > 0 FROM ops),
        (SELECT count(*) FROM launched WHERE launches > 0 AND place NOT IN (SELECT place FROM work))
"""

_TARGETS: Final = """
    SELECT target FROM kernel WHERE target IS NOT NULL GROUP BY target ORDER BY count(*) DESC
"""

_LOCATED: Final = """
    WITH located AS (
        SELECT DISTINCT stack_id, frames[1].file AS file, frames[1].line AS line FROM stacks
    )
"""

#: Sums over all launches of the ops of a line, or of one op.
_OP_SUMS: Final = """
    sum(o.bytes * o.runs) AS bytes,
    sum(o.elements * o.runs) FILTER (o.masked_off IS NOT NULL) AS lanes,
    sum(o.masked_off * o.runs) AS masked,
    sum(o.sectors * o.runs) AS sectors,
    sum(o.bytes * o.runs) FILTER (o.sectors IS NOT NULL) AS sector_bytes,
    sum(o.unique_bytes * o.runs) AS unique_once,
    sum(o.bytes * o.runs) FILTER (o.unique_bytes IS NOT NULL) AS unique_asked
"""

_LINES: Final = f"""{_LOCATED}
    SELECT s.file, s.line, list_sort(list(DISTINCT k.name)) AS kernels,
        list(DISTINCT {{'run': o.run::VARCHAR, 'kernel_id': o.kernel_id}}) AS variants,
        string_agg(DISTINCT o.kind, ', ' ORDER BY o.kind)
            FILTER (o.kind NOT IN ('other', 'elementwise')) AS accesses,
        {_OP_SUMS}, sum(o.flops * o.runs) AS flops,
        count(*) FILTER (o.is_access AND o.bytes IS NULL) AS unknown
    FROM done o JOIN located s USING (stack_id)
    JOIN (SELECT DISTINCT kernel, name FROM kernel) k USING (kernel)
    WHERE o.runs > 0 AND s.file IS NOT NULL AND s.line IS NOT NULL
    GROUP BY s.file, s.line
    ORDER BY bytes DESC NULLS LAST, flops DESC NULLS LAST, s.file, s.line
"""  # noqa: S608

#: A line may hold several accesses; each op is a row.
_ACCESSES: Final = f"""{_LOCATED}
    SELECT o.kernel, s.file, s.line, o.kind, o.dtype, o.op_index, {_OP_SUMS}
    FROM done o LEFT JOIN located s USING (stack_id)
    WHERE o.runs > 0 AND o.is_access
    GROUP BY ALL ORDER BY o.kernel, o.op_index
"""  # noqa: S608


def work_of_calls(trace: Trace, runs: Sequence[Run]) -> list[tuple[Row, Work]]:
    """Return a row and the work of one launch of each replayed call; [] without rows of `ops`.

    The row has `run`, `call_id`, bytes, FLOPs, lanes and sectors.
    """
    ops = trace.table("ops", runs, _COLUMNS_READ["ops"])
    if not ops.num_rows:
        return []  # without reading the calls' arguments, which are large
    with scratch() as database:
        database.register("ops", ops)
        for name in ("kernels", "calls"):
            database.register(name, known_rows(trace, runs, name, _COLUMNS_READ[name]))
        database.execute(_PREPARE_PLACES.format(args=_ARGUMENTS))
        database.execute("CREATE TEMP TABLE launched AS SELECT place, 1 AS runs FROM place")
        database.execute(_PREPARE_WORK)
        flops = rows_by(row_dicts(database, _FLOPS), "place")
        return [
            (row, launch_work(row, flops.get(row["place"], ())))
            for row in row_dicts(database, _WORK)
        ]


def rows_by(rows: Iterable[Row], key: str) -> dict[int, list[Row]]:
    """Return rows by the number in a column."""
    rows_by_key: dict[int, list[Row]] = {}
    for row in rows:
        rows_by_key.setdefault(row[key], []).append(row)
    return rows_by_key


def launch_work(row: Row, flops: Iterable[Row]) -> Work:
    """Return the work of one launch of a call, from its row of `work` and its rows of `flops`."""
    dots: dict[str, int] = {}
    others: dict[str, int] = {}
    for of_type in flops:
        (dots if of_type["dot"] else others)[of_type["dtype"]] = int(of_type["flops"])
    return Work(
        unique_bytes=row["unique_bytes"] if row["accesses"] else 0,
        bytes=None if row["unknown"] else row["bytes"] or 0,
        dots=dots,
        others=others,
    )


class ProfileTables:
    """DuckDB tables of some runs, and the queries of a profile; a context manager that closes them.

    Rows have the column `kernel`, the number of a kernel, or `place`, the number of a unique call.
    """

    def __init__(
        self,
        trace: Trace,
        runs: Sequence[Run],
        by_call: pa.Table,
        medians: tuple[pa.Table, pa.Table],
        *,
        calls: bool,
    ) -> None:
        """Read the runs' tables, and register the times of their launches and executions.

        Args:
            trace: The trace, narrowed to a part of the runs.
            runs: The runs.
            by_call: `PartFigures.by_call`.
            medians: By kernel, of launches and of executions.
            calls: Read tensors of calls, also where the table `ops` has no rows.

        """
        self._database = scratch()
        columns = _COLUMNS_READ
        ops = trace.table("ops", runs, columns["ops"])
        calls = calls or ops.num_rows > 0
        columns_of_calls = [name for name in columns["calls"] if calls or name != "args"]
        # Stacks are those of ops, and large.
        stacks = trace.table("stacks", runs if ops.num_rows else (), columns["stacks"])
        self._database.register("ops", ops)
        self._database.register("stacks", stacks)
        self._database.register("kernels", known_rows(trace, runs, "kernels", columns["kernels"]))
        self._database.register("calls", known_rows(trace, runs, "calls", columns_of_calls))
        self._database.register("launched_medians", medians[0])
        self._database.register("executed_medians", medians[1])
        self._database.register("figures", by_call)
        places = _PREPARE_PLACES.format(args=_ARGUMENTS if calls else _NO_ARGUMENTS)
        for tables in (places, _PREPARE_TIMES, _PREPARE_WORK):
            self._database.execute(tables)

    def __enter__(self) -> "ProfileTables":
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def kernels(self) -> list[Row]:
        """Return a row per kernel: name, definition, number of variants and compile time."""
        return self._rows(_KERNELS)

    def sums(self) -> dict[int, Row]:
        """Return the sums of times and work over all launches, by kernel number."""
        return {row["key"]: row for row in self._rows(_SUMS.format(key="kernel"))}

    def sums_of_calls(self, kernels: Iterable[int]) -> dict[int, Row]:
        """Return the sums of times and work over all launches of each call of some kernels.

        They are by call number (`place`); `kernels` are kernel numbers.
        """
        query = _SUMS.format(key="place")
        query += f"WHERE key IN (SELECT place FROM place WHERE kernel IN ({_sql_list(kernels)}))"  # noqa: S608
        return {row["key"]: row for row in self._rows(query)}

    def places(self, kernels: Iterable[int]) -> list[Row]:
        """Return a row per unique call of the kernels with these numbers: grid and tensors."""
        return self._rows(_PLACES.format(kernels=_sql_list(kernels)))

    def work(self) -> list[Row]:
        """Return a row per launched call with the bytes and accesses of one launch."""
        return self._rows(_WORK)

    def flops(self) -> list[Row]:
        """Return a row per launched call and element type: FLOPs of one launch; dots apart."""
        return self._rows(_FLOPS)

    def stated(self) -> dict[int, StatedFigures | None]:
        """Return what authors state of a launch, beside the IR's figures, by kernel number."""
        return {row["kernel"]: stated_figures(row) for row in self._rows(STATED_WORK)}

    def lines(self) -> list[Row]:
        """Return a row per source line with the sums of its ops, the line with most bytes first."""
        return self._rows(_LINES)

    def accesses(self) -> list[Row]:
        """Return a row per load, store or atomic op of a kernel: sums over all launches."""
        return self._rows(_ACCESSES)

    def coverage(self) -> tuple[bool, int]:
        """Return whether `ops` has rows, and the number of launched calls without rows."""
        replayed, missing = self._database.execute(_COVERAGE).fetchall()[0]
        return bool(replayed), int(missing)

    def targets(self) -> list[str]:
        """Return the kernels' compile targets, such as cuda:90; most variants first."""
        return [row["target"] for row in self._rows(_TARGETS)]

    def _rows(self, query: str) -> list[Row]:
        return row_dicts(self._database, query)


def _sql_list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "NULL"


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Return a ratio, or None if a number is unknown or the denominator 0."""
    return None if numerator is None or not denominator else numerator / denominator


def mask_efficiency(row: Mapping[str, Any]) -> float | None:
    """Return the share of lanes that masks leave on, or None if unknown."""
    masked = ratio(row.get("masked"), row.get("lanes"))
    return None if masked is None else 1 - masked


def sector_efficiency(row: Mapping[str, Any]) -> float | None:
    """Return the share of the bytes in touched sectors that are requested, or None if unknown."""
    return ratio(row.get("sector_bytes"), 32 * (row.get("sectors") or 0))
