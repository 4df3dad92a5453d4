"""Reader of the blocks of a page, which `converters/report/pack.py` writes."""

import base64
import gzip
import json
import re
import struct
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

#: A block of a page: its name, and its packed text.
BLOCK: Final = re.compile(r'<script type="application/gzip\+base64" id="([^"]*)">([^<]*)</script>')
_ALIGNMENT: Final = 8
_TYPES: Final[dict[str, npt.DTypeLike]] = {"u1": "<u1", "u2": "<u2", "u4": "<u4"}


def blocks_in(page: Path) -> dict[str, str]:
    """Return the packed text of each block of a page, by name."""
    return dict(BLOCK.findall(page.read_text(encoding="utf-8")))


def read_json(block: str) -> Any:
    """Return the value of a block that `json_block` wrote."""
    return json.loads(_content(block))


def read_bytes(block: str) -> bytes:
    """Return the bytes of a block that `bytes_block` wrote."""
    return _content(block)


def read_columns(block: str) -> dict[str, npt.NDArray[np.int64]]:
    """Return the columns of a block that `columns_block` wrote."""
    content = _content(block)
    (length,) = struct.unpack_from("<I", content)
    header = json.loads(content[4 : 4 + length])
    return {name: _decoded(content, 4 + length, entry) for name, entry in header.items()}


def _content(block: str) -> bytes:
    return gzip.decompress(base64.b64decode(block))


def _decoded(content: bytes, start: int, entry: dict[str, Any]) -> npt.NDArray[np.int64]:
    count, byte_offset = entry["count"], start + entry["at"]
    if entry["type"] == "wide":
        high_offset = byte_offset + count * 4 + (-count * 4) % _ALIGNMENT
        low = np.frombuffer(content, "<u4", count, byte_offset).astype(np.int64)
        values = low + (np.frombuffer(content, "<u4", count, high_offset).astype(np.int64) << 32)
    else:
        values = np.frombuffer(content, _TYPES[entry["type"]], count, byte_offset).astype(np.int64)
    values += int(entry["base"])
    return np.cumsum(values) + int(entry["delta"]) if "delta" in entry else values
