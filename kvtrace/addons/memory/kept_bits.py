"""Bits of integers in memory: those that matter, and those that a masked update keeps.

`old & 0xF0 | low` stored where `old` was loaded replaces four bits of a byte and keeps the others.
What nobody wrote of these is no use yet: `old & 0x0F | high << 4` may replace them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import constant_of, flow_of
from kvtrace.ir.ops import MEMORY, operator_of
from kvtrace.ir.types import integer_bits
from kvtrace.ir.updates import data_of
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.taint import reached_from

_OF_SOME_BITS: Final = ("cast", "&", "<<", ">>", "|", "^", "+", "-", "*")
"""Operators of which some bits of an integer decide nothing."""
_REPLACING: Final = ("&", "<<", ">>")
_JOINING: Final = ("|", "^")


def demanded_bits(value: Value, module: Module, unknown: int = -1) -> int:
    """Return the bits of an integer on which what becomes of it may depend, as a number.

    `unknown` are those that count of what may drop any bits: all of them, or 0 for none.
    """
    reached = reached_from(module, (value,))
    known: dict[int, int] = {}  # of results, those of later ops first

    def demanded(each: Value) -> int:
        uses = flow_of(module).uses(each)
        return reduce(or_, (_demanded_by(use, each, known, unknown) for use in uses), 0)

    for op in reversed(module.ops):
        known |= {result.id: demanded(result) for result in op.results if result.id in reached}
    return demanded(value)


def _demanded_by(use: Op, value: Value, known: Mapping[int, int], unknown: int) -> int:
    """Return the bits of a value that an op demands for the `known` bits of its results."""
    full = _all_bits(value)
    (result,) = use.results if len(use.results) == 1 else (None,)
    operator = operator_of(use)
    if use.name in MEMORY or (result is not None and not _all_bits(result)):
        return full
    if result is None or operator not in _OF_SOME_BITS:
        return full & (-1 if operator == "compare" else unknown)
    bits = known[result.id]
    if operator == "cast":
        is_signed = use.name == "arith.extsi" and bits > full
        return bits & full | (is_signed and full & ~(full >> 1))
    if operator in _JOINING:
        return bits
    if operator in ("+", "-", "*"):  # they carry to higher bits alone
        return (1 << bits.bit_length()) - 1
    return _demanded_by_constant(use, value, bits, unknown)


def _demanded_by_constant(use: Op, value: Value, bits: int, unknown: int) -> int:
    """Return the bits of a value that an "and" or a shift needs for some bits of its result."""
    full, other = _all_bits(value), constant_of(use.operand("right"))
    operator, width = operator_of(use), full.bit_length()
    if not isinstance(other, int) or use.operand("left") is not value:
        return full & unknown
    if operator == "&":
        return bits & other
    if not 0 <= other < width:
        return full & unknown
    if operator == "<<":
        return bits >> other
    is_signed = use.name == "arith.shrsi" and bits >> (width - other)
    return bits << other & full | (is_signed and full & ~(full >> 1))


class Carried(NamedTuple):
    """Bits of a stored integer that are made of bits of a loaded one.

    `bits` are None if something else than bits is computed; `is_masked`: an op replaces some.
    """

    bits: int | None
    is_masked: bool = False


def carried_bits(load: Access, store: Access, module: Module, loaded: int = -1) -> Carried:
    """Return which bits of what a store writes are made of the bits `loaded` of a load."""
    (value,) = load.op.results
    reached = reached_from(module, (value,))
    carried = {value.id: Carried(loaded & _all_bits(value))}
    for op in module.ops:
        if load.op.index < op.index < store.op.index and any(r.id in reached for r in op.results):
            parts = [carried.get(each.id, _COMPUTED) for each in op.operands if each.id in reached]
            others = [each for each in op.operands if each.id not in reached]
            carried |= {result.id: _after(op, parts, others) for result in op.results}
    stored, *_ = data_of(store.op)
    return carried.get(stored.id, _COMPUTED if stored.id in reached else Carried(0))


_COMPUTED: Final = Carried(None)


def _after(op: Op, parts: Sequence[Carried], others: Sequence[Value]) -> Carried:
    """Return what an op's result has of the bits that some of its operands have."""
    operator, full = operator_of(op), _all_bits(op.results[0])
    known = [part.bits for part in parts if part.bits is not None]
    if len(known) < len(parts) or not full:
        return _COMPUTED
    bits, constant = reduce(or_, known, 0), constant_of(others[0]) if others else None
    is_masked = operator in _REPLACING or any(part.is_masked for part in parts)
    if operator == "&":
        return Carried(bits & constant if isinstance(constant, int) else bits, is_masked)
    if operator in _JOINING or (operator == "cast" and op.name != "arith.extsi"):
        return Carried(bits & full, is_masked)
    if operator not in ("<<", ">>") or op.operands[-1] not in others or op.name == "arith.shrsi":
        return _COMPUTED
    if not isinstance(constant, int):
        return Carried(full, is_masked)
    return Carried((bits << constant if operator == "<<" else bits >> constant) & full, is_masked)


def _all_bits(value: Value) -> int:
    return (1 << (integer_bits(value.type) or 0)) - 1
