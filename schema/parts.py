"""Parquet parts: writing (encodings, row groups, order) and reading."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kvtrace.schema.checksums import fill_checksum, reserve_checksum
from kvtrace.schema.client_tables import definition_metadata, table_of_file
from kvtrace.schema.columns import filled
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import refuse_irregular, write_aside, write_whole
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import (
    TABLE_KEY,
    FileFacts,
    read_facts,
)

#: Most rows and most bytes of a row group; a reader of one artifact reads one group.
ROW_GROUP_ROWS: Final = 131_072
ROW_GROUP_BYTES: Final = 8 << 20

#: Files of up to `_SMALL_FILE` bytes are checked for their uncompressed size before they are read:
#: at most `_MOST_GROWTH` times the file's size, or `_MOST_OF_SMALL`. Recorded files stay far below.
_SMALL_FILE: Final = 8 << 20
_MOST_GROWTH: Final = 1000
#: The same bound for texts and lists, which have to be decoded to learn their size.
_MOST_GROWTH_OF_TEXT: Final = 100
_MOST_OF_SMALL: Final = 64 << 20
#: Tables whose rows become Python objects, and the least bytes of a row in a file with very many
#: rows. Launches may all be equal, and are read in pieces.
_OBJECTS: Final = frozenset({"kernels", "calls", "stacks", "artifacts", "contents", "messages"})
_OBJECT_BYTES: Final = 6
_MANY_ROWS: Final = 131_072
#: Rows that are decoded at a time to learn the size of a part's texts and lists.
_TASTED: Final = 128
#: Files of up to so many bytes are read whole: reading a larger file's footer reads as much.
_READ_WHOLE: Final = 64 << 10
#: Bytes of a value in memory, about.
_WIDTH: Final = 8
#: Most rows that are sorted without Arrow's functions, whose import takes 25 ms.
_FEW: Final = 256

Batches = Iterable[pa.RecordBatch]
#: The row groups of an open part that are to be read.
Chosen = Callable[[Any], list[int]]

#: Integers that grow from row to row, stored as differences.
_GROWING: Final = frozenset({"seq", "record", "launch_seq", "correlation_id", "mark_id"})
#: Content that is compressed already.
_COMPRESSED: Final = frozenset({"bytes"})
#: Tables of one row: compressed, they would be larger, and take twice as long to read.
_OF_ONE_ROW: Final = frozenset({"runs"})


def write_part(path: Path, table: Table, facts: FileFacts, batches: Batches) -> None:
    """Write rows in the table's order as one Parquet part, completely or not at all.

    Raises:
        OSError: as on a full disk; no file is left.
        DamagedFile: rows lack a key, as in a file that kvtrace did not write.

    """
    write_whole(path, _part_writing(table, facts, batches))


def write_part_aside(path: Path, table: Table, facts: FileFacts, batches: Batches) -> Path:
    """Write a part for `path` under a temporary name, and return that; OSError as `write_part`."""
    return write_aside(path, _part_writing(table, facts, batches))


def _part_writing(table: Table, facts: FileFacts, batches: Batches) -> Callable[[Path], None]:
    schema = table.schema.with_metadata(facts.metadata() | definition_metadata(table))

    def write(path: Path) -> None:
        try:
            with pq.ParquetWriter(path, schema, **_options(table)) as writer:
                for group in _row_groups(batches, schema):
                    writer.write_table(group, row_group_size=group.num_rows)
                reserve_checksum(writer)
        except pa.ArrowInvalid as error:
            raise DamagedFile(
                f"rows of {table.name} are not as the format has them ({_reason(error)}), so "
                "nothing is made of them; kvtrace trace validate says what is wrong"
            ) from error
        fill_checksum(path)

    return write


def sorted_rows(rows: pa.Table, table: Table) -> pa.Table:
    """Return rows in the table's order."""
    if not table.sort or rows.num_rows < 2:
        return rows
    whole = rows.unify_dictionaries().combine_chunks()
    if whole.num_rows > _FEW:
        return whole.sort_by([(name, "ascending") for name in table.sort])
    keys = zip(*(_as_sorted(whole[name]) for name in table.sort), strict=True)
    order = [position for _, position in sorted(zip(keys, range(whole.num_rows), strict=True))]
    return pa.concat_tables([whole.slice(position, 1) for position in order]).combine_chunks()


def _as_sorted(column: pa.ChunkedArray) -> list[tuple[bool, Any]]:
    """Return values of a column as sort keys in Arrow's order: null at the end."""
    if pa.types.is_timestamp(column.type):
        column = pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks])
    return [(value is None, value) for value in column.to_pylist()]


