"""Meanings of casts of `arith` and `tt`: changes of width, and reinterpretations of bits."""

from __future__ import annotations

import math

from kvtrace.ir import Op
from kvtrace.ir.types import integer_bits
from kvtrace.symbolic.conditions import Condition, equal
from kvtrace.symbolic.functions import choice, remainder
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.arith import signed, unsigned
from kvtrace.symbolic.meanings.float_ranges import float_range
from kvtrace.symbolic.terms import signed_range
from kvtrace.symbolic.walk import Walk


@meaning("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui")
def change_width(walk: Walk, op: Op) -> None:
    """Set the result to the same number, wrapped if the width becomes smaller."""
    source, target = op.operand("source"), op.results[0]
    before, after = integer_bits(source.type) or 64, integer_bits(target.type) or 64
    as_unsigned = op.name in ("arith.extui", "arith.index_castui")
    if before == 1:
        condition = walk.condition(source)
        walk.set(target, choice(condition, 1 if as_unsigned else -1, 0))
        return
    number = walk.term(source)
    if after == 1:
        walk.set(target, ~equal(remainder(number, 2, floor=True)))
    elif after < before:
        walk.set(target, signed(number, after))
    else:
        walk.set(target, unsigned(number, before) if as_unsigned else number)


@meaning("arith.bitcast", "tt.bitcast")
def same_bits(walk: Walk, op: Op) -> None:
    """Set the result to the same pointer or integer; the bits of floats are unknown."""
    formula = walk.formula(op.operand("source"))
    before, after = (integer_bits(value.type) for value in (op.operand("source"), op.results[0]))
    if formula is None or (before != after and after is not None):
        if isinstance(formula, Condition) and after == 8:
            walk.set(op.results[0], choice(formula, 1, 0))
            return
        walk.set_unknown(op.results[0], op, "the bits of a float")
    elif before == after:
        walk.set(op.results[0], formula)


@meaning("arith.fptosi", "arith.fptoui")
def from_float(walk: Walk, op: Op) -> None:
    """Set the result to an unknown integer, in the range of a float that the kernel clamps."""
    result = op.results[0]
    low, high = signed_range(integer_bits(result.type) or 64)
    floats = float_range(op.operand("source"))
    bounds = None
    if floats is not None and low - 1 < floats[0] and floats[1] < high + 1:
        bounds = math.trunc(floats[0]), math.trunc(floats[1])
    walk.set_unknown(result, op, "an integer made of a float", bounds)
