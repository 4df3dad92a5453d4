"""Reading of the rows of one run from captured parts, journal segments and derived parts."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kvtrace.schema.columns import filled
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.journal import SegmentReader, described
from kvtrace.schema.layout import part_numbers, part_path, pass_parts, run_folder, segments
from kvtrace.schema.parts import Chosen, part_pieces, read_part, sorted_rows
from kvtrace.schema.repair import repaired
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES

#: Most attempts when files disappear between listing and reading.
_TRIES: Final = 20
#: Number of small files from which on they are read on all cores.
_MANY: Final = 64

#: Every column of `runs`.
RUN_COLUMNS: Final = tuple(column.name for column in TABLES["runs"].columns)

Note = Callable[[str], None]


def quietly(_note: str) -> None:
    """Ignore a note: another reader of the same rows reports it."""


def run_rows(out: Path, table: Table, run_id: str, names: Sequence[str], note: Note) -> pa.Table:
    """Return the named columns of a run's rows: captured parts, journal, derived parts.

    Raises:
        DamagedFile, NewerFormat, OlderFormat: a file cannot be read.

    """
    rows = _patiently(out, table, run_id, lambda: _all_rows(out, table, run_id, names, note))
    return _repaired(table, rows, run_id, note)


def _repaired(table: Table, rows: pa.Table, run_id: str, note: Note) -> pa.Table:
    return repaired(table, rows, lambda text: note(f"{table.name} of run {run_id}: {text}"))


def run_pieces(
    out: Path,
    table: Table,
    run_id: str,
    names: Sequence[str],
    note: Note,
    chosen: Chosen | None = None,
) -> Iterator[pa.Table]:
    """Yield the rows of `run_rows`, in the same order, some 100,000 at a time; errors as there.

    Rows outside of the row groups that `chosen` returns may be left out.
    """
    for tries_left in reversed(range(_TRIES)):
        begun = False
        try:
            for piece in _pieces(out, table, run_id, names, note, chosen):
                begun = True
                yield _repaired(table, piece, run_id, note)
        except FileNotFoundError as error:
            if begun or not tries_left:
                raise _restless(out, table, run_id) from error
        else:
            return


def _pieces(
    out: Path,
    table: Table,
    run_id: str,
    names: Sequence[str],
    note: Note,
    chosen: Chosen | None,
) -> Iterator[pa.Table]:
    waiting = segments(out, run_id).get(table.name, {})  # listed first, as in `_captured_rows`
    folder = run_folder(out, table.name, run_id)
    parts = part_numbers(folder)
    for path in parts.values():
        yield from part_pieces(path, table, names, chosen)
    for number, path in waiting.items():
        if number in parts:
            continue
        try:
            rows = segment_rows(path, table, names, note)
        except FileNotFoundError:  # it was sealed in the meantime
            yield from part_pieces(part_path(out, table.name, run_id, number), table, names)
        else:
            yield rows
    for path in pass_parts(folder):
        yield from part_pieces(path, table, names, chosen)


def captured_rows(
    out: Path, table: Table, run_id: str, names: Sequence[str], note: Note
) -> pa.Table:
    """Return the named columns of the rows that the run itself recorded; errors as `run_rows`."""
    return _patiently(out, table, run_id, lambda: _captured_rows(out, table, run_id, names, note))


def _patiently(out: Path, table: Table, run_id: str, read: Callable[[], pa.Table]) -> pa.Table:
    """Call `read` again if a file disappears, as it was sealed or replaced since listing."""
    for _ in range(_TRIES):
        try:
            return read()
        except FileNotFoundError:
            continue
    raise _restless(out, table, run_id)


def _restless(out: Path, table: Table, run_id: str) -> DamagedFile:
    return DamagedFile(
        f"the files of {table.name} of run {run_id} in {out} change faster than they can be read; "
        "try again when the run has ended"
    )


def _all_rows(out: Path, table: Table, run_id: str, names: Sequence[str], note: Note) -> pa.Table:
    captured = _captured_rows(out, table, run_id, names, note)
    folder = run_folder(out, table.name, run_id)
    return pa.concat_tables(
        [captured, *(read_part(path, table, names) for path in pass_parts(folder))]
    )


def run_row(
    out: Path, run_id: str, names: Sequence[str], note: Note
) -> tuple[dict[str, Any] | None, bool]:
    """Return the named columns of a run's own row, or None, and whether the run is sealed.

    Raises:
        DamagedFile, NewerFormat, OlderFormat: the row cannot be read.

    """
    sealed = sealed_runs_row(out, run_id, names)
    if sealed is not None:
        return sealed, True
    row = journal_runs_row(out, run_id, note, names)
    if row is not None:
        return row, False
    sealed = sealed_runs_row(out, run_id, names)  # it may have been sealed while we were looking
    return sealed, sealed is not None


def sealed_runs_row(out: Path, run_id: str, names: Sequence[str]) -> dict[str, Any] | None:
    """Return the named columns of a sealed run's row; None if the run is not sealed."""
    table = TABLES["runs"]
    for path in part_numbers(run_folder(out, "runs", run_id)).values():
        rows = plain_rows(repaired(table, read_part(path, table, names), quietly))
        if len(rows) != 1:
            raise DamagedFile(
                f"{path} has {len(rows)} rows, and a run has one; restore it from a copy"
            )
        return rows[0]
    return None


