"""Integers that are hashes or random numbers: products with large odd constants, mixed by xor.

Philox, murmur and their like multiply by a large odd constant and let the product wrap, then mix
its bits: with its own upper ones (`h ^ (h >> r)`) or with the upper half of such a product
(`umulhi(h, C) ^ k`). The wrap is part of the hash. What comes out is a number of its width of which
nothing else is known, and no ideal number stands behind it.
"""

from __future__ import annotations

from typing import Final

from kvtrace.ir import Op, Value
from kvtrace.ir.attributes import DenseAttribute, IntegerAttribute

_HASHING: Final = 1 << 16
"""Odd constants from here on are no strides and no sizes: what they multiply is a hash."""
_MOVING: Final = (
    "tt.splat",
    "tt.broadcast",
    "tt.reshape",
    "tt.expand_dims",
    "ttg.convert_layout",
    "tt.bitcast",
)

_MOST_STEPS: Final = 64
"""So far is looked back from each op: longer chains are no rounds of a hash."""
_MAKING: Final = ("arith.xori", "arith.muli", "arith.addi", "arith.ori")


def is_hash(op: Op) -> bool:
    """Tell whether an op multiplies by, or adds, a large odd constant, as hashes do."""
    if op.name not in ("arith.muli", "arith.addi"):
        return False
    return any(_is_hashing(operand) for operand in op.operands)


def is_mixed(value: Value) -> bool:
    """Tell whether a value is a hash whose bits were mixed, or a hash made of one.

    That a product's constant is large and odd is not enough: it may be a stride. Two hashes side by
    side (`high << 32 | low`) are one.
    """
    op = _maker(value)
    if op is not None and op.name == "arith.ori":
        return all(map(_is_part, op.operands))
    return _is_mixed(op)


def _is_part(value: Value) -> bool:
    """Whether it is a hash, made wider and moved to the left."""
    op = _maker(value)
    for _ in range(_MOST_STEPS):
        if op is None or op.name not in ("arith.extui", "arith.shli"):
            break
        op = _maker(op.operands[0])
    return _is_mixed(op)


def _is_mixed(op: Op | None) -> bool:
    for _ in range(_MOST_STEPS):
        if op is None or not is_hash(op):
            break
        op = _maker(op.operands[1 if _is_hashing(op.operands[0]) else 0])
    if op is None or op.name != "arith.xori":
        return False
    waiting, seen = [op], {op.index}
    while waiting and len(seen) < _MOST_STEPS:
        for operand in waiting.pop().operands:
            maker = _maker(operand)
            if maker is None or maker.index in seen:
                continue
            seen.add(maker.index)
            if maker.name == "arith.xori":
                waiting.append(maker)
            elif _mixes(maker):
                return True
    return False


def makes_hash(op: Op) -> bool:
    """Tell whether an op makes such a number, and does not only move it."""
    return op.name in _MAKING and is_mixed(op.results[0])


def _mixes(op: Op) -> bool:
    """Whether it takes upper bits of a product with a large odd constant."""
    if op.name == "tt.mulhiui":
        return any(_is_hashing(operand) for operand in op.operands)
    if op.name != "arith.shrui":
        return False
    product = _maker(op.operands[0])
    return product is not None and product.name == "arith.muli" and is_hash(product)


def _maker(value: Value) -> Op | None:
    """Return the op that makes a value, seen through what moves elements."""
    op = value.owner
    while isinstance(op, Op) and op.name in _MOVING:
        op = op.operands[0].owner
    return op if isinstance(op, Op) else None


def _is_hashing(value: Value) -> bool:
    op = _maker(value)
    if op is None or op.name != "arith.constant":
        return False
    attribute = op.attributes.get("value")
    if isinstance(attribute, DenseAttribute) and attribute.is_splat:
        number = int(attribute.values[0])
    elif isinstance(attribute, IntegerAttribute):
        number = attribute.value
    else:
        return False
    return bool(number % 2) and abs(number) >= _HASHING
