"""Parameters of a launch: the bytes that the driver passed, read by the kernel's signature."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

#: Formats of parameters by their types in a kernel's signature.
_FORMATS: Final = {
    "i1": "<b", "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q",
    "u1": "<B", "u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q",
    "fp16": "<e", "bf16": "<H", "fp32": "<f", "f32": "<f", "fp64": "<d",
}  # fmt: skip
_BFLOAT16_SHIFT: Final = 16


def read_parameters(
    content: bytes, signature: Sequence[Mapping[str, Any]]
) -> tuple[int | float | None, ...]:
    """Return the value of each parameter of a signature: a pointer's address, or a number.

    None for a constexpr, which is not passed, and for all from the first one on of which the size
    is not known, as a tensor descriptor. Each lies at a multiple of its own size, as C lays out
    parameters; Triton passes them in the order of the signature.
    """
    values: list[int | float | None] = []
    position, is_known = 0, True
    for parameter in signature:
        kind = parameter["type"] or ""
        if kind == "constexpr":
            values.append(None)
            continue
        form = "<Q" if kind.startswith("*") else _FORMATS.get(kind)
        is_known = is_known and form is not None
        if form is None or not is_known:
            values.append(None)
            continue
        size = struct.calcsize(form)
        position = -(-position // size) * size
        if position + size > len(content):
            is_known = False
            values.append(None)
            continue
        (value,) = struct.unpack_from(form, content, position)
        if kind == "bf16":
            (value,) = struct.unpack("<f", struct.pack("<I", value << _BFLOAT16_SHIFT))
        values.append(value)
        position += size
    return tuple(values)


def fits(values: Sequence[int | float | None], args: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether parameters can be those of a recorded call's arguments.

    Scalars have to be equal, pointers as far from multiples of 16 as recorded, and pointers into
    one storage as far from each other. What is not known is not compared.
    """
    bases: dict[int, int] = {}
    for position, (value, arg) in enumerate(zip(values, args, strict=True)):
        if value is None:
            continue
        if arg["kind"] == "scalar":
            if not _same_number(value, arg["scalar"]):
                return False
        elif arg["kind"] == "tensor":
            address = int(value)
            if arg["alignment"] is not None and address % 16 != arg["alignment"]:
                return False
            if arg["offset_bytes"] is not None:
                group = position if arg["alias_group"] is None else arg["alias_group"]
                if bases.setdefault(group, address - arg["offset_bytes"]) != (
                    address - arg["offset_bytes"]
                ):
                    return False
    return True


def _same_number(value: int | float, literal: str | None) -> bool:
    if literal is None:
        return True
    if literal in ("True", "False"):
        return bool(value) == (literal == "True")
    try:
        recorded = float(literal) if isinstance(value, float) else int(literal)
    except ValueError:
        return True  # a number in another form, as a float for an integer
    if isinstance(value, float):
        return math.isclose(value, recorded, rel_tol=1e-2) or (
            math.isnan(value) and math.isnan(recorded)
        )
    return (value - int(recorded)) % (1 << 32) == 0
