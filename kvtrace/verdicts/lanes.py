"""Lanes of an access, traced back to the operands of its address and mask."""

from __future__ import annotations

from math import prod

from kvtrace.ir import Op, Value
from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.ir.ops import operator_of
from kvtrace.symbolic.functions import quotient, remainder
from kvtrace.symbolic.terms import ZERO, Term, lane
from kvtrace.symbolic.walk_types import number_of, shape_of

Lanes = tuple[Term, ...] | None
"""The index along each axis of a value, in terms of the access's lanes; None: not known."""


def own_lanes(value: Value) -> tuple[Term, ...]:
    """Return a value's own lane symbols, one per axis."""
    return tuple(lane(axis, extent) for axis, extent in enumerate(shape_of(value.type)))


def lanes_before(op: Op, lanes: Lanes) -> Lanes:
    """Return the lanes of the operand that an op rearranges, from the lanes of its result."""
    if lanes is None:
        return None
    operator = operator_of(op)
    if operator == "expand_dims":
        axis = number_of(op, "axis")
        return lanes[:axis] + lanes[axis + 1 :]
    source, target = shape_of(op.operand("source").type), shape_of(op.results[0].type)
    if operator == "trans":
        order = op.attributes.get("order")
        if not isinstance(order, DenseArrayAttribute):
            return None
        axes = [int(axis) for axis in order.values]
        return tuple(lanes[axes.index(axis)] for axis in range(len(source)))
    linear = ZERO
    for extent, index in zip(target, lanes, strict=True):
        linear = linear * extent + index
    return tuple(
        remainder(quotient(linear, prod(source[axis + 1 :])), extent)
        for axis, extent in enumerate(source)
    )


def lanes_of_operand(operand: Value, op: Op, lanes: Lanes) -> Lanes:
    """Return the lanes of an operand of an elementwise op; None: the op moves elements."""
    if operator_of(op) in ("join", "split", "cat"):
        return None
    return lanes if shape_of(operand.type) else ()
