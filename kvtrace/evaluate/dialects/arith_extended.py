"""`arith`: integer ops with two results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import Compiler
from kvtrace.evaluate.dialects.arith import unsigned
from kvtrace.evaluate.dialects.tt_elementwise import high_half_signed, mulhiui
from kvtrace.evaluate.registry import Step, semantics
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array, to_array, unknown_of
from kvtrace.ir import Op


def _two_results(
    op: Op, compiler: Compiler, function: Callable[[Array, Array], tuple[Array, Array]]
) -> Step:
    """Return the step of an op whose two results `function` computes from both operands."""
    type_ = value_type(op.operand("left").type)
    left, right = op.operand("left").id, op.operand("right").id
    low_slot, high_slot = op.results[0].id, op.results[1].id

    def step(values: list[Any], _scope: Scope) -> None:
        unknown = unknown_of((values[left], values[right]))
        if unknown is not None:
            values[low_slot] = values[high_slot] = unknown
            return
        values[low_slot], values[high_slot] = function(
            to_array(values[left], type_), to_array(values[right], type_)
        )

    return compiler.counting_step(op, step, type_.size, 0)


def sum_and_carry(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the sum of unsigned integers, and where it exceeds the width."""
    total = unsigned(left) + unsigned(right)
    return total.view(left.dtype), np.asarray(total < unsigned(left))


def low_and_high_unsigned(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the low and the high half of the unsigned product."""
    left, right = np.broadcast_arrays(left, right)
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    return np.asarray(left * right), mulhiui(left, right)


def low_and_high_signed(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the low and the high half of the signed product."""
    return np.asarray(left * right), high_half_signed(left, right)


@semantics("arith.addui_extended")
def addui_extended(op: Op, compiler: Compiler) -> Step:
    """Return the step of an unsigned addition with carry."""
    return _two_results(op, compiler, sum_and_carry)


@semantics("arith.mului_extended")
def mului_extended(op: Op, compiler: Compiler) -> Step:
    """Return the step of an unsigned product of twice the width."""
    return _two_results(op, compiler, low_and_high_unsigned)


@semantics("arith.mulsi_extended")
def mulsi_extended(op: Op, compiler: Compiler) -> Step:
    """Return the step of a signed product of twice the width."""
    return _two_results(op, compiler, low_and_high_signed)
