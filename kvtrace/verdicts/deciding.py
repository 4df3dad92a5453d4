"""Integers that determine addresses, masks, branches, loop bounds and stored indices."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Final, Literal

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.feeding import feeding, feeding_values, is_made_of_positions, modular_ops
from kvtrace.ir.flow import constant_of, counter_of, enclosing_ops, value_before
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import (
    LOOPS,
    MEMORY,
    MIXING,
    MODULAR,
    MOVING,
    READING,
    SIGNED,
    UNSIGNED,
    Kind,
    computing,
    effect_of,
    named,
    operator_of,
)
from kvtrace.ir.types import integer_bits
from kvtrace.ir.updates import update_of
from kvtrace.symbolic.hashes import LARGE_CONSTANT, hashing_ops, mixing_shifts
from kvtrace.verdicts.comparisons import is_unsigned

Purpose = Literal["address", "mask", "branch", "loop", "index", "signed index", "part"]
"""Purpose of an integer. An index is stored; a signed one in a tensor of signed integers.

A part is what a narrow sum's shift, quotient or remainder leaves of it, stored.
"""

STORED: Final[tuple[Purpose, ...]] = ("index", "signed index", "part")


@once_per_module
def deciding_ops(module: Module) -> frozenset[int]:
    """Return the indices of the ops that feed addresses, masks, executions and stored indices."""
    ops: set[int] = set()
    for op in module.ops:
        if op.name in MEMORY:
            ops |= feeding(op, module)
            stored = stored_index(op, module) or stored_part(op, module)
            if stored is not None:
                ops |= feeding_values((stored,), module)
    return frozenset(ops)


_REPLACING: Final = ("", "exch", "max", "min", "umax", "umin")
"""Updates of atomic ops whose result is their operand as it is; "" swaps if equal."""


def stored_index(op: Op, module: Module) -> Value | None:
    """Return the value that an op may leave in memory if it is made of program ids or lanes.

    None if not: sums and products of data may be meant to wrap around, and are not indices.
    """
    effect = effect_of(op)
    if effect != "store" and (effect != "atomic" or update_of(op) not in _REPLACING):
        return None
    value = op.operand("value")
    if (integer_bits(value.type) or 0) < 16:
        return None
    feeders = feeding_values((value,), module)
    loops = [op_ for op_ in module.ops if op_.index in feeders and op_.name in LOOPS]
    if not all(_is_counted_and_loads(loop, feeders, module) for loop in loops):
        return value  # their trips are what is left
    return value if is_made_of_positions((value,), module) else None


def stored_part(op: Op, module: Module) -> Value | None:
    """Return the integer that a store leaves if it is made of upper bits of narrow sums.

    (a + b) >> 1 in 8 bits lacks the sum's ninth bit; a sum alone may be meant to lack it.
    """
    parts = _narrow_parts(module) if effect_of(op) == "store" else frozenset()
    if not parts or stored_index(op, module) is not None:
        return None
    value = op.operand("value")
    is_number = (integer_bits(value.type) or 1) > 1
    return value if is_number and not parts.isdisjoint(feeding_values((value,), module)) else None


@once_per_module
def _narrow_parts(module: Module) -> frozenset[int]:
    """Return the indices of the shifts, quotients and remainders of 8- and 16-bit sums."""
    return frozenset(
        op.index
        for op in module.ops
        if operator_of(op) in (">>", "//", "%")
        and integer_bits(op.results[0].type) in (8, 16)
        and any(operator_of(o) in ("+", "-", "*") for o in modular_ops(op.operand("left"), module))
    )


def has_sign(index: Value, module: Module) -> bool:
    """Return whether a stored index is made of positions and sizes: no data, bits or hashes."""
    feeders = feeding_values((index,), module)
    return not any(op.index in feeders and op.name in READING for op in module.ops) and not any(
        (operator_of(op) in ("<<", "&", "|", "^") and integer_bits(op.results[0].type) != 1)
        or op.index in hashing_ops(module)
        for op in modular_ops(index, module)
    )


def _is_counted_and_loads(loop: Op, feeders: Container[int], module: Module) -> bool:
    """Return whether a loop has a counter and one of the feeding ops is a load inside the loop."""
    loads_inside = (
        op
        for op in module.ops
        if op.index in feeders and op.name in READING and loop in enclosing_ops(op)
    )
    return counter_of(loop) is not None and any(loads_inside)


@once_per_module
def unsigned_differences(module: Module) -> frozenset[int]:
    """Return the indices of differences that are later read as unsigned integers of their width.

    Of 32 bits, x + (2^32 - 6) is x - 6, unless it is also read as a signed one: then it is x + -6.
    Hashes add larger constants.
    """
    read = {
        op
        for value, op in (*_read_by(reads_unsigned, module), *_parted_numbers(module))
        if integer_bits(op.results[0].type) == integer_bits(value.type)
    }
    sums = {op for op in read if operator_of(op) == "+" and _adds_negative(op)}
    if sums:
        sums.difference_update(op for _, op in _read_by(_reads_signed, module))
    return frozenset(op.index for op in read if operator_of(op) == "-" or op in sums)


def _parted_numbers(module: Module) -> Iterator[tuple[Value, Op]]:
    """Yield the numbers of which unsigned ops take parts, and the ops behind; not of hashes."""
    mixing = mixing_shifts(module)
    for op in (op for op in module.ops if _takes_part(op) and op.index not in mixing):
        for value in (op.operand("left"),) if operator_of(op) == ">>" else op.operands:
            ops = modular_ops(value, module, numbers=True)
            if hashing_ops(module).isdisjoint(source.index for source in ops):
                yield from ((value, source) for source in ops)


def _takes_part(op: Op) -> bool:
    """Return whether an op takes another part of large unsigned numbers than of those below 0.

    Not so the remainder of 2^n: its bits are the same.
    """
    if op.name not in MIXING or operator_of(op) != "%":
        return op.name in MIXING
    divisor = constant_of(value_before(op.operand("right"), MOVING))
    return not (isinstance(divisor, int) and divisor > 0 and divisor.bit_count() == 1)


def shows_below_zero(op: Op) -> bool:
    """Return whether an op's result tells that an unsigned operand is below 0."""
    return reads_unsigned(op) or _takes_part(op)


