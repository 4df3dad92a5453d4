"""Arrow columns as NumPy arrays, and codes for equal values and rows."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.int64]

_WIDTHS: Final = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)


def integers(column: pa.ChunkedArray, missing: int = 0) -> Integers:
    """Return an integer or time column (ns since 1970) as int64, `missing` where it is null."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if column.null_count:
        column = pc.fill_null(column, missing)
    array: Integers = column.to_numpy().astype(np.int64, copy=False)
    return array


def narrow(column: Integers) -> Integers:
    """Return a column in the narrowest type that holds its values."""
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    for width in _WIDTHS:
        limits = np.iinfo(width)
        if limits.min <= low and high <= limits.max:
            return column.astype(width, copy=False)
    return column.astype(np.int64, copy=False)


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
        at = np.minimum(np.searchsorted(self._ids, ids), self._ids.size - 1)
        return np.where(self._ids[at] == ids, at, -1)


def summed_by(code: Integers, amount: Integers) -> Integers:
    """Return the sum of the amounts of each code from 0 to the highest."""
    if not code.size:
        return np.zeros(0, np.int64)
    if int(np.abs(amount).max()) * code.size < 1 << 53:  # floating-point sums are exact
        return np.bincount(code, amount).astype(np.int64)
    total = np.zeros(int(code.max()) + 1, np.int64)
    np.add.at(total, code, amount)
    return total


def coded(column: pa.ChunkedArray) -> tuple[list[str | None], Integers]:
    """Return the distinct names of a dictionary column, None last, and each row's index in them."""
    if not len(column):
        return [None], np.zeros(0, np.int64)
    whole = column.unify_dictionaries().combine_chunks()
    names = [*map(str, whole.dictionary.to_pylist()), None]
    codes = whole.indices.fill_null(len(names) - 1)
    return names, np.asarray(codes.to_numpy(zero_copy_only=False))


def combined_codes(columns: Sequence[pa.ChunkedArray]) -> tuple[Integers, Integers]:
    """Return a code, from 0 on, for each row of some columns, equal for equal rows.

    Also returns for each code a row that has this code.
    """
    codes = np.zeros(len(columns[0]), np.int64)
    first = np.zeros(min(len(columns[0]), 1), np.int64)
    for column in columns:
        column_codes, size = _codes(column)
        if size > 1:
            codes, first = _dense(codes * size + column_codes, max(first.size, 1) * size)
    return codes, first


def dictionary_values(column: pa.ChunkedArray, rows: Integers) -> list[Any]:
    """Return the values of a column in a few rows."""
    values: list[Any] = column.take(pa.array(rows)).to_pylist()
    return values


def _codes(column: pa.ChunkedArray) -> tuple[Integers, int]:
    """Return a code for each row, equal for equal values, and a bound above all codes."""
    if pa.types.is_integer(column.type):
        return _integer_codes(column)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # no rows at all
        return np.zeros(0, np.int64), 1
    indices = pc.fill_null(whole.indices, -1).to_numpy().astype(np.int64) + 1
    return indices, len(whole.dictionary) + 1


def _integer_codes(column: pa.ChunkedArray) -> tuple[Integers, int]:
    if column.null_count == len(column):
        return np.zeros(len(column), np.int64), 1
    lowest = pc.min(column).as_py()
    codes = integers(column, missing=lowest - 1) - lowest + 1
    if column.null_count == 0:
        codes -= 1
    return _bounded(codes, int(codes.max()) + 1)


def _bounded(codes: Integers, size: int) -> tuple[Integers, int]:
    """Return dense codes if `size` is far above the number of rows, lest products overflow."""
    if size <= 4 * codes.size + 1_000:
        return codes, size
    dense, first = _dense(codes, size)
    return dense, first.size


def _dense(codes: Integers, size: int) -> tuple[Integers, Integers]:
    """Return codes below `size` renumbered without gaps in the same order, and a row of each."""
    if size > 4 * codes.size + 1_000:
        _, first, dense = np.unique(codes, return_index=True, return_inverse=True)
        return dense.reshape(-1).astype(np.int64), first.astype(np.int64)
    example = np.full(size, -1, np.int64)
    example[codes] = np.arange(codes.size)
    used = example >= 0
    return (np.cumsum(used) - 1)[codes], example[used]
