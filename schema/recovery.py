"""Recovery of runs of killed processes: journals become Parquet parts, leftovers are removed."""

import os
import platform
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kvtrace.schema.columns import batch_of_rows
from kvtrace.schema.errors import KvtraceError, NewerFormat, TraceWriteError
from kvtrace.schema.features import (
    FEATURE_COLUMNS,
    features_of_rows,
    features_of_run,
    keeps_sums_of_dropped,
)
from kvtrace.schema.layout import (
    JOURNAL,
    client_folders,
    compaction_folders,
    discard,
    journal_folder,
    left_behind,
    part_numbers,
    part_path,
    refuse_links,
    remove_journal,
    remove_spool,
    run_folder,
    run_ids,
    segments,
    spooled_runs,
)
from kvtrace.schema.older_parts import remove_uncounted
from kvtrace.schema.parts import write_part
from kvtrace.schema.plans import carry_out, carry_out_removal, unfinished
from kvtrace.schema.reading import journal_runs_row, quietly, run_pieces
from kvtrace.schema.sealing import Loss, seal_segment
from kvtrace.schema.spool import spool_folder
from kvtrace.schema.spooled import add_spool_to_journal, read_spool
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.versions import FORMAT_VERSION, captured_facts

#: Seconds for which a journal without a row of `runs` may be of a process that has just begun.
_NEWBORN_SECONDS: Final = 60.0
#: Seconds by which a process may seem to begin after its recording, as clocks of ticks are coarse.
_TICK_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """Result of `recover`: sealed runs, reasons by skipped run (`left`), and notes on losses."""

    sealed: tuple[str, ...] = ()
    left: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def recover(out: str | os.PathLike[str], force: bool = False) -> Recovery:
    """Seal the runs of dead processes, complete plans and remove leftovers of killed processes.

    A run keeps its journal's facts about the end; without any, `ended` stays null and `ending` is
    "killed". Journals of living processes, and without `force` of processes on other hosts, which
    may be alive, are skipped. A second call changes nothing.

    Raises:
        TraceNotFound, EmptyTrace: as `open_trace`.
        TraceWriteError: the disk is full, or a folder is a link; the journal is still there.

    """
    folder = Path(out) if _has_only_spools(Path(out)) else open_trace(out).path
    refuse_links(folder)
    sealed: list[str] = []
    skipped: dict[str, str] = {}
    notes: list[str] = []
    for run_id in sorted({*run_ids(folder / JOURNAL), *spooled_runs(folder)}):
        try:
            row = _provisional_row(folder, run_id)
            reason = None if _is_sealed(folder, run_id) else may_live(folder, run_id, row, force)
            if reason is not None:
                skipped[run_id] = reason
                continue
            if row is None and not journal_folder(folder, run_id).exists():
                remove_spool(folder, run_id)  # killed before a byte was written
                continue
            _seal_run(folder, run_id, row, notes)
            sealed.append(run_id)
        except FileNotFoundError:
            skipped[run_id] = (
                "its process, or another kvtrace trace recover, is sealing it right now"
            )
        except OSError as error:
            raise TraceWriteError(
                f"run {run_id} in {folder} cannot be sealed ({error.strerror or error}); make "
                "room and run kvtrace trace recover again, the journal is still there"
            ) from error
        except KvtraceError as error:
            skipped[run_id] = str(error)
    _complete_plans(folder, notes)
    _remove_leftovers(folder)
    return Recovery(tuple(sealed), skipped, tuple(notes))


def _has_only_spools(folder: Path) -> bool:
    """Return whether a folder has spools, but no run with a row or journal."""
    if run_ids(folder / "runs") or run_ids(folder / JOURNAL):
        return False
    return bool(spooled_runs(folder))


def _provisional_row(folder: Path, run_id: str) -> dict[str, Any] | None:
    """Return the run's row as the journal has it, else as the spool has it."""
    row = journal_runs_row(folder, run_id, quietly)
    return read_spool(folder, run_id).run if row is None else row


def may_live(out: Path, run_id: str, row: dict[str, Any] | None, force: bool = False) -> str | None:
    """Return the reason why a run may still be recording, or None if its process is dead.

    `force` takes processes on other hosts, and without a row of `runs`, for dead.
    """
    if row is None or row.get("pid") is None:
        age = time.time() - _last_write_seconds(
            journal_folder(out, run_id), spool_folder(out, run_id)
        )
        return "its process has just started" if age < _NEWBORN_SECONDS and not force else None
    if row["host"] not in (None, platform.node()):
        if force:
            return None
        return f"it is recorded on {row['host']}; recover it there, or with --force if it is dead"
    if not _is_alive(row["pid"], row["started"]):
        return None
    return f"its process {row['pid']} is still running"


def _last_write_seconds(*folders: Path) -> float:
    """Return the newest modification time in folders that exist, in seconds since 1970."""
    existing_folders = [folder for folder in folders if folder.exists()]
    paths = (path for folder in existing_folders for path in (folder, *folder.iterdir()))
    return max(path.stat().st_mtime for path in paths)


