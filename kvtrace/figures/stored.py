"""Stored figures of runs: sums by the pass `PASS`, older sums, and kept results of many runs.

The pass writes all of its tables at once, with the definition that they follow, and names and sizes
of the files that they are of, so that files that were added, joined or merged since are noticed.

Older sums are of launches and executions whose rows a recording has dropped: `KVTRACE_LIMIT=
sums:2GB` keeps them (`kvtrace.schema.older_sums` writes them). They are of the whole run; a part of
it has none, as its rows are counted.

A trace has several files of each run, and one is read as fast as a run. Of many sealed runs,
figures and rows that follow from these files alone are kept in the folder `KEPT_TIMES` of the
trace, and read while the files have the same names and sizes. A kept file's name is a digest of
what it follows from. Nothing else is derived from it, and it may be removed.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from itertools import accumulate
from pathlib import Path
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import pyarrow as pa

from kvtrace.figures.kernels import LAUNCH_COLUMNS
from kvtrace.schema.kept_files import keep_table, kept_path, kept_table
from kvtrace.schema.layout import (
    folders_beside,
    part_numbers,
    pass_parts,
    run_folder,
    run_parts,
)
from kvtrace.schema.older_parts import OLDER_SUMS, counting
from kvtrace.schema.opened_parts import part_facts, part_footer
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.versions import FORMAT_VERSION
from kvtrace.schema.weights import keeps_sums
from kvtrace.schema.window import TraceWindow, whole_trace

PASS: Final = "sums"  # noqa: S105 - a pass over the trace
#: Number of the definition of what is stored; another one makes stored sums invalid.
DEFINITION: Final = 7
#: Tables that sums are made of.
LEAVES: Final = ("launches", "gpu_kernels")
Sums = Literal["launch_sums", "execution_sums"]
#: The table whose rows sums are of.
_LEAVES: Final[dict[Sums, str]] = {"launch_sums": "launches", "execution_sums": "gpu_kernels"}
#: The sums of which a table has older ones.
SUMS_OF_OLDER: Final = {OLDER_SUMS[leaves]: sums for sums, leaves in _LEAVES.items()}
_PARTS: Final = ("first_part", "last_part")
#: Most times that what a recording changes meanwhile is read again.
_MOST_READ: Final = 3
T = TypeVar("T")

#: How names of the pass's files begin.
_SUMS_FILE: Final = f"part-{PASS}-"

#: A table that the pass writes for each run.
_TABLE_OF_EACH_RUN: Final = "launch_sums"

#: Settings of valid sums by run id; an open trace does not change its sealed runs.
_SETTINGS: Final[WeakKeyDictionary[Trace, dict[str, dict[str, Any] | None]]] = WeakKeyDictionary()


def settings_of(trace: Trace, run: Run) -> dict[str, Any]:
    """Return the settings with which the pass stores sums of a run as it is now.

    By table the sizes of its files by name; null where an object store has them.
    """
    return {"definition": DEFINITION, **{n: sizes_of_parts(trace, run, n) for n in LEAVES}}


def sizes_of_parts(trace: Trace, run: Run, name: str) -> dict[str, int | None]:
    """Return the sizes of a run's files of a table by name.

    Null where an object store has them, and of a link that leads nowhere, which readers report.
    """
    folder = run_folder(whole_trace(trace).path, name, run.run_id)
    is_remote = remote_folder(folder) is not None
    captured, of_passes = run_parts(folder)
    paths = (*captured.values(), *of_passes)
    return {path.name: None if is_remote else _size_of(path) for path in paths}


def _size_of(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def stored_settings(trace: Trace, run: Run) -> dict[str, Any] | None:
    """Return the settings of a sealed run's sums; None without sums of the files it has now.

    The answer is kept for the open trace, until `forget`.

    Raises:
        DamagedFile, NewerFormat: the file of the sums cannot be read.

    """
    whole = whole_trace(trace)
    by_run = _SETTINGS.setdefault(whole, {})
    if run.run_id not in by_run:
        by_run[run.run_id] = _valid_settings(whole, run) if run.sealed else None
    return by_run[run.run_id]


def sums_stored(trace: Trace, run: Run) -> bool:
    """Return whether a run is sealed and has sums of its files; errors as `stored_settings`."""
    return stored_settings(trace, run) is not None


def forget(trace: Trace, run_id: str) -> None:
    """Have `stored_settings` look at a run's files again, as after its sums were written."""
    _SETTINGS.get(whole_trace(trace), {}).pop(run_id, None)


def _valid_settings(trace: Trace, run: Run) -> dict[str, Any] | None:
    if LAUNCH_COLUMNS:
        return None  # sums of these columns are not stored
    for path in pass_parts(run_folder(trace.path, _TABLE_OF_EACH_RUN, run.run_id), PASS):
        settings = dict(part_facts(part_footer(path), path, _TABLE_OF_EACH_RUN).settings)
        expected = settings_of(trace, run)
        if remote_folder(trace.path) is not None:
            settings |= {
                name: dict.fromkeys(sizes) for name in LEAVES if (sizes := settings.get(name))
            }
        return settings if all(settings.get(n) == expected[n] for n in expected) else None
    return None


def has_older_sums(trace: Trace, run: Run) -> bool:
    """Return whether older sums count in a run's figures: not in those of a window."""
    return keeps_sums(run) and not isinstance(trace, TraceWindow)


def older_sums(trace: Trace, runs: Sequence[Run], table: Sums, columns: Sequence[str]) -> pa.Table:
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


def settled(trace: Trace, runs: Sequence[Run], read: Callable[[], T]) -> T:
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


