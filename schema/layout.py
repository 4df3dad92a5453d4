"""Where the files of a trace lie, and how they get there whole: temporary name, fsync, rename."""

import contextlib
import os
import re
import secrets
import shutil
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kvtrace.schema.errors import DamagedFile, TraceWriteError
from kvtrace.schema.remote import RemoteFolder, remote_folder
from kvtrace.schema.spool import spool_folder

JOURNAL: Final = ".journal"
#: The pass, and the method, of findings that the run itself saw; judging it leaves them alone.
OBSERVED: Final = "observed"
#: The pass of findings about what a device computed; it judges no accesses.
CHECK: Final = "check"
#: The pass of findings about kernels' TTGIR; it judges no accesses.
ORDER: Final = "order"
#: So begin the names of passes of findings about whole runs, which add-ons judge.
OF_RUNS: Final = "run-"
#: The pass that adds device times which another tool took to a run that has none of them.
JOIN: Final = "join"
#: The origin of kernels of which another tool recorded executions alone: their make is unknown.
IMPORTED: Final = "imported"
#: The origin of kernels that are written in Gluon, which have no TTIR.
GLUON: Final = "gluon"
#: The message of a run some launches of which did not run, so that what tensors held after them is
#: not what a device would have left there.
NOT_EVALUATED: Final = "not-evaluated"
#: The setting of a run that says that it is an excerpt: passes cannot look at it any more.
EXCERPT: Final = "excerpt"
#: The setting of a run that says that other runs of its directory hold its artifacts.
SHARED: Final = "shared_artifacts"
#: The setting of a run that says what is known of when its executions ran: with `SUMS` only how
#: long they took together.
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
    """The folder with the parts of one table and run."""
    return out / table / f"run={run_id}"


def part_path(
    out: Path, table: str, run_id: str, number: int, pass_name: str | None = None
) -> Path:
    """The file of one part; those of a pass carry its name."""
    owner = f"{pass_name}-" if pass_name else ""
    return run_folder(out, table, run_id) / f"part-{owner}{number:05d}.parquet"


def part_numbers(folder: Path) -> dict[int, Path]:
    """The captured parts in a run's folder by number, in order."""
    found = {}
    for path in _entries(folder):
        match = _PART.fullmatch(path.name)
        if match and match["pass"] is None:
            found[int(match["number"])] = path
    return dict(sorted(found.items()))


def pass_parts(folder: Path, pass_name: str | None = None) -> tuple[Path, ...]:
    """The derived parts in a run's folder, of one pass or of all, in order."""
    found = []
    for path in _entries(folder):
        match = _PART.fullmatch(path.name)
        if match and match["pass"] and pass_name in (None, match["pass"]):
            found.append(path)
    return tuple(sorted(found))


def replayed_parts(folder: Path) -> frozenset[Path]:
    """The derived parts in a run's folder by passes that went through all its calls."""
    others = (part for name in (OBSERVED, CHECK, ORDER) for part in pass_parts(folder, name))
    of_runs = (part for part in pass_parts(folder) if part.name.startswith(f"part-{OF_RUNS}"))
    return frozenset(pass_parts(folder)).difference(others, of_runs)


def journal_folder(out: Path, run_id: str) -> Path:
    """The folder with the journal of one run."""
    return out / JOURNAL / f"run={run_id}"


def reserve_path(out: Path, run_id: str) -> Path:
    """Path of a file that only keeps room for the run's last row on a disk that fills up."""
    return journal_folder(out, run_id) / ".reserve"


def segment_path(out: Path, run_id: str, table: str, number: int) -> Path:
    """The file of one journal segment; it is sealed into the part of the same number."""
    return journal_folder(out, run_id) / f"{table}-{number:05d}{SEGMENT_SUFFIX}"


def segments(out: Path, run_id: str) -> dict[str, dict[int, Path]]:
    """The journal segments of a run: table, then number, in order."""
    found: dict[str, dict[int, Path]] = {}
    for path in sorted(_entries(journal_folder(out, run_id))):
        match = _SEGMENT.fullmatch(path.name)
        if match:
            found.setdefault(match["table"], {})[int(match["number"])] = path
    return found


def aside_path(out: Path, run_id: str, segment: Path) -> Path:
    """Where a segment is kept that could not be read whole."""
    return out / JOURNAL / _DAMAGED / f"run={run_id}" / segment.name


def set_aside(path: Path, aside: Path) -> None:
    """Move a file to where it is out of the way, and nothing removes it."""
    make_folder(aside.parent)
    path.replace(aside)
    sync_folder(aside.parent)


def segments_aside(out: Path) -> tuple[Path, ...]:
    """The segments that were set aside, of all runs."""
    return tuple(sorted((out / JOURNAL / _DAMAGED).glob(f"run=*/*{SEGMENT_SUFFIX}")))


def fetch(paths: Iterable[Path]) -> None:
    """Have files on this machine before they are opened, where the trace is elsewhere."""
    by_folder: dict[RemoteFolder, list[Path]] = {}
    for path in paths:
        folder = remote_folder(path)
        if folder is not None:
            by_folder.setdefault(folder, []).append(path)
    for folder, wanted in by_folder.items():
        folder.fetch(wanted)


