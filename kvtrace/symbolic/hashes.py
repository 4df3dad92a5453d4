"""Integers that are hashes or random numbers: products with odd constants, mixed by xor.

Philox, murmur and similar hashes multiply by a large odd constant, let the product wrap, and mix
the product's bits with its upper bits (`h ^ (h >> r)`) or with the upper half of a product
(`umulhi(h, C) ^ k`). The wrap is part of the hash. The result has no ideal number: it may be any
number of its width. A small constant (`h * 31 + x`) is a hash's where the factor is data or carried
by a loop; a stride times a position is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations
from typing import Final, Literal

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.feeding import feeding_values, is_made_of_positions, modular_ops
from kvtrace.ir.flow import constant_of, value_before
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import MIXING, MOVING, READING, Operator, named, operator_of
from kvtrace.ir.types import integer_bits

LARGE_CONSTANT: Final = 1 << 16
"""The smallest odd constant that may be a hash's; strides and sizes are smaller or even."""
_SEEN_THROUGH: Final = named(
    lambda row: row.operator == "bitcast" or (row.name in MOVING and row.operands == ("source",))
)
_WIDENING: Final = named(lambda row: row.operator == "cast" and row.reading == "unsigned")
_WRAPPING: Final[tuple[Operator, ...]] = ("*", "+", "-", "<<")
_MOST_STEPS: Final = 64
"""Limit on the ops of a backward search; the rounds of a hash are shorter."""


def is_hash(op: Op) -> bool:
    """Return whether an op multiplies by, or adds, a large odd constant, as hashes do."""
    return _computes(op, "*", "+") and any(_is_hashing(operand) for operand in op.operands)


@once_per_module
def hashing_ops(module: Module) -> frozenset[int]:
    """Return the indices of the ops that wrap around as a part of hashes."""
    shifts = filter(None, map(_mixed_shift, module.ops))
    of_data = (op for op in module.ops if _scrambles(op) and _is_of_data(op, module))
    ops = (*filter(is_hash, module.ops), *shifts, *of_data)
    return frozenset(op.index for op in ops) | recurring_hashes(module)


@once_per_module
def recurring_hashes(module: Module) -> frozenset[int]:
    """Return the indices of the ops of a loop that multiply what they carry by an odd constant.

    Such as `h = h * 31 + x`, and what is added to `h` after the loop: they wrap in a few trips.
    """

    @cache
    def behind(index: int) -> frozenset[int]:
        operands = module.ops[index].operands
        return frozenset(op.index for value in operands for op in modular_ops(value, module))

    scrambling = [op.index for op in module.ops if _scrambles(op)]
    carried = [index for index in scrambling if index in behind(index)]
    recurring = {*carried}
    for index in carried:
        recurring.update(other for other in behind(index) if index in behind(other))
    for op in module.ops if recurring else ():
        if _computes(op, *_WRAPPING) and not recurring.isdisjoint(behind(op.index)):
            recurring.add(op.index)
    return frozenset(recurring)


def hashes_read_by(op: Op, module: Module) -> frozenset[int]:
    """Return the indices of the ops whose wraps are intended where an op reads what they compute.

    A signed remainder or magnitude is only of a hash that a loop carries.
    """
    if op.name in MIXING:
        return hashing_ops(module)
    summed = sum_of_digits(op)
    if summed is not None:
        return frozenset((summed[0].index,))
    return recurring_hashes(module) if operator_of(op) in ("%", "abs") else frozenset()


def sum_of_digits(op: Op) -> tuple[Op, int] | None:
    """Return the product of which a right shift leaves a sum of digits, and the largest such sum.

    As of `((v & 0x0F0F0F0F) * 0x01010101) >> 24`, which adds four digits of 8 bits to count bits:
    the product's last digit is their sum, and what lies above is lost by intent. None for other
    ops, and where the sum may need its digit's highest bit.
    """
    product = _computing_op(op.operand("left")) if _computes(op, ">>") else None
    shift = _constant(op.operand("right")) if product is not None else None
    if product is None or shift is None or not _computes(product, "*"):
        return None
    bits = integer_bits(op.results[0].type) or 64
    width = bits - shift
    if not 1 < width < bits or bits % width:
        return None
    places = range(0, bits, width)
    for factor, number in permutations(product.operands):
        masked = _computing_op(number)
        is_factor = _constant(factor) == sum(1 << place for place in places)
        for mask in map(_constant, masked.operands) if masked and _computes(masked, "&") else ():
            if is_factor and mask is not None and mask >= 0:
                total = sum(mask >> place & ((1 << width) - 1) for place in places)
                return (product, total) if total < 1 << (width - 1) else None
    return None


def _constant(value: Value) -> int | None:
    number = constant_of(value_before(value, _SEEN_THROUGH))
    return number if isinstance(number, int) else None


def _scrambles(op: Op) -> bool:
    """Return whether an op multiplies by an odd constant, or adds a number to itself shifted."""
    if _computes(op, "*"):
        return any(n is not None and n % 2 and abs(n) > 1 for n in map(_constant, op.operands))
    if not _computes(op, "+", "-"):
        return False
    terms = [value_before(term, _SEEN_THROUGH) for term in _terms(op)]
    shifts = (term.owner for term in terms if isinstance(term.owner, Op))
    return any(
        value_before(shift.operand("left"), _SEEN_THROUGH) in terms
        for shift in shifts
        if _computes(shift, "<<")
    )


