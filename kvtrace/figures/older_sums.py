"""What older launches and executions add up to, whose rows a recording has dropped.

`KVTRACE_LIMIT=sums:2GB` keeps them (`kvtrace.schema.older_sums` writes them). They are of the whole
run; a part of it has none, as its rows are counted.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import pyarrow as pa

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
#: Most times that what a recording changes meanwhile is read again.
_MOST_READ: Final = 3
T = TypeVar("T")


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
            of_rows = list(zip(*(rows[part].to_pylist() for part in _PARTS), strict=True))
            existing = part_numbers(run_folder(trace.path, leaves, run.run_id))
            counted = counting(of_rows, existing)
            rows = rows.filter(pa.array([parts in counted for parts in of_rows], pa.bool_()))
        pieces.append(rows.select(pieces[0].column_names))
    return pa.concat_tables(pieces).unify_dictionaries()


def settled(trace: "Trace", runs: Sequence["Run"], read: Callable[[], T]) -> T:
    """Return what `read` returns, which reads rows and older sums of the runs, at one moment.

    If a recording in progress drops rows meanwhile, they would count twice or not at all, so both
    are read again. Errors as `read`.
    """
    before = _parts_in_progress(trace, runs)
    result = read()
    for _ in range(_MOST_READ):
        now = _parts_in_progress(trace, runs)
        if now == before:
            break
        before, result = now, read()
    return result


def _parts_in_progress(trace: "Trace", runs: Sequence["Run"]) -> list[set[int]]:
    """Return the numbers of the parts of runs in progress that keep older sums."""
    return [
        set(part_numbers(run_folder(trace.path, table, run.run_id)))
        for run in runs
        if not run.sealed and keeps_sums(run)
        for table in _LEAVES.values()
    ]


def older_rows(trace: "Trace", runs: Sequence["Run"], name: str) -> pa.Table:
    """Return all columns of a table of `OLDER_SUMS`, as `older_sums`."""
    sums = next(of for of, leaves in _LEAVES.items() if OLDER_SUMS[leaves] == name)
    return older_sums(trace, runs, sums, TABLES[name].names)
