"""Memory ops of a module, each with the parameters of the kernel that it can access."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kvtrace.ir.flow import backward, deciding, enclosing_ops, flow_of
from kvtrace.ir.model import Module, Op, Value, once_per_module
from kvtrace.ir.ops import (
    FUNCTIONS,
    LOOPS,
    READING,
    AccessKind,
    address_of,
    effect_of,
    waits_for_memory,
)


@dataclass(frozen=True)
class Site:
    """A memory op, with the positions of parameters that it can access (None: any).

    `in_loop`: it may run repeatedly. `waits`: it decides whether a loop continues, or waits for
    memory.
    """

    op: Op
    kind: AccessKind
    parameters: frozenset[int] | None
    result_used: bool
    in_loop: bool
    waits: bool

    def reaches(self, argument: int) -> bool:
        """Return whether the op may access an argument."""
        return self.parameters is None or argument in self.parameters


@once_per_module
def memory_sites(module: Module) -> tuple[Site, ...]:
    """Return a Site for each memory op of a module, in the order of the ops."""
    roots, flow = PointerRoots(module), flow_of(module)
    return tuple(
        Site(
            op,
            effect,
            roots.of([op]),
            bool(op.results) and bool(flow.uses(op.results[0])),
            _is_in_loop_or_called(op, module),
            _decides_loop(op) or waits_for_memory(op),
        )
        for op in module.ops
        if (effect := effect_of(op))
    )


@once_per_module
def read_positions(module: Module) -> frozenset[int]:
    """Return the positions of parameters through which a kernel may read memory."""
    sites = [site for site in memory_sites(module) if site.kind != "store"]
    positions = range(len(module.main.arguments))
    return frozenset(one for one in positions if any(site.reaches(one) for site in sites))


class PointerRoots:
    """The parameters of a kernel that pointers and descriptors come from."""

    def __init__(self, module: Module) -> None:
        self._flow = flow_of(module)
        self._parameters = {value: position for position, value in enumerate(module.main.arguments)}
        self._are_pointers: dict[int, bool] = {}

    def of(self, ops: Iterable[Op]) -> frozenset[int] | None:
        """Return the positions of parameters that memory ops can access; None: any."""
        positions = set()
        for value in backward(map(address_of, ops), self._before):
            if value in self._parameters:
                positions.add(self._parameters[value])
            elif not self._before(value):
                return None
        return frozenset(positions)

    def _before(self, value: Value) -> list[Value]:
        if isinstance(value.owner, Op) and value.owner.name in READING:
            return []
        return [source for source in self._flow.sources(value) if self._is_pointer(source)]

    def _is_pointer(self, value: Value) -> bool:
        type_ = value.type  # the types of a module's values are few
        is_pointer = self._are_pointers.get(id(type_))
        if is_pointer is None:
            is_pointer = self._are_pointers[id(type_)] = leads_to_memory(value)
        return is_pointer


def leads_to_memory(value: Value) -> bool:
    """Return whether a value is a pointer, a descriptor, or a block of these."""
    text = str(value.type)
    return "!tt.ptr" in text or "!tt.tensordesc" in text


def _is_in_loop_or_called(op: Op, module: Module) -> bool:
    return any(
        owner.name in LOOPS or (owner.name in FUNCTIONS and owner is not module.main.op)
        for owner in enclosing_ops(op)
    )


def _decides_loop(op: Op) -> bool:
    """Return whether an op is in the part of a loop that computes whether the loop continues."""
    block = op.block
    while block is not None:
        owner = block.region.owner
        if owner.name in LOOPS and deciding(block.ops[-1]):
            return True
        block = owner.block
    return False