def _adds_negative(op: Op) -> bool:
    right = op.optional("right")
    number = None if right is None else constant_of(value_before(right, MOVING))
    return number is not None and -LARGE_CONSTANT < number < 0


@once_per_module
def unsigned_sums_of_cut(module: Module) -> Mapping[int, tuple[Value, ...]]:
    """Return the truncated operands of sums and products that are later read as unsigned integers.

    The keys are the indices of the sums and products.
    """
    operands: dict[int, tuple[Value, ...]] = {}
    for _, op in _read_by(reads_unsigned, module):
        sources = (value_before(operand, MOVING) for operand in op.operands)
        cut = tuple(source for source in sources if is_truncated(source))
        if cut and op.name not in MOVING:
            operands[op.index] = cut
    return operands


def _read_by(reads: Callable[[Op], bool], module: Module) -> Iterator[tuple[Value, Op]]:
    """Yield each operand of reading ops with the sums, products, shifts and bit ops behind it."""
    for op in module.ops:
        for value in op.operands if reads(op) else ():
            yield from ((value, source) for source in modular_ops(value, module))


def _reads_signed(op: Op) -> bool:
    """Return whether an op reads an operand as a signed number: also of offsets of pointers."""
    is_compared = operator_of(op) == "compare" and not reads_unsigned(op)
    return is_compared or op.name in SIGNED or (operator_of(op) == "+" and op.name not in MODULAR)


def reads_unsigned(op: Op) -> bool:
    """Return whether an op reads its operands' bits as unsigned numbers, and mixes no bits."""
    if operator_of(op) == "compare" and integer_bits(op.operand("left").type) is not None:
        return is_unsigned(op)
    return op.name in UNSIGNED


def is_truncated(value: Value) -> bool:
    """Return whether a value is what a cast to fewer bits left of an integer."""
    op = value.owner
    return isinstance(op, Op) and operator_of(op) == "cast" and op.name in MODULAR


#: Ops of a reduction that returns one of its elements unchanged.
_SELECTING: Final = computing("compare", "where", "&", "|", "^", "constant")
_REDUCING: Final = named(lambda row: row.kind is Kind.REDUCTION)


def selected_operands(op: Op, position: int) -> list[Value] | None:
    """Return the operands of which a reduction's result is an element; None: it is computed.

    An argmax returns one of the indices in its operand. The floats that it compares select the
    index and do not compute it: whatever they are, the index is one of these.
    """
    if op.name not in _REDUCING:
        return None
    block = op.regions[0].blocks[0]
    *inner, yield_op = block.ops
    if any(op_.name not in _SELECTING for op_ in inner):
        return None
    positions = (position, position + len(op.operands))
    pending = [yield_op.group("passed")[position]]
    while pending:
        value = pending.pop()
        if isinstance(value.owner, Block):
            if value.position not in positions:
                return None
        elif isinstance(value.owner, Op) and operator_of(value.owner) == "where":
            pending += (value.owner.operand(name) for name in ("first", "second"))
        else:
            return None
    return [
        value
        for operand_position, value in enumerate(op.operands)
        if operand_position == position or integer_bits(value.type) is not None
    ]
