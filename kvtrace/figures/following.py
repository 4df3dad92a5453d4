"""Sums of new launches and executions of a run that is still being recorded.

Rows are classified as in the views `launch_times` and `execution_times`, which see all rows at
once. Executions of trials are not distinguished from others.
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
    """Return one row per call with the `LAUNCHED` figures of the next launches of a run.

    Args:
        database: any connection; it is left without new tables.
        piece: the launches in recorded order, with columns call_id, enter, exit, thread, phase,
            weight and `LAUNCH_COLUMNS`.
        kernel: a function from a call id to the recorded columns of the call's kernel.
        holding: trials found in earlier pieces of the run; updated with this piece.

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


def _compiling(
    piece: pa.Table,
    kernel: Callable[[int], Mapping[str, Any]],
    enter: Integers,
    leave: Integers,
) -> npt.NDArray[np.bool_]:
    """Return a mask of launches between whose `enter` and `leave` a compile or load began."""
    codes, example_rows = combined_codes([piece["call_id"]])
    kernels = [kernel(call) for call in dictionary_values(piece["call_id"], example_rows)]
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
