"""Reader of traces: a directory of runs as tables, whether sealed, killed or still recording."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.artifacts import ArtifactIndex
from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.client_tables import is_client_table, merged_definition
from kvtrace.schema.columns import checked_names, table_named
from kvtrace.schema.completed import CompletedKernels, LaterStages
from kvtrace.schema.content import stack_id
from kvtrace.schema.derived import keep_parts
from kvtrace.schema.errors import EmptyTrace, SchemaMismatch, TraceNotFound, UnknownRun
from kvtrace.schema.layout import (
    JOURNAL,
    SHARED,
    client_folders,
    fetch,
    folders_with_parts,
    part_numbers,
    pass_of_part,
    pass_parts,
    run_folder,
    run_ids,
    spooled_runs,
)
from kvtrace.schema.opened_parts import part_definition, part_facts, part_footer
from kvtrace.schema.reading import (
    RUN_COLUMNS,
    quietly,
    run_pieces,
    run_row,
    run_rows,
    sealed_runs_rows,
)
from kvtrace.schema.references import artifacts_named
from kvtrace.schema.remote import is_remote, open_remote, remote_folder
from kvtrace.schema.repair import DEDUPLICATIONS
from kvtrace.schema.runs import Run, with_run
from kvtrace.schema.table_types import NAME, Table
from kvtrace.schema.tables import TABLES
from kvtrace.schema.unread_files import unread_note
from kvtrace.schema.weights import missing_launch_notes

__all__ = ["Run", "Selection", "Trace", "open_trace", "resolve", "select_runs", "stack_id"]


class _GroupAndCommit(NamedTuple):
    """Group id (else run id) and Git commit (else "") of a run."""

    group: str
    commit: str


class Trace:
    """A trace directory, made by `open_trace`. Files are read when they are needed.

    `notes` collects texts about repairs and damage that reading has found. `tell` receives a
    sentence before work that takes long, and ignores it unless the opener sets it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self.tell: Callable[[str], object] = quietly
        self._artifacts = ArtifactIndex(path)
        self._completed_kernels = CompletedKernels()
        self._runs: dict[str, Run] = {}
        self._looked_at: set[Path] = set()  # folders in which no link was found

    @cached_property
    def run_ids(self) -> tuple[str, ...]:
        """The ids of all runs, oldest first."""
        return tuple(sorted({*run_ids(self.path / "runs"), *run_ids(self.path / JOURNAL)}))

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All runs, oldest first: sealed ones, and those that only have a journal.

        Raises:
            DamagedFile, NewerFormat, OlderFormat: a run's row cannot be read, or the run requires a
                feature that this version does not know.

        """
        return self._read_runs(self.run_ids)

    def select(self, spec: str | None = None) -> tuple[Run, ...]:
        """Return the runs that `spec` selects, oldest first.

        None: the newest group (all ranks of the newest job). "@COMMIT": the newest group of that
        commit. Otherwise a run id, a group id, or a prefix of one.

        Raises:
            UnknownRun: no run matches.

        """
        if spec is None:
            return self._runs_of_group(self._groups_and_commits[self.run_ids[-1]].group)
        if spec.startswith("@"):
            return self._runs_of_commit(spec[1:])
        if spec in self.run_ids:
            return (self._run(spec),)
        matches = [run_id for run_id in self.run_ids if spec and run_id.startswith(spec)]
        matches = matches or [
            run_id
            for run_id, member in self._groups_and_commits.items()
            if spec and member.group.startswith(spec)
        ]
        if not matches:
            raise UnknownRun(
                f"{self.path} has no run {spec!r}; it has {len(self.run_ids)} run"
                f"{'s' * (len(self.run_ids) != 1)}, the newest is {self.run_ids[-1]} (kvtrace info "
                "lists them)"
            )
        return self._read_runs(matches)

    def table(
        self,
        name: str,
        runs: Iterable[Run | str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """Return the rows of a table over `runs` (None: every run), with a last column "run".

        Columns are nullable; strings that repeat are dictionary-encoded with one dictionary per
        column. Rows are in the table's order within each part. Stacks and artifacts that several
        parts of a run hold are returned once, and findings observed by the run replace judged ones.

        Raises:
            SchemaMismatch: no such table or column.
            DamagedFile, NewerFormat, OlderFormat: a file cannot be read.

        """
        runs = None if runs is None else tuple(runs)
        table = self.definition(name, runs)
        names = checked_names(table, columns)
        deduplication = DEDUPLICATIONS.get(name)
        read_names = (
            names if deduplication is None else tuple(dict.fromkeys((*names, *deduplication.keys)))
        )
        pieces = []
        for run_id in self._ids(runs):
            has_completed = self._completed_kernels.concerns(name, run_id)
            read_columns = (
                tuple(dict.fromkeys((*read_names, *table.keys))) if has_completed else read_names
            )
            rows = run_rows(self.path, table, run_id, read_columns, self.note)
            rows = rows if deduplication is None else deduplication.rows(rows)
            if name == "artifacts" and SHARED in self._run(run_id).settings:
                rows = pa.concat_tables([rows, *self._shared_artifacts(run_id, rows, read_names)])
            rows = self._completed_kernels.rows(name, run_id, rows) if has_completed else rows
            pieces.append(with_run(rows.select(list(names)), run_id))
        if not pieces:
            fields = [pa.field(column, table.schema.field(column).type) for column in names]
            return pa.Table.from_batches([], pa.schema([*fields, pa.field("run", NAME)]))
        return pa.concat_tables(pieces).unify_dictionaries()

    def pieces(
        self,
        name: str,
        runs: Iterable[Run | str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the rows of `table`, in the same order, in pieces, for large tables as `launches`.

        A piece has some 100,000 rows of one run; but `runs`, and tables of which repeated rows are
        removed, come as one piece. Dictionaries may differ between pieces. Errors are as for
        `table`, raised when the piece is reached.
        """
        runs = self._ids(runs)
        table = self.definition(name, runs)
        names = checked_names(table, columns)
        for run_id in runs:
            if (
                name in DEDUPLICATIONS
                or name == "runs"
                or self._completed_kernels.concerns(name, run_id)
            ):
                yield self.table(name, (run_id,), names)
                continue
            for rows in run_pieces(self.path, table, run_id, names, self.note):
                yield with_run(rows, run_id)

    def _shared_artifacts(
        self, run_id: str, own_rows: pa.Table, names: Sequence[str]
    ) -> Iterator[pa.Table]:
        """Yield columns `names` of artifacts that the run refers to, but only other runs hold."""
        table, key_names = TABLES["artifacts"], ("sha256",)
        missing = artifacts_named(self, run_id).difference(own_rows["sha256"].to_pylist())
        for other_run in self.run_ids:
            if other_run == run_id or not missing:
                continue
            hashes = run_rows(self.path, table, other_run, key_names, quietly)["sha256"].to_pylist()
            if missing.isdisjoint(hashes):
                continue
            rows = DEDUPLICATIONS["artifacts"].rows(
                run_rows(self.path, table, other_run, names, self.note)
            )
            yield rows.filter(pc.is_in(rows["sha256"], pa.array(sorted(missing), pa.string())))
            missing.difference_update(hashes)

    def definition(self, name: str, runs: Iterable[Run | str] | None = None) -> Table:
        """Return the definition of a table of the format, or of a client.

        Raises:
            SchemaMismatch: no such table, or types of a client's columns differ between `runs`.
            DamagedFile: a file of a client's table has no definition.

        """
        if name in TABLES or not is_client_table(name):
            return table_named(name)
        definitions = [
            part_definition(path, name)
            for run_id in reversed(self._ids(runs))
            for path in pass_parts(run_folder(self.path, name, run_id))
        ]
        if definitions:
            return merged_definition(definitions)
        if runs is not None:
            return self.definition(name)
        names = ", ".join((*TABLES, *client_folders(self.path)))
        raise SchemaMismatch(f"the trace has no table {name!r}; its tables are {names}")

    @property
    def client_tables(self) -> tuple[str, ...]:
        """Names of the clients' tables that have a part."""
        return tuple(name for name in client_folders(self.path) if self._has_parts(name))

    def _has_parts(self, name: str) -> bool:
        folder = self.path / name
        return any(pass_parts(run_folder(self.path, name, run_id)) for run_id in run_ids(folder))

    def artifact(self, sha256: str | None) -> bytes | None:
        """Return the decompressed content of the artifact with this hash, from any run, or None.

        Raises:
            DamagedFile: the content cannot be read, or does not match the hash.

        """
        if not sha256:
            return None
        later = self._completed_kernels.content(sha256)
        return self._artifacts.content(sha256, self.run_ids) if later is None else later

    def complete(self, run_id: str, kernel_id: int, later: LaterStages) -> None:
        """Add a kernel's later stages to the `kernels` and `artifacts` that this object reads.

        Nothing is written.
        """
        self._completed_kernels.add(run_id, kernel_id, later)

    def add_derived(
        self,
        run_id: str,
        pass_name: str,
        tables: Mapping[str, pa.Table],
        settings: Mapping[str, Any] | None = None,
        definitions: Sequence[Table] = (),
        *,
        whole: bool = True,
    ) -> None:
        """Replace the tables that a pass derived for a run by `tables`, which may be empty.

        Allowed are derived tables, and `stacks` and `artifacts` to which these refer. The pass's
        own tables (`client_table`) need their `definitions`. All new files are on disk before the
        first replaces an old one; parts that the pass no longer writes are removed. Captured parts
        are not touched. Tables have no column "run", which `run_id` replaces.

        While `results_beside` is open, tables that are not `whole`, as of only some calls, or that
        cannot be written to the trace, are kept outside of it.

        Raises:
            SchemaMismatch: a table that passes do not write, or columns that do not fit.
            UnknownRun: the trace has no such run.
            TraceWriteError: as on a full disk; the earlier tables stay.

        """
        if run_id not in self.run_ids:
            raise UnknownRun(f"{self.path} has no run {run_id!r} to add tables to")
        arguments = (run_id, pass_name, tables, dict(settings or {}), definitions)
        keep_parts(self.path, *arguments, looked_at=self._looked_at, whole=whole, note=self.note)
        self._artifacts.forget(run_id)

    def passes(self, run_id: str, name: str | None = None) -> dict[str, dict[str, Any]]:
        """Return the settings of the passes that have analyzed a run, by the pass's name.

        With a `name`, only files of that pass are read.

        Raises:
            DamagedFile, NewerFormat, OlderFormat: a part of a pass cannot be read.

        """
        settings: dict[str, dict[str, Any]] = {}
        for table, path in self._parts_of_passes(run_id):
            if name in (None, pass_of_part(path)):
                facts = part_facts(part_footer(path), path, table)
                settings[facts.pass_name or ""] = dict(facts.settings)
        return dict(sorted(settings.items()))

    def pass_names(self, run_id: str) -> tuple[str, ...]:
        """Return the sorted names of the passes that have analyzed a run, without reading files."""
        return tuple(sorted({pass_of_part(path) for _, path in self._parts_of_passes(run_id)}))

    def _parts_of_passes(self, run_id: str) -> Iterator[tuple[str, Path]]:
        present = folders_with_parts(self.path)
        for table in (*TABLES, *client_folders(self.path)):
            if table in present:
                for path in pass_parts(run_folder(self.path, table, run_id)):
                    yield table, path

    @cached_property
    def _groups_and_commits(self) -> dict[str, _GroupAndCommit]:
        """Group and commit of every run, oldest first, without reading other columns."""
        names = ("group_id", "git_commit")
        rows = self._sealed_rows(self.run_ids, names)
        members = {}
        for run_id in self.run_ids:
            if run_id in self._runs:
                row = {name: getattr(self._runs[run_id], name) for name in names}
            else:
                row = rows.get(run_id) or run_row(self.path, run_id, names, self.note)[0] or {}
            members[run_id] = _GroupAndCommit(
                row.get("group_id") or run_id, row.get("git_commit") or ""
            )
        return members

    def _sealed_rows(
        self, run_ids: Iterable[str], names: Sequence[str]
    ) -> dict[str, dict[str, Any]]:
        """Return the rows of sealed runs by run id, without runs that are in `self._runs`."""
        unread = [run_id for run_id in run_ids if run_id not in self._runs]
        if remote_folder(self.path) is not None:
            folders = (run_folder(self.path, "runs", run_id) for run_id in unread)
            fetch(path for folder in folders for path in part_numbers(folder).values())
        return sealed_runs_rows(self.path, unread, names)

    def _read_runs(self, run_ids: Sequence[str]) -> tuple[Run, ...]:
        rows = self._sealed_rows(run_ids, RUN_COLUMNS)
        return tuple(self._run(run_id, rows.get(run_id)) for run_id in run_ids)

    def _run(self, run_id: str, sealed_row: dict[str, Any] | None = None) -> Run:
        if run_id not in self._runs:
            arguments = (self.path, run_id, RUN_COLUMNS, self.note)
            row, sealed = (sealed_row, True) if sealed_row else run_row(*arguments)
            if row is None:
                self.note(
                    f"run {run_id} has no row in the table runs: its first write was interrupted"
                )
                row = {"run_id": run_id}
            # The folder's name determines the run id, whatever the row says.
            self._runs[run_id] = run = Run.of_row({**row, "run_id": run_id}, sealed)
            for note in missing_launch_notes(run):
                self.note(note)
        return self._runs[run_id]

    def _runs_of_group(self, group: str) -> tuple[Run, ...]:
        members = self._groups_and_commits
        return self._read_runs([run_id for run_id in members if members[run_id].group == group])

    def _runs_of_commit(self, commit: str) -> tuple[Run, ...]:
        members = self._groups_and_commits
        matches = [
            run_id
            for run_id, member in members.items()
            if commit and member.commit.startswith(commit)
        ]
        if not matches:
            commits = list(dict.fromkeys(m.commit for m in members.values() if m.commit))
            newest = ", ".join(name[:12] for name in commits[-5:]) or "none"
            raise UnknownRun(
                f"{self.path} has no run of commit {commit!r}; its newest commits: {newest}"
            )
        group = members[matches[-1]].group
        return self._read_runs([run_id for run_id in matches if members[run_id].group == group])

    def _ids(self, runs: Iterable[Run | str] | None) -> tuple[str, ...]:
        if runs is None:
            return self.run_ids
        run_ids = [run.run_id if isinstance(run, Run) else run for run in runs]
        existing = set(self.run_ids) if len(run_ids) > 1 else self.run_ids
        unknown = [run_id for run_id in run_ids if run_id not in existing]
        if unknown:
            raise UnknownRun(f"{self.path} has no run {unknown[0]!r}")
        return tuple(dict.fromkeys(run_ids))

    def note(self, text: str) -> None:
        """Add a text to `notes`, unless it is there already."""
        if text not in self.notes:
            self.notes.append(text)


