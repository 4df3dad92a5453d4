"""Sums of new launches and executions of a run that is still being recorded.

Rows count as in the views `launch_times` and `execution_times`, which see all rows at once.
Executions of trials are not distinguished from others.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import integers
from kvtrace.figures.kernels import EXECUTED, LAUNCH_COLUMNS, LAUNCHED, KernelFigure, sums
from kvtrace.schema.launch_flags import LaunchFlags
from kvtrace.schema.weights import weights

if TYPE_CHECKING:
    import duckdb

Row = dict[str, Any]


def launch_sums(
    database: "duckdb.DuckDBPyConnection",
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
    return _summed(database, rows, LAUNCHED, "call_id")


def execution_sums(database: "duckdb.DuckDBPyConnection", piece: pa.Table) -> list[Row]:
    """Return one row per call, name and kind with the `EXECUTED` figures of timed executions.

    Columns of `piece`: call_id, name, kind, start, end and weight; start and end are never null.
    """
    weight = weights(piece)
    false = np.zeros(piece.num_rows, np.bool_)
    rows = {
        **{name: piece[name] for name in ("call_id", "name", "kind")},
        "tuning": false,
        "replayed": false,
        "timed": ~false,
        "steady": ~false,
        "weight": weight,
        "taken": np.maximum(integers(piece["end"]) - integers(piece["start"]), 0) * weight,
    }
    return _summed(database, rows, EXECUTED, "call_id, name, kind")


def _summed(
    database: "duckdb.DuckDBPyConnection",
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
