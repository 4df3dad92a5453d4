"""Errors of reductions and scans, for any order in which a device combines elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.dialects.tt_reduce import along, component_ufuncs
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.shadows.driver import on_actual
from kvtrace.evaluate.shadows.errors.planes import (
    NumberWithPlanes,
    Span,
    centers,
    combined_scale,
    full_planes,
    is_blank,
    offset_from,
    shared_in_place,
)
from kvtrace.evaluate.shadows.errors.roundings import (
    FLOAT32,
    Roundings,
    largest_of,
    largest_whole,
    repetition,
    smallest_of,
    tighten_near,
    unit_of,
)
from kvtrace.evaluate.types import ElementType, ValueType, value_type
from kvtrace.evaluate.values import Array, actual, full_array, map_arrays, unknown_of
from kvtrace.ir import Op
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import ELEMENTWISE, KINDS, Kind, operator_of

_PICKING: Final = frozenset({"min", "max", "where", "compare", "&", "|", "^", "negate", "abs"})
_EXTREMES: Final = (np.maximum, np.minimum, np.fmax, np.fmin)
_LARGER: Final = (np.maximum, np.fmax)


def combination(op: Op, step: Step, roundings: Roundings) -> Step:
    """Return the step of a reduction or scan that computes planes by the rule of its function."""
    types = [value_type(value.type) for value in op.group("source")]
    functions = component_ufuncs(op.regions[0].blocks[0], types)
    if functions is None:
        return _step_of_region(op, step, roundings)
    rules = [
        _rule(op, type_, roundings, function)
        for type_, function in zip(types, functions, strict=True)
    ]
    return _step_with_rules(op, step, rules)


def _rule(op: Op, type_: ValueType, roundings: Roundings, function: Any) -> _Combination:
    if type_.element.kind != "f":
        return _IntegerCombination(op, type_, roundings, function)
    if function is np.add:
        return _Sum(op, type_, roundings)
    if function is np.multiply:
        return _Product(op, type_, roundings)
    return _Extreme(op, type_, roundings, function)


def _computes_floats(op: Op) -> bool:
    """Return whether a combining region computes floats and does not only select them."""
    return any(
        inner.name in ELEMENTWISE
        and inner.results
        and value_type(inner.results[0].type).element.kind == "f"
        and operator_of(inner) not in _PICKING
        for inner in op.regions[0].blocks[0].ops
    )


def _rounding_ratio(op: Op) -> float:
    """Return the ratio of roundings in a device's longest order to those in the tree here."""
    extent = value_type(op.group("source")[0].type).shape[int(attribute(op, "axis"))]
    return (extent - 1) / max(1.0, math.log2(extent)) if _computes_floats(op) else 1.0


def _step_of_region(op: Op, step: Step, roundings: Roundings) -> Step:
    """Return a step that widens bounds of the evaluator's tree to hold for any tree and order."""
    longer = _rounding_ratio(op)
    backward = None if KINDS[op.name].kind is Kind.SCAN else _backward_results(op, step)

    def ran(values: list[Any], scope: Any) -> None:
        others = None if backward is None else backward(values, scope)
        step(values, scope)
        for value in op.results:
            result = values[value.id]
            if not isinstance(result, NumberWithPlanes):
                continue
            planes = result.shadow.copy()
            for plane in roundings.open:
                planes[plane] *= longer
            if roundings.all_count:
                for plane in ("own", "common"):
                    planes[plane] *= math.sqrt(longer)
                shared_in_place(planes, None, None)
            values[value.id] = roundings.with_planes(result, planes)
        if others is not None:
            _unbound_by_order(op, values, others, roundings)

    return ran


def _backward_results(op: Op, step: Step) -> Callable[[list[Any], Any], list[Any]]:
    """Return a function that reduces the operands, without shadows, from the last to the first.

    A device keeps no order: a warp combines lane 0 with lane 16 first, then with 8 and 24. Where a
    function is not commutative, both directions differ.
    """
    sources = [value.id for value in op.group("source")]
    axis = int(attribute(op, "axis")) - len(value_type(op.group("source")[0].type).shape)

    def reduced(values: list[Any], scope: Any) -> list[Any]:
        inner = list(values)
        for slot in sources:
            inner[slot] = map_arrays(actual(inner[slot]), lambda array: np.flip(array, axis))
        step(inner, scope)
        return [actual(inner[value.id]) for value in op.results]

    return reduced


