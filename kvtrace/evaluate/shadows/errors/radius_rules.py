"""Rules of radii for elementwise ops: bounds of a device's distance from the evaluator's numbers.

A rule takes the operands' numbers (arrays), their radii (None: 0) and the result, and returns the
result's radius, or None if a device computes the same number. The radius of a sum of integers is
the sum of the radii; of a float function, the distance to the ends of its image (`images.py`),
rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

import numpy as np

from kvtrace.evaluate.accuracy import Accuracy
from kvtrace.evaluate.compiler import TYPED, array_function
from kvtrace.evaluate.dialects.arith_casts import float_to_unsigned
from kvtrace.evaluate.dialects.libdevice import accuracy_of, library_function
from kvtrace.evaluate.registry import ELEMENTWISE, Elementwise
from kvtrace.evaluate.rounding import rounding_to
from kvtrace.evaluate.shadows.errors.images import image, radius_around, widened
from kvtrace.evaluate.types import ElementType, value_type
from kvtrace.evaluate.values import Array, with_rank
from kvtrace.ir import Op, Value
from kvtrace.ir.flow import flow_of
from kvtrace.ir.model import Module, attribute
from kvtrace.ir.ops import COMBINING, DIVIDING, MOVING, operator_of

Radius = Array | None
Rule = Callable[[Sequence[Array], Sequence[Radius], Array], Radius]

_SUMS: Final = frozenset({"+", "-"})
_PASSING_ON: Final = frozenset({"negate"})


def rule_of(op: Op, module: Module) -> Rule:
    """Return the rule of an elementwise op with one result."""
    result = value_type(op.results[0].type).element
    operator = operator_of(op)
    if operator == "where":
        return _select_radius
    if operator == "compare":
        return _comparison_radius
    if operator in ("&", "|", "^") and result.kind == "b":
        return _LOGICAL[operator]
    floats = [value_type(value.type).element.kind == "f" for value in op.operands]
    meaning = meaning_of(op)
    if meaning is not None and any(floats) and result.kind != "b":
        return _float_rule(op, meaning, result, contracted=contracts(op, module))
    if operator == "cast" and result.kind == "f" and meaning is not None:
        return _float_rule(op, meaning, result, contracted=False)
    if approximates(op):
        return _always_infinite
    if result.kind == "i":
        return _INTEGERS.get(
            operator, _integer_cast_rule(result) if operator == "cast" else _infinite_if_uncertain
        )
    return _infinite_if_uncertain


def approximates(op: Op) -> bool:
    """Return whether an op with its own code (assembly, a map) may approximate unboundedly."""
    if operator_of(op) == "inline_asm":
        return "approx" in str(attribute(op, "asm_string"))
    return operator_of(op) == "map" and any(
        value_type(value.type).element.kind == "f" for value in op.results
    )


def meaning_of(op: Op) -> Elementwise | None:
    """Return an elementwise op's array function; None for an unknown library function."""
    if operator_of(op) != "extern":
        return ELEMENTWISE.get(op.name)
    symbol = str(attribute(op, "symbol"))
    function = library_function(symbol)
    return None if function is None else Elementwise(function, 1, (), accuracy_of(symbol))


def undefined_by(op: Op) -> Callable[[Sequence[Array]], Array] | None:
    """Return a function from operands to a mask of undefined results; None if all are defined."""
    if len(op.results) != 1 or value_type(op.results[0].type).element.kind != "i":
        return None
    result = value_type(op.results[0].type).element
    operator = operator_of(op)
    if op.name in DIVIDING:
        return lambda operands: np.asarray(operands[1]) == 0
    if operator in ("<<", ">>"):
        return lambda operands: (
            (np.asarray(operands[1]) < 0) | (np.asarray(operands[1]) >= result.bits)
        )
    if op.name in TYPED and value_type(op.operands[0].type).element.kind == "f":
        low, high = (
            (0.0, 2.0**result.bits)
            if _gives_unsigned(op)
            else (-(2.0 ** (result.bits - 1)), 2.0 ** (result.bits - 1))
        )
        return lambda operands: ~_lies_in(np.trunc(operands[0].astype(np.float64)), low, high)
    return None


def _gives_unsigned(op: Op) -> bool:
    return ELEMENTWISE[op.name].function is float_to_unsigned


def _lies_in(array: Array, low: float, high: float) -> Array:
    return np.asarray((array >= low) & (array < high))


