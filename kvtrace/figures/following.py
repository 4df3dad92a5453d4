"""Sums of launches and executions of a run that is still recorded, updated with new rows.

Rows count as in the views `launch_times` and `execution_times`, which see all rows at once.
Executions of trials are not distinguished from others.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, combined_codes, dictionary_values, integers
from kvtrace.figures.kernels import EXECUTED, LAUNCH_COLUMNS, LAUNCHED, KernelFigure, sums
from kvtrace.figures.trials import HoldingTrials, is_tuning
from kvtrace.schema.kept import weights

if TYPE_CHECKING:
    import duckdb

Row = dict[str, Any]

_NEVER: Final = np.iinfo(np.int64).min
_COMPILED: Final = ("compile_begin", "load_begin")


def launch_sums(
    database: "duckdb.DuckDBPyConnection",
    piece: pa.Table,
    kernel: Callable[[int], Mapping[str, Any]],
    holding: HoldingTrials,
) -> list[Row]:
    """Return the figures of `LAUNCHED` by call, for a piece of launches in recorded order.

    Args:
        database: any connection; no table stays in the database.
        piece: columns call_id, enter, exit, thread, phase, weight and `LAUNCH_COLUMNS`.
        kernel: returns the known columns of a call's kernel.
        holding: state after the pieces before.

    """
    timed = pc.and_(pc.is_valid(piece["enter"]), pc.is_valid(piece["exit"])).to_numpy()
    enter, leave = (integers(piece[name], 0) for name in ("enter", "exit"))
    tuning = is_tuning(piece)
    compiling = timed & (_compiling(piece, kernel, enter, leave) | holding.among(piece))
    weight = weights(piece)
    captured = pc.equal(piece["phase"].cast(pa.string()), "graph_capture")
    rows = {
        "call_id": piece["call_id"],
        "tuning": tuning,
        "captured": pc.fill_null(captured, False),
        "compiling": compiling,
        "steady": timed & ~tuning & ~compiling,
        "weight": weight,
        "taken": np.where(timed, np.maximum(leave - enter, 0) * weight, 0),
        **{name: pc.multiply(piece[name], pa.array(weight)) for name in LAUNCH_COLUMNS},
    }
    return _summed(database, rows, LAUNCHED, "call_id")


def execution_sums(database: "duckdb.DuckDBPyConnection", piece: pa.Table) -> list[Row]:
    """Return the figures of `EXECUTED` by call, name and kind, for rows that all have times.

    Columns of `piece`: call_id, name, kind, start, end and weight. No table stays in `database`.
    """
    weight = weights(piece)
    no = np.zeros(piece.num_rows, np.bool_)
    rows = {
        **{name: piece[name] for name in ("call_id", "name", "kind")},
        "tuning": no,
        "replayed": no,
        "timed": ~no,
        "steady": ~no,
        "weight": weight,
        "taken": np.maximum(integers(piece["end"]) - integers(piece["start"]), 0) * weight,
    }
    return _summed(database, rows, EXECUTED, "call_id, name, kind")


def _compiling(
    piece: pa.Table,
    kernel: Callable[[int], Mapping[str, Any]],
    enter: Integers,
    leave: Integers,
) -> npt.NDArray[np.bool_]:
    """Return a mask of launches in which the kernel was compiled or loaded."""
    codes, first = combined_codes([piece["call_id"]])
    kernels = [kernel(call) for call in dictionary_values(piece["call_id"], first)]
    compiling = np.zeros(enter.size, np.bool_)
    for name in _COMPILED:
        times = [row.get(name) for row in kernels]
        begin = np.array([_NEVER if time is None else time for time in times], np.int64)[codes]
        compiling |= (begin != _NEVER) & (enter <= begin) & (begin < leave)
    return compiling


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
