"""Sealing what killed processes left: their journals become Parquet parts, their leavings go."""

import os
import platform
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kvtrace.schema.columns import batch_of_rows
from kvtrace.schema.errors import KvtraceError, NewerFormat, TraceWriteError
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
    run_folder,
    run_ids,
    segments,
    spooled_runs,
)
from kvtrace.schema.parts import write_part
from kvtrace.schema.reading import journal_runs_row, quietly
from kvtrace.schema.removal import carry_out_removal, unfinished_removals
from kvtrace.schema.replacement import carry_out, unfinished
from kvtrace.schema.sealing import Loss, seal_segment
from kvtrace.schema.spool import spool_folder
from kvtrace.schema.spooled import read_spool, take_in
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.versions import FORMAT_VERSION, captured_facts

#: A journal with no row of `runs` yet may be of a process that has just begun.
_NEWBORN_SECONDS: Final = 60.0
#: How much later than its recording a process may seem to have begun; clocks of ticks are coarse.
_TICK_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """What `recover` did: runs it sealed, and runs it left alone with the reason."""

    sealed: tuple[str, ...] = ()
    left: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def recover(out: str | os.PathLike[str], force: bool = False) -> Recovery:
    """Seal the journals of dead processes; the rest of the trace stays as it is.

    A run keeps what its journal says of its end; where that is nothing, `ended` stays null and
    `ending` is "killed". Journals of processes that live, or that ran on another host and so may
    live, are left alone, the latter unless `force` is given. Calling it again changes nothing.

    Raises:
        TraceNotFound, EmptyTrace: as `open_trace`.
        TraceWriteError: the disk is full, or a folder is a link; the journal is still there.

    """
    folder = Path(out) if _has_only_spools(Path(out)) else open_trace(out).path
    refuse_links(folder)
    sealed: list[str] = []
    left: dict[str, str] = {}
    notes: list[str] = []
    for run_id in sorted({*run_ids(folder / JOURNAL), *spooled_runs(folder)}):
        try:
            row = _provisional_row(folder, run_id)
            reason = None if _is_sealed(folder, run_id) else may_live(folder, run_id, row, force)
            if reason is not None:
                left[run_id] = reason
                continue
            if row is None and not journal_folder(folder, run_id).exists():
                shutil.rmtree(spool_folder(folder, run_id))  # killed before a byte was written
                continue
            _seal(folder, run_id, row, notes)
            sealed.append(run_id)
        except FileNotFoundError:
            left[run_id] = "its process, or another kvtrace trace recover, is sealing it right now"
        except OSError as error:
            raise TraceWriteError(
                f"run {run_id} in {folder} cannot be sealed ({error.strerror or error}); make "
                "room and run kvtrace trace recover again, the journal is still there"
            ) from error
        except KvtraceError as error:
            left[run_id] = str(error)
    _finish_replacements(folder, notes)
    _remove_leavings(folder)
    return Recovery(tuple(sealed), left, tuple(notes))


def _has_only_spools(folder: Path) -> bool:
    """Whether all that is there was left by processes that died before they had a journal."""
    if run_ids(folder / "runs") or run_ids(folder / JOURNAL):
        return False
    return bool(spooled_runs(folder))


def _provisional_row(folder: Path, run_id: str) -> dict[str, Any] | None:
    """What a journal, or else a spool, says of its run."""
    row = journal_runs_row(folder, run_id, quietly)
    return read_spool(folder, run_id).run if row is None else row


def may_live(out: Path, run_id: str, row: dict[str, Any] | None, force: bool = False) -> str | None:
    """Why a journalled run may still be recording, or None if its process is dead."""
    if row is None or row.get("pid") is None:
        age = time.time() - _last_change(journal_folder(out, run_id), spool_folder(out, run_id))
        return "its process has just started" if age < _NEWBORN_SECONDS and not force else None
    if row["host"] not in (None, platform.node()):
        if force:
            return None
        return f"it is recorded on {row['host']}; recover it there, or with --force if it is dead"
    if not _is_alive(row["pid"], row["started"]):
        return None
    return f"its process {row['pid']} is still running"


def _last_change(*folders: Path) -> float:
    """When a journal or its spool was last written to, in seconds since 1970."""
    there = [folder for folder in folders if folder.exists()]
    paths = (path for folder in there for path in (folder, *folder.iterdir()))
    return max(path.stat().st_mtime for path in paths)


