"""What an atomic op does to memory, by name."""

from typing import Final

from kvtrace.ir.model import Op
from kvtrace.ir.ops import KINDS

#: Triton's RMWOp by number.
RMW_OPS: Final = ("", "and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "exch")

#: Triton's DescriptorReduceKind by number.
REDUCTIONS: Final = ("", "add", "min", "max", "inc", "dec", "and", "or", "xor")


def update_of(op: Op) -> str:
    """Return how an atomic op changes memory; empty: it compares and swaps."""
    row = KINDS[op.name]
    if row.has("expected"):
        return ""
    names, key = (REDUCTIONS, "kind") if row.has("descriptor") else (RMW_OPS, "atomic_rmw_op")
    said = op.attributes.get(key)
    number = getattr(said, "value", getattr(said, "text", None))
    return names[number] if isinstance(number, int) else str(number)
