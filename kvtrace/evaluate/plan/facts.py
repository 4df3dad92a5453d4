"""Telling observers what a plan knows: nothing goes program by program unless asked for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.observe import (
    Access,
    AccessParts,
    AffineAxis,
    AffineFormula,
    Observer,
    ProgramAccesses,
)
from kvtrace.evaluate.plan.affine import Affine, Domain, Interval, plus, times
from kvtrace.evaluate.plan.grid import RegionPlan
from kvtrace.evaluate.plan.signals import Unplannable
from kvtrace.evaluate.plan.steps import PlanCompiler
from kvtrace.evaluate.plan.walk import AccessRecord
from kvtrace.evaluate.scope import listeners

_MOST_COUNTED = 1 << 22
"""Lanes, programs and trips of an intricate mask that are looked at one by one."""


def tell(
    plans: Sequence[RegionPlan],
    observers: Sequence[Observer],
    compiler: PlanCompiler,
    offsets: Mapping[int, int],
) -> None:
    """Report ops, accesses and loops of all regions; `offsets`: where pointers lie by argument."""
    op_observers = listeners(observers, "op")
    if op_observers:
        _tell_ops(plans, op_observers, compiler)
    access_observers = listeners(observers, "access")
    loop_observers = listeners(observers, "loop")
    for plan in plans:
        for record in plan.accesses if access_observers else ():
            access = access_of(record, offsets[record.argument])
            for observer in access_observers:
                observer.access(access)
        for loop in plan.loops if loop_observers else ():
            trips = np.broadcast_to(np.int64(loop.trips), (loop.executions,))
            for observer in loop_observers:
                observer.loop(loop.op, trips)


def _tell_ops(
    plans: Sequence[RegionPlan], observers: Iterable[Observer], compiler: PlanCompiler
) -> None:
    counts = compiler.counts()
    for plan in plans:
        for block, executions in plan.executed:
            for op in block.block.ops:
                count = counts.get(op.index)
                if count is None:
                    continue
                elements, flops = count
                for observer in observers:
                    observer.op(op, executions, executions * elements, executions * flops)


def access_of(record: AccessRecord, origin_bytes: int) -> Access:
    """Give a record as observers see it; `origin_bytes`: where its argument's pointer lies."""
    executions = record.executions
    lanes = executions * math.prod(record.shape)
    if record.lanes is None:
        return Access(
            record.op, record.kind, record.argument, record.element_bytes, executions, lanes, 0,
            None, None, True, "", lambda: _nobody(record), lambda: _nothing(),
        )  # fmt: skip
    lowest: int | None
    highest: int | None
    if record.conditions:
        active, lowest, highest = counted(record)
    else:
        active = executions * math.prod(last - first + 1 for first, last in record.lanes)
        lowest, highest = record.extremes
    return Access(
        record.op, record.kind, record.argument, record.element_bytes, executions, lanes, active,
        lowest, highest, True, "", lambda: by_program(record), lambda: elements(record),
        None, formula_of(record), lambda: each_trip(record, origin_bytes),
    )  # fmt: skip


def each_trip(record: AccessRecord, origin_bytes: int) -> Iterator[Access]:
    """Give an access trip by trip, with its parts; what no trip changes is shared."""
    assert record.lanes is not None
    shapes = [range(first, last + 1) for _, (first, last) in record.trips]
    symbols = [symbol for symbol, _ in record.trips]
    alone = replace(record, trips=())
    programs, _ = _who(alone, _outer(alone))
    terms: tuple[NDArray[np.int64], ...] | None = None
    for trip in itertools.product(*shapes):
        at = dict(zip(symbols, trip, strict=True))
        form = _at_trip(record.form, at)
        single = replace(
            alone,
            form=form,
            conditions=tuple(_at_trip(condition, at) for condition in record.conditions),
            extremes=_extremes_at(record, form),
        )
        if terms is None:
            terms = _terms(single)
        parts = AccessParts(
            form.constant, terms, _factors(single), record.shape, programs,
            trip[-1] if trip else 0, origin_bytes,
        )  # fmt: skip
        yield replace(access_of(single, origin_bytes), parts=parts, formula=None, each_trip=None)


def _at_trip(form: Affine, trips: dict[int, int]) -> Affine:
    constant = form.constant
    outer = []
    for symbol, number in form.outer:
        if symbol in trips:
            constant += number * trips[symbol]
        else:
            outer.append((symbol, number))
    return Affine(constant, tuple(outer), form.lanes)


def _extremes_at(record: AccessRecord, form: Affine) -> Interval:
    assert record.lanes is not None
    return Domain(dict(record.region.ranges)).extremes(form, record.lanes)


