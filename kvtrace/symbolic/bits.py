"""Widths and bits: integers wrapped to a width, and bitwise ops.

As in `functions`, the lower-case functions return the simplest correct term, and make an atom only
if there is no polynomial.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from kvtrace.symbolic.functions import Applied, multiples, quotient, remainder, single
from kvtrace.symbolic.terms import ZERO, Evaluation, Substitution, Term, as_term, signed_range

BitOperator = Literal["and", "or", "xor", "shl", "shr"]


def wrapped(term: Term | int, bits: int, *, signed: bool) -> Term:
    """Return an ideal value modulo 2^bits, as a signed or unsigned number."""
    inner = as_term(term)
    low, high = signed_range(bits) if signed and bits > 1 else (0, (1 << bits) - 1)
    if low <= inner.low and inner.high <= high:
        return inner
    if (number := inner.constant) is not None:
        return as_term((number - low) % (1 << bits) + low)
    atom = single(inner)
    if isinstance(atom, Wrap) and atom.bits >= bits:
        return wrapped(atom.arguments[0], bits, signed=signed)
    return Wrap((inner,), bits, signed).term


class Wrap(Applied):
    """Its argument modulo 2^bits, as a signed or unsigned number; `settings` are both."""

    __slots__ = ()

    @property
    def bits(self) -> int:
        """The width."""
        return int(self.settings[0])

    @property
    def signed(self) -> bool:
        """The result is a signed number."""
        return bool(self.settings[1])

    def substituted(self, substitution: Substitution) -> Term:
        """Return the wrapped substituted argument."""
        return wrapped(substitution(self.arguments[0]), self.bits, signed=self.signed)

    def compute(self, evaluation: Evaluation) -> Any:
        """Return wrapped numbers."""
        low = self._bounds()[0]
        number = evaluation(self.arguments[0])
        if evaluation.arrays and self.bits == 64:
            return number  # arrays have 64 bits
        return (number - low) % (1 << self.bits) + low

    def _bounds(self) -> tuple[int, int]:
        return signed_range(self.bits) if self.signed else (0, (1 << self.bits) - 1)


def bitwise(operator: BitOperator, left: Term | int, right: Term | int, bits: int) -> Term:
    """Return a bitwise op of signed integers of a width.

    `shl` does not wrap; `shr` keeps the sign. Shifts by a negative number, or by the width or more,
    give 0 (`shr`: the sign), as in `kvtrace.evaluate`.
    """
    first, second = as_term(left), as_term(right)
    one, other = first.constant, second.constant
    if one is not None and other is not None:
        return as_term(_bits_of(operator, one, other, bits))
    if operator in ("shl", "shr"):
        if other is None:
            return Bitwise((first, second), operator, bits).term
        if operator == "shl":
            return first * (1 << other) if 0 <= other < bits else ZERO
        return quotient(first, 1 << (other if 0 <= other < bits else bits - 1), floor=True)
    if one is not None:
        first, other = second, one
    if other is not None:
        simpler = _with_number(operator, first, other)
        if simpler is not None:
            return simpler
        second = as_term(other)
    elif first == second:
        return ZERO if operator == "xor" else first
    return Bitwise((first, second), operator, bits).term


def _with_number(operator: str, term: Term, number: int) -> Term | None:
    """Return a simpler term for an op with a constant, as a remainder for a mask, or None."""
    if operator == "and":
        if number == -1:
            return term
        if number >= 0 and not number & (number + 1):
            return remainder(term, number + 1, floor=True)
        if number < 0 and not -number & (-number - 1):
            return term - remainder(term, -number, floor=True)
        return None
    if number == 0:
        return term
    if operator == "xor" and number == -1:
        return -term - 1
    inner = single(term)
    if operator == "xor" and isinstance(inner, Bitwise) and inner.operator == "xor":
        first, second = inner.arguments
        if second.constant is not None:
            return bitwise("xor", first, second.constant ^ number, inner.bits)
    if number > 0:
        beyond = 1 << number.bit_length()
        if multiples(term, beyond)[1] == 0:
            return term + number
        lowest = number & -number
        if term.low >= 0 and term.high < lowest:
            return term + number
    return None


def _bits_of(operator: str, left: int, right: int, bits: int) -> int:
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
        """The operator."""
        name: BitOperator = self.settings[0]
        return name

    @property
    def bits(self) -> int:
        """The width of the operands."""
        return int(self.settings[1])

    def substituted(self, substitution: Substitution) -> Term:
        """Return the op of the substituted arguments."""
        left, right = (substitution(term) for term in self.arguments)
        return bitwise(self.operator, left, right, self.bits)

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the op of numbers."""
        left, right = (evaluation(term) for term in self.arguments)
        if not evaluation.arrays:
            return _bits_of(self.operator, left, right, self.bits)
        if self.operator in ("shl", "shr"):
            inside = (right >= 0) & (right < self.bits)
            if self.operator == "shl":
                return np.where(inside, np.left_shift(left, np.where(inside, right, 0)), 0)
            return np.right_shift(left, np.where(inside, right, self.bits - 1))
        return _ARRAY_BITS[self.operator](left, right)

    def _bounds(self) -> tuple[int, int]:
        left, right = self.arguments
        if self.operator == "shl":
            most = min(max(right.high, 0), self.bits - 1)
            return min(left.low << most, left.low, 0), max(left.high << most, left.high, 0)
        if self.operator == "shr":
            return min(left.low, 0), max(left.high, 0)
        lows = (left.low, right.low)
        if self.operator == "and" and max(lows) >= 0:
            return 0, min(term.high for term in self.arguments if term.low >= 0)
        widest = max(abs(end) for term in self.arguments for end in (term.low, term.high))
        reach = 1 << widest.bit_length()
        return (0, reach - 1) if min(lows) >= 0 else (-reach, reach - 1)


_ARRAY_BITS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
