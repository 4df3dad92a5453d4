"""Sums over the launches of each variant, computed in DuckDB.

`prepare` and `add_figures` create tables, which the other functions query.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from kvtrace.converters.diff.model import Totals
from kvtrace.converters.diff.times import RunCalls
from kvtrace.converters.diff.variant import Call, Variant
from kvtrace.figures.identity import NOT_OWN, KernelKey
from kvtrace.figures.kernels import (
    DEVICE_MEDIAN,
    EXECUTED,
    HOST_MEDIAN,
    LAUNCHED,
    further_sums,
)
from kvtrace.figures.times import Times
from kvtrace.schema.trace import Run


def prepare(database: duckdb.DuckDBPyConnection, members: pa.Table, calls: pa.Table) -> None:
    """Number the unique calls: the table `place`, with a variant and two hashes each.

    `members` has the variant (column `grouped`) of each run and kernel_id.
    """
    database.register("members", members)
    database.register("all_calls", calls)
    database.execute(_PLACES)
    database.unregister("all_calls")  # their arguments take much memory


def add_figures(
    database: duckdb.DuckDBPyConnection, host: Times, device: Times, ops: pa.Table
) -> None:
    """Create the table `per_call` with the times and the work of each unique call."""
    for name, times in (("host", host), ("device", device)):
        database.register(f"{name}_figures", times.calls)
        database.register(f"{name}_kernels", times.kernels)
        database.register(f"{name}_variants", times.groups)
    database.register("ops", ops)
    database.execute(_PER_CALL)


#: SQL columns: figures of calls, and their sums over a variant; without launches, counts are 0.
_CALL_FIGURES: Final = ", ".join(
    f"coalesce({alias}.{f.name}, 0) AS {f.name}" if f.unit == "count" else f"{alias}.{f.name}"
    for alias, figures in (("h", LAUNCHED), ("d", EXECUTED))
    for f in figures
)
_ADDED_UP: Final = ", ".join(
    f"coalesce(sum({f.name}), 0)::BIGINT AS {f.name}"
    if f.unit == "count"
    else f"sum({f.name})::BIGINT AS {f.name}"
    for f in (*LAUNCHED, *EXECUTED)
)
_FIELDS: Final = frozenset(field.name for field in fields(Totals))

#: `place` numbers (run, call_id). `alike` is a 64-bit hash of a call's properties without addresses
#: and recorded values, which another process repeats; `work` is a hash of shapes and scalars only.
_PLACES: Final = """
    CREATE TEMP TABLE place AS
    SELECT row_number() OVER (ORDER BY c.run, c.call_id) - 1 AS place, c.run, c.call_id,
        m.grouped AS variant,
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
"""

_PER_CALL: Final = f"""
    CREATE TEMP TABLE per_call AS
    SELECT p.place, p.variant, p.run, p.call_id, p.alike, p.work, {_CALL_FIGURES},
        o.bytes, o.flops, o.sectors, o.lanes, o.lanes_on
    FROM place p LEFT JOIN host_figures h ON h.run = p.run AND h.call_id = p.call_id
    LEFT JOIN device_figures d ON d.run = p.run AND d.call_id = p.call_id
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
"""  # noqa: S608

_TOTALS: Final = f"""
    WITH work AS (
        SELECT variant, {_ADDED_UP},
            CASE WHEN count(*) FILTER (launches > 0 AND bytes IS NULL) = 0
                THEN sum(bytes * launches) END::BIGINT AS bytes,
            CASE WHEN count(*) FILTER (launches > 0 AND flops IS NULL) = 0
                THEN sum(flops * launches) END::BIGINT AS flops,
            CASE WHEN count(*) FILTER (launches > 0 AND sectors IS NULL) = 0
                THEN sum(sectors * launches) END::BIGINT AS sectors,
            sum(lanes * launches)::BIGINT AS lanes, sum(lanes_on * launches)::BIGINT AS lanes_on
        FROM per_call GROUP BY variant
    )
    SELECT w.*, h.{HOST_MEDIAN.name}, d.{DEVICE_MEDIAN.name}
    FROM work w LEFT JOIN host_variants h ON h.grouped = w.variant
    LEFT JOIN device_variants d ON d.grouped = w.variant
"""  # noqa: S608
_MEDIANS: Final = f"""
    SELECT module, name, source, h.{HOST_MEDIAN.name}, d.{DEVICE_MEDIAN.name}
    FROM host_kernels h FULL JOIN (FROM device_kernels WHERE kind NOT IN {NOT_OWN}) d
        USING (module, name, source)
"""  # noqa: S608

_CALLS: Final = """
    SELECT variant, alike, arg_min(run, place), arg_min(call_id, place), sum(launches)
    FROM per_call GROUP BY variant, alike ORDER BY min(place)
"""

_WORKS: Final = """
    SELECT variant, work, sum(launches)::BIGINT,
        CASE WHEN count(*) FILTER (bytes IS NULL) = 0 THEN sum(bytes * launches)::BIGINT END,
        CASE WHEN count(*) FILTER (flops IS NULL) = 0 THEN sum(flops * launches)::BIGINT END
    FROM per_call WHERE launches > 0 GROUP BY variant, work
"""


def fill_totals(database: duckdb.DuckDBPyConnection, variants: Sequence[Variant]) -> None:
    """Set `totals` of each variant to the sums over its launches; `compile_ns` stays."""
    for row in database.sql(_TOTALS).to_arrow_table().to_pylist():
        variant = variants[row.pop("variant")]
        figures = {name: value for name, value in row.items() if name in _FIELDS}
        further = further_sums([row]) or None
        variant.totals = Totals(compile_ns=variant.totals.compile_ns, further=further, **figures)


def kernel_medians(
    database: duckdb.DuckDBPyConnection,
) -> dict[KernelKey, tuple[float | None, float | None]]:
    """Return each kernel's median host time and median device time, in ns."""
    rows = database.execute(_MEDIANS).fetchall()
    return {KernelKey(*key): (host, device) for *key, host, device in rows}


def fill_calls(database: duckdb.DuckDBPyConnection, variants: Sequence[Variant]) -> None:
    """Set `calls` of each variant, by `alike`; calls with the same hash are merged."""
    for variant_index, alike, run, call_id, launches in database.execute(_CALLS).fetchall():
        variants[variant_index].calls[alike] = Call(run, call_id, int(launches))


def fill_works(database: duckdb.DuckDBPyConnection, variants: Sequence[Variant]) -> None:
    """Set `works` of each variant: launches, bytes and FLOPs by hash of shapes and scalars."""
    for variant_index, work, launches, size, flops in database.execute(_WORKS).fetchall():
        variants[variant_index].works[work] = Totals(launches, bytes=size, flops=flops)


def run_calls(database: duckdb.DuckDBPyConnection, run: Run) -> RunCalls:
    """Return the unique calls of a run, sorted by id."""
    query = "SELECT call_id, variant, work, place FROM place WHERE run = ? ORDER BY call_id"
    arrays = database.execute(query, [run.run_id]).fetchnumpy()
    columns = (np.asarray(arrays[name]) for name in ("call_id", "variant", "work", "place"))
    return RunCalls(*(column.astype(np.int64) for column in columns))
