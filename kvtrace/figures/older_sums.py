"""What older launches and executions add up to, whose rows a recording has dropped.

`KVTRACE_LIMIT=sums:2GB` keeps them (`kvtrace.schema.older_sums` writes them). They are of the whole
run; a part of it has none, as its rows are counted.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa

from kvtrace.figures.columns import integers
from kvtrace.schema.kept import keeps_sums
from kvtrace.schema.layout import part_numbers, run_folder
from kvtrace.schema.older_parts import OLDER_SUMS, counting
from kvtrace.schema.tables import TABLES
from kvtrace.schema.window import TraceWindow

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

Sums = Literal["launch_sums", "execution_sums"]
#: The table whose rows sums are of.
_LEAVES: Final[dict[Sums, str]] = {"launch_sums": "launches", "execution_sums": "gpu_kernels"}

_PARTS: Final = ("first_part", "last_part")


def has_older_sums(trace: "Trace", run: "Run") -> bool:
    """Return whether older sums count in a run's figures: not in those of a window."""
    return keeps_sums(run) and not isinstance(trace, TraceWindow)


def older_sums(
    trace: "Trace", runs: Sequence["Run"], table: Sums, columns: Sequence[str]
) -> pa.Table:
    """Return columns, and `run`, of sums of rows that the runs do not have any more.

    Errors as `Trace.table`.
    """
    leaves = _LEAVES[table]
    name = OLDER_SUMS[leaves]
    pieces = [trace.table(name, (), columns)]
    for run in runs:
        rows = trace.table(name, [run], list(dict.fromkeys((*columns, *_PARTS))))
        if not run.sealed:
            of_rows = list(zip(*(integers(rows[part]).tolist() for part in _PARTS), strict=True))
            existing = part_numbers(run_folder(trace.path, leaves, run.run_id))
            counted = counting(of_rows, existing)
            rows = rows.filter(pa.array([parts in counted for parts in of_rows], pa.bool_()))
        pieces.append(rows.select(pieces[0].column_names))
    return pa.concat_tables(pieces).unify_dictionaries()


def older_rows(trace: "Trace", runs: Sequence["Run"], name: str) -> pa.Table:
    """Return all columns of a table of `OLDER_SUMS`, as `older_sums`."""
    sums = next(of for of, leaves in _LEAVES.items() if OLDER_SUMS[leaves] == name)
    return older_sums(trace, runs, sums, TABLES[name].names)
