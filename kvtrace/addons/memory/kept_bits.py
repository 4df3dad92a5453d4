"""Bits of integers in memory: those that matter, and those that a masked update keeps.

`old & 0xF0 | low` stored where `old` was loaded replaces four bits of a byte and keeps the others.
What nobody wrote of these is no use yet: `old & 0x0F | high << 4` may replace them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import constant_of, flow_of
from kvtrace.ir.ops import operator_of
from kvtrace.ir.types import integer_bits
from kvtrace.ir.updates import data_of
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.taint import reached_from

_OF_SOME_BITS: Final = ("cast", "&", "<<", ">>")
"""Operators of which some bits of an integer decide nothing."""
_REPLACING: Final = ("&", "<<", ">>")
_JOINING: Final = ("|", "^")


def demanded_bits(value: Value, module: Module) -> int:
    """Return the bits of an integer on which what becomes of it may depend, as a number."""
    width = integer_bits(value.type) or 0
    demanded, full = 0, (1 << width) - 1
    for use in flow_of(module).uses(value):
        result_width = integer_bits(use.results[0].type) if len(use.results) == 1 else None
        operator = operator_of(use)
        if result_width is None or operator not in _OF_SOME_BITS:
            return full
        bits = demanded_bits(use.results[0], module)
        if operator == "cast":
            is_signed = use.name == "arith.extsi" and bits >> width
            demanded |= bits & full | (is_signed and 1 << (width - 1))
            continue
        other = constant_of(use.operand("right"))
        if not isinstance(other, int) or use.operand("left") is not value:
            return full
        if operator == "&":
            demanded |= bits & other
        elif not 0 <= other < width:
            return full
        elif operator == "<<":
            demanded |= bits >> other
        else:
            is_signed = use.name == "arith.shrsi" and bits >> (width - other)
            demanded |= bits << other & full | (is_signed and 1 << (width - 1))
    return demanded


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
