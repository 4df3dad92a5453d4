"""Errors of elementwise ops: each element of the result from the same element of the operands.

Where all roundings count, a float function has a rule (`FloatRule`) that also follows random
errors. All other ops follow the rules of `radius_rules.py`, one distance at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct

from kvtrace.evaluate.accuracy import Accuracy
from kvtrace.evaluate.compiler import TYPED, slots_of
from kvtrace.evaluate.registry import Elementwise
from kvtrace.evaluate.shadows.errors.images import approximation, are_same, image, radius_around
from kvtrace.evaluate.shadows.errors.planes import (
    PLANES,
    NumberWithPlanes,
    Span,
    are_apart,
    combined_scale,
    exact_from,
    hull,
    offset_from,
)
from kvtrace.evaluate.shadows.errors.radius_rules import exact_function, meaning_of, rule_of
from kvtrace.evaluate.shadows.errors.roundings import (
    FLOAT32,
    RepetitionDetector,
    Roundings,
    largest_of,
    rounding,
    saturates,
    tighten_near,
)
from kvtrace.evaluate.types import ElementType, ValueType, element_of, value_type
from kvtrace.evaluate.values import Array, actual, to_array, with_rank
from kvtrace.ir import Op
from kvtrace.ir.model import Module, attribute
from kvtrace.ir.ops import operator_of

#: Float64's own rounding, and that of NumPy's functions.
_OWN_LOSS: Final = 2.0**-51
_TOWARD_ZERO: Final = (0, "rtz")
_DIRECTED: Final = ("_rz", "_ru", "_rd")  # of libdevice's functions that round in one direction
#: If none of so many numbers is rounded, that is no coincidence.
_MANY: Final = 64
#: Planes of a result by name, some as one number for all elements.
Planes = dict[str, Any]


class _Operand(Struct, frozen=True):
    """An operand of an elementwise op: exact numbers, planes (None if certain), and spans."""

    exact: Array
    planes: Array | None
    own_span: Span
    common_span: Span

    def radius(self, plane: str) -> Array | None:
        """Return the operand's bound in a plane; None if the operand is certain."""
        return None if self.planes is None else self.planes[plane]


def _operand(value: Any, type_: ValueType) -> _Operand:
    array = to_array(actual(value), type_)
    if type_.element.kind == "f":
        array = array.astype(np.float64)
    if not isinstance(value, NumberWithPlanes):
        return _Operand(array, None, None, None)
    planes = value.shadow
    exact = exact_from(array, planes["off"])
    return _Operand(exact, planes, value.own_span, value.common_span)


