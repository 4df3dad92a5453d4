"""Formulas of values that come from one of two branches, and rewriting of formulas."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvtrace.symbolic.conditions import Condition, at_least, conjunction
from kvtrace.symbolic.functions import Choice, choice
from kvtrace.symbolic.pointers import limited
from kvtrace.symbolic.summary import BlockPointer, Known, Pointer
from kvtrace.symbolic.terms import Substitution, Term
from kvtrace.symbolic.walk_types import shape_of

if TYPE_CHECKING:
    from kvtrace.ir import Op, Value
    from kvtrace.symbolic.walk import Walk


def chosen(
    walk: Walk,
    op: Op,
    value: Value,
    condition: Condition,
    first: Known | None,
    second: Known | None,
) -> Known | None:
    """Return the first of two formulas where a condition holds, and the second elsewhere."""
    if condition.decided is not None:
        return first if condition.decided else second
    if first is not None and same(first, second):
        return first
    if isinstance(first, Term) and isinstance(second, Term):
        return choice(condition, first, second)
    if isinstance(first, Condition) and isinstance(second, Condition):
        return (condition & first) | (~condition & second)
    if isinstance(first, Pointer) and isinstance(second, Pointer):
        return _of_both(condition, first, second, shape_of(value.type))
    if isinstance(first, BlockPointer) and isinstance(second, BlockPointer):
        return _block_of_both(condition, first, second)
    if first is None and second is None:
        return None
    return walk.unknown_of(value, op, "one of two values that are not followed")


def same(first: Known, second: Known | None) -> bool:
    """Return whether two values have the same formula."""
    if first is second:
        return True
    if isinstance(first, Pointer) and isinstance(second, Pointer):
        return len(first.choices) == len(second.choices) and all(
            a.argument is not None
            and a.argument == b.argument
            and a.offset == b.offset
            and a.condition == b.condition
            for a, b in zip(first.choices, second.choices, strict=True)
        )
    if isinstance(first, BlockPointer) and isinstance(second, BlockPointer):
        return same(first.base, second.base) and (
            (first.extents, first.strides, first.positions)
            == (second.extents, second.strides, second.positions)
        )
    return isinstance(first, Term | Condition) and first == second


def _of_both(
    condition: Condition, first: Pointer, second: Pointer, shape: tuple[int, ...]
) -> Pointer:
    ways = ((condition, first), (~condition, second))
    return limited(
        [
            replace(option, condition=conjunction((way, option.condition)))
            for way, pointer in ways
            for option in pointer.choices
        ],
        shape,
    )


def _block_of_both(condition: Condition, first: BlockPointer, second: BlockPointer) -> BlockPointer:
    def pairs(left: tuple[Term, ...], right: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(choice(condition, a, b) for a, b in zip(left, right, strict=True))

    return BlockPointer(
        _of_both(condition, first.base, second.base, ()),
        pairs(first.extents, second.extents),
        pairs(first.strides, second.strides),
        pairs(first.positions, second.positions),
    )


def rewritten(known: Known, substitution: Substitution) -> Known:
    """Return a formula with atoms of its terms replaced."""
    if isinstance(known, Term):
        return substitution(known)
    if isinstance(known, Condition):
        return known.substitute(substitution)
    if isinstance(known, Pointer):
        return Pointer(
            tuple(
                replace(
                    option,
                    offset=substitution(option.offset),
                    condition=option.condition.substitute(substitution),
                )
                for option in known.choices
            ),
            known.shape,
        )
    base = rewritten(known.base, substitution)
    assert isinstance(base, Pointer)
    return BlockPointer(
        base,
        tuple(map(substitution, known.extents)),
        tuple(map(substitution, known.strides)),
        tuple(map(substitution, known.positions)),
    )


def as_number(condition: Condition) -> Term:
    """Return a Boolean as a term: 0 or 1."""
    return choice(condition, 1, 0)


def as_truth(number: Term) -> Condition:
    """Return the Boolean of a term that is 0 or 1."""
    if len(number.coefficients) == 1:
        ((monomial, coefficient),) = number.coefficients.items()
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Choice):
            held = monomial[0]
            if held.then == 1 and held.otherwise == 0:
                return held.condition
    return at_least(number, 1)
