"""Extremes of sums over all rows that are read: ends, extreme rows, and distinct rows."""

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

_LARGEST: Final = 1 << 62
_MOST_DISTINCT: Final = 32
_MOST_SORTED: Final = 1 << 12


@dataclass(frozen=True)
class Row:
    """One row: the numbers of its own symbols, and those of the gathered symbols."""

    own: Mapping[Symbol | Opaque, int]
    numbers: tuple[int, ...]


@dataclass
class Extremes:
    """The extremes of gathered symbols, and of sums of them, over all rows.

    `ends` are the least and greatest value of each symbol. `distinct` has all distinct rows, None
    if there are too many. `is_doubtful`: some number is not known.
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
        """Add the rows of a part."""
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
        ends = [(int(column.min()), int(column.max())) for column in columns]
        self.ends = [
            (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(self.ends or ends, ends, strict=True)
        ]
        self._note_distinct(rows, columns, certain)
        positions = np.flatnonzero(certain)
        for number, column in enumerate((*columns, *self._along(columns))):
            if column is None:
                continue
            if number >= len(columns):
                least = int(column.min())
                self._least[number] = min(self._least.get(number, least), least)
            if not len(positions):
                continue
            known_numbers = column[positions]
            for sign, position in (
                (1, positions[known_numbers.argmin()]),
                (-1, positions[known_numbers.argmax()]),
            ):
                extreme = sign * int(column[position])
                before = self._extreme.get((number, sign))
                if before is None or extreme < before[0]:
                    self._extreme[number, sign] = extreme, _row(rows, columns, int(position))
        if not columns and len(positions):
            self._extreme.setdefault((0, 1), (0, _row(rows, columns, int(positions[0]))))

    def _along(self, columns: Sequence[NDArray[np.int64]]) -> Iterator[NDArray[np.int64] | None]:
        positions = {symbol: number for number, symbol in enumerate(self.sums)}
        for number, direction in enumerate(self.directions):
            largest = (max(map(abs, self.ends[positions[symbol]])) for symbol, _ in direction)
            reach = sum(
                abs(factor) * most for (_, factor), most in zip(direction, largest, strict=True)
            )
            if reach >= _LARGEST:
                self._least[len(columns) + number] = -reach * 2
                yield None
                continue
            total = np.zeros((), np.int64)
            for symbol, factor in direction:
                total = total + columns[positions[symbol]] * factor
            yield total

    def _note_distinct(
        self, rows: Rows, columns: Sequence[NDArray[np.int64]], certain: NDArray[np.bool_]
    ) -> None:
        if self.distinct is None:
            return
        if len(rows) > _MOST_SORTED or not certain.all():
            self.distinct = None
            return
        table = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), np.int64)
        _, firsts = np.unique(table, axis=0, return_index=True)
        for position in firsts[: _MOST_DISTINCT + 1]:
            row = _row(rows, columns, int(position))
            self.distinct.setdefault(row.numbers, row)
        if len(self.distinct) > _MOST_DISTINCT:
            self.distinct = None

    def bounds(self) -> list[Condition]:
        """Return conditions that hold of sums of several symbols."""
        conditions = []
        for number, direction in enumerate(self.directions, len(self.sums)):
            term = as_term(0)
            for symbol, factor in direction:
                term = term + symbol.term * factor
            conditions.append(at_least(term, self._least[number]))
        return conditions

    def candidates(self) -> list[Row]:
        """Return the rows at which to check a claim: all distinct ones, or extreme ones."""
        if self.distinct is not None:
            return list(self.distinct.values())
        rows = {row.numbers: row for _, row in self._extreme.values()}
        return list(rows.values())[:_MOST_DISTINCT]


def _row(rows: Rows, columns: Sequence[NDArray[np.int64]], position: int) -> Row:
    symbols: dict[Symbol | Opaque, int] = {
        symbol: int(column[position]) for symbol, column in rows.columns.items()
    }
    return Row(symbols, tuple(int(column[position]) for column in columns))