def refuse_irregular(path: Path) -> os.stat_result:
    """See that a path is a file, or a link to one, before it is opened; return what is known of it.

    A pipe would be waited for, and a device read without end.

    Raises:
        DamagedFile: it is something else, or a link that leads nowhere.
        FileNotFoundError: there is nothing.

    """
    fetch((path,))
    try:
        facts = path.stat()
    except OSError as error:
        if not path.is_symlink():
            raise
        raise DamagedFile(
            f"{path} is a link that leads nowhere ({error.strerror}); put the file itself there"
        ) from error
    if not stat.S_ISREG(facts.st_mode):
        raise DamagedFile(f"{path} is not a file; move it out of the trace")
    return facts


def refuse_links(out: Path, *, runs: bool = True) -> None:
    """See that no folder of a trace is a link, before anything in it is written or removed.

    Without `runs` only folders of tables are searched, for a run with new files.

    Raises:
        TraceWriteError: one is: what would be written, or removed, is not the trace's own.

    """
    for table in _entries(out):
        for folder in (table, *(_entries(table) if runs and table.is_dir() else ())):
            if folder.is_symlink() and not folder.is_file():
                raise TraceWriteError(
                    f"{folder} is a link to a folder elsewhere, and nothing is written through "
                    "links; put the folder itself there, or copy the trace"
                )


def client_folders(out: Path) -> tuple[str, ...]:
    """The names of the tables that clients have brought along."""
    found = (path.name for path in _entries(out) if _CLIENT_FOLDER.fullmatch(path.name))
    return tuple(sorted(found))


def run_ids(folder: Path) -> tuple[str, ...]:
    """The runs that have a folder here (`out/runs`, `out/.journal` …), oldest first."""
    matches = (_RUN_FOLDER.fullmatch(path.name) for path in _entries(folder))
    return tuple(sorted(match["run"] for match in matches if match))


def spooled_runs(out: Path) -> tuple[str, ...]:
    """The runs that have a spool, oldest first."""
    names = (path.name for path in _entries(out / JOURNAL))
    return tuple(sorted(name.removeprefix(_SPOOL) for name in names if name.startswith(_SPOOL)))


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` make a file that appears under its name only when it is whole and on disk.

    Raises:
        OSError: nothing is left under either name.

    """
    temporary = write_aside(path, write)
    try:
        temporary.replace(path)
    except BaseException:
        discard(temporary)
        raise
    sync_folder(path.parent)


def write_aside(path: Path, write: Callable[[Path], None]) -> Path:
    """Let `write` make a file beside `path`, under a temporary name that readers skip.

    The name ends with the process's id, to identify what a killed process left.

    Raises:
        OSError: nothing is left.

    """
    make_folder(path.parent)
    unique = f"{secrets.token_hex(4)}-{os.getpid()}"
    temporary = path.with_name(f".{path.name}.{unique}{TEMPORARY_SUFFIX}")
    try:
        write(temporary)
        sync_file(temporary)
    except BaseException:
        discard(temporary)
        raise
    return temporary


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, and have their names reach the disk."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def discard(temporary: Path) -> None:
    """Remove a temporary file, if that is possible; it is not a reason for a second error."""
    with contextlib.suppress(OSError):
        temporary.unlink()


def is_temporary(name: str) -> bool:
    """Whether a file's name is one that `write_aside` gives to parts."""
    return _TEMPORARY.fullmatch(name) is not None


def left_behind(folder: Path) -> tuple[tuple[Path, int], ...]:
    """Temporary files in a run's folder, and the processes that wrote them."""
    found = []
    for path in sorted(_entries(folder)):
        match = _TEMPORARY.fullmatch(path.name)
        if match:
            found.append((path, int(match["process"])))
    return tuple(found)


def compaction_folder(out: Path) -> Path:
    """A folder for what a compaction of this process makes; its name is nobody else's."""
    return out / JOURNAL / f"compaction-{secrets.token_hex(4)}-{os.getpid()}"


def compaction_folders(out: Path) -> tuple[tuple[Path, int], ...]:
    """The folders of compactions that are running or were killed, and their processes."""
    found = []
    for path in sorted(_entries(out / JOURNAL)):
        match = _COMPACTION.fullmatch(path.name)
        if match:
            found.append((path, int(match["process"])))
    return tuple(found)


def sync_file(path: Path) -> None:
    """Have a file's content reach the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class _Held(threading.local):
    """Folders whose names reach the disk later; None: at once."""

    folders: dict[Path, None] | None = None


_held = _Held()


@contextmanager
def names_reach_disk_together() -> Iterator[None]:
    """Have the names of what this thread makes inside reach the disk at the end of it.

    A disk takes as long for one name as for many, and waits for each that it is asked for alone.
    """
    folders = _held.folders = {}
    try:
        yield
    finally:
        _held.folders = None
    for folder in folders:
        sync_folder(folder)


def sync_folder(path: Path) -> None:
    """Have a folder's names reach the disk, where the system can do that (not on Windows)."""
    if os.name == "nt":
        return
    if _held.folders is not None:
        _held.folders[path] = None
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_journal(out: Path, run_id: str) -> None:
    """Remove a sealed run's journal. `out/.journal` stays: another run may be about to start."""
    shutil.rmtree(journal_folder(out, run_id))
    shutil.rmtree(spool_folder(out, run_id), ignore_errors=True)


def _entries(folder: Path) -> list[Path]:
    remote = remote_folder(folder)
    if remote is not None:
        return remote.entries(folder)
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
