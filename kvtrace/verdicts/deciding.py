"""Which integers of a kernel decide something: an address, a mask, a branch, a loop, an index."""

from __future__ import annotations

import weakref
from typing import Final, Literal

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.attributes import DenseAttribute, IntegerAttribute
from kvtrace.symbolic.walk_types import integer_bits
from kvtrace.verdicts.feeding import CALLS, called, feeding, feeding_values

Purpose = Literal["address", "mask", "branch", "loop", "index"]

#: Ops that access memory, by name.
ADDRESSES: Final = frozenset(
    {
        "tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_load",
        "tt.descriptor_store", "tt.descriptor_gather", "tt.descriptor_scatter",
        "tt.descriptor_reduce",
    }
)  # fmt: skip
MOVING: Final = frozenset(
    {
        "tt.splat", "tt.unsplat", "tt.broadcast", "ttg.convert_layout", "tt.expand_dims",
        "tt.trans", "tt.reshape", "tt.join", "tt.split", "tt.cat",
    }
)  # fmt: skip
#: Unsigned ops that take part of what a number holds, as hashes do.
MIXING: Final = frozenset({"arith.remui", "arith.shrui", "tt.mulhiui"})
#: Unsigned ops that take a number for what it is.
COUNTING: Final = frozenset(
    {
        "arith.extui", "arith.index_castui", "arith.divui", "arith.ceildivui", "arith.minui",
        "arith.maxui",
    }
)  # fmt: skip
#: Ops that give the same modulo 2^n whether or not what they take has wrapped around.
MODULAR: Final = frozenset(
    {
        "arith.addi", "arith.subi", "arith.muli", "arith.trunci", "arith.andi", "arith.ori",
        "arith.xori", "arith.select", "tt.bitcast", "arith.bitcast", "tt.join", "tt.split",
        "tt.cat",
    }
)  # fmt: skip
_PLACES: Final = frozenset({"tt.get_program_id", "tt.make_range"})
_HASHING: Final = 1 << 16
"""Odd constants from here on are no strides and no sizes: what they multiply is a hash."""


def deciding(module: Module) -> frozenset[int]:
    """Return the indices of the ops whose integers decide something; made once per module."""
    found = _deciding.get(module.op)
    if found is None:
        ops: set[int] = set()
        for op in module.ops:
            if op.name in ADDRESSES:
                ops |= feeding(op, module)
                if stored_index(op, module) is not None:
                    ops |= feeding_values((op.operands[1],), module)
        found = _deciding[module.op] = frozenset(ops)
    return found


_deciding: weakref.WeakKeyDictionary[Op, frozenset[int]] = weakref.WeakKeyDictionary()


def mask_of(op: Op) -> Value | None:
    """Return the mask of a load, store or atomic update."""
    if op.name in ("tt.store", "tt.atomic_rmw"):
        return op.operands[2] if len(op.operands) > 2 else None
    if op.name != "tt.load" or len(op.operands) < 2:
        return None
    masks = [value for value in op.operands[1:2] if integer_bits(value.type) == 1]
    return masks[0] if masks else None


def stored_index(op: Op, module: Module) -> Value | None:
    """Return what an op stores, if it is an index: made of where programs and lanes are.

    Of sums and products of data, which may be meant to wrap around, nothing is claimed.
    """
    if op.name not in ("tt.store", "tt.descriptor_store"):
        return None
    value = op.operands[1]
    if (integer_bits(value.type) or 0) < 16:
        return None
    fed = feeding_values((value,), module)
    ops = [each for each in module.ops if each.index in fed]
    places = any(each.name in _PLACES or each.name in ("scf.for", "scf.while") for each in ops)
    return value if places else None


def is_hash(op: Op) -> bool:
    """Tell whether an op multiplies by, or adds, a large odd constant, as hashes do."""
    if op.name not in ("arith.muli", "arith.addi"):
        return False
    return any(_is_hashing(operand) for operand in op.operands)


def _is_hashing(value: Value) -> bool:
    op = value.owner
    while isinstance(op, Op) and op.name in ("tt.splat", "tt.broadcast"):
        op = op.operands[0].owner
    if not isinstance(op, Op) or op.name != "arith.constant":
        return False
    attribute = op.attributes.get("value")
    if isinstance(attribute, DenseAttribute) and attribute.is_splat:
        number = int(attribute.values[0])
    elif isinstance(attribute, IntegerAttribute):
        number = attribute.value
    else:
        return False
    return bool(number % 2) and abs(number) >= _HASHING


def modular_ops(value: Value, module: Module) -> list[Op]:
    """Return the ops that a value is made of, back to where widths show: sums, products, bits.

    Seen through what moves elements, what branches and loops carry, and calls.
    """
    waiting, seen, found = [value], {value.id}, []
    while waiting:
        current = waiting.pop()
        op = current.owner
        following: list[Value] = []
        if isinstance(op, Block):
            following = carried(current, op) or _passed(current, op, module)
        elif op is not None and op.name in CALLS:
            following = _returned(op, current.position, module)
        elif op is not None and op.name in ("scf.if", "scf.for"):
            blocks = [block for region in op.regions for block in region.blocks]
            following = [block.ops[-1].operands[current.position] for block in blocks]
            following += op.operands[3 + current.position :][:1] if op.name == "scf.for" else ()
        elif op is not None and op.name == "scf.while":
            following = [op.regions[0].blocks[0].ops[-1].operands[1 + current.position]]
        elif op is not None and op.name in ("tt.reduce", "tt.scan"):
            following = list(op.operands)
        elif op is not None and op.name in MODULAR | MOVING | {"arith.shli"}:
            found.append(op)
            following = list(op.operands)
        waiting += [each for each in following if each.id not in seen]
        seen.update(each.id for each in following)
    return found


def _passed(value: Value, block: Block, module: Module) -> list[Value]:
    """Return what calls give a function's parameter."""
    function = block.region.owner
    calls = (op for op in module.ops if op.name in CALLS and called(op, module) is function)
    return [call.operands[value.position] for call in calls]


def _returned(op: Op, position: int, module: Module) -> list[Value]:
    """Return what a function that is called may give."""
    function = called(op, module)
    ends = () if function is None else (b.ops[-1] for b in function.regions[0].blocks)
    return [end.operands[position] for end in ends if end.name.endswith(".return")]


def carried(value: Value, block: Block) -> list[Value]:
    """Return what an argument of a loop's block is given: before the loop, and by its trips."""
    owner = block.region.owner
    if owner.name == "scf.for" and value.position:
        return [block.ops[-1].operands[value.position - 1], owner.operands[2 + value.position]]
    if owner.name == "scf.while":
        before, after = (region.blocks[0] for region in owner.regions)
        if block is after:
            return [before.ops[-1].operands[1 + value.position]]
        return [after.ops[-1].operands[value.position], owner.operands[value.position]]
    return list(owner.operands[:3]) if owner.name == "scf.for" else []


def unsigned_differences(module: Module) -> frozenset[int]:
    """Return the differences of unsigned integers: those that are read as such later."""
    return frozenset(
        maker.index
        for op in module.ops
        if op.name in COUNTING
        for value in op.operands
        for maker in modular_ops(value, module)
        if maker.name == "arith.subi"
    )