@dataclass(frozen=True)
class Selection:
    """A trace and some of its runs."""

    trace: Trace
    runs: tuple[Run, ...]

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of a table over the selected runs; see `Trace.table`."""
        return self.trace.table(name, self.runs, columns)


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """Return the trace in a directory, or in an object store, as s3://bucket/out.

    Raises:
        TraceNotFound: the path does not exist, or is no directory.
        EmptyTrace: the directory has no run.

    """
    address = os.fspath(path)
    folder = open_remote(address) if is_remote(address) else Path(path)
    remedy = f"record one with KVTRACE={folder} python program.py"
    if not folder.exists():
        raise TraceNotFound(f"there is no directory {folder}; {remedy}")
    if not folder.is_dir():
        raise TraceNotFound(
            f"{folder} is a file, and a trace is a directory; name the directory that "
            "KVTRACE pointed to"
        )
    trace = Trace(folder)
    if not trace.run_ids:
        trace_names = sorted(path.name for path in folder.iterdir() if (path / "runs").is_dir())
        if trace_names:
            more_text = f" and {len(trace_names) - 10} more" if len(trace_names) > 10 else ""
            raise EmptyTrace(
                f"{folder} is not a trace, but contains traces; name one of: "
                f"{', '.join(str(folder / name) for name in trace_names[:10])}{more_text}"
            )
        if spooled_runs(folder):
            raise EmptyTrace(
                f"{folder} has only spools of processes that are running or were killed soon after "
                f"their first launches; kvtrace trace recover {folder} makes runs of killed ones"
            )
        if above := [path for path in (*folder.parents,)[:2] if (path / "runs").is_dir()]:
            raise EmptyTrace(f"{folder} is a folder of the trace {above[0]}; name that")
        raise EmptyTrace(f"{folder} has no recorded run; {unread_note(folder, TABLES) or remedy}")
    return trace


def resolve(
    text: str | os.PathLike[str], base: str | os.PathLike[str] | None = None, *, every: bool = False
) -> Selection:
    """Return the runs of "out/", "out/@COMMIT", "out/RUN_ID", "@COMMIT" or "RUN_ID".

    The last two are looked up in `base`. A directory alone means its newest group. `every` reads
    the rows of all runs now, at once, if the caller needs `Trace.runs`.

    Raises:
        TraceNotFound, EmptyTrace, UnknownRun: as `open_trace` and `Trace.select`.

    """
    text = os.fspath(text)
    if is_remote(text):
        address, _, spec = text.partition("/@")
        return _selected(address, f"@{spec}" if spec else None, every)
    if text and Path(text).is_dir():
        return _selected(text, None, every)
    match = re.fullmatch(r"(?P<folder>.*?)[/\\]?(?P<spec>@[^/\\]+|[^/\\@]+)", text)
    if match is None or not (match["folder"] or base is not None):
        raise TraceNotFound(
            f"{text!r} is not a directory; name a trace as out/, out/@COMMIT or out/RUN_ID"
        )
    folder = match["folder"] or os.fspath(base or "")
    if not Path(folder).is_dir() or not (match["spec"].startswith("@") or _is_trace(folder)):
        raise TraceNotFound(
            f"there is no directory {text}; name a trace as out/, out/@COMMIT or out/RUN_ID"
        )
    return _selected(folder, match["spec"], every)


def select_runs(
    path: str | os.PathLike[str], run: str | None = None, *, every: bool = False
) -> Selection:
    """Return the runs of `path` as `resolve`; with `run`, the matching runs of that directory.

    Raises:
        TraceNotFound, EmptyTrace, UnknownRun: as `open_trace` and `Trace.select`.

    """
    return resolve(path, every=every) if run is None else _selected(path, run, every)


def _selected(path: str | os.PathLike[str], spec: str | None, every: bool) -> Selection:
    trace = open_trace(path)
    if every:
        _ = trace.runs
    return Selection(trace, trace.select(spec))


def _is_trace(folder: str) -> bool:
    return (Path(folder) / "runs").is_dir() or (Path(folder) / JOURNAL).is_dir()
