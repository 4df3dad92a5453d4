"""Counts of sectors and bytes of one memory op in one argument, from formulas.

They are used for accesses without conditions other than a box of lanes, for any size of the grid: a
launch of 2^40 programs costs as much as one of a single program.
"""

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import Any, NamedTuple

import numpy as np

from kvtrace.evaluate.observe import AffineAxis, AffineFormula
from kvtrace.metrics.access_records import (
    AccessRecords,
    Lanes,
    OpenAccesses,
    Progression,
    lanes_of_box,
    progressions_of,
)
from kvtrace.metrics.byte_ranges import TooManyRanges
from kvtrace.metrics.combs import ascending_steps, comb_of, size_of_combs
from kvtrace.metrics.progressions import merged_levels
from kvtrace.metrics.sectors import SECTOR_BYTES, sectors_of_boxes
from kvtrace.metrics.unique_bytes import Repetition, TouchedBytes, size_of_union
from kvtrace.recorded_calls.thread_layouts import BlockedLayout

_MOST_RANGES = 1 << 16
"""Limit of ranges of interleaving sets, beyond which arrays are faster."""

Steps = tuple[int, list[tuple[int, int]]]
"""The lowest offset of elements, and the (step > 0, count) of each axis."""


class FormulaCount(NamedTuple):
    """Counts of accesses: sectors, bytes, and rows of `accesses` with a text of omissions."""

    sectors: int
    size: int
    records: tuple[list[dict[str, Any]], str | None]
    elements: list[Steps]
    element_bytes: int
    limit: None = None

    def unique_bytes(self) -> int:
        """Return the number of distinct bytes of all accesses."""
        return self.size

    def touched(self, origin_bytes: int) -> TouchedBytes:
        """Return the touched bytes of the storage, in which the tensor begins at `origin_bytes`."""
        element_sets = [(first + origin_bytes, steps) for first, steps in self.elements]
        combs = [comb_of(first, steps, self.element_bytes) for first, steps in element_sets]
        regular_combs = tuple(comb for comb in combs if comb is not None)
        content = regular_combs if len(regular_combs) == len(combs) else None
        listed: tuple[Repetition, ...] | None = None
        with suppress(TooManyRanges):  # combs alone may suffice
            listed = tuple(
                Repetition.of_elements(*element_set, self.element_bytes, _MOST_RANGES)
                for element_set in element_sets
            )
        return TouchedBytes(self.size, listed, content, content)


class FormulaCounts:
    """Counts of one launch, shared by ops with equal accesses, as of x and y in a sum."""

    def __init__(self) -> None:
        self._counts: dict[Any, FormulaCount | None] = {}

    def of(
        self, formulas: Sequence[AffineFormula], element_bytes: int, layout: BlockedLayout | None
    ) -> FormulaCount | None:
        """Return the count of formulas, None if irregular; cached by content."""
        key = (element_bytes, layout, *map(_content_key, formulas))
        if key not in self._counts:
            self._counts[key] = formula_count(formulas, element_bytes, layout)
        return self._counts[key]


def _content_key(formula: AffineFormula) -> tuple[Any, ...]:
    """Return a key of all that counts depend on: no axis numbers, origins only modulo a sector."""
    base, axes, origin, _, block, grid, origin_bytes = formula
    steps = [(axis[0], *axis[2:]) for axis in axes]
    return (base, origin, block, grid, origin_bytes % SECTOR_BYTES, *steps)


def formula_count(
    formulas: Sequence[AffineFormula], element_bytes: int, layout: BlockedLayout | None
) -> FormulaCount | None:
    """Return the count of all accesses of an op to an argument, None if they are irregular.

    The formulas have no conditions, and each accesses at least one element.
    """
    records = _records(formulas)
    if records is None:
        return None
    sectors = 0
    elements: list[Steps] = []
    for formula in formulas:
        axes = [(axis.step, axis.first, axis.last) for axis in formula.axes]
        rank = len(axes) - len(formula.block)
        offset = formula.base + formula.origin_bytes
        count = sectors_of_boxes(
            offset, axes[:rank], axes[rank:], formula.block, element_bytes, layout
        )
        if count is None:
            return None
        sectors += count
        elements.append(ascending_steps(formula.base, axes))
    size = _distinct_bytes(elements, element_bytes)
    if size is None:
        return None
    return FormulaCount(sectors, size, records.rows(), elements, element_bytes)


