"""Reading of the rows of one run from captured parts, journal segments and derived parts."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kvtrace.schema.arrays import array_of
from kvtrace.schema.columns import filled
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.journal import SegmentReader, damage_text
from kvtrace.schema.kept_files import keep_table, kept_path, kept_table
from kvtrace.schema.layout import (
    part_numbers,
    part_path,
    refuse_irregular,
    run_folder,
    run_parts,
    segments,
)
from kvtrace.schema.parts import RowGroupChoice, part_pieces, read_part, sorted_rows
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.repair import repaired
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES

#: Most attempts when files disappear between listing and reading.
_TRIES: Final = 20
#: Number of small files from which on they are read on all cores.
_LEAST_FILES_ON_ALL_CORES: Final = 64

#: Every column of `runs`.
RUN_COLUMNS: Final = tuple(column.name for column in TABLES["runs"].columns)

#: Columns that a kept file of rows has in addition: the run, and its part's name, size and time.
_FOLDER: Final = "folder"
_VERSION: Final = "change"

Note = Callable[[str], None]


def quietly(_note: str) -> None:
    """Ignore a note, where another reader reports notes on the same rows."""


def run_rows(out: Path, table: Table, run_id: str, names: Sequence[str], note: Note) -> pa.Table:
    """Return columns `names` of a run's rows from captured parts, journal and parts of passes.

    Rows are repaired (`repair.py`); `note` receives texts about repairs and damage.

    Raises:
        DamagedFile, NewerFormat, OlderFormat: a file cannot be read.

    """
    rows = _retried_rows(out, table, run_id, names, note, with_passes=True)
    return _repaired_with_notes(table, rows, run_id, note)


def _repaired_with_notes(table: Table, rows: pa.Table, run_id: str, note: Note) -> pa.Table:
    return repaired(table, rows, lambda text: note(f"{table.name} of run {run_id}: {text}"))


def run_pieces(
    out: Path,
    table: Table,
    run_id: str,
    names: Sequence[str],
    note: Note,
    choose_groups: RowGroupChoice | None = None,
) -> Iterator[pa.Table]:
    """Yield the rows of `run_rows`, in its order and with its errors, about 100,000 at a time.

    `choose_groups` returns the numbers of the row groups to read of a part (default: all).
    """
    for tries_left in reversed(range(_TRIES)):
        has_yielded = False
        try:
            for piece in _pieces(out, table, run_id, names, note, choose_groups):
                has_yielded = True
                yield _repaired_with_notes(table, piece, run_id, note)
        except FileNotFoundError as error:
            if has_yielded or not tries_left:
                raise _changing_too_fast(out, table, run_id) from error
        else:
            return


def _pieces(
    out: Path,
    table: Table,
    run_id: str,
    names: Sequence[str],
    note: Note,
    choose_groups: RowGroupChoice | None,
) -> Iterator[pa.Table]:
    unsealed = segments(out, run_id).get(table.name, {})  # listed first, as in `_captured_rows`
    parts, of_passes = run_parts(run_folder(out, table.name, run_id))
    for path in parts.values():
        yield from part_pieces(path, table, names, choose_groups)
    for segment_number, path in unsealed.items():
        if segment_number in parts:
            continue
        try:
            rows = segment_rows(path, table, names, note)
        except FileNotFoundError:  # it was sealed in the meantime
            yield from part_pieces(part_path(out, table.name, run_id, segment_number), table, names)
        else:
            yield rows
    for path in of_passes:
        yield from part_pieces(path, table, names, choose_groups)


def captured_rows(
    out: Path, table: Table, run_id: str, names: Sequence[str], note: Note
) -> pa.Table:
    """Return columns `names` of a run's captured rows, not of passes; errors as `run_rows`."""
    return _retried_rows(out, table, run_id, names, note, with_passes=False)


def _retried_rows(
    out: Path, table: Table, run_id: str, names: Sequence[str], note: Note, *, with_passes: bool
) -> pa.Table:
    """Return a run's rows, which are read again if a file was sealed or replaced meanwhile."""
    for _ in range(_TRIES):
        try:
            return _rows(out, table, run_id, names, note, with_passes=with_passes)
        except FileNotFoundError:
            continue
    raise _changing_too_fast(out, table, run_id)


