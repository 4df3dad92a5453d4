"""Counts of one memory op's sectors and bytes in one argument, from formulas, not per program.

They are for accesses without conditions other than a box of lanes, for any size of the grid: a
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
    pieces,
)
from kvtrace.metrics.combs import comb_of, size_of_combs, steps_upwards
from kvtrace.metrics.fresh_bytes import TouchedBytes
from kvtrace.metrics.progressions import merged_levels
from kvtrace.metrics.sectors import SECTOR_BYTES, sectors_of_boxes
from kvtrace.metrics.unique_bytes import Ranges, Repetition, TooManyRanges, size_of_union
from kvtrace.recorded_calls.thread_layouts import BlockedLayout

_MOST_RANGES = 1 << 16
"""The most ranges of bytes of interleaving sets; with more, arrays are faster."""

Steps = tuple[int, list[tuple[int, int]]]
"""The lowest offset of elements, and (step > 0, count) of the others."""


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
        """Return the bytes in the storage, where the tensor begins at `origin_bytes`."""
        sets = [(first + origin_bytes, steps) for first, steps in self.elements]
        combs = [comb_of(first, steps, self.element_bytes) for first, steps in sets]
        regular = tuple(comb for comb in combs if comb is not None)
        content = regular if len(regular) == len(combs) else None
        listed: tuple[Repetition, ...] | None = None
        with suppress(TooManyRanges):  # combs may be enough
            listed = tuple(_repetition(*part, self.element_bytes) for part in sets)
        return TouchedBytes(self.size, listed, content, content)


class FormulaCounts:
    """Counts of one launch, shared by ops with equal accesses, such as x and y of a sum."""

    def __init__(self) -> None:
        self._counts: dict[Any, FormulaCount | None] = {}

    def of(
        self, formulas: Sequence[AffineFormula], element_bytes: int, layout: BlockedLayout | None
    ) -> FormulaCount | None:
        """Return the count of formulas, computed once."""
        key = (element_bytes, layout, *map(_content, formulas))
        if key not in self._counts:
            self._counts[key] = formula_count(formulas, element_bytes, layout)
        return self._counts[key]


def _content(formula: AffineFormula) -> tuple[Any, ...]:
    """Return all that counts depend on, without numbers of axes and sector positions."""
    base, axes, origin, _, block, grid, origin_bytes = formula
    steps = [(axis[0], *axis[2:]) for axis in axes]
    return (base, origin, block, grid, origin_bytes % SECTOR_BYTES, *steps)


def formula_count(
    formulas: Sequence[AffineFormula], element_bytes: int, layout: BlockedLayout | None
) -> FormulaCount | None:
    """Return the count of all accesses of an op to an argument; None if they are irregular.

    None of the formulas has conditions, and each accesses at least one element.
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
        elements.append(steps_upwards(formula.base, axes))
    size = _size(elements, element_bytes)
    if size is None:
        return None
    return FormulaCount(sectors, size, records.rows(), elements, element_bytes)


def _size(elements: list[Steps], element_bytes: int) -> int | None:
    """Return the number of distinct bytes of elements."""
    combs = [comb_of(first, steps, element_bytes) for first, steps in elements]
    regular = [comb for comb in combs if comb is not None]
    if len(regular) == len(combs):
        size = size_of_combs(regular)
        if size is not None:
            return size
    try:
        return size_of_union([_repetition(*part, element_bytes) for part in elements], _MOST_RANGES)
    except TooManyRanges:
        return None


def _repetition(first: int, steps: list[tuple[int, int]], element_bytes: int) -> Repetition:
    start = np.array([first], np.int64)
    repetition = Repetition(Ranges(start, start + element_bytes))
    for step, count in sorted(steps):
        repetition = repetition.repeated(count, step, _MOST_RANGES)
    return repetition


class _Box(NamedTuple):
    """Programs that access the same box of lanes, in one or more trips."""

    programs: Progression
    lanes: Lanes
    moments: list[Progression]


def _records(formulas: Sequence[AffineFormula]) -> AccessRecords | None:
    """Return records of accesses with nested progressions as axes; None if nested too deep."""
    opened: OpenAccesses[_Box] = OpenAccesses()
    closed: list[_Box] = []
    for formula in formulas:
        programs, moment = _programs(formula), _moment(formula)
        if programs is None or moment is None:
            return None
        lanes = [axis for axis in formula.axes if axis.kind == "lane"]
        steps = [axis.step for axis in lanes]
        ends = [(axis.first, axis.last) for axis in lanes]
        extents = list(zip(formula.block, steps, strict=True))
        # The step of an axis of one lane does not matter, only whether it has a step.
        significant_steps = [step if extent > 1 else step != 0 for extent, step in extents]
        key = (formula.block, programs, *ends, *significant_steps)
        box = opened.find(key)
        if box is None:
            box = _Box(programs, lanes_of_box(formula.block, steps, ends), [])
            spread = [extent for extent, step in extents if step]
            closed += opened.keep(key, box, prod(formula.block) + programs.size + sum(spread))
        box.moments.append(moment)
    records = AccessRecords()
    for programs, box_lanes, moments in [*closed, *opened.close()]:
        if len(moments) > 1:
            pairs = [pair for moment in moments for pair in moment.pairs()]
            moments = pieces(np.array(pairs, np.int64))
        executions = programs.size * sum(moment.size for moment in moments)
        records.add(executions, [(programs, box_lanes)], moments)
    return records


def _programs(formula: AffineFormula) -> Progression | None:
    """Return the ids of the programs, and their part of the offset."""
    width, height, _ = formula.grid

    def number(coordinates: Sequence[int]) -> int:
        x, y, z = coordinates
        return x + width * (y + height * z)

    axes = [axis for axis in formula.axes if axis.kind == "program"]
    first = number(formula.origin) + sum(axis.first * number(axis.programs) for axis in axes)
    return _progression(first, 0, axes, [number(axis.programs) for axis in axes])


def _moment(formula: AffineFormula) -> Progression | None:
    """Return the trips of the innermost loop, and their part of the offset."""
    axes = [axis for axis in formula.axes if axis.kind == "trip"]
    moves = [0] * len(axes)
    moves[-1:] = [1] * len(moves[-1:])
    return _progression(axes[-1].first if axes else 0, formula.base, axes, moves)


def _progression(
    number: int, place: int, axes: Sequence[AffineAxis], moves: Sequence[int]
) -> Progression | None:
    """Return the pairs over axes from a number and a place at value 0 of all axes."""
    counts = [axis.last - axis.first + 1 for axis in axes]
    rows = zip(counts, moves, (axis.step for axis in axes), strict=True)
    levels = merged_levels(reversed(list(rows)))
    if levels is None:
        return None
    first = place + sum(axis.step * axis.first for axis in axes)
    return Progression(number, first, tuple(levels), prod(counts))
