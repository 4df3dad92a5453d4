"""Arrow columns as NumPy arrays, integer codes of equal rows, unions of intervals."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.int64]

_WIDTHS: Final = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)


def integers(column: pa.ChunkedArray, missing: int = 0) -> Integers:
    """Return an integer or timestamp column as int64 (ns since 1970), nulls as `missing`."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if column.null_count:
        column = pc.fill_null(column, missing)
    array: Integers = column.to_numpy().astype(np.int64, copy=False)
    return array


def narrow(column: Integers) -> Integers:
    """Return a column converted to the narrowest integer type that holds all its values."""
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    for width in _WIDTHS:
        limits = np.iinfo(width)
        if limits.min <= low and high <= limits.max:
            return column.astype(width, copy=False)
    return column.astype(np.int64, copy=False)


def with_narrow_numbers(table: pa.Table) -> pa.Table:
    """Return a table in which columns of int64 are int32 if they hold no larger value."""
    for index, field in enumerate(table.schema):
        if field.type == pa.int64():
            with suppress(pa.ArrowInvalid):
                column = table.column(index).cast(pa.int32())
                table = table.set_column(index, field.name, column)
    return table


class Positions:
    """Index from ids to their positions in a sorted array of ids."""

    def __init__(self, ids: Integers) -> None:
        self._ids = ids
        highest = int(ids[-1]) if ids.size else -1
        self._table: Integers | None = None
        if highest < 4 * ids.size + 1_000 and (not ids.size or ids[0] >= 0):  # ids are dense
            self._table = np.full(highest + 2, -1)
            self._table[ids[::-1]] = np.arange(ids.size)[::-1]  # the first of equal ids

    def of(self, ids: Integers) -> Integers:
        """Return the first position of each id, or -1 if the array does not have the id."""
        if self._table is not None:
            last = self._table.size - 1
            positions: Integers = self._table[np.where((ids < 0) | (ids > last), last, ids)]
            return positions
        nearest = np.minimum(np.searchsorted(self._ids, ids), self._ids.size - 1)
        return np.where(self._ids[nearest] == ids, nearest, -1)


def summed_by(code: Integers, amount: Integers) -> Integers:
    """Return an array with, at index c, the sum of the amounts in the rows with code c."""
    if not code.size:
        return np.zeros(0, np.int64)
    if int(np.abs(amount).max()) * code.size < 1 << 53:  # floating-point sums are exact
        return np.bincount(code, amount).astype(np.int64)
    total = np.zeros(int(code.max()) + 1, np.int64)
    np.add.at(total, code, amount)
    return total


def coded(column: pa.ChunkedArray) -> tuple[list[str | None], Integers]:
    """Return a dictionary column's distinct texts, then None, and each row's index in that list."""
    if not len(column):
        return [None], np.zeros(0, np.int64)
    unified_column = column.unify_dictionaries().combine_chunks()
    names = [*map(str, unified_column.dictionary.to_pylist()), None]
    codes = unified_column.indices.fill_null(len(names) - 1)
    return names, np.asarray(codes.to_numpy(zero_copy_only=False))


def combined_codes(columns: Sequence[pa.ChunkedArray]) -> tuple[Integers, Integers]:
    """Return codes from 0, equal for rows equal in all columns, and one row's index per code."""
    codes = np.zeros(len(columns[0]), np.int64)
    example_rows = np.zeros(min(len(columns[0]), 1), np.int64)
    for column in columns:
        column_codes, size = _codes(column)
        if size > 1:
            codes, example_rows = _dense(
                codes * size + column_codes, max(example_rows.size, 1) * size
            )
    return codes, example_rows


def dictionary_values(column: pa.ChunkedArray, rows: Integers) -> list[Any]:
    """Return the values of a column at the given row indices, as Python objects."""
    values: list[Any] = column.take(pa.array(rows)).to_pylist()
    return values


