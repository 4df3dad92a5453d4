"""Critical sections: ops that programs do one program at a time, under a lock.

A section begins after a loop that ends only when an atomic has changed a lock word from open to
shut, with acquire, and ends where an atomic exchange puts open back, with release. While a program
is in a section, no other program is in a section of the same word, so accesses in the sections are
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
from kvtrace.verdicts.conflicts.parts import EXCHANGE, Parts, is_unmasked, parts_of, updates_by


@dataclass(frozen=True)
class Section:
    """The ops (by index) between `shuts` and `opens`, which go to the lock word `pointer`."""

    shuts: Op
    opens: Op
    inside: frozenset[int]


@once_per_module
def sections_of(module: Module) -> tuple[Section, ...]:
    """Return the sections of a module."""
    return tuple(_sections(module))


def _sections(module: Module) -> Iterator[Section]:
    parts = parts_of(module)
    if not parts.synchronizes:
        return
    for op in module.ops:
        if op.name in LOOPS and counter_of(op) is None and op.block is not None:
            section = _section(op, op.block, parts)
            if section is not None:
                yield section


def _section(loop: Op, block: Block, parts: Parts) -> Section | None:
    shuts = _only_atomic(loop)
    if shuts is None or not parts.by_op[shuts.index].acquires:
        return None
    words = _open_and_shut(loop, shuts)
    if words is None:
        return None
    inside: set[int] = set()
    for op in block.ops[block.ops.index(loop) + 1 :]:
        if _puts_back(op, shuts.operand("pointer"), words[0], parts):
            return Section(shuts, op, frozenset(inside))
        inside.update(inner.index for inner in op.walk())
    return None


def _only_atomic(loop: Op) -> Op | None:
    """Return the scalar atomic of a loop that has no other memory op, else None."""
    memory = [op for op in loop.walk() if op.name in MEMORY]
    if len(memory) != 1 or effect_of(memory[0]) != "atomic" or not memory[0].results:
        return None
    if memory[0].block is None or memory[0].block.region is not loop.regions[0]:
        return None
    return None if isinstance(memory[0].results[0].type, TensorType) else memory[0]


def _open_and_shut(loop: Op, atomic: Op) -> tuple[float, float] | None:
    """Return the words of an open and a shut lock, if the loop ends only by locking; else None."""
    opened, shut = None, constant_of(atomic.operand("value"))
    if KINDS[atomic.name].has("expected"):
        opened = constant_of(atomic.operand("expected"))
    elif not (updates_by(atomic, EXCHANGE) and is_unmasked(atomic)):
        return None
    (condition,) = deciding(loop)
    compare = condition.owner
    if not isinstance(compare, Op) or operator_of(compare) != "compare" or shut is None:
        return None
    first, second = compare.operand("left"), compare.operand("right")
    if first is not atomic.results[0]:
        first, second = second, first
    compared = constant_of(second)
    if first is not atomic.results[0] or not isinstance(compared, int):
        return None
    repeats_while_equal = attribute(compare, "predicate") == 0
    if repeats_while_equal and compared == shut:
        # Lock words are taken to be open or shut: then what is not shut is open.
        return (0 if opened is None else opened), shut
    if attribute(compare, "predicate") == 1 and opened in (None, compared) and compared != shut:
        return compared, shut
    return None


def _puts_back(op: Op, pointer: Value, opened: float, parts: Parts) -> bool:
    return (
        updates_by(op, EXCHANGE)
        and op.operand("pointer") is pointer
        and is_unmasked(op)
        and constant_of(op.operand("value")) == opened
        and parts.by_op[op.index].releases
    )
