"""Widths and bits: integers wrapped to a width, and bitwise ops.

As in `functions`, the lower-case functions return the simplest correct term, and make an atom only
if there is no polynomial.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from kvtrace.symbolic.functions import (
    Applied,
    multiples,
    quotient,
    remainder,
    single,
)
from kvtrace.symbolic.terms import (
    ZERO,
    Evaluation,
    Interval,
    RangeOf,
    Substitution,
    Term,
    as_term,
    range_of,
    signed_range,
)

BitOperator = Literal["and", "or", "xor", "shl", "shr"]


def wrapped(term: Term | int, bits: int, *, signed: bool) -> Term:
    """Return an integer of any size modulo 2^bits, in the range of a signed or unsigned integer."""
    inner = as_term(term)
    low, high = _range_of_width(bits, signed=signed)
    if low <= inner.low and inner.high <= high:
        return inner
    if (number := inner.constant) is not None:
        return as_term((number - low) % (1 << bits) + low)
    atom = single(inner)
    if isinstance(atom, Wrap) and atom.bits >= bits:
        return wrapped(atom.arguments[0], bits, signed=signed)
    return Wrap((inner,), bits, signed).term


def _range_of_width(bits: int, *, signed: bool) -> Interval:
    return signed_range(bits) if signed and bits > 1 else (0, (1 << bits) - 1)


class Wrap(Applied):
    """The `arguments[0]` modulo 2^bits; `settings` are the width and the signedness."""

    __slots__ = ()

    @property
    def bits(self) -> int:
        """The width of the result."""
        return int(self.settings[0])

    @property
    def signed(self) -> bool:
        """The result is a signed number."""
        return bool(self.settings[1])

    def substituted(self, substitution: Substitution) -> Term:
        """Return the term for the wrapped argument after a substitution."""
        return wrapped(substitution(self.arguments[0]), self.bits, signed=self.signed)

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the wrapped number, or array of numbers, of the argument."""
        low = self.low
        number = evaluation(self.arguments[0])
        if evaluation.arrays and self.bits == 64:
            return number  # arrays have 64 bits
        return (number - low) % (1 << self.bits) + low

    def bounds(self, range_of: RangeOf) -> Interval:  # noqa: ARG002
        """Return the range of integers of the width."""
        return _range_of_width(self.bits, signed=self.signed)


def bitwise(
    operator: BitOperator,
    left: Term | int,
    right: Term | int,
    bits: int,
    *,
    range_of: RangeOf = range_of,
) -> Term:
    """Return the term for a bitwise op on signed integers of a width.

    `shl` does not wrap; `shr` keeps the sign. Shifts by a negative number, or by the width or more,
    give 0 for `shl`, and 0 or -1 by the sign for `shr`, as in `kvtrace.evaluate`.
    """
    first, second = as_term(left), as_term(right)
    left_number, right_number = first.constant, second.constant
    if left_number is not None and right_number is not None:
        return as_term(_bitwise_of_numbers(operator, left_number, right_number, bits))
    if operator in ("shl", "shr"):
        if right_number is None:
            return Bitwise((first, second), operator, bits).term
        if operator == "shl":
            return first * (1 << right_number) if 0 <= right_number < bits else ZERO
        shift = right_number if 0 <= right_number < bits else bits - 1
        return quotient(first, 1 << shift, floor=True, range_of=range_of)
    if left_number is not None:
        first, right_number = second, left_number
    if right_number is not None:
        simpler = _simplified_with_constant(operator, first, right_number, range_of)
        if simpler is not None:
            return simpler
        second = as_term(right_number)
    elif first == second:
        return ZERO if operator == "xor" else first
    return Bitwise((first, second), operator, bits).term


def _simplified_with_constant(
    operator: str, term: Term, number: int, range_of: RangeOf
) -> Term | None:
    """Return a simpler term for an "and", "or" or "xor" with a constant, or None."""
    if operator == "and":
        if number == -1:
            return term
        if number >= 0 and not number & (number + 1):
            return remainder(term, number + 1, floor=True, range_of=range_of)
        if number < 0 and not -number & (-number - 1):
            return term - remainder(term, -number, floor=True, range_of=range_of)
        return None
    if number == 0:
        return term
    if operator == "xor" and number == -1:
        return -term - 1
    inner = single(term)
    if operator == "xor" and isinstance(inner, Bitwise) and inner.operator == "xor":
        first, second = inner.arguments
        if second.constant is not None:
            rest = second.constant ^ number
            return bitwise("xor", first, rest, inner.bits, range_of=range_of)
    if number > 0:
        beyond = 1 << number.bit_length()
        if multiples(term, beyond)[1] == 0:
            return term + number
        lowest = number & -number
        low, high = range_of(term)
        if low >= 0 and high < lowest:
            return term + number
    return None


def _bitwise_of_numbers(operator: str, left: int, right: int, bits: int) -> int:
    if operator == "and":
        return left & right
    if operator == "or":
        return left | right
    if operator == "xor":
        return left ^ right
    inside = 0 <= right < bits
    if operator == "shl":
        return left << right if inside else 0
    return left >> (right if inside else bits - 1)


class Bitwise(Applied):
    """A bitwise op on two `arguments`; `settings` are the operator and the width."""

    __slots__ = ()

    @property
    def operator(self) -> BitOperator:
        """The name of the op."""
        name: BitOperator = self.settings[0]
        return name

    @property
    def bits(self) -> int:
        """The width of the operands."""
        return int(self.settings[1])

    def substituted(self, substitution: Substitution) -> Term:
        """Return the term for the op on the arguments after a substitution."""
        left, right = (substitution(term) for term in self.arguments)
        return bitwise(self.operator, left, right, self.bits, range_of=substitution.range_of)

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the op's result for numbers, or arrays of numbers, of the arguments."""
        left, right = (evaluation(term) for term in self.arguments)
        if not evaluation.arrays:
            return _bitwise_of_numbers(self.operator, left, right, self.bits)
        if self.operator in ("shl", "shr"):
            inside = (right >= 0) & (right < self.bits)
            if self.operator == "shl":
                return np.where(inside, np.left_shift(left, np.where(inside, right, 0)), 0)
            return np.right_shift(left, np.where(inside, right, self.bits - 1))
        return _ARRAY_BITS[self.operator](left, right)

    def bounds(self, range_of: RangeOf) -> Interval:
        """Return the range of the op's results by those of both operands."""
        left, right = map(range_of, self.arguments)
        return bitwise_range(self.operator, left, right, self.bits)


def bitwise_range(operator: BitOperator, left: Interval, right: Interval, bits: int) -> Interval:
    """Return the range of a bitwise op on integers of a width, from its operands' ranges."""
    if operator == "shl":
        most = min(max(right[1], 0), bits - 1)
        return min(left[0] << most, left[0], 0), max(left[1] << most, left[1], 0)
    if operator == "shr":
        return min(left[0], 0), max(left[1], 0)
    if operator == "and" and max(left[0], right[0]) >= 0:
        return 0, min(high for low, high in (left, right) if low >= 0)
    reach = 1 << max(abs(end) for end in (*left, *right)).bit_length()
    return (0, reach - 1) if min(left[0], right[0]) >= 0 else (-reach, reach - 1)


_ARRAY_BITS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
