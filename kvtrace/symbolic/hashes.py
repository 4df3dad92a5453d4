"""Integers that are hashes or random numbers: products with large odd constants, mixed by xor.

Philox, murmur and their like multiply by a large odd constant and let the product wrap, then mix
its bits: with its own upper ones (`h ^ (h >> r)`) or with the upper half of such a product
(`umulhi(h, C) ^ k`). The wrap is part of the hash. What comes out is a number of its width of which
nothing else is known, and it has no ideal number.
"""

from __future__ import annotations

from typing import Final

from kvtrace.ir import Op, Value
from kvtrace.ir.constants import constant_of
from kvtrace.ir.ops import MIXING, MOVING, Operator, named, operator_of
from kvtrace.symbolic.walk_types import integer_bits

_HASHING: Final = 1 << 16
"""Odd constants from here on are neither strides nor sizes: what they multiply is a hash."""
_SEEN_THROUGH: Final = named(
    lambda row: row.operator == "bitcast" or (row.name in MOVING and row.operands == ("source",))
)
_WIDENING: Final = named(lambda row: row.operator == "cast" and row.reading == "unsigned")
_MOST_STEPS: Final = 64
"""How far the search goes back from each op: longer chains are not rounds of a hash."""


def is_hash(op: Op) -> bool:
    """Tell whether an op multiplies by, or adds, a large odd constant, as hashes do."""
    return _computes(op, "*", "+") and any(_is_hashing(operand) for operand in op.operands)


def is_mixed(value: Value) -> bool:
    """Tell whether a value is a hash whose bits were mixed, or a hash made of one.

    That a product's constant is large and odd is not enough: it may be a stride. Two hashes side by
    side (`high << 32 | low`) are one.
    """
    op = _maker(value)
    if op is not None and _computes(op, "|"):
        return all(map(_is_part, op.operands))
    return _is_mixed(op)


def _is_part(value: Value) -> bool:
    """Whether it is a hash, made wider and moved to the left."""
    op = _maker(value)
    for _ in range(_MOST_STEPS):
        if op is not None and op.name in _WIDENING:
            op = _maker(op.operand("source"))
        elif op is not None and _computes(op, "<<"):
            op = _maker(op.operand("left"))
        else:
            break
    return _is_mixed(op)


def _is_mixed(op: Op | None) -> bool:
    for _ in range(_MOST_STEPS):
        if op is None or not is_hash(op):
            break
        op = _maker(op.operand("right" if _is_hashing(op.operand("left")) else "left"))
    if op is None or not _computes(op, "^"):
        return False
    waiting, seen = [op], {op.index}
    while waiting and len(seen) < _MOST_STEPS:
        for operand in waiting.pop().operands:
            maker = _maker(operand)
            if maker is None or maker.index in seen:
                continue
            seen.add(maker.index)
            if _computes(maker, "^"):
                waiting.append(maker)
            elif _mixes(maker):
                return True
    return False


def makes_hash(op: Op) -> bool:
    """Tell whether an op makes such a number, and does not only move it."""
    return _computes(op, "^", "*", "+", "|") and is_mixed(op.results[0])


def _mixes(op: Op) -> bool:
    """Whether it takes upper bits of a product with a large odd constant."""
    if _computes(op, "mulhi"):
        return any(_is_hashing(operand) for operand in op.operands)
    if not (_computes(op, ">>") and op.name in MIXING):
        return False
    product = _maker(op.operand("left"))
    return product is not None and _computes(product, "*") and is_hash(product)


def _computes(op: Op, *operators: Operator) -> bool:
    """Whether an op gives integers, and computes one of these."""
    return operator_of(op) in operators and integer_bits(op.results[0].type) is not None


def _maker(value: Value) -> Op | None:
    """Return the op that makes a value, seen through what moves elements."""
    op = value.owner
    while isinstance(op, Op) and op.name in _SEEN_THROUGH:
        op = op.operand("source").owner
    return op if isinstance(op, Op) else None


def _is_hashing(value: Value) -> bool:
    op = _maker(value)
    number = None if op is None else constant_of(op.results[0])
    return isinstance(number, int) and bool(number % 2) and abs(number) >= _HASHING
