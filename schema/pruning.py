"""Pruning: removal of whole runs, or of derived tables, by age, number and size.

The runs of one group, which are the ranks of one job, are removed or stay together, and the newest
group always stays. The trace stays valid whenever the process is killed.
"""

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.columns import conformed
from kvtrace.schema.errors import BadSetting, TraceWriteError
from kvtrace.schema.layout import (
    JOURNAL,
    SHARED,
    client_folders,
    part_numbers,
    part_path,
    pass_of_part,
    pass_parts,
    refuse_links,
    remove_kept_times,
    run_folder,
    run_ids,
)
from kvtrace.schema.parts import write_part
from kvtrace.schema.plans import (
    Replacement,
    carry_out,
    carry_out_removal,
    commit,
    commit_removal,
    unfinished,
)
from kvtrace.schema.privacy import made_by_the_run
from kvtrace.schema.reading import quietly, run_rows
from kvtrace.schema.runs import Run
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Trace, open_trace
from kvtrace.schema.versions import captured_facts

_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class PrunedRun:
    """A removed run (after a dry run: to be removed), its bytes, and with `derived` its passes."""

    run_id: str
    started: int | None
    size_bytes: int
    passes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pruning:
    """Result of `prune`: removed runs, what remains, and reasons by run in use (`left`)."""

    dropped: tuple[PrunedRun, ...] = ()
    runs_left: int = 0
    bytes_left: int = 0
    left: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _RunGroup:
    """The runs of one group, the newest run's start (ns since 1970), and each run's bytes.

    `busy`: one of the runs has a journal.
    """

    runs: tuple[Run, ...]
    started: int
    sizes: tuple[int, ...]
    busy: bool


def prune(
    out: str | os.PathLike[str],
    *,
    keep_last: int | None = None,
    older_than_seconds: float | None = None,
    max_bytes: int | None = None,
    derived: bool = False,
    dry_run: bool = False,
) -> Pruning:
    """Remove the oldest runs of a trace, group by group, or with `derived` their derived tables.

    Args:
        out: the trace.
        keep_last: number of newest groups that always stay; alone, all others are removed.
        older_than_seconds: remove groups whose newest run began longer ago.
        max_bytes: remove the oldest groups until the trace is not larger.
        derived: remove only derived tables, except those that only the recording could make;
            without other arguments, of all runs.
        dry_run: return what would be removed, and change nothing.

    Raises:
        TraceNotFound, EmptyTrace: as `open_trace`.
        BadSetting: no criterion was given, or a number is invalid.
        DamagedFile, NewerFormat: a file cannot be read; nothing is removed.
        TraceWriteError: a file cannot be removed, or a folder is a link; the trace is valid.

    """
    criteria = (keep_last, older_than_seconds, max_bytes)
    if not derived and criteria == (None, None, None):
        raise BadSetting(
            "say which runs to remove: --keep-last, --older-than, --max-bytes or --derived"
        )
    if any(amount is not None and amount < 1 for amount in (keep_last, max_bytes)):
        raise BadSetting("--keep-last and --max-bytes must be numbers above 0")
    trace = open_trace(out)
    refuse_links(trace.path)
    try:
        if not dry_run:
            complete_plans(trace.path)
            trace = open_trace(out)
        total_bytes = sum(_stored_bytes(trace, run_id) for run_id in trace.run_ids)
        jobs, skipped = _run_groups(trace, derived)
        removed_groups = _groups_to_remove(jobs, keep_last, older_than_seconds, max_bytes, derived)
        dropped = [
            PrunedRun(
                run.run_id,
                run.started,
                size,
                _repeatable_passes(trace, run.run_id) if derived else (),
            )
            for group in removed_groups
            for run, size in zip(group.runs, group.sizes, strict=True)
            if size or not derived
        ]
        if not dry_run and derived:
            _remove_passes(trace, dropped)
        elif not dry_run and dropped:
            _remove_runs(trace, [run.run_id for run in dropped])
        if not dry_run and dropped:
            remove_kept_times(trace.path)
    except OSError as error:
        raise TraceWriteError(
            f"{trace.path} cannot be pruned ({error.strerror or error}); the remaining runs are "
            "complete, and kvtrace trace prune can be called again"
        ) from error
    removed_bytes = sum(run.size_bytes for run in dropped)
    return Pruning(
        tuple(dropped),
        len(trace.run_ids) - (0 if derived else len(dropped)),
        total_bytes - removed_bytes,
        skipped,
    )


def complete_plans(out: Path) -> None:
    """Complete removals and replacements that killed processes have begun."""
    for path in unfinished(out, "removal"):
        carry_out_removal(out, path)
    for path in unfinished(out):
        carry_out(out, path)


