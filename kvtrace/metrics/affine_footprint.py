"""What one memory op accesses in one argument, from formulas, without enumerating lanes.

All of it equals what footprint.py works out on arrays; what has no closed form here is left to it.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from kvtrace.evaluate.observe import AffineFormula
from kvtrace.metrics.affine_records import AffineRecords
from kvtrace.metrics.affine_sectors import affine_sectors
from kvtrace.metrics.combs import Comb, comb_of, size_of_combs, steps_upwards
from kvtrace.metrics.fresh_bytes import Touched
from kvtrace.metrics.sectors import SECTOR_BYTES
from kvtrace.metrics.unique_bytes import Ranges, Repetition, TooManyRanges, size_of_union
from kvtrace.recorded_calls.thread_layouts import BlockedLayout

_MOST_RANGES = 1 << 16
"""Ranges of bytes that sets which interleave may fall into; arrays do better with more."""


class AffineFigures(NamedTuple):
    """Sectors, distinct bytes, the rows of `accesses`, and a text of what these leave out."""

    sectors: int
    unique_bytes: int
    rows: list[dict[str, Any]]
    left_out: str | None


class LaunchFigures:
    """Figures of one launch: ops that touch the same, such as x and y of a sum, share them."""

    def __init__(self) -> None:
        self._known: dict[Any, AffineFigures | None] = {}

    def of(
        self, formulas: Sequence[AffineFormula], element_bytes: int, layout: BlockedLayout | None
    ) -> AffineFigures | None:
        """Return `affine_figures` of these."""
        key = (element_bytes, layout, *map(_content, formulas))
        if key not in self._known:
            self._known[key] = affine_figures(formulas, element_bytes, layout)
        return self._known[key]


def _content(formula: AffineFormula) -> tuple[Any, ...]:
    """Return all that figures depend on: not how axes are numbered, nor where in a sector it is."""
    base, axes, origin, _, block, grid, origin_bytes = formula
    steps = [(axis[0], *axis[2:]) for axis in axes]
    return (base, origin, block, grid, origin_bytes % SECTOR_BYTES, *steps)


def affine_figures(
    formulas: Sequence[AffineFormula], element_bytes: int, layout: BlockedLayout | None
) -> AffineFigures | None:
    """Return the figures of all accesses of an op to an argument; None if they have no closed form.

    None of the formulas has conditions, and each reaches some element.
    """
    records = AffineRecords()
    sectors = 0
    sets: list[tuple[int, list[tuple[int, int]]]] = []
    for formula in formulas:
        if not records.add(formula):
            return None
        axes = [(axis.step, axis.first, axis.last) for axis in formula.axes]
        rank = len(axes) - len(formula.block)
        count = affine_sectors(
            formula.base + formula.origin_bytes, axes[:rank], axes[rank:], formula.block,
            element_bytes, layout,
        )  # fmt: skip
        if count is None:
            return None
        sectors += count
        sets.append(steps_upwards(formula.base, axes))
    size = _unique_bytes(sets, element_bytes)
    return None if size is None else AffineFigures(sectors, size, *records.rows())


def _unique_bytes(sets: list[tuple[int, list[tuple[int, int]]]], element_bytes: int) -> int | None:
    """Count the distinct bytes of elements at (first place, steps)."""
    combs = [comb_of(first, steps, element_bytes) for first, steps in sets]
    known: list[Comb] = [comb for comb in combs if comb is not None]
    if len(known) == len(combs):
        size = size_of_combs(known)
        if size is not None:
            return size
    try:
        return size_of_union(
            [_repetition(first, steps, element_bytes) for first, steps in sets], _MOST_RANGES
        )
    except TooManyRanges:
        return None


def touched_by(
    formulas: Sequence[AffineFormula], element_bytes: int, origin_bytes: int, size: int
) -> Touched:
    """Return the `size` bytes that formulas touch, from `origin_bytes` on."""
    sets = []
    for formula in formulas:
        axes = [(axis.step, axis.first, axis.last) for axis in formula.axes]
        sets.append(steps_upwards(formula.base + origin_bytes, axes))
    combs = [comb_of(first, steps, element_bytes) for first, steps in sets]
    known = tuple(comb for comb in combs if comb is not None)
    whole = len(known) == len(combs)
    listed: tuple[Repetition, ...] | None = None
    with suppress(TooManyRanges):  # combs may do without
        listed = tuple(_repetition(first, steps, element_bytes) for first, steps in sets)
    return Touched(size, listed, known if whole else None, known if whole else None)


def _repetition(first: int, steps: list[tuple[int, int]], element_bytes: int) -> Repetition:
    start = np.array([first], np.int64)
    found = Repetition(Ranges(start, start + element_bytes))
    for step, count in sorted(steps):
        found = found.repeated(count, step, _MOST_RANGES)
    return found