def _distinct_bytes(elements: list[Steps], element_bytes: int) -> int | None:
    """Return the number of distinct bytes of elements, None for too many ranges."""
    combs = [comb_of(first, steps, element_bytes) for first, steps in elements]
    regular_combs = [comb for comb in combs if comb is not None]
    if len(regular_combs) == len(combs):
        size = size_of_combs(regular_combs)
        if size is not None:
            return size
    try:
        return size_of_union(
            [
                Repetition.of_elements(*element_set, element_bytes, _MOST_RANGES)
                for element_set in elements
            ],
            _MOST_RANGES,
        )
    except TooManyRanges:
        return None


class _Box(NamedTuple):
    """Programs that access the same box of lanes, in one or more trips."""

    programs: Progression
    lanes: Lanes
    trips: list[Progression]


def _records(formulas: Sequence[AffineFormula]) -> AccessRecords | None:
    """Return the records of accesses, None if their progressions are nested too deep."""
    opened: OpenAccesses[_Box] = OpenAccesses()
    closed: list[_Box] = []
    for formula in formulas:
        programs, trip_progression = _program_progression(formula), _trip_progression(formula)
        if programs is None or trip_progression is None:
            return None
        lanes = [axis for axis in formula.axes if axis.kind == "lane"]
        steps = [axis.step for axis in lanes]
        ranges = [(axis.first, axis.last) for axis in lanes]
        extents = list(zip(formula.block, steps, strict=True))
        # For an axis of one lane, only the existence of a step is relevant.
        significant_steps = [step if extent > 1 else step != 0 for extent, step in extents]
        key = (formula.block, programs, *ranges, *significant_steps)
        box = opened.find(key)
        if box is None:
            box = _Box(programs, lanes_of_box(formula.block, steps, ranges), [])
            extents_with_step = [extent for extent, step in extents if step]
            closed += opened.add(
                key, box, prod(formula.block) + programs.size + sum(extents_with_step)
            )
        box.trips.append(trip_progression)
    records = AccessRecords()
    for programs, box_lanes, trips in [*closed, *opened.close()]:
        if len(trips) > 1:
            pairs = [pair for trip_progression in trips for pair in trip_progression.pairs()]
            trips = progressions_of(np.array(pairs, np.int64))
        executions = programs.size * sum(trip_progression.size for trip_progression in trips)
        records.add(executions, [(programs, box_lanes)], trips)
    return records


def _program_progression(formula: AffineFormula) -> Progression | None:
    """Return the program ids with their part of the offset, None if nested too deep."""
    width, height, _ = formula.grid

    def number(coordinates: Sequence[int]) -> int:
        x, y, z = coordinates
        return x + width * (y + height * z)

    axes = [axis for axis in formula.axes if axis.kind == "program"]
    first_program = number(formula.origin) + sum(
        axis.first * number(axis.programs) for axis in axes
    )
    return _progression(first_program, 0, axes, [number(axis.programs) for axis in axes])


def _trip_progression(formula: AffineFormula) -> Progression | None:
    """Return the innermost loop's trips with their part of the offset, None if too deep."""
    axes = [axis for axis in formula.axes if axis.kind == "trip"]
    trip_steps = [0] * len(axes)
    trip_steps[-1:] = [1] * len(trip_steps[-1:])
    return _progression(axes[-1].first if axes else 0, formula.base, axes, trip_steps)


def _progression(
    number: int, offset: int, axes: Sequence[AffineAxis], number_steps: Sequence[int]
) -> Progression | None:
    """Return the pairs over axes, from a number and offset at value 0 of all axes."""
    counts = [axis.last - axis.first + 1 for axis in axes]
    rows = zip(counts, number_steps, (axis.step for axis in axes), strict=True)
    levels = merged_levels(reversed(list(rows)))
    if levels is None:
        return None
    first_offset = offset + sum(axis.step * axis.first for axis in axes)
    return Progression(number, first_offset, tuple(levels), prod(counts))