def is_running(pid: int) -> bool:
    """Return whether a process with this id runs on this machine; zombies do not count."""
    if os.name == "nt":
        return _is_running_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _seal_run(out: Path, run_id: str, row: dict[str, Any] | None, notes: list[str]) -> None:
    """Seal a run: first parts, then messages about losses, then the run's row; add to `notes`."""
    if not _is_sealed(out, run_id):
        added_text = add_spool_to_journal(out, run_id)
        notes += [] if added_text is None else [f"run {run_id}: {added_text}"]
        row = row or journal_runs_row(out, run_id, quietly)
    losses = _seal_segments(out, run_id)
    messages = [loss.message(out, run_id) for loss in losses]
    if messages:
        notes += [f"run {run_id}: {message['text']}" for message in messages]
        _add_messages(out, run_id, messages)
    try:
        if keeps_sums_of_dropped(dict((row or {}).get("settings") or ())):
            remove_uncounted(out, run_id)
    except KvtraceError as error:
        notes.append(f"run {run_id}: {error}")
    if not _is_sealed(out, run_id):  # sealed if killed before the journal was removed
        known_columns = {name: value for name, value in (row or {}).items() if value is not None}
        final_row = {
            "run_id": run_id,
            "schema_version": FORMAT_VERSION,
            "ending": "killed",
            **known_columns,
        }
        lost_rows = sum(loss.rows for loss in losses if loss.table != "runs")
        if lost_rows:
            final_row["dropped_rows"] = final_row.get("dropped_rows", 0) + lost_rows
        final_row["required_features"] = sorted(
            features_of_run(final_row) | _features_of_parts(out, run_id, notes)
        )
        write_part(
            part_path(out, "runs", run_id, 0),
            TABLES["runs"],
            captured_facts("runs", run_id),
            [batch_of_rows(TABLES["runs"], [final_row])],
        )
    for loss in losses:
        loss.retire(out, run_id)
    remove_journal(out, run_id)


def _features_of_parts(out: Path, run_id: str, notes: list[str]) -> set[str]:
    """Return what the rows of a run's parts require: a killed run may not have named all of it."""
    features: set[str] = set()
    for table, names in FEATURE_COLUMNS.items():
        try:
            for piece in run_pieces(out, TABLES[table], run_id, names, quietly):
                features.update(*(features_of_rows(table, b) for b in piece.to_batches()))
        except KvtraceError as error:
            notes.append(f"run {run_id}: {error}")
    return features


def _seal_segments(out: Path, run_id: str) -> list[Loss]:
    """Write segments of all tables but `runs` as parts; return losses in the journal."""
    by_table = segments(out, run_id)
    unknown_tables = sorted(by_table.keys() - TABLES.keys())
    if unknown_tables:
        raise NewerFormat(
            f"it has rows of {', '.join(unknown_tables)}, unknown to this version; recover it with "
            "a newer kvtrace"
        )
    losses = []
    for name, paths_by_number in by_table.items():
        for segment_number, segment in paths_by_number.items():
            path = None if name == "runs" else part_path(out, name, run_id, segment_number)
            facts = captured_facts(name, run_id)
            loss = seal_segment(segment, path, TABLES[name], facts)
            if loss is not None:
                losses.append(loss)
            elif name != "runs":
                segment.unlink()  # space for the next part on a full disk
    return losses


def _add_messages(out: Path, run_id: str, rows: list[dict[str, Any]]) -> None:
    numbers = part_numbers(run_folder(out, "messages", run_id))
    write_part(
        part_path(out, "messages", run_id, max(numbers, default=-1) + 1),
        TABLES["messages"],
        captured_facts("messages", run_id),
        [batch_of_rows(TABLES["messages"], rows)],
    )


def _is_sealed(out: Path, run_id: str) -> bool:
    return bool(part_numbers(run_folder(out, "runs", run_id)))


def _complete_plans(out: Path, notes: list[str]) -> None:
    pruned = "an interrupted kvtrace trace prune was completed: its runs are removed"
    replaced = "the results of a killed pass were put in place"
    plans = (
        *((path, carry_out_removal, pruned) for path in unfinished(out, "removal")),
        *((path, carry_out, replaced) for path in unfinished(out)),
    )
    for path, complete, note in plans:
        try:
            complete(out, path)
            notes.append(note)
        except KvtraceError as error:
            notes.append(str(error))
        except OSError as error:
            raise TraceWriteError(
                f"interrupted changes of {out} cannot be completed ({error.strerror or error}); "
                "run kvtrace trace recover again"
            ) from error


def _remove_leftovers(out: Path) -> None:
    for name in (*TABLES, *client_folders(out)):
        for run_id in run_ids(out / name):
            for path, process in left_behind(run_folder(out, name, run_id)):
                if not is_running(process):
                    discard(path)
    remove_dead_compactions(out)


def remove_dead_compactions(out: Path) -> None:
    """Remove the folders of compactions whose process is dead; their files are copies."""
    for path, process in compaction_folders(out):
        if not is_running(process):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(pid: int, started: int | None) -> bool:
    if not is_running(pid):
        return False
    began = _process_start(pid)
    if began is None or started is None:
        return True
    # A process that began after the recording has reused the dead process's id.
    return began <= started / 1e9 + _TICK_SECONDS


def _is_zombie(pid: int) -> bool:
    """Return whether a process has ended, but is still listed for its parent (Linux: proc(5))."""
    fields = _stat_fields(pid)
    return fields is not None and fields[0] == "Z"


def _process_start(pid: int) -> float | None:
    """Return when a process began, in seconds since 1970; None on systems without /proc.

    From field 22 of /proc/PID/stat, in clock ticks since boot, and btime of /proc/stat: proc(5).
    """
    fields = _stat_fields(pid)
    if fields is None:
        return None
    for line in Path("/proc/stat").read_text(encoding="utf-8").splitlines():
        if line.startswith("btime "):
            return int(line.split()[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return None


def _stat_fields(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the third (state) on; None without such a file."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _is_running_on_windows(pid: int) -> bool:
    """Return whether a process runs on Windows, where os.kill would end the process."""
    import ctypes

    query_limited_information = 0x1000
    still_active = 259
    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined, unused-ignore]
    handle = kernel.OpenProcess(query_limited_information, False, pid)
    if not handle:
        return False
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return code.value == still_active