def _changing_too_fast(out: Path, table: Table, run_id: str) -> DamagedFile:
    return DamagedFile(
        f"the files of {table.name} of run {run_id} in {out} change faster than they can be read; "
        "try again when the run has ended"
    )


def run_row(
    out: Path, run_id: str, names: Sequence[str], note: Note
) -> tuple[dict[str, Any] | None, bool]:
    """Return (columns `names` of the run's row in `runs`, or None; whether the run is sealed).

    Raises:
        DamagedFile, NewerFormat, OlderFormat: the row cannot be read.

    """
    sealed_row = sealed_runs_row(out, run_id, names)
    if sealed_row is not None:
        return sealed_row, True
    journal_row = journal_runs_row(out, run_id, note, names)
    if journal_row is not None:
        return journal_row, False
    sealed_row = sealed_runs_row(out, run_id, names)  # the run may have been sealed meanwhile
    return sealed_row, sealed_row is not None


def sealed_runs_row(out: Path, run_id: str, names: Sequence[str]) -> dict[str, Any] | None:
    """Return columns `names` of a sealed run's row in `runs`; None if the run is not sealed."""
    table = TABLES["runs"]
    for path in part_numbers(run_folder(out, "runs", run_id)).values():
        rows = plain_rows(repaired(table, read_part(path, table, names), quietly))
        if len(rows) != 1:
            raise DamagedFile(f"{path} has {len(rows)} rows instead of one; restore it from a copy")
        return rows[0]
    return None


