"""Results of sealed runs, kept for an opened trace; rows of many runs, kept in one of its files.

A trace has several files of each run, and one is read as fast as a run. Of many sealed runs,
figures and rows that follow from these files alone are kept in the folder `KEPT_TIMES` of the
trace, and read while the files have the same names and sizes. A kept file's name is a digest of
what it follows from. Nothing else is derived from it, and it may be removed.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import pyarrow as pa

from kvtrace.figures.sums_stored import DEFINITION, LEAVES, PASS, sizes_of_parts, sums_stored
from kvtrace.schema.beside import folders_beside
from kvtrace.schema.errors import DamagedFile, TraceWriteError
from kvtrace.schema.layout import KEPT_TIMES, discard, refuse_links
from kvtrace.schema.opened_parts import open_part
from kvtrace.schema.parts import read_part, write_part
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.table_types import Column, Table
from kvtrace.schema.versions import FORMAT_VERSION, derived_facts
from kvtrace.schema.window import whole_trace
from kvtrace.version import __version__

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Files of fewer runs are read each time, which takes milliseconds.
LEAST_RUNS: Final = 8
#: Runs without stored sums are read each time if their launches and executions have fewer bytes.
_LEAST_BYTES: Final = 4 << 20
#: Most files that are kept, of other selections and parts.
_MOST_FILES: Final = 96
#: The name of the table in a file.
_NAME: Final = "kept"


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


def kept(
    trace: "Trace",
    what: str,
    facts: Any,
    names: Sequence[str],
    read: Callable[[], Mapping[str, pa.Table]],
) -> dict[str, pa.Table]:
    """Return the tables `names` of `what` from their files, or those of `read`, which are kept.

    They follow from `facts`, as JSON. Tables are not kept if reading them had something to note, as
    of repaired rows, and a trace that cannot be written to stays as it is.
    """
    whole = whole_trace(trace)
    text = json.dumps([FORMAT_VERSION, DEFINITION, facts])
    digest = hashlib.sha256(text.encode()).hexdigest()
    folder = whole.path / KEPT_TIMES
    paths = {name: folder / f"{what}-{name}-{digest}.parquet" for name in names}
    tables = {name: _rows_of_file(whole, path) for name, path in paths.items()}
    rows = {name: table for name, table in tables.items() if table is not None}
    if rows.keys() == tables.keys():
        return rows
    notes = len(whole.notes)
    rows = dict(read())
    if len(whole.notes) == notes:
        for name, path in paths.items():
            _keep(whole, path, rows[name])
    return rows


def kept_rows(trace: "Trace", what: str, facts: Any, read: Callable[[], pa.Table]) -> pa.Table:
    """Return the kept table of a kind that has one alone; see `kept`."""
    return kept(trace, what, facts, ["rows"], lambda: {"rows": read()})["rows"]


def _rows_of_file(trace: "Trace", path: Path) -> pa.Table | None:
    """Return the rows of a file; None without a file that can be read."""
    try:
        with open_part(path) as file:
            table = _definition(file.schema_arrow)
        return read_part(path, table, table.names)
    except (FileNotFoundError, NotADirectoryError):  # or another process has just removed it
        return None
    except DamagedFile:
        trace.note(f"{path} is damaged, and is written again")
        return None


def _definition(schema: pa.Schema) -> Table:
    """Return the definition of the table of a file with a schema."""
    columns = (Column(field.name, field.type, field.name) for field in schema)
    return Table(_NAME, "a row that is kept of many runs", "derived", tuple(columns))


def _keep(trace: "Trace", path: Path, rows: pa.Table) -> None:
    """Write rows to a file, and remove the oldest files beyond `_MOST_FILES`."""
    folder = path.parent
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        return
    try:
        refuse_links(folder.parent, runs=False)
        facts = derived_facts(_NAME, "", PASS, {}, __version__)
        write_part(path, _definition(rows.schema), facts, rows.to_batches())
    except (OSError, TraceWriteError) as error:
        trace.note(f"what its runs add up to cannot be kept ({error})")
        return
    files = sorted(folder.glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    for old in files[:-_MOST_FILES]:
        discard(old)


def rows_of_runs(
    trace: "Trace", runs: Sequence["Run"], name: str, columns: Sequence[str]
) -> pa.Table:
    """Return columns of a table of the whole trace, and `run`, as `Trace.table`; errors as there.

    Rows of many runs are kept.
    """
    whole = whole_trace(trace)
    if not are_kept(whole, runs):
        return whole.table(name, runs, columns)
    sizes = [(run.run_id, sizes_of_parts(whole, run, name)) for run in runs]
    facts = [list(columns), sizes]
    return kept_rows(whole, name, facts, lambda: whole.table(name, runs, columns))


# -- results of an opened trace, whose sealed runs do not change -----------------------------------


P = ParamSpec("P")
T = TypeVar("T")
_Read = Callable[Concatenate["Trace", Sequence["Run"], P], T]


def once_per_trace(read: _Read[P, T]) -> _Read[P, T]:
    """Have a function of a trace, runs and more run once for the same arguments.

    The results of runs that are not sealed are not kept.
    """
    results_by_trace: WeakKeyDictionary[Trace, dict[Any, T]] = WeakKeyDictionary()

    @wraps(read)
    def known(trace: "Trace", runs: Sequence["Run"], /, *args: P.args, **options: P.kwargs) -> T:
        if not all(run.sealed for run in runs):
            return read(trace, runs, *args, **options)
        results = results_by_trace.setdefault(trace, {})
        key = (tuple(run.run_id for run in runs), args, *options.items())
        if key not in results:
            results[key] = read(trace, runs, *args, **options)
        return results[key]

    return known
