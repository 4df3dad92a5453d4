"""Lanes of an access expressed for the operands of its address and mask."""

from __future__ import annotations

from math import prod

from kvtrace.ir import Op, Value
from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import operator_of
from kvtrace.ir.types import shape_of
from kvtrace.symbolic.functions import quotient, remainder
from kvtrace.symbolic.terms import ZERO, Term, lane

Lanes = tuple[Term, ...] | None
"""The index along each axis of a value as terms of the access's lanes; None if unknown."""


def own_lanes(value: Value) -> tuple[Term, ...]:
    """Return a tuple with the lane symbol of each axis of a value."""
    return tuple(lane(axis, extent) for axis, extent in enumerate(shape_of(value.type)))


def lanes_before(op: Op, lanes: Lanes) -> Lanes:
    """Return the indices of a rearranging op's operand, given its result's; None if unknown."""
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
    linear_index = ZERO
    for extent, index in zip(target, lanes, strict=True):
        linear_index = linear_index * extent + index
    return tuple(
        remainder(quotient(linear_index, prod(source[axis + 1 :])), extent)
        for axis, extent in enumerate(source)
    )


def lanes_of_operand(operand: Value, op: Op, lanes: Lanes) -> Lanes:
    """Return the indices of an elementwise op's operand; None for joins, splits and cats."""
    if operator_of(op) in ("join", "split", "cat"):
        return None
    return lanes if shape_of(operand.type) else ()


def broadcast_lanes(operand: Value, lanes: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return the lanes of an operand of equal or broadcast positions."""
    shape = shape_of(operand.type)
    if len(shape) != len(lanes):
        return (ZERO,) * len(shape)
    return tuple(
        ZERO if extent == 1 else lane_term for extent, lane_term in zip(shape, lanes, strict=True)
    )