def _terms(record: AccessRecord) -> tuple[NDArray[np.int64], ...]:
    """One term over programs, and one for each lane axis that the address varies over."""
    outer, rank = _outer(record), len(record.shape)
    base = Affine(0, record.form.outer)
    count = record.region.programs
    spread = np.broadcast_to(_values(base, outer, ()), _shape(outer, ()))
    terms = [spread.reshape((count,) + (1,) * rank)]
    for axis, number in enumerate(record.form.lanes):
        if number:
            terms.append(_line(axis, rank, record.shape[axis]) * number)
    return tuple(terms)


def _factors(record: AccessRecord) -> tuple[NDArray[np.bool_], ...]:
    """What the mask leaves, as factors over lane axes, and over programs and lanes."""
    assert record.lanes is not None
    outer, rank = _outer(record), len(record.shape)
    factors: list[NDArray[np.bool_]] = []
    for axis, (first, last) in enumerate(record.lanes):
        if (first, last) != (0, record.shape[axis] - 1):
            line = _line(axis, rank, record.shape[axis])
            factors.append((line >= first) & (line <= last))
    every = tuple((0, extent - 1) for extent in record.shape)
    for condition in record.conditions:
        values = _values(condition, outer, every) >= 0
        full = _shape(outer, ()) + values.shape[len(outer) :]
        factors.append(np.broadcast_to(values, full).reshape(-1, *values.shape[len(outer) :]))
    return tuple(factors)


def _line(axis: int, rank: int, extent: int) -> NDArray[np.int64]:
    shape = [1] * (rank + 1)
    shape[axis + 1] = extent
    return np.arange(extent, dtype=np.int64).reshape(shape)


def formula_of(record: AccessRecord) -> AffineFormula:
    """Give the formula of an access."""
    region = record.region
    axes = []
    for symbol, (first, last) in region.ranges.items():
        moved = tuple(form.coefficient(symbol) for form in region.ids)
        axes.append(AffineAxis("program", symbol, record.form.coefficient(symbol), first, last,
                               moved))  # fmt: skip
    for symbol, (first, last) in record.trips:
        axes.append(AffineAxis("trip", symbol, record.form.coefficient(symbol), first, last))
    numbers = record.form.lanes or (0,) * len(record.shape)
    for axis, (first, last) in enumerate(record.lanes or ()):
        axes.append(AffineAxis("lane", axis, numbers[axis], first, last))
    origin = tuple(form.constant for form in region.ids)
    conditions = tuple(
        (form.constant, (*form.outer, *((-1 - axis, n) for axis, n in enumerate(form.lanes) if n)))
        for form in record.conditions
    )
    return AffineFormula(record.form.constant, tuple(axes), origin, conditions)


# -- enumeration ----------------------------------------------------------------------------------

_Outer = list[tuple[int, Interval]]


def _outer(record: AccessRecord) -> _Outer:
    """Program axes that vary, slowest first, then trips."""
    region = record.region
    return [(symbol, region.ranges[symbol]) for symbol in region.order] + list(record.trips)


def _values(form: Affine, outer: _Outer, lanes: Sequence[Interval]) -> NDArray[np.int64]:
    """Values of a form, of shape (each outer symbol…, each lane axis…), 1 where it is constant."""
    rank = len(outer) + len(lanes)
    total: NDArray[np.int64] = np.full((1,) * rank, form.constant, np.int64)
    numbers = [form.coefficient(symbol) for symbol, _ in outer]
    numbers += list(form.lanes or (0,) * len(lanes))
    ranges = [interval for _, interval in outer] + list(lanes)
    for axis, (number, (first, last)) in enumerate(zip(numbers, ranges, strict=True)):
        if not number:
            continue
        shape = [1] * rank
        shape[axis] = last - first + 1
        total = total + (np.arange(first, last + 1, dtype=np.int64) * number).reshape(shape)
    return total


def _shape(outer: _Outer, lanes: Sequence[Interval]) -> tuple[int, ...]:
    ranges = [interval for _, interval in outer] + list(lanes)
    return tuple(last - first + 1 for first, last in ranges)


def _allowed(record: AccessRecord, outer: _Outer) -> NDArray[np.bool_]:
    assert record.lanes is not None
    allowed: Any = np.ones((1,) * (len(outer) + len(record.lanes)), np.bool_)
    for form in record.conditions:
        allowed = allowed & (_values(form, outer, record.lanes) >= 0)
    result: NDArray[np.bool_] = allowed
    return result


def _linear(record: AccessRecord) -> Affine:
    """The linear program id, x fastest."""
    x, y, z = record.region.ids
    width, height, _ = record.region.grid
    return plus(plus(x, times(y, width)), times(z, width * height))


