"""Paths of a trace's files, and atomic writing of files: temporary name, fsync, rename."""

import contextlib
import os
import re
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from kvtrace.schema.errors import DamagedFile, TraceWriteError
from kvtrace.schema.remote import RemoteFolder, remote_folder
from kvtrace.schema.spool import memory_path, spool_folder

JOURNAL: Final = ".journal"
#: The folder of figures that are kept of many runs (`figures/stored.py`).
KEPT_TIMES: Final = ".times"
#: The pass, and the method, of findings that the run itself observed; judging keeps them.
OBSERVED: Final = "observed"
#: The pass of findings about what a device computed; it judges no accesses.
CHECK: Final = "check"
#: The pass of findings about kernels' TTGIR; it judges no accesses.
ORDER: Final = "order"
#: Prefix of the names of passes with findings about whole runs, which add-ons judge.
OF_RUNS: Final = "run-"
#: The pass that adds another tool's device times to a run without device times.
JOIN: Final = "join"
#: The pass that adds the operators that PyTorch's DebugMode logged, and their category.
DEBUG_MODE: Final = "debug_mode"
#: The setting of a pass that did not reach all calls: ids of those `remaining`, and its `seconds`.
PARTIAL: Final = "partial"
#: The origin of kernels of which another tool recorded only executions: their maker is unknown.
IMPORTED: Final = "imported"
#: The message of what makes figures of an imported run uncertain.
IMPORT_UNCERTAIN: Final = "import-uncertain"
#: The origin of kernels that are written in Gluon, which have no TTIR.
GLUON: Final = "gluon"
#: The message of a run some of whose launches did not run, so that later contents of tensors differ
#: from a device's.
NOT_EVALUATED: Final = "not-evaluated"
#: The setting of an excerpt, which passes cannot analyze.
EXCERPT: Final = "excerpt"
#: The setting of a run whose artifacts other runs of the directory hold.
SHARED: Final = "shared_artifacts"
#: The setting of a run for the times of its executions; `SUMS`: only their total time is known.
TIMES: Final = "times"
SUMS: Final = "sums"
SEGMENT_SUFFIX: Final = ".arrows"
TEMPORARY_SUFFIX: Final = ".tmp"
_DAMAGED: Final = "damaged"
_SPOOL: Final = "spool="

_RUN_FOLDER = re.compile(r"run=(?P<run>[^/\\]+)")
_CLIENT_FOLDER = re.compile(r"client_[a-z0-9_]+")
_PART = re.compile(r"part-(?:(?P<pass>[a-z][a-z0-9_-]*)-)?(?P<number>\d{5,})\.parquet")
_TEMPORARY = re.compile(r"\.part-[^/\\]*-(?P<process>\d+)\.tmp")
_COMPACTION = re.compile(r"compaction-[0-9a-f]+-(?P<process>\d+)")
_SEGMENT = re.compile(r"(?P<table>[a-z_]+)-(?P<number>\d{5,})\.arrows")


def run_folder(out: Path, table: str, run_id: str) -> Path:
    """Return the folder with the parts of one table and run."""
    return out / table / f"run={run_id}"


def part_path(
    out: Path, table: str, run_id: str, number: int, pass_name: str | None = None
) -> Path:
    """Return the path of the part with this number, captured or of the pass `pass_name`."""
    pass_prefix = f"{pass_name}-" if pass_name else ""
    return run_folder(out, table, run_id) / f"part-{pass_prefix}{number:05d}.parquet"


class RunParts(NamedTuple):
    """Paths of parts in a run's folder: captured ones by number, then those of passes by name."""

    captured: dict[int, Path]
    of_passes: tuple[Path, ...]


def run_parts(folder: Path) -> RunParts:
    """Return the paths of the parts in a run's folder, both in ascending order.

    A pass's part that is kept beside the trace replaces the trace's part of the same name.
    """
    captured: dict[int, Path] = {}
    of_passes: dict[str, Path] = {}
    for listed in (folder, *run_folders_beside(folder)):
        for name in entry_names(listed):
            match = _PART.fullmatch(name)
            if match is None:
                continue
            if match["pass"] is not None:
                of_passes[name] = listed / name
            elif listed is folder:
                captured[int(match["number"])] = listed / name
    return RunParts(
        dict(sorted(captured.items())), tuple(of_passes[name] for name in sorted(of_passes))
    )


