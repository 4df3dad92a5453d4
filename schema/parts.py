"""Parquet parts: writing (encodings, row groups, order) and reading."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kvtrace.schema.checksums import fill_checksum, reserve_checksum
from kvtrace.schema.client_tables import definition_metadata
from kvtrace.schema.columns import filled
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import write_aside, write_whole
from kvtrace.schema.opened_parts import (
    Bounds,
    check_part,
    first_line,
    known_bounds,
    opened_part,
    reading,
)
from kvtrace.schema.table_types import Table
from kvtrace.schema.versions import FileFacts

#: Most rows and most bytes of a row group; a reader of one artifact reads one group.
ROW_GROUP_ROWS: Final = 131_072
ROW_GROUP_BYTES: Final = 8 << 20

#: Bytes that are written at once: Arrow makes small writes, and each may take long.
_BUFFER_BYTES: Final = 1 << 20

#: Most rows that are sorted without Arrow's functions, whose import takes 25 ms.
_MOST_SORTED_ROWS: Final = 256

Batches = Iterable[pa.RecordBatch]
#: The row groups of a part that are to be read, by a function that returns a column's bounds.
RowGroupChoice = Callable[[Callable[[str], list[Bounds]]], list[int]]

#: Integers that grow from row to row, stored as differences, as those that rows are sorted by.
_GROWING: Final = frozenset({"seq", "record", "launch_seq", "correlation_id", "mark_id"})
#: Content that is compressed already.
_COMPRESSED: Final = frozenset({"bytes"})
#: Tables of one row: compressed, they would be larger, and take twice as long to read.
_OF_ONE_ROW: Final = frozenset({"runs"})


def write_part(path: Path, table: Table, facts: FileFacts, batches: Batches) -> None:
    """Write `batches`, rows in the table's order, to a new Parquet file, wholly or not at all.

    Raises:
        OSError: as on a full disk; no file is left.
        DamagedFile: rows lack a key, as in a file that kvtrace did not write.

    """
    write_whole(path, _part_writer(table, facts, batches))


def write_part_aside(path: Path, table: Table, facts: FileFacts, batches: Batches) -> Path:
    """Write a part to a temporary file beside `path`; return its path. Errors as `write_part`."""
    return write_aside(path, _part_writer(table, facts, batches))


def _part_writer(table: Table, facts: FileFacts, batches: Batches) -> Callable[[Path], None]:
    schema = table.schema.with_metadata(facts.metadata() | definition_metadata(table))

    def write(path: Path) -> None:
        try:
            with (
                pa.OSFile(os.fsencode(path), "wb") as unbuffered,  # any name, not only of UTF-8
                pa.output_stream(unbuffered, buffer_size=_BUFFER_BYTES) as file,
                pq.ParquetWriter(file, schema, **_writer_options(table)) as writer,
            ):
                for group in _row_groups(batches, schema):
                    writer.write_table(group, row_group_size=group.num_rows)
                reserve_checksum(writer)
        except pa.ArrowInvalid as error:
            raise DamagedFile(
                f"rows of {table.name} do not fit the format ({first_line(error)}), so no file was "
                "written; kvtrace trace validate says what is wrong"
            ) from error
        fill_checksum(path)

    return write


def sorted_rows(rows: pa.Table, table: Table) -> pa.Table:
    """Return rows sorted by the columns `table.sort`, nulls last."""
    if not table.sort or rows.num_rows < 2:
        return rows
    combined = rows.unify_dictionaries().combine_chunks()
    if combined.num_rows > _MOST_SORTED_ROWS:
        return combined.sort_by([(name, "ascending") for name in table.sort])
    keys = zip(*(_sort_keys(combined[name]) for name in table.sort), strict=True)
    row_order = [
        position for _, position in sorted(zip(keys, range(combined.num_rows), strict=True))
    ]
    return pa.concat_tables(
        [combined.slice(position, 1) for position in row_order]
    ).combine_chunks()


def _sort_keys(column: pa.ChunkedArray) -> list[tuple[bool, Any]]:
    """Return each value of a column as a sort key, (is null, value): nulls sort last."""
    if pa.types.is_timestamp(column.type):
        column = pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks])
    return [(value is None, value) for value in column.to_pylist()]


def read_part(path: Path, table: Table, names: Sequence[str]) -> pa.Table:
    """Return the columns `names` of a part; columns that an older file lacks are null.

    Raises:
        DamagedFile: the file is truncated, does not match its path, or lacks a required column.
        NewerFormat, OlderFormat: as `read_facts`.
        FileNotFoundError: the file was replaced in the meantime.

    """
    file, footer = opened_part(path, names)
    with file:
        check_part(footer, path, table)
        read_names = [name for name in names if name in footer.names]
        with reading(path):
            # Starting threads costs more than reading a small file; a trace has one for each run.
            use_threads = file.metadata.num_rows >= ROW_GROUP_ROWS
            rows = file.read(columns=read_names, use_threads=use_threads)
            _check_dictionaries(chunk for column in rows.columns for chunk in column.chunks)
    if not read_names:
        rows = pa.table({"": pa.nulls(file.metadata.num_rows)})
    return filled(table, rows, names, str(path))


def part_pieces(
    path: Path, table: Table, names: Sequence[str], choose_groups: RowGroupChoice | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of `read_part`, at most `ROW_GROUP_ROWS` at a time; errors as `read_part`.

    `choose_groups` returns the numbers of the row groups to read (default: all).
    """
    groups = None
    if choose_groups is not None:
        groups = choose_groups(lambda name: known_bounds(path, table, name))
        if not groups:
            return
    file, footer = opened_part(path, names)
    with file:
        check_part(footer, path, table)
        read_names = [name for name in names if name in footer.names]
        if read_names:
            if groups is None:
                groups = list(range(footer.metadata.num_row_groups))
            for batch in _read_batches(file, path, read_names, groups):
                yield filled(table, pa.Table.from_batches([batch]), names, str(path))
            return
    yield read_part(path, table, names)