# -- floats ---------------------------------------------------------------------------------------


def _float_rule(op: Op, meaning: Elementwise, result: ElementType, *, contracted: bool) -> Rule:
    """Return the rule of a float function: the image, widened by the accuracy, and rounded."""
    exact = exact_function(op, meaning)
    rounded = _rounded(op, meaning, result)
    accuracy: Accuracy = meaning.accuracy
    is_accurate = accuracy.ulps == 0

    def radius(operands: Sequence[Array], radii: Sequence[Radius], value: Array) -> Radius:
        radii = [_at_most_one(radius, array) for radius, array in zip(radii, operands, strict=True)]
        certain = all(operand_radius is None for operand_radius in radii)
        if is_accurate and certain and not contracted:
            return None
        arrays = [array.astype(np.float64) for array in operands]
        low, high = image(exact, arrays, radii, accuracy)
        unrounded = None
        if contracted:
            unrounded = np.abs(exact(*arrays) - value) + _unit(result) * np.abs(value)
            unrounded = np.where(np.isfinite(unrounded), unrounded, 0.0)
        if is_accurate and certain:
            return unrounded
        low, high = widened(low, high, accuracy, arrays, result)
        doubts = [operand_radius > 0 for operand_radius in radii if operand_radius is not None]
        loose = np.asarray(reduce(np.logical_or, doubts)) if doubts else None
        distance = radius_around(value, rounded(low), rounded(high), loose)
        return distance if unrounded is None else distance + unrounded

    return radius


def _at_most_one(radius: Radius, array: Array) -> Radius:
    """Return a radius, limited to 1 for Booleans, whose other value is 1 away."""
    return radius if radius is None or array.dtype != np.bool_ else np.minimum(radius, 1.0)


def _unit(element: ElementType) -> float:
    """Return the relative error of a float64 product in this module; 0 for narrower types."""
    return 2.0**-53 if element.bits == 64 else 0.0


def exact_function(op: Op, meaning: Elementwise) -> Callable[..., Array]:
    """Return an op's function of float64 arrays, before any rounding."""
    if op.name in TYPED:
        return lambda array: array  # a conversion keeps the number
    if operator_of(op) == "fma":
        return lambda left, right, added: np.asarray(left * right + added)
    extra = [attribute(op, name) for name in meaning.attributes]
    return lambda *arrays: np.asarray(meaning.function(*extra, *arrays))


def _rounded(op: Op, meaning: Elementwise, result: ElementType) -> Callable[[Array], Array]:
    """Return a function that rounds float64 numbers to the result's type and back to float64."""
    if op.name in TYPED and value_type(op.operands[0].type).element.kind == "f":
        extra = [attribute(op, name) for name in meaning.attributes]
        convert = array_function(op, meaning, value_type(op.results[0].type), extra)
        return lambda array: np.where(
            np.isnan(array), np.nan, convert(np.asarray(array)).astype(np.float64)
        )
    narrow = rounding_to(result)

    def to_type(array: Array) -> Array:
        typed = array.astype(result.value)
        return (typed if narrow is None else narrow(typed)).astype(np.float64)

    return to_type


def contracts(op: Op, module: Module) -> bool:
    """Return whether an op is a product that a device may fuse with a sum that uses it."""
    if operator_of(op) != "*":
        return False
    flow = flow_of(module)
    pending: list[Value] = list(op.results)
    visited: set[int] = set()
    while pending:
        value = pending.pop()
        if value.id in visited:
            continue
        visited.add(value.id)
        for user in flow.uses(value):
            if operator_of(user) in _SUMS or user.name in COMBINING:
                return True
            if user.name in MOVING or operator_of(user) in _PASSING_ON:
                pending += user.results
    return False


# -- selects, comparisons and logic ---------------------------------------------------------------


def _select_radius(operands: Sequence[Array], radii: Sequence[Radius], value: Array) -> Radius:
    if all(radius is None for radius in radii):
        return None
    condition, if_true, if_false = operands
    doubt, *radii_of_options = radii
    rank = np.ndim(value)
    selects_first = with_rank(np.asarray(condition, np.bool_), rank)
    first_radius, second_radius = (
        np.zeros((1,) * rank) if radius is None else radius for radius in radii_of_options
    )
    radius: Array = np.where(selects_first, first_radius, second_radius)
    if doubt is None:
        return radius
    doubt = with_rank(doubt, rank)
    left, right = (np.asarray(option, np.float64) for option in (if_true, if_false))
    distance = np.where(left == right, 0.0, np.abs(left - right))  # 0 for equal infinities
    distance = distance + np.maximum(first_radius, second_radius)
    distance = np.where(np.isnan(distance), np.inf, distance)
    return np.where(doubt > 0, np.maximum(radius, distance), radius)


