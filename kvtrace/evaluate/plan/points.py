"""Lists and counts of an access's points (program, trip and lane), for observers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.errors import Unplannable
from kvtrace.evaluate.observe import ProgramAccesses
from kvtrace.evaluate.plan.affine import Affine, Interval
from kvtrace.evaluate.plan.records import AccessRecord

_MOST_COUNTED = 1 << 22
"""The most points (lanes, programs, trips) of an intricate mask that are evaluated."""

OuterAxes = list[tuple[int, Interval]]


def outer_axes(record: AccessRecord) -> OuterAxes:
    """Return (symbol, range) of the program axes, slowest first, followed by those of the trips."""
    region = record.region
    return [(symbol, region.ranges[symbol]) for symbol in region.order] + list(record.trips)


def values_of(form: Affine, outer: OuterAxes, lanes: Sequence[Interval]) -> NDArray[np.int64]:
    """Return a form's values as an array over outer axes and lane axes, 1 where constant."""
    rank = len(outer) + len(lanes)
    total: NDArray[np.int64] = np.full((1,) * rank, form.constant, np.int64)
    coefficients = [form.coefficient(symbol) for symbol, _ in outer]
    coefficients += list(form.lanes or (0,) * len(lanes))
    ranges = [interval for _, interval in outer] + list(lanes)
    for axis, (coefficient, (first, last)) in enumerate(zip(coefficients, ranges, strict=True)):
        if not coefficient:
            continue
        shape = [1] * rank
        shape[axis] = last - first + 1
        total = total + (np.arange(first, last + 1, dtype=np.int64) * coefficient).reshape(shape)
    return total


def shape_of(outer: OuterAxes, lanes: Sequence[Interval]) -> tuple[int, ...]:
    """Return the extents of all outer axes, then of all lane axes."""
    ranges = [interval for _, interval in outer] + list(lanes)
    return tuple(last - first + 1 for first, last in ranges)


def active_points(record: AccessRecord, outer: OuterAxes) -> NDArray[np.bool_]:
    """Return an array over outer axes and the box's lanes: where all conditions hold."""
    assert record.lanes is not None
    result: Any = np.ones((1,) * (len(outer) + len(record.lanes)), np.bool_)
    for form in record.conditions:
        result = result & (values_of(form, outer, record.lanes) >= 0)
    return np.asarray(result, np.bool_)


def active_extremes(record: AccessRecord) -> tuple[int, int | None, int | None]:
    """Return the number of active lanes, and the lowest and highest offset, under conditions.

    Axes that no condition depends on are counted once and multiplied. Unplannable if there are too
    many points to evaluate.
    """
    assert record.lanes is not None
    outer = outer_axes(record)
    ranges = [interval for _, interval in outer] + list(record.lanes)
    involved = [
        any(_coefficient(form, outer, axis) for form in record.conditions)
        for axis in range(len(ranges))
    ]
    points = math.prod(
        last - first + 1 for (first, last), flag in zip(ranges, involved, strict=True) if flag
    )
    if points > _MOST_COUNTED:
        raise Unplannable(f"active lanes of a mask cannot be counted in {_MOST_COUNTED:,} points")
    allowed = active_points(record, outer)
    repeats = math.prod(
        last - first + 1 for (first, last), flag in zip(ranges, involved, strict=True) if not flag
    )
    point_extents = tuple(
        last - first + 1 if flag else 1
        for (first, last), flag in zip(ranges, involved, strict=True)
    )
    allowed = np.broadcast_to(allowed, point_extents)
    active = int(np.count_nonzero(allowed)) * repeats
    if not active:
        return 0, None, None
    offsets = np.zeros((1,) * len(ranges), np.int64) + record.form.constant
    low = high = 0
    for axis, ((first, last), flag) in enumerate(zip(ranges, involved, strict=True)):
        coefficient = _coefficient(record.form, outer, axis)
        if not coefficient:
            continue
        if flag:
            shape = [1] * len(ranges)
            shape[axis] = last - first + 1
            line = np.arange(first, last + 1, dtype=np.int64) * coefficient
            offsets = offsets + line.reshape(shape)
        else:
            low += min(coefficient * first, coefficient * last)
            high += max(coefficient * first, coefficient * last)
    active_offsets = np.broadcast_to(offsets, point_extents)[allowed]
    return active, int(active_offsets.min()) + low, int(active_offsets.max()) + high


