"""Exponentials, logarithms and roots in a finite field, by the laws that real numbers obey.

An exponential is a product: of `exp(2 * a - b)` it is `E(a)**2 / E(b)`, where `E` is a random
function, so that `exp(a - b)` and `exp(a) / exp(b)` are one number. A base of 2 is a factor of the
exponent, and so is the constant that a type has nearest to `log2(e)` or its inverse; a constant of
few digits is the decimal that was rounded, so that 0.9 is `1 - 0.1`. `exp(log(x))`
is `x`, and a root's square what it is taken of, where that is never negative by how it is made:
elsewhere one of them is a NaN, and the other a number. Roots are those of the field. Half of its
numbers have none, and where one is needed nothing is known of the element (`undefined`).
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
"""Ops whose result is not negative where no operand is."""
_ZERO: Final = np.uint64(0)

_Factors = tuple[Tree, ...]
_Summand = tuple[int, _Factors]
"""A product: its constant factor in the field, and its other factors."""


@lru_cache(maxsize=1024)
def written_constant(kind: str, bits: int) -> int | None:
    """Return the exact number that a source constant was rounded from, in the field.

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
    digits, most = (np.float32(value), 6) if kind == "f32" else (np.float64(value), 15)
    text = np.format_float_scientific(digits, unique=True, trim="-")
    if sum(map(str.isdigit, text.partition("e")[0])) > most:
        return None
    written = Fraction(text)
    return written.numerator * pow(written.denominator, -1, PRIME) % PRIME


def function_of(node: Tree) -> str:
    """Return the name of the exponential, logarithm or root that a node computes, else ""."""
    if node.what != "op" or len(node.parts) != 1:
        return ""
    name, attributes = node.detail[:2]
    if name in _NAMES:
        return _NAMES[name]
    texts = [text.replace('"', "'") for key, text in attributes if key == "symbol"]
    known = (function_name for text in texts for part, function_name in _LIBRARY if part in text)
    return next(known, "")


class Functions:
    """Evaluator of exponentials, logarithms and roots in the field, for one random memory."""

    def __init__(self, of: Callable[[Tree], Numbers], seed: int) -> None:
        self._of = of
        self._seed = seed
        self.undefined: NDArray[np.bool_] | None = None

    def value(self, node: Tree) -> Numbers | None:
        """Return a node's value by the laws of its function; None: no law applies to the node."""
        function = function_of(node)
        if function in ("sqrt", "rsqrt"):
            return self._root(node.parts[0], is_inverse=function == "rsqrt")
        if function in ("exp", "exp2"):
            return self._exponential(node.parts[0], 1 if function == "exp" else LN_2)
        if function in ("log", "log2"):
            logarithm = self._logarithm(node.parts[0])
            return logarithm if function == "log" else product_of(np.uint64(LOG2_E), logarithm)
        if function == "tanh":  # 1 - 2 / (1 + exp(2 * x))
            one, two = np.asarray(1, np.uint64), np.uint64(2)
            below = sum_of(one, self._exponential(node.parts[0], 2))
            return difference_of(one, product_of(two, inverse(below)))
        return None

    def _exponential(self, exponent: Tree, times: int) -> Numbers:
        factor, exponent = _scaled(exponent)  # so that -inf, times a number, is seen as -inf
        times = times * factor % PRIME
        total = self._of(exponent)
        summands = _summands(exponent)
        if summands is None:
            found = self._single(product_of(np.uint64(times), total))
        else:
            factors = (self._of_summand(times * n % PRIME, rest) for n, rest in summands)
            found = reduce(product_of, factors, np.ones_like(total))
        found = np.where(total == MINUS_INFINITY, _ZERO, found)
        is_special = (total == NAN) | (total == INFINITY)
        return np.where(is_special, mixed(self._seed, 23, total), found)

    def _of_summand(self, times: int, factors: _Factors) -> Numbers:
        """Return the exponential of one summand: a constant times a product of nodes."""
        if len(factors) == 1:
            (only,) = factors
            function = function_of(only)
            if function in ("log", "log2") and is_never_negative(only.parts[0]):
                scale = times * (1 if function == "log" else LOG2_E) % PRIME
                if (exponent := _small(scale)) is not None:
                    return _raised(self._of(only.parts[0]), exponent)
            if times in (1, LN_2) and _is_choice(only):  # made before or after the exponential
                condition, *ways = only.parts
                one, other = (self._exponential(way, times) for way in ways)
                return chosen(self._of(condition), one, other)
        value = reduce(product_of, map(self._of, factors), np.asarray(1, np.uint64))
        if (exponent := _small(times)) is not None and factors:
            return _raised(self._single(value), exponent)
        return self._single(product_of(np.uint64(times), value))

    def _single(self, value: Numbers) -> Numbers:
        """Return the exponential of a number, by a random function with `exp(-x) = 1 / exp(x)`."""
        negative = np.asarray((np.uint64(PRIME) - value) % np.uint64(PRIME), np.uint64)
        image = mixed(self._seed, 21, np.minimum(value, negative))
        image = np.where(value == 0, np.uint64(1), image)
        return np.where(value > negative, inverse(image), image)

    def _logarithm(self, argument: Tree) -> Numbers:
        """Return a logarithm; that of a product of exponentials and constants is a sum.

        Other products are not split: a product may underflow where its factors do not.
        """
        factors = list(_factors(argument))
        others = [each for each, _ in factors if not _is_power(each)]
        if len(others) > 1 or not all(map(is_never_negative, others)):
            factors = [(argument, 1)]
        parts = []
        for factor, sign in factors:
            function = function_of(factor)
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
        has_none = product_of(root, root) != value
        found = has_none.any(axis=tuple(range(has_none.ndim - 1)))
        self.undefined = found if self.undefined is None else found | self.undefined
        return inverse(root) if is_inverse else root


