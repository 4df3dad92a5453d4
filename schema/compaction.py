"""Compaction: the many small parts of a sealed run's table become one part, in one step.

A long recording seals a part per segment, and so do other writers. Compaction merges the parts of a
table's folder into a new folder beside the journals, and then exchanges the two folders. So every
reader, DuckDB as well as kvtrace, sees either all old parts or all new parts; no row is lost or
doubled, whenever the process is killed. A killed compaction leaves files under `.journal`, which
the next compaction or `kvtrace trace recover` removes.

Linux has renameat2(2) with RENAME_EXCHANGE (glibc 2.28, most local file systems); macOS has
renamex_np(2) with RENAME_SWAP (APFS). Other systems have no such call.
"""

import ctypes
import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.checksums import verify_part
from kvtrace.schema.client_tables import merged_definition, table_of_file
from kvtrace.schema.content import BY_CONTENT
from kvtrace.schema.errors import DamagedFile, KvtraceError, TraceWriteError
from kvtrace.schema.layout import (
    JOURNAL,
    client_folders,
    compaction_folder,
    is_temporary,
    journal_folder,
    left_behind,
    make_folder,
    pass_of_part,
    refuse_links,
    run_folder,
    run_ids,
    run_parts,
    sync_file,
    sync_folder,
)
from kvtrace.schema.merging import merged_rows
from kvtrace.schema.opened_parts import open_part, part_facts, reading
from kvtrace.schema.parts import write_part
from kvtrace.schema.plans import UNSEALED_REASON, carry_out, unfinished
from kvtrace.schema.recovery import is_running, remove_dead_compactions
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.versions import FORMAT_VERSION, FileFacts, version_numbers

_MEANWHILE: Final = "another process wrote to it meanwhile; call kvtrace trace compact again"


@dataclass(frozen=True, slots=True)
class MergedTable:
    """Numbers of files and bytes of a run's table before and after merging.

    `bytes_after` is None after a dry run; `repeated_rows` are left out of the merged parts.
    """

    run_id: str
    table: str
    files_before: int
    bytes_before: int
    files_after: int
    bytes_after: int | None = None
    repeated_rows: int = 0


@dataclass(frozen=True, slots=True)
class Compaction:
    """Result of `compact`: merged tables, and reasons (`left`) by skipped table or run.

    `damaged` has those of the reasons that are unreadable files.
    """

    merged: tuple[MergedTable, ...] = ()
    left: dict[str, str] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()


