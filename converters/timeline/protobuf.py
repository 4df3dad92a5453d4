"""Encoder of the Protocol Buffers wire format: fields of one message, and columns of many.

Format: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.converters.timeline.pieces import (
    WORD,
    Bytes,
    Constant,
    Index,
    Lengths,
    Piece,
    digit_counts,
    total_lengths,
    windows,
)

Words = npt.NDArray[np.uint64]

_SEVEN_BITS: Final = np.uint64(0x7F)
_SHIFT: Final = np.uint64(7)
_MASK_64: Final = (1 << 64) - 1
_THRESHOLDS: Final = tuple(1 << (7 * n) for n in range(1, 10))


def varint(value: int) -> bytes:
    """Return an integer as a varint; negative integers take ten bytes, as in int64."""
    value &= _MASK_64
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def integer_field(number: int, value: int) -> bytes:
    """Return the field with a number, of type uint32, uint64, int32, int64, bool or enum."""
    return varint(number << 3) + varint(value)


def bytes_field(number: int, value: bytes | str) -> bytes:
    """Return the field with a number, of type bytes, string or message."""
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


class Varint:
    """An unsigned integer in each row, without its tag."""

    def __init__(self, values: npt.NDArray[np.integer]) -> None:
        self._values: Words = values.astype(np.uint64, copy=False)
        self._lengths = digit_counts(self._values, _THRESHOLDS)

    def lengths(self) -> Lengths:
        """Return the number of bytes of each row, 1 to 10."""
        return self._lengths

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Write the values, seven bits per byte, the lowest first."""
        if not self._values.size:
            return
        rest = self._values.copy()
        lengths = self._lengths
        shortest, longest = int(lengths.min()), int(lengths.max())
        for offset in range(longest):
            if offset >= shortest:  # from here on only some rows have a byte
                keep = np.flatnonzero(lengths > offset)
                rest, lengths, positions = rest[keep], lengths[keep], positions[keep]
                shortest = int(lengths.min())
            byte = (rest & _SEVEN_BITS).astype(np.uint8)
            byte |= (lengths > offset + 1).view(np.uint8) << np.uint8(7)
            buffer[positions + offset] = byte
            rest >>= _SHIFT


@dataclass(frozen=True, slots=True)
class Fixed64:
    """A 64-bit word in each row, without its tag."""

    values: Words

    def lengths(self) -> int:
        """Return 8, the length in every row."""
        return 8

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Write the words, lowest byte first."""
        windows(buffer)[positions] = self.values.astype("<u8").view(WORD)


def length_prefixed(tag: bytes, pieces: Sequence[Piece], count: int) -> list[Piece]:
    """Return the pieces of a field of type message: tag, length, and `pieces` as content."""
    return [Constant(tag), Varint(total_lengths(pieces, count)), *pieces]