def is_running(pid: int) -> bool:
    """Whether a process of that id runs on this machine."""
    if os.name == "nt":
        return _is_running_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _seal(out: Path, run_id: str, row: dict[str, Any] | None, notes: list[str]) -> None:
    """Seal a run: parts first, then messages about losses, then the run's own row."""
    if not _is_sealed(out, run_id):
        taken_in = take_in(out, run_id)
        notes += [] if taken_in is None else [f"run {run_id}: {taken_in}"]
        row = row or journal_runs_row(out, run_id, quietly)
    losses = _seal_segments(out, run_id)
    messages = [loss.message(out, run_id) for loss in losses]
    if messages:
        notes += [f"run {run_id}: {message['text']}" for message in messages]
        _add_messages(out, run_id, messages)
    if not _is_sealed(out, run_id):  # it is, if killed between sealing and removing the journal
        found = {name: value for name, value in (row or {}).items() if value is not None}
        final = {"run_id": run_id, "schema_version": FORMAT_VERSION, "ending": "killed", **found}
        lost = sum(loss.rows for loss in losses if loss.table != "runs")
        if lost:
            final["dropped_rows"] = final.get("dropped_rows", 0) + lost
        write_part(
            part_path(out, "runs", run_id, 0),
            TABLES["runs"],
            captured_facts("runs", run_id),
            [batch_of_rows(TABLES["runs"], [final])],
        )
    for loss in losses:
        loss.retire(out, run_id)
    remove_journal(out, run_id)


def _seal_segments(out: Path, run_id: str) -> list[Loss]:
    """Write the parts of every table but `runs`; return what is lost."""
    found = segments(out, run_id)
    unknown = sorted(found.keys() - TABLES.keys())
    if unknown:
        raise NewerFormat(
            f"it has rows of {', '.join(unknown)}, which this kvtrace does not know; recover it "
            "with a newer kvtrace"
        )
    losses = []
    for name, numbered in found.items():
        for number, segment in numbered.items():
            path = None if name == "runs" else part_path(out, name, run_id, number)
            facts = captured_facts(name, run_id)
            loss = seal_segment(segment, path, TABLES[name], facts)
            if loss is not None:
                losses.append(loss)
            elif name != "runs":
                segment.unlink()  # room for the next where the disk is full
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


def _finish_replacements(out: Path, notes: list[str]) -> None:
    found = (
        (
            unfinished_removals,
            carry_out_removal,
            "runs that kvtrace trace prune was removing are gone",
        ),
        (unfinished, carry_out, "the results of a pass that was killed were put in place"),
    )
    for path, finish, text in ((path, f, text) for left, f, text in found for path in left(out)):
        try:
            finish(out, path)
            notes.append(text)
        except KvtraceError as error:
            notes.append(str(error))
        except OSError as error:
            raise TraceWriteError(
                f"what was begun in {out} cannot be finished ({error.strerror or error}); run "
                "kvtrace trace recover again"
            ) from error


def _remove_leavings(out: Path) -> None:
    for name in (*TABLES, *client_folders(out)):
        for run_id in run_ids(out / name):
            for path, process in left_behind(run_folder(out, name, run_id)):
                if not is_running(process):
                    discard(path)
    remove_left_compactions(out)


def remove_left_compactions(out: Path) -> None:
    """Remove what killed compactions left; nothing in it belongs to the trace."""
    for path, process in compaction_folders(out):
        if not is_running(process):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(pid: int, started: int | None) -> bool:
    if not is_running(pid):
        return False
    began = _process_start(pid)
    if began is None or started is None:
        return True
    # A process that began after the recording got the id of the dead one.
    return began <= started / 1e9 + _TICK_SECONDS


def _is_zombie(pid: int) -> bool:
    """Whether the process has ended and only waits for its parent to notice (Linux: proc(5))."""
    fields = _stat_fields(pid)
    return fields is not None and fields[0] == "Z"


def _process_start(pid: int) -> float | None:
    """When a process began, in seconds since 1970; None where the system does not say.

    From field 22 of /proc/PID/stat, in clock ticks since boot, and btime of /proc/stat: proc(5).
    """
    fields = _stat_fields(pid)
    if fields is None:
        return None
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith("btime "):
            return int(line.split()[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return None


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the third (state) on; None where there is no such file."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _is_running_on_windows(pid: int) -> bool:
    """Ask the kernel: os.kill would end the process there."""
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
