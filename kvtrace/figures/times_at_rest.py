"""Figures of all calls of many sealed runs, kept in one file of their trace (`kept.py`).

What the stored sums of many runs add up to takes a second, as there are several files of each run,
and medians of calls have to be found in their bins. Figures of one part of the runs are one file:
`Times.calls`, `Times.kernels` and `Times.by_phase`, one after the other.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.kept import are_kept, keep_rows, kept_file, kept_rows
from kvtrace.figures.kernels import DEVICE_MEDIAN, EXECUTED, HOST_MEDIAN, LAUNCHED
from kvtrace.figures.sums_reading import Sums, at_rest, span_of
from kvtrace.figures.sums_stored import LEAVES, sizes_of_parts, stored_settings
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.kept import keeps_sums
from kvtrace.schema.table_types import F64, I64, NAME, Column, Table
from kvtrace.schema.window import TraceWindow

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Tables besides sums or their leaves that figures follow from.
_NAMED_BY: Final = ("kernels", "calls")

_FIGURES: Final[dict[Sums, tuple[str, ...]]] = {
    "launch_sums": (*(f.name for f in LAUNCHED), HOST_MEDIAN.name),
    "execution_sums": (*(f.name for f in EXECUTED), "bytes", DEVICE_MEDIAN.name),
}
_CALL: Final = ("run", "call_id", "name", "kind")
_KERNEL: Final = ("module", "name", "source", "kind")
_PHASE: Final = ("run", "call_id", "phase", "launches")
_MEDIANS: Final = (HOST_MEDIAN.name, DEVICE_MEDIAN.name)
_TEXTS: Final = ("table", "run", "name", "kind", "module", "source", "phase")
_ROWS: Final = Table(
    "kept_times",
    "figures of a call, a kernel, or of a call in a phase",
    "derived",
    (
        *(Column(name, NAME, name, key=name == "table") for name in _TEXTS),
        Column("call_id", I64, "the call"),
        *(Column(f.name, I64, f.label) for f in (*LAUNCHED, *EXECUTED)),
        Column("bytes", I64, "bytes copied or filled"),
        *(Column(name, F64, name) for name in _MEDIANS),
    ),
)


def file_of_times(
    trace: "Trace", runs: Sequence["Run"], sums: Sums, what: str = "times"
) -> Path | None:
    """Return the path of the file of the runs' figures; None if they are not kept in one.

    Those of runs with older sums are not, nor those of windows that begin or end within a stretch
    of stored sums: they are rarely asked for again. `what` names the figures. Errors as
    `stored_settings`.
    """
    if not are_kept(trace, runs) or any(keeps_sums(run) for run in runs):
        return None
    rest = at_rest(trace, runs, sums)
    for rows, of_runs in rest.leaves:
        settings = [stored_settings(trace, run) for run in of_runs]
        if rows is not trace or any(
            known is not None and known["cuts"][sums] for known in settings
        ):
            return None
    stored = {run.run_id for run in rest.stored}
    facts: list[Any] = []
    for run in runs:
        span = span_of(trace, run.run_id, sums) if isinstance(trace, TraceWindow) else None
        tables = (*((sums,) if run.run_id in stored else LEAVES), *_NAMED_BY)
        facts.append((run.run_id, span, [sizes_of_parts(trace, run, name) for name in tables]))
    return kept_file(trace, what, sums, _FIGURES[sums], facts)


def kept_times(
    trace: "Trace", path: Path, sums: Sums
) -> tuple[pa.Table, pa.Table, pa.Table | None] | None:
    """Return `Times.calls`, `kernels` and `by_phase` from a file; None without one."""
    figures = _FIGURES[sums]
    columns = {"calls": (*_CALL, *figures), "kernels": (*_KERNEL, figures[-1]), "by_phase": _PHASE}
    names = tuple(dict.fromkeys(("table", *(n for of in columns.values() for n in of))))
    rows = kept_rows(trace, path, _ROWS, names)
    if rows is None:
        return None
    table = without_dictionary(rows["table"])
    calls, kernels, by_phase = (
        _plain(rows.select(of).filter(pc.equal(table, name))) for name, of in columns.items()
    )
    return calls, kernels, by_phase if sums == "launch_sums" else None


def _plain(rows: pa.Table) -> pa.Table:
    """Return rows without dictionaries."""
    return pa.table([without_dictionary(column) for column in rows.columns], rows.column_names)


def keep_times(
    trace: "Trace", path: Path, calls: pa.Table, kernels: pa.Table, by_phase: pa.Table | None
) -> None:
    """Write the tables of `Times` to a file of `file_of_times`, as `keep_rows`."""
    tables = {"calls": calls, "kernels": kernels, "by_phase": by_phase}
    pieces = [
        rows.append_column("table", pa.repeat(name, rows.num_rows))
        for name, rows in tables.items()
        if rows is not None
    ]
    keep_rows(trace, path, _ROWS, pa.concat_tables(pieces, promote_options="default"))
