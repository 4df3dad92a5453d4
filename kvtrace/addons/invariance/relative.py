"""Bounds of the relative roundings of trees, for all inputs whose magnitudes lie in a range.

Two formulas that are equal in exact arithmetic give results as far apart as their roundings allow.
For `x * rsqrt(s)` and `x / sqrt(s)` with a positive `s` that is a few units in the last place for
all inputs that neither overflow nor vanish. For `(a - c) + b` and `(a + b) - c` there is no such
bound: where terms cancel, all digits may differ. A sum has one only if its terms have one sign, and
a difference only if its operands are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from kvtrace.addons.invariance.trees import Tree, constant_of, function_of

#: Exponents of 2 of the magnitudes of inputs: the widest range for which a bound exists is stated.
_RANGES: Final = (15, 10, 5)
_UNIT: Final = 2.0**-24
_LEAST, _LARGEST = 2.0**-125, 2.0**126
_MOST_OF_EXPONENTIAL: Final = 80.0
#: Roundings of functions in units of 2^-24; divisions and functions of devices are approximate.
_ROUNDINGS: Final = {
    "arith.divf": 4.0, "math.exp": 4.0, "math.exp2": 4.0, "math.sqrt": 4.0, "math.rsqrt": 4.0,
}  # fmt: skip
_LARGER: Final = ("arith.maximumf", "arith.maxnumf", "arith.minimumf", "arith.minnumf")
#: A bound of more units than this is none.
_MOST_UNITS: Final = 4096.0


@dataclass(frozen=True, slots=True)
class _Number:
    """All values of a node: zero, if `has_zero`, or of magnitudes from `least` to `largest`.

    `units` bounds the relative error in units of 2^-24; 0: exact.
    """

    units: float
    least: float
    largest: float
    is_positive: bool
    has_zero: bool


class _NoBound(Exception):
    """A node without a bound of its relative rounding."""


def bound_text(trees: Iterable[tuple[Tree, ...]]) -> str | None:
    """Return the text of a bound of the distance of versions that are equal in exact arithmetic.

    Args:
        trees: The trees of each version's stores.
    """
    versions = [*trees]
    for exponent in _RANGES:
        try:
            units = sum(max(_bounded(tree, exponent) for tree in version) for version in versions)
        except (_NoBound, ValueError, OverflowError, ZeroDivisionError, RecursionError):
            continue
        if units <= _MOST_UNITS:
            return (
                f"each element within {units * _UNIT:.2g} of its value, for all inputs that are 0 "
                f"or of magnitudes from 2^-{exponent} to 2^{exponent}"
            )
    return None


def _bounded(root: Tree, exponent: int) -> float:
    return _Bounds(exponent).number(root).units


class _Bounds:
    """The numbers of a tree's nodes for inputs of magnitudes from 2^-exponent to 2^exponent."""

    def __init__(self, exponent: int) -> None:
        self._input = _Number(0.0, 2.0**-exponent, 2.0**exponent, False, True)
        self._numbers: dict[Tree, _Number] = {}

    def number(self, node: Tree) -> _Number:
        """Return the values of a node.

        Raises:
            _NoBound: the node has no bound.
        """
        if node not in self._numbers:
            number = self._made(node)
            if not _LEAST <= number.least <= number.largest <= _LARGEST:
                raise _NoBound
            self._numbers[node] = number
        return self._numbers[node]

    def _made(self, node: Tree) -> _Number:
        if node.what in ("element", "argument") and "f32" in node.detail:
            paddings = [self.number(part) for part in node.parts if constant_of(part) is not None]
            return _joined([self._input, *paddings])
        if (value := constant_of(node)) is not None:
            if not math.isfinite(value):
                raise _NoBound
            size = abs(value) or 1.0
            return _Number(0.0, size, size, value >= 0, value == 0)
        if node.what == "reduction" and node.detail[0] == "tt.reduce" and len(node.parts) == 2:
            return self._reduced(node)
        if node.what != "op" or node.detail[2] != "f32":
            raise _NoBound
        name = node.detail[0]
        if "__nv_" in str(node.detail[1]):
            name = f"math.{function_of(node).replace('fabs', 'absf')}"
        if name in ("arith.sitofp", "arith.uitofp"):
            return self._integer(node.parts[0])
        if name == "arith.select":
            self._check_exact(node.parts[0])
            return _joined([self.number(part) for part in node.parts[1:]])
        rule = _RULES.get(name)
        if rule is None:
            raise _NoBound
        made = rule([self.number(part) for part in node.parts])
        return replace(made, units=made.units + _ROUNDINGS.get(name, 0.0))

    def _integer(self, node: Tree) -> _Number:
        """Return the values of a known integer of at most 24 bits, which is exact."""
        value = getattr(node.detail[0], "constant", None) if node.what == "integer" else None
        if not isinstance(value, int) or not 0 < abs(value) < 1 << 24:
            raise _NoBound
        if str(node.detail[0]) != str(value):
            raise _NoBound
        return _Number(0.0, abs(value), abs(value), value > 0, False)

    def _check_exact(self, node: Tree) -> None:
        """Raise _NoBound if roundings may decide a condition."""
        if node.what in ("condition", "integer"):
            return
        if node.what != "op":
            raise _NoBound
        for part in node.parts:
            if node.detail[0] == "arith.cmpf":
                if constant_of(part) is None and self.number(part).units:
                    raise _NoBound
            else:
                self._check_exact(part)

    def _reduced(self, node: Tree) -> _Number:
        combination, elements = node.parts
        terms, count = self.number(elements), node.detail[1]
        if combination.what != "op" or any(part.what != "combined" for part in combination.parts):
            raise _NoBound
        if combination.detail[0] in _LARGER:
            return terms
        if combination.detail[0] != "arith.addf" or not terms.is_positive:
            raise _NoBound
        return replace(terms, units=terms.units + count - 1, largest=terms.largest * count)


