"""Which values of a module may have undefined elements at all: a quick look before any formula."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kvtrace.ir.attributes import DenseArrayAttribute, SymbolAttribute
from kvtrace.symbolic.walk_types import number_of

if TYPE_CHECKING:
    from kvtrace.ir import Module, Op, Value

Pairs = Iterator[tuple[Sequence["Value"], Sequence["Value"]]]

_READING = frozenset(
    {"tt.descriptor_load", "tt.descriptor_gather", "tt.atomic_rmw", "tt.atomic_cas"}
)


def leaves_lanes(op: Op) -> bool:
    """Whether an op is a load that gives masked lanes no value."""
    if op.name != "tt.load":
        return False
    counts = operand_counts(op)
    checks = op.attributes.get("boundaryCheck")
    if isinstance(checks, DenseArrayAttribute) and checks.values and not number_of(op, "padding"):
        return not counts[2]
    return bool(counts[1]) and not counts[2]


def operand_counts(op: Op) -> tuple[int, int, int]:
    """Give how many operands of a load are pointers, masks and others."""
    sizes = op.attributes.get("operandSegmentSizes")
    if isinstance(sizes, DenseArrayAttribute):
        first, second, third = (int(number) for number in sizes.values[:3])
        return first, second, third
    count = len(op.operands)
    return 1, int(count > 1), int(count > 2)


def tainted(module: Module) -> frozenset[int]:
    """Give the ids of values that may have undefined elements."""
    sources = [op.results[0].id for op in module.ops if leaves_lanes(op)]
    if not sources:
        return frozenset()
    found = set(sources)
    flows = [pair for op in module.ops for pair in _flows(module, op)]
    grown = True
    while grown:
        grown = False
        for given, taken in flows:
            for position, value in enumerate(given):
                if value.id not in found:
                    continue
                reached = taken if len(taken) != len(given) else taken[position : position + 1]
                new = {each.id for each in reached} - found
                found |= new
                grown = grown or bool(new)
    return frozenset(found)


def _flows(module: Module, op: Op) -> Pairs:
    """Give values and what they flow to: one to one where there are as many, else each to all."""
    if op.name == "tt.load":
        counts = operand_counts(op)
        yield op.operands[sum(counts[:2]) : sum(counts)], op.results
    elif op.name in _READING:
        return
    elif op.name == "scf.for":
        block = op.regions[0].blocks[0]
        for given in (op.operands[3:], block.ops[-1].operands):
            yield given, block.arguments[1:]
            yield given, op.results
    elif op.name == "scf.while":
        before, after = (region.blocks[0] for region in op.regions)
        yield op.operands, before.arguments
        yield after.ops[-1].operands, before.arguments
        yield before.ops[-1].operands[1:], after.arguments
        yield before.ops[-1].operands[1:], op.results
    elif op.name in ("tt.call", "func.call"):
        yield from _call_flows(module, op)
    elif op.successors:
        for target in op.successors:
            for value in op.operands:
                yield (value,), target.arguments
    elif op.regions and op.name.startswith("scf."):
        for region in op.regions:
            for block in region.blocks:
                yield block.ops[-1].operands, op.results
    else:
        for value in op.operands:
            yield (value,), op.results


def _call_flows(module: Module, op: Op) -> Pairs:
    callee = op.attributes.get("callee")
    function = module.functions.get(callee.value) if isinstance(callee, SymbolAttribute) else None
    if function is None:
        for value in op.operands:
            yield (value,), op.results
        return
    yield op.operands, function.arguments
    for block in function.body.blocks:
        if block.ops[-1].name.endswith(".return"):
            yield block.ops[-1].operands, op.results
