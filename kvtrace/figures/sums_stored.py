"""Sums that a trace has: those that the pass `PASS` stored of a sealed run, and older sums.

The pass writes all of its tables at once, with the definition that they follow, and names and sizes
of the files that they are of, so that files that were added, joined or merged since are noticed.

Older sums are of launches and executions whose rows a recording has dropped: `KVTRACE_LIMIT=
sums:2GB` keeps them (`kvtrace.schema.older_sums` writes them). They are of the whole run; a part of
it has none, as its rows are counted.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from weakref import WeakKeyDictionary

import pyarrow as pa

from kvtrace.figures.kernels import LAUNCH_COLUMNS
from kvtrace.schema.layout import part_numbers, pass_parts, run_folder, run_parts
from kvtrace.schema.older_parts import OLDER_SUMS, counting
from kvtrace.schema.opened_parts import part_facts, part_footer
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.tables import TABLES
from kvtrace.schema.weights import keeps_sums
from kvtrace.schema.window import TraceWindow, whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

PASS: Final = "sums"  # noqa: S105 - a pass over the trace
#: Number of the definition of what is stored; another one makes stored sums invalid.
DEFINITION: Final = 4
#: Tables that sums are made of.
LEAVES: Final = ("launches", "gpu_kernels")
Sums = Literal["launch_sums", "execution_sums"]
#: The table whose rows sums are of.
_LEAVES: Final[dict[Sums, str]] = {"launch_sums": "launches", "execution_sums": "gpu_kernels"}
_PARTS: Final = ("first_part", "last_part")
#: Most times that what a recording changes meanwhile is read again.
_MOST_READ: Final = 3
T = TypeVar("T")

#: A table that the pass writes for each run.
_TABLE_OF_EACH_RUN: Final = "launch_sums"

#: Settings of valid sums by run id; an open trace does not change its sealed runs.
_SETTINGS: Final[WeakKeyDictionary["Trace", dict[str, dict[str, Any] | None]]] = WeakKeyDictionary()


def settings_of(trace: "Trace", run: "Run") -> dict[str, Any]:
    """Return the settings with which the pass stores sums of a run as it is now.

    By table the sizes of its files by name; null where an object store has them.
    """
    return {"definition": DEFINITION, **{n: sizes_of_parts(trace, run, n) for n in LEAVES}}


def sizes_of_parts(trace: "Trace", run: "Run", name: str) -> dict[str, int | None]:
    """Return the sizes of a run's files of a table by name; null where an object store has them."""
    folder = run_folder(whole_trace(trace).path, name, run.run_id)
    is_remote = remote_folder(folder) is not None
    captured, of_passes = run_parts(folder)
    paths = (*captured.values(), *of_passes)
    return {path.name: None if is_remote else path.stat().st_size for path in paths}


def stored_settings(trace: "Trace", run: "Run") -> dict[str, Any] | None:
    """Return the settings of a sealed run's sums; None without sums of the files it has now.

    The answer is kept for the open trace, until `forget`.

    Raises:
        DamagedFile, NewerFormat: the file of the sums cannot be read.

    """
    whole = whole_trace(trace)
    known = _SETTINGS.setdefault(whole, {})
    if run.run_id not in known:
        known[run.run_id] = _valid_settings(whole, run) if run.sealed else None
    return known[run.run_id]


def sums_stored(trace: "Trace", run: "Run") -> bool:
    """Return whether a run is sealed and has sums of its files; errors as `stored_settings`."""
    return stored_settings(trace, run) is not None


def forget(trace: "Trace", run_id: str) -> None:
    """Have `stored_settings` look at a run's files again, as after its sums were written."""
    _SETTINGS.get(whole_trace(trace), {}).pop(run_id, None)


def _valid_settings(trace: "Trace", run: "Run") -> dict[str, Any] | None:
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
