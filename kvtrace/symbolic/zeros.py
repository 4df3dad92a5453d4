"""Elements that are certainly zero: by `other`, by select, or by a constant.

An undefined element times such a zero is zero, unless it is a NaN or an infinity. The analysis
follows floats through the ops that kernels mostly mask with; all other elements count as nonzero.
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
    """The zeros of a kernel's values; `mask_of` returns the mask of a load."""

    def __init__(self, summary: Summary, mask_of: MaskOf) -> None:
        self._summary = summary
        self._mask_of = mask_of

    def of(self, value: Value) -> Condition:
        """Return the condition over lanes that a value is zero for all contents of memory."""
        return self._of(value, 0.0, _DEEPEST)

    def _of(self, value: Value, number: float, deep: int) -> Condition:
        """Return the condition over lanes that a value is `number`: 0 or minus infinity."""
        formula = self._summary.values.get(value.id)
        if number == 0 and isinstance(formula, Term):
            return equal(formula)
        if number == 0 and isinstance(formula, Condition):
            return ~formula
        op = value.owner
        if not isinstance(op, Op) or deep <= 0:
            return FALSE
        if op.name in FILLING:
            return self._loaded(op, number, deep)
        operator = operator_of(op)
        if op.name in SPREADING or operator in ("cast", "bitcast"):
            return self._of(op.operand("source"), number, deep - 1)
        if operator in ("expand_dims", "reshape", "trans"):
            moved = rearranged(op, self._of(op.operand("source"), number, deep - 1))
            assert isinstance(moved, Condition)
            return moved
        if operator == "where":
            return self._selected(op, number, deep)
        if number == 0 and operator == "negate":
            return self._of(op.operand("source"), number, deep - 1)
        if number == 0 and operator == "exp":
            return self._of(op.operand("source"), float("-inf"), deep - 1)
        if number == 0 and operator == "*":
            left, right = (self._of(op.operand(n), number, deep - 1) for n in ("left", "right"))
            return left | right
        if number != 0 and operator in ("-", "*"):  # of finite numbers
            return self._of(op.operand("left"), number, deep - 1)
        return TRUE if constant_of(value) == number else FALSE

    def _selected(self, op: Op, number: float, deep: int) -> Condition:
        condition = self._summary.values.get(op.operand("condition").id)
        if not isinstance(condition, Condition):
            return FALSE
        first, second = (
            self._of(op.operand(name), number, deep - 1) for name in ("first", "second")
        )
        return (condition & first) | (~condition & second)

    def _loaded(self, op: Op, number: float, deep: int) -> Condition:
        other = op.optional("other")
        if other is None:
            return FALSE
        return ~self._mask_of(op) & self._of(other, number, deep - 1)
