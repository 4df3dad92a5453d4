"""Conditions under which elements are certainly zero, from `other`, selects and constants.

An undefined element times zero is zero, unless the element is a NaN or an infinity. Floats are
followed only through the ops that kernels usually mask with; all other elements count as nonzero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kvtrace.ir import Op
from kvtrace.ir.constants import constant_of
from kvtrace.ir.ops import FILLING, SPREADING, operator_of
from kvtrace.symbolic.conditions import FALSE, TRUE, Condition, equal
from kvtrace.symbolic.meanings.tt_shape import rearranged
from kvtrace.symbolic.terms import Term

if TYPE_CHECKING:
    from kvtrace.ir import Value
    from kvtrace.symbolic.summary import Summary

_DEEPEST: Final = 24
MaskOf = Callable[[Op], Condition]


class Zeros:
    """Analysis of the zeros of a kernel's values; `mask_of` returns the mask of a load."""

    def __init__(self, summary: Summary, mask_of: MaskOf) -> None:
        self._summary = summary
        self._mask_of = mask_of

    def of(self, value: Value) -> Condition:
        """Return a condition over lanes under which a value is zero, whatever memory holds."""
        return self._of(value, 0.0, _DEEPEST)

    def _of(self, value: Value, number: float, depth: int) -> Condition:
        """Return a condition over lanes under which a value is `number`, 0 or minus infinity."""
        formula = self._summary.values.get(value.id)
        if number == 0 and isinstance(formula, Term):
            return equal(formula)
        if number == 0 and isinstance(formula, Condition):
            return ~formula
        op = value.owner
        if not isinstance(op, Op) or depth <= 0:
            return FALSE
        if op.name in FILLING:
            return self._loaded(op, number, depth)
        operator = operator_of(op)
        if op.name in SPREADING or operator in ("cast", "bitcast"):
            return self._of(op.operand("source"), number, depth - 1)
        if operator in ("expand_dims", "reshape", "trans"):
            rearranged_condition = rearranged(op, self._of(op.operand("source"), number, depth - 1))
            assert isinstance(rearranged_condition, Condition)
            return rearranged_condition
        if operator == "where":
            return self._selected(op, number, depth)
        if number == 0 and operator == "negate":
            return self._of(op.operand("source"), number, depth - 1)
        if number == 0 and operator == "exp":
            return self._of(op.operand("source"), float("-inf"), depth - 1)
        if number == 0 and operator == "*":
            left, right = (self._of(op.operand(n), number, depth - 1) for n in ("left", "right"))
            return left | right
        if number != 0 and operator in ("-", "*"):  # of finite numbers
            return self._of(op.operand("left"), number, depth - 1)
        return TRUE if constant_of(value) == number else FALSE

    def _selected(self, op: Op, number: float, depth: int) -> Condition:
        condition = self._summary.values.get(op.operand("condition").id)
        if not isinstance(condition, Condition):
            return FALSE
        first, second = (
            self._of(op.operand(name), number, depth - 1) for name in ("first", "second")
        )
        return (condition & first) | (~condition & second)

    def _loaded(self, op: Op, number: float, depth: int) -> Condition:
        other = op.optional("other")
        if other is None:
            return FALSE
        return ~self._mask_of(op) & self._of(other, number, depth - 1)
