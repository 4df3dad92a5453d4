"""Masks as lanes: all, none, a box of lanes, or a box with further conditions."""

from __future__ import annotations

from dataclasses import dataclass

from kvtrace.evaluate.plan.affine import Affine, Interval, whole
from kvtrace.evaluate.plan.signals import SplitAxis
from kvtrace.evaluate.plan.values import Box, Condition
from kvtrace.evaluate.plan.walk import Walk


@dataclass(frozen=True)
class ResolvedMask:
    """Lanes inside `box` (None: all) where all `conditions` are >= 0. `nothing`: no lane."""

    box: Box | None = None
    conditions: tuple[Affine, ...] = ()
    nothing: bool = False

    def lanes(self, shape: tuple[int, ...]) -> tuple[Interval, ...]:
        """Return the ranges of the box's lanes."""
        if self.box is None:
            return whole(shape)
        return tuple(
            (0, extent - 1) if cut is None else (cut[0], cut[1] - 1)
            for cut, extent in zip(self.box, shape, strict=True)
        )


ALL = ResolvedMask()
NOTHING = ResolvedMask(nothing=True)


def resolved(walk: Walk, mask: Condition) -> ResolvedMask:
    """Return a mask decided for all programs and trips of the walk.

    Raises SplitAxis if the mask differs between programs or trips, and cutting an axis helps.
    """
    limits: dict[int, tuple[int, int]] = {}
    diagonal = []
    for condition in mask.forms:
        form = walk.domain.folded(condition)
        low, high = walk.extremes(form, mask.shape)
        if low >= 0:
            continue
        if high < 0:
            return NOTHING
        varying = [axis for axis, number in enumerate(form.lanes) if number]
        if len(varying) > 1:
            diagonal.append(form)
            continue
        if form.outer:
            raise split_for(walk, form, low, high)
        axis = varying[0]
        first, last = _satisfied(form.constant, form.lanes[axis], mask.shape[axis])
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
    return ResolvedMask(box, tuple(diagonal))


def _satisfied(constant: int, number: int, extent: int) -> Interval:
    """Return the lanes at which constant + number * lane >= 0."""
    if number < 0:
        return 0, min(extent - 1, constant // -number)
    return max(0, -(constant // number)), extent - 1


def split_for(walk: Walk, form: Affine, low: int, high: int) -> SplitAxis:
    """Return where to cut an axis so that a condition becomes all true or all false sooner.

    Program axes come first, the one with the largest coefficient.
    """
    symbol, number = min(form.outer, key=lambda pair: (pair[0] in walk.nest, -abs(pair[1])))
    first, last = walk.domain.ranges[symbol]
    least, most = (first, last) if number > 0 else (last, first)
    low_rest, high_rest = low - number * least, high - number * most
    if number > 0:
        candidates = (-(high_rest // number), -(low_rest // number))
    else:
        candidates = (low_rest // -number + 1, high_rest // -number + 1)
    for at in candidates:
        if first < at <= last:
            return SplitAxis(symbol, at)
    return SplitAxis(symbol, first + 1)
