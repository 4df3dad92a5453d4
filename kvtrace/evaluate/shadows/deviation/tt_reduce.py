"""Deviations of reductions and scans, whatever the order in which a device combines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.dialects.tt_reduce import along, simple_ufunc
from kvtrace.evaluate.shadows.deviation.arith import settle
from kvtrace.evaluate.shadows.deviation.planes import (
    BOUNDS,
    PLANES,
    Deviating,
    Span,
    exact_from,
    full_planes,
    offset_from,
    shared_in_place,
    together,
)
from kvtrace.evaluate.shadows.deviation.roundings import (
    FLOAT32,
    Noise,
    largest_of,
    repetition,
    unit_of,
)
from kvtrace.evaluate.shadows.driver import on_actual
from kvtrace.evaluate.shadows.radius.tt_reduce import LARGEST_EXACT, lengthening
from kvtrace.evaluate.types import ElementType, ValueType, value_type
from kvtrace.evaluate.values import Array, actual, full_array, unknown_of
from kvtrace.ir import Op
from kvtrace.ir.ops import KINDS, Kind

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step

_PICKING: Final = (np.maximum, np.minimum, np.fmax, np.fmin)
_LARGER: Final = (np.maximum, np.fmax)


def combination(op: Op, step: Step, noise: Noise) -> Step:
    """Run a reduction or a scan, with planes."""
    types = [value_type(value.type) for value in op.group("source")]
    function = simple_ufunc(op.regions[0].blocks[0], types[0]) if len(types) == 1 else None
    if function is np.add and types[0].element.kind == "f":
        return _simple(op, step, _Sum(op, types[0], noise))
    if function in _PICKING and types[0].element.kind == "f":
        return _simple(op, step, _Extreme(op, function))
    return _by_region(op, step)


def _by_region(op: Op, step: Step) -> Step:
    """Take what the region's own ops give in the evaluator's tree, for any other tree."""
    longer = lengthening(op)
    random = math.sqrt(longer)

    def ran(values: list[Any], scope: Any) -> None:
        step(values, scope)
        for value in op.results:
            held = values[value.id]
            if not isinstance(held, Deviating):
                continue
            planes = held.shadow.copy()
            for plane in BOUNDS:
                planes[plane] *= random if plane in ("own", "common") else longer
            shared_in_place(planes, None, None)
            values[value.id] = Deviating(held.actual, planes)

    return ran


def _simple(op: Op, step: Step, rule: _Sum | _Extreme) -> Step:
    (source,), result = op.group("source"), op.results[0].id
    run = on_actual(op, step)

    def computed(values: list[Any], scope: Any) -> None:
        run(values, scope)
        given = values[source.id]
        if unknown_of((actual(given), actual(values[result]))) is None:
            values[result] = rule(given, values[result])

    return computed


class _Sum:
    """A sum along an axis. Each addition rounds; the device chooses in which order it adds."""

    def __init__(self, op: Op, type_: ValueType, noise: Noise) -> None:
        self._op = op
        self._type = type_
        self._noise = noise
        self._element: ElementType = type_.element
        self._extent = type_.shape[int(attribute(op, "axis"))]
        self._narrowed = op.index in noise.narrow
        self._unit = unit_of(FLOAT32 if self._narrowed else type_.element.name)
        self._is_scan = KINDS[op.name].kind is Kind.SCAN

    def __call__(self, given: Any, value: Array) -> Any:
        """Return the sums, with planes."""
        array = full_array(actual(given), self._type).astype(np.float64)
        planes, own_span, common_span = full_planes(given, self._type)
        exact = exact_from(array, planes["off"])
        certain = not isinstance(given, Deviating)
        sizes = np.abs(exact)
        magnitude = self._along(np.add, sizes)
        if certain and self._is_whole(array, magnitude):
            return value
        total = self._along(np.add, exact)
        off, lost = offset_from(total, value)
        made = np.zeros(np.broadcast_shapes(off.shape, magnitude.shape), PLANES)
        made["off"] = off
        if not self._noise.bounded:
            return Deviating(value, made)
        for plane in ("worst", "meaning", "near", "bias", "common"):
            made[plane] = self._along(np.add, planes[plane])
        made["own"] = np.sqrt(self._along(np.add, planes["own"] ** 2))
        made["meaning"] += self._extent * 2.0**-53 * np.where(np.isfinite(magnitude), magnitude, 0)
        own_span, common_span = self._round(made, exact, magnitude, own_span, common_span)
        for plane in ("worst", "near", "bias"):
            made[plane] = np.where(lost, np.inf, made[plane])
        return Deviating(value, made, own_span, common_span, self._narrowed)

    def _along(self, function: Any, array: Array) -> Array:
        return along(self._op, function, np.broadcast_to(array, (len(array), *self._type.shape)))

    def _is_whole(self, array: Array, magnitude: Array) -> bool:
        """Whether all sums are of whole numbers that the type holds: in any order the same."""
        whole = bool((array == np.rint(array)).all())
        return (
            whole and float(magnitude.max(initial=0)) < LARGEST_EXACT[max(16, self._element.bits)]
        )

    def _round(
        self, made: Array, exact: Array, magnitude: Array, own_span: Span, common_span: Span
    ) -> tuple[Span, Span]:
        """Add the roundings: in any order there is one less than there are elements.

        In the worst case each is of the sum of all magnitudes. A partial sum, of whichever
        elements, is at most that of all positive ones, or of all negative ones.
        """
        reach = np.where(np.isfinite(magnitude), magnitude, 0.0)
        roundings = max(1, self._extent - 1)
        for plane in ("worst", "near"):
            grown = reach + np.where(np.isfinite(made[plane]), made[plane], 0.0)
            beyond = np.isfinite(magnitude) & (grown > largest_of(self._element))
            if plane == "worst":
                made[plane] += roundings * self._unit * grown
            else:
                partial = np.maximum(
                    self._along(np.add, np.maximum(exact, 0)),
                    self._along(np.add, np.maximum(-exact, 0)),
                )
                partial = np.where(np.isfinite(partial), partial, 0.0) + (grown - reach)
                axis = int(attribute(self._op, "axis")) + 1
                repeated = self._along(np.add, repetition(exact, axis))
                fresh = np.sqrt(np.minimum(repeated, roundings**2)) * self._unit * partial
                made[plane] += self._noise.deviations * fresh
            made[plane] = np.where(beyond, np.inf, made[plane])
        parts = [(made["own"], own_span), (fresh, self._noise.birth())]
        made["own"], own_span = together(parts)
        if self._is_scan:  # what comes early is in all that follows
            common_span = shared_in_place(made, own_span, common_span)
            own_span = None
        settle(made, own_span, common_span, self._noise)
        return own_span, common_span


class _Extreme:
    """The largest or smallest element: as far off as any of those that may be it."""

    def __init__(self, op: Op, function: Any) -> None:
        self._op = op
        self._function = function
        self._type = value_type(op.group("source")[0].type)

    def __call__(self, given: Any, value: Array) -> Any:
        """Return the extremes, with planes."""
        if not isinstance(given, Deviating):
            return value
        array = full_array(actual(given), self._type).astype(np.float64)
        planes, _, _ = full_planes(given, self._type)
        exact = exact_from(array, planes["off"])
        off, lost = offset_from(self._along(self._function, exact), value)
        made = np.zeros(off.shape, PLANES)
        made["off"] = off
        sign = 1.0 if self._function in _LARGER else -1.0
        for plane in ("worst", "meaning", "near"):
            radii = np.broadcast_to(planes[plane], exact.shape)
            made[plane] = np.where(lost, np.inf, self._away(sign * exact, radii))
        made["bias"] = made["near"]
        return Deviating(value, made)

    def _along(self, function: Any, array: Array) -> Array:
        return along(self._op, function, array)

    def _away(self, exact: Array, radii: Array) -> Array:
        """Return how far the largest may be from the largest of the exact numbers."""
        largest = self._along(np.fmax, exact)
        with np.errstate(all="ignore"):
            above = self._along(np.fmax, exact + radii) - largest
            below = largest - self._along(np.fmax, exact - radii)
        away = np.maximum(above, below)
        return np.where(np.isnan(away), np.where(self._along(np.fmax, radii) > 0, np.inf, 0), away)
