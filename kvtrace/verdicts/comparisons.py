"""Comparisons of integers that may wrap around, alone and in masks.

Of `(x >= 0) & (x < n)`, a number of 2^31, which wraps to -2^31, changes both comparisons, and
leaves the two together false: a mask is right if its comparisons of one number together are.
"""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct

from kvtrace.evaluate.shadows.ideal import FIRST_UNSIGNED
from kvtrace.ir import Op, Value
from kvtrace.ir.flow import constant_of
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import MOVING, operator_of
from kvtrace.ir.types import integer_bits
from kvtrace.symbolic.bits import wrapped
from kvtrace.symbolic.conditions import Condition, at_least, conjunction
from kvtrace.symbolic.meanings.arith import comparison
from kvtrace.symbolic.terms import Term, signed_range


class Compared(Struct, frozen=True):
    """A signed comparison of integers of which one may wrap around.

    `value` is an operand that may wrap, and `term` its ideal number. `ideal` and `actual` are what
    is compared before and after wrapping, and `fits` says that nothing wraps.
    """

    value: Value
    term: Term
    ideal: Condition
    actual: Condition
    fits: Condition


def is_unsigned(op: Op) -> bool:
    """Return whether a comparison reads its operands as unsigned."""
    return number_of(op, "predicate") >= FIRST_UNSIGNED


def compared(op: Op, left: Term | None, right: Term | None) -> Compared | None:
    """Return a comparison of two terms, None if it is unsigned, or nothing may wrap."""
    bits = integer_bits(op.operand("left").type)
    if left is None or right is None or bits is None or bits == 1 or is_unsigned(op):
        return None
    actual_left, actual_right = (wrapped(term, bits, signed=True) for term in (left, right))
    if (actual_left, actual_right) == (left, right):
        return None
    predicate = number_of(op, "predicate")
    ideal = comparison(left, right, predicate, bits)
    actual = comparison(actual_left, actual_right, predicate, bits)
    if ideal is None or actual is None:
        return None
    low, high = signed_range(bits)
    fits = conjunction(
        bound for term in (left, right) for bound in (at_least(term, low), at_least(high - term))
    )
    if actual_left == left:
        return Compared(op.operand("right"), right, ideal, actual, fits)
    return Compared(op.operand("left"), left, ideal, actual, fits)


def compared_together(mask: Value | None) -> dict[int, tuple[Op, ...]]:
    """Return the comparisons of a mask that all have to hold, by index: those of one number."""
    groups: dict[tuple[int, int], list[Op]] = defaultdict(list)
    pending, roots = [] if mask is None else [(mask, 0)], 0
    while pending:
        value, root = pending.pop()
        op = value.owner
        if not isinstance(op, Op):
            continue
        if operator_of(op) == "&":
            pending += [(operand, root) for operand in op.operands]
        elif op.name in MOVING:
            roots += 1
            pending += [(operand, roots) for operand in op.operands]
        elif operator_of(op) == "compare":
            left, right = op.operand("left"), op.operand("right")
            groups[root, (left if constant_of(left) is None else right).id].append(op)
    return {op.index: tuple(group) for group in groups.values() for op in group}
