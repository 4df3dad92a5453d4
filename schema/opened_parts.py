"""Opening of Parquet parts: their footers, which are kept, and the files that are refused."""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kvtrace.schema.client_tables import table_of_file
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import refuse_irregular
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import TABLE_KEY, FileFacts, read_facts

#: Files of up to `_SMALL_FILE` bytes are checked for their uncompressed size before they are read:
#: at most `_MAX_GROWTH` times the file's size, or `_MAX_SMALL_BYTES`. Recorded files have less.
_SMALL_FILE: Final = 8 << 20
_MAX_GROWTH: Final = 1200  # 600,000 alike executions: 1,017
#: The same bound for texts and lists, which have to be decoded to learn their size.
_MAX_TEXT_GROWTH: Final = 100
_MAX_SMALL_BYTES: Final = 64 << 20
#: The bound for what is stored before compression, where that is more than the growth allows: one
#: name of 60 MB in a part of 18 kB takes every query minutes.
_MAX_STORED_BYTES: Final = 8 << 20
#: Tables whose rows become Python objects, and the least bytes of a row in a file with very many
#: rows. Launches may all be equal, and are read in pieces.
_OBJECT_TABLES: Final = frozenset(
    {"kernels", "calls", "operators", "stacks", "artifacts", "contents", "messages"}
)
_OBJECT_BYTES: Final = 6
_MANY_ROWS: Final = 131_072
#: Rows that are decoded at a time to learn the size of a part's texts and lists.
_SAMPLE_ROWS: Final = 128
#: Files of up to so many bytes are read whole: reading a larger file's footer reads as much.
_READ_WHOLE: Final = 64 << 10
#: Bytes of a value in memory, about.
_VALUE_BYTES: Final = 8
#: The least and the largest value of a column in a row group, as Parquet stores them: times in ns
#: since 1970, texts in UTF-8. None: it has no value, or no statistics.
Bounds = tuple[Any, Any] | None


class Footer:
    """The footer of a part: what is known without reading its rows.

    Attributes:
        metadata: The `pq.FileMetaData`.
        schema: The columns, with their Arrow types.
        names: Names of the columns.
        stored_bytes: Bytes of all columns before compression.

    """

    __slots__ = ("_facts", "metadata", "names", "schema", "stored_bytes")

    def __init__(self, file: Any) -> None:
        """Take the footer of an open `pq.ParquetFile`."""
        self.metadata = file.metadata
        self.schema: pa.Schema = file.schema_arrow
        self.names: tuple[str, ...] = tuple(self.schema.names)
        groups = map(self.metadata.row_group, range(self.metadata.num_row_groups))
        self.stored_bytes: int = sum(group.total_byte_size for group in groups)
        self._facts: FileFacts | None = None

    def facts(self, path: Path) -> FileFacts:
        """Return the facts in the metadata, parsed once; errors as `read_facts`."""
        if self._facts is None:
            self._facts = read_facts(self.metadata.metadata, str(path))
        return self._facts

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The column chunks of each row group, by the path of the column."""
        # `metadata.schema` has the paths, too, but in a reference cycle with the metadata.
        return [
            {chunk.path_in_schema: chunk for chunk in map(group.column, range(group.num_columns))}
            for group in map(self.metadata.row_group, range(self.metadata.num_row_groups))
        ]

    def bounds(self, name: str) -> list[Bounds]:
        """Return the bounds of a column in each row group; None for all if the part lacks it."""
        return [_bounds(group[name]) if name in group else None for group in self.groups]


def _bounds(chunk: Any) -> Bounds:
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max:
        return None
    return statistics.min_raw, statistics.max_raw


#: Bounds of columns of parts, which are small, but take long to find in a large footer.
_BOUNDS: Final[dict[tuple["_Identity", str], list[Bounds]]] = {}
#: Most columns whose bounds are kept.
_MOST_BOUNDS: Final = 1 << 14


def known_bounds(path: Path, table: Table, name: str) -> list[Bounds]:
    """Return the bounds of a column in the row groups of a part; errors as `read_part`."""
    identity = _identity(path)
    bounds = _BOUNDS.get((identity, name))
    if bounds is None:
        footer = part_footer(path)
        check_part(footer, path, table)
        bounds = footer.bounds(name)
        if _has_settled(identity) and len(_BOUNDS) < _MOST_BOUNDS:
            _BOUNDS[identity, name] = bounds
    return bounds


def part_footer(path: Path) -> Footer:
    """Return the footer of a part, which is kept for this process; errors as `open_part`."""
    footer = _FOOTERS.get(_identity(path))
    return opened_part(path, ())[1] if footer is None else footer


def open_part(path: Path, names: Collection[str] | None = None) -> Any:
    """Return an open `pq.ParquetFile`; DamagedFile if not readable, FileNotFoundError if missing.

    A small file that would expand enormously, as by one row repeated millions of times, is damaged,
    too. Reading compares pages with their checksums.

    Args:
        path: the part.
        names: the columns that the caller reads, of which texts and lists are decoded once to learn
            their size; None: all.
    """
    return opened_part(path, names)[0]


_Identity = tuple[int, int, int, int]
#: Footers of parts that may be read, by device, inode, size and time of the last change: a command
#: opens many parts several times.
_FOOTERS: Final[dict[_Identity, Footer]] = {}
#: Most footers that are kept, and most bytes of one; in memory it takes about eight times as much.
_MOST_FOOTERS: Final = 2048
_SMALL_FOOTER: Final = 16 << 10
#: Parts that changed less than so many ns ago may change again without a new time.
_SETTLED_NS: Final = 1_000_000_000


def _for_arrow(path: Path) -> Path | pa.NativeFile:
    """Return a path, or if its name is not UTF-8, which Arrow takes no other for, its open file."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return pa.OSFile(os.fsencode(path))
    return path


