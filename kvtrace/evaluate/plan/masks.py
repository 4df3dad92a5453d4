"""Resolved masks: all lanes, none, a box of lanes, or a box with further conditions."""

from __future__ import annotations

from dataclasses import dataclass

from kvtrace.evaluate.errors import SplitAxis
from kvtrace.evaluate.plan.affine import Affine, Interval, whole
from kvtrace.evaluate.plan.values import Box, Condition
from kvtrace.evaluate.plan.walk import Walk


@dataclass(frozen=True)
class ResolvedMask:
    """Lanes inside `box` (None: all) where all `conditions` are >= 0; no lane if `nothing`."""

    box: Box | None = None
    conditions: tuple[Affine, ...] = ()
    nothing: bool = False

    def lanes(self, shape: tuple[int, ...]) -> tuple[Interval, ...]:
        """Return the range of the box's lanes along each axis of a shape."""
        if self.box is None:
            return whole(shape)
        return tuple(
            (0, extent - 1) if cut is None else (cut[0], cut[1] - 1)
            for cut, extent in zip(self.box, shape, strict=True)
        )


ALL = ResolvedMask()
NOTHING = ResolvedMask(nothing=True)


def resolved(walk: Walk, mask: Condition) -> ResolvedMask:
    """Return a condition as the mask of all programs and trips of the walk.

    Raises SplitAxis, with the axis to cut, if the mask differs between programs or trips.
    """
    limits: dict[int, tuple[int, int]] = {}
    further_conditions = []
    for condition in mask.forms:
        form = walk.domain.folded(condition)
        low, high = walk.extremes(form, mask.shape)
        if low >= 0:
            continue
        if high < 0:
            return NOTHING
        varying = [axis for axis, coefficient in enumerate(form.lanes) if coefficient]
        if len(varying) > 1:
            further_conditions.append(form)
            continue
        if form.outer:
            raise split_for(walk, form, low, high)
        axis = varying[0]
        first, last = _lanes_satisfying(form.constant, form.lanes[axis], mask.shape[axis])
        limit = limits.get(axis, (0, mask.shape[axis] - 1))
        limits[axis] = (max(limit[0], first), min(limit[1], last))
        if limits[axis][0] > limits[axis][1]:
            return NOTHING
    box = None
    if limits:
        box = tuple(
            (limits[axis][0], limits[axis][1] + 1) if axis in limits else None
            for axis in range(len(mask.shape))
        )
    return ResolvedMask(box, tuple(further_conditions))


def _lanes_satisfying(constant: int, coefficient: int, extent: int) -> Interval:
    """Return the first and last lane at which constant + coefficient * lane >= 0."""
    if coefficient < 0:
        return 0, min(extent - 1, constant // -coefficient)
    return max(0, -(constant // coefficient)), extent - 1


def split_for(walk: Walk, form: Affine, low: int, high: int) -> SplitAxis:
    """Return the cut of an axis that decides the condition `form` >= 0 for more programs.

    `low` and `high` are the form's extremes. Program axes come before trips; the axis with the
    largest coefficient is cut.
    """
    symbol, coefficient = min(form.outer, key=lambda pair: (pair[0] in walk.nest, -abs(pair[1])))
    first, last = walk.domain.ranges[symbol]
    at_lowest, at_highest = (first, last) if coefficient > 0 else (last, first)
    low_without, high_without = low - coefficient * at_lowest, high - coefficient * at_highest
    if coefficient > 0:
        candidates = (-(high_without // coefficient), -(low_without // coefficient))
    else:
        candidates = (low_without // -coefficient + 1, high_without // -coefficient + 1)
    for cut in candidates:
        if first < cut <= last:
            return SplitAxis(symbol, cut)
    return SplitAxis(symbol, first + 1)
