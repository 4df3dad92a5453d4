"""Merging of sorted parts of one table into one stream of sorted rows, few of them in memory.

The next rows come from the parts whose row group contains the smallest key. Rows up to the smallest
last key of these groups are complete, since no other group can have smaller keys. Example: groups
with keys 1 to 5 and 3 to 9: rows up to 5 are taken of both, sorted and yielded; then 6 to 9.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kvtrace.schema.columns import filled
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.parts import damaged, open_part, sorted_rows
from kvtrace.schema.table_types import Table

#: Sort key of a row: for each sort column whether the value is null, and the value.
Key = tuple[tuple[bool, Any], ...]

_END: Final[Key] = ((True, 1),)


def merged_rows(paths: Sequence[Path], table: Table) -> Iterator[pa.RecordBatch]:
    """Yield the rows of sorted parts in the table's order.

    A part is read one row group at a time, and only once the next row is in that group.

    Raises:
        DamagedFile: a part cannot be read.

    """
    waiting = [_Source(path, table) for path in paths]
    if not table.sort:
        for source in waiting:
            yield from source.all()
        return
    while waiting := [source for source in waiting if not source.is_empty]:
        nearest = min(source.first for source in waiting)
        bound = min(source.last for source in waiting if source.first == nearest)
        due = [source for source in waiting if source.first <= bound]
        bound = min(source.last for source in due)
        pieces = [source.taken_until(bound) for source in due]
        yield from _as_written(sorted_rows(pa.concat_tables(pieces), table), table)


class _Source:
    """One part: the present row group, and the first and last key of its remaining rows."""

    def __init__(self, path: Path, table: Table) -> None:
        self._path = path
        self._table = table
        self._names = [column.name for column in table.columns]
        with open_part(path) as file:
            self._groups = file.num_row_groups
        self._next = 0
        self._rows: pa.Table | None = None
        self._first: Key | None = None
        self._last: Key = _END
        self._look_ahead()

    @property
    def is_empty(self) -> bool:
        """All rows have been taken."""
        return self._first is None

    @property
    def first(self) -> Key:
        """Key of the next row."""
        assert self._first is not None
        return self._first

    @property
    def last(self) -> Key:
        """Key of the last row in the row group of the next row."""
        return self._last

    def all(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows."""
        for group in range(self._groups):
            yield from _as_written(self._read(group, self._names), self._table)

    def taken_until(self, bound: Key) -> pa.Table:
        """Take and return the next rows of the row group with keys up to a bound."""
        if self._rows is None:
            self._rows = self._read(self._next, self._names)
            self._next += 1
        rows = self._rows
        low, high = rows.num_rows if bound == self._last else 0, rows.num_rows
        while low < high:
            middle = (low + high) // 2
            if _key(rows, middle, self._table) <= bound:
                low = middle + 1
            else:
                high = middle
        self._rows = rows.slice(low)
        if self._rows.num_rows:
            self._first = _key(self._rows, 0, self._table)
        else:
            self._rows = None
            self._look_ahead()
        return rows.slice(0, low)

    def _look_ahead(self) -> None:
        """Set first and last key from the next row group that has rows."""
        self._first = None
        while self._next < self._groups:
            keys = self._read(self._next, self._table.sort)
            if keys.num_rows:
                self._first = _key(keys, 0, self._table)
                self._last = _key(keys, keys.num_rows - 1, self._table)
                if self._last < self._first:
                    raise DamagedFile(
                        f"{self._path} is damaged (its rows are not in the order of "
                        f"{self._table.name}); restore it from a copy, or move it out of the trace"
                    )
                return
            self._next += 1

    def _read(self, group: int, names: Sequence[str]) -> pa.Table:
        with open_part(self._path) as file:
            present = set(file.schema_arrow.names)
            try:
                rows = file.read_row_group(group, columns=[n for n in names if n in present])
            except (pa.ArrowException, OSError, ValueError) as error:
                raise damaged(self._path, error) from error
        return filled(self._table, rows, list(names), str(self._path))


def _as_written(rows: pa.Table, table: Table) -> Iterator[pa.RecordBatch]:
    """Yield batches with the table's schema, in which keys are not nullable."""
    yield from pa.Table.from_arrays(rows.columns, schema=table.schema).to_batches()


def _key(rows: pa.Table, index: int, table: Table) -> Key:
    """Return the sort key of a row; nulls come last, as in sorted parts."""
    key = []
    for name in table.sort:
        scalar = rows.column(name)[index]
        value = scalar.value if isinstance(scalar, pa.TimestampScalar) else scalar.as_py()
        key.append((True, 0) if value is None else (False, value))
    return tuple(key)