def _comparison_radius(operands: Sequence[Array], radii: Sequence[Radius], _value: Array) -> Radius:
    """Return infinity where numbers within their radii may compare differently, else 0."""
    left, right = (np.asarray(operand, np.float64) for operand in operands)
    reach = sum(np.asarray(radius) for radius in radii if radius is not None)
    may_differ = ~(np.abs(left - right) > reach) & (reach > 0)
    are_equal_infinities = (left == right) & np.isinf(left)
    stays_nan = (np.isnan(left) | np.isnan(right)) & ~np.isinf(reach)
    return np.where(may_differ & ~are_equal_infinities & ~stays_nan, np.inf, 0.0)


def _and_radius(operands: Sequence[Array], radii: Sequence[Radius], _value: Array) -> Radius:
    return _logical_radius(operands, radii, deciding_value=False)


def _or_radius(operands: Sequence[Array], radii: Sequence[Radius], _value: Array) -> Radius:
    return _logical_radius(operands, radii, deciding_value=True)


def _logical_radius(
    operands: Sequence[Array], radii: Sequence[Radius], *, deciding_value: bool
) -> Radius:
    """Return infinity where no certain operand is `deciding_value` but one is uncertain."""
    doubts = [None if radius is None else radius > 0 for radius in radii]
    open_lanes: Array = np.zeros((1,) * max(np.ndim(operand) for operand in operands), np.bool_)
    for position, other_position in ((0, 1), (1, 0)):
        doubt, other_doubt = doubts[position], doubts[other_position]
        if doubt is None:
            continue
        is_decided = np.asarray(operands[other_position]) == deciding_value
        if other_doubt is not None:
            is_decided = is_decided & ~other_doubt
        open_lanes = open_lanes | (doubt & ~is_decided)
    return np.where(open_lanes, np.inf, 0.0)


def _infinite_if_uncertain(
    _operands: Sequence[Array], radii: Sequence[Radius], _value: Array
) -> Radius:
    results = [np.where(radius > 0, np.inf, 0.0) for radius in radii if radius is not None]
    return reduce(np.maximum, results) if results else None


def _always_infinite(_operands: Sequence[Array], _radii: Sequence[Radius], value: Array) -> Radius:
    return np.full((1,) * np.ndim(value), np.inf)


# -- integers -------------------------------------------------------------------------------------


def _sum_of_radii(_operands: Sequence[Array], radii: Sequence[Radius], _value: Array) -> Radius:
    return np.asarray(sum(radius for radius in radii if radius is not None))


def _largest_radius(_operands: Sequence[Array], radii: Sequence[Radius], _value: Array) -> Radius:
    return np.asarray(reduce(np.maximum, (radius for radius in radii if radius is not None)))


def _product_radius(operands: Sequence[Array], radii: Sequence[Radius], _value: Array) -> Radius:
    left, right = (np.abs(np.asarray(array, np.float64)) for array in operands)
    left_radius, right_radius = (np.zeros(1) if array is None else array for array in radii)
    product_radius = left * right_radius + right * left_radius + left_radius * right_radius
    return np.where(np.isnan(product_radius), np.inf, product_radius)


def _integer_cast_rule(element: ElementType) -> Rule:
    limit = 2.0 ** (element.bits - 1)

    def cut_radius(operands: Sequence[Array], radii: Sequence[Radius], value: Array) -> Radius:
        radius = _at_most_one(radii[0], operands[0])
        if radius is None:
            return None
        may_wrap = np.abs(value.astype(np.float64)) + radius >= limit
        return np.where(may_wrap & (radius > 0), np.inf, radius)

    return cut_radius


_LOGICAL: Final[dict[str, Rule]] = {"&": _and_radius, "|": _or_radius, "^": _infinite_if_uncertain}
_INTEGERS: Final[dict[str, Rule]] = {
    "+": _sum_of_radii, "-": _sum_of_radii, "*": _product_radius, "min": _largest_radius,
    "max": _largest_radius,
}  # fmt: skip

__all__ = ["Radius", "Rule", "contracts", "exact_function", "meaning_of", "rule_of"]
