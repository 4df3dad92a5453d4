"""Lanes of an access expressed for the operands of its address and mask."""

from __future__ import annotations

from kvtrace.ir import Op, Value
from kvtrace.ir.ops import operator_of
from kvtrace.ir.types import shape_of
from kvtrace.symbolic.meanings.tt_shape import source_indices
from kvtrace.symbolic.terms import ZERO, Term

Lanes = tuple[Term, ...] | None
"""The index along each axis of a value as terms of the access's lanes; None if unknown."""


def lanes_before(op: Op, lanes: Lanes) -> Lanes:
    """Return the indices of a rearranging op's operand, given its result's; None if unknown."""
    return None if lanes is None else source_indices(op, 0, lanes)


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
