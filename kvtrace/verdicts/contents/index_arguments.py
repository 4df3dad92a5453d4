"""Which of a kernel's pointers hold integers that matter, and which it writes to.

What a kernel loads matters where it decides an address, a mask, how often a loop runs or what a
branch does, or where a rule looks at it (a divisor, an assertion). What is not followed counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kvtrace.ir import Block, Module, Op, Value
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
from kvtrace.verdicts.feeding import feeding

_LOOKED_AT: Final = (
    DIVIDING
    | computing("int_to_ptr")
    | named(lambda row: row.kind is Kind.REPORT and row.has("condition"))
)
_NOT_FOLLOWED: Final = READING | computing("int_to_ptr")
"""Ops that give a pointer which is made of none."""


@dataclass(frozen=True, slots=True)
class IndexArguments:
    """Positions among the arguments of the IR's function; None: it is not known which.

    Attributes:
        read: whose contents matter.
        written: those that are stored to.
        loaded: those that are loaded from, for whatever reason.
        memory: all that are pointers or descriptors, in order.
    """

    read: frozenset[int] | None
    written: frozenset[int] | None
    loaded: frozenset[int] | None = None
    memory: tuple[int, ...] = ()


def index_arguments(module: Module) -> IndexArguments:
    """Tell which pointers' contents a kernel's accesses depend on, and which pointers it writes.

    Which contents decide is not followed through descriptors.
    """
    ops = tuple(module.ops)
    if any(op.name not in KINDS for op in ops):
        return IndexArguments(None, None)
    roots = PointerRoots(module)
    memory = tuple(n for n, each in enumerate(module.main.arguments) if leads_to_memory(each))
    stores = [op for op in ops if op.name in WRITING]
    every = [op for op in ops if op.name in READING]
    if any(KINDS[op.name].has("descriptor") for op in ops):
        return IndexArguments(None, roots.of(stores), roots.of(every), memory)
    wanted: set[int] = set()
    for op in ops:
        if op.name in MEMORY or op.name in _LOOKED_AT:
            wanted |= feeding(op, module)
    wanted |= {op.index for op in ops if waits_for_memory(op)}
    loads = [op for op in ops if op.index in wanted and op.name in READING]
    return IndexArguments(roots.of(loads), roots.of(stores), roots.of(every), memory)


def _place_of(op: Op) -> Value:
    """Return what a memory op goes by: a pointer, or a descriptor."""
    return op.operand("descriptor" if KINDS[op.name].has("descriptor") else "pointer")


def leads_to_memory(value: Value) -> bool:
    """Whether a value is a pointer or a descriptor, or a block of such."""
    return "!tt.ptr" in str(value.type) or "!tt.tensordesc" in str(value.type)


class PointerRoots:
    """Follows pointers back to the arguments of the function."""

    def __init__(self, module: Module) -> None:
        self._module = module
        main = module.main.arguments
        self._position = {value.id: number for number, value in enumerate(main)}

    def of(self, ops: Iterable[Op]) -> frozenset[int] | None:
        """Return the arguments that the ops' pointers may come from; None: not known."""
        found: set[int] = set()
        seen: set[int] = set()
        queue: list[Value] = [_place_of(op) for op in ops]
        while queue:
            value = queue.pop()
            if value.id in seen:
                continue
            seen.add(value.id)
            if value.id in self._position:
                found.add(self._position[value.id])
                continue
            before = _before(value)
            if before is None:
                return None
            queue += before
        return frozenset(found)


def _before(value: Value) -> list[Value] | None:
    """Return the values that a pointer is made of, or taken from; None: it is not followed."""
    owner = value.owner
    if isinstance(owner, Block):
        around = owner.region.owner
        if around.name not in LOOPS:
            return None
        return _pointers((*around.operands, *_yielded(around)))
    if not isinstance(owner, Op) or owner.name in _NOT_FOLLOWED:
        return None
    if owner.regions:
        return _pointers((*owner.operands, *_yielded(owner)))
    return _pointers(owner.operands)


def _yielded(op: Op) -> list[Value]:
    return [
        value
        for region in op.regions
        for block in region.blocks
        for value in block.ops[-1].operands
    ]


def _pointers(values: Iterable[Value]) -> list[Value] | None:
    """Keep pointers and descriptors; a pointer made of none was not made from an argument."""
    found = [value for value in values if leads_to_memory(value)]
    return found or None
