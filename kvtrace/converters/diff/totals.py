"""Sums over the launches of each variant, worked out inside DuckDB rather than in Python loops."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import duckdb
import numpy as np
import pyarrow as pa

from kvtrace.converters.diff.model import Totals
from kvtrace.converters.diff.times import Places
from kvtrace.converters.diff.variant import Call, Variant

if TYPE_CHECKING:
    from kvtrace.converters.diff.samples import Times
    from kvtrace.schema.trace import Run


def prepare(
    database: duckdb.DuckDBPyConnection, members: Sequence[tuple[str, int, int]], calls: pa.Table
) -> None:
    """Number the distinct calls; `members` say which kernel is which variant."""
    columns: tuple[Sequence[Any], ...] = tuple(zip(*members, strict=True)) or ((), (), ())
    member_table = pa.table(
        {
            "run": pa.array(columns[0], pa.string()),
            "kernel_id": pa.array(columns[1], pa.int64()),
            "variant": pa.array(columns[2], pa.int64()),
        }
    )
    database.register("members", member_table)
    database.register("all_calls", calls)
    database.execute(_PLACES)


def add_sums(
    database: duckdb.DuckDBPyConnection, host: "Times", device: "Times", ops: pa.Table
) -> None:
    """Make the tables of what was launched, and what that did, that the functions below ask."""
    database.register("host", host.sums())
    database.register("device", device.sums())
    database.register("ops", ops)
    database.execute(_PER_CALL)


#: `place` numbers (run, call_id). `alike` is a 64-bit hash of all of a call that is the same in
#: another process: no addresses, no recorded values; `work` of what there is to do, however it is
#: divided and typed.
_PLACES: Final = """
    CREATE TABLE place AS
    SELECT row_number() OVER (ORDER BY c.run, c.call_id) - 1 AS place, c.run, c.call_id, m.variant,
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

#: Launches of autotuners and warm-ups are counted apart: they are repeated as often as time allows;
#: those in which the kernel was compiled or loaded (see compiling.py) have no time of a launch.
_PER_CALL: Final = """
    CREATE TABLE per_call AS
    SELECT p.place, p.variant, p.run, p.call_id, p.alike, h.launches, h.tuning, o.bytes, o.flops,
        o.sectors, o.lanes, o.lanes_on
    FROM place p JOIN host h USING (place)
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
    ), launched AS (
        SELECT variant, sum(total) AS total, sum(compiling) AS compiling, sum(slow) AS slow
        FROM host JOIN place USING (place) GROUP BY variant
    ), executed AS (
        SELECT variant, sum(total) AS total FROM device JOIN place USING (place) GROUP BY variant
    )
    SELECT w.variant, w.launches, w.tuning, h.total, d.total, w.bytes, w.flops,
        coalesce(h.compiling, 0), h.slow, w.sectors, w.lanes, w.lanes_on
    FROM work w LEFT JOIN launched h USING (variant) LEFT JOIN executed d USING (variant)
"""

_CALLS: Final = """
    SELECT variant, alike, arg_min(run, place), arg_min(call_id, place), sum(launches), sum(tuning)
    FROM per_call GROUP BY variant, alike ORDER BY min(place)
"""


def fill_totals(
    database: duckdb.DuckDBPyConnection,
    variants: Sequence[Variant],
    host_times: "Times",
    device_times: "Times",
) -> None:
    """Fill in the sums over each variant's launches."""
    for row in database.execute(_TOTALS).fetchall():
        (
            position, launches, tuning, host, device, moved, flops, compiling, slow, sectors, lanes,
            lanes_on,
        ) = row  # fmt: skip
        variant = variants[position]
        variant.totals = Totals(
            launches=int(launches),
            tuning_launches=int(tuning),
            host_ns=_whole(host),
            host_median_ns=host_times.median([position]),
            compiling_launches=int(compiling),
            compiling_ns=_whole(slow),
            device_ns=_whole(device),
            device_median_ns=device_times.median([position]),
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


def places_of(database: duckdb.DuckDBPyConnection, run: "Run") -> Places:
    """Return the distinct calls of a run."""
    query = "SELECT call_id, variant, work, place FROM place WHERE run = ? ORDER BY call_id"
    found = database.execute(query, [run.run_id]).fetchnumpy()
    columns = (np.asarray(found[name]) for name in ("call_id", "variant", "work", "place"))
    return Places(*(column.astype(np.int64) for column in columns))


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
