"""Messages between the process that makes calls and the process that runs the candidate.

A message is the sizes of its two parts, then a JSON object and bytes. The reader bounds both parts,
since the candidate's process may send anything.
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
    """The bytes are not a message."""


def send(descriptor: int, header: dict[str, Any], content: bytes = b"") -> None:
    """Write a message completely."""
    text = json.dumps(header).encode()
    for part in (SIZES.pack(len(text), len(content)) + text, content):
        remaining = memoryview(part)
        while remaining:
            remaining = remaining[os.write(descriptor, remaining[:_AT_ONCE]) :]


def receive(descriptor: int, most: int) -> tuple[dict[str, Any], bytes] | None:
    """Read a message whose bytes are at most `most`; None at the end of the messages.

    Raises:
        Malformed: the bytes are not a message.

    """
    sizes = _read(descriptor, SIZES.size)
    if not sizes:
        return None
    if len(sizes) < SIZES.size:
        raise Malformed("a message ends in its first bytes")
    header_size, size = SIZES.unpack(sizes)
    if header_size > _MOST_HEADER or size > most:
        raise Malformed(f"a message of {header_size + size:,} bytes")
    text, content = _read(descriptor, header_size), _read(descriptor, size)
    if len(text) < header_size or len(content) < size:
        raise Malformed("a message that is cut off")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"a message that is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise Malformed("a message that is not an object")
    return header, content


def _read(descriptor: int, count: int) -> bytes:
    parts, remaining = [], count
    while remaining and (part := os.read(descriptor, min(remaining, _AT_ONCE))):
        parts.append(part)
        remaining -= len(part)
    return b"".join(parts)
