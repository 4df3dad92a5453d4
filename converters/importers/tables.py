"""Tables of other tools' files, in SQLite or folders of Parquet, of which each may be missing."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kvtrace.converters.importers.registry import BadSource

_SQLITE: Final = b"SQLite format 3\0"
#: Most bytes of a row; the texts of a tool have a few thousand.
_LONGEST: Final = 64 << 20


class _StoredTables:
    """Tables by the name that the tool's documentation has, without a version or an id."""

    def __init__(self, stored_names: Mapping[str, str]) -> None:
        self._stored_names = dict(stored_names)

    def __contains__(self, table: str) -> bool:
        return table in self._stored_names

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored_names)


class SqliteTables(_StoredTables):
    """Tables of a SQLite database."""

    def __init__(self, database: sqlite3.Connection, stored_names: Mapping[str, str]) -> None:
        super().__init__(stored_names)
        self._database = database

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the names of a table's columns; () for a missing table."""
        if table not in self:
            return ()
        found = self._database.execute(f"PRAGMA table_info({self.quoted(table)})")
        return tuple(str(row[1]) for row in found)

    def count(self, table: str) -> int:
        """Return the number of a table's rows; 0 for a missing table."""
        if table not in self:
            return 0
        query = f"SELECT count(*) FROM {self.quoted(table)}"  # noqa: S608 - quoted
        return int(self._database.execute(query).fetchone()[0])

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table as tuples of `columns`, None for missing columns.

        Nothing is yielded if the table is missing.
        """
        if table not in self:
            return
        present = self.columns(table)
        selected = ", ".join(f'"{column}"' if column in present else "NULL" for column in columns)
        yield from self.query(f"SELECT {selected} FROM {self.quoted(table)}")  # noqa: S608 - quoted

    def query(self, text: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a SELECT statement."""
        yield from self._database.execute(text)

    def quoted(self, table: str) -> str:
        """Return the stored name of a table, quoted for SQL."""
        return '"' + self._stored_names[table].replace('"', '""') + '"'


class ParquetTables(_StoredTables):
    """Tables of a folder of Parquet files."""

    def __init__(self, folder: Path, stored_names: Mapping[str, str]) -> None:
        super().__init__(stored_names)
        self._folder = folder

    def _path(self, table: str) -> Path:
        return self._folder / f"{self._stored_names[table]}.parquet"

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the names of a table's columns; () for a missing table."""
        return tuple(pq.read_schema(self._path(table)).names) if table in self else ()

    def count(self, table: str) -> int:
        """Return the number of a table's rows; 0 for a missing table."""
        return int(pq.read_metadata(self._path(table)).num_rows) if table in self else 0

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table as `SqliteTables.rows`."""
        if table not in self:
            return
        with pq.ParquetFile(self._path(table)) as file:
            present = [column for column in columns if column in file.schema_arrow.names]
            for batch in file.iter_batches(1 << 16, columns=present):
                values = {column: batch.column(column).to_pylist() for column in present}
                nulls = [None] * batch.num_rows
                yield from zip(*(values.get(column, nulls) for column in columns), strict=True)


Tables = SqliteTables | ParquetTables


@contextmanager
def opened_sqlite(path: Path) -> Iterator[tuple[sqlite3.Connection, tuple[str, ...]]]:
    """Open a database for reading, and yield it with the sorted names of its tables."""
    with closing(sqlite3.connect(f"file:{path.resolve()}?mode=ro", uri=True)) as database:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        yield database, tuple(sorted(str(name) for (name,) in names))


def has_table(path: Path, head: bytes, name: re.Pattern[str]) -> bool:
    """Return whether a file is a SQLite database with a table whose name matches a pattern.

    A database that cannot be read has none. `head` has the file's first bytes.
    """
    if not head.startswith(_SQLITE):
        return False
    try:
        with opened_sqlite(path) as (_, names):
            return any(name.match(table) for table in names)
    except (sqlite3.Error, UnicodeError):
        return False  # damaged: no importer recognizes the file, which is then refused


@contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """Turn errors of SQLite and Arrow into BadSource, which says that a file is not `what`."""
    try:
        yield
    except MemoryError:
        raise  # also Arrow's, which is an ArrowException too
    except (sqlite3.Error, UnicodeError, pa.ArrowException, OSError) as problem:
        detail = " ".join(str(problem).split())[:120]
        raise BadSource(f"{path} cannot be read as {what} ({detail})") from problem
