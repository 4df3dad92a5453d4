"""Names of the updates that atomic ops make."""

from typing import Final

from kvtrace.ir.model import Op
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
