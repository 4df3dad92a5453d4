"""Pointer arguments of a kernel whose integers affect its behavior, and those that it writes to.

A loaded value is relevant if it feeds an address, a mask, a loop's trip count or a branch, or if a
rule checks it (a divisor, an assertion). Values that are not tracked count as relevant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.feeding import feeding
from kvtrace.ir.ops import (
    DIVIDING,
    KINDS,
    LOOPS,
    MEMORY,
    READING,
    WRITING,
    Kind,
    computing,
    named,
    waits_for_memory,
)

_CHECKED_OPS: Final = (
    DIVIDING
    | computing("int_to_ptr")
    | named(lambda row: row.kind is Kind.REPORT and row.has("condition"))
)
_NOT_TRACED: Final = READING | computing("int_to_ptr")
"""Ops whose result is a pointer that is not computed from another pointer."""


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

    Contents behind descriptors are not tracked.
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
    if any(KINDS[op.name].has("descriptor") for op in ops):
        return IndexArguments(None, roots.of(stores), roots.of(all_loads), memory_arguments)
    relevant: set[int] = set()
    for op in ops:
        if op.name in MEMORY or op.name in _CHECKED_OPS:
            relevant |= feeding(op, module)
    relevant |= {op.index for op in ops if waits_for_memory(op)}
    loads = [op for op in ops if op.index in relevant and op.name in READING]
    return IndexArguments(roots.of(loads), roots.of(stores), roots.of(all_loads), memory_arguments)


def _pointer_of(op: Op) -> Value:
    return op.operand("descriptor" if KINDS[op.name].has("descriptor") else "pointer")


def leads_to_memory(value: Value) -> bool:
    """Return whether a value is a pointer, a descriptor, or a block of these."""
    return "!tt.ptr" in str(value.type) or "!tt.tensordesc" in str(value.type)


class PointerRoots:
    """The search for the function arguments from which pointers are computed."""

    def __init__(self, module: Module) -> None:
        self._module = module
        main = module.main.arguments
        self._position = {value.id: position for position, value in enumerate(main)}

    def of(self, ops: Iterable[Op]) -> frozenset[int] | None:
        """Return the positions of arguments behind the ops' pointers, None if one is unknown."""
        positions: set[int] = set()
        visited: set[int] = set()
        queue: list[Value] = [_pointer_of(op) for op in ops]
        while queue:
            value = queue.pop()
            if value.id in visited:
                continue
            visited.add(value.id)
            if value.id in self._position:
                positions.add(self._position[value.id])
                continue
            sources = _sources(value)
            if sources is None:
                return None
            queue += sources
        return frozenset(positions)


def _sources(value: Value) -> list[Value] | None:
    """Return the pointers from which a pointer is computed, None if they are not tracked."""
    owner = value.owner
    if isinstance(owner, Block):
        parent = owner.region.owner
        if parent.name not in LOOPS:
            return None
        return _pointers((*parent.operands, *_region_results(parent)))
    if not isinstance(owner, Op) or owner.name in _NOT_TRACED:
        return None
    if owner.regions:
        return _pointers((*owner.operands, *_region_results(owner)))
    return _pointers(owner.operands)


def _region_results(op: Op) -> list[Value]:
    return [
        value
        for region in op.regions
        for block in region.blocks
        for value in block.ops[-1].operands
    ]


def _pointers(values: Iterable[Value]) -> list[Value] | None:
    """Return the pointers and descriptors among values, None if there are none."""
    pointers = [value for value in values if leads_to_memory(value)]
    return pointers or None