def _unbound_by_order(op: Op, values: list[Any], others: list[Any], roundings: Roundings) -> None:
    """Leave results without a bound where the other direction's are farther off than bounds."""
    for value, other in zip(op.results, others, strict=True):
        result, type_ = values[value.id], value_type(value.type)
        if unknown_of((actual(result), other)) is not None or type_.element.kind not in "fiub":
            continue
        array, backward = (full_array(one, type_) for one in (actual(result), other))
        planes, _, _ = full_planes(result, type_, roundings.kind.planes)
        with np.errstate(all="ignore"):
            distance = np.abs(array.astype(np.float64) - backward.astype(np.float64))
            reach = 2 * planes["worst"]
            if roundings.all_count:
                reach = reach + 2 * np.abs(planes["off"])
        same = (array == backward) | (array != array) & (backward != backward)
        differs = ~same & ~(distance <= reach)
        if differs.any():
            lost = roundings.unbounded(
                np.broadcast_to(differs, np.broadcast_shapes(differs.shape, planes.shape))
            )
            merged = np.broadcast_to(planes, lost.shape).copy()
            for plane in roundings.open:
                merged[plane] = np.maximum(merged[plane], lost[plane])
            values[value.id] = roundings.with_planes(result, merged)


def _step_with_rules(op: Op, step: Step, rules: Sequence[_Combination]) -> Step:
    run = on_actual(op, step)

    def computed(values: list[Any], scope: Any) -> None:
        run(values, scope)
        for source, result, rule in zip(op.group("source"), op.results, rules, strict=True):
            value = values[source.id]
            if unknown_of((actual(value), actual(values[result.id]))) is None:
                values[result.id] = rule(value, actual(values[result.id]))

    return computed


class _Combination:
    """The rule of a reduction or scan by one function of two numbers."""

    def __init__(self, op: Op, type_: ValueType, roundings: Roundings) -> None:
        self._op = op
        self._type = type_
        self._roundings = roundings
        self._element: ElementType = type_.element
        self._axis = int(attribute(op, "axis"))
        self._extent = type_.shape[self._axis]

    def __call__(self, source: Any, value: Array) -> Any:
        """Return the result with planes, from the operand and the evaluator's result."""
        raise NotImplementedError

    def _centers(self, source: Any) -> tuple[Array, Array, Span, Span]:
        """Return the numbers that planes lie around (float64), the planes, and their spans."""
        array = full_array(actual(source), self._type).astype(np.float64)
        planes, own, common = full_planes(source, self._type, self._roundings.kind.planes)
        numbers = centers(array, planes)
        rows = np.broadcast_shapes(numbers.shape, planes.shape)
        return np.broadcast_to(numbers, rows), planes, own, common

    def _new_planes(self, total: Array, value: Array, *arrays: Array) -> tuple[Array, Array]:
        """Return new planes with only `off` set, and a mask of unknown distances."""
        shapes = [array.shape for array in arrays]
        result_planes = self._roundings.zeros(np.broadcast_shapes(total.shape, *shapes))
        if not self._roundings.all_count:
            return result_planes, np.zeros((), np.bool_)
        result_planes["off"], lost = offset_from(total, value)
        return result_planes, lost

    def _along(self, function: Any, array: Array) -> Array:
        shape = (len(array), *self._type.shape)
        return along(self._op, function, np.broadcast_to(array, shape))


