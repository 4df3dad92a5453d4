"""Staircases: loops whose number of trips grows or falls evenly along a program axis.

In causal attention program p runs p + 1 trips. Trip t then runs over the programs from t on: a
range along that axis, so that all programs stay in one region. Accesses have one record for each
range.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kvtrace.evaluate.plan.affine import Affine, Domain, Interval, substituted
from kvtrace.evaluate.plan.instructions import Atomic, Dot, Loop, Store
from kvtrace.evaluate.plan.layouts import folding
from kvtrace.evaluate.plan.records import AccessRecord, LoopRecord, Region
from kvtrace.ir import Op

LEAST_STEPS = 3
"""With fewer distinct numbers of trips, the programs are split instead."""

_MOST_TRIPS = 1 << 16


@dataclass(frozen=True)
class Staircase:
    """Program p of `programs` takes ceil((slope * p + base) / stride) trips, `most` at most.

    Trips are numbered so that all programs begin with trip 0, or, with `together_at_end`, end with
    trip `most` - 1.
    """

    symbol: int
    programs: Interval
    slope: int
    base: int
    stride: int
    most: int
    together_at_end: bool

    def count(self, program: int) -> int:
        """Return the number of a program's trips."""
        return -(-(self.slope * program + self.base) // self.stride)

    def counts(self) -> Iterator[tuple[int, int]]:
        """Yield each number of trips, and how many programs have it."""
        first, last = self.programs
        numbers = map(self.count, range(first, last + 1))
        for trips, group in itertools.groupby(numbers):
            yield trips, len(list(group))

    @property
    def form(self) -> Affine | None:
        """The number of trips as an affine form, None if it is not affine."""
        if self.slope % self.stride:
            return None
        return Affine(-(-self.base // self.stride), ((self.symbol, self.slope // self.stride),))

    def _of_end(self, trip: int) -> int:
        return self.most - 1 - trip if self.together_at_end else trip

    def active(self, trip: int) -> Interval:
        """Return the first and last program that run a trip; there is at least one."""
        first, last = self.programs
        over = self._of_end(trip) * self.stride + 1 - self.base
        if self.slope > 0:
            return max(first, -(-over // self.slope)), last
        return first, min(last, over // self.slope)

    def executions(self, trips: Interval) -> int:
        """Return how often a body runs in a range of trips, over all programs of the axis."""
        ranges = map(self.active, range(trips[0], trips[1] + 1))
        return sum(last - first + 1 for first, last in ranges)

    def first_and_last(self, trip: str) -> tuple[str | None, str | None]:
        """Return Python code of a trip's first and last active program; None: the chunk's."""
        trip = f"({self.most - 1}-{trip})" if self.together_at_end else trip
        over = f"({trip}*{self.stride}+{1 - self.base})"
        if self.slope > 0:
            return f"-(-{over}//{self.slope})", None
        return None, f"{over}//{self.slope}"


def staircase_of(
    low: Affine, span: Affine, stride: int, region: Region, within: Sequence[int]
) -> Staircase | None:
    """Return the staircase formed by a loop from `low` over `span`, None if there is none.

    `within`: symbols of the loops around it.
    """
    if len(span.outer) != 1 or span.lanes or within:
        return None
    ((symbol, slope),) = span.outer
    if symbol not in region.ranges:
        return None
    first, last = region.ranges[symbol]
    ends = sorted((slope * first + span.constant, slope * last + span.constant))
    most = -(-ends[1] // stride)
    # Programs end together if their last trips are the same.
    together_at_end = low.coefficient(symbol) == -slope
    stairs = Staircase(symbol, (first, last), slope, span.constant, stride, most, together_at_end)
    fewest = -(-ends[0] // stride)
    if fewest < 0 or most > _MOST_TRIPS or len(list(stairs.counts())) < LEAST_STEPS:
        return None
    return None if together_at_end and stairs.form is None else stairs


def can_be_run(loop: Loop, axis: int) -> bool:
    """Return whether a loop's body can run over a part of the programs along an axis.

    Stores must depend on the program, so that programs that are done store nothing.
    """
    stairs = loop.stairs
    assert stairs is not None
    for instruction in loop.body:
        if isinstance(instruction, Loop | Atomic):
            return False
        if isinstance(instruction, Store) and not instruction.form.coefficient(stairs.symbol):
            return False
        if isinstance(instruction, Dot) and not _stays_tall(instruction, axis):
            return False
    return True


def _stays_tall(dot: Dot, axis: int) -> bool:
    """Return whether a product over part of an axis is still one of matrices in memory.

    Of the axes joined to rows, columns or a stack, all but the slowest must be whole.
    """
    fold = folding(*dot.sources()[:2])
    return any(group[:1] == (axis,) for group in (fold.shared, fold.left, fold.right))


def loop_records(op: Op, stairs: Staircase, executions: int) -> Iterator[LoopRecord]:
    """Yield how many of so many executions took how many trips."""
    first, last = stairs.programs
    per_program = executions // (last - first + 1)
    for trips, programs in stairs.counts():
        yield LoopRecord(op, trips, programs * per_program)


def stepwise(record: AccessRecord, stairs: Staircase, symbol: int) -> Iterator[AccessRecord]:
    """Yield records of a loop's body with independent ranges of programs and trips.

    `symbol` is the trip in the staircase's numbering; in the yielded records, every program's trips
    begin at 0.
    """
    trips = dict(record.trips)[symbol]
    if stairs.together_at_end:
        assert stairs.form is not None
        shift = Affine(
            stairs.most - stairs.form.constant,
            tuple(sorted([(symbol, 1), *((s, -number) for s, number in stairs.form.outer)])),
        )
        record = replace(
            record,
            form=substituted(record.form, symbol, shift),
            conditions=tuple(substituted(form, symbol, shift) for form in record.conditions),
        )
    for programs, program_trips in _rectangles(stairs, trips):
        region = replace(record.region, ranges={**record.region.ranges, stairs.symbol: programs})
        loops = tuple(
            (name, program_trips if name == symbol else ends) for name, ends in record.trips
        )
        yield _narrowed(replace(record, region=region, trips=loops))


def _rectangles(stairs: Staircase, trips: Interval) -> Iterator[tuple[Interval, Interval]]:
    """Yield rectangles that cover the programs and their own trips, in a range of trips."""
    if not stairs.together_at_end:
        groups = itertools.groupby(range(trips[0], trips[1] + 1), stairs.active)
        for programs, group in groups:
            numbers = list(group)
            yield programs, (numbers[0], numbers[-1])
        return
    first, last = stairs.programs
    for count, members in itertools.groupby(range(first, last + 1), stairs.count):
        group_programs = list(members)
        begin = stairs.most - count
        low, high = max(trips[0], begin), trips[1]
        if low <= high:
            yield (group_programs[0], group_programs[-1]), (low - begin, high - begin)


def _narrowed(record: AccessRecord) -> AccessRecord:
    """Return a record with lanes, conditions and extremes computed for its own programs."""
    if record.lanes is None:
        return record
    domain = Domain({**record.region.ranges, **dict(record.trips)})
    conditions = []
    for form in record.conditions:
        low, high = domain.extremes(form, record.lanes)
        if high < 0:
            return replace(record, lanes=None, conditions=(), extremes=(0, 0))
        if low < 0:
            conditions.append(form)
    return replace(
        record,
        conditions=tuple(conditions),
        extremes=domain.extremes(record.form, record.lanes),
    )
