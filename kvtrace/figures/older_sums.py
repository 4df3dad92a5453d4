"""What older launches and executions add up to, whose rows a recording has dropped.

`KVTRACE_LIMIT=sums:2GB` keeps them (`kvtrace.schema.older_sums` writes them). They are of the whole
run; a part of it has none, as its rows are counted.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import pyarrow as pa

from kvtrace.figures.columns import integers
from kvtrace.schema.kept import keeps_sums
from kvtrace.schema.window import TraceWindow

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

Sums = Literal["launch_sums", "execution_sums"]
_ALL: Final = np.iinfo(np.int64).max
#: The table of older sums, and that of the run's rows with their key.
_OLDER: Final = {
    "launch_sums": ("older_launch_sums", "launches", "seq"),
    "execution_sums": ("older_execution_sums", "gpu_kernels", "record"),
}


def has_older_sums(trace: "Trace", run: "Run") -> bool:
    """Return whether older sums count in a run's figures: not in those of a window."""
    return keeps_sums(run) and not isinstance(trace, TraceWindow)


def older_sums(
    trace: "Trace", runs: Sequence["Run"], table: Sums, columns: Sequence[str]
) -> pa.Table:
    """Return columns, and `run`, of sums of rows that the runs do not have any more.

    Each row is in one of the sums: those of which a run has rows, after its process was killed, or
    which others include, do not count. Errors as `Trace.table`.
    """
    name, leaves, key = _OLDER[table]
    pieces = [trace.table(name, (), columns)]
    for run in runs:
        if not keeps_sums(run):
            continue
        rows = trace.table(name, [run], [*columns, "first_row", "last_row"])
        first, last = (integers(rows[bound]) for bound in ("first_row", "last_row"))
        end = _ALL if run.ending == "exit" else _first(trace, run, leaves, key)
        counts = np.zeros(first.size, np.bool_)
        before = -1
        for low, high in sorted(set(zip(first.tolist(), last.tolist(), strict=True)), key=_wide):
            if before < low and high < end:
                counts |= (first == low) & (last == high)
                before = high
        pieces.append(rows.filter(pa.array(counts)).drop_columns(["first_row", "last_row"]))
    return pa.concat_tables(pieces).unify_dictionaries()


def _first(trace: "Trace", run: "Run", table: str, key: str) -> int:
    """Return the least key of a run's rows of a table."""
    pieces = trace.pieces(table, [run], [key])
    return min(
        (int(integers(piece[key]).min()) for piece in pieces if piece.num_rows), default=_ALL
    )


def _wide(bounds: tuple[int, int]) -> tuple[int, int]:
    """Return a key by which sums of more rows come before those that they include."""
    return bounds[0], -bounds[1]