class FloatRule:
    """The rule of a float function: errors of the operands pass through it, and it rounds once."""

    def __init__(self, op: Op, meaning: Elementwise, roundings: Roundings) -> None:
        self._roundings = roundings
        self._accuracy: Accuracy = meaning.accuracy
        self._element = value_type(op.results[0].type).element
        self._types = [value_type(value.type) for value in op.operands]
        self._counted = FLOAT32 if op.index in roundings.narrow else self._element.name
        self._narrowed = op.index in roundings.narrow
        exact = exact_function(op, meaning)
        self._takes_integers = any(type_.element.kind != "f" for type_ in self._types)
        if op.name in TYPED and self._takes_integers:
            convert, wide = meaning.function, element_of("f64")
            exact = lambda array: np.asarray(convert(array, wide))  # noqa: E731
        # x·x is a function of one number: both factors err alike.
        slots = slots_of(op.operands)
        self._is_square = len(slots) == 2 and slots[0] == slots[1]
        self._exact: Callable[..., Array] = (lambda x: exact(x, x)) if self._is_square else exact
        self._repeats = (
            (RepetitionDetector(), RepetitionDetector()) if operator_of(op) == "+" else ()
        )
        self._one_sided = op.name in TYPED and attribute(op, "rounding") in _TOWARD_ZERO
        self._is_external = operator_of(op) == "extern" and not meaning.accuracy.ulps
        self._one_sided |= str(attribute(op, "symbol", "")).endswith(_DIRECTED)

    def __call__(self, values: Sequence[Any], value: Array) -> Any:
        r"""Return the result with planes; None where every device computes the exact result.

        Args:
            values: the operands, with their planes.
            value: the evaluator's result.
        """
        pairs = list(zip(values, self._types, strict=True))
        if any(
            isinstance(item, NumberWithPlanes) and type_.element.kind != "f"
            for item, type_ in pairs
        ):
            return NumberWithPlanes(value, self._roundings.unbounded(np.ones((1,) * value.ndim)))
        operands = [_operand(item, type_) for item, type_ in pairs]
        if self._is_square:
            operands = operands[:1]
        exact = np.asarray(self._exact(*(operand.exact for operand in operands)), np.float64)
        if saturates(self._element):
            largest = largest_of(self._element)
            exact = np.clip(exact, -largest, largest)
        certain = all(operand.planes is None for operand in operands)
        if self._is_external and certain:
            # Functions that look at bits, as nextafter, give other numbers in float64.
            typed = value.astype(np.float64)
            reach = (1 + self._one_sided) * rounding(self._element.name, np.abs(typed))
            is_near = np.abs(exact - typed) <= reach
            exact = np.where(is_near, exact, typed)
        if not self._roundings.bounded:
            off, _ = offset_from(exact, value)
            offsets = np.zeros(off.shape, PLANES)
            offsets["off"] = off
            return NumberWithPlanes(value, offsets) if np.any(off) else None
        is_rounded = self._is_rounded(values, value, exact, operands)
        if certain and not np.any(is_rounded):
            return None
        off, lost = offset_from(exact, value)
        shape = np.broadcast_shapes(off.shape, *(operand.exact.shape for operand in operands))
        # Each plane apart, as arithmetic with fields of records takes ten times as long.
        planes: Planes = dict.fromkeys(PLANES.names or (), 0.0) | {"off": off}
        self._set_distances(planes, operands, exact)
        spans = self._set_random_parts(planes, operands, exact, shape)
        span = self._add_rounding(planes, exact, operands, is_rounded, *spans)
        joined = np.empty(shape, PLANES)
        for plane, values in planes.items():
            joined[plane] = values
        if lost.any():
            for plane in ("worst", "near", "bias"):
                joined[plane] = np.where(lost, np.inf, joined[plane])
        return NumberWithPlanes(value, joined, span, spans[1], self._narrowed)

    def _is_rounded(
        self, values: Sequence[Any], value: Array, exact: Array, operands: Sequence[_Operand]
    ) -> Array:
        """Return a mask of the results that a device rounds.

        Results of certain operands are rounded as by the evaluator, unless the function is
        approximate. If no element of many numbers is rounded here, the function keeps the type's
        numbers, as a product with a power of two does.
        """
        if self._accuracy.ulps:
            return np.ones((1,) * value.ndim, np.bool_)
        if all(operand.planes is None for operand in operands):
            return np.asarray(~are_same(exact, value))
        plain = [
            _operand(actual(item), type_).exact
            for item, type_ in zip(values, self._types, strict=True)
        ]
        unrounded = np.asarray(self._exact(*(plain[:1] if self._is_square else plain)))
        moved = ~are_same(unrounded, value)
        distinct_count = np.count_nonzero(value != value.reshape(-1)[:1])
        return np.asarray(moved.any() or distinct_count < _MANY)

    # -- errors of operands -----------------------------------------------------------------------

    def _largest_move(
        self, operands: Sequence[_Operand], radii: Sequence[Array | None], exact: Array
    ) -> Array | float:
        """Return the largest move of the result while the operands move within radii."""
        if all(radius is None for radius in radii):
            return 0.0
        arrays = [operand.exact for operand in operands]
        low, high = image(self._exact, arrays, radii, self._accuracy)
        doubts = [radius > 0 for radius in radii if radius is not None]
        loose = np.logical_or.reduce(np.broadcast_arrays(*doubts))
        return radius_around(exact, low, high, loose)

    def _set_distances(self, planes: Planes, operands: Sequence[_Operand], exact: Array) -> None:
        for plane in ("worst", "meaning"):
            planes[plane] = self._move_within(plane, operands, exact)
        # Up to the first sum of random errors they are the same, and so are their images.
        planes["near"] = (
            planes["worst"]
            if all(
                np.array_equal(operand.planes["near"], operand.planes["worst"])
                for operand in operands
                if operand.planes is not None
            )
            else self._move_within("near", operands, exact)
        )

    def _move_within(self, plane: str, operands: Sequence[_Operand], exact: Array) -> Array | float:
        return self._largest_move(operands, [operand.radius(plane) for operand in operands], exact)

    def _set_random_parts(
        self, planes: Planes, operands: Sequence[_Operand], exact: Array, shape: tuple[int, ...]
    ) -> tuple[Span, Span]:
        """Set bias and scales by the result's move with each operand; return both spans."""
        own_parts: list[tuple[Array | float, Span]] = []
        common_parts: list[tuple[Array | float, Span]] = []
        bias: Array | float = 0.0
        moved_by_one: Array | float = 0.0
        is_only_one = sum(operand.planes is not None for operand in operands) == 1
        for position, operand in enumerate(operands):
            if operand.planes is None:
                continue
            reach = operand.planes["near"]
            radii = [reach if index == position else None for index in range(len(operands))]
            moved = planes["near"] if is_only_one else self._largest_move(operands, radii, exact)
            slope = np.where(reach > 0, moved / np.where(reach > 0, reach, 1.0), 0.0)
            open_ = ~np.isfinite(slope)
            slope = np.where(open_, 0.0, slope)
            bias = bias + np.where(open_, np.inf, slope * operand.planes["bias"])
            moved_by_one = moved_by_one + np.where(open_, 0.0, moved)
            repeated = reach.shape[1:] != shape[1:]
            entangled = any(not are_apart(operand.own_span, span) for _, span in own_parts)
            (common_parts if repeated or entangled else own_parts).append(
                (slope * operand.planes["own"], operand.own_span)
            )
            common_parts.append((slope * operand.planes["common"], operand.common_span))
        # The rest is moved by several operands together, and of second order.
        unexplained = planes["near"] - moved_by_one
        planes["bias"] = bias + np.where(unexplained > 0, unexplained, 0.0)
        planes["own"], own_span = combined_scale(own_parts)
        planes["common"], common_span = combined_scale(common_parts)
        return own_span, common_span

    # -- the rounding -----------------------------------------------------------------------------

    def _add_rounding(
        self,
        planes: Planes,
        exact: Array,
        operands: Sequence[_Operand],
        is_rounded: Array,
        own_span: Span,
        common_span: Span,
    ) -> Span:
        """Add the op's own rounding to planes; return the span of the own random errors."""
        pairs = zip(self._repeats, operands, strict=False)
        size = np.where(np.isfinite(exact), np.abs(exact), 0.0)
        planes["meaning"] = planes["meaning"] + np.where(is_rounded, _OWN_LOSS * size, 0.0)
        if self._element.bits == 64:  # exact numbers here are rounded as well
            floats = [operand.exact for operand in operands if operand.exact.dtype == np.float64]
            inside = sum((np.abs(array) for array in floats), size)
            if len(floats) > 1:
                inside = inside + np.abs(floats[0] * floats[1])
            float64_loss = _OWN_LOSS * np.where(np.isfinite(inside), inside, 0.0)
            for plane in ("worst", "near", "bias"):
                planes[plane] = planes[plane] + np.where(is_rounded, float64_loss, 0.0)
        fresh: dict[str, Array] = {}
        for plane in ("worst", "near"):
            reach = size + np.where(np.isfinite(planes[plane]), planes[plane], 0.0)
            arrays = [operand.exact for operand in operands]
            approximate = approximation(self._accuracy, arrays, self._element, reach)
            rounded = np.where(is_rounded, rounding(self._counted, reach + approximate), 0.0)
            if self._one_sided:
                approximate, rounded = approximate + 2 * rounded, np.zeros_like(rounded)
            planes[plane] = planes[plane] + (approximate + rounded)
            fresh[plane] = rounded
            if plane == "near":
                planes["bias"] = planes["bias"] + approximate
            if not saturates(self._element):
                overflows = np.isfinite(exact) & (reach > largest_of(self._element))
                planes[plane] = np.where(overflows, np.inf, planes[plane])
        # A number that is added again rounds as before: not independently.
        repeats_last = [repeats.again(operand.exact) for repeats, operand in pairs]
        birth = None if any(repeats_last) else self._roundings.birth()
        scale, span = combined_scale([(planes["own"], own_span), (fresh["near"], birth)])
        planes["own"] = scale
        tighten_near(planes, span, common_span, self._roundings)
        return span


