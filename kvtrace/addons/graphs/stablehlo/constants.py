"""Values of constants in MLIR's syntax.

A float needs a point or an exponent; infinities and NaN have no literal and are written as the bits
of their type in hexadecimal.
"""

import json
import math
from typing import Any, Final

from kvtrace.addons.graphs.stablehlo.types import tensor_type

#: Bits of NaN, infinity and minus infinity; None where the type has no infinity.
_SPECIAL: Final[dict[str, tuple[str, str | None, str | None]]] = {
    "float16": ("0x7E00", "0x7C00", "0xFC00"),
    "bfloat16": ("0x7FC0", "0x7F80", "0xFF80"),
    "float32": ("0x7FC00000", "0x7F800000", "0xFF800000"),
    "float64": ("0x7FF8000000000000", "0x7FF0000000000000", "0xFFF0000000000000"),
    "float8_e4m3fn": ("0x7F", None, None),
    "float8_e5m2": ("0x7E", "0x7C", "0xFC"),
    "float8_e4m3": ("0x7C", "0x78", "0xF8"),
    "float8_e3m4": ("0x78", "0x70", "0xF0"),
    "float8_e4m3b11fnuz": ("0x80", None, None),
    "float8_e4m3fnuz": ("0x80", None, None),
    "float8_e5m2fnuz": ("0x80", None, None),
}


def dense(text: str, dtype: str, shape: tuple[int, ...]) -> str:
    """Return `dense<…> : tensor<…>` for a constant, whose attribute `value` is `text`."""
    type_text = tensor_type(dtype, shape)
    if 0 in shape:
        return f"dense<> : {type_text}"
    if text.startswith("0x"):
        return f"dense<{_hexadecimal_value(text, dtype, shape)}> : {type_text}"
    return f"dense<{_literal(json.loads(text), dtype)}> : {type_text}"


def _hexadecimal_value(text: str, dtype: str, shape: tuple[int, ...]) -> str:
    if dtype != "bool":
        return f'"{text.upper().replace("X", "x")}"'
    # MLIR packs the bytes of bools differently; a list avoids that.
    values = [byte != 0 for byte in bytes.fromhex(text[2:])]
    for extent in reversed(shape[1:]):
        values = [values[i : i + extent] for i in range(0, len(values), extent)]  # type: ignore[misc]
    return _literal(values, dtype)


def _literal(value: Any, dtype: str) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_literal(item, dtype) for item in value)}]"
    if dtype == "bool":
        return "true" if value else "false"
    if "float" not in dtype:
        return str(int(value))
    return _float_literal(float(value), dtype)


def _float_literal(value: float, dtype: str) -> str:
    if math.isfinite(value):
        text = repr(value)
        mantissa, exponent, power = text.partition("e")
        return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}{exponent}{power}"
    nan, infinity, minus_infinity = _SPECIAL[dtype]
    if math.isnan(value):
        return nan
    # A type without infinities has NaN instead, as after a conversion.
    return (infinity if value > 0 else minus_infinity) or nan
