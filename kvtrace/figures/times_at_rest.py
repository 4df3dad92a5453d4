"""Figures of all calls of many sealed runs, kept in one file of their trace.

What the stored sums of many runs add up to takes a second, as there are several files of each run,
and medians of calls have to be found in their bins. So figures of a selection of runs are kept in
the folder `KEPT_TIMES` of the trace, and read while the files that they follow from have the same
names and sizes. Figures of one part of the runs are one file: `Times.calls`, `Times.kernels` and
`Times.by_phase`, one after the other. Nothing else is derived from it, and it may be removed.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace import __version__
from kvtrace.figures.kernels import DEVICE_MEDIAN, EXECUTED, HOST_MEDIAN, LAUNCHED
from kvtrace.figures.sums_reading import Sums, at_rest, span_of
from kvtrace.figures.sums_stored import DEFINITION, LEAVES, PASS, sizes_of_parts
from kvtrace.schema.beside import folders_beside
from kvtrace.schema.columns import conformed, without_dictionary
from kvtrace.schema.errors import TraceWriteError
from kvtrace.schema.layout import KEPT_TIMES, discard, refuse_links
from kvtrace.schema.parts import read_part, write_part
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.table_types import F64, I64, NAME, Column, Table
from kvtrace.schema.versions import derived_facts
from kvtrace.schema.window import TraceWindow, whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Fewer runs are added up each time, which takes milliseconds.
LEAST_RUNS: Final = 8
#: Most files that are kept, of other selections and parts.
_MOST_FILES: Final = 16
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


def kept_file(
    trace: "Trace", runs: Sequence["Run"], sums: Sums, what: str = "times"
) -> Path | None:
    """Return the path of the file of the runs' figures; None if they are not kept in one.

    They are kept if all runs are sealed, and many have stored sums of the part; others, as workers
    that compile, have few rows. `what` names the figures. Errors as `stored_settings`.
    """
    out = whole_trace(trace).path
    if len(runs) < LEAST_RUNS or remote_folder(out) is not None or folders_beside(out):
        return None
    rest = at_rest(trace, runs, sums)
    has_edges = any(rows is not trace for rows, _ in rest.leaves)
    if has_edges or len(rest.stored) < LEAST_RUNS or not all(run.sealed for run in runs):
        return None
    stored = {run.run_id for run in rest.stored}
    facts: list[Any] = [DEFINITION, sums, what, _FIGURES[sums]]
    for run in runs:
        span = span_of(trace, run.run_id, sums) if isinstance(trace, TraceWindow) else None
        tables = (*((sums,) if run.run_id in stored else LEAVES), *_NAMED_BY)
        facts.append((run.run_id, span, [sizes_of_parts(trace, run, name) for name in tables]))
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return out / KEPT_TIMES / f"{what}-{digest}.parquet"


def kept_times(path: Path, sums: Sums) -> tuple[pa.Table, pa.Table, pa.Table | None] | None:
    """Return `Times.calls`, `kernels` and `by_phase` from a file; None if there is none.

    Raises:
        DamagedFile, NewerFormat: the file cannot be read.

    """
    figures = _FIGURES[sums]
    columns = {"calls": (*_CALL, *figures), "kernels": (*_KERNEL, figures[-1]), "by_phase": _PHASE}
    names = tuple(dict.fromkeys(("table", *(n for of in columns.values() for n in of))))
    rows = kept_rows(path, _ROWS, names)
    if rows is None:
        return None
    is_of = {name: pc.equal(rows["table"], name) for name in columns}
    calls, kernels, by_phase = (rows.filter(is_of[n]).select(of) for n, of in columns.items())
    return calls, kernels, by_phase if sums == "launch_sums" else None


def keep_times(
    trace: "Trace", path: Path, calls: pa.Table, kernels: pa.Table, by_phase: pa.Table | None
) -> None:
    """Write the tables of `Times` to a file of `kept_file`, as `keep_rows`."""
    tables = {"calls": calls, "kernels": kernels, "by_phase": by_phase}
    pieces = [
        rows.append_column("table", pa.repeat(name, rows.num_rows))
        for name, rows in tables.items()
        if rows is not None
    ]
    keep_rows(trace, path, _ROWS, pa.concat_tables(pieces, promote_options="default"))


def kept_rows(path: Path, table: Table, names: Sequence[str]) -> pa.Table | None:
    """Return columns `names` of a file of `kept_file`, without dictionaries; None without a file.

    Raises:
        DamagedFile, NewerFormat: the file cannot be read.

    """
    try:
        rows = read_part(path, table, names)
    except (FileNotFoundError, NotADirectoryError):  # or another process has just removed it
        return None
    return pa.table({name: without_dictionary(rows[name]) for name in names})


def keep_rows(trace: "Trace", path: Path, table: Table, rows: pa.Table) -> None:
    """Write rows of a table to a file of `kept_file`, and remove the oldest beyond `_MOST_FILES`.

    A trace that cannot be written to stays as it is.
    """
    folder = path.parent
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        return
    facts = derived_facts(table.name, "", PASS, {}, __version__)
    try:
        refuse_links(folder.parent, runs=False)
        write_part(path, table, facts, conformed(table, rows).to_batches())
    except (OSError, TraceWriteError) as error:
        whole_trace(trace).note(f"figures of its calls cannot be kept ({error})")
        return
    files = sorted(folder.glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    for old in files[:-_MOST_FILES]:
        discard(old)