# -- integers, Booleans and selects ---------------------------------------------------------------


class RadiusRule:
    """The rule that computes each distance separately, from the operands' radii.

    If only a device's choices count, all ops have it. If all roundings count, ops with integer or
    Boolean results, and selects.
    """

    def __init__(self, op: Op, module: Module, roundings: Roundings) -> None:
        self._roundings = roundings
        self._rule = rule_of(op, module)
        self._types = [value_type(value.type) for value in op.operands]
        self._chooses = operator_of(op) == "where"

    def __call__(self, operands: Sequence[Any], value: Array) -> Any:
        """Return the result with planes; None if the result is certain."""
        all_count = self._roundings.all_count
        if all_count and not any(isinstance(operand, NumberWithPlanes) for operand in operands):
            return None
        arrays = [
            to_array(actual(operand), type_)
            for operand, type_ in zip(operands, self._types, strict=True)
        ]
        if not self._roundings.bounded:
            return self._with_selected_offset(operands, arrays[0], value) if self._chooses else None
        distances: dict[str, Array] = {}
        for plane in self._roundings.distances:
            radii = [self._radius(operand, plane) for operand in operands]
            radius = self._rule(arrays, radii, value)
            if radius is not None:
                distances[plane] = np.asarray(radius)
        if not distances:
            return None
        shape = np.broadcast_shapes(value.shape, *(radius.shape for radius in distances.values()))
        planes = self._roundings.zeros(shape)
        for plane, radius in distances.items():
            planes[plane] = radius
        if not all_count:
            return self._roundings.with_planes(value, planes)
        planes["bias"] = planes["near"]
        return (
            self._with_selected_planes(operands, value, planes)
            if self._chooses
            else NumberWithPlanes(value, planes)
        )

    def _radius(self, value: Any, plane: str) -> Array | None:
        """Return an operand's largest distance from the evaluator's; None if it is certain."""
        if not isinstance(value, NumberWithPlanes):
            return None
        radius = value.shadow[plane]
        return radius + np.abs(value.shadow["off"]) if self._roundings.all_count else radius

    def _with_selected_offset(
        self, operands: Sequence[Any], selects_first: Array, value: Array
    ) -> NumberWithPlanes:
        """Return a select's result with the exact number of the selected operand."""
        _, first, second = map(NumberWithPlanes.shadow_of, operands, self._types)
        off = np.where(with_rank(selects_first, first.ndim), first["off"], second["off"])
        planes = np.zeros(off.shape, PLANES)
        planes["off"] = off
        return NumberWithPlanes(value, planes)

    def _with_selected_planes(
        self, operands: Sequence[Any], value: Array, planes: Array
    ) -> NumberWithPlanes:
        """Return a select's result; where the condition is certain, with the operand's planes."""
        selects_first = np.asarray(to_array(actual(operands[0]), self._types[0]), np.bool_)
        condition_planes, *option_planes = map(NumberWithPlanes.shadow_of, operands, self._types)
        selects_first = with_rank(selects_first, planes.ndim)
        condition_planes = with_rank(condition_planes, planes.ndim)
        repeated = [side.shape[1:] != planes.shape[1:] for side in option_planes]
        spans = [option for option in operands[1:] if isinstance(option, NumberWithPlanes)]
        is_certain_choice = np.broadcast_to(condition_planes["near"] == 0, planes.shape)
        selected = {
            plane: np.where(selects_first, option_planes[0][plane], option_planes[1][plane])
            for plane in PLANES.names or ()
        }
        for plane in ("off", "bias", "own", "common"):
            planes[plane] = np.where(is_certain_choice, selected[plane], planes[plane])
        is_certain = {}
        for plane in ("worst", "meaning", "near"):  # the rule counted `off` in, which is known
            certain = condition_planes[plane] == 0
            planes[plane] = np.where(certain, selected[plane], planes[plane])
            is_certain[plane] = certain
        # A device may choose the other side; in exact arithmetic the side is known.
        off = np.where(~is_certain_choice & is_certain["meaning"], selected["off"], 0.0)
        planes["off"] += off
        for plane in ("worst", "near", "bias"):
            planes[plane] += np.abs(off)
        own_span, common_span = _spans(spans)
        narrowed = any(flag.narrowed for flag in spans)
        result = NumberWithPlanes(value, planes, own_span, common_span, narrowed)
        return result.shared() if any(repeated) else result


def _spans(values: Sequence[NumberWithPlanes]) -> tuple[Span, Span]:
    return hull(value.own_span for value in values), hull(value.common_span for value in values)


def elementwise_rule(op: Op, module: Module, roundings: Roundings) -> FloatRule | RadiusRule:
    """Return the rule of an elementwise op with one result, for these roundings."""
    meaning = meaning_of(op)
    result: ElementType = value_type(op.results[0].type).element
    is_function = result.kind == "f" and meaning is not None and operator_of(op) != "where"
    if roundings.all_count and is_function:
        assert meaning is not None
        return FloatRule(op, meaning, roundings)
    return RadiusRule(op, module, roundings)
