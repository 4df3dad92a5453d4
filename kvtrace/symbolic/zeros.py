"""Where an element is zero because the kernel says so: by `other`, by select, by a constant.

What is undefined and multiplied by such a zero is zero, unless it is a NaN or an infinity. A float
is followed here through the ops that masks are mostly made with; what is not is not zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kvtrace.ir import Op
from kvtrace.ir.attributes import DenseAttribute, FloatAttribute, IntegerAttribute
from kvtrace.symbolic.conditions import FALSE, TRUE, Condition, equal
from kvtrace.symbolic.meanings.tt_shape import relaned, reshaped
from kvtrace.symbolic.terms import Term, lane
from kvtrace.symbolic.walk_types import number_of, shape_of

if TYPE_CHECKING:
    from kvtrace.ir import Value
    from kvtrace.symbolic.summary import Summary

_DEEPEST: Final = 24
_SAME: Final = frozenset(
    {"tt.splat", "tt.broadcast", "ttg.convert_layout", "arith.truncf", "arith.extf",
     "tt.fp_to_fp", "arith.extsi", "arith.extui", "arith.trunci", "arith.bitcast", "tt.bitcast",
     "arith.sitofp", "arith.uitofp", "arith.negf"}
)  # fmt: skip
_EXPONENTIALS: Final = ("math.exp", "math.exp2")
MaskOf = Callable[[Op], Condition]


class Zeros:
    """The zeros of a kernel's values; `mask_of` gives the mask of a load."""

    def __init__(self, summary: Summary, mask_of: MaskOf) -> None:
        self._summary = summary
        self._mask_of = mask_of

    def of(self, value: Value) -> Condition:
        """Return where a value is zero for all contents of memory."""
        return self._of(value, 0.0, _DEEPEST)

    def _of(self, value: Value, number: float, deep: int) -> Condition:
        """Return where a value is `number`: 0 or minus infinity."""
        known = self._summary.values.get(value.id)
        if number == 0 and isinstance(known, Term):
            return equal(known)
        if number == 0 and isinstance(known, Condition):
            return ~known
        op = value.owner
        if not isinstance(op, Op) or deep <= 0:
            return FALSE
        if op.name == "arith.constant":
            return TRUE if _constant(op) == number else FALSE
        if op.name in _SAME and (number == 0 or op.name != "arith.negf"):
            return self._of(op.operand("source"), number, deep - 1)
        if op.name == "arith.select":
            return self._selected(op, number, deep)
        if op.name == "tt.load":
            return self._loaded(op, number, deep)
        if op.name in ("tt.expand_dims", "tt.reshape", "tt.trans"):
            return self._moved(op, number, deep)
        if number == 0 and op.name in _EXPONENTIALS:
            return self._of(op.operand("source"), float("-inf"), deep - 1)
        if number == 0 and op.name == "arith.mulf":
            first, second = (self._of(each, number, deep - 1) for each in op.operands)
            return first | second
        if number != 0 and op.name in ("arith.subf", "arith.mulf"):  # of finite numbers
            return self._of(op.operand("left"), number, deep - 1)
        return FALSE

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

    def _moved(self, op: Op, number: float, deep: int) -> Condition:
        found = self._of(op.operand("source"), number, deep - 1)
        moved = rearranged(op, found)
        return FALSE if moved is None else moved


def rearranged(op: Op, condition: Condition) -> Condition | None:
    """Return a condition over an op's operand as one over its result; None: the op does more."""
    source, target = shape_of(op.operand("source").type), shape_of(op.results[0].type)
    if op.name == "tt.reshape":
        moved = reshaped(condition, source, target)
    elif op.name == "tt.expand_dims":
        axis = number_of(op, "axis")
        places = [lane(i + 1, n) if i >= axis else None for i, n in enumerate(source)]
        moved = relaned(condition, source, places)
    elif op.name == "tt.trans":
        order = [int(axis) for axis in getattr(op.attributes.get("order"), "values", ())]
        order = order or list(range(len(source)))[::-1]
        moved = relaned(condition, source, [lane(order.index(i), n) for i, n in enumerate(source)])
    else:
        return None
    assert isinstance(moved, Condition)
    return moved


def _constant(op: Op) -> float | None:
    attribute = op.attributes.get("value")
    if isinstance(attribute, DenseAttribute):
        return float(attribute.values[0]) if attribute.is_splat else None
    if isinstance(attribute, IntegerAttribute | FloatAttribute):
        return float(attribute.value)
    return None
