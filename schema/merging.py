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
from kvtrace.schema.opened_parts import open_part, reading
from kvtrace.schema.parts import sorted_rows
from kvtrace.schema.table_types import Table

#: Sort key of a row: for each sort column whether the value is null, and the value.
Key = tuple[tuple[bool, Any], ...]

_END: Final[Key] = ((True, 1),)


def merged_rows(paths: Sequence[Path], table: Table) -> Iterator[pa.RecordBatch]:
    """Yield the rows of sorted parts of a table, merged in the table's order.

    A part is read one row group at a time, and only once the next row is in that group.

    Raises:
        DamagedFile: a part cannot be read.

    """
    cursors = [_PartCursor(path, table) for path in paths]
    if not table.sort:
        for cursor in cursors:
            yield from cursor.all_batches()
        return
    while cursors := [cursor for cursor in cursors if not cursor.is_exhausted]:
        smallest_key = min(cursor.first for cursor in cursors)
        bound = min(cursor.last for cursor in cursors if cursor.first == smallest_key)
        overlapping = [cursor for cursor in cursors if cursor.first <= bound]
        bound = min(cursor.last for cursor in overlapping)
        pieces = [cursor.take_until(bound) for cursor in overlapping]
        yield from _batches_with_schema(sorted_rows(pa.concat_tables(pieces), table), table)


class _PartCursor:
    """Cursor over a sorted part: the current row group, and its first and last remaining keys."""

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
        self._advance_to_next_group()

    @property
    def is_exhausted(self) -> bool:
        """Every row of the part has been returned."""
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

    def all_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows of the part."""
        for group in range(self._groups):
            yield from _batches_with_schema(self._read(group, self._names), self._table)

    def take_until(self, bound: Key) -> pa.Table:
        """Return the group's next rows with keys <= `bound`, and move the cursor behind them."""
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
            self._advance_to_next_group()
        return rows.slice(0, low)

    def _advance_to_next_group(self) -> None:
        """Set first and last key from the next row group with rows, or first to None at the end."""
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
        with open_part(self._path) as file, reading(self._path):
            stored_names = set(file.schema_arrow.names)
            rows = file.read_row_group(group, columns=[n for n in names if n in stored_names])
        return filled(self._table, rows, list(names), str(self._path))


def _batches_with_schema(rows: pa.Table, table: Table) -> Iterator[pa.RecordBatch]:
    """Yield `rows` as batches with the table's own schema, in which keys are not nullable."""
    yield from pa.Table.from_arrays(rows.columns, schema=table.schema).to_batches()


def _key(rows: pa.Table, index: int, table: Table) -> Key:
    """Return the sort key of row `index`; nulls sort last, as in sorted parts."""
    sort_key = []
    for name in table.sort:
        scalar = rows.column(name)[index]
        value = scalar.value if isinstance(scalar, pa.TimestampScalar) else scalar.as_py()
        sort_key.append((True, 0) if value is None else (False, value))
    return tuple(sort_key)