def part_numbers(folder: Path) -> dict[int, Path]:
    """Return the paths of captured parts in a run's folder by number, in ascending order."""
    return run_parts(folder).captured


def pass_parts(folder: Path, pass_name: str | None = None) -> tuple[Path, ...]:
    """Return the paths of a pass's parts in a run's folder, of all passes for None; sorted by name.

    Parts beside the trace as in `run_parts`.
    """
    paths = run_parts(folder).of_passes
    return tuple(path for path in paths if pass_name in (None, pass_of_part(path)))


def pass_of_part(path: Path) -> str:
    """Return the name of the pass whose part has this path."""
    return path.name.removeprefix("part-").rpartition("-")[0]


def replayed_parts(folder: Path) -> frozenset[Path]:
    """Return the paths of parts by passes that analyze every call (not `OBSERVED`, `OF_RUNS` …)."""
    special_parts = (part for name in (OBSERVED, CHECK, ORDER) for part in pass_parts(folder, name))
    run_pass_parts = (
        part for part in pass_parts(folder) if part.name.startswith(f"part-{OF_RUNS}")
    )
    return frozenset(pass_parts(folder)).difference(special_parts, run_pass_parts)


def journal_folder(out: Path, run_id: str) -> Path:
    """Return the folder with the journal of one run."""
    return out / JOURNAL / f"run={run_id}"


def reserve_path(out: Path, run_id: str) -> Path:
    """Return the path of a file that reserves space for the run's last row on a full disk."""
    return journal_folder(out, run_id) / ".reserve"


def segment_path(out: Path, run_id: str, table: str, number: int) -> Path:
    """Return the path of a journal segment, which becomes the part of the same number."""
    return journal_folder(out, run_id) / f"{table}-{number:05d}{SEGMENT_SUFFIX}"


def segments(out: Path, run_id: str) -> dict[str, dict[int, Path]]:
    """Return the paths of a run's journal segments by table and number, both in ascending order."""
    by_table: dict[str, dict[int, Path]] = {}
    folder = journal_folder(out, run_id)
    for name in sorted(entry_names(folder)):
        match = _SEGMENT.fullmatch(name)
        if match:
            by_table.setdefault(match["table"], {})[int(match["number"])] = folder / name
    return by_table


def aside_path(out: Path, run_id: str, segment: Path) -> Path:
    """Return the path to which a damaged segment is moved."""
    return out / JOURNAL / _DAMAGED / f"run={run_id}" / segment.name


def set_aside(path: Path, aside: Path) -> None:
    """Move a damaged file to the path `aside`, where kvtrace never removes the file."""
    make_folder(aside.parent)
    path.replace(aside)
    sync_folder(aside.parent)


def segments_aside(out: Path) -> tuple[Path, ...]:
    """Return the segments of all runs that were set aside."""
    return tuple(sorted((out / JOURNAL / _DAMAGED).glob(f"run=*/*{SEGMENT_SUFFIX}")))


def fetch(paths: Iterable[Path]) -> None:
    """Download those of `paths` that belong to opened remote traces; skip local paths."""
    by_folder: dict[RemoteFolder, list[Path]] = {}
    for path in paths:
        remote = remote_folder(path)
        if remote is not None:
            by_folder.setdefault(remote, []).append(path)
    for remote, remote_paths in by_folder.items():
        remote.fetch(remote_paths)


