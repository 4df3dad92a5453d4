"""Patterns: an access as a few distinct blocks of lanes, each shared by many programs.

Addresses of a block are nearly always a base per program plus offsets per lane, and masks are all
on for most programs. So a launch of millions of lanes is counted on one block per distinct pattern;
if programs really differ (in a gather), each has its own pattern.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.observe import AccessParts

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Patterns:
    """Lane offsets and masks of a batch of programs, without the access's constant.

    Program i accesses `bases[i] + lanes[which[i]]` where `active[which[i]]`. `lanes` and `active`
    have one row per pattern and one column per lane, in row-major order of the block; the offsets
    count from the first lane. `active` None: all lanes are.
    """

    programs: Integers
    bases: Integers
    which: Integers
    lanes: Integers
    active: Flags | None
    block: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of distinct patterns."""
        return len(self.lanes)

    def active_lanes(self, number: int) -> Integers:
        """Return the offsets of the active lanes of a pattern, in row-major order."""
        lanes: Integers = self.lanes[number]
        return lanes if self.active is None else lanes[self.active[number]]


def patterns_of(parts: AccessParts, most_lanes: int) -> Patterns | None:
    """Return an access as patterns; None if more than `most_lanes` would be computed."""
    programs = len(parts.programs)
    lanes = prod(parts.block)
    if lanes > most_lanes or any(a.size > most_lanes for a in (*parts.terms, *parts.factors)):
        return None
    bases: Integers = np.zeros(programs, np.int64)
    shared: list[Integers] = []
    varying: list[Integers] = []
    for term in parts.terms:
        base, rest = _base_and_rest(term)
        bases = bases + base
        if rest is not None:
            (shared if len(rest) == 1 else varying).append(rest)
    shared_factors: list[Flags] = []
    varying_factors: list[Flags] = []
    for factor in map(_without_equal_rows, parts.factors):
        (shared_factors if len(factor) == 1 else varying_factors).append(factor)
    which, examples = _classes([*varying, *varying_factors], programs)
    if len(examples) * lanes > most_lanes:
        return None
    terms = shared + [term[examples] for term in varying]
    factors = shared_factors + [factor[examples] for factor in varying_factors]
    shape = (len(examples), *parts.block)
    total: Any = np.zeros((1,) * len(shape), np.int64)
    for term in terms:
        total = total + term
    active: Any = None
    for factor in factors:
        active = factor if active is None else np.logical_and(active, factor)
    flat = (len(examples), lanes)
    offsets = np.broadcast_to(total, shape).reshape(flat)
    first = offsets[:, :1]
    return Patterns(
        parts.programs,
        bases + first[which, 0],
        which,
        offsets - first if first.any() else offsets,
        None if active is None else np.broadcast_to(active, shape).reshape(flat),
        parts.block,
    )


def _base_and_rest(term: Integers) -> tuple[Integers, Integers | None]:
    """Return a term as a part per program, and a rest with a single row if programs agree."""
    if term.shape[0] == 1:
        return np.zeros(1, np.int64), term
    if term.size == term.shape[0]:
        return term.reshape(-1), None
    head = term.reshape(len(term), -1)[:, 0]
    rest = term - head.reshape((-1,) + (1,) * (term.ndim - 1))
    return head, _without_equal_rows(rest)


def _without_equal_rows(array: NDArray[Any]) -> NDArray[Any]:
    """Return one row of an array if all rows are equal."""
    return array[:1] if len(array) > 1 and bool((array == array[:1]).all()) else array


def _classes(arrays: list[NDArray[Any]], programs: int) -> tuple[Integers, Integers]:
    """Return the class of each program by its rows of the arrays, and a program per class."""
    which: Integers = np.zeros(programs, np.int64)
    examples: Integers = np.zeros(min(programs, 1), np.int64)
    for array in arrays:
        numbers, count = _row_numbers(array.reshape(len(array), -1))
        joint = which * count + numbers
        _, examples, which = np.unique(joint, return_index=True, return_inverse=True)
        which = which.reshape(-1)
    return which.astype(np.int64), examples.astype(np.int64)


def _row_numbers(rows: NDArray[Any]) -> tuple[Integers, int]:
    """Return numbers that are equal for equal rows: by a random projection, then verified."""
    weights = np.random.default_rng(0).integers(-(1 << 62), 1 << 62, rows.shape[1])
    projected = (rows * weights).sum(axis=1)
    _, first, inverse = np.unique(projected, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    if not np.array_equal(rows[first][inverse], rows):
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        inverse = inverse.reshape(-1)
    return inverse.astype(np.int64), len(first)
