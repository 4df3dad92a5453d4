"""Memory ops: names of the updates that atomic ones make, and operands for data and positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kvtrace.ir.model import Op, Value
from kvtrace.ir.ops import KINDS

#: Names of Triton's RMWOp, by number.
RMW_OPS: Final = ("", "and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "exch")

#: Names of Triton's DescriptorReduceKind, by number.
REDUCTIONS: Final = ("", "add", "min", "max", "inc", "dec", "and", "or", "xor")


def update_of(op: Op) -> str:
    """Return the name of an atomic op's update, such as "fadd"; "" for compare-and-swap."""
    row = KINDS[op.name]
    if row.has("expected"):
        return ""
    names, key = (REDUCTIONS, "kind") if row.has("descriptor") else (RMW_OPS, "atomic_rmw_op")
    kind = op.attributes.get(key)
    number = getattr(kind, "value", getattr(kind, "text", None))
    return names[number] if isinstance(number, int) else str(number)


DATA: Final = ("value", "expected", "other")
"""Names of a memory op's operands that are neither address nor mask."""


def data_of(op: Op) -> tuple[Value, ...]:
    """Return a memory op's operands that are neither address nor mask."""
    return _operands_named(op, DATA)


def positions_of(op: Op) -> tuple[Value, ...]:
    """Return the operands with a block's position, or rows, in a descriptor's tensor."""
    return _operands_named(op, ("index", "row", "column"))


def _operands_named(op: Op, names: Sequence[str]) -> tuple[Value, ...]:
    row = KINDS[op.name]
    return tuple(value for name in names if row.has(name) for value in op.group(name))