def _terms(op: Op) -> Iterator[Value]:
    """Yield the terms of a sum or difference, also those of sums that are its operands."""
    for operand in op.operands:
        inner = value_before(operand, _SEEN_THROUGH).owner
        yield from _terms(inner) if isinstance(inner, Op) and _computes(inner, "+", "-") else ()
        yield operand


def _is_of_data(op: Op, module: Module) -> bool:
    """Return whether an op computes with integers from memory, and with no position.

    Fewer than 32 bits are no hash's: `(a * 3 + b) >> 2` of bytes is their weighted mean.
    """
    if (integer_bits(op.results[0].type) or 0) < 32:
        return False
    ops = map(module.ops.__getitem__, feeding_values(op.operands, module))
    return any(other.name in READING for other in ops) and not is_made_of_positions(
        op.operands, module
    )


@once_per_module
def mixing_shifts(module: Module) -> frozenset[int]:
    """Return the indices of the right shifts whose result is mixed with the number they shift.

    As in `h ^ (h >> 16)`, `x | (x >> 1)` and rotations, which compute with bits, not with numbers.
    """
    shifts: set[int] = set()
    for op in module.ops:
        values = [value_before(operand, _SEEN_THROUGH) for operand in op.operands]
        for value, other in permutations(values) if _computes(op, "^", "|") else ():
            shifted, shift = _shifted(value, ">>"), value.owner
            mixes = shifted is not None and shifted in (other, _shifted(other, "<<"))
            if mixes and isinstance(shift, Op):
                shifts.add(shift.index)
    return frozenset(shifts)


def _shifted(value: Value, operator: Literal["<<", ">>"]) -> Value | None:
    """Return what an operator shifts to give a value, None if the value is not shifted by it."""
    op = value.owner
    if not isinstance(op, Op) or not _computes(op, operator):
        return None
    return value_before(op.operand("left"), _SEEN_THROUGH)


def _mixed_shift(op: Op) -> Op | None:
    """Return the left shift of a number whose bits an op mixes with that number, else None.

    Xorshift (`h ^ (h << 13)`) and rotations (`(h << 5) | (h >> 27)`) do so, and lose nothing.
    """
    values = [value_before(operand, _SEEN_THROUGH) for operand in op.operands]
    for value, other in permutations(values) if _computes(op, "^", "|") else ():
        shifted, part = _shifted(value, "<<"), other.owner
        mixes = shifted is other and _computes(op, "^")
        if isinstance(part, Op) and part.name in MIXING:
            mixes |= shifted is not None and shifted is _shifted(other, ">>")
        if mixes and isinstance(value.owner, Op):
            return value.owner
    return None


def is_mixed(value: Value) -> bool:
    """Return whether a value is a hash whose bits were mixed, or is computed from such a hash.

    A product with a large odd constant alone is no hash: the constant may be a stride. Two hashes
    side by side (`high << 32 | low`) are a hash.
    """
    op = _computing_op(value)
    if op is not None and _computes(op, "|") and _mixed_shift(op) is None:
        return all(map(_is_shifted_hash, op.operands))
    return _is_mixed(op)


def _is_shifted_hash(value: Value) -> bool:
    """Return whether a value is a hash, possibly widened and shifted left."""
    op = _computing_op(value)
    for _ in range(_MOST_STEPS):
        if op is not None and op.name in _WIDENING:
            op = _computing_op(op.operand("source"))
        elif op is not None and _computes(op, "<<"):
            op = _computing_op(op.operand("left"))
        else:
            break
    return _is_mixed(op)


def _is_mixed(op: Op | None) -> bool:
    for _ in range(_MOST_STEPS):
        if op is None or not is_hash(op):
            break
        op = _computing_op(op.operand("right" if _is_hashing(op.operand("left")) else "left"))
    if op is None or _mixed_shift(op) is not None or not _computes(op, "^"):
        return op is not None and _mixed_shift(op) is not None
    pending, visited = [op], {op.index}
    while pending and len(visited) < _MOST_STEPS:
        for operand in pending.pop().operands:
            operand_op = _computing_op(operand)
            if operand_op is None or operand_op.index in visited:
                continue
            visited.add(operand_op.index)
            if _computes(operand_op, "^"):
                pending.append(operand_op)
            elif _takes_upper_bits(operand_op):
                return True
    return False


def makes_hash(op: Op) -> bool:
    """Return whether an op computes a mixed hash, and does not only move elements."""
    return _computes(op, "^", "*", "+", "|") and is_mixed(op.results[0])


def _takes_upper_bits(op: Op) -> bool:
    """Return whether an op gives the upper bits of a product with a large odd constant."""
    if _computes(op, "mulhi"):
        return any(_is_hashing(operand) for operand in op.operands)
    if not _computes(op, ">>"):
        return False
    product = _computing_op(op.operand("left"))
    return product is not None and _computes(product, "*") and is_hash(product)


def _computes(op: Op, *operators: Operator) -> bool:
    """Return whether an op computes one of the given operators on integers."""
    return operator_of(op) in operators and integer_bits(op.results[0].type) is not None


def _computing_op(value: Value) -> Op | None:
    """Return the op that computes a value, skipping ops that only move elements, or None."""
    op = value.owner
    while isinstance(op, Op) and op.name in _SEEN_THROUGH:
        op = op.operand("source").owner
    return op if isinstance(op, Op) else None


def _is_hashing(value: Value) -> bool:
    number = _constant(value)
    return number is not None and bool(number % 2) and abs(number) >= LARGE_CONSTANT