def _codes(column: pa.ChunkedArray) -> tuple[Integers, int]:
    """Return a code for each row, equal for equal values, and a number above all codes."""
    if pa.types.is_integer(column.type):
        return _integer_codes(column)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    unified_column = column.unify_dictionaries().combine_chunks()
    if isinstance(unified_column, pa.ChunkedArray):  # no rows at all
        return np.zeros(0, np.int64), 1
    indices = pc.fill_null(unified_column.indices, -1).to_numpy().astype(np.int64) + 1
    return indices, len(unified_column.dictionary) + 1


def _integer_codes(column: pa.ChunkedArray) -> tuple[Integers, int]:
    if column.null_count == len(column):
        return np.zeros(len(column), np.int64), 1
    lowest = pc.min(column).as_py()
    codes = integers(column, missing=lowest - 1) - lowest
    if column.null_count:
        codes += 1
    return _bounded(codes, int(codes.max()) + 1)


def _bounded(codes: Integers, size: int) -> tuple[Integers, int]:
    """Return codes below `size`, and their bound; renumbered if `size` far exceeds the row count.

    Small bounds keep the products in `combined_codes` from overflowing.
    """
    if size <= 4 * codes.size + 1_000:
        return codes, size
    dense, example_rows = _dense(codes, size)
    return dense, example_rows.size


def _dense(codes: Integers, size: int) -> tuple[Integers, Integers]:
    """Return codes below `size` renumbered without gaps in the same order, and a row per code."""
    if size > 4 * codes.size + 1_000:
        _, first_rows, dense = np.unique(codes, return_index=True, return_inverse=True)
        return dense.reshape(-1).astype(np.int64), first_rows.astype(np.int64)
    example_rows = np.full(size, -1, np.int64)
    example_rows[codes] = np.arange(codes.size)
    is_used = example_rows >= 0
    return (np.cumsum(is_used) - 1)[codes], example_rows[is_used]


def sum_of_known(values: Iterable[int | None]) -> int | None:
    """Return the sum of the values that are not None; None if all are."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


def sum_if_all_known(values: Iterable[int | None]) -> int | None:
    """Return the sum of the values; None if one is, or without any."""
    listed = list(values)
    return None if None in listed else sum_of_known(listed)


def concatenated(columns: list[Integers]) -> Integers:
    """Return columns, which may differ in width, as one; the list is emptied to free memory."""
    joined = np.concatenate(columns or [np.zeros(0, np.int64)])
    columns.clear()
    return joined


# -- unions of intervals ---------------------------------------------------------------------------


def union_of(begin: Integers, end: Integers) -> tuple[Integers, Integers]:
    """Return the begins and ends of the intervals' union, as disjoint intervals in order."""
    if not begin.size:
        return begin, end
    if not (begin[1:] >= begin[:-1]).all():
        order = np.argsort(begin, kind="stable")
        begin, end = begin[order], end[order]
    latest_end = np.maximum.accumulate(end)
    is_first = np.append(True, begin[1:] > latest_end[:-1])
    last_rows = np.append(np.flatnonzero(is_first)[1:] - 1, begin.size - 1)
    return begin[is_first], latest_end[last_rows]


class Coverage:
    """Length of any ranges that disjoint intervals in order cover; all times in ns."""

    def __init__(self, first: Integers, last: Integers) -> None:
        self._first, self._last = first, last
        self._total_before = np.append(0, np.cumsum(last - first))

    def of(self, begin: Integers, end: Integers) -> Integers:
        """Return the ns of each range from `begin` to `end` that lie in the intervals."""
        if not self._first.size:
            return np.zeros_like(begin)
        return self._until(np.maximum(begin, end)) - self._until(begin)

    def _until(self, moment: Integers) -> Integers:
        """Return the ns of the intervals before each moment."""
        count = np.searchsorted(self._first, moment, side="right")
        place = np.maximum(count - 1, 0)
        inside = np.minimum(moment, self._last[place]) - self._first[place]
        covered = np.where(count > 0, self._total_before[place] + inside, 0)
        return np.asarray(covered)