def compact(out: str | os.PathLike[str], dry_run: bool = False) -> Compaction:
    """Merge the parts of each table of each sealed run into one part.

    The parts of a pass are merged likewise, separately from captured parts, so that the pass can
    still be run again. Artifacts and stacks that a run holds more than once are kept once. Runs
    with a journal are skipped, and so are tables that another process writes to in the meantime.
    A second call changes nothing.

    Raises:
        TraceNotFound, EmptyTrace: as `open_trace`.
        TraceWriteError: the disk is full or cannot exchange folders, or a folder is a link; the
            trace is as it was.

    """
    folder = open_trace(out).path
    if dry_run:
        return _compact_runs(folder, None)
    refuse_links(folder)
    work = compaction_folder(folder)
    try:
        for path in unfinished(folder):
            carry_out(folder, path)
        remove_dead_compactions(folder)
        make_folder(work)
        if not can_exchange(work):
            raise TraceWriteError(
                f"the file system of {folder} cannot exchange two folders in one step, which "
                "compacting needs; copy the trace to a local disk of Linux or macOS first"
            )
        return _compact_runs(folder, work)
    except OSError as error:
        raise TraceWriteError(
            f"{folder} cannot be compacted ({error.strerror or error}); no row is lost, and "
            "kvtrace trace compact can be called again"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _compact_runs(out: Path, work: Path | None) -> Compaction:
    merged: list[MergedTable] = []
    skipped: dict[str, str] = {}
    damaged: list[str] = []
    for run_id in sorted({*run_ids(out / "runs"), *run_ids(out / JOURNAL)}):
        if journal_folder(out, run_id).exists():
            skipped[f"run {run_id}"] = UNSEALED_REASON
            continue
        for name in (*TABLES, *client_folders(out)):
            if name == "runs":
                continue  # a run has one row there
            try:
                result = _compact_table(out, work, run_id, name)
            except (KvtraceError, _NotCompactable) as error:
                skipped[f"{name} of run {run_id}"] = str(error)
                damaged += [str(error)] if isinstance(error, KvtraceError) else []
                continue
            except FileNotFoundError:
                skipped[f"{name} of run {run_id}"] = _MEANWHILE
                continue
            if result is not None:
                merged.append(result)
    return Compaction(tuple(merged), skipped, tuple(damaged))


class _NotCompactable(Exception):
    """A table's folder cannot be compacted now, for the reason in the text."""


@dataclass(frozen=True, slots=True)
class _MergedPart:
    """A part to be written: file name, paths of the merged parts, and metadata."""

    name: str
    sources: tuple[Path, ...]
    facts: FileFacts


def _compact_table(out: Path, work: Path | None, run_id: str, name: str) -> MergedTable | None:
    """Merge a run's table (without `work` only count its parts); return None if merged already."""
    folder = run_folder(out, name, run_id)
    listing = _file_stats(folder)
    groups = _parts_by_pass(folder)
    paths = [path for group in groups.values() for path in group]
    if not paths:
        return None
    repeated = _count_repeated(groups, BY_CONTENT.get(name))
    if not repeated and all(len(group) == 1 for group in groups.values()):
        return None
    table, parts = _merge_plan(name, run_id, groups)
    bytes_before = sum(path.stat().st_size for path in paths)
    if work is None:
        return MergedTable(run_id, name, len(paths), bytes_before, len(parts), None, repeated)
    _refuse_busy(folder, listing)
    new_folder = work / f"{name}-{secrets.token_hex(4)}"
    make_folder(new_folder)
    shutil.copymode(folder, new_folder)
    _write_merged(new_folder, table, parts, repeated)
    for file_name in listing:
        if folder / file_name not in paths and not is_temporary(file_name):
            _link_or_copy(folder / file_name, new_folder / file_name)
    sync_folder(new_folder)
    bytes_after = sum((new_folder / part.name).stat().st_size for part in parts)
    _refuse_busy(folder, listing)
    exchange(new_folder, folder)
    if _file_stats(new_folder) != listing:  # `new_folder` is the old folder now
        exchange(new_folder, folder)
        raise _NotCompactable(_MEANWHILE)
    sync_folder(folder.parent)
    shutil.rmtree(new_folder, ignore_errors=True)
    return MergedTable(run_id, name, len(paths), bytes_before, len(parts), bytes_after, repeated)


def _link_or_copy(source: Path, target: Path) -> None:
    """Hard-link a file to the path `target`, or copy it where links are not supported."""
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)
        sync_file(target)


