"""Patterns: an access as few distinct blocks of lanes, each shared by many programs.

Addresses of a block are nearly always a base per program plus offsets per lane, and masks are
mostly true in all lanes. A launch of millions of lanes is therefore counted on one block per
distinct pattern; if programs really differ (in a gather), each has its own pattern.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from math import prod
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.observe import AccessParts

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
T = TypeVar("T")

#: Elements of an array that are compared at a time: 256 kB.
_PART: Final = 1 << 15


@dataclass(frozen=True, eq=False)
class Patterns:
    """Lane offsets and masks of a batch of programs, without the access's constant.

    Program i accesses `bases[i] + lanes[pattern_of_program[i]]` where
    `active[pattern_of_program[i]]`. `lanes` and `active` have one row per pattern and one column
    per lane, in row-major order of the block; the offsets count from the first lane. `active` None:
    all lanes are active.
    """

    programs: Integers
    bases: Integers
    pattern_of_program: Integers
    lanes: Integers
    active: Flags | None
    block: tuple[int, ...]
    _results: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of a computation on the patterns, which is kept under its key."""
        if key not in self._results:
            self._results[key] = compute()
        result: T = self._results[key]
        return result

    @property
    def size(self) -> int:
        """The number of distinct patterns."""
        return len(self.lanes)

    @property
    def active_programs(self) -> int:
        """The number of programs with an active lane."""
        if self.active is None:
            return len(self.programs) if self.lanes.size else 0
        return int(np.asarray(self.active.any(axis=1))[self.pattern_of_program].sum())

    def active_lanes(self, pattern_index: int) -> Integers:
        """Return the byte offsets of a pattern's active lanes, in row-major order."""
        lanes: Integers = self.lanes[pattern_index]
        return lanes if self.active is None else lanes[self.active[pattern_index]]


def patterns_of(parts: AccessParts, most_lanes: int) -> Patterns | None:
    """Return an access as patterns, None if more than `most_lanes` lanes would be computed."""
    programs = len(parts.programs)
    lanes = prod(parts.block)
    if lanes > most_lanes or any(a.size > most_lanes for a in (*parts.terms, *parts.factors)):
        return None
    bases: Integers = np.zeros(programs, np.int64)
    shared_terms: list[Integers] = []
    varying_terms: list[Integers] = []
    for term in parts.terms:
        base, lane_part = _split_term(term)
        bases = bases + base
        if lane_part is not None:
            (shared_terms if len(lane_part) == 1 else varying_terms).append(lane_part)
    shared_factors: list[Flags] = []
    varying_factors: list[Flags] = []
    for factor in map(_without_equal_rows, parts.factors):
        (shared_factors if len(factor) == 1 else varying_factors).append(factor)
    pattern_of_program, examples = _class_programs([*varying_terms, *varying_factors], programs)
    if len(examples) * lanes > most_lanes:
        return None
    terms = shared_terms + [term[examples] for term in varying_terms]
    factors = shared_factors + [factor[examples] for factor in varying_factors]
    shape = (len(examples), *parts.block)
    offset_sum: Any = sum(terms, np.zeros((1,) * len(shape), np.int64))
    active: Any = reduce(np.logical_and, factors) if factors else None
    flat_shape = (len(examples), lanes)
    offsets = np.broadcast_to(offset_sum, shape).reshape(flat_shape)
    first_lane = offsets[:, :1]
    return Patterns(
        parts.programs,
        bases + first_lane[pattern_of_program, 0],
        pattern_of_program,
        offsets - first_lane if first_lane.any() else offsets,
        None if active is None else np.broadcast_to(active, shape).reshape(flat_shape),
        parts.block,
    )


def _split_term(term: Integers) -> tuple[Integers, Integers | None]:
    """Return a term as one number per program, and a lane part (None: it has none)."""
    if term.shape[0] == 1:
        return np.zeros(1, np.int64), term
    if term.size == term.shape[0]:
        return term.reshape(-1), None
    first_lane = term.reshape(len(term), -1)[:, 0]
    origin = first_lane.reshape((-1,) + (1,) * (term.ndim - 1))
    if _are_rows_equal(term, origin):
        return first_lane, term[:1] - origin[:1]
    return first_lane, term - origin


def _without_equal_rows(array: NDArray[Any]) -> NDArray[Any]:
    """Return only the first row of an array if all rows are equal, else the array."""
    return array[:1] if len(array) > 1 and _are_rows_equal(array) else array


def _are_rows_equal(array: NDArray[Any], origin: Integers | None = None) -> bool:
    """Return whether all rows are equal, each less its number in `origin`; the last is tried first.

    Rows are compared in parts that stay in the processor's caches.
    """
    step = max(1, _PART * len(array) // max(array.size, 1))
    first = array[:1] if origin is None else array[:1] - origin[:1]
    for begin in (len(array) - 1, *range(0, len(array), step)):
        part = array[begin : begin + step]
        if not ((part if origin is None else part - origin[begin : begin + step]) == first).all():
            return False
    return True


def _class_programs(arrays: list[NDArray[Any]], programs: int) -> tuple[Integers, Integers]:
    """Return the class of each program by its rows in the arrays, and a program per class."""
    pattern_of_program: Integers = np.zeros(programs, np.int64)
    examples: Integers = np.zeros(min(programs, 1), np.int64)
    for array in arrays:
        numbers, first, count = _row_numbers(array.reshape(len(array), -1))
        if array is arrays[0]:
            pattern_of_program, examples = numbers, first
            continue
        combined = pattern_of_program * count + numbers
        _, examples, pattern_of_program = np.unique(
            combined, return_index=True, return_inverse=True
        )
        pattern_of_program = pattern_of_program.reshape(-1)
    return pattern_of_program.astype(np.int64), examples.astype(np.int64)


def _row_numbers(rows: NDArray[Any]) -> tuple[Integers, Integers, int]:
    """Return a number per row, equal for equal rows, the first row of each number, their count."""
    if rows.dtype == np.bool_:
        rows = _packed(rows)
    projected = rows @ _weights(rows.shape[1])
    _, first, inverse = np.unique(projected, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    parts = range(0, len(rows), max(1, _PART // max(rows.shape[1], 1)))
    step, distinct_rows = parts.step, rows[first]
    if not all(
        np.array_equal(distinct_rows[inverse[begin : begin + step]], rows[begin : begin + step])
        for begin in parts
    ):
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        inverse = inverse.reshape(-1)
    return inverse.astype(np.int64), first.astype(np.int64), len(first)


@lru_cache(64)
def _weights(columns: int) -> Integers:
    """Return pseudorandom factors of the columns of rows, by SplitMix64 (Steele et al., 2014).

    `numpy.random` is not imported for them: it would take a tenth of a first launch.
    """
    bits = np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return (bits ^ (bits >> np.uint64(31))).view(np.int64)


def _packed(rows: NDArray[np.bool_]) -> Integers:
    """Return rows of Booleans as rows of 64-bit words, which are equal where the rows are."""
    bits = np.packbits(rows, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    words[:, : bits.shape[1]] = bits
    return words.view(np.int64)
