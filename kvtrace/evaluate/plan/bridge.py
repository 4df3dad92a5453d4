"""Ops planned as calls of the array evaluator's own steps, on whole arrays.

The program axes are flattened to the single leading axis that these steps expect.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kvtrace.evaluate.compiler import outer_slots
from kvtrace.evaluate.errors import Unplannable
from kvtrace.evaluate.plan.meanings import PlanStep
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array, full_array
from kvtrace.ir import Op, Value
from kvtrace.ir.ops import Kind, named

if TYPE_CHECKING:
    from kvtrace.evaluate.plan.steps import PlanCompiler


#: Ops that report their programs, which a plan does not have.
_REPORTING = named(lambda row: row.kind is Kind.REPORT)


def _refuse(_walk: Walk) -> None:
    raise Unplannable("an op asserts or prints for each element")


def array_call_step(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Return a step that emits a call of the array evaluator's step; results have all lanes."""
    if any(nested_op.name in _REPORTING for nested_op in op.walk()):
        return _refuse
    run = compiler.arrays.step(op)
    operands = list(op.operands) + _values_from_outside(op)
    slots = tuple(value.id for value in operands)
    results = tuple(value.id for value in op.results)
    types = [value_type(value.type) for value in op.results]
    size = compiler.module.value_count
    ranks = [len(value_type(value.type).shape) for value in operands]

    def function(*arrays: Array) -> tuple[Array, ...]:
        values: list[Any] = [None] * size
        programs = _programs_of(arrays, ranks)
        for slot, array, rank in zip(slots, arrays, ranks, strict=True):
            values[slot] = _flattened(array, rank, programs)
        run(values, None)  # type: ignore[arg-type]
        return tuple(
            _unflattened(full_array(values[slot], type_), programs)
            for slot, type_ in zip(results, types, strict=True)
        )

    shapes = [type_.shape for type_ in types]
    dtypes = [type_.element.value for type_ in types]

    def step(walk: Walk) -> None:
        registers = [walk.in_register(walk.values[slot]) for slot in slots]
        for slot, value in zip(
            results, walk.call(function, registers, shapes, dtypes), strict=True
        ):
            walk.values[slot] = value

    return step


def _values_from_outside(op: Op) -> list[Value]:
    captured: dict[int, Value] = {}
    for region in op.regions:
        for block in region.blocks:
            outer = outer_slots(block)
            for inner in block.ops:
                for nested_op in inner.walk():
                    captured.update((v.id, v) for v in nested_op.operands if v.id in outer)
    return list(captured.values())


def _programs_of(arrays: tuple[Array, ...], ranks: list[int]) -> tuple[int, ...]:
    """Return the broadcast extents of the arrays' program axes, which precede the lanes."""
    count = arrays[0].ndim - ranks[0]
    return tuple(max(array.shape[axis] for array in arrays) for axis in range(count))


def _flattened(array: Array, rank: int, programs: tuple[int, ...]) -> Array:
    """Return an array with one program axis before `rank` lane axes; extent 1 if constant."""
    count = array.ndim - rank
    program_extents, lanes = array.shape[:count], array.shape[count:]
    if all(extent == 1 for extent in program_extents):
        return array.reshape(1, *lanes)
    spread = np.broadcast_to(array, (*programs, *lanes))
    return spread.reshape(math.prod(programs), *lanes)


def _unflattened(array: Array, programs: tuple[int, ...]) -> Array:
    lanes = array.shape[1:]
    if array.shape[0] == 1:
        return array.reshape(*(1,) * len(programs), *lanes)
    return array.reshape(*programs, *lanes)
