"""Files of the safetensors format: https://github.com/huggingface/safetensors#format."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_TYPES: Final = {
    "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float64": "F64",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "bool": "BOOL",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8",
}  # fmt: skip


def write_tensor(
    file: Path, name: str, dtype: str, shape: Sequence[int], content: bytes
) -> None:
    """Write a file with one tensor: its bytes, in rows, of a torch element type."""
    header = {
        name: {"dtype": _TYPES[dtype], "shape": list(shape), "data_offsets": [0, len(content)]}
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the format asks for data that is aligned
    with file.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.write(content)