def _parts_in_progress(trace: Trace, runs: Sequence[Run]) -> list[set[int]]:
    """Return the numbers of the parts of runs in progress that keep older sums."""
    return [
        set(part_numbers(run_folder(trace.path, table, run.run_id)))
        for run in runs
        if not run.sealed and keeps_sums(run)
        for table in _LEAVES.values()
    ]


# -- results of sealed runs, kept for an opened trace or in one of its files -----------------------


#: Files of fewer runs are read each time, which takes milliseconds.
LEAST_RUNS: Final = 8
#: Runs without stored sums are read each time if their launches and executions have fewer bytes.
_LEAST_BYTES: Final = 4 << 20
#: Rooms whose code decides the values that are kept.
_CODE: Final = ("schema", "figures", "converters/info", "converters/profile")


def are_kept(trace: Trace, runs: Sequence[Run], fewest: int | None = None) -> bool:
    """Return whether figures of the runs are kept: all are sealed, and together they are large.

    Some have stored sums, or the files of their launches and executions have many bytes. `fewest`
    is the least number of runs, by default `LEAST_RUNS`. Errors as `stored_settings`.
    """
    out = whole_trace(trace).path
    if len(runs) < (LEAST_RUNS if fewest is None else fewest):
        return False
    if remote_folder(out) is not None or folders_beside(out):
        return False
    if not all(run.sealed for run in runs):
        return False
    if any(sums_stored(trace, run) for run in runs):
        return True
    sizes = (sizes_of_parts(trace, run, name).values() for run in runs for name in LEAVES)
    sums = accumulate(size or 0 for of_run in sizes for size in of_run)
    return any(bytes_so_far >= _LEAST_BYTES for bytes_so_far in sums)


def kept(
    trace: Trace,
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
    paths = {name: kept_path(whole.path, f"{what}-{name}-{digest}") for name in names}
    tables = {name: kept_table(path, whole.note) for name, path in paths.items()}
    rows = {name: table for name, table in tables.items() if table is not None}
    if rows.keys() == tables.keys():
        return rows
    notes = len(whole.notes)
    rows = dict(read())
    if len(whole.notes) == notes:
        for name, path in paths.items():
            keep_table(path, whole.note, rows[name])
    return rows


def kept_rows(trace: Trace, what: str, facts: Any, read: Callable[[], pa.Table]) -> pa.Table:
    """Return the kept table of a kind that has one alone; see `kept`."""
    return kept(trace, what, facts, ["rows"], lambda: {"rows": read()})["rows"]


def kept_value(
    trace: Trace, runs: Sequence[Run], what: str, facts: Any, kind: Any, read: Callable[[], T]
) -> T:
    """Return the value of type `kind` that `read` makes, which is kept in a file for large runs.

    It follows from `facts`, as JSON, from the files of the runs in all tables, by their names,
    sizes and times of change, and from the code. Sums are left out: `read` may store them. Else as
    `kept`.
    """
    whole = whole_trace(trace)
    if not are_kept(whole, runs, fewest=1):
        return read()
    import msgspec  # not for runs of which nothing is kept
    import numpy as np

    fresh: list[T] = []

    def encoded() -> pa.Table:
        fresh.append(read())
        return pa.table({"value": [msgspec.msgpack.encode(fresh[0], enc_hook=np.generic.item)]})

    all_facts = [facts, _code_files(), *_files_of(whole.path, runs)]
    rows = kept_rows(trace, what, all_facts, encoded)
    if fresh:
        return fresh[0]
    try:
        value: T = msgspec.msgpack.decode(rows["value"][0].as_py(), type=kind)
    except msgspec.DecodeError:  # damaged, or of code that was changed within a tick of the clock
        return read()
    return value


@cache
def _code_files() -> list[tuple[str, int, int]]:
    """Return path, size and time of change of each file of `_CODE`."""
    top = Path(__file__).parent.parent
    files = (entry for room in _CODE for entry in os.scandir(top / room) if entry.is_file())
    return sorted((e.path, (s := e.stat()).st_size, s.st_mtime_ns) for e in files)


def _files_of(out: Path, runs: Sequence[Run]) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield table, run, and name, size and time of change of its files, without those of sums."""
    for table in sorted(entry.name for entry in os.scandir(out) if entry.is_dir()):
        for run in runs:
            try:
                with os.scandir(f"{out}/{table}/run={run.run_id}") as entries:
                    facts = sorted(
                        (entry.name, (status := entry.stat()).st_size, status.st_mtime_ns)
                        for entry in entries
                        if not entry.name.startswith(_SUMS_FILE)
                    )
            except (FileNotFoundError, NotADirectoryError):
                continue
            if facts:
                yield table, run.run_id, facts


def rows_of_runs(trace: Trace, runs: Sequence[Run], name: str, columns: Sequence[str]) -> pa.Table:
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
_Read = Callable[Concatenate["Trace", Sequence["Run"], P], T]


def once_per_trace(read: _Read[P, T]) -> _Read[P, T]:
    """Have a function of a trace, runs and more run once for the same arguments.

    The results of runs that are not sealed are not kept.
    """
    results_by_trace: WeakKeyDictionary[Trace, dict[Any, T]] = WeakKeyDictionary()

    @wraps(read)
    def known(trace: Trace, runs: Sequence[Run], /, *args: P.args, **options: P.kwargs) -> T:
        if not all(run.sealed for run in runs):
            return read(trace, runs, *args, **options)
        results = results_by_trace.setdefault(trace, {})
        key = (tuple(run.run_id for run in runs), args, *options.items())
        if key not in results:
            results[key] = read(trace, runs, *args, **options)
        return results[key]

    return known
