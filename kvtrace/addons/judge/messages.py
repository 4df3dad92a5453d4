"""Messages between the process that makes calls and the process that runs the candidate.

A message has the sizes of its two parts, then the parts: a JSON object (header) and bytes. The
reader limits both sizes, since the candidate's process may send anything.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any, Final

from kvtrace.addons.judge.request import CannotJudge

SIZES: Final = struct.Struct("<IQ")
_MOST_HEADER: Final = 1 << 20
_AT_ONCE: Final = 1 << 20


class Malformed(CannotJudge):
    """Bytes from the candidate's process are not a valid message."""


def send(descriptor: int, header: dict[str, Any], content: bytes = b"") -> None:
    """Write a message completely into a pipe."""
    text = json.dumps(header).encode()
    for part in (SIZES.pack(len(text), len(content)) + text, content):
        remaining = memoryview(part)
        while remaining:
            remaining = remaining[os.write(descriptor, remaining[:_AT_ONCE]) :]


def receive(descriptor: int, most: int) -> tuple[dict[str, Any], bytes] | None:
    """Read a message from a pipe; return its header and bytes, or None at the pipe's end.

    Raises:
        Malformed: the message is not valid, or has more than `most` bytes.
    """
    sizes = _read(descriptor, SIZES.size)
    if not sizes:
        return None
    if len(sizes) < SIZES.size:
        raise Malformed("a message ends before its sizes")
    header_size, size = SIZES.unpack(sizes)
    if header_size > _MOST_HEADER or size > most:
        raise Malformed(f"a message is too large ({header_size + size:,} bytes)")
    text, content = _read(descriptor, header_size), _read(descriptor, size)
    if len(text) < header_size or len(content) < size:
        raise Malformed("a message is cut off")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"the header of a message is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise Malformed("the header of a message is not a JSON object")
    return header, content


def _read(descriptor: int, count: int) -> bytes:
    parts, remaining = [], count
    while remaining and (part := os.read(descriptor, min(remaining, _AT_ONCE))):
        parts.append(part)
        remaining -= len(part)
    return b"".join(parts)
