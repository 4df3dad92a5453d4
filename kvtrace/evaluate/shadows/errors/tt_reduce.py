"""Errors of reductions and scans, whatever the order in which a device combines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.dialects.tt_reduce import along, simple_ufunc
from kvtrace.evaluate.shadows.driver import on_actual
from kvtrace.evaluate.shadows.errors.planes import (
    Deviating,
    Span,
    centers,
    full_planes,
    is_blank,
    offset_from,
    shared_in_place,
    together,
)
from kvtrace.evaluate.shadows.errors.roundings import (
    FLOAT32,
    Roundings,
    largest_of,
    largest_whole,
    repetition,
    settle,
    smallest_of,
    unit_of,
)
from kvtrace.evaluate.types import ElementType, ValueType, value_type
from kvtrace.evaluate.values import Array, actual, full_array, unknown_of
from kvtrace.ir import Op
from kvtrace.ir.ops import ELEMENTWISE, KINDS, Kind, operator_of

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step

_PICKING: Final = frozenset({"min", "max", "where", "compare", "&", "|", "^", "negate", "abs"})
_EXTREMES: Final = (np.maximum, np.minimum, np.fmax, np.fmin)
_LARGER: Final = (np.maximum, np.fmax)


def combination(op: Op, step: Step, roundings: Roundings) -> Step:
    """Run a reduction or a scan, with planes."""
    types = [value_type(value.type) for value in op.group("source")]
    function = simple_ufunc(op.regions[0].blocks[0], types[0]) if len(types) == 1 else None
    if function is None:
        return _by_region(op, step, roundings)
    if types[0].element.kind != "f":
        return _simple(op, step, _OfIntegers(op, types[0], roundings, function))
    if function is np.add:
        return _simple(op, step, _Sum(op, types[0], roundings))
    if function is np.multiply:
        return _simple(op, step, _Product(op, types[0], roundings))
    return _simple(op, step, _Extreme(op, types[0], roundings, function))


def _computes_floats(op: Op) -> bool:
    """Whether the region of a reduction or a scan computes floats, and not only picks some."""
    return any(
        inner.name in ELEMENTWISE
        and inner.results
        and value_type(inner.results[0].type).element.kind == "f"
        and operator_of(inner) not in _PICKING
        for inner in op.regions[0].blocks[0].ops
    )


def _lengthening(op: Op) -> float:
    """Return how many times more roundings an element may go through than in the evaluator's tree.

    In the tree it is the tree's depth; on a device at most one for each other element.
    """
    extent = value_type(op.group("source")[0].type).shape[int(attribute(op, "axis"))]
    return (extent - 1) / max(1.0, math.log2(extent)) if _computes_floats(op) else 1.0


def _by_region(op: Op, step: Step, roundings: Roundings) -> Step:
    """Take what the region's own ops give in the evaluator's tree, for any other tree."""
    longer = _lengthening(op)

    def ran(values: list[Any], scope: Any) -> None:
        step(values, scope)
        for value in op.results:
            held = values[value.id]
            if not isinstance(held, Deviating):
                continue
            planes = held.shadow.copy()
            for plane in roundings.open:
                planes[plane] *= longer
            if roundings.all_count:
                for plane in ("own", "common"):
                    planes[plane] *= math.sqrt(longer)
                shared_in_place(planes, None, None)
            values[value.id] = roundings.beside(held, planes)

    return ran


def _simple(op: Op, step: Step, rule: _Combined) -> Step:
    (source,), result = op.group("source"), op.results[0].id
    run = on_actual(op, step)

    def computed(values: list[Any], scope: Any) -> None:
        run(values, scope)
        given = values[source.id]
        if unknown_of((actual(given), actual(values[result]))) is None:
            values[result] = rule(given, values[result])

    return computed


class _Combined:
    """What one function of two numbers makes of all along an axis."""

    def __init__(self, op: Op, type_: ValueType, roundings: Roundings) -> None:
        self._op = op
        self._type = type_
        self._roundings = roundings
        self._element: ElementType = type_.element
        self._axis = int(attribute(op, "axis"))
        self._extent = type_.shape[self._axis]

    def __call__(self, given: Any, value: Array) -> Any:
        """Return the combined numbers, with planes."""
        raise NotImplementedError

    def _centers(self, given: Any) -> tuple[Array, Array, Span, Span]:
        """Return the numbers that planes lie around, in float64, the planes, and their spans."""
        array = full_array(actual(given), self._type).astype(np.float64)
        planes, own, common = full_planes(given, self._type, self._roundings.kind.planes)
        numbers = centers(array, planes)
        rows = np.broadcast_shapes(numbers.shape, planes.shape)
        return np.broadcast_to(numbers, rows), planes, own, common

    def _begun(self, total: Array, value: Array, *arrays: Array) -> tuple[Array, Array]:
        """Return planes of a result, with `off` alone, and where no distance is known."""
        shapes = [each.shape for each in arrays]
        made = self._roundings.zeros(np.broadcast_shapes(total.shape, *shapes))
        if not self._roundings.all_count:
            return made, np.zeros((), np.bool_)
        made["off"], lost = offset_from(total, value)
        return made, lost

    def _along(self, function: Any, array: Array) -> Array:
        shape = (len(array), *self._type.shape)
        return along(self._op, function, np.broadcast_to(array, shape))


class _Sum(_Combined):
    """A sum of floats. Each addition rounds; the device chooses in which order it adds."""

    def __init__(self, op: Op, type_: ValueType, roundings: Roundings) -> None:
        super().__init__(op, type_, roundings)
        self._narrowed = op.index in roundings.narrow
        self._unit = unit_of(FLOAT32 if self._narrowed else type_.element.name)
        self._is_scan = KINDS[op.name].kind is Kind.SCAN

    def __call__(self, given: Any, value: Array) -> Any:
        """Return the sums, with planes."""
        numbers, planes, own_span, common_span = self._centers(given)
        magnitude = self._along(np.add, np.abs(numbers))
        exact = self._are_exact(numbers, planes, magnitude)
        if exact.all():
            return value
        made, lost = self._begun(self._along(np.add, numbers), value, magnitude)
        if not self._roundings.bounded:
            return self._roundings.beside(value, made)
        for plane in self._roundings.open:
            made[plane] = self._along(np.add, planes[plane])
        if not self._roundings.all_count:
            sizes = np.abs(numbers) + planes["worst"]
            return self._around_evaluated(made, sizes, magnitude, exact, value)
        made["common"] = self._along(np.add, planes["common"])
        made["own"] = np.sqrt(self._along(np.add, planes["own"] ** 2))
        made["meaning"] += self._extent * 2.0**-53 * np.where(np.isfinite(magnitude), magnitude, 0)
        own_span, common_span = self._round(made, numbers, magnitude, own_span, common_span)
        for plane in ("worst", "near", "bias"):
            made[plane] = np.where(lost, np.inf, made[plane])
        return self._roundings.beside(value, made, own_span, common_span, narrowed=self._narrowed)

    def _are_exact(self, numbers: Array, planes: Array, magnitude: Array) -> Array:
        """Return which sums no order rounds: of certain whole numbers, or of one number and zeros.

        Where all roundings count, all sums are exact, or none of them is.
        """
        whole = numbers == np.rint(numbers)
        small = magnitude < largest_whole(self._element.name)
        if self._roundings.all_count:
            return np.asarray(whole.all() and small.all() and is_blank(planes))
        certain = np.broadcast_to(planes["worst"] == 0, whole.shape)
        terms = self._along(np.add, ((numbers != 0) | ~certain).astype(np.int64))
        # To add zero rounds nothing.
        return (terms <= 1) | small & self._along(np.logical_and, whole & certain)

    def _around_evaluated(
        self, made: Array, sizes: Array, magnitude: Array, exact: Array, value: Array
    ) -> Any:
        """Add the roundings of both orders, the device's and the evaluator's tree.

        None loses more than the smaller of the two numbers that it adds, which is at most the sum
        of all magnitudes but the largest: of 1 and many tiny numbers hardly anything is lost.
        """
        passed = made["worst"].copy()
        grown, beyond = self._grown(made, "worst", magnitude)
        own_loss = self._extent * 2.0**-53 * grown  # by the sums in float64 here
        with np.errstate(all="ignore"):
            rest = grown - self._along(np.maximum, sizes) + own_loss
            rest = np.where(np.isfinite(rest), rest * (1 + self._extent * self._unit), np.inf)
        each = np.minimum(self._unit * grown, rest)
        worst = passed + (self._extent + math.log2(max(self._extent, 2))) * each
        worst = np.where(exact, passed, np.where(beyond, np.inf, worst))
        # A sum with an infinity keeps that.
        kept = np.where(passed > 0, np.inf, 0.0)
        made["worst"] = np.where(np.isfinite(magnitude), worst, kept)
        return self._roundings.beside(value, made)

    def _grown(self, made: Array, plane: str, magnitude: Array) -> tuple[Array, Array]:
        """Return how large sums may become, and where that is more than their type holds."""
        reach = np.where(np.isfinite(magnitude), magnitude, 0.0)
        grown = reach + np.where(np.isfinite(made[plane]), made[plane], 0.0)
        return grown, np.isfinite(magnitude) & (grown > largest_of(self._element))

    def _round(
        self, made: Array, exact: Array, magnitude: Array, own_span: Span, common_span: Span
    ) -> tuple[Span, Span]:
        """Add the roundings: in any order there is one less than there are elements.

        In the worst case each is of the sum of all magnitudes. A partial sum, of whichever
        elements, is at most that of all positive ones, or of all negative ones.
        """
        roundings = max(1, self._extent - 1)
        grown, beyond = self._grown(made, "worst", magnitude)
        made["worst"] += roundings * self._unit * grown
        made["worst"] = np.where(beyond, np.inf, made["worst"])
        grown, beyond = self._grown(made, "near", magnitude)
        partial = np.maximum(
            self._along(np.add, np.maximum(exact, 0)), self._along(np.add, np.maximum(-exact, 0))
        )
        reach = np.where(np.isfinite(magnitude), magnitude, 0.0)
        partial = np.where(np.isfinite(partial), partial, 0.0) + (grown - reach)
        repeated = self._along(np.add, repetition(exact, self._axis + 1))
        fresh = np.sqrt(np.minimum(repeated, roundings**2)) * self._unit * partial
        made["near"] += self._roundings.deviations * fresh
        made["near"] = np.where(beyond, np.inf, made["near"])
        parts = [(made["own"], own_span), (fresh, self._roundings.birth())]
        made["own"], own_span = together(parts)
        if self._is_scan:  # what comes early is in all that follows
            common_span = shared_in_place(made, own_span, common_span)
            own_span = None
        settle(made, own_span, common_span, self._roundings)
        return own_span, common_span


class _Extreme(_Combined):
    """The largest or smallest float: as far off as any of those that may be it."""

    def __init__(self, op: Op, type_: ValueType, roundings: Roundings, function: Any) -> None:
        super().__init__(op, type_, roundings)
        self._function = function

    def __call__(self, given: Any, value: Array) -> Any:
        """Return the extremes, with planes."""
        if not isinstance(given, Deviating):
            return value
        numbers, planes, _, _ = self._centers(given)
        made, lost = self._begun(self._along(self._function, numbers), value)
        sign = 1.0 if self._function in _LARGER else -1.0
        for plane in self._roundings.distances:
            radii = np.broadcast_to(planes[plane], numbers.shape)
            made[plane] = np.where(lost, np.inf, self._away(sign * numbers, radii))
        if self._roundings.all_count:
            made["bias"] = made["near"]
        return self._roundings.beside(value, made)

    def _away(self, numbers: Array, radii: Array) -> Array:
        """Return how far the largest may be from the largest of the numbers."""
        largest = self._along(np.fmax, numbers)
        with np.errstate(all="ignore"):
            above = self._along(np.fmax, numbers + radii) - largest
            below = largest - self._along(np.fmax, numbers - radii)
        away = np.maximum(above, below)
        uncertain = self._along(np.fmax, radii) > 0
        away = np.where(np.isnan(away), np.where(uncertain, np.inf, 0), away)
        # What is uncertain and not a number, or of which nothing is known, may be the largest.
        anything = np.isnan(numbers) & (radii > 0) | np.isinf(radii)
        nowhere = self._along(np.logical_or, anything)
        return np.where(nowhere, np.inf, away)


class _Product(_Combined):
    """A product of floats. Each factor's relative error, and each rounding, is in all of it."""

    def __call__(self, given: Any, value: Array) -> Any:
        """Return the products, with planes."""
        numbers, planes, _, _ = self._centers(given)
        made, lost = self._begun(self._along(np.multiply, numbers), value)
        if not self._roundings.bounded:
            return self._roundings.beside(value, made)
        sizes = np.abs(numbers)
        largest, least = largest_of(self._element), smallest_of(self._element.name)
        # Part of the factors alone may be too large for the type, or too small.
        beyond = self._along(np.multiply, np.fmax(sizes, 1.0)) > largest
        below = self._along(np.multiply, np.where(sizes > 0, np.fmin(sizes, 1.0), 1.0)) < least
        lost = lost | (beyond | below) & np.isfinite(self._along(np.add, sizes))
        for plane in self._roundings.distances:
            unit = 2.0**-53 if plane == "meaning" else unit_of(self._element.name)
            radii = np.broadcast_to(planes[plane], sizes.shape)
            made[plane] = np.where(lost, np.inf, self._away(sizes, radii, unit))
        if self._roundings.all_count:
            made["bias"] = made["near"]
        return self._roundings.beside(value, made)

    def _away(self, sizes: Array, radii: Array, unit: float) -> Array:
        """Return how far a product may be: of both orders, the device's and the evaluator's."""
        with np.errstate(all="ignore"):
            relative = np.log1p(np.where(radii > 0, radii / sizes, 0.0))
            grown = self._along(np.add, relative) + 2 * self._extent * math.log1p(unit)
            away = self._along(np.multiply, sizes) * np.expm1(grown)
        return np.where(np.isnan(away), np.inf, away)


class _OfIntegers(_Combined):
    """A function of integers or Booleans, which are not rounded."""

    def __init__(self, op: Op, type_: ValueType, roundings: Roundings, function: Any) -> None:
        super().__init__(op, type_, roundings)
        self._function = function

    def __call__(self, given: Any, value: Array) -> Any:
        """Return the combined numbers, with planes."""
        if not isinstance(given, Deviating) or not self._roundings.bounded:
            return value
        _, planes, _, _ = self._centers(given)
        made, _ = self._begun(value.astype(np.float64), value)
        for plane in self._roundings.distances:
            radii = planes[plane]
            if self._roundings.all_count:
                radii = radii + np.abs(planes["off"])
            made[plane] = self._away(radii)
        if self._roundings.all_count:
            made["bias"] = made["near"]
        return self._roundings.beside(value, made)

    def _away(self, radii: Array) -> Array:
        if self._function is np.add:
            return self._along(np.add, radii)
        widest = self._along(np.maximum, radii)
        return widest if self._function in _EXTREMES else np.where(widest > 0, np.inf, 0.0)
