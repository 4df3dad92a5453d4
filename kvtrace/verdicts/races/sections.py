"""Sections that a lock guards: what programs do in them has an order.

A section begins after a loop that ends only when an atomic has changed a lock word from open to
shut, with acquire, and ends where an atomic exchange puts open back, with release. While a program
is in it no other one is in a section of the same word: what both do inside has an order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kvtrace.evaluate.compiler import attribute
from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.attributes import DenseAttribute
from kvtrace.ir.memo import once_per_module
from kvtrace.metrics.of_ops import kind_of
from kvtrace.verdicts.races.parts import Parts, parts_of

_EXCHANGE: Final = 10
"""tt.RMWOp of an exchange."""


@dataclass(frozen=True)
class Section:
    """The ops (by index) between `shuts` and `opens`, which go to the lock word `pointer`."""

    shuts: Op
    opens: Op
    inside: frozenset[int]


@once_per_module
def sections_of(module: Module) -> tuple[Section, ...]:
    """Return the sections of a module."""
    return tuple(_sections(module))


def _sections(module: Module) -> Iterator[Section]:
    parts = parts_of(module)
    if not parts.synchronises:
        return
    for op in module.ops:
        if op.name == "scf.while" and op.block is not None:
            section = _section(op, op.block, parts)
            if section is not None:
                yield section


def _section(loop: Op, block: Block, parts: Parts) -> Section | None:
    shuts = _only_atomic(loop)
    if shuts is None or not parts.by_op[shuts.index].acquires:
        return None
    words = _open_and_shut(loop, shuts)
    if words is None:
        return None
    inside: set[int] = set()
    for op in block.ops[block.ops.index(loop) + 1 :]:
        if _puts_back(op, shuts.operands[0], words[0], parts):
            return Section(shuts, op, frozenset(inside))
        inside.update(each.index for each in op.walk())
    return None


def _only_atomic(loop: Op) -> Op | None:
    """Return the scalar atomic in a loop that does nothing else in memory."""
    memory = [op for op in loop.walk() if kind_of(op) in ("load", "store", "atomic")]
    if len(memory) != 1 or memory[0].name not in ("tt.atomic_cas", "tt.atomic_rmw"):
        return None
    if memory[0].block is None or memory[0].block.region is not loop.regions[0]:
        return None
    return memory[0] if "tensor" not in str(memory[0].results[0].type) else None


def _open_and_shut(loop: Op, atomic: Op) -> tuple[int, int] | None:
    """Return the words of an open and a shut lock, if the loop ends only by shutting it."""
    if atomic.name == "tt.atomic_cas":
        opened, shut = (constant_of(value) for value in atomic.operands[1:3])
    elif attribute(atomic, "atomic_rmw_op") == _EXCHANGE and _is_unmasked(atomic):
        opened, shut = None, constant_of(atomic.operands[1])
    else:
        return None
    end = loop.regions[0].blocks[0].ops[-1]
    compare = end.operands[0].owner
    if not isinstance(compare, Op) or compare.name != "arith.cmpi" or shut is None:
        return None
    left, right = compare.operands
    if left is not atomic.results[0]:
        left, right = right, left
    with_what = constant_of(right)
    if left is not atomic.results[0] or with_what is None:
        return None
    goes_on_while_equal = attribute(compare, "predicate") == 0
    if goes_on_while_equal and with_what == shut:
        # Lock words are taken to be open or shut: then what is not shut is open.
        return (0 if opened is None else opened), shut
    if attribute(compare, "predicate") == 1 and opened in (None, with_what) and with_what != shut:
        return with_what, shut
    return None


def _puts_back(op: Op, pointer: Value, opened: int, parts: Parts) -> bool:
    return (
        op.name == "tt.atomic_rmw"
        and op.operands[0] is pointer
        and attribute(op, "atomic_rmw_op") == _EXCHANGE
        and _is_unmasked(op)
        and constant_of(op.operands[1]) == opened
        and parts.by_op[op.index].releases
    )


def _is_unmasked(atomic: Op) -> bool:
    return len(atomic.operands) < 3 or constant_of(atomic.operands[2]) not in (None, 0)


def constant_of(value: Value) -> int | None:
    """Return a constant integer, or that of which a constant tensor is full; else None."""
    owner = value.owner
    if not isinstance(owner, Op) or owner.name != "arith.constant":
        return None
    number = owner.attributes["value"]
    if isinstance(number, DenseAttribute):
        element = number.values[0] if number.is_splat else None
        return element if isinstance(element, int) else None
    found = getattr(number, "value", None)
    return int(found) if isinstance(found, int) else None
