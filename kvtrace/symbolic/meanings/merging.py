"""Formulas of values from one of two branches, and rewriting of formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kvtrace.ir.types import shape_of
from kvtrace.symbolic.conditions import Condition, at_least, conjunction
from kvtrace.symbolic.functions import Choice, choice
from kvtrace.symbolic.summary import BlockPointer, Formula, Pointer, limited
from kvtrace.symbolic.terms import Substitution, Term

if TYPE_CHECKING:
    from kvtrace.ir import Op, Value
    from kvtrace.symbolic.walk import Walk


def chosen(
    walk: Walk,
    op: Op,
    value: Value,
    condition: Condition,
    first: Formula | None,
    second: Formula | None,
) -> Formula | None:
    """Return `first` where a condition holds and `second` elsewhere, as one formula, or unknown."""
    if condition.decided is not None:
        return first if condition.decided else second
    if first is not None and same(first, second):
        return first
    if isinstance(first, Term) and isinstance(second, Term):
        return choice(condition, first, second)
    if isinstance(first, Condition) and isinstance(second, Condition):
        return (condition & first) | (~condition & second)
    if isinstance(first, Pointer) and isinstance(second, Pointer):
        return _merged_pointer(condition, first, second, shape_of(value.type))
    if isinstance(first, BlockPointer) and isinstance(second, BlockPointer):
        return _merged_block_pointer(condition, first, second)
    if first is None and second is None:
        return None
    return walk.unknown_formula(value, op, "one of two values that are not followed")


def same(first: Formula, second: Formula | None) -> bool:
    """Return whether two formulas are equal; pointers without a known argument never are."""
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


def _merged_pointer(
    condition: Condition, first: Pointer, second: Pointer, shape: tuple[int, ...]
) -> Pointer:
    branches = ((condition, first), (~condition, second))
    return limited(
        [
            replace(option, condition=conjunction((branch_condition, option.condition)))
            for branch_condition, pointer in branches
            for option in pointer.choices
        ],
        shape,
    )


def _merged_block_pointer(
    condition: Condition, first: BlockPointer, second: BlockPointer
) -> BlockPointer:
    def pairs(left: tuple[Term, ...], right: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(choice(condition, a, b) for a, b in zip(left, right, strict=True))

    return BlockPointer(
        _merged_pointer(condition, first.base, second.base, ()),
        pairs(first.extents, second.extents),
        pairs(first.strides, second.strides),
        pairs(first.positions, second.positions),
    )


def rewritten(formula: Formula, substitution: Substitution) -> Formula:
    """Return a formula with atoms of its terms replaced."""
    if isinstance(formula, Term):
        return substitution(formula)
    if isinstance(formula, Condition):
        return formula.substitute(substitution)
    if isinstance(formula, Pointer):
        return Pointer(
            tuple(
                replace(
                    option,
                    offset=substitution(option.offset),
                    condition=option.condition.substitute(substitution),
                )
                for option in formula.choices
            ),
            formula.shape,
        )
    base = rewritten(formula.base, substitution)
    assert isinstance(base, Pointer)
    return BlockPointer(
        base,
        tuple(map(substitution, formula.extents)),
        tuple(map(substitution, formula.strides)),
        tuple(map(substitution, formula.positions)),
    )


def as_number(condition: Condition) -> Term:
    """Return the term that is 1 where a condition holds, else 0."""
    return choice(condition, 1, 0)


def as_truth(number: Term) -> Condition:
    """Return the condition that a term, 0 or 1, is 1."""
    if len(number.coefficients) == 1:
        ((monomial, coefficient),) = number.coefficients.items()
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Choice):
            only_choice = monomial[0]
            if only_choice.then == 1 and only_choice.otherwise == 0:
                return only_choice.condition
    return at_least(number, 1)
