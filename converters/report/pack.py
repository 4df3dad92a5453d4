"""Encoding of data in the page: blocks, which are gzip-compressed bytes as base64 text.

A block's content is JSON, plain bytes, or packed columns: a little-endian uint32 with the length of
a JSON header, the header (padded with spaces to a multiple of 8 bytes), then each column's bytes,
padded likewise. The page reads columns as typed arrays without copying. A column wider than 32 bits
is stored as two of 32 bits; the high half is nearly always zero and compresses well.
"""

import base64
import gzip
import json
import struct
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_ALIGNMENT: Final = 8
_MAX_UINT32: Final = 0xFFFFFFFF
#: Cache: field names by dataclass.
_FIELD_NAMES: Final[dict[type, tuple[str, ...]]] = {}
_TYPES: Final[dict[str, npt.DTypeLike]] = {"u1": "<u1", "u2": "<u2", "u4": "<u4"}


def json_block(value: Any) -> str:
    """Return a block with a JSON value; dataclasses become objects of their fields."""
    return text_block(json_text(value))


def json_text(value: Any) -> str:
    """Return a value as JSON text, as `json_block` encodes it."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=fields_of
    )


def text_block(text: str) -> str:
    """Return a block with a text, such as a JSON value."""
    return bytes_block(text.encode("utf-8", "replace"))


def bytes_block(content: bytes) -> str:
    """Return a block that contains bytes unchanged."""
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")


def columns_block(columns: dict[str, npt.NDArray[np.int64]]) -> str:
    """Return a block of integer columns, each stored as its lowest value and offsets from it.

    Ascending columns (times, sequence numbers) are stored as differences of neighbors, with `delta`
    in the header, which compresses several times better.
    """
    header: dict[str, dict[str, Any]] = {}
    bodies: list[bytes] = []
    for name, column in columns.items():
        header[name], body = _encoded(np.asarray(column, np.int64))
        header[name]["at"] = sum(map(len, bodies))
        bodies.append(body)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 4) % _ALIGNMENT)
    return bytes_block(struct.pack("<I", len(text)) + text + b"".join(bodies))


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name; much faster than `asdict`, which copies values."""
    kind = type(value)
    if kind not in _FIELD_NAMES:
        if not is_dataclass(value):
            raise TypeError(f"{kind.__name__} cannot be written as JSON")
        _FIELD_NAMES[kind] = tuple(field.name for field in fields(value))
    return {name: getattr(value, name) for name in _FIELD_NAMES[kind]}


def _encoded(column: npt.NDArray[np.int64]) -> tuple[dict[str, Any], bytes]:
    is_ascending = len(column) > 1 and bool(np.all(column[1:] >= column[:-1]))
    values = np.diff(column, prepend=column[:1]) if is_ascending else column
    base = int(values.min(initial=0))
    offsets = (values - base).astype(np.uint64)
    largest_offset = int(offsets.max(initial=0))
    entry: dict[str, Any] = {"count": len(column), "base": base}
    if is_ascending:
        entry["delta"] = int(column[0])
    if largest_offset > _MAX_UINT32:
        entry["type"] = "wide"
        halves = ((offsets & _MAX_UINT32).astype("<u4"), (offsets >> 32).astype("<u4"))
        return entry, b"".join(_padded(half.tobytes()) for half in halves)
    entry["type"] = "u1" if largest_offset < 1 << 8 else "u2" if largest_offset < 1 << 16 else "u4"
    return entry, _padded(offsets.astype(_TYPES[entry["type"]]).tobytes())


def _padded(body: bytes) -> bytes:
    return body + b"\0" * (-len(body) % _ALIGNMENT)
