"""Union of the runs of several traces in one trace: unchanged files, and each artifact once.

Each file has its own format version, so files of different minor versions may be in one trace. An
artifact that a run of the new trace holds already is left out of later runs, which get the setting
`layout.SHARED` in `runs`: the reader then finds the artifact by hash in any run.
"""

import filecmp
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.checksums import verify_part
from kvtrace.schema.errors import BadSetting, DamagedFile, TraceWriteError
from kvtrace.schema.layout import (
    JOURNAL,
    SHARED,
    client_folders,
    make_folder,
    part_numbers,
    pass_parts,
    run_folder,
    run_ids,
    spooled_runs,
    sync_file,
    sync_folder,
)
from kvtrace.schema.merging import merged_rows
from kvtrace.schema.opened_parts import open_part, part_facts
from kvtrace.schema.parts import write_part
from kvtrace.schema.removal import unfinished_removals
from kvtrace.schema.replacement import unfinished
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.versions import FORMAT_VERSION, FileFacts, version_numbers


@dataclass(frozen=True, slots=True)
class UnionResult:
    """Result of `unite`: runs of the new trace, and repeated runs and artifacts left out of it."""

    runs: tuple[str, ...]
    repeated_runs: tuple[str, ...] = ()
    repeated_artifacts: int = 0
    saved_bytes: int = 0