def _parts_by_pass(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Return a folder's parts by the name of the pass that wrote them; "" for captured parts."""
    captured, of_passes = run_parts(folder)
    groups = {"": tuple(captured.values())} if captured else {}
    return groups | {name: tuple(paths) for name, paths in groupby(of_passes, pass_of_part)}


def _merge_plan(
    name: str, run_id: str, groups: dict[str, tuple[Path, ...]]
) -> tuple[Table, list[_MergedPart]]:
    """Return a table's definition and the parts to write; an error if not mergeable."""
    definitions = []
    parts = []
    for pass_name, paths in groups.items():
        common_facts = None
        for path in paths:
            verify_part(path)
            with open_part(path) as file:
                facts = part_facts(file, path, name)
                if name not in TABLES:
                    definitions.append(table_of_file(name, file.schema_arrow, str(path)))
            _refuse_foreign(path, facts, run_id, pass_name)
            facts = replace(facts, format_version=FORMAT_VERSION)
            if common_facts is not None and facts != common_facts:
                raise _NotCompactable(
                    f"the parts of {pass_name or 'the recording'} have different metadata"
                )
            common_facts = facts
        assert common_facts is not None
        parts.append(_MergedPart(_merged_part_name(pass_name, paths), paths, common_facts))
    return TABLES.get(name) or merged_definition(definitions), parts


def _merged_part_name(pass_name: str, paths: Sequence[Path]) -> str:
    """Return the file name of a merged part.

    A captured part gets a new number: a reader that has listed the old parts finds none of them
    afterwards, and so never reads old and new parts together. A pass has only number 0.
    """
    last_number = max(int(path.stem.rpartition("-")[2]) for path in paths)
    return f"part-{pass_name}-00000.parquet" if pass_name else f"part-{last_number + 1:05d}.parquet"


def _refuse_foreign(path: Path, facts: FileFacts, run_id: str, pass_name: str) -> None:
    if facts.run_id != run_id or (facts.pass_name or "") != pass_name:
        raise DamagedFile(f"{path} does not match its name; kvtrace trace validate says more")
    if version_numbers(facts.format_version) > version_numbers(FORMAT_VERSION):
        raise _NotCompactable(
            f"it has format version {facts.format_version}; a newer kvtrace can compact it"
        )


def _file_stats(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return (inode, bytes, modification time in ns) of a folder's files by name; {} if missing."""
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    stats = ((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
    return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats}


def _refuse_busy(folder: Path, listing: dict[str, tuple[int, int, int]]) -> None:
    if _file_stats(folder) != listing:
        raise _NotCompactable(_MEANWHILE)
    if any(is_running(process) for _, process in left_behind(folder)):
        raise _NotCompactable("a pass is writing to it; call kvtrace trace compact again")
    if any((folder / name).is_dir() for name in listing):
        raise _NotCompactable(
            "it contains a folder that kvtrace did not create; move the folder away"
        )


def _write_merged(
    new_folder: Path, table: Table, parts: Sequence[_MergedPart], repeated: int
) -> None:
    """Write merged parts to a folder; DamagedFile unless exactly `repeated` rows are left out."""
    key = BY_CONTENT.get(table.name)
    captured: set[Any] = set()
    dropped = 0
    for part in parts:
        seen_keys = captured if not part.facts.pass_name else set(captured)
        rows = merged_rows(part.sources, table)
        if key is not None:
            rows = _first_of_each(rows, key, seen_keys)
        write_part(new_folder / part.name, table, part.facts, rows)
        dropped += sum(map(_row_count, part.sources)) - _row_count(new_folder / part.name)
    if dropped != repeated:
        raise DamagedFile(
            f"{table.name} would have lost {dropped - repeated} rows, so it was not compacted; "
            "kvtrace trace validate lists damaged files"
        )


def _first_of_each(
    rows: Iterator[pa.RecordBatch], key: str, keys: set[Any]
) -> Iterator[pa.RecordBatch]:
    """Yield batches without the rows whose key is in `keys`, and add the other rows' keys."""
    for batch in rows:
        is_new = []
        for value in batch.column(key).to_pylist():
            is_new.append(value not in keys)
            keys.add(value)
        yield batch if all(is_new) else batch.filter(pa.array(is_new))


def _count_repeated(groups: dict[str, tuple[Path, ...]], key: str | None) -> int:
    """Return how many rows have the key of a captured row or of another row of the same pass."""
    if key is None:
        return 0
    count = 0
    captured = pa.array([], pa.null())
    for pass_name, paths in groups.items():
        keys = pa.chunked_array([_key_column(path, key) for path in paths]).combine_chunks()
        distinct = pc.unique(keys)
        if pass_name:
            others = captured.cast(distinct.type)
            distinct = distinct.filter(pc.invert(pc.is_in(distinct, value_set=others)))
        else:
            captured = distinct
        count += len(keys) - len(distinct)
    return count


def _key_column(path: Path, key: str) -> pa.Array:
    with open_part(path) as file, reading(path):
        return file.read(columns=[key]).column(0).combine_chunks()


def _row_count(path: Path) -> int:
    with open_part(path) as file:
        return int(file.metadata.num_rows)


# -- exchange of folders ---------------------------------------------------------------------------


_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_RENAME_SWAP: Final = 2


def exchange(first: Path, second: Path) -> None:
    """Exchange the names of two folders of one file system, in one step.

    Raises:
        OSError: nothing has changed; ENOTSUP or EINVAL if system or file system do not support it.

    """
    names = os.fsencode(first), os.fsencode(second)
    library = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        status = library.renamex_np(*names, ctypes.c_uint(_RENAME_SWAP))
    elif library is not None and hasattr(library, "renameat2"):
        status = library.renameat2(
            _AT_FDCWD, names[0], _AT_FDCWD, names[1], ctypes.c_uint(_RENAME_EXCHANGE)
        )
    else:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(first))
    if status:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(second))


def can_exchange(folder: Path) -> bool:
    """Return whether subfolders of `folder` can be exchanged, by a test with two new folders."""
    first, second = folder / ".first", folder / ".second"
    first.mkdir()
    second.mkdir()
    try:
        exchange(first, second)
    except OSError:
        return False
    finally:
        first.rmdir()
        second.rmdir()
    return True
