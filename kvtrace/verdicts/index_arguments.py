"""Which of a kernel's pointers hold integers that matter, and which it writes to.

What a kernel loads matters where it decides an address, a mask, how often a loop runs or what a
branch does, or where a rule looks at it (a divisor, an assertion). What is not followed counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.ops import DIVIDING, KINDS, LOOPS, MEMORY, READING, WRITING, Kind, computing, named
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
    """

    read: frozenset[int] | None
    written: frozenset[int] | None
    loaded: frozenset[int] | None = None


def index_arguments(module: Module) -> IndexArguments:
    """Tell which pointers' contents a kernel's accesses depend on, and which pointers it writes."""
    ops = tuple(module.ops)
    if not all(map(_is_followed, ops)):
        return IndexArguments(None, None)
    roots = _Roots(module)
    wanted: set[int] = set()
    for op in ops:
        if op.name in MEMORY or op.name in _LOOKED_AT:
            wanted |= feeding(op, module)
    loads = [op for op in ops if op.index in wanted and op.name in READING]
    stores = [op for op in ops if op.name in WRITING]
    every = [op for op in ops if op.name in READING]
    return IndexArguments(roots.of(loads), roots.of(stores), roots.of(every))


def _is_followed(op: Op) -> bool:
    """Whether an op is known, and goes to memory by pointers if at all: descriptors are not."""
    row = KINDS.get(op.name)
    return row is not None and not row.has("descriptor")


class _Roots:
    """Follows pointers back to the arguments of the function."""

    def __init__(self, module: Module) -> None:
        self._module = module
        main = module.main.arguments
        self._position = {value.id: number for number, value in enumerate(main)}

    def of(self, ops: Iterable[Op]) -> frozenset[int] | None:
        """Return the arguments that the ops' pointers may come from; None: not known."""
        found: set[int] = set()
        seen: set[int] = set()
        queue: list[Value] = [op.operand("pointer") for op in ops]
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
    """Keep those that are pointers; a pointer made of none was not made from an argument."""
    found = [value for value in values if "!tt.ptr" in str(value.type)]
    return found or None
