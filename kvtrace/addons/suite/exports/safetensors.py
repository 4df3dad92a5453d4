"""Files of the safetensors format: https://github.com/huggingface/safetensors#format."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.registry import BadSource

#: What the format allows.
_MOST_HEADER_BYTES: Final = 100_000_000
_TYPES: Final = {
    "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float64": "F64",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "bool": "BOOL",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8",
}  # fmt: skip


def write_tensor(file: Path, name: str, dtype: str, shape: Sequence[int], content: bytes) -> None:
    """Write a file with one tensor: its bytes, in rows, of a torch element type."""
    header = {
        name: {"dtype": _TYPES[dtype], "shape": list(shape), "data_offsets": [0, len(content)]}
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the format asks for data that is aligned
    with file.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.write(content)


def read_tensor(file: Path, name: str, dtype: str) -> bytes:
    """Return the bytes of a tensor in a file, in rows.

    Raises:
        BadSource: the file is missing or damaged, or has no such tensor of this element type.
    """
    try:
        with file.open("rb") as source:
            (length,) = struct.unpack("<Q", source.read(8))
            header = json.loads(source.read(min(length, _MOST_HEADER_BYTES)))
            start, end = _place(header[name], dtype)
            source.seek(8 + length + start)
            content = source.read(end - start)
    except (OSError, ValueError, KeyError, TypeError, struct.error, RecursionError) as error:
        raise BadSource(f"{file} has no tensor {name} of {dtype} ({error})") from error
    if len(content) != end - start:
        raise BadSource(f"{file} ends within the tensor {name}")
    return content


def _place(form: Mapping[str, Any], dtype: str) -> tuple[int, int]:
    """Return where a tensor's bytes are. Raises ValueError, KeyError, TypeError."""
    start, end = map(int, form["data_offsets"])
    if form["dtype"] != _TYPES.get(dtype) or not 0 <= start <= end:
        raise ValueError(f"it is of {form['dtype']}, at {start} to {end}")
    return start, end