def _coefficient(form: Affine, outer: OuterAxes, axis: int) -> int:
    if axis < len(outer):
        return form.coefficient(outer[axis][0])
    return form.lanes[axis - len(outer)] if form.lanes else 0


def by_program(record: AccessRecord) -> ProgramAccesses:
    """Return the lowest and highest offset and active lanes of each program and trip."""
    assert record.lanes is not None
    outer = outer_axes(record)
    shape = shape_of(outer, ())
    start = Affine(record.form.constant, record.form.outer)
    offsets = np.broadcast_to(values_of(start, outer, ()), shape)
    if record.conditions:
        return _by_program_under_mask(record, outer)
    low = high = 0
    for coefficient, (first, last) in zip(record.form.lanes, record.lanes, strict=False):
        low += min(coefficient * first, coefficient * last)
        high += max(coefficient * first, coefficient * last)
    count = math.prod(last - first + 1 for first, last in record.lanes)
    return ProgramAccesses(
        *executions_of(record, outer),
        (offsets + low).reshape(-1),
        (offsets + high).reshape(-1),
        np.broadcast_to(np.int64(count), (math.prod(shape),)),
    )


def _by_program_under_mask(record: AccessRecord, outer: OuterAxes) -> ProgramAccesses:
    assert record.lanes is not None
    full_shape = shape_of(outer, record.lanes)
    allowed = np.broadcast_to(active_points(record, outer), full_shape)
    offsets = np.broadcast_to(values_of(record.form, outer, record.lanes), full_shape)
    axes = tuple(range(len(outer), len(full_shape)))
    huge = np.int64(1 << 62)
    return ProgramAccesses(
        *executions_of(record, outer),
        np.where(allowed, offsets, huge).min(axis=axes).reshape(-1),
        np.where(allowed, offsets, -huge).max(axis=axes).reshape(-1),
        np.count_nonzero(allowed, axis=axes).reshape(-1).astype(np.int64),
    )


def executions_of(
    record: AccessRecord, outer: OuterAxes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the linear program id and the innermost loop's trip of every execution."""
    shape = shape_of(outer, ())
    programs = np.broadcast_to(values_of(record.region.linear, outer, ()), shape).reshape(-1)
    trip = Affine(0, ((record.trips[-1][0], 1),)) if record.trips else Affine(0)
    return programs, np.broadcast_to(values_of(trip, outer, ()), shape).reshape(-1)


def elements(record: AccessRecord) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the byte offset of every active element, and the linear id of its program."""
    assert record.lanes is not None
    outer = outer_axes(record)
    full_shape = shape_of(outer, record.lanes)
    offsets = np.broadcast_to(values_of(record.form, outer, record.lanes), full_shape)
    owners = np.broadcast_to(values_of(record.region.linear, outer, record.lanes), full_shape)
    if not record.conditions:
        return offsets.reshape(-1), owners.reshape(-1)
    allowed = np.broadcast_to(active_points(record, outer), full_shape)
    return offsets[allowed], owners[allowed]


def inactive_accesses(record: AccessRecord) -> ProgramAccesses:
    """Return the executions of an access without active lanes; its offsets are 0."""
    outer = outer_axes(record)
    programs, iteration = executions_of(record, outer)
    zeros = np.zeros(len(programs), np.int64)
    return ProgramAccesses(programs, iteration, zeros, zeros, zeros)


def no_elements() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two empty arrays: the elements of an access without active lanes."""
    return np.zeros(0, np.int64), np.zeros(0, np.int64)