def _read_batches(
    file: Any, path: Path, names: Sequence[str], groups: list[int]
) -> Iterator[pa.RecordBatch]:
    with reading(path):
        for batch in file.iter_batches(
            ROW_GROUP_ROWS, row_groups=groups, columns=names, use_threads=False
        ):
            _check_dictionaries(batch.columns)
            yield batch


def _check_dictionaries(columns: Iterable[pa.Array]) -> None:
    """Raise ArrowInvalid if an index of a dictionary column is out of range.

    Arrow reads such columns of a damaged file without an error.
    """
    for column in columns:
        if pa.types.is_dictionary(column.type):
            column.validate(full=True)


def _writer_options(table: Table) -> dict[str, Any]:
    delta_encoded, dictionary_encoded, uncompressed = {}, [], set()
    for column in table.columns:
        # Lengths of time hardly repeat: a dictionary of them would be larger than they are.
        is_varied = column.name in (*_GROWING, *table.sort) or column.unit == "ns"
        is_delta_encoded = is_varied and pa.types.is_integer(column.type)
        if pa.types.is_timestamp(column.type) or is_delta_encoded:
            delta_encoded[column.name] = "DELTA_BINARY_PACKED"
            continue
        if column.name in _COMPRESSED and pa.types.is_binary(column.type):
            uncompressed.add(column.name)
            continue
        dictionary_encoded.extend(_leaves(column.name, column.type))
    leaf_paths = [*delta_encoded, *dictionary_encoded, *uncompressed]
    not_compressed = set(leaf_paths) if table.name in _OF_ONE_ROW else uncompressed
    level = 9 if table.origin == "derived" else 3  # written once and small, beside what is captured
    return {
        "compression": {name: "none" if name in not_compressed else "zstd" for name in leaf_paths},
        "compression_level": {name: level for name in leaf_paths if name not in not_compressed},
        "use_dictionary": dictionary_encoded,
        "column_encoding": delta_encoded,
        "write_statistics": [name for name in leaf_paths if name not in uncompressed],
        "write_page_index": True,
        "write_page_checksum": True,
    }


def _leaves(path: str, kind: pa.DataType) -> list[str]:
    """Return the Parquet paths of all leaves of a column of type `kind`, such as `args.key`."""
    if pa.types.is_map(kind):
        key = _leaves(f"{path}.key_value.key", kind.key_type)
        return key + _leaves(f"{path}.key_value.value", kind.item_type)
    if pa.types.is_list(kind):
        return _leaves(f"{path}.list.element", kind.value_type)
    if pa.types.is_struct(kind):
        return [leaf for field in kind for leaf in _leaves(f"{path}.{field.name}", field.type)]
    return [path]


def _row_groups(batches: Batches, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield tables for row groups: batches joined and cut by `ROW_GROUP_ROWS` and `_BYTES`."""
    batches_of_group: list[pa.RecordBatch] = []
    rows = group_bytes = 0
    for batch in batches:
        for piece in _slices(batch):
            if batches_of_group and (
                rows + piece.num_rows > ROW_GROUP_ROWS
                or group_bytes + piece.nbytes > ROW_GROUP_BYTES
            ):
                yield _combined(batches_of_group, schema)
                batches_of_group, rows, group_bytes = [], 0, 0
            batches_of_group.append(piece)
            rows += piece.num_rows
            group_bytes += piece.nbytes
    if rows:
        yield _combined(batches_of_group, schema)


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield slices of a batch, at most an eighth of a row group each."""
    bytes_per_row = max(1, batch.nbytes // max(1, batch.num_rows))
    step = max(1, min(ROW_GROUP_ROWS // 8, ROW_GROUP_BYTES // 8 // bytes_per_row))
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)


def _combined(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    table = pa.Table.from_batches([batch.replace_schema_metadata(None) for batch in batches])
    return table.unify_dictionaries().combine_chunks().replace_schema_metadata(schema.metadata)
