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
    """Program p of `programs` runs ceil((slope * p + base) / stride) trips, at most `most`.

    Trips are numbered so that all programs begin with trip 0, or, with `together_at_end`, end with
    trip `most` - 1. `symbol` is the program axis.
    """

    symbol: int
    programs: Interval
    slope: int
    base: int
    stride: int
    most: int
    together_at_end: bool

    def count(self, program: int) -> int:
        """Return the number of trips of a program."""
        return -(-(self.slope * program + self.base) // self.stride)

    def counts(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of a number of trips and the number of consecutive programs that have it."""
        first, last = self.programs
        trip_counts = map(self.count, range(first, last + 1))
        for trips, equal_counts in itertools.groupby(trip_counts):
            yield trips, len(list(equal_counts))

    @property
    def form(self) -> Affine | None:
        """The number of trips as an affine form of the program; None if it is not affine."""
        if self.slope % self.stride:
            return None
        return Affine(-(-self.base // self.stride), ((self.symbol, self.slope // self.stride),))

    def _steps_above(self, trip: int) -> int:
        return self.most - 1 - trip if self.together_at_end else trip

    def active(self, trip: int) -> Interval:
        """Return the first and last program that run a trip; at least one program does."""
        first, last = self.programs
        bound = self._steps_above(trip) * self.stride + 1 - self.base
        if self.slope > 0:
            return max(first, -(-bound // self.slope)), last
        return first, min(last, bound // self.slope)

    def executions(self, trips: Interval) -> int:
        """Return how often the body runs in a range of trips, over all programs."""
        ranges = map(self.active, range(trips[0], trips[1] + 1))
        return sum(last - first + 1 for first, last in ranges)

    def first_and_last(self, trip: str) -> tuple[str | None, str | None]:
        """Return Python code of a trip's first and last program; None: those of the chunk."""
        trip = f"({self.most - 1}-{trip})" if self.together_at_end else trip
        bound = f"({trip}*{self.stride}+{1 - self.base})"
        if self.slope > 0:
            return f"-(-{bound}//{self.slope})", None
        return None, f"{bound}//{self.slope}"


def staircase_of(
    low: Affine, span: Affine, stride: int, region: Region, within: Sequence[int]
) -> Staircase | None:
    """Return the staircase of a loop that counts from `low` over a length `span` by `stride`.

    None if the number of trips is not that of a staircase. `within` are the symbols of loops around
    it.
    """
    if len(span.outer) != 1 or span.lanes or within:
        return None
    ((symbol, slope),) = span.outer
    if symbol not in region.ranges:
        return None
    first, last = region.ranges[symbol]
    lengths = sorted((slope * first + span.constant, slope * last + span.constant))
    most = -(-lengths[1] // stride)
    # Programs end together if their last trips are the same.
    together_at_end = low.coefficient(symbol) == -slope
    stairs = Staircase(symbol, (first, last), slope, span.constant, stride, most, together_at_end)
    fewest = -(-lengths[0] // stride)
    if fewest < 0 or most > _MOST_TRIPS or len(list(stairs.counts())) < LEAST_STEPS:
        return None
    return None if together_at_end and stairs.form is None else stairs


def runs_on_slices(loop: Loop, axis: int) -> bool:
    """Return whether a body can run on some programs: its stores depend on the program."""
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
    """Return whether a product over a part of the programs is still one of matrices in memory.

    Of the axes joined to rows, columns or a stack, only the slowest may be cut.
    """
    fold = folding(*dot.sources()[:2])
    return any(folded_axes[:1] == (axis,) for folded_axes in (fold.shared, fold.left, fold.right))


def loop_records(op: Op, stairs: Staircase, executions: int) -> Iterator[LoopRecord]:
    """Yield a record per distinct number of trips, with the executions that have it."""
    first, last = stairs.programs
    per_program = executions // (last - first + 1)
    for trips, programs in stairs.counts():
        yield LoopRecord(op, trips, programs * per_program)


def staircase_records(
    record: AccessRecord, stairs: Staircase, symbol: int
) -> Iterator[AccessRecord]:
    """Yield records of an access in the loop's body, each with independent programs and trips.

    `symbol` is the trip in the staircase's numbering; in the yielded records, every program's trips
    begin at 0.
    """
    trips = dict(record.trips)[symbol]
    if stairs.together_at_end:
        assert stairs.form is not None
        shift = Affine(
            stairs.most - stairs.form.constant,
            tuple(
                sorted([(symbol, 1), *((s, -coefficient) for s, coefficient in stairs.form.outer)])
            ),
        )
        record = replace(
            record,
            form=substituted(record.form, symbol, shift),
            conditions=tuple(substituted(form, symbol, shift) for form in record.conditions),
        )
    for programs, program_trips in _rectangles(stairs, trips):
        region = replace(record.region, ranges={**record.region.ranges, stairs.symbol: programs})
        loops = tuple(
            (name, program_trips if name == symbol else interval) for name, interval in record.trips
        )
        yield _recomputed(replace(record, region=region, trips=loops))


def _rectangles(stairs: Staircase, trips: Interval) -> Iterator[tuple[Interval, Interval]]:
    """Yield ranges of programs and of their own trips that cover a range of trips."""
    if not stairs.together_at_end:
        trips_by_programs = itertools.groupby(range(trips[0], trips[1] + 1), stairs.active)
        for programs, trip_group in trips_by_programs:
            trip_numbers = list(trip_group)
            yield programs, (trip_numbers[0], trip_numbers[-1])
        return
    first, last = stairs.programs
    for count, members in itertools.groupby(range(first, last + 1), stairs.count):
        group_programs = list(members)
        begin = stairs.most - count
        low, high = max(trips[0], begin), trips[1]
        if low <= high:
            yield (group_programs[0], group_programs[-1]), (low - begin, high - begin)


def _recomputed(record: AccessRecord) -> AccessRecord:
    """Return a record with lanes, conditions and extremes recomputed for its programs and trips."""
    if record.lanes is None:
        return record
    domain = Domain({**record.region.ranges, **dict(record.trips)})
    conditions = []
    for form in record.conditions:
        low, high = domain.extremes(form, record.lanes)
        if high < 0:
            return replace(record, lanes=None, conditions=())
        if low < 0:
            conditions.append(form)
    return replace(
        record,
        conditions=tuple(conditions),
        extremes=domain.extremes(record.form, record.lanes),
    )
