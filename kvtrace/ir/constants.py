"""Values of constant ops, read from their attributes."""

from __future__ import annotations

from kvtrace.ir.attributes import DenseAttribute, FloatAttribute, IntegerAttribute
from kvtrace.ir.model import Op, Value
from kvtrace.ir.ops import CONSTANTS


def constant_of(value: Value) -> int | float | None:
    """Return the number of a constant, or of a constant tensor with equal elements; else None.

    Integers are signed; Booleans are 0 and 1.
    """
    op = value.owner
    if not isinstance(op, Op) or op.name not in CONSTANTS:
        return None
    attribute = op.attributes.get("value")
    if isinstance(attribute, DenseAttribute):
        return attribute.values[0] if attribute.is_splat else None
    return attribute.value if isinstance(attribute, IntegerAttribute | FloatAttribute) else None