def sealed_runs_rows(
    out: Path, run_ids: Sequence[str], names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the rows of many sealed runs by run id, read at once; errors as `sealed_runs_row`.

    Runs that need a closer look, as those with several rows, are left out.
    """
    table = TABLES["runs"]
    parts = {}
    for run_id in run_ids:
        numbered = part_numbers(run_folder(out, "runs", run_id))
        if numbered:
            parts[run_id] = next(iter(numbered.values()))

    def read(path: Path) -> pa.Table:
        return read_part(path, table, names)

    if len(parts) < _MANY:
        pieces = [read(path) for path in parts.values()]
    else:
        from concurrent.futures import ThreadPoolExecutor  # not for every process that records

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            pieces = list(pool.map(read, parts.values()))
    single = [run_id for run_id, rows in zip(parts, pieces, strict=True) if rows.num_rows == 1]
    if not single:
        return {}
    whole = pa.concat_tables([rows for rows in pieces if rows.num_rows == 1])
    rows_of_runs = plain_rows(repaired(table, whole, quietly))
    if len(rows_of_runs) != len(single):
        return {}
    return dict(zip(single, rows_of_runs, strict=True))


def journal_runs_row(
    out: Path, run_id: str, note: Note, names: Sequence[str] = RUN_COLUMNS
) -> dict[str, Any] | None:
    """Return the newest provisional row of `runs` in a journal; None if none is whole."""
    newest = None
    for path in segments(out, run_id).get("runs", {}).values():
        try:
            written = segment_rows(path, TABLES["runs"], names, note)
            rows = plain_rows(_repaired(TABLES["runs"], written, run_id, note))
        except FileNotFoundError:
            continue  # the run was sealed in the meantime
        newest = rows[-1] if rows else newest
    return newest


def _captured_rows(
    out: Path, table: Table, run_id: str, names: Sequence[str], note: Note
) -> pa.Table:
    # Segments are listed before parts: a segment sealed in between is then listed twice, not never.
    waiting = segments(out, run_id).get(table.name, {})
    parts = part_numbers(run_folder(out, table.name, run_id))
    pieces = [_nothing(table, names)]
    pieces += [read_part(path, table, names) for path in parts.values()]
    if table.name == "runs":
        return pa.concat_tables(pieces if parts else [_provisional(out, run_id, names, note)])
    pieces += [
        segment_rows(path, table, names, note)
        for number, path in waiting.items()
        if number not in parts
    ]
    return pa.concat_tables(pieces)


def _provisional(out: Path, run_id: str, names: Sequence[str], note: Note) -> pa.Table:
    table = TABLES["runs"]
    pieces = [
        segment_rows(path, table, names, note)
        for path in segments(out, run_id).get("runs", {}).values()
    ]
    rows = pa.concat_tables([_nothing(table, names), *pieces])
    return rows.slice(max(0, rows.num_rows - 1))


def segment_rows(path: Path, table: Table, names: Sequence[str], note: Note) -> pa.Table:
    """Return the named columns of a journal segment's rows; errors as `run_rows`."""
    with SegmentReader(path) as reader:
        batches = [batch.select([n for n in names if n in batch.schema.names]) for batch in reader]
        if reader.torn_bytes:
            note(
                f"the last {reader.torn_bytes} bytes of {path} are an incomplete batch and were "
                "left out: a write was cut off, or is in progress"
            )
        if reader.damage:
            note(
                f"{path} is damaged, and {described(reader.damage)} cannot be read; kvtrace "
                "recover keeps the rest"
            )
    if not batches:
        return _nothing(table, names)
    plain = pa.Table.from_batches([batch.replace_schema_metadata(None) for batch in batches])
    rows = filled(table, plain, names, str(path))
    if set(table.sort) <= set(names) and table.name != "runs":
        return sorted_rows(rows, table)
    return rows


def _nothing(table: Table, names: Sequence[str]) -> pa.Table:
    fields = [pa.field(name, table.schema.field(name).type) for name in names]
    return pa.Table.from_batches([], pa.schema(fields))