class _Sum(_Combination):
    """The rule of a float sum: each addition rounds, and the device chooses the order."""

    def __init__(self, op: Op, type_: ValueType, roundings: Roundings) -> None:
        super().__init__(op, type_, roundings)
        self._narrowed = op.index in roundings.narrow
        self._unit = unit_of(FLOAT32 if self._narrowed else type_.element.name)
        self._is_scan = KINDS[op.name].kind is Kind.SCAN

    def __call__(self, source: Any, value: Array) -> Any:
        numbers, planes, own_span, common_span = self._centers(source)
        magnitude = self._along(np.add, np.abs(numbers))
        exact = self._are_exact(numbers, planes, magnitude)
        if exact.all():
            return value
        result_planes, lost = self._new_planes(self._along(np.add, numbers), value, magnitude)
        if not self._roundings.bounded:
            return self._roundings.with_planes(value, result_planes)
        for plane in self._roundings.open:
            result_planes[plane] = self._along(np.add, planes[plane])
        if not self._roundings.all_count:
            sizes = np.abs(numbers) + planes["worst"]
            return self._with_radius(result_planes, sizes, magnitude, exact, value)
        result_planes["common"] = self._along(np.add, planes["common"])
        result_planes["own"] = np.sqrt(self._along(np.add, planes["own"] ** 2))
        result_planes["meaning"] += (
            self._extent * 2.0**-53 * np.where(np.isfinite(magnitude), magnitude, 0)
        )
        own_span, common_span = self._round(
            result_planes, numbers, magnitude, own_span, common_span
        )
        for plane in ("worst", "near", "bias"):
            result_planes[plane] = np.where(lost, np.inf, result_planes[plane])
        return self._roundings.with_planes(
            value, result_planes, own_span, common_span, narrowed=self._narrowed
        )

    def _are_exact(self, numbers: Array, planes: Array, magnitude: Array) -> Array:
        """Return a mask of sums without roundings: of whole numbers, or one number and zeros.

        If all roundings count, the mask is one Boolean for all sums.
        """
        whole = numbers == np.rint(numbers)
        small = magnitude < largest_whole(self._element.name)
        if self._roundings.all_count:
            return np.asarray(whole.all() and small.all() and is_blank(planes))
        certain = np.broadcast_to(planes["worst"] == 0, whole.shape)
        terms = self._along(np.add, ((numbers != 0) | ~certain).astype(np.int64))
        # To add zero rounds nothing.
        return (terms <= 1) | small & self._along(np.logical_and, whole & certain)

    def _with_radius(
        self, result_planes: Array, sizes: Array, magnitude: Array, exact: Array, value: Array
    ) -> Any:
        """Return sums with a radius for both orders, the device's and the evaluator's tree.

        An addition loses at most the smaller of its two numbers, which is at most the sum of all
        magnitudes but the largest: of 1 and many tiny numbers hardly anything is lost.
        """
        operand_error = result_planes["worst"].copy()
        bounded_sum, overflows = self._magnitude_bounds(result_planes, "worst", magnitude)
        own_loss = self._extent * 2.0**-53 * bounded_sum  # by the sums in float64 here
        with np.errstate(all="ignore"):
            all_but_largest = bounded_sum - self._along(np.maximum, sizes) + own_loss
            all_but_largest = np.where(
                np.isfinite(all_but_largest),
                all_but_largest * (1 + self._extent * self._unit),
                np.inf,
            )
        one_rounding = np.minimum(self._unit * bounded_sum, all_but_largest)
        worst = operand_error + (self._extent + math.log2(max(self._extent, 2))) * one_rounding
        worst = np.where(exact, operand_error, np.where(overflows, np.inf, worst))
        # A sum with an infinity is infinite in any order.
        of_infinite = np.where(operand_error > 0, np.inf, 0.0)
        result_planes["worst"] = np.where(np.isfinite(magnitude), worst, of_infinite)
        return self._roundings.with_planes(value, result_planes)

    def _magnitude_bounds(
        self, result_planes: Array, plane: str, magnitude: Array
    ) -> tuple[Array, Array]:
        """Return bounds of the sums' magnitudes, and a mask of those too large for the type."""
        reach = np.where(np.isfinite(magnitude), magnitude, 0.0)
        bounded_sum = reach + np.where(np.isfinite(result_planes[plane]), result_planes[plane], 0.0)
        return bounded_sum, np.isfinite(magnitude) & (bounded_sum > largest_of(self._element))

    def _round(
        self,
        result_planes: Array,
        exact: Array,
        magnitude: Array,
        own_span: Span,
        common_span: Span,
    ) -> tuple[Span, Span]:
        """Add the roundings of a sum in any order to planes; return both spans.

        There is one rounding less than elements. In the worst case each is of the sum of all
        magnitudes. A partial sum, of any elements, is at most the sum of all positive or of all
        negative elements.
        """
        roundings = max(1, self._extent - 1)
        bounded_sum, overflows = self._magnitude_bounds(result_planes, "worst", magnitude)
        result_planes["worst"] += roundings * self._unit * bounded_sum
        result_planes["worst"] = np.where(overflows, np.inf, result_planes["worst"])
        bounded_sum, overflows = self._magnitude_bounds(result_planes, "near", magnitude)
        partial = np.maximum(
            self._along(np.add, np.maximum(exact, 0)), self._along(np.add, np.maximum(-exact, 0))
        )
        reach = np.where(np.isfinite(magnitude), magnitude, 0.0)
        partial = np.where(np.isfinite(partial), partial, 0.0) + (bounded_sum - reach)
        repeated = self._along(np.add, repetition(exact, self._axis + 1))
        fresh = np.sqrt(np.minimum(repeated, roundings**2)) * self._unit * partial
        result_planes["near"] += self._roundings.deviations * fresh
        result_planes["near"] = np.where(overflows, np.inf, result_planes["near"])
        parts = [(result_planes["own"], own_span), (fresh, self._roundings.birth())]
        result_planes["own"], own_span = combined_scale(parts)
        if self._is_scan:  # an early error is in all later sums
            common_span = shared_in_place(result_planes, own_span, common_span)
            own_span = None
        tighten_near(result_planes, own_span, common_span, self._roundings)
        return own_span, common_span