def read_part(path: Path, table: Table, names: Sequence[str]) -> pa.Table:
    """Return the named columns of a part, null if the file is older than the column.

    Raises:
        DamagedFile: the file is truncated, or does not match its path.
        NewerFormat, OlderFormat: as `read_facts`.
        FileNotFoundError: the file was replaced in the meantime.

    """
    with open_part(path) as file:
        part_facts(file, path, table.name)  # refuses a file of another format or table
        present = file.schema_arrow.names
        wanted = [name for name in names if name in present]
        try:
            # Starting threads costs more than reading a small file; a trace has one for each run.
            many = file.metadata.num_rows >= ROW_GROUP_ROWS
            rows = file.read(columns=wanted, use_threads=many)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise damaged(path, error) from error
    if not wanted:
        rows = _rows_without_columns(file.metadata.num_rows)
    return filled(table, rows, names, str(path))


def part_pieces(
    path: Path, table: Table, names: Sequence[str], chosen: Chosen | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of `read_part`, at most `ROW_GROUP_ROWS` at a time; errors as `read_part`.

    Rows outside of the row groups that `chosen` returns may be left out.
    """
    with open_part(path) as file:
        part_facts(file, path, table.name)  # refuses a file of another format or table
        wanted = [name for name in names if name in file.schema_arrow.names]
        if wanted:
            groups = list(range(file.metadata.num_row_groups)) if chosen is None else chosen(file)
            for batch in _batches(file, path, wanted, groups):
                yield filled(table, pa.Table.from_batches([batch]), names, str(path))
            return
    yield read_part(path, table, names)


def _batches(
    file: Any, path: Path, names: Sequence[str], groups: list[int]
) -> Iterator[pa.RecordBatch]:
    try:
        yield from file.iter_batches(
            ROW_GROUP_ROWS, row_groups=groups, columns=names, use_threads=False
        )
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(path, error) from error


def open_part(path: Path) -> Any:
    """Return an open `pq.ParquetFile`; DamagedFile if it is none, FileNotFoundError if it is gone.

    A small file that would expand enormously, as by one row repeated millions of times, is damaged,
    too. Reading compares pages with their checksums.
    """
    status = refuse_irregular(path)
    try:
        source = pa.py_buffer(path.read_bytes()) if status.st_size <= _READ_WHOLE else path
        file = pq.ParquetFile(source, page_checksum_verification=True)
        _refuse_doubled(file)
        _refuse_swollen(file, status)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(path, error) from error
    return file


def _refuse_doubled(file: Any) -> None:
    """Raise ValueError if two columns have the same name: neither could be read by name."""
    names = file.schema_arrow.names
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise ValueError(f"it has the column {doubled} twice")


#: Parts that were decoded to learn their size, by inode, size and time of the last change.
_TASTED_PARTS: Final[set[tuple[int, int, int]]] = set()


def _refuse_swollen(file: Any, status: os.stat_result) -> None:
    """Raise ValueError if a small file would expand enormously, as columns of one value.

    Column metadata of a damaged footer are not read: pyarrow would abort the process. The size of
    numbers follows from the number of rows. A text or list is stored once for all rows that have
    it, so if there could be too many of them, they are decoded, a few rows at a time.
    """
    size = status.st_size
    if size > _SMALL_FILE:
        return
    most = max(_MOST_OF_SMALL, _MOST_GROWTH * size)
    metadata = file.metadata
    held = stored = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        stored += group.total_byte_size
        held += max(group.total_byte_size, group.num_rows * metadata.num_columns * _WIDTH)
    if max(held, metadata.num_rows) > most:
        raise ValueError(f"its {size:,} bytes say that they hold {held:,}")
    table = (metadata.metadata or {}).get(TABLE_KEY, b"").decode(errors="replace")
    if table in _OBJECTS and metadata.num_rows > max(_MANY_ROWS, size // _OBJECT_BYTES):
        raise ValueError(f"its {size:,} bytes say that they hold {metadata.num_rows:,} rows")
    identity = status.st_ino, size, status.st_mtime_ns
    most = max(_MOST_OF_SMALL, _MOST_GROWTH_OF_TEXT * size)
    if metadata.num_rows * stored <= most or identity in _TASTED_PARTS:
        return
    wide = _wide(file, table)
    held = 0
    for batch in file.iter_batches(_TASTED, columns=wide, use_threads=False) if wide else ():
        held += sum(_plain(column).nbytes for column in batch.columns)
        if held > most:
            raise ValueError(f"its {size:,} bytes hold more than {most:,}")
    _TASTED_PARTS.add(identity)


def _wide(file: Any, table: str) -> list[str]:
    """Return the columns whose values may have any number of bytes in memory."""
    types = {c.name: c.type for c in TABLES[table].columns} if table in TABLES else {}
    return [
        field.name
        for field in file.schema_arrow
        if not (_is_narrow(field.type) and _is_narrow(types.get(field.name, field.type)))
    ]


def _is_narrow(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_dictionary(kind))


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def part_facts(file: Any, path: Path, table: str) -> FileFacts:
    """Return the facts in the metadata of an opened part file; DamagedFile if of another table."""
    facts = read_facts(file.metadata.metadata, str(path))
    if facts.table != table:
        raise DamagedFile(
            f"{path} holds rows of {facts.table or 'no known table'}, not of {table}; "
            "move it to where it belongs"
        )
    return facts


def part_definition(path: Path, name: str) -> Table:
    """Return the table's definition from a part of a client's table; DamagedFile if missing."""
    with open_part(path) as file:
        return table_of_file(name, file.schema_arrow, str(path))


def damaged(path: Path, error: Exception) -> DamagedFile:
    """Return the error for a part that cannot be read.

    Raises:
        MemoryError: if `error` is one; the part may be sound.

    """
    if isinstance(error, MemoryError):  # pa.ArrowMemoryError is one
        raise error
    return DamagedFile(
        f"{path} is damaged ({_reason(error)}); restore it from a copy, or move it out of the "
        "trace (kvtrace trace validate lists every damaged file)"
    )


def _reason(error: Exception) -> str:
    return str(error).split("\n", 1)[0].strip().rstrip(".")


def _rows_without_columns(count: int) -> pa.Table:
    return pa.table({"": pa.nulls(count)})


def _options(table: Table) -> dict[str, Any]:
    growing, rest, uncompressed = {}, [], set()
    for column in table.columns:
        growing_name = column.name in _GROWING and pa.types.is_integer(column.type)
        if pa.types.is_timestamp(column.type) or growing_name:
            growing[column.name] = "DELTA_BINARY_PACKED"
            continue
        if column.name in _COMPRESSED and pa.types.is_binary(column.type):
            uncompressed.add(column.name)
            continue
        rest.extend(_leaves(column.name, column.type))
    every = [*growing, *rest, *uncompressed]
    plain = set(every) if table.name in _OF_ONE_ROW else uncompressed
    return {
        "compression": {name: "none" if name in plain else "zstd" for name in every},
        "compression_level": {name: 3 for name in every if name not in plain},
        "use_dictionary": rest,
        "column_encoding": growing,
        "write_statistics": [name for name in every if name not in uncompressed],
        "write_page_index": True,
        "write_page_checksum": True,
    }


def _leaves(path: str, kind: pa.DataType) -> list[str]:
    """Return the paths of a column's leaves in Parquet."""
    if pa.types.is_map(kind):
        key = _leaves(f"{path}.key_value.key", kind.key_type)
        return key + _leaves(f"{path}.key_value.value", kind.item_type)
    if pa.types.is_list(kind):
        return _leaves(f"{path}.list.element", kind.value_type)
    if pa.types.is_struct(kind):
        return [leaf for field in kind for leaf in _leaves(f"{path}.{field.name}", field.type)]
    return [path]


def _row_groups(batches: Batches, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield batches of any size joined and cut into row groups."""
    group: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        for piece in _pieces(batch):
            if group and (
                rows + piece.num_rows > ROW_GROUP_ROWS or size + piece.nbytes > ROW_GROUP_BYTES
            ):
                yield _joined(group, schema)
                group, rows, size = [], 0, 0
            group.append(piece)
            rows += piece.num_rows
            size += piece.nbytes
    if rows:
        yield _joined(group, schema)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield slices of a batch that are small enough to fill row groups well."""
    per_row = max(1, batch.nbytes // max(1, batch.num_rows))
    step = max(1, min(ROW_GROUP_ROWS // 8, ROW_GROUP_BYTES // 8 // per_row))
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)


def _joined(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    plain = pa.Table.from_batches([batch.replace_schema_metadata(None) for batch in batches])
    return plain.unify_dictionaries().combine_chunks().replace_schema_metadata(schema.metadata)