def refuse_irregular(path: Path) -> os.stat_result:
    """Return the `stat` of a file or a link to a file, downloaded first; raise for anything else.

    Opening a pipe would wait, and reading a device would not end.

    Raises:
        DamagedFile: the path is no file, or a link that leads nowhere.
        FileNotFoundError: the path does not exist.

    """
    fetch((path,))
    try:
        status = path.stat()
    except OSError as error:
        if not path.is_symlink():
            raise
        raise DamagedFile(
            f"{path} is a link to a missing file ({error.strerror}); replace it by the file"
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise DamagedFile(f"{path} is not a file; move it out of the trace")
    return status


def refuse_links(out: Path, runs: Collection[str] | None = None) -> None:
    """Raise TraceWriteError if a folder of a trace is a link: of a table, or of one of the runs.

    None are all runs; no run suffices to write a new one.

    Raises:
        TraceWriteError: a folder is a link: files outside of the trace would be changed.

    """
    for table in _entries(out):
        if runs is None:
            folders = _entries(table) if table.is_dir() else []
        else:
            folders = [run_folder(out, table.name, run) for run in runs]
        for folder in (table, *folders):
            if folder.is_symlink() and not folder.is_file():
                raise TraceWriteError(
                    f"{folder} is a link to a folder elsewhere, and kvtrace does not write through "
                    "links; replace it by the folder, or copy the trace"
                )


def client_folders(out: Path) -> tuple[str, ...]:
    """Return the names of all folders `client_<name>` in a trace, sorted."""
    return tuple(sorted(name for name in entry_names(out) if _CLIENT_FOLDER.fullmatch(name)))


def folders_with_parts(out: Path) -> set[str]:
    """Return the names of all folders in a trace, and of those with results beside it."""
    return {name for folder in (out, *folders_beside(out)) for name in entry_names(folder)}


def run_ids(folder: Path) -> tuple[str, ...]:
    """Return the ids of the folders `run=<id>` in a table's or journal's folder, oldest first."""
    matches = map(_RUN_FOLDER.fullmatch, entry_names(folder))
    return tuple(sorted(match["run"] for match in matches if match))


def spooled_runs(out: Path) -> tuple[str, ...]:
    """Return the ids of runs with a spool, oldest first."""
    names = entry_names(out / JOURNAL)
    return tuple(sorted(name.removeprefix(_SPOOL) for name in names if name.startswith(_SPOOL)))


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Create the file `path`: `write` fills a temporary file, which is synced and then renamed.

    Raises:
        OSError: neither the file nor the temporary file is left.

    """
    temporary = write_aside(path, write)
    try:
        temporary.replace(path)
    except BaseException:
        discard(temporary)
        raise
    sync_folder(path.parent)


def write_aside(path: Path, write: Callable[[Path], object]) -> Path:
    """Call `write` with a temporary path beside `path`, sync the file, and return its path.

    Readers skip the name, which has the process id: files of killed processes can be found.

    Raises:
        OSError: the temporary file is removed.

    """
    make_folder(path.parent)
    unique = f"{os.urandom(4).hex()}-{os.getpid()}"
    temporary = path.with_name(f".{path.name}.{unique}{TEMPORARY_SUFFIX}")
    try:
        write(temporary)
        sync_file(temporary)
    except BaseException:
        discard(temporary)
        raise
    return temporary


def make_folder(folder: Path) -> None:
    """Create a folder and missing parent folders, and sync their names to the disk."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def discard(temporary: Path) -> None:
    """Remove a temporary file; ignore errors."""
    with contextlib.suppress(OSError):
        temporary.unlink()


def is_temporary(name: str) -> bool:
    """Return whether a file's name is a temporary name of `write_aside`."""
    return _TEMPORARY.fullmatch(name) is not None


def left_behind(folder: Path) -> tuple[tuple[Path, int], ...]:
    """Return (path, process id of the writer) of each temporary file in a run's folder."""
    return _with_processes(folder, _TEMPORARY)


def compaction_folder(out: Path) -> Path:
    """Return a new path for the files of a compaction of this process."""
    return out / JOURNAL / f"compaction-{os.urandom(4).hex()}-{os.getpid()}"


def compaction_folders(out: Path) -> tuple[tuple[Path, int], ...]:
    """Return (path, process id) of each folder of a compaction, running or killed."""
    return _with_processes(out / JOURNAL, _COMPACTION)


def _with_processes(folder: Path, pattern: re.Pattern[str]) -> tuple[tuple[Path, int], ...]:
    matches = ((path, pattern.fullmatch(path.name)) for path in sorted(_entries(folder)))
    return tuple((path, int(match["process"])) for path, match in matches if match)


def sync_file(path: Path, flags: int = os.O_RDWR) -> None:
    """Write a file's content to the disk (fsync); `flags` are those of opening it."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class _DeferredSyncs(threading.local):
    """The folders that this thread syncs later; None if it syncs folders at once."""

    folders: dict[Path, None] | None = None


_deferred = _DeferredSyncs()


@contextmanager
def names_reach_disk_together() -> Iterator[None]:
    """Postpone this thread's `sync_folder` calls to the end of the context, each folder once.

    A disk takes as long to sync many names as one.
    """
    folders = _deferred.folders = {}
    try:
        yield
    finally:
        _deferred.folders = None
    for folder in folders:
        sync_folder(folder)


def sync_folder(path: Path) -> None:
    """Write a folder's entries to the disk (fsync), at once or deferred; nothing on Windows."""
    if os.name == "nt":
        return
    if _deferred.folders is not None:
        _deferred.folders[path] = None
        return
    sync_file(path, os.O_RDONLY)


def remove_journal(out: Path, run_id: str) -> None:
    """Remove a sealed run's journal. `out/.journal` stays: another run may be about to start."""
    shutil.rmtree(journal_folder(out, run_id))
    remove_spool(out, run_id)


def remove_spool(out: Path, run_id: str) -> None:
    """Remove the files of a run's spool, if it has one, and its memory."""
    shutil.rmtree(spool_folder(out, run_id), ignore_errors=True)
    memory_path(run_id).unlink(missing_ok=True)


def remove_kept_times(out: Path) -> None:
    """Remove figures that are kept of runs, which can be added up again."""
    if (out / KEPT_TIMES).exists():
        shutil.rmtree(out / KEPT_TIMES)


def _entries(folder: Path) -> list[Path]:
    return [folder / name for name in entry_names(folder)]


def entry_names(folder: Path) -> list[str]:
    """Return the names of a folder's entries; none of a folder that does not exist."""
    remote = remote_folder(folder)
    if remote is not None:
        return [path.name for path in remote.entries(folder)]
    try:
        return os.listdir(folder)  # noqa: PTH208 - paths of all entries would take longer
    except (FileNotFoundError, NotADirectoryError):
        return []


# -- ids of runs -----------------------------------------------------------------------------------


def new_run_id() -> str:
    """Return a new run id, unique among processes and sorted by time: UTC in ms, 32 random bits."""
    return f"{first_run_id(time.time_ns())}-{os.urandom(4).hex()}"


def first_run_id(time_ns: int) -> str:
    """Return the beginning of the ids of runs that begin in a millisecond; no such id is smaller.

    `time_ns` is in ns since 1970.
    """
    seconds, nanoseconds = divmod(time_ns, 1_000_000_000)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
    return f"{stamp}-{nanoseconds // 1_000_000:03d}"


# -- results of passes that are not written to a trace, read as parts of the trace -----------------
# For example, findings of only some calls, which other commands must not take for all, and results
# for a trace that cannot be written.


#: The open temporary folders by the trace's folder, oldest first.
_FOLDERS: Final[dict[Path, list[Path]]] = {}


@contextmanager
def results_beside(out: Path) -> Iterator[None]:
    """Read a trace with results that passes keep outside of it, until the context ends."""
    with tempfile.TemporaryDirectory(prefix="kvtrace-results-") as name:
        folders = _FOLDERS.setdefault(out, [])
        folder = Path(name)
        folders.append(folder)
        try:
            yield
        finally:
            folders.remove(folder)
            if not folders:
                del _FOLDERS[out]


def folder_beside(out: Path) -> Path | None:
    """Return the newest folder for results of a trace that are not written to it, if one is open.

    It is laid out as a trace.
    """
    folders = folders_beside(out)
    return folders[-1] if folders else None


def folders_beside(out: Path) -> tuple[Path, ...]:
    """Return the open folders for results of a trace that are not written to it, oldest first."""
    return tuple(_FOLDERS.get(out, ()))


def run_folders_beside(run_folder: Path) -> list[Path]:
    """Return the folders with further parts for a table's and run's folder in a trace."""
    if not _FOLDERS:
        return []
    table, run = run_folder.parts[-2:]
    return [folder / table / run for folder in folders_beside(run_folder.parent.parent)]
