"""Migration: files of older versions of the format written again in the newest, one by one.

Each file says its own version, and the reader reads each by that; so a trace of which some files
are migrated is as good as any, and whoever is killed when, no row is lost.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from kvtrace.schema.checksums import verify_part
from kvtrace.schema.client_tables import table_of_file
from kvtrace.schema.errors import DamagedFile, KvtraceError, TraceWriteError
from kvtrace.schema.layout import (
    JOURNAL,
    client_folders,
    discard,
    journal_folder,
    part_numbers,
    pass_parts,
    refuse_links,
    run_folder,
    run_ids,
    sync_folder,
)
from kvtrace.schema.parts import open_part, part_facts, part_pieces, write_part_aside
from kvtrace.schema.plans import UNSEALED
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.uniting import new_trace, take_along
from kvtrace.schema.versions import FORMAT_VERSION, version_numbers


@dataclass(frozen=True, slots=True)
class Migration:
    """How many files of each version were written again, and what was left alone with the reason.

    `damaged` are the reasons among those that are files which cannot be read.
    """

    migrated: dict[str, int] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()


def migrate_trace(
    trace: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    dry_run: bool = False,
) -> Migration:
    """Rewrite files of older format versions, in place or in the new folder `out`.

    What rows hold stays as it is; columns that their version did not have are null. Runs with a
    journal are left alone, and so are files of a newer minor version.

    Raises:
        TraceNotFound, EmptyTrace: as `open_trace`.
        BadSetting: as `uniting.new_trace`.
        TraceWriteError: the disk is full, or a folder is a link; the trace is whole.

    """
    folder = open_trace(trace).path
    if dry_run:
        return _migrated(folder, dry_run=True)
    refuse_links(folder)
    try:
        if out is None:
            return _migrated(folder)
        with new_trace([folder], Path(out)) as work:
            for path in _files(folder):
                take_along(path, work / path.relative_to(folder))
            return _migrated(work)
    except OSError as error:
        raise TraceWriteError(
            f"{folder} cannot be migrated ({error.strerror or error}); no row is lost, and kvtrace "
            "migrate can be called again"
        ) from error


def _migrated(folder: Path, *, dry_run: bool = False) -> Migration:
    found: Counter[str] = Counter()
    left: dict[str, str] = {}
    damaged = []
    for run_id in run_ids(folder / JOURNAL):
        left[f"run {run_id}"] = UNSEALED
    for path in _files(folder):
        run_id = path.parent.name.partition("=")[2]
        if journal_folder(folder, run_id).exists():
            continue
        try:
            version = _anew(path, path.parent.parent.name, dry_run=dry_run)
        except FileNotFoundError:
            left[str(path)] = "it was replaced at the same time; call kvtrace trace migrate again"
        except KvtraceError as error:
            left[str(path)] = str(error)
            damaged.append(str(error))
        else:
            if version is None:
                continue
            if version_numbers(version) > version_numbers(FORMAT_VERSION):
                left[str(path)] = f"it has format version {version}, newer than {FORMAT_VERSION}"
            else:
                found[version] += 1
    return Migration(dict(sorted(found.items())), left, tuple(damaged))


def _files(folder: Path) -> Iterator[Path]:
    """Every part of a trace."""
    for table in (*TABLES, *client_folders(folder)):
        for run_id in run_ids(folder / table):
            place = run_folder(folder, table, run_id)
            yield from (*part_numbers(place).values(), *pass_parts(place))


def _anew(path: Path, name: str, *, dry_run: bool) -> str | None:
    """Write a part again; return the version that it had, None where there is nothing to do."""
    with open_part(path) as file:
        facts = part_facts(file, path, name)
        table = TABLES.get(name) or table_of_file(name, file.schema_arrow, str(path))
        rows = file.metadata.num_rows
    version = facts.format_version
    if version == FORMAT_VERSION:
        return None
    if dry_run or version_numbers(version) > version_numbers(FORMAT_VERSION):
        return version
    verify_part(path)
    before = path.stat()
    names = [column.name for column in table.columns]
    pieces = (
        batch
        for piece in part_pieces(path, table, names)
        for batch in pa.Table.from_arrays(piece.columns, schema=table.schema).to_batches()
    )
    fresh = write_part_aside(path, table, replace(facts, format_version=FORMAT_VERSION), pieces)
    try:
        _replace(path, before, fresh, rows)
    except BaseException:
        discard(fresh)
        raise
    return version


def _replace(path: Path, before: os.stat_result, fresh: Path, rows: int) -> None:
    """Put a part in the place of what it was made of, if that is still there and it is whole."""
    with open_part(fresh) as file:
        written = file.metadata.num_rows
    if written != rows:
        raise DamagedFile(f"{path} would have {written} rows of {rows}, so it was left alone")
    if not os.path.samestat(before, path.stat()):
        raise FileNotFoundError(path)  # a pass has replaced it
    fresh.replace(path)
    sync_folder(path.parent)
