"""Tiles: what launches and executions of each kernel add up to in equal stretches of time.

An overview of a run draws them instead of its rows. The length of a run's tiles is a power of two
of ns, so that a run has hundreds of tiles, and long ones up to `_MOST_TILES`. A tile tells
`_KERNELS_OF_TILE` kernels of a thread (or stream) apart, those with most time, and has the others
as one, so that the size of tiles depends on no number of launches or kernels. Tiles of long sealed
runs are stored by the pass of `sums_building.py`.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import pyarrow as pa

from kvtrace.figures.scans import row_count
from kvtrace.figures.stored import sums_stored
from kvtrace.figures.tables import open_times
from kvtrace.schema.columns import conformed
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Trace

Tiles = Literal["launch_tiles", "execution_tiles"]

#: Most tiles of a run, how many of them short runs may have, and rows of a run for each more.
_MOST_TILES: Final = 2_048
_FEWEST_TILES: Final = 256
_ROWS_OF_TILE: Final = 8_192
#: Kernels of a tile, thread and phase (or stream) that are told apart.
_KERNELS_OF_TILE: Final = 8
#: By table: the table or view of rows, one that it needs, and its columns of begin and end.
_ROWS: Final[dict[Tiles, tuple[str, str, str, str]]] = {
    "launch_tiles": ("launches", "launch_times", "enter", "exit"),
    "execution_tiles": ("placed", "execution_times", "start", "end"),
}
#: The tables that tiles are of.
LEAVES: Final[dict[Tiles, str]] = {"launch_tiles": "launches", "execution_tiles": "gpu_kernels"}
#: By table: columns that tell tracks apart, and those that also tell kernels apart.
_TRACK: Final[dict[Tiles, tuple[str, ...]]] = {
    "launch_tiles": ("thread", "phase"),
    "execution_tiles": ("device", "stream"),
}
_NAMES: Final[dict[Tiles, tuple[str, ...]]] = {
    "launch_tiles": (),
    "execution_tiles": ("name", "kind"),
}
_EXTENTS: Final = """
    CREATE TEMP TABLE extents AS
    SELECT run, min(epoch_ns("{begin}")) AS first_begin, max(epoch_ns("{end}")) AS last_end
    FROM {rows} WHERE "{begin}" IS NOT NULL AND "{end}" IS NOT NULL GROUP BY run
"""
#: Sums by kernel in tiles of {ns}; a row that reaches into further tiles counts in the first alone.
_OF_KERNELS: Final = """
    CREATE TEMP TABLE tiles_of_kernels AS
    WITH leaves AS NOT MATERIALIZED (
        SELECT r.run, c.kernel_id, {keys}, greatest(coalesce(weight, 1), 1) AS weight,
            CASE WHEN "{end}" IS NOT NULL THEN epoch_ns("{begin}") END AS low,
            CASE WHEN "{begin}" IS NOT NULL THEN greatest(epoch_ns("{end}"), epoch_ns("{begin}"))
                END AS high
        FROM {rows} r LEFT JOIN calls c ON c.run = r.run AND c.call_id = r.call_id
    ), further AS (
        SELECT run, kernel_id, {keys}, low, high, unnest(range(low // {ns} + 1,
            (high - 1) // {ns} + 1)) AS tile
        FROM leaves WHERE (high - 1) // {ns} > low // {ns}
    )
    SELECT run, kernel_id, {keys}, low // {ns} AS tile, count(*) AS rows, sum(weight) AS weight,
        coalesce(sum(least(high, (low // {ns} + 1) * {ns}) - low), 0) AS busy_ns
    FROM leaves GROUP BY ALL
    UNION ALL
    SELECT run, kernel_id, {keys}, tile, 0, 0, sum(least(high, (tile + 1) * {ns}) - tile * {ns})
    FROM further GROUP BY ALL
"""
_TILES: Final = """
    WITH summed AS (
        SELECT run, tile, kernel_id, {keys}, sum(rows) AS rows, sum(weight) AS weight,
            sum(busy_ns) AS busy_ns
        FROM tiles_of_kernels GROUP BY run, tile, kernel_id, {keys}
    ), told_apart AS (
        SELECT *, row_number() OVER (PARTITION BY run, tile, {track}
            ORDER BY busy_ns DESC, rows DESC, kernel_id, {keys}) > {kept} AS others
        FROM summed
    ), tiles AS (
        SELECT run, tile, others, {track}, CASE WHEN NOT others THEN kernel_id END AS kernel_id
            {names}, sum(rows)::BIGINT AS rows, sum(weight)::BIGINT AS weight,
            sum(busy_ns)::BIGINT AS busy_ns
        FROM told_apart GROUP BY ALL
    )
    SELECT t.* EXCLUDE (run, tile), t.tile * {ns} AS begin, {ns} AS tile_ns, e.first_begin,
        e.last_end, t.run::VARCHAR AS run
    FROM tiles t LEFT JOIN extents e ON e.run = t.run
    ORDER BY t.run, t.tile, kernel_id, others, {track}
"""


def read_tiles(
    trace: Trace, runs: Sequence[Run], table: Tiles, columns: Sequence[str]
) -> Iterator[pa.Table]:
    """Yield columns, and `run`, of the tiles of runs: stored ones run by run, then all others.

    Errors as `Trace.table`.
    """
    stored = [run for run in runs if sums_stored(trace, run)]
    for run in stored:
        yield trace.table(table, [run], columns)
    others = [run for run in runs if run not in stored]
    if others:
        yield tiles_of(trace, others, table).select([*columns, "run"])


def tiles_of(trace: Trace, runs: Sequence[Run], table: Tiles) -> pa.Table:
    """Return the tiles of runs, of equal length, from their launches or executions, with `run`.

    Errors as `Trace.table`.
    """
    rows, view, begin, end = _ROWS[table]
    track, names = _TRACK[table], _NAMES[table]
    texts = {
        "rows": rows,
        "begin": begin,
        "end": end,
        "track": ", ".join(track),
        "names": "".join(f", CASE WHEN NOT others THEN {name} END AS {name}" for name in names),
        "keys": ", ".join((*track, *names)),
        "kept": _KERNELS_OF_TILE,
    }
    leaves = sum(row_count(trace, run, LEAVES[table]) for run in runs) // len(runs)
    most_tiles = min(_MOST_TILES, max(leaves // _ROWS_OF_TILE, _FEWEST_TILES))
    with open_times(trace, runs, view) as database:
        database.execute(_EXTENTS.format(**texts))
        (longest,) = database.execute(
            "SELECT coalesce(max(last_end - first_begin), 0) FROM extents"
        ).fetchall()
        texts["ns"] = 1 << max(0, (longest[0] // most_tiles).bit_length())
        database.execute(_OF_KERNELS.format(**texts))
        tiles = database.sql(_TILES.format(**texts)).to_arrow_table()
    rows = conformed(TABLES[table], tiles.drop_columns(["run"]))
    return rows.append_column("run", tiles["run"].cast(pa.string()))
