"""Sums over the launches of each variant, worked out inside DuckDB rather than in Python loops."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import duckdb
import numpy as np
import pyarrow as pa

from kvtrace.converters.compiling import CompilingLaunches
from kvtrace.converters.diff.model import Totals
from kvtrace.converters.diff.times import Places
from kvtrace.converters.diff.variant import Call, KernelKey, Variant
from kvtrace.converters.trials import TUNING

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


def prepare(
    database: duckdb.DuckDBPyConnection,
    variants: Sequence[Variant],
    members: Sequence[tuple[str, int, int]],
    calls: pa.Table,
    launches: Sequence[pa.Table],
    executions: Sequence[pa.Table],
    ops: pa.Table,
) -> None:
    """Make the tables that the other functions ask; `members` say which kernel is which variant."""
    columns: tuple[Sequence[Any], ...] = tuple(zip(*members, strict=True)) or ((), (), ())
    member_table = pa.table(
        {
            "run": pa.array(columns[0], pa.string()),
            "kernel_id": pa.array(columns[1], pa.int64()),
            "variant": pa.array(columns[2], pa.int64()),
        }
    )
    kernel_names = pa.table(
        {
            "variant": pa.array(range(len(variants)), pa.int64()),
            "module": pa.array([v.key[0] for v in variants], pa.string()),
            "name": pa.array([v.key[1] for v in variants], pa.string()),
        }
    )
    for name, table in (
        ("members", member_table),
        ("kernel_names", kernel_names),
        ("all_calls", calls),
        ("launches", pa.concat_tables(launches).unify_dictionaries()),
        ("gpu_kernels", pa.concat_tables(executions).unify_dictionaries()),
        ("ops", ops),
    ):
        database.register(name, table)
    database.execute(_PREPARE.replace("TUNING", str(TUNING)))


def launches_of(trace: "Trace", run: "Run") -> pa.Table:
    """Return the launches of a run, and which of them compiled or loaded their kernel."""
    columns = ["seq", "call_id", "enter", "exit", "thread", "phase", "weight"]
    rows = trace.table("launches", (run,), columns)
    compiling = CompilingLaunches(trace, run).among(rows)
    return rows.append_column("compiling", pa.array(compiling))


#: Launches of the phases TUNING are counted apart: an autotuner repeats them as often
#: as time allows; those in which the kernel was compiled or loaded (see compiling.py) have no time
#: of a launch. `place` numbers (run, call_id), so that a million launches join on one small
#: integer. `alike` is a 64-bit hash of all of a call that is the same in another process: no
#: addresses, no recorded values; `work` of what there is to do, however it is divided and typed.
_PREPARE: Final = """
    CREATE TABLE place AS
    SELECT row_number() OVER (ORDER BY c.run, c.call_id) AS place, c.run, c.call_id, m.variant,
        hash(c.grid_x, c.grid_y, c.grid_z, list_transform(
            list_filter(c.args, lambda a: a.kind IS DISTINCT FROM 'constexpr'),
            lambda a: {
                'name': a.name, 'kind': a.kind, 'dtype': a.dtype,
                'device': regexp_replace(a.device, ':[0-9]+$', ''), 'shape': a.shape,
                'strides': a.strides, 'offset': a.offset_bytes, 'storage': a.storage_bytes,
                'alias': a.alias_group,
                'scalar': regexp_replace(a.scalar, '0x[0-9a-fA-F]{6,}', '0x…', 'g')
            })) AS alike,
        hash(list_transform(
            list_filter(c.args, lambda a: a.kind IS DISTINCT FROM 'constexpr'),
            lambda a: {'shape': a.shape, 'scalar': a.scalar})) AS work
    FROM all_calls c JOIN members m ON c.run = m.run AND c.kernel_id = m.kernel_id;

    CREATE TABLE timed AS
    SELECT p.place, epoch_ns(l."exit") - epoch_ns(l."enter") AS host_ns,
        coalesce(l.phase, 'run') IN TUNING AS tuning, l.compiling, coalesce(l.weight, 1) AS weight
    FROM launches l JOIN place p ON l.run = p.run AND l.call_id = p.call_id;

    CREATE TABLE executed AS
    SELECT p.place, epoch_ns(g."end") - epoch_ns(g."start") AS device_ns,
        coalesce(g.weight, 1) AS weight
    FROM gpu_kernels g
    LEFT JOIN launches l ON g.run = l.run AND g.launch_seq = l.seq
    JOIN place p ON g.run = p.run AND coalesce(g.call_id, l.call_id) = p.call_id
    WHERE coalesce(l.phase, 'run') NOT IN TUNING;

    CREATE TABLE per_call AS
    SELECT p.place, p.variant, p.run, p.call_id, p.alike,
        coalesce(t.launches, 0) AS launches, coalesce(t.tuning, 0) AS tuning, o.bytes, o.flops,
        o.sectors, o.lanes, o.lanes_on
    FROM place p
    LEFT JOIN (
        SELECT place, coalesce(sum(weight) FILTER (NOT tuning), 0) AS launches,
            coalesce(sum(weight) FILTER (tuning), 0) AS tuning
        FROM timed GROUP BY place
    ) t USING (place)
    LEFT JOIN (
        SELECT run, call_id, coalesce(sum(flops), 0) AS flops,
            CASE WHEN count(*) FILTER (kind IN ('load', 'store', 'atomic') AND bytes IS NULL) = 0
                THEN coalesce(sum(bytes), 0) END AS bytes,
            CASE WHEN count(*) FILTER (kind IN ('load', 'store', 'atomic') AND sectors IS NULL) = 0
                THEN coalesce(sum(sectors), 0) END AS sectors,
            sum(elements) FILTER (kind IN ('load', 'store', 'atomic')) AS lanes,
            sum(elements - masked_off) FILTER (kind IN ('load', 'store', 'atomic')) AS lanes_on
        FROM ops GROUP BY run, call_id
    ) o ON p.run = o.run AND p.call_id = o.call_id;
