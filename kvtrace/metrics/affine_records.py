"""Rows of `accesses` from formulas: the same as access_records.py gives, whatever their size.

An access whose lanes are a box in every program and trip is one description: its axes are the
nested progressions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np

from kvtrace.evaluate.observe import AffineFormula
from kvtrace.metrics.access_records import MOST_SINGLE_ROWS, Joint, Levels, joint_rows, pieces
from kvtrace.metrics.progressions import merged_levels

OPEN = 16
"""Accesses that are kept open at once, in case that they come again in other trips."""

LARGE = 1 << 18
"""Elements from which on an access is kept open alone, as footprint.py does."""


class Moments(NamedTuple):
    """Trips in which an access comes, with the constant of each: first ones, and levels."""

    trip: int
    constant: int
    levels: Levels
    times: int


@dataclass(eq=False)
class Block:
    """Programs that touch the same lanes from a base each, in one or more trips.

    `low` and `high` are the lowest and highest offset of a lane that the mask leaves, `lanes` how
    many it leaves.
    """

    program: int
    base: int
    levels: Levels
    programs: int
    layout: str
    low: int
    high: int
    lanes: int
    moments: list[Moments] = field(default_factory=list)


class AffineRecords:
    """The rows of one op and argument, of accesses without other conditions than a box of lanes."""

    def __init__(self) -> None:
        self.executions = 0
        self._open: dict[Any, Block] = {}
        self._closed: list[Block] = []

    def add(self, formula: AffineFormula) -> bool:
        """Take an access; False if it is too deeply nested to be described."""
        width, height, _ = formula.grid
        x, y, z = formula.origin
        program = x + width * (y + height * z)
        base, constant, trip = 0, formula.base, 0
        programs: list[tuple[int, ...]] = []
        trips: list[tuple[int, ...]] = []
        lanes: list[tuple[int, int, int]] = []
        size = 1
        for kind, _, step, first, last, moves in formula.axes:
            if kind == "lane":
                lanes.append((step, first, last))
            elif kind == "trip":
                trips.append((last - first + 1, 0, step))
                constant += step * first
                trip = first
            else:
                x, y, z = moves
                move = x + width * (y + height * z)
                programs.append((last - first + 1, move, step))
                base += step * first
                program += move * first
                size *= last - first + 1
        if trips:
            trips[-1] = (trips[-1][0], 1, trips[-1][2])
        place_levels = merged_levels(reversed(programs))
        trip_levels = merged_levels(reversed(trips))
        if place_levels is None or trip_levels is None:
            return False
        count = prod(rounds for rounds, _, _ in trips)
        self.executions += size * count
        block = self._block(formula.block, program, base, tuple(place_levels), size, lanes)
        block.moments.append(Moments(trip, constant, tuple(trip_levels), count))
        return True

    def _block(
        self,
        shape: tuple[int, ...],
        program: int,
        base: int,
        levels: Levels,
        programs: int,
        lanes: list[tuple[int, int, int]],
    ) -> Block:
        """Return the open block of these programs and lanes; it may have come in other trips."""
        steps = tuple(
            step if extent > 1 else step != 0
            for extent, (step, _, _) in zip(shape, lanes, strict=True)
        )
        key = (shape, program, base, levels, steps, *[lane[1:] for lane in lanes])
        block = self._open.get(key)
        if block is not None:
            return block
        spread = [extent for extent, (step, _, _) in zip(shape, lanes, strict=True) if step]
        large = prod(shape) + programs + sum(spread) > LARGE
        while self._open and (large or len(self._open) >= OPEN):
            self._closed.append(self._open.pop(next(iter(self._open))))
        low = high = 0
        active = 1
        for step, first, last in lanes:
            low += step * (first if step > 0 else last)
            high += step * (last if step > 0 else first)
            active *= last - first + 1
        layout = _layout(shape, lanes)
        block = Block(program, base, levels, programs, layout, low, high, active)
        self._open[key] = block
        return block

    def rows(self) -> tuple[list[dict[str, Any]], str | None]:
        """Return the rows, and a text of what they leave out, as `AccessRecords`."""
        blocks = [*self._closed, *self._open.values()]
        if self.executions <= MOST_SINGLE_ROWS:
            return [row for block in blocks for row in _single_rows(block)], None
        joint = [row for block in blocks for row in _joint(block)]
        return joint_rows(self.executions, joint)


def _layout(shape: tuple[int, ...], lanes: list[tuple[int, int, int]]) -> str:
    """Describe lanes as `access_records` does, from the key `lanes` on, in JSON."""
    axes = ",".join(
        f"[{extent},{step if extent > 1 else 0}]"
        for extent, (step, _, _) in zip(shape, lanes, strict=True)
    )
    whole = all(
        first == 0 and last == extent - 1
        for extent, (_, first, last) in zip(shape, lanes, strict=True)
    )
    if whole:
        return f'"lanes":[{axes}]}}'
    box = ",".join(f"[{first},{last + 1}]" for _, first, last in lanes)
    return f'"lanes":[{axes}],"box":[{box}]}}'


def _spread(levels: Levels, number: int, place: int) -> list[tuple[int, int]]:
    """List the rows of nested progressions of an id and a place, in their order."""
    rows = [(number, place)]
    for count, by, step in levels:
        rows = [
            (number + turn * by, place + turn * step)
            for turn in range(count)
            for number, place in rows
        ]
    return rows


def _single_rows(block: Block) -> Iterator[dict[str, Any]]:
    programs = _spread(block.levels, block.program, block.base)
    for moments in block.moments:
        for trip, constant in _spread(moments.levels, moments.trip, moments.constant):
            for program, place in programs:
                base = place + constant
                yield {
                    "program": program,
                    "iteration": trip,
                    "first": base + block.low,
                    "last": base + block.high,
                    "active": block.lanes,
                    "layout": f'{{"base":{base},{block.layout}',
                }


def _joint(block: Block) -> Iterator[Joint]:
    below, above = _reach(block.levels, 1)
    for trip, constant, levels, times in _pieces(block.moments):
        lowest, highest = _reach(levels, 1)
        executions = block.programs * times
        base = block.base + constant
        yield Joint(
            block.program, block.levels, trip, levels, base, "{" + block.layout,
            base + below + lowest + block.low, base + above + highest + block.high,
            block.lanes * executions, executions,
        )  # fmt: skip


def _reach(levels: Levels, column: int) -> tuple[int, int]:
    """Return how far a column of nested progressions goes down and up from its first row."""
    low = high = 0
    for level in levels:
        move = (level[0] - 1) * level[1 + column]
        low += min(move, 0)
        high += max(move, 0)
    return low, high


def _pieces(several: list[Moments]) -> list[Moments]:
    """Return moments as few nested progressions, as `access_records` cuts them."""
    if len(several) == 1:
        return several
    rows = [row for each in several for row in _spread(each.levels, each.trip, each.constant)]
    return [
        Moments(int(part[0, 0]), int(part[0, 1]), levels, len(part))
        for part, levels in pieces(np.array(rows, np.int64))
    ]
