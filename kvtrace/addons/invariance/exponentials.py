"""Exponentials in a finite field, by the laws that real numbers obey.

An exponential of a sum is a product: `exp(2 * a - b)` is `E(a)**2 / E(b)`, where `E` is a random
function, so that `exp(a - b)` and `exp(a) / exp(b)` are equal. A base of 2 is a factor of the
exponent, and so is a type's nearest constant to `log2(e)` or its inverse. A constant of few digits
is the decimal that was rounded, so that 0.9 is `1 - 0.1`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Final

import numpy as np

from kvtrace.addons.invariance.numbers import (
    INFINITY,
    MINUS_INFINITY,
    NAN,
    PRIME,
    Numbers,
    chosen,
    constant,
    difference_of,
    inverse,
    mixed,
    power,
    product_of,
    sum_of,
)
from kvtrace.addons.invariance.trees import constant_of, function_of
from kvtrace.ir.floats import float_from_bits
from kvtrace.symbolic.trees.tree import Tree, operator_of

#: log2(e) and its inverse, by the bits of the nearest number of a type.
_LOG2_E: Final = {("f32", 0x3FB8AA3B), ("f64", 0x3FF71547652B82FE)}
_LN_2: Final = {("f32", 0x3F317218), ("f64", 0x3FE62E42FEFA39EF)}
_SIGNS: Final = {"f32": 1 << 31, "f64": 1 << 63}
LOG2_E: Final = 1_618_033_988
"""The number in place of log2(e)."""
LN_2: Final = pow(LOG2_E, -1, PRIME)
#: sqrt(2) is the inverse of its inverse.
_ROOT_OF_2: Final = {
    ("f32", 0x3FB504F3): 0x3F3504F3,
    ("f64", 0x3FF6A09E667F3BCD): 0x3FE6A09E667F3BCD,
}
_MOST_INVERSE: Final = 1 << 16
_MOST_SUMMANDS: Final = 24
_MOST_POWER: Final = 8
_ZERO: Final = np.uint64(0)

_Factors = tuple[Tree, ...]
_Summand = tuple[int, _Factors]
"""A product: its constant factor in the field, and its other factors."""


@lru_cache(maxsize=1024)
def source_constant(kind: str, bits: int) -> int | None:
    """Return the exact number of the field that a source constant was rounded from.

    A decimal of few digits, log2(e) or its inverse; None for any other constant.
    """
    sign = _SIGNS.get(kind)
    if sign is None:
        return None
    for constants, number in ((_LOG2_E, LOG2_E), (_LN_2, LN_2)):
        if (kind, bits) in constants:
            return number
        if (kind, bits ^ sign) in constants:
            return PRIME - number
    if (kind, bits) in _ROOT_OF_2:
        return pow(constant(kind, _ROOT_OF_2[kind, bits]) or 1, -1, PRIME)
    value = float_from_bits(bits, kind)
    if not np.isfinite(value) or value == 0:
        return None
    rounded, most_digits = (np.float32(value), 6) if kind == "f32" else (np.float64(value), 15)
    whole = round(1 / value) if abs(value) * _MOST_INVERSE >= 1 else 0
    if whole and type(rounded)(1 / whole) == rounded:
        return pow(whole, -1, PRIME)
    text = np.format_float_scientific(rounded, unique=True, trim="-")
    if sum(map(str.isdigit, text.partition("e")[0])) > most_digits:
        return None
    fraction = Fraction(text)
    return fraction.numerator * pow(fraction.denominator, -1, PRIME) % PRIME


def unrounded_constant(kind: str, bits: int) -> int | None:
    """Return a constant as a number of the field, as it was in the source; None as `constant`."""
    source = source_constant(kind, bits)
    return constant(kind, bits) if source is None else source


class Exponentials:
    """Evaluator of exponentials in the field for one random memory; `of` evaluates other nodes."""

    def __init__(self, of: Callable[[Tree], Numbers], seed: int) -> None:
        self._of = of
        self._seed = seed

    def value(self, node: Tree) -> Numbers | None:
        """Return the value of an exponential or tanh by its laws; None for another node."""
        function = function_of(node)
        if function == "tanh":
            square = self._exponential(node.parts[0], 2)
            ones = np.ones_like(square)
            return product_of(difference_of(square, ones), inverse(sum_of(square, ones)))
        if function not in ("exp", "exp2"):
            return None
        return self._exponential(node.parts[0], 1 if function == "exp" else LN_2)

    def _exponential(self, exponent: Tree, factor_outside: int) -> Numbers:
        """Return the exponential of `times` an exponent."""
        factor, exponent = _scaled(exponent)  # so that -inf, times a number, is seen as -inf
        factor_outside = factor_outside * factor % PRIME
        total = self._of(exponent)
        summands = _summands(exponent)
        if summands is None:
            exponential = self._single(product_of(np.uint64(factor_outside), total))
        else:
            factors = (
                self._of_summand(factor_outside * n % PRIME, factors_of_summand)
                for n, factors_of_summand in summands
            )
            exponential = reduce(product_of, factors, np.ones_like(total))
        exponential = np.where(total == MINUS_INFINITY, _ZERO, exponential)
        is_special = (total == NAN) | (total == INFINITY)
        return np.where(is_special, mixed(self._seed, 23, total), exponential)

    def _of_summand(self, factor: int, factors: _Factors) -> Numbers:
        """Return the exponential of one summand, a constant times a product of nodes."""
        if len(factors) == 1 and factor in (1, LN_2) and operator_of(factors[0]) == "where":
            condition, *branches = factors[0].parts  # chosen before or after the exponential
            if_true, if_false = (self._exponential(branch, factor) for branch in branches)
            return chosen(self._of(condition), if_true, if_false)
        function = function_of(factors[0]) if len(factors) == 1 else ""
        if function in ("log", "log2") and _is_positive(factors[0].parts[0]):
            times = _small(factor if function == "log" else factor * LOG2_E % PRIME)
            if times is not None:
                return _raised(self._of(factors[0].parts[0]), times)
        value = reduce(product_of, map(self._of, factors), np.asarray(1, np.uint64))
        if (exponent := _small(factor)) is not None and factors:
            return _raised(self._single(value), exponent)
        return self._single(product_of(np.uint64(factor), value))

    def _single(self, value: Numbers) -> Numbers:
        """Return the exponential of a number by a random function with `exp(-x) = 1 / exp(x)`."""
        negative = np.asarray((np.uint64(PRIME) - value) % np.uint64(PRIME), np.uint64)
        image = mixed(self._seed, 21, np.minimum(value, negative))
        image = np.where(value == 0, np.uint64(1), image)
        return np.where(value > negative, inverse(image), image)


def _is_positive(node: Tree) -> bool:
    """Return whether a node is an exponential or a sum of exponentials, so that it is positive."""
    if node.what == "reduction" and len(node.parts) == 2:
        combination, elements = node.parts
        is_sum = operator_of(combination) == "+" and {p.what for p in combination.parts} == {
            "combined"
        }
        return is_sum and _is_positive(elements)
    if operator_of(node) == "+":
        return all(map(_is_positive, node.parts))
    return function_of(node) in ("exp", "exp2")


def _raised(value: Numbers, exponent: int) -> Numbers:
    result = power(value, abs(exponent))
    return inverse(result) if exponent < 0 else result


def _small(number: int) -> int | None:
    """Return a number of the field as a small nonzero integer, or None if it is not small."""
    signed = number if number <= PRIME // 2 else number - PRIME
    return signed if 0 < abs(signed) <= _MOST_POWER else None


def _number(node: Tree) -> int | None:
    """Return a finite constant as a number of the field; None for another node."""
    value = constant_of(node)
    if value is None or not np.isfinite(value):
        return None
    kind, bits = node.detail
    return unrounded_constant(kind, bits[0])


def _scaled(node: Tree) -> tuple[int, Tree]:
    """Return (positive constant factor, product of the other factors) of a node."""
    factor = 1
    while operator_of(node) == "*" and len(node.parts) == 2:
        left, right = node.parts
        if _number(left) is None:
            left, right = right, left
        number = _number(left)
        if not number or (constant_of(left) or 0.0) < 0:
            break
        factor, node = factor * number % PRIME, right
    return factor, node


def _summands(node: Tree) -> list[_Summand] | None:
    """Return a tree as a sum of products, multiplied out; None: more than `_MOST_SUMMANDS`."""
    operator, parts = operator_of(node), node.parts
    if (number := _number(node)) is not None:
        return [(number, ())] if number else []
    if node.what == "op" and node.detail[0] == "arith.extf":
        return _summands(parts[0])
    if operator == "negate":
        return _times(_summands(parts[0]), [(PRIME - 1, ())])
    if operator in ("+", "-") and len(parts) == 2:
        left, right = map(_summands, parts)
        if operator == "-":
            right = _times(right, [(PRIME - 1, ())])
        return _few(None if left is None or right is None else left + right)
    if operator == "*" and len(parts) == 2:
        return _times(*map(_summands, parts))
    if operator == "fma":
        left, right = _times(*map(_summands, parts[:2])), _summands(parts[2])
        return _few(None if left is None or right is None else left + right)
    if node.what == "op" and node.detail[0] == "arith.divf" and (divisor := _number(parts[1])):
        return _times(_summands(parts[0]), [(pow(divisor, -1, PRIME), ())])
    return [(1, (node,))]


def _few(summands: list[_Summand] | None) -> list[_Summand] | None:
    return None if summands is None or len(summands) > _MOST_SUMMANDS else summands


def _times(first: list[_Summand] | None, second: list[_Summand] | None) -> list[_Summand] | None:
    if first is None or second is None:
        return None
    return _few([(n * m % PRIME, (*left, *right)) for n, left in first for m, right in second])