"""

_TOTALS: Final = """
    WITH work AS (
        SELECT variant, sum(launches) AS launches, sum(tuning) AS tuning,
            CASE WHEN count(*) FILTER (launches > 0 AND bytes IS NULL) = 0
                THEN sum(bytes * launches) END AS bytes,
            CASE WHEN count(*) FILTER (launches > 0 AND flops IS NULL) = 0
                THEN sum(flops * launches) END AS flops,
            CASE WHEN count(*) FILTER (launches > 0 AND sectors IS NULL) = 0
                THEN sum(sectors * launches) END AS sectors,
            sum(lanes * launches) AS lanes, sum(lanes_on * launches) AS lanes_on
        FROM per_call GROUP BY variant
    ), host AS (
        SELECT variant, median(host_ns) FILTER (NOT compiling) AS middle,
            sum(host_ns * weight) FILTER (NOT compiling) AS total,
            sum(weight) FILTER (compiling) AS compiling, sum(host_ns) FILTER (compiling) AS slow
        FROM timed JOIN place USING (place) WHERE NOT tuning GROUP BY variant
    ), device AS (
        SELECT variant, sum(device_ns * weight) AS total, median(device_ns) AS middle
        FROM executed JOIN place USING (place) GROUP BY variant
    )
    SELECT w.variant, w.launches, w.tuning, h.total, h.middle, d.total, d.middle, w.bytes, w.flops,
        coalesce(h.compiling, 0), h.slow, w.sectors, w.lanes, w.lanes_on
    FROM work w LEFT JOIN host h USING (variant) LEFT JOIN device d USING (variant)
"""

_MEDIANS: Final = """
    WITH kernel AS (
        SELECT place, module, name FROM place JOIN kernel_names USING (variant)
    ), host AS (
        SELECT module, name, median(host_ns) AS middle
        FROM timed JOIN kernel USING (place) WHERE NOT tuning AND NOT compiling
        GROUP BY module, name
    ), device AS (
        SELECT module, name, median(device_ns) AS middle
        FROM executed JOIN kernel USING (place) GROUP BY module, name
    )
    SELECT module, name, host.middle, device.middle
    FROM host FULL JOIN device USING (module, name)
"""

_CALLS: Final = """
    SELECT variant, alike, arg_min(run, place), arg_min(call_id, place), sum(launches), sum(tuning)
    FROM per_call GROUP BY variant, alike ORDER BY min(place)
"""


def fill_totals(database: duckdb.DuckDBPyConnection, variants: Sequence[Variant]) -> None:
    """Fill in the sums over each variant's launches."""
    for row in database.execute(_TOTALS).fetchall():
        (
            position, launches, tuning, host, host_median, device, device_median, moved, flops,
            compiling, slow, sectors, lanes, lanes_on,
        ) = row  # fmt: skip
        variant = variants[position]
        variant.totals = Totals(
            launches=int(launches),
            tuning_launches=int(tuning),
            host_ns=_whole(host),
            host_median_ns=host_median,
            compiling_launches=int(compiling),
            compiling_ns=_whole(slow),
            device_ns=_whole(device),
            device_median_ns=device_median,
            compile_ns=variant.totals.compile_ns,
            bytes=_whole(moved),
            flops=_whole(flops),
            sectors=_whole(sectors),
            lanes=_whole(lanes),
            lanes_on=_whole(lanes_on),
        )


def fill_calls(database: duckdb.DuckDBPyConnection, variants: Sequence[Variant]) -> None:
    """Fill in each variant's distinct calls, those that are alike once."""
    for position, alike, run, call_id, launches, tuning in database.execute(_CALLS).fetchall():
        variants[position].calls[alike] = Call(run, call_id, int(launches), int(tuning))


def kernel_medians(
    database: duckdb.DuckDBPyConnection,
) -> dict[KernelKey, tuple[float | None, float | None]]:
    """Return the medians of all launches of each kernel: on the host, and on the device."""
    found = database.execute(_MEDIANS).fetchall()
    return {(module, name): (host, device) for module, name, host, device in found}


def places_of(database: duckdb.DuckDBPyConnection, run: "Run") -> Places:
    """Return the distinct calls of a run."""
    query = "SELECT call_id, variant, work FROM place WHERE run = ? ORDER BY call_id"
    found = database.execute(query, [run.run_id]).fetchnumpy()
    columns = (np.asarray(found[name]) for name in ("call_id", "variant", "work"))
    return Places(*(column.astype(np.int64) for column in columns))


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