def _raised(value: Numbers, exponent: int) -> Numbers:
    found = power(value, abs(exponent))
    return inverse(found) if exponent < 0 else found


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
    if function_of(node) in ("exp", "exp2"):
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
    known = written_constant(kind, bits[0])
    return constant(kind, bits[0]) if known is None else known


def _scaled(node: Tree) -> tuple[int, Tree]:
    """Return (positive constant factor, the other factors) of a product."""
    factor = 1
    while _operator(node) == "*" and len(node.parts) == 2:
        one, other = node.parts
        if _number(one) is None:
            one, other = other, one
        number = _number(one)
        if not number or not is_never_negative(one):
            break
        factor, node = factor * number % PRIME, other
    return factor, node


def _summands(node: Tree) -> list[_Summand] | None:
    """Return a tree as a sum of products, multiplied out; None: there are too many."""
    operator, parts = _operator(node), node.parts
    if (number := _number(node)) is not None:
        return [(number, ())] if number else []
    if node.what == "op" and node.detail[0] == "arith.extf":
        return _summands(parts[0])
    if operator == "negate":
        return _times(_summands(parts[0]), [(PRIME - 1, ())])
    if operator in ("+", "-") and len(parts) == 2:
        one, other = map(_summands, parts)
        if operator == "-":
            other = _times(other, [(PRIME - 1, ())])
        return _few(None if one is None or other is None else one + other)
    if operator == "*" and len(parts) == 2:
        return _times(*map(_summands, parts))
    if operator == "fma":
        one, other = _times(*map(_summands, parts[:2])), _summands(parts[2])
        return _few(None if one is None or other is None else one + other)
    if node.what == "op" and node.detail[0] == "arith.divf" and (by := _number(parts[1])):
        return _times(_summands(parts[0]), [(pow(by, -1, PRIME), ())])
    return [(1, (node,))]


def _few(summands: list[_Summand] | None) -> list[_Summand] | None:
    return None if summands is None or len(summands) > _MOST_SUMMANDS else summands


def _times(one: list[_Summand] | None, other: list[_Summand] | None) -> list[_Summand] | None:
    if one is None or other is None:
        return None
    return _few([(n * m % PRIME, (*left, *right)) for n, left in one for m, right in other])


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
    """Return whether a node is NaN or at least 0, by its ops alone, for all contents of memory."""
    if node in assumed:
        return True
    parts = node.parts

    def are(nodes: Iterable[Tree]) -> bool:
        return all(is_never_negative(each, assumed) for each in nodes)

    match node.what:
        case "constant":
            value = constant_of(node)
            return value is not None and copysign(1, value) > 0
        case "reduction":
            count = len(parts) // 2
            if count != 1:
                return False
            combined = frozenset(each for each in parts[0].walk() if each.what == "combined")
            return are(parts[1:]) and is_never_negative(parts[0], assumed | combined)
        case "loop":
            return _is_loop_never_negative(node, assumed)
        case "op":
            return _is_op_never_negative(node, are)
    return False


def _is_loop_never_negative(node: Tree, assumed: frozenset[Tree]) -> bool:
    """Return whether a loop's value is NaN or at least 0: by induction over its trips."""
    _, level, is_while, _ = node.detail
    if is_while or len(node.parts) < 2:
        return False
    first, following = node.parts[:2]
    own = {
        each
        for each in following.walk()
        if each.what == "carried" and each.detail[0] == level and each.detail[1] == 0
    }
    return is_never_negative(first, assumed) and is_never_negative(
        following, assumed | frozenset(own)
    )


def _is_op_never_negative(node: Tree, are: Callable[[Iterable[Tree]], bool]) -> bool:
    operator, parts, name = _operator(node), node.parts, node.detail[0]
    function = function_of(node)
    if function in ("exp", "exp2", "abs"):
        return True
    if operator == "where":
        return are(parts[1:])
    if operator in ("*", "fma") and parts[0] is parts[1]:
        return are(parts[2:])
    if name == "arith.maximumf":
        return any(are((part,)) for part in parts)
    if name == "arith.maxnumf" and any(each.what == "constant" and are((each,)) for each in parts):
        return True
    if name in ("arith.sitofp", "arith.uitofp"):
        (made,) = parts
        return name == "arith.uitofp" or (made.what == "integer" and made.detail[0].low >= 0)
    is_kept = operator in ("*", "+", "fma") or function in ("sqrt", "rsqrt")
    return (is_kept or name in _KEEPING) and are(parts)
