"""Pointer arguments of a kernel whose integers affect its behavior, and those that it writes to.

A loaded value is relevant if it feeds an address, a mask, a loop's trip count or a branch, if it
chooses among lanes of which a masked load leaves some without a value, or if a rule checks it (a
divisor, an assertion). So is a count that is added to a counter of slots. Values that are not
tracked count as relevant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kvtrace.ir.feeding import feeding, feeding_values, loads_behind
from kvtrace.ir.memory_sites import PointerRoots, leads_to_memory
from kvtrace.ir.model import Module, Op, Value
from kvtrace.ir.ops import (
    DIVIDING,
    FILLING,
    KINDS,
    MEMORY,
    READING,
    SHARED_READS,
    WRITING,
    Kind,
    computing,
    mask_of,
    named,
    waits_for_memory,
)

_CHECKED_OPS: Final = (
    DIVIDING
    | computing("int_to_ptr")
    | named(lambda row: row.kind is Kind.REPORT and row.has("condition"))
)
_CHOOSING: Final = named(lambda row: row.kind is Kind.PICKED) | {"arith.select"}


@dataclass(frozen=True, slots=True)
class IndexArguments:
    """Positions of a kernel's pointer arguments by use; None if not known.

    Attributes:
        read: arguments whose contents are relevant.
        written: arguments that are stored to.
        loaded: arguments that are loaded from for any purpose.
        memory: all arguments that are pointers or descriptors, in order.
    """

    read: frozenset[int] | None
    written: frozenset[int] | None
    loaded: frozenset[int] | None = None
    memory: tuple[int, ...] = ()


def index_arguments(module: Module) -> IndexArguments:
    """Return the pointers whose contents are relevant to a kernel's accesses, and other uses.

    Contents behind descriptors, and in shared memory, are not tracked.
    """
    ops = tuple(module.ops)
    if any(op.name not in KINDS for op in ops):
        return IndexArguments(None, None)
    roots = PointerRoots(module)
    memory_arguments = tuple(
        position
        for position, argument in enumerate(module.main.arguments)
        if leads_to_memory(argument)
    )
    stores = [op for op in ops if op.name in WRITING]
    all_loads = [op for op in ops if op.name in READING]
    if any(KINDS[op.name].has("descriptor") or op.name in SHARED_READS for op in ops):
        return IndexArguments(None, roots.of(stores), roots.of(all_loads), memory_arguments)
    relevant: set[int] = set()
    for op in ops:
        if op.name in MEMORY or op.name in _CHECKED_OPS:
            relevant |= feeding(op, module) | loads_behind(op, module)
    relevant |= {op.index for op in ops if waits_for_memory(op)}
    relevant |= feeding_values(_choices(ops), module)
    loads = [op for op in ops if op.index in relevant and op.name in READING]
    return IndexArguments(roots.of(loads), roots.of(stores), roots.of(all_loads), memory_arguments)


def _choices(ops: Sequence[Op]) -> Iterator[Value]:
    """Yield the values that choose among blocks' lanes, if some lanes may have no value."""
    if any(op.name in FILLING and mask_of(op) and not op.optional("other") for op in ops):
        for op in ops:
            for name in ("condition", "index"):
                if op.name in _CHOOSING and KINDS[op.name].has(name):
                    yield op.operand(name)