def counted(record: AccessRecord) -> tuple[int, int | None, int | None]:
    """Count active lanes, and find the lowest and highest offset, under an intricate mask.

    What neither the conditions nor one another hang on together is counted once and multiplied.
    """
    assert record.lanes is not None
    outer = _outer(record)
    ranges = [interval for _, interval in outer] + list(record.lanes)
    involved = [
        any(_number(form, outer, axis) for form in record.conditions) for axis in range(len(ranges))
    ]
    points = math.prod(
        last - first + 1 for (first, last), flag in zip(ranges, involved, strict=True) if flag
    )
    if points > _MOST_COUNTED:
        raise Unplannable("a mask is too intricate to count")
    allowed = _allowed(record, outer)
    repeats = math.prod(
        last - first + 1 for (first, last), flag in zip(ranges, involved, strict=True) if not flag
    )
    full = tuple(
        last - first + 1 if flag else 1
        for (first, last), flag in zip(ranges, involved, strict=True)
    )
    allowed = np.broadcast_to(allowed, full)
    active = int(np.count_nonzero(allowed)) * repeats
    if not active:
        return 0, None, None
    inside = np.zeros((1,) * len(ranges), np.int64) + record.form.constant
    low = high = 0
    for axis, ((first, last), flag) in enumerate(zip(ranges, involved, strict=True)):
        number = _number(record.form, outer, axis)
        if not number:
            continue
        if flag:
            shape = [1] * len(ranges)
            shape[axis] = last - first + 1
            line = np.arange(first, last + 1, dtype=np.int64) * number
            inside = inside + line.reshape(shape)
        else:
            low += min(number * first, number * last)
            high += max(number * first, number * last)
    reached = np.broadcast_to(inside, full)[allowed]
    return active, int(reached.min()) + low, int(reached.max()) + high


def _number(form: Affine, outer: _Outer, axis: int) -> int:
    if axis < len(outer):
        return form.coefficient(outer[axis][0])
    return form.lanes[axis - len(outer)] if form.lanes else 0


def by_program(record: AccessRecord) -> ProgramAccesses:
    """Give an access program by program and trip by trip."""
    assert record.lanes is not None
    outer = _outer(record)
    shape = _shape(outer, ())
    start = Affine(record.form.constant, record.form.outer)
    offsets = np.broadcast_to(_values(start, outer, ()), shape)
    if record.conditions:
        return _by_program_under_mask(record, outer)
    low = high = 0
    for number, (first, last) in zip(record.form.lanes, record.lanes, strict=False):
        low += min(number * first, number * last)
        high += max(number * first, number * last)
    count = math.prod(last - first + 1 for first, last in record.lanes)
    return ProgramAccesses(
        *_who(record, outer),
        (offsets + low).reshape(-1),
        (offsets + high).reshape(-1),
        np.broadcast_to(np.int64(count), (math.prod(shape),)),
    )


def _by_program_under_mask(record: AccessRecord, outer: _Outer) -> ProgramAccesses:
    assert record.lanes is not None
    full = _shape(outer, record.lanes)
    allowed = np.broadcast_to(_allowed(record, outer), full)
    places = np.broadcast_to(_values(record.form, outer, record.lanes), full)
    axes = tuple(range(len(outer), len(full)))
    huge = np.int64(1 << 62)
    return ProgramAccesses(
        *_who(record, outer),
        np.where(allowed, places, huge).min(axis=axes).reshape(-1),
        np.where(allowed, places, -huge).max(axis=axes).reshape(-1),
        np.count_nonzero(allowed, axis=axes).reshape(-1).astype(np.int64),
    )


def _who(record: AccessRecord, outer: _Outer) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Linear program ids, and trips of the innermost loop."""
    shape = _shape(outer, ())
    programs = np.broadcast_to(_values(_linear(record), outer, ()), shape).reshape(-1)
    trip = Affine(0, ((record.trips[-1][0], 1),)) if record.trips else Affine(0)
    return programs, np.broadcast_to(_values(trip, outer, ()), shape).reshape(-1)


def elements(record: AccessRecord) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the byte offset of every active element, and the program that touches it."""
    assert record.lanes is not None
    outer = _outer(record)
    full = _shape(outer, record.lanes)
    places = np.broadcast_to(_values(record.form, outer, record.lanes), full)
    who = np.broadcast_to(_values(_linear(record), outer, record.lanes), full)
    if not record.conditions:
        return places.reshape(-1), who.reshape(-1)
    allowed = np.broadcast_to(_allowed(record, outer), full)
    return places[allowed], who[allowed]


def _nobody(record: AccessRecord) -> ProgramAccesses:
    """Programs that ran an access of which the mask left nothing."""
    outer = _outer(record)
    programs, iteration = _who(record, outer)
    zeros = np.zeros(len(programs), np.int64)
    return ProgramAccesses(programs, iteration, zeros, zeros, zeros)


def _nothing() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)
