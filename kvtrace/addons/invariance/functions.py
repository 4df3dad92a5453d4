"""Exponentials, logarithms and roots in a finite field, by the laws that real numbers obey.

An exponential of a sum is a product: `exp(2 * a - b)` is `E(a)**2 / E(b)`, where `E` is a random
function, so that `exp(a - b)` and `exp(a) / exp(b)` are equal. A base of 2 is a factor of the
exponent, and so is a type's nearest constant to `log2(e)` or its inverse. A constant of few digits
is the decimal that was rounded, so that 0.9 is `1 - 0.1`. `exp(log(x))` and `sqrt(x)**2` are `x` if
the ops that compute `x` never give a negative number; otherwise they may be NaN while `x` is not.
Roots are computed in the field. Half of the field's numbers have no root; an element that needs
such a root is `undefined`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache, reduce
from math import copysign
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
from kvtrace.addons.invariance.trees import Tree, constant_of
from kvtrace.ir.floats import float_from_bits
from kvtrace.ir.ops import KINDS

_NAMES: Final = {
    "math.exp": "exp", "math.exp2": "exp2", "math.log": "log", "math.log2": "log2",
    "math.sqrt": "sqrt", "math.rsqrt": "rsqrt", "tt.precise_sqrt": "sqrt", "math.tanh": "tanh",
    "math.absf": "abs",
}  # fmt: skip
_LIBRARY: Final = tuple(
    (f"'__{library}_{name}'", function)
    for function in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh")
    for library, name in (
        ("nv", f"{function}f"), ("nv", function),
        ("ocml", f"{function}_f32"), ("ocml", f"{function}_f64"),
    )
)  # fmt: skip
#: log2(e) and its inverse, by the bits of the nearest number of a type.
_LOG2_E: Final = {("f32", 0x3FB8AA3B), ("f64", 0x3FF71547652B82FE)}
_LN_2: Final = {("f32", 0x3F317218), ("f64", 0x3FE62E42FEFA39EF)}
_SIGNS: Final = {"f32": 1 << 31, "f64": 1 << 63}
LOG2_E: Final = 1_618_033_988
"""The number in place of log2(e)."""
LN_2: Final = pow(LOG2_E, -1, PRIME)
_MOST_SUMMANDS: Final = 24
_MOST_POWER: Final = 8
_KEEPING: Final = frozenset({
    "arith.divf", "arith.extf", "arith.truncf", "arith.maxnumf", "arith.minnumf", "arith.minimumf",
})  # fmt: skip
"""Ops whose result is not negative if no operand is negative."""
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
    value = float_from_bits(bits, kind)
    if not np.isfinite(value) or value == 0:
        return None
    rounded, most_digits = (np.float32(value), 6) if kind == "f32" else (np.float64(value), 15)
    text = np.format_float_scientific(rounded, unique=True, trim="-")
    if sum(map(str.isdigit, text.partition("e")[0])) > most_digits:
        return None
    fraction = Fraction(text)
    return fraction.numerator * pow(fraction.denominator, -1, PRIME) % PRIME


def function_name(node: Tree) -> str:
    """Return the name of the exponential, logarithm or root that a node computes, else ""."""
    if node.what != "op" or len(node.parts) != 1:
        return ""
    name, attributes = node.detail[:2]
    if name in _NAMES:
        return _NAMES[name]
    texts = [text.replace('"', "'") for key, text in attributes if key == "symbol"]
    names = (function_name for text in texts for part, function_name in _LIBRARY if part in text)
    return next(names, "")


class Functions:
    """Evaluator of exponentials, logarithms and roots in the field, for one random memory.

    `of` evaluates other nodes. `undefined` has the elements for which a root does not exist.
    """

    def __init__(self, of: Callable[[Tree], Numbers], seed: int) -> None:
        self._of = of
        self._seed = seed
        self.undefined: NDArray[np.bool_] | None = None

    def value(self, node: Tree) -> Numbers | None:
        """Return a node's value by the laws of its function; None if no law applies."""
        function = function_name(node)
        if function in ("sqrt", "rsqrt"):
            return self._root(node.parts[0], is_inverse=function == "rsqrt")
        if function in ("exp", "exp2"):
            return self._exponential(node.parts[0], 1 if function == "exp" else LN_2)
        if function in ("log", "log2"):
            logarithm = self._logarithm(node.parts[0])
            return logarithm if function == "log" else product_of(np.uint64(LOG2_E), logarithm)
        if function == "tanh":  # 1 - 2 / (1 + exp(2 * x))
            one, two = np.asarray(1, np.uint64), np.uint64(2)
            denominator = sum_of(one, self._exponential(node.parts[0], 2))
            return difference_of(one, product_of(two, inverse(denominator)))
        return None

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
        if len(factors) == 1:
            (node,) = factors
            function = function_name(node)
            if function in ("log", "log2") and is_never_negative(node.parts[0]):
                scale = factor * (1 if function == "log" else LOG2_E) % PRIME
                if (exponent := _small(scale)) is not None:
                    return _raised(self._of(node.parts[0]), exponent)
            if factor in (1, LN_2) and _is_choice(node):  # made before or after the exponential
                condition, *branches = node.parts
                if_true, if_false = (self._exponential(branch, factor) for branch in branches)
                return chosen(self._of(condition), if_true, if_false)
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

    def _logarithm(self, argument: Tree) -> Numbers:
        """Return the logarithm of a node; for a product of exponentials and constants, a sum.

        Other products are not split: a product may underflow where its factors do not.
        """
        factors = list(_factors(argument))
        other_factors = [node for node, _ in factors if not _is_power(node)]
        if len(other_factors) > 1 or not all(map(is_never_negative, other_factors)):
            factors = [(argument, 1)]
        parts = []
        for factor, sign in factors:
            function = function_name(factor)
            if function in ("exp", "exp2"):
                scale = np.uint64(1 if function == "exp" else LN_2)
                logarithm = product_of(scale, self._of(factor.parts[0]))
            else:
                value = self._of(factor)
                logarithm = np.where(value == 1, _ZERO, mixed(self._seed, 22, value))
            parts.append(
                logarithm if sign > 0 else difference_of(np.zeros_like(logarithm), logarithm)
            )
        return reduce(sum_of, parts)

    def _root(self, radicand: Tree, *, is_inverse: bool) -> Numbers | None:
        if not is_never_negative(radicand):
            return None
        value = self._of(radicand)
        root = power(value, (PRIME + 1) // 4)
        has_no_root = product_of(root, root) != value
        undefined = has_no_root.any(axis=tuple(range(has_no_root.ndim - 1)))
        self.undefined = undefined if self.undefined is None else undefined | self.undefined
        return inverse(root) if is_inverse else root


def _raised(value: Numbers, exponent: int) -> Numbers:
    result = power(value, abs(exponent))
    return inverse(result) if exponent < 0 else result


def _small(number: int) -> int | None:
    """Return a number of the field as a small nonzero integer, or None if it is not small."""
    signed = number if number <= PRIME // 2 else number - PRIME
    return signed if 0 < abs(signed) <= _MOST_POWER else None


def _operator(node: Tree) -> str:
    if node.what != "op" or node.detail[0] not in KINDS:
        return "where" if node.what == "op" and node.detail[0] == "where" else ""
    return KINDS[node.detail[0]].operator or ""


def _is_power(node: Tree) -> bool:
    """Return whether a value is an exponential, or a positive constant."""
    if function_name(node) in ("exp", "exp2"):
        return True
    return bool(_number(node)) and is_never_negative(node)


def _is_choice(node: Tree) -> bool:
    return _operator(node) == "where"


def _number(node: Tree) -> int | None:
    """Return a finite constant as a number of the field; None for another node."""
    value = constant_of(node)
    if value is None or not np.isfinite(value):
        return None
    kind, bits = node.detail
    decimal = source_constant(kind, bits[0])
    return constant(kind, bits[0]) if decimal is None else decimal


def _scaled(node: Tree) -> tuple[int, Tree]:
    """Return (positive constant factor, product of the other factors) of a node."""
    factor = 1
    while _operator(node) == "*" and len(node.parts) == 2:
        left, right = node.parts
        if _number(left) is None:
            left, right = right, left
        number = _number(left)
        if not number or not is_never_negative(left):
            break
        factor, node = factor * number % PRIME, right
    return factor, node


def _summands(node: Tree) -> list[_Summand] | None:
    """Return a tree as a sum of products, multiplied out; None: more than `_MOST_SUMMANDS`."""
    operator, parts = _operator(node), node.parts
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


def _factors(node: Tree) -> Iterable[tuple[Tree, int]]:
    """Yield the factors of a product (with 1) and its divisors (with -1)."""
    if _operator(node) == "*" and len(node.parts) == 2:
        for part in node.parts:
            yield from _factors(part)
    elif node.what == "op" and node.detail[0] == "arith.divf":
        yield from _factors(node.parts[0])
        for factor, sign in _factors(node.parts[1]):
            yield factor, -sign
    else:
        yield node, 1


def is_never_negative(node: Tree, assumed: frozenset[Tree] = frozenset()) -> bool:
    """Return whether a node is NaN or >= 0 for all memory, if the nodes `assumed` are."""
    if node in assumed:
        return True
    parts = node.parts

    def are_never_negative(nodes: Iterable[Tree]) -> bool:
        return all(is_never_negative(inner, assumed) for inner in nodes)

    match node.what:
        case "constant":
            value = constant_of(node)
            return value is not None and copysign(1, value) > 0
        case "reduction":
            count = len(parts) // 2
            if count != 1:
                return False
            combined = frozenset(inner for inner in parts[0].walk() if inner.what == "combined")
            return are_never_negative(parts[1:]) and is_never_negative(parts[0], assumed | combined)
        case "loop":
            return _is_loop_never_negative(node, assumed)
        case "op":
            return _is_op_never_negative(node, are_never_negative)
    return False


def _is_loop_never_negative(node: Tree, assumed: frozenset[Tree]) -> bool:
    """Return whether a loop's value is NaN or at least 0: by induction over its trips."""
    _, level, is_while, _ = node.detail
    if is_while or len(node.parts) < 2:
        return False
    initial, following = node.parts[:2]
    carried_nodes = {
        node_inside
        for node_inside in following.walk()
        if node_inside.what == "carried"
        and node_inside.detail[0] == level
        and node_inside.detail[1] == 0
    }
    return is_never_negative(initial, assumed) and is_never_negative(
        following, assumed | frozenset(carried_nodes)
    )


def _is_op_never_negative(node: Tree, are_never_negative: Callable[[Iterable[Tree]], bool]) -> bool:
    operator, parts, name = _operator(node), node.parts, node.detail[0]
    function = function_name(node)
    if function in ("exp", "exp2", "abs"):
        return True
    if operator == "where":
        return are_never_negative(parts[1:])
    if operator in ("*", "fma") and parts[0] is parts[1]:
        return are_never_negative(parts[2:])
    if name == "arith.maximumf":
        return any(are_never_negative((part,)) for part in parts)
    if name == "arith.maxnumf" and any(
        each.what == "constant" and are_never_negative((each,)) for each in parts
    ):
        return True
    if name in ("arith.sitofp", "arith.uitofp"):
        (operand,) = parts
        return name == "arith.uitofp" or (operand.what == "integer" and operand.detail[0].low >= 0)
    keeps_sign = operator in ("*", "+", "fma") or function in ("sqrt", "rsqrt")
    return (keeps_sign or name in _KEEPING) and are_never_negative(parts)
