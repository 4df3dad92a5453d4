"""The type in which a dot multiplies, which determines a device's peak rate."""

from typing import Final

from kvtrace.ir import Op
from kvtrace.ir.attributes import EnumAttribute, IntegerAttribute, StringAttribute
from kvtrace.ir.ops import KINDS
from kvtrace.ir.types import TensorType

#: Triton's InputPrecision of float32 factors, by number; IEEE is the default.
_PRECISIONS: Final = {0: "tf32", 1: "tf32x3", 2: "f32", 3: "bf16x3", 4: "bf16x6"}
_IEEE: Final = 2

#: Triton's ScaleDotElemType of packed factors, by number.
_SCALED: Final = {
    0: "f8E4M3FN",
    1: "f8E5M2",
    2: "f6E2M3FN",
    3: "f6E3M2FN",
    4: "f4E2M1FN",
    5: "bf16",
    6: "f16",
}  # fmt: skip
_SCALED_NAMES: Final = {
    "e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "e2m3": "f6E2M3FN", "e3m2": "f6E3M2FN",
    "e2m1": "f4E2M1FN", "bf16": "bf16", "fp16": "f16",
}  # fmt: skip


def factor_type(op: Op) -> str:
    """Return the type of a dot's factors (bf16, tf32, f8E5M2), the wider type if they differ.

    float32 factors have the requested precision: `tf32x3` is three products in tf32.
    """
    if KINDS[op.name].has("left_scale"):
        names = [_scaled_name(op, key) for key in ("a_elem_type", "b_elem_type")]
        return max(names, key=_bits)
    factor = op.operand("left").type
    name = str(factor.element if isinstance(factor, TensorType) else factor)
    if name != "f32":
        return name
    precision = _attribute_value(op, "inputPrecision")
    if isinstance(precision, str):
        return "f32" if precision == "ieee" else precision
    return _PRECISIONS.get(_IEEE if precision is None else precision, "f32")


def _scaled_name(op: Op, key: str) -> str:
    kind = _attribute_value(op, key)
    if isinstance(kind, str):
        return _SCALED_NAMES.get(kind, kind)
    return _SCALED.get(kind, "?") if kind is not None else "?"


def _bits(name: str) -> int:
    digits = "".join(c for c in name.partition("E")[0] if c.isdigit())
    return int(digits) if digits else 0


def _attribute_value(op: Op, key: str) -> int | str | None:
    attribute = op.attributes.get(key)
    if isinstance(attribute, IntegerAttribute | StringAttribute | EnumAttribute):
        value = attribute.value
        return value if isinstance(value, int | str) else None
    return None
