"""Pruning: removal of whole runs, or of derived tables, by age, number and size.

The runs of one group, which are the ranks of one job, are removed or stay together, and the newest
group always stays. The trace stays valid whenever the process is killed.
"""

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
    pass_parts,
    refuse_links,
    run_folder,
    run_ids,
)
from kvtrace.schema.parts import write_part
from kvtrace.schema.privacy import made_by_the_run
from kvtrace.schema.reading import quietly, run_rows
from kvtrace.schema.removal import carry_out_removal, commit_removal, unfinished_removals
from kvtrace.schema.replacement import Replacement, carry_out, commit, unfinished
from kvtrace.schema.runs import Run
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Trace, open_trace
from kvtrace.schema.versions import captured_facts

_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Dropped:
    """A pruned run, or one that would be, with the bytes removed."""

    run_id: str
    started: int | None
    size_bytes: int
    passes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pruning:
    """Pruned runs, numbers of remaining runs and bytes; `left`: runs in use, with the reason."""

    dropped: tuple[Dropped, ...] = ()
    runs_left: int = 0
    bytes_left: int = 0
    left: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Job:
    """The runs of one group, begin of the newest (ns since 1970), and sizes in bytes.

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
        raise BadSetting("say what is to go: --keep-last, --older-than, --max-bytes or --derived")
    if any(number is not None and number < 1 for number in (keep_last, max_bytes)):
        raise BadSetting("--keep-last and --max-bytes are numbers above 0")
    trace = open_trace(out)
    refuse_links(trace.path)
    try:
        if not dry_run:
            finish(trace.path)
            trace = open_trace(out)
        before = sum(_size(trace, run_id) for run_id in trace.run_ids)
        jobs, left = _jobs(trace, derived)
        go = _chosen(jobs, keep_last, older_than_seconds, max_bytes, derived)
        dropped = [
            Dropped(run.run_id, run.started, size, _passes(trace, run.run_id) if derived else ())
            for job in go
            for run, size in zip(job.runs, job.sizes, strict=True)
            if size or not derived
        ]
        if not dry_run and derived:
            _drop_passes(trace, dropped)
        elif not dry_run and dropped:
            _drop_runs(trace, [run.run_id for run in dropped])
    except OSError as error:
        raise TraceWriteError(
            f"{trace.path} cannot be pruned ({error.strerror or error}); what is left is whole, "
            "and kvtrace trace prune can be called again"
        ) from error
    gone = sum(run.size_bytes for run in dropped)
    return Pruning(
        tuple(dropped), len(trace.run_ids) - (0 if derived else len(dropped)), before - gone, left
    )


def finish(out: Path) -> None:
    """Complete the plans of killed processes."""
    for path in unfinished_removals(out):
        carry_out_removal(out, path)
    for path in unfinished(out):
        carry_out(out, path)


def _jobs(trace: Trace, derived: bool) -> tuple[list[_Job], dict[str, str]]:
    """Return the groups of runs, newest first, and the runs in use with the reason to stay."""
    groups: dict[str, list[Run]] = {}
    for run in trace.runs:
        groups.setdefault(run.group_id or run.run_id, []).append(run)
    journalled = set(run_ids(trace.path / JOURNAL))
    jobs: list[_Job] = []
    left: dict[str, str] = {}
    for runs in groups.values():
        busy = not journalled.isdisjoint(run.run_id for run in runs)
        if busy:
            reason = "its group has a journal; let it end, or seal it by kvtrace trace recover"
            left |= {run.run_id: reason for run in runs}
        sizes = (_size(trace, run.run_id, derived=derived) for run in runs)
        jobs.append(_Job(tuple(runs), max(run.started or 0 for run in runs), tuple(sizes), busy))
    return sorted(jobs, key=lambda job: (job.started, job.runs[0].run_id), reverse=True), left


def _chosen(
    jobs: Sequence[_Job],
    keep_last: int | None,
    older_than_seconds: float | None,
    max_bytes: int | None,
    derived: bool,
) -> list[_Job]:
    """Return the groups to remove, oldest first; none with a journal."""
    stay = keep_last or (0 if derived else 1)
    free = [job for job in reversed(jobs[stay:]) if not job.busy]
    if older_than_seconds is None and max_bytes is None:
        return free
    go: list[_Job] = []
    if older_than_seconds is not None:
        before = time.time_ns() - int(older_than_seconds * _NANOSECONDS)
        go = [job for job in free if job.started < before]
    if max_bytes is not None:
        total = sum(size for job in jobs if job not in go for size in job.sizes)
        for job in free:
            if total > max_bytes and job not in go:
                go.append(job)
                total -= sum(job.sizes)
    return go


def _passes(trace: Trace, run_id: str) -> tuple[str, ...]:
    passes = trace.passes(run_id).items()
    return tuple(name for name, settings in passes if not made_by_the_run(name, settings))


def _drop_passes(trace: Trace, dropped: Iterable[Dropped]) -> None:
    for run in dropped:
        for name in run.passes:
            carry_out(trace.path, commit(trace.path, Replacement(run.run_id, name, {})))


def _drop_runs(trace: Trace, runs: Sequence[str]) -> None:
    """Remove runs, after copying artifacts that remaining runs need."""
    _hand_over_artifacts(trace, runs)
    carry_out_removal(trace.path, commit_removal(trace.path, runs))


def _hand_over_artifacts(trace: Trace, runs: Sequence[str]) -> None:
    """Copy artifacts that only removed runs hold to one of the remaining runs that need them."""
    stay = [run for run in trace.runs if run.run_id not in set(runs)]
    sharing = [run.run_id for run in stay if SHARED in run.settings]
    lost = (
        _artifacts_in(trace, runs) - _artifacts_in(trace, [run.run_id for run in stay])
        if sharing
        else set()
    )
    for run_id in sharing:
        rows = trace.table("artifacts", [run_id])
        missing = lost.intersection(rows["sha256"].to_pylist())
        if not missing:
            continue
        rows = rows.filter(pc.is_in(rows["sha256"], pa.array(sorted(missing), pa.string())))
        table = TABLES["artifacts"]
        numbers = part_numbers(run_folder(trace.path, table.name, run_id))
        write_part(
            part_path(trace.path, "artifacts", run_id, max(numbers, default=-1) + 1),
            table,
            captured_facts("artifacts", run_id),
            conformed(table, rows.drop_columns(["run"]).sort_by("sha256")).to_batches(),
        )
        lost -= missing


def _artifacts_in(trace: Trace, runs: Sequence[str]) -> set[str]:
    """Return the hashes of the artifacts in files of runs."""
    hashes: set[str] = set()
    for run_id in runs:
        rows = run_rows(trace.path, TABLES["artifacts"], run_id, ("sha256",), quietly)
        hashes.update(rows["sha256"].to_pylist())
    return hashes


def _size(trace: Trace, run_id: str, *, derived: bool = False) -> int:
    """Return the bytes of a run's files, or only of derived files."""
    out, total = trace.path, 0
    passes = _passes(trace, run_id) if derived else ()
    for table in (*TABLES, *client_folders(out)):
        folder = run_folder(out, table, run_id)
        files: Iterable[Path] = folder.iterdir() if folder.is_dir() else ()
        if derived:
            files = pass_parts(folder)
            files = [path for path in files if _pass_of(path) in passes]
        total += sum(path.stat().st_size for path in files if path.is_file())
    return total


def _pass_of(path: Path) -> str:
    return path.name.removeprefix("part-").rpartition("-")[0]