def _began(run: Run) -> int:
    """Return when a run began; for an import without a date, when its id was made."""
    if run.started is not None:
        return run.started
    try:
        made = datetime.strptime(run.run_id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return 0  # an id that another producer chose
    return int(made.timestamp()) * _NANOSECONDS


def _run_groups(trace: Trace, derived: bool) -> tuple[list[_RunGroup], dict[str, str]]:
    """Return the groups of runs, newest first, and by run with a journal the reason to skip it."""
    runs_by_group: dict[str, list[Run]] = {}
    for run in trace.runs:
        runs_by_group.setdefault(run.group_id or run.run_id, []).append(run)
    journalled = set(run_ids(trace.path / JOURNAL))
    groups: list[_RunGroup] = []
    skipped: dict[str, str] = {}
    for runs in runs_by_group.values():
        busy = not journalled.isdisjoint(run.run_id for run in runs)
        if busy:
            skip_reason = "its group has a journal; let it end, or seal it by kvtrace trace recover"
            skipped |= {run.run_id: skip_reason for run in runs}
        sizes = (_stored_bytes(trace, run.run_id, derived=derived) for run in runs)
        groups.append(_RunGroup(tuple(runs), max(map(_began, runs)), tuple(sizes), busy))
    return sorted(groups, key=lambda job: (job.started, job.runs[0].run_id), reverse=True), skipped


def _groups_to_remove(
    groups: Sequence[_RunGroup],
    keep_last: int | None,
    older_than_seconds: float | None,
    max_bytes: int | None,
    derived: bool,
) -> list[_RunGroup]:
    """Return the groups to remove by the criteria of `prune`; groups with a journal stay."""
    kept_count = keep_last or (0 if derived else 1)
    removable = [group for group in reversed(groups[kept_count:]) if not group.busy]
    if older_than_seconds is None and max_bytes is None:
        return removable
    removed: list[_RunGroup] = []
    if older_than_seconds is not None:
        limit = time.time_ns() - int(older_than_seconds * _NANOSECONDS)
        removed = [group for group in removable if group.started < limit]
    if max_bytes is not None:
        remaining_bytes = sum(
            size for group in groups if group not in removed for size in group.sizes
        )
        for group in removable:
            if remaining_bytes > max_bytes and group not in removed:
                removed.append(group)
                remaining_bytes -= sum(group.sizes)
    return removed


def _repeatable_passes(trace: Trace, run_id: str) -> tuple[str, ...]:
    passes = trace.passes(run_id).items()
    return tuple(name for name, settings in passes if not made_by_the_run(name, settings))


def _remove_passes(trace: Trace, dropped: Iterable[PrunedRun]) -> None:
    for run in dropped:
        for name in run.passes:
            carry_out(trace.path, commit(trace.path, Replacement(run.run_id, name, {})))


def _remove_runs(trace: Trace, runs: Sequence[str]) -> None:
    """Remove runs, after copying artifacts that remaining runs need."""
    _copy_needed_artifacts(trace, runs)
    carry_out_removal(trace.path, commit_removal(trace.path, runs))


def _copy_needed_artifacts(trace: Trace, runs: Sequence[str]) -> None:
    """Copy each artifact that only `runs` hold into a remaining run that refers to it."""
    remaining_runs = [run for run in trace.runs if run.run_id not in set(runs)]
    sharing_runs = [run.run_id for run in remaining_runs if SHARED in run.settings]
    lost = (
        _stored_artifacts(trace, runs)
        - _stored_artifacts(trace, [run.run_id for run in remaining_runs])
        if sharing_runs
        else set()
    )
    for run_id in sharing_runs:
        rows = trace.table("artifacts", [run_id])
        needed = lost.intersection(rows["sha256"].to_pylist())
        if not needed:
            continue
        rows = rows.filter(pc.is_in(rows["sha256"], pa.array(sorted(needed), pa.string())))
        table = TABLES["artifacts"]
        numbers = part_numbers(run_folder(trace.path, table.name, run_id))
        write_part(
            part_path(trace.path, "artifacts", run_id, max(numbers, default=-1) + 1),
            table,
            captured_facts("artifacts", run_id),
            conformed(table, rows.drop_columns(["run"]).sort_by("sha256")).to_batches(),
        )
        lost -= needed


def _stored_artifacts(trace: Trace, runs: Sequence[str]) -> set[str]:
    """Return the hashes of the artifacts whose content is stored in these runs."""
    hashes: set[str] = set()
    for run_id in runs:
        rows = run_rows(trace.path, TABLES["artifacts"], run_id, ("sha256",), quietly)
        hashes.update(rows["sha256"].to_pylist())
    return hashes


def _stored_bytes(trace: Trace, run_id: str, *, derived: bool = False) -> int:
    """Return the bytes of a run's files, or only of parts of passes that can be repeated."""
    out, total = trace.path, 0
    passes = _repeatable_passes(trace, run_id) if derived else ()
    for table in (*TABLES, *client_folders(out)):
        folder = run_folder(out, table, run_id)
        files: Iterable[Path] = folder.iterdir() if folder.is_dir() else ()
        if derived:
            files = pass_parts(folder)
            files = [path for path in files if pass_of_part(path) in passes]
        total += sum(path.stat().st_size for path in files if path.is_file())
    return total