def sealed_runs_rows(
    out: Path, run_ids: Sequence[str], names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the rows of many sealed runs by run id, read in parallel; errors as `sealed_runs_row`.

    Runs without exactly one row are left out; if a repair drops any row, the mapping is empty.
    """
    table = TABLES["runs"]
    paths = {run_id: part_numbers(run_folder(out, "runs", run_id)) for run_id in run_ids}
    parts = {run_id: next(iter(listed.values())) for run_id, listed in paths.items() if listed}
    are_many = len(parts) >= _LEAST_FILES_ON_ALL_CORES
    rows = _rows_of_many(out, parts, names) if are_many else _rows_of_parts(parts, names)
    sealed_ids = rows[_FOLDER].to_pylist()
    rows_of_runs = plain_rows(repaired(table, rows.select(list(names)), quietly))
    if len(rows_of_runs) != len(sealed_ids):
        return {}
    return dict(zip(sealed_ids, rows_of_runs, strict=True))


def _rows_of_parts(parts: Mapping[str, Path], names: Sequence[str]) -> pa.Table:
    """Return the rows of parts of `runs` that have one each, and the run ids of their folders."""
    from concurrent.futures import ThreadPoolExecutor  # not for every process that records

    def read(path: Path) -> pa.Table:
        return read_part(path, TABLES["runs"], names)

    if len(parts) < _LEAST_FILES_ON_ALL_CORES:
        pieces = [read(path) for path in parts.values()]
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            pieces = list(pool.map(read, parts.values()))
    ids = [run_id for run_id, rows in zip(parts, pieces, strict=True) if rows.num_rows == 1]
    rows = [rows for rows in pieces if rows.num_rows == 1] or [_no_rows(TABLES["runs"], names)]
    return pa.concat_tables(rows).append_column(_FOLDER, array_of(ids, pa.string()))


def _rows_of_many(out: Path, parts: Mapping[str, Path], names: Sequence[str]) -> pa.Table:
    """Return what `_rows_of_parts` does, from the file that keeps it if all are in it.

    Otherwise return all columns, and keep them: those of new and changed parts are read.
    """
    path = kept_path(out, "runs")
    states = {run_id: refuse_irregular(part) for run_id, part in parts.items()}
    versions = {
        run_id: f"{parts[run_id].name} {state.st_size} {state.st_mtime_ns}"
        for run_id, state in states.items()
    }
    unchanged = _unchanged_rows(path, versions, names)
    if len(unchanged) == len(parts):
        return unchanged
    unchanged = _unchanged_rows(path, versions, RUN_COLUMNS)
    unread = parts.keys() - set(unchanged[_FOLDER].to_pylist())
    read = _rows_of_parts({run: part for run, part in parts.items() if run in unread}, RUN_COLUMNS)
    read_versions = [versions[run_id] for run_id in read[_FOLDER].to_pylist()]
    read = read.append_column(_VERSION, array_of(read_versions, pa.string()))
    rows = pa.concat_tables([unchanged, read]).unify_dictionaries().combine_chunks()
    if remote_folder(out) is None:
        keep_table(path, quietly, rows)
    return rows


def _unchanged_rows(path: Path, versions: Mapping[str, str], columns: Sequence[str]) -> pa.Table:
    """Return the kept rows of those parts that still have the version of which they were read."""
    rows = kept_table(path, quietly, (*columns, _FOLDER, _VERSION))
    if rows is None:
        return _rows_of_parts({}, columns).append_column(_VERSION, array_of([], pa.string()))
    pairs = zip(rows[_FOLDER].to_pylist(), rows[_VERSION].to_pylist(), strict=True)
    is_unchanged = [versions.get(run_id) == version for run_id, version in pairs]
    return rows.filter(array_of(is_unchanged, pa.bool_()))


def journal_runs_row(
    out: Path, run_id: str, note: Note, names: Sequence[str] = RUN_COLUMNS
) -> dict[str, Any] | None:
    """Return columns `names` of the newest readable row of `runs` in a journal, or None."""
    newest_row = None
    for path in segments(out, run_id).get("runs", {}).values():
        try:
            stored_rows = segment_rows(path, TABLES["runs"], names, note)
            rows = plain_rows(_repaired_with_notes(TABLES["runs"], stored_rows, run_id, note))
        except FileNotFoundError:
            continue  # the run was sealed in the meantime
        newest_row = rows[-1] if rows else newest_row
    return newest_row


def _rows(
    out: Path, table: Table, run_id: str, names: Sequence[str], note: Note, *, with_passes: bool
) -> pa.Table:
    # Segments are listed before parts: a segment sealed in between is then listed twice, not never.
    unsealed = segments(out, run_id).get(table.name, {})
    parts, of_passes = run_parts(run_folder(out, table.name, run_id))
    pieces = [read_part(path, table, names) for path in parts.values()]
    if table.name == "runs":
        pieces = pieces or [_provisional_runs_row(out, run_id, names, note)]
    else:
        pieces += [
            segment_rows(path, table, names, note)
            for segment_number, path in unsealed.items()
            if segment_number not in parts
        ]
    if with_passes:
        pieces += [read_part(path, table, names) for path in of_passes]
    return pa.concat_tables(pieces or [_no_rows(table, names)])


def _provisional_runs_row(out: Path, run_id: str, names: Sequence[str], note: Note) -> pa.Table:
    table = TABLES["runs"]
    pieces = [
        segment_rows(path, table, names, note)
        for path in segments(out, run_id).get("runs", {}).values()
    ]
    rows = pa.concat_tables([_no_rows(table, names), *pieces])
    return rows.slice(max(0, rows.num_rows - 1))


def segment_rows(path: Path, table: Table, names: Sequence[str], note: Note) -> pa.Table:
    """Return columns `names` of a segment's rows, sorted; `note` receives texts about damage."""
    with SegmentReader(path) as reader:
        batches = [batch.select([n for n in names if n in batch.schema.names]) for batch in reader]
        if reader.torn_bytes:
            note(
                f"the last {reader.torn_bytes} bytes of {path} are an incomplete batch and were "
                "left out: a write was interrupted, or is in progress"
            )
        if reader.damage:
            note(
                f"{path} is damaged, and {damage_text(reader.damage)} cannot be read; kvtrace "
                "trace recover keeps the rest"
            )
    if not batches:
        return _no_rows(table, names)
    stored_rows = pa.Table.from_batches([batch.replace_schema_metadata(None) for batch in batches])
    rows = filled(table, stored_rows, names, str(path))
    if set(table.sort) <= set(names) and table.name != "runs":
        return sorted_rows(rows, table)
    return rows


def _no_rows(table: Table, names: Sequence[str]) -> pa.Table:
    fields = [pa.field(name, table.schema.field(name).type) for name in names]
    return pa.Table.from_batches([], pa.schema(fields))
