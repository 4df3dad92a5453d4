"""Arithmetic on integers of a fixed width, for arrays and formulas."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

PREDICATES: Final = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Names of integer comparisons, indexed by MLIR's numbers."""


@cache
def signed_range(bits: int) -> tuple[int, int]:
    """Return the smallest and largest signed integer of a width; (0, 1) for 1 bit."""
    return (0, 1) if bits == 1 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def wrapped(number: int, bits: int) -> int:
    """Return a number wrapped to a signed integer of `bits` bits, in two's complement."""
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


def counter_ranges(first: int, end: int, step: int, bits: int) -> Iterator[range]:
    """Yield the counters of a counted loop in order, as one range per wrap-around.

    Compiled code compares `counter < end`, signed, before a trip, and afterwards adds the step in
    the counter's width, whatever the step's sign: `counter_ranges(100, 120, 50, bits=8)` is 100,
    then -106, -56, -6, 44, 94, then -112, and so on. If counters repeat, neither the loop nor this
    generator ends.
    """
    low, high = signed_range(bits)
    while first < end:
        limit = end if step > 0 else low - 1 if step < 0 else first + 1
        counters = range(first, limit, step or 1)
        yield counters
        after = counters[-1] + step
        if step > 0 and after <= high:
            return
        first = wrapped(after, bits)


def wraps_around(first: int, end: int, step: int, bits: int) -> bool:
    """Return whether a loop's counter wraps around, or never grows (step 0)."""
    if first >= end:
        return False
    return step <= 0 or range(first, end, step)[-1] + step > signed_range(bits)[1]


def product_range(factors: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the range of a product of integers; (1, 1) without factors."""
    if not factors:
        return 1, 1
    low, high = factors[0]
    for first, last in factors[1:]:
        ends = (low * first, low * last, high * first, high * last)
        low, high = min(ends), max(ends)
    return low, high


def divided(dividend: int, divisor: int, *, floor: bool = False) -> int:
    """Return a quotient rounded toward zero, or down with `floor`; 0 for a division by 0."""
    if divisor == 0:
        return 0
    if floor or (dividend >= 0) == (divisor > 0):
        return dividend // divisor
    return -(abs(dividend) // abs(divisor))


def decided(predicate: str, low: int, high: int) -> bool | None:
    """Return the result of a signed comparison, given the range of left - right; None if open."""
    if predicate in ("slt", "sge"):
        outcome = True if high < 0 else False if low >= 0 else None
        return outcome if predicate == "slt" or outcome is None else not outcome
    if predicate in ("sle", "sgt"):
        outcome = True if high <= 0 else False if low > 0 else None
        return outcome if predicate == "sle" or outcome is None else not outcome
    if low > 0 or high < 0:
        return predicate == "ne"
    if low == high == 0:
        return predicate == "eq"
    return None
