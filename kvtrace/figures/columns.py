"""Arrow columns as NumPy arrays, and rows that are alike as numbers."""

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
    found: Integers = column.to_numpy().astype(np.int64, copy=False)
    return found


def narrow(column: Integers) -> Integers:
    """Return a column in the narrowest type that holds its values."""
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    for width in _WIDTHS:
        limits = np.iinfo(width)
        if limits.min <= low and high <= limits.max:
            return column.astype(width, copy=False)
    return column.astype(np.int64, copy=False)


class Positions:
    """Where numbers are among some, which are sorted; -1 where they are not."""

    def __init__(self, known: Integers) -> None:
        self._known = known
        highest = int(known[-1]) if known.size else -1
        self._table: Integers | None = None
        if highest < 4 * known.size + 1_000 and (not known.size or known[0] >= 0):  # ids are dense
            self._table = np.full(highest + 2, -1)
            self._table[known[::-1]] = np.arange(known.size)[::-1]  # of those alike the first

    def of(self, wanted: Integers) -> Integers:
        """Return the place of each."""
        if self._table is not None:
            last = self._table.size - 1
            found: Integers = self._table[np.where((wanted < 0) | (wanted > last), last, wanted)]
            return found
        at = np.minimum(np.searchsorted(self._known, wanted), self._known.size - 1)
        return np.where(self._known[at] == wanted, at, -1)


def summed_by(code: Integers, amount: Integers) -> Integers:
    """Return the sum of the amounts of each code from 0 to the highest."""
    if not code.size:
        return np.zeros(0, np.int64)
    if int(np.abs(amount).max()) * code.size < 1 << 53:  # as floating-point numbers they are exact
        return np.bincount(code, amount).astype(np.int64)
    found = np.zeros(int(code.max()) + 1, np.int64)
    np.add.at(found, code, amount)
    return found


def coded(column: pa.ChunkedArray) -> tuple[list[str | None], Integers]:
    """Return the distinct names of a dictionary column, None last, and the index of each row's."""
    if not len(column):
        return [None], np.zeros(0, np.int64)
    whole = column.unify_dictionaries().combine_chunks()
    names = [*map(str, whole.dictionary.to_pylist()), None]
    codes = whole.indices.fill_null(len(names) - 1)
    return names, np.asarray(codes.to_numpy(zero_copy_only=False))


def combined_codes(columns: Sequence[pa.ChunkedArray]) -> tuple[Integers, Integers]:
    """Return a number, from 0 on, to each distinct row of some columns.

    Returns the number of each row, and for each number a row that has it.
    """
    codes = np.zeros(len(columns[0]), np.int64)
    first = np.zeros(min(len(columns[0]), 1), np.int64)
    for column in columns:
        own, size = _codes(column)
        if size > 1:
            codes, first = _dense(codes * size + own, max(first.size, 1) * size)
    return codes, first


def dictionary_values(column: pa.ChunkedArray, rows: Integers) -> list[Any]:
    """Return the values of a column in a few rows."""
    values: list[Any] = column.take(pa.array(rows)).to_pylist()
    return values


def _codes(column: pa.ChunkedArray) -> tuple[Integers, int]:
    """Return a code for each row, equal where values are, and a number above all codes."""
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
    """Make codes dense where they are far more than the rows, lest products of sizes overflow."""
    if size <= 4 * codes.size + 1_000:
        return codes, size
    dense, first = _dense(codes, size)
    return dense, first.size


def _dense(codes: Integers, size: int) -> tuple[Integers, Integers]:
    """Renumber codes below `size` without gaps, in their order."""
    if size > 4 * codes.size + 1_000:
        _, first, dense = np.unique(codes, return_index=True, return_inverse=True)
        return dense.reshape(-1).astype(np.int64), first.astype(np.int64)
    example = np.full(size, -1, np.int64)
    example[codes] = np.arange(codes.size)
    used = example >= 0
    return (np.cumsum(used) - 1)[codes], example[used]