class _Extreme(_Combination):
    """The rule of a float maximum or minimum: as far off as any element that may be extreme."""

    def __init__(self, op: Op, type_: ValueType, roundings: Roundings, function: Any) -> None:
        super().__init__(op, type_, roundings)
        self._function = function

    def __call__(self, source: Any, value: Array) -> Any:
        if not isinstance(source, NumberWithPlanes):
            return value
        numbers, planes, _, _ = self._centers(source)
        result_planes, lost = self._new_planes(self._along(self._function, numbers), value)
        sign = 1.0 if self._function in _LARGER else -1.0
        for plane in self._roundings.distances:
            radii = np.broadcast_to(planes[plane], numbers.shape)
            result_planes[plane] = np.where(lost, np.inf, self._error_bound(sign * numbers, radii))
        if self._roundings.all_count:
            result_planes["bias"] = result_planes["near"]
        return self._roundings.with_planes(value, result_planes)

    def _error_bound(self, numbers: Array, radii: Array) -> Array:
        """Return the largest distance of a device's maximum from the maximum here."""
        largest = self._along(np.fmax, numbers)
        with np.errstate(all="ignore"):
            above = self._along(np.fmax, numbers + radii) - largest
            below = largest - self._along(np.fmax, numbers - radii)
        error = np.maximum(above, below)
        uncertain = self._along(np.fmax, radii) > 0
        error = np.where(np.isnan(error), np.where(uncertain, np.inf, 0), error)
        # An uncertain NaN, or an element without a bound, may be the largest.
        is_unbounded = np.isnan(numbers) & (radii > 0) | np.isinf(radii)
        has_no_bound = self._along(np.logical_or, is_unbounded)
        return np.where(has_no_bound, np.inf, error)


class _Product(_Combination):
    """The rule of a product of floats: relative errors of factors and roundings multiply."""

    def __call__(self, source: Any, value: Array) -> Any:
        numbers, planes, _, _ = self._centers(source)
        result_planes, lost = self._new_planes(self._along(np.multiply, numbers), value)
        if not self._roundings.bounded:
            return self._roundings.with_planes(value, result_planes)
        sizes = np.abs(numbers)
        largest, smallest = largest_of(self._element), smallest_of(self._element.name)
        # A partial product may be too large for the type, or too small.
        overflows = self._along(np.multiply, np.fmax(sizes, 1.0)) > largest
        below = self._along(np.multiply, np.where(sizes > 0, np.fmin(sizes, 1.0), 1.0)) < smallest
        lost = lost | (overflows | below) & np.isfinite(self._along(np.add, sizes))
        for plane in self._roundings.distances:
            unit = 2.0**-53 if plane == "meaning" else unit_of(self._element.name)
            radii = np.broadcast_to(planes[plane], sizes.shape)
            result_planes[plane] = np.where(lost, np.inf, self._error_bound(sizes, radii, unit))
        if self._roundings.all_count:
            result_planes["bias"] = result_planes["near"]
        return self._roundings.with_planes(value, result_planes)

    def _error_bound(self, sizes: Array, radii: Array, unit: float) -> Array:
        """Return a bound of the product's error, over the device's and the evaluator's order."""
        with np.errstate(all="ignore"):
            relative = np.log1p(np.where(radii > 0, radii / sizes, 0.0))
            exponent = self._along(np.add, relative) + 2 * self._extent * math.log1p(unit)
            error = self._along(np.multiply, sizes) * np.expm1(exponent)
        return np.where(np.isnan(error), np.inf, error)


class _IntegerCombination(_Combination):
    """The rule of a reduction or scan of integers or Booleans, which are not rounded."""

    def __init__(self, op: Op, type_: ValueType, roundings: Roundings, function: Any) -> None:
        super().__init__(op, type_, roundings)
        self._function = function

    def __call__(self, source: Any, value: Array) -> Any:
        if not isinstance(source, NumberWithPlanes) or not self._roundings.bounded:
            return value
        _, planes, _, _ = self._centers(source)
        result_planes, _ = self._new_planes(value.astype(np.float64), value)
        for plane in self._roundings.distances:
            radii = planes[plane]
            if self._roundings.all_count:
                radii = radii + np.abs(planes["off"])
            result_planes[plane] = self._error_bound(radii)
        if self._roundings.all_count:
            result_planes["bias"] = result_planes["near"]
        return self._roundings.with_planes(value, result_planes)

    def _error_bound(self, radii: Array) -> Array:
        if self._function is np.add:
            return self._along(np.add, radii)
        widest = self._along(np.maximum, radii)
        return widest if self._function in _EXTREMES else np.where(widest > 0, np.inf, 0.0)
