"""`tt`: atomics. Lanes and programs take effect in ascending order."""

from __future__ import annotations

from typing import Any

from kvtrace.evaluate.atomics import NAMES, compare_and_swap, read_modify_write
from kvtrace.evaluate.compiler import Compiler, attribute
from kvtrace.evaluate.registry import Step, semantics
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array, Unknown, to_array, unknown_of
from kvtrace.ir import Op


def is_used(op: Op, compiler: Compiler) -> bool:
    """Tell whether any op uses the first result of an op."""
    used = compiler.cache.get("used")
    if not isinstance(used, frozenset):
        used = frozenset(value.id for other in compiler.module.ops for value in other.operands)
        compiler.cache["used"] = used
    return op.results[0].id in used


@semantics("tt.atomic_rmw")
def atomic_rmw(op: Op, compiler: Compiler) -> Step:
    """Read, combine, write; give what was read."""
    type_ = value_type(op.operands[1].type)
    number = attribute(op, "atomic_rmw_op")
    name = NAMES[number] if isinstance(number, int) else str(number)
    wants_old = is_used(op, compiler)
    slots = [value.id for value in op.operands]
    result = op.results[0].id

    def update(flat: Array, index: Array, lanes: list[Array]) -> Array | None:
        return read_modify_write(flat, index, lanes[0], name, wants_old=wants_old)

    def step(values: list[Any], scope: Scope) -> None:
        mask = values[slots[2]] if len(slots) > 2 else None
        operand = values[slots[1]]
        operands = [operand if isinstance(operand, Unknown) else to_array(operand, type_)]
        values[result] = scope.launch.memory.atomic(
            op, scope, values[slots[0]], operands, mask, type_, update
        )

    return step


@semantics("tt.atomic_cas")
def atomic_cas(op: Op, _compiler: Compiler) -> Step:
    """Write where memory is as expected; give what was there."""
    type_ = value_type(op.operands[1].type)
    slots = [value.id for value in op.operands]
    result = op.results[0].id

    def update(flat: Array, index: Array, lanes: list[Array]) -> Array:
        return compare_and_swap(flat, index, lanes[0], lanes[1])

    def step(values: list[Any], scope: Scope) -> None:
        given = [values[slots[1]], values[slots[2]]]
        unknown = unknown_of(given)
        operands = [unknown or to_array(value, type_) for value in given]
        values[result] = scope.launch.memory.atomic(
            op, scope, values[slots[0]], operands, None, type_, update
        )

    return step
