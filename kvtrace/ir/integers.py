"""Laws of integers of a width, the same for arrays, plans and formulas."""

from collections.abc import Iterator
from functools import cache
from typing import Final

PREDICATES: Final = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""What integers are compared by, in the order of MLIR's numbers for it."""


@cache
def signed_range(bits: int) -> tuple[int, int]:
    """Return the least and the greatest signed integer of a width (of 1 bit: 0 and 1)."""
    return (0, 1) if bits == 1 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def wrapped(number: int, bits: int) -> int:
    """Return what a signed integer of so many bits holds of a number, as two's complement does."""
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


def laps(first: int, end: int, step: int, bits: int) -> Iterator[range]:
    """Return the counters of a counted loop in order: a range until each time that they wrap.

    Compiled code compares `counter < end` before a trip, signed, and adds the step after it in the
    counter's width, whatever its sign: `laps(100, 120, 50, bits=8)` is 100, then -106, -56, -6, 44,
    94, and then -112, and so on. A loop whose counters come again never ends, nor does this.
    """
    low, high = signed_range(bits)
    while first < end:
        limit = end if step > 0 else low - 1 if step < 0 else first + 1
        lap = range(first, limit, step or 1)
        yield lap
        after = lap[-1] + step
        if step > 0 and after <= high:
            return
        first = wrapped(after, bits)


def wraps_around(first: int, end: int, step: int, bits: int) -> bool:
    """Say whether the counter of a counted loop wraps around, or (step 0) never grows."""
    if first >= end:
        return False
    return step <= 0 or range(first, end, step)[-1] + step > signed_range(bits)[1]


def divided(dividend: int, divisor: int, *, floor: bool = False) -> int:
    """Divide toward zero, or (`floor`) down; by 0 the quotient is 0."""
    if divisor == 0:
        return 0
    if floor or (dividend >= 0) == (divisor > 0):
        return dividend // divisor
    return -(abs(dividend) // abs(divisor))


def decided(predicate: str, low: int, high: int) -> bool | None:
    """Say what a signed comparison gives by the range of left - right; None: one or the other."""
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