def opened_part(path: Path, names: Collection[str] | None) -> tuple[Any, Footer]:
    """Return an open `pq.ParquetFile` and its footer; arguments and errors as `open_part`."""
    identity = _identity(path)
    file_bytes = identity[2]
    footer = _FOOTERS.get(identity)
    with reading(path):
        whole = file_bytes <= _READ_WHOLE
        source = pa.py_buffer(path.read_bytes()) if whole else _for_arrow(path)
        known = None if footer is None else footer.metadata
        file = pq.ParquetFile(source, metadata=known, page_checksum_verification=True)
        if footer is None:
            footer = Footer(file)
            _refuse_duplicate_columns(footer.names)
            _refuse_swollen(footer, file_bytes)
            _keep_footer(identity, footer)
        if names is None or names:
            _refuse_swollen_texts(file, footer, identity, names)
    return file, footer


def _identity(path: Path) -> _Identity:
    status = refuse_irregular(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _keep_footer(identity: _Identity, footer: Footer) -> None:
    is_small = footer.metadata.serialized_size <= _SMALL_FOOTER
    if _has_settled(identity) and is_small and len(_FOOTERS) < _MOST_FOOTERS:
        _FOOTERS[identity] = footer


def _has_settled(identity: _Identity) -> bool:
    return time.time_ns() - identity[-1] > _SETTLED_NS


def _refuse_duplicate_columns(names: Sequence[str]) -> None:
    """Raise ValueError if two columns have the same name, since columns are read by name."""
    if len(set(names)) == len(names):
        return
    duplicate = next(name for name in names if names.count(name) > 1)
    raise ValueError(f"it has the column {duplicate} twice")


#: Columns that were decoded to learn their size, by part.
_DECODED: Final[dict[_Identity, set[str]]] = {}


def _refuse_swollen(footer: Footer, file_bytes: int) -> None:
    """Raise ValueError if a small file would expand enormously, as columns of one value.

    Column metadata of a damaged footer are not read: pyarrow would abort the process. The size of
    numbers follows from the number of rows.
    """
    if file_bytes > _SMALL_FILE:
        return
    max_bytes = max(_MAX_SMALL_BYTES, _MAX_GROWTH * file_bytes)
    metadata = footer.metadata
    expanded_bytes = sum(
        max(group.total_byte_size, group.num_rows * metadata.num_columns * _VALUE_BYTES)
        for group in map(metadata.row_group, range(metadata.num_row_groups))
    )
    if max(expanded_bytes, metadata.num_rows) > max_bytes:
        raise ValueError(f"its {file_bytes:,} bytes claim to expand to {expanded_bytes:,}")
    if footer.stored_bytes > max(_MAX_STORED_BYTES, _MAX_GROWTH * file_bytes):
        raise ValueError(f"its {file_bytes:,} bytes unpack to {footer.stored_bytes:,}")
    most_rows = max(_MANY_ROWS, file_bytes // _OBJECT_BYTES)
    if _table_of(metadata) in _OBJECT_TABLES and metadata.num_rows > most_rows:
        raise ValueError(f"its {file_bytes:,} bytes claim to hold {metadata.num_rows:,} rows")


def _refuse_swollen_texts(
    file: Any, footer: Footer, identity: _Identity, names: Collection[str] | None
) -> None:
    """Raise ValueError if the texts or lists in columns of a small file would expand enormously.

    Equal values are stored once. If all rows that have them could exceed the bound, they are
    decoded, a few rows at a time.
    """
    file_bytes, metadata = identity[2], footer.metadata
    max_bytes = max(_MAX_SMALL_BYTES, _MAX_TEXT_GROWTH * file_bytes)
    if file_bytes > _SMALL_FILE or metadata.num_rows * footer.stored_bytes <= max_bytes:
        return
    decoded = _DECODED.setdefault(identity, set())
    variable_columns = [
        name
        for name in _variable_width_columns(file, _table_of(metadata))
        if name not in decoded and (names is None or name in names)
    ]
    if not variable_columns:
        return
    expanded_bytes = 0
    for batch in file.iter_batches(_SAMPLE_ROWS, columns=variable_columns, use_threads=False):
        expanded_bytes += sum(_without_dictionary(column).nbytes for column in batch.columns)
        if expanded_bytes > max_bytes:
            raise ValueError(f"its {file_bytes:,} bytes hold more than {max_bytes:,}")
    decoded.update(variable_columns)


def _table_of(metadata: Any) -> str:
    """Return the name of the table in a part's metadata, or an empty text."""
    name: bytes = (metadata.metadata or {}).get(TABLE_KEY, b"")
    return name.decode(errors="replace")


def _variable_width_columns(file: Any, table: str) -> list[str]:
    """Return the columns with texts, bytes or nested values by the file's or the table's types."""
    types = {c.name: c.type for c in TABLES[table].columns} if table in TABLES else {}
    return [
        field.name
        for field in file.schema_arrow
        if not (
            _has_fixed_width(field.type) and _has_fixed_width(types.get(field.name, field.type))
        )
    ]


def _has_fixed_width(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_dictionary(kind))


def _without_dictionary(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def part_facts(part: Any, path: Path, table: str) -> FileFacts:
    """Return the facts in an open part's metadata; DamagedFile if it is a part of another table.

    `part` is the open part, or its footer.
    """
    footer = part if isinstance(part, Footer) else Footer(part)
    facts = footer.facts(path)
    if facts.table != table:
        raise DamagedFile(
            f"{path} has rows of {facts.table or 'no known table'}, not of {table}; "
            "move it to the folder of its table"
        )
    return facts


def check_part(footer: Footer, path: Path, table: Table) -> None:
    """Raise if a part must not be read as rows of the table.

    Raises:
        DamagedFile: it is a part of another table, or lacks a required column, so that rows would
            be counted without what they are of.
        NewerFormat, OlderFormat: as `read_facts`.

    """
    part_facts(footer, path, table.name)
    missing = [name for name in table.required if name not in footer.names]
    if missing:
        raise DamagedFile(
            f"{path} has no column {' and '.join(missing)}, which each file of {table.name} needs; "
            "write it again with its producer, or move it out of the trace"
        )


def part_definition(path: Path, name: str) -> Table:
    """Return the definition in a part of the client's table `name`; DamagedFile if it has none."""
    schema = part_footer(path).metadata.schema.to_arrow_schema()
    return table_of_file(name, schema, str(path))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raise DamagedFile if the part that is read in this context cannot be.

    Raises:
        DamagedFile: Arrow or the system fails.
        FileNotFoundError: the file was removed in the meantime.
        MemoryError: the part may be undamaged.

    """
    try:
        yield
    except (FileNotFoundError, MemoryError):  # pa.ArrowMemoryError is a MemoryError
        raise
    except (pa.ArrowException, OSError, ValueError, IndexError) as error:
        raise DamagedFile(
            f"{path} is damaged ({first_line(error)}); restore it from a copy, or move it out of "
            "the trace (kvtrace trace validate lists every damaged file)"
        ) from error


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without its period."""
    return str(error).split("\n", 1)[0].strip().rstrip(".")
