"""Element and tensor types in MLIR's syntax (StableHLO specification, "Types")."""

from typing import Final

#: NumPy's name → MLIR's.
ELEMENTS: Final[dict[str, str]] = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "ui8",
    "uint16": "ui16",
    "uint32": "ui32",
    "uint64": "ui64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e4m3": "f8E4M3",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
}


def tensor_type(dtype: str, shape: tuple[int, ...]) -> str:
    """Return a tensor's type in MLIR, as `tensor<2x3xf32>`."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{ELEMENTS[dtype]}>"
