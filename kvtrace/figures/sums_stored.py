"""Validity of the sums that the pass `PASS` stored for a sealed run.

The pass writes all of its tables at once, with the definition that they follow, and names and sizes
of the files that they are of, so that files that were added, joined or merged since are noticed.
"""

from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from kvtrace.figures.kernels import LAUNCH_COLUMNS
from kvtrace.schema.layout import pass_parts, run_folder, run_parts
from kvtrace.schema.opened_parts import part_facts, part_footer
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.window import whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

PASS: Final = "sums"  # noqa: S105 - a pass over the trace
#: Number of the definition of what is stored; another one makes stored sums invalid.
DEFINITION: Final = 3
#: Tables that sums are made of.
LEAVES: Final = ("launches", "gpu_kernels")
#: A table that the pass writes for each run.
_ALWAYS: Final = "launch_sums"

#: Settings of valid sums by run id; an open trace does not change its sealed runs.
_KNOWN: Final[WeakKeyDictionary["Trace", dict[str, dict[str, Any] | None]]] = WeakKeyDictionary()


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
    known = _KNOWN.setdefault(whole, {})
    if run.run_id not in known:
        known[run.run_id] = _valid_settings(whole, run) if run.sealed else None
    return known[run.run_id]


def sums_stored(trace: "Trace", run: "Run") -> bool:
    """Return whether a run is sealed and has sums of its files; errors as `stored_settings`."""
    return stored_settings(trace, run) is not None


def forget(trace: "Trace", run_id: str) -> None:
    """Have `stored_settings` look at a run's files again, as after its sums were written."""
    _KNOWN.get(whole_trace(trace), {}).pop(run_id, None)


def _valid_settings(trace: "Trace", run: "Run") -> dict[str, Any] | None:
    if LAUNCH_COLUMNS:
        return None  # sums of these columns are not stored
    for path in pass_parts(run_folder(trace.path, _ALWAYS, run.run_id), PASS):
        settings = dict(part_facts(part_footer(path), path, _ALWAYS).settings)
        expected = settings_of(trace, run)
        if remote_folder(trace.path) is not None:
            settings |= {
                name: dict.fromkeys(sizes) for name in LEAVES if (sizes := settings.get(name))
            }
        return settings if all(settings.get(n) == expected[n] for n in expected) else None
    return None
