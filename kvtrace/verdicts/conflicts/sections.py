"""Critical sections: ops that only one program at a time runs, under a lock.

A section begins after a loop that ends only when an atomic has changed a lock from open to shut,
with acquire, and ends where an atomic exchange stores the open value, with release. While a program
is in a section, no other program is in a section of the same lock, so accesses in the sections are
ordered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kvtrace.evaluate.compiler import attribute
from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.constants import constant_of
from kvtrace.ir.flow import counter_of, deciding
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import KINDS, LOOPS, MEMORY, effect_of, operator_of
from kvtrace.ir.types import TensorType
from kvtrace.verdicts.conflicts.parts import EXCHANGE, Roles, is_unmasked, roles_of, updates_by


@dataclass(frozen=True)
class Section:
    """A critical section: the lock's atomic, the unlocking op, and the indices of ops between."""

    shuts: Op
    opens: Op
    inside: frozenset[int]


@once_per_module
def sections_of(module: Module) -> tuple[Section, ...]:
    """Return the critical sections of a module, in the order of their ops."""
    return tuple(_sections(module))


def _sections(module: Module) -> Iterator[Section]:
    roles = roles_of(module)
    if not roles.synchronizes:
        return
    for op in module.ops:
        if op.name in LOOPS and counter_of(op) is None and op.block is not None:
            section = _section(op, op.block, roles)
            if section is not None:
                yield section


def _section(loop: Op, block: Block, roles: Roles) -> Section | None:
    shuts = _only_atomic(loop)
    if shuts is None or not roles.by_op[shuts.index].acquires:
        return None
    open_and_shut = _lock_values(loop, shuts)
    if open_and_shut is None:
        return None
    inside: set[int] = set()
    for op in block.ops[block.ops.index(loop) + 1 :]:
        if _unlocks(op, shuts.operand("pointer"), open_and_shut[0], roles):
            return Section(shuts, op, frozenset(inside))
        inside.update(inner.index for inner in op.walk())
    return None


def _only_atomic(loop: Op) -> Op | None:
    """Return a loop's scalar atomic if it is the loop's only memory op, else None."""
    memory_ops = [op for op in loop.walk() if op.name in MEMORY]
    if len(memory_ops) != 1 or effect_of(memory_ops[0]) != "atomic" or not memory_ops[0].results:
        return None
    if memory_ops[0].block is None or memory_ops[0].block.region is not loop.regions[0]:
        return None
    return None if isinstance(memory_ops[0].results[0].type, TensorType) else memory_ops[0]


def _lock_values(loop: Op, atomic: Op) -> tuple[float, float] | None:
    """Return the values of an open and a shut lock if the loop ends only by locking, else None."""
    open_value, shut_value = None, constant_of(atomic.operand("value"))
    if KINDS[atomic.name].has("expected"):
        open_value = constant_of(atomic.operand("expected"))
    elif not (updates_by(atomic, EXCHANGE) and is_unmasked(atomic)):
        return None
    (condition,) = deciding(loop)
    compare = condition.owner
    if not isinstance(compare, Op) or operator_of(compare) != "compare" or shut_value is None:
        return None
    left_value, right_value = compare.operand("left"), compare.operand("right")
    if left_value is not atomic.results[0]:
        left_value, right_value = right_value, left_value
    compared = constant_of(right_value)
    if left_value is not atomic.results[0] or not isinstance(compared, int):
        return None
    repeats_while_equal = attribute(compare, "predicate") == 0
    if repeats_while_equal and compared == shut_value:
        # A lock is assumed to be either open or shut.
        return (0 if open_value is None else open_value), shut_value
    if (
        attribute(compare, "predicate") == 1
        and open_value in (None, compared)
        and compared != shut_value
    ):
        return compared, shut_value
    return None


def _unlocks(op: Op, pointer: Value, open_value: float, roles: Roles) -> bool:
    """Return whether an op stores the open value to the lock, with release."""
    return (
        updates_by(op, EXCHANGE)
        and op.operand("pointer") is pointer
        and is_unmasked(op)
        and constant_of(op.operand("value")) == open_value
        and roles.by_op[op.index].releases
    )