def _joined(numbers: list[_Number]) -> _Number:
    return _Number(
        max(number.units for number in numbers),
        min(number.least for number in numbers),
        max(number.largest for number in numbers),
        all(number.is_positive for number in numbers),
        any(number.has_zero for number in numbers),
    )


def _product(numbers: list[_Number]) -> _Number:
    left, right = numbers
    is_square = left is right
    return _Number(
        left.units + right.units + 1,
        left.least * right.least,
        left.largest * right.largest,
        is_square or (left.is_positive and right.is_positive),
        left.has_zero or right.has_zero,
    )


def _quotient(numbers: list[_Number]) -> _Number:
    left, right = numbers
    if right.has_zero:
        raise _NoBound
    return _Number(
        left.units + right.units,
        left.least / right.largest,
        left.largest / right.least,
        left.is_positive and right.is_positive,
        left.has_zero,
    )


def _sum(numbers: list[_Number]) -> _Number:
    left, right = numbers
    if not (left.is_positive and right.is_positive):
        return _difference(numbers)
    return _Number(
        max(left.units, right.units) + 1,
        min(left.least, right.least),
        left.largest + right.largest,
        True,
        left.has_zero and right.has_zero,
    )


def _difference(numbers: list[_Number]) -> _Number:
    left, right = numbers
    if left.units or right.units:
        raise _NoBound
    least = min(left.least, right.least) * _UNIT
    return _Number(1.0, least, left.largest + right.largest, False, True)


def _exponential(numbers: list[_Number], base: float = math.e) -> _Number:
    (power,) = numbers
    scale = math.log(base)
    if power.largest * scale > _MOST_OF_EXPONENTIAL:
        raise _NoBound
    return _Number(
        power.largest * scale * power.units,
        base**-power.largest,
        base**power.largest,
        True,
        False,
    )


def _root(numbers: list[_Number]) -> _Number:
    (square,) = numbers
    if not square.is_positive:
        raise _NoBound
    return replace(
        square,
        units=square.units / 2,
        least=math.sqrt(square.least),
        largest=math.sqrt(square.largest),
    )


def _reciprocal_root(numbers: list[_Number]) -> _Number:
    root = _root(numbers)
    if root.has_zero:
        raise _NoBound
    return replace(root, least=1 / root.largest, largest=1 / root.least)


def _magnitude(numbers: list[_Number]) -> _Number:
    return replace(numbers[0], is_positive=True)


_RULES: Final[dict[str, Callable[[list[_Number]], _Number]]] = {
    "arith.mulf": _product, "arith.divf": _quotient, "arith.addf": _sum, "arith.subf": _difference,
    "arith.negf": lambda numbers: replace(numbers[0], is_positive=False),
    "math.absf": _magnitude, "math.exp": _exponential,
    "math.exp2": lambda numbers: _exponential(numbers, 2.0),
    "math.sqrt": _root, "math.rsqrt": _reciprocal_root,
    **dict.fromkeys(_LARGER, _joined),
}  # fmt: skip
