"""Extremes of sums over all rows that are read: intervals, extreme rows, and distinct rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.symbolic.conditions import Condition, Opaque, at_least
from kvtrace.symbolic.terms import Symbol, Term, as_term

if TYPE_CHECKING:
    from kvtrace.symbolic.prover import Interval
    from kvtrace.verdicts.contents.gathering import Direction
    from kvtrace.verdicts.contents.read_values import Reading, Rows

_MAX_NUMBER: Final = 1 << 62
_MAX_DISTINCT: Final = 32
_MAX_SORTED: Final = 1 << 12


@dataclass(frozen=True)
class Row:
    """One row: the values of its own symbols, and the numbers of the gathered symbols."""

    own: Mapping[Symbol | Opaque, int]
    numbers: tuple[int, ...]


@dataclass
class Extremes:
    """The extremes of gathered symbols, and of sums of these symbols, over all rows.

    `ends` has the smallest and largest value of each symbol. `distinct` has all distinct rows, None
    if there are too many. `is_doubtful`: at least one number is unknown.
    """

    sums: Mapping[Symbol, Term]
    directions: Sequence[Direction]
    count: int = 0
    is_doubtful: bool = False
    ends: list[Interval] = field(default_factory=list)
    distinct: dict[tuple[int, ...], Row] | None = field(default_factory=dict)
    _least: dict[int, int] = field(default_factory=dict)
    _extreme: dict[tuple[int, int], tuple[int, Row]] = field(default_factory=dict)

    def add(self, rows: Rows, reading: Reading) -> None:
        """Add a batch of rows, with the numbers of their sums."""
        if not len(rows):
            return
        self.count += len(rows)
        columns = [np.broadcast_to(reading(sum_), len(rows)) for sum_ in self.sums.values()]
        certain = rows.certain
        for sum_ in self.sums.values():
            doubt = reading.doubt(sum_)
            if np.any(doubt):
                self.is_doubtful = True
                certain = certain & np.logical_not(doubt)
        intervals = [(int(column.min()), int(column.max())) for column in columns]
        self.ends = [
            (min(left[0], right[0]), max(left[1], right[1]))
            for left, right in zip(self.ends or intervals, intervals, strict=True)
        ]
        self._add_distinct(rows, columns, certain)
        positions = np.flatnonzero(certain)
        for column_index, column in enumerate((*columns, *self._direction_sums(columns))):
            if column is None:
                continue
            if column_index >= len(columns):
                smallest = int(column.min())
                self._least[column_index] = min(self._least.get(column_index, smallest), smallest)
            if not len(positions):
                continue
            known_numbers = column[positions]
            for sign, position in (
                (1, positions[known_numbers.argmin()]),
                (-1, positions[known_numbers.argmax()]),
            ):
                extreme = sign * int(column[position])
                previous = self._extreme.get((column_index, sign))
                if previous is None or extreme < previous[0]:
                    self._extreme[column_index, sign] = (
                        extreme,
                        _row_at(rows, columns, int(position)),
                    )
        if not columns and len(positions):
            self._extreme.setdefault((0, 1), (0, _row_at(rows, columns, int(positions[0]))))

    def _direction_sums(
        self, columns: Sequence[NDArray[np.int64]]
    ) -> Iterator[NDArray[np.int64] | None]:
        positions = {symbol: direction_index for direction_index, symbol in enumerate(self.sums)}
        for direction_index, direction in enumerate(self.directions):
            magnitudes = (max(map(abs, self.ends[positions[symbol]])) for symbol, _ in direction)
            largest_sum = sum(
                abs(factor) * magnitude
                for (_, factor), magnitude in zip(direction, magnitudes, strict=True)
            )
            if largest_sum >= _MAX_NUMBER:
                self._least[len(columns) + direction_index] = -largest_sum * 2
                yield None
                continue
            sums = np.zeros((), np.int64)
            for symbol, factor in direction:
                sums = sums + columns[positions[symbol]] * factor
            yield sums

    def _add_distinct(
        self, rows: Rows, columns: Sequence[NDArray[np.int64]], certain: NDArray[np.bool_]
    ) -> None:
        if self.distinct is None:
            return
        if len(rows) > _MAX_SORTED or not certain.all():
            self.distinct = None
            return
        numbers = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), np.int64)
        _, first_positions = np.unique(numbers, axis=0, return_index=True)
        for position in first_positions[: _MAX_DISTINCT + 1]:
            row = _row_at(rows, columns, int(position))
            self.distinct.setdefault(row.numbers, row)
        if len(self.distinct) > _MAX_DISTINCT:
            self.distinct = None

    def bounds(self) -> list[Condition]:
        """Return conditions that give lower bounds of the sums of several symbols."""
        conditions = []
        for number, direction in enumerate(self.directions, len(self.sums)):
            term = as_term(0)
            for symbol, factor in direction:
                term = term + symbol.term * factor
            conditions.append(at_least(term, self._least[number]))
        return conditions

    def candidates(self) -> list[Row]:
        """Return the rows at which to check a claim: all distinct rows, else the extreme ones."""
        if self.distinct is not None:
            return list(self.distinct.values())
        rows = {row.numbers: row for _, row in self._extreme.values()}
        return list(rows.values())[:_MAX_DISTINCT]


def _row_at(rows: Rows, columns: Sequence[NDArray[np.int64]], position: int) -> Row:
    symbols: dict[Symbol | Opaque, int] = {
        symbol: int(column[position]) for symbol, column in rows.columns.items()
    }
    return Row(symbols, tuple(int(column[position]) for column in columns))
