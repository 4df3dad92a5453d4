"""Bounded numbers: all values of a node in a range of inputs, with their roundings, op by op."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.addons.invariance.exponentials import source_constant
from kvtrace.addons.invariance.numbers import constant
from kvtrace.addons.invariance.trees import EXTREMES, constant_of
from kvtrace.evaluate.shadows.errors.roundings import unit_of
from kvtrace.symbolic.trees.tree import Tree

UNIT: Final = unit_of("f32")
_MOST_OF_EXPONENTIAL: Final = 80.0

Sign = frozenset[Tree | str]
POSITIVE: Final[Sign] = frozenset()
NEGATIVE: Final[Sign] = frozenset({"-"})


class Number(Struct, frozen=True):
    """All values of a node, which are off by at most `units` * 2^-24 of their scale.

    Attributes:
        units: the error; 0: exact.
        least: the least scale that is not 0.
        largest: the largest scale.
        sign: nodes of whose product the values have the sign, each once; None: not known.
        zero: which may be 0. 2: any; 1: lanes that a mask of known integers leaves out; 0: none.
        cancels: the scale is not the value's magnitude, but that of its terms.
        infinity: the sign of an infinity in lanes that such a mask leaves out; 0: none.
    """

    units: float
    least: float
    largest: float
    sign: Sign | None
    zero: int
    cancels: bool = False
    infinity: int = 0

    @property
    def is_positive(self) -> bool:
        """No value is below 0."""
        return self.sign == POSITIVE

    @property
    def unplaced(self) -> Number:
        """The values of all lanes, or of all trips, whose signs may differ."""
        return self if self.is_positive else replace(self, sign=None)


_NOTHING: Final = Number(0.0, 1.0, 1.0, POSITIVE, 2)
"""The constant 0."""


class NoBound(Exception):
    """A node without a bound in a range of inputs."""


class NoRule(Exception):
    """A node without a bound in any range."""


def bounded_constant(node: Tree) -> Number:
    """Return the value of a constant, which may be rounded in the source."""
    value = constant_of(node)
    if value is None or math.isnan(value):
        raise NoRule
    if math.isinf(value):
        sign = POSITIVE if value > 0 else NEGATIVE
        return Number(0.0, 1.0, 1.0, sign, 0, infinity=1 if value > 0 else -1)
    if value == 0:
        return _NOTHING
    size = abs(value)
    kind, bits = node.detail
    source = source_constant(kind, bits[0])
    units = 0.0 if source in (None, constant(kind, bits[0])) else unit_of(kind) / UNIT
    return Number(units, size, size, NEGATIVE if value < 0 else POSITIVE, 0)


def joined(left: Number, right: Number) -> Number:
    """Return the values of either number."""
    if left.infinity * right.infinity < 0:
        raise NoRule
    return Number(
        max(left.units, right.units),
        min(left.least, right.least),
        max(left.largest, right.largest),
        left.sign if left.sign == right.sign else None,
        max(left.zero, right.zero),
        left.cancels or right.cancels,
        left.infinity or right.infinity,
    )


def _sign_of_product(left: Number, right: Number) -> Sign | None:
    return None if left.sign is None or right.sign is None else left.sign ^ right.sign


def product_number(left: Number, right: Number) -> Number:
    """Return the products of two numbers."""
    infinity = left.infinity or right.infinity
    if infinity and not any(
        factor.is_positive and not (factor.zero or factor.infinity) for factor in (left, right)
    ):
        raise NoRule
    return Number(
        left.units + right.units,
        left.least * right.least,
        left.largest * right.largest,
        _sign_of_product(left, right),
        max(left.zero, right.zero),
        left.cancels or right.cancels,
        infinity,
    )


def _quotient(left: Number, right: Number) -> Number:
    if right.zero:
        raise NoBound
    if left.infinity or right.infinity:
        raise NoRule
    return replace(
        left,
        units=left.units + right.units,
        least=left.least / right.largest,
        largest=left.largest / right.least,
        sign=_sign_of_product(left, right),
    )


def sum_number(left: Number, right: Number) -> Number:
    """Return the sums of two numbers; exact operands lose no digits where they cancel."""
    for number, other in ((left, right), (right, left)):
        if number is _NOTHING:
            return other
    sign = left.sign if left.sign == right.sign else None
    if left.infinity * right.infinity < 0:
        raise NoRule
    made = Number(
        max(left.units, right.units),
        min(left.least, right.least),
        left.largest + right.largest,
        sign,
        2 if sign is None else min(left.zero, right.zero),
        left.cancels or right.cancels or sign is None,
        left.infinity or right.infinity,
    )
    if made.cancels and not (left.units or right.units):  # digits that cancel are exact
        return replace(made, least=made.least * UNIT, cancels=False)
    return made


def _negative(number: Number) -> Number:
    sign = None if number.sign is None else number.sign ^ NEGATIVE
    return replace(number, sign=sign, infinity=-number.infinity)


def _extreme(neutral: int) -> Callable[[Number, Number], Number]:
    """Return the rule of a maximum or minimum, to which one infinity makes no difference."""

    def rule(left: Number, right: Number) -> Number:
        for number, other in ((left, right), (right, left)):
            is_constant = number.least == number.largest > other.largest
            if is_constant and not number.zero and number.is_positive == (neutral > 0):
                return replace(other, infinity=0)
        made = joined(left, right)
        if neutral < 0 and (left.is_positive or right.is_positive):
            made = replace(made, sign=POSITIVE)
        is_neutral = made.infinity == neutral and not (left.infinity and right.infinity)
        return replace(made, infinity=0) if is_neutral else made

    return rule


def exponential(power: Number, scale: float) -> Number:
    """Return e to a power times `scale`: 0 for an infinity, which is negative."""
    largest = power.largest * scale
    if largest > _MOST_OF_EXPONENTIAL:
        raise NoBound
    if power.infinity > 0:
        raise NoRule
    return Number(
        largest * power.units, math.exp(-largest), math.exp(largest), POSITIVE,
        1 if power.infinity else 0,
    )  # fmt: skip


def root_number(square: Number, *, is_inverse: bool) -> Number:
    """Return the square roots of a number, or their inverses."""
    if not square.is_positive or (is_inverse and square.zero):
        raise NoBound
    least, largest = math.sqrt(square.least), math.sqrt(square.largest)
    if is_inverse:
        least, largest = 1 / largest, 1 / least
    return replace(square, units=square.units / 2, least=least, largest=largest)


RULES: Final[dict[str, tuple[Callable[..., Number], float]]] = {
    "arith.mulf": (product_number, 1.0),
    "arith.divf": (_quotient, 1.0),
    "tt.precise_divf": (_quotient, 1.0),
    "arith.addf": (sum_number, 1.0),
    "arith.subf": (lambda left, right: sum_number(left, _negative(right)), 1.0),
    "arith.negf": (_negative, 0.0),
    "arith.extf": (lambda number: number, 0.0),
    "arith.truncf": (lambda number: number, 1.0),
    "math.fma": (lambda left, right, added: sum_number(product_number(left, right), added), 1.0),
    **{name: (_extreme(sign), 0.0) for name, sign in EXTREMES.items()},
}
WITH_INFINITIES: Final = frozenset(
    {*EXTREMES, "arith.addf", "arith.subf", "arith.mulf", "arith.negf", "arith.extf"}
)
