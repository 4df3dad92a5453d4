"""Rows of many sealed runs, kept in one file of their trace, which is read as fast as one run.

A trace has several files of each run. Of many sealed runs, figures and rows that follow from these
files alone are kept in the folder `KEPT_TIMES` of the trace, and read while the files have the same
names and sizes. A kept file's name is a digest of what it follows from. Nothing else is derived
from it, and it may be removed.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kvtrace import __version__
from kvtrace.figures.sums_stored import DEFINITION, LEAVES, PASS, sizes_of_parts, sums_stored
from kvtrace.schema.beside import folders_beside
from kvtrace.schema.columns import conformed
from kvtrace.schema.errors import DamagedFile, TraceWriteError
from kvtrace.schema.layout import KEPT_TIMES, discard, refuse_links
from kvtrace.schema.parts import read_part, write_part
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.table_types import NAME, Column, Table
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import FORMAT_VERSION, derived_facts
from kvtrace.schema.window import whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Files of fewer runs are read each time, which takes milliseconds.
LEAST_RUNS: Final = 8
#: Runs without stored sums are read each time if their launches and executions have fewer bytes.
_LEAST_BYTES: Final = 4 << 20
#: Most files that are kept, of other selections and parts.
_MOST_FILES: Final = 32


def are_kept(trace: "Trace", runs: Sequence["Run"]) -> bool:
    """Return whether rows of the runs are kept: many runs, all sealed, of much altogether.

    They have stored sums, or the files of their launches and executions have many bytes. Errors as
    `stored_settings`.
    """
    out = whole_trace(trace).path
    if len(runs) < LEAST_RUNS or remote_folder(out) is not None or folders_beside(out):
        return False
    if not all(run.sealed for run in runs):
        return False
    if any(sums_stored(trace, run) for run in runs):
        return True
    sizes = (sizes_of_parts(trace, run, name).values() for run in runs for name in LEAVES)
    return sum(size or 0 for of_run in sizes for size in of_run) >= _LEAST_BYTES


def kept_file(trace: "Trace", what: str, *facts: Any) -> Path:
    """Return the path of the file of `what`, which follows from `facts`, as JSON."""
    text = json.dumps([FORMAT_VERSION, DEFINITION, *facts])
    digest = hashlib.sha256(text.encode()).hexdigest()
    return whole_trace(trace).path / KEPT_TIMES / f"{what}-{digest}.parquet"


def kept_rows(trace: "Trace", path: Path, table: Table, names: Sequence[str]) -> pa.Table | None:
    """Return columns `names` of a file of `kept_file`; None without a file that can be read."""
    try:
        return read_part(path, table, names)
    except (FileNotFoundError, NotADirectoryError):  # or another process has just removed it
        return None
    except DamagedFile:
        whole_trace(trace).note(f"{path} is damaged, and is written again")
        return None


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
        whole_trace(trace).note(f"what its runs add up to cannot be kept ({error})")
        return
    files = sorted(folder.glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    for old in files[:-_MOST_FILES]:
        discard(old)


def rows_of_runs(
    trace: "Trace", runs: Sequence["Run"], name: str, columns: Sequence[str]
) -> pa.Table:
    """Return columns of a table of the whole trace, and `run`, as `Trace.table`; errors as there.

    Rows of many runs are kept, unless reading them had something to note, as of repaired rows.
    """
    whole = whole_trace(trace)
    if not are_kept(whole, runs):
        return whole.table(name, runs, columns)
    sizes = [(run.run_id, sizes_of_parts(whole, run, name)) for run in runs]
    path = kept_file(whole, name, list(columns), sizes)
    definition = TABLES[name]
    run_column = Column("run", NAME, "the run", key=True)
    chosen = (*(c for c in definition.columns if c.name in columns), run_column)
    table = Table(name, definition.row, definition.origin, chosen)
    names = (*columns, "run")
    rows = kept_rows(whole, path, table, names)
    if rows is None:
        notes = len(whole.notes)
        rows = whole.table(name, runs, columns)
        if len(whole.notes) == notes:
            keep_rows(whole, path, table, rows)
    return rows