def unite(traces: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> UnionResult:
    """Write the runs of some traces to the new folder `out`; the traces do not change.

    Files are linked if the file system supports it, else copied. The new trace gets its name once
    it is complete. A run that several traces have, with equal files, is written once.

    Raises:
        TraceNotFound, EmptyTrace: as `open_trace`.
        BadSetting: `out` exists or is inside one of the traces; runs with the same id differ; runs
            are not sealed.
        DamagedFile, NewerFormat: a file cannot be read.
        TraceWriteError: as on a full disk; no new trace is left.

    """
    folders = [open_trace(trace).path for trace in traces]
    with new_trace(folders, Path(out)) as work:
        return _Union(work).write(folders)


@contextmanager
def new_trace(sources: Sequence[Path], target: Path) -> Iterator[Path]:
    """Yield a temporary folder for a trace, renamed to `target` at the end, removed on errors.

    Raises:
        BadSetting: `target` exists or is inside one of the sources, or a source has journals.
        TraceWriteError: as on a full disk.

    """
    if target.exists() or target.is_symlink():
        raise BadSetting(f"{target} already exists; name a new folder")
    for source in sources:
        if source.resolve() in target.resolve().parents:
            raise BadSetting(f"{target} is inside {source}; name a folder outside of the trace")
        journals = run_ids(source / JOURNAL) or spooled_runs(source)
        if journals or unfinished(source) or unfinished_removals(source):
            raise BadSetting(
                f"{source} has runs that are still running or were killed; let them end, or call "
                "kvtrace trace recover first"
            )
    work = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield work
        work.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise TraceWriteError(
            f"the trace {target} cannot be written ({error.strerror or error}); it was "
            "removed, and the original traces are unchanged"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


class _Union:
    """Writer of a trace that unites others, with the runs and artifacts written so far."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._source_of: dict[str, Path] = {}
        self._hashes: set[str] = set()
        self._repeated: list[str] = []
        self._artifacts = 0
        self._saved = 0

    def write(self, folders: Sequence[Path]) -> UnionResult:
        """Write the runs of the traces in these folders to the new trace."""
        for folder in folders:
            for run_id in open_trace(folder).run_ids:
                first_folder = self._source_of.setdefault(run_id, folder)
                if first_folder is folder:
                    self._add_run(folder, run_id)
                elif _relative_paths(first_folder, run_id) == _relative_paths(
                    folder, run_id
                ) and _have_equal_files(first_folder, folder, run_id):
                    self._repeated.append(run_id)
                else:
                    raise BadSetting(
                        f"run {run_id} is in {first_folder} and {folder}, with "
                        "different files; remove it from one of them (kvtrace trace prune), or "
                        "merge the others"
                    )
        return UnionResult(
            tuple(sorted(self._source_of)), tuple(self._repeated), self._artifacts, self._saved
        )

    def _add_run(self, folder: Path, run_id: str) -> None:
        parts = _files_by_table(folder, run_id)
        facts = {
            path: _checked_facts(path, table, run_id)
            for table, files in parts.items()
            for path in files
        }
        runs_paths = parts.pop("runs", [])
        are_readable = all(
            _is_readable_version(facts[path]) for path in (*runs_paths, *parts.get("artifacts", ()))
        )
        is_shared = False
        for path in (path for files in parts.values() for path in files):
            target = self._out / path.relative_to(folder)
            if are_readable and facts[path].table == "artifacts":
                is_shared |= self._add_artifacts(path, target, facts[path])
            else:
                link_or_copy(path, target)
        for path in runs_paths:
            target = self._out / path.relative_to(folder)
            if is_shared:
                _write_runs_row_as_shared(path, target, facts[path])
            else:
                link_or_copy(path, target)

    def _add_artifacts(self, path: Path, target: Path, facts: FileFacts) -> bool:
        """Write a part without artifacts that other runs hold; return whether any were left out."""
        table = TABLES["artifacts"]
        with open_part(path) as file:
            digests = file.read(columns=["sha256"]).column(0).to_pylist()
        repeated = self._hashes.intersection(digests)
        self._hashes.update(digests)
        if not repeated:
            link_or_copy(path, target)
            return False
        self._artifacts += len(repeated)
        if len(repeated) < len(digests) or facts.pass_name:
            # A pass's part stays even if empty, as it shows that the pass has been run.
            repeated_hashes = pa.array(sorted(repeated))
            new_rows = (
                batch.filter(pc.invert(pc.is_in(batch["sha256"], value_set=repeated_hashes)))
                for batch in merged_rows([path], table)
            )
            write_part(target, table, replace(facts, format_version=FORMAT_VERSION), new_rows)
        written_bytes = target.stat().st_size if target.exists() else 0
        self._saved += path.stat().st_size - written_bytes
        return True


def _write_runs_row_as_shared(path: Path, target: Path, facts: FileFacts) -> None:
    """Copy a part of `runs`, adding the setting that other runs hold artifacts of this run."""
    table = TABLES["runs"]
    rows = pa.Table.from_batches(list(merged_rows([path], table)), table.schema)
    index = table.schema.get_field_index("settings")
    settings = [
        [*((key, value) for key, value in pairs or () if key != SHARED), (SHARED, "yes")]
        for pairs in rows["settings"].to_pylist()
    ]
    field = table.schema.field(index)
    rows = rows.set_column(index, field, pa.array(settings, field.type))
    facts = replace(facts, format_version=FORMAT_VERSION)
    write_part(target, table, facts, rows.to_batches())


def link_or_copy(source: Path, target: Path) -> None:
    """Hard-link a file to the path `target`, or copy it where links are not supported."""
    make_folder(target.parent)
    try:
        os.link(source, target)
    except OSError:  # another disk, or a file system without hard links
        shutil.copy2(source, target)
        sync_file(target)


def _files_by_table(folder: Path, run_id: str) -> dict[str, list[Path]]:
    """Return the paths of a run's captured and derived parts by table."""
    by_table = {}
    for table in (*TABLES, *client_folders(folder)):
        table_folder = run_folder(folder, table, run_id)
        files = [*part_numbers(table_folder).values(), *pass_parts(table_folder)]
        if files:
            by_table[table] = files
    return by_table


def _checked_facts(path: Path, table: str, run_id: str) -> FileFacts:
    """Return the facts of a part of this table and run; DamagedFile or NewerFormat for others."""
    verify_part(path)
    with open_part(path) as file:
        facts = part_facts(file, path, table)
    if facts.run_id != run_id:
        raise DamagedFile(f"{path} has metadata of run {facts.run_id}; restore it from a copy")
    return facts


def _is_readable_version(facts: FileFacts) -> bool:
    """Return whether a file has this format's major version, and no newer minor version."""
    major, minor = version_numbers(facts.format_version)
    own_major, own_minor = version_numbers(FORMAT_VERSION)
    return major == own_major and minor <= own_minor


def _relative_paths(folder: Path, run_id: str) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for files in _files_by_table(folder, run_id).values()
        for path in files
    }


def _have_equal_files(first: Path, second: Path, run_id: str) -> bool:
    return all(
        filecmp.cmp(first / name, second / name, shallow=False)
        for name in _relative_paths(first, run_id)
    )
