"""Packets of Perfetto trace files: a sequence's first packet, and one packet per row.

Times of a sequence are deltas from one packet to the next, on a clock of its own, which its first
packet sets. Field numbers: https://github.com/google/perfetto/tree/main/protos/perfetto/trace
(TracePacket, ClockSnapshot).
"""

from collections.abc import Sequence
from typing import Final

from kvtrace.converters.timeline.pieces import Constant, Piece
from kvtrace.converters.timeline.protobuf import (
    Varint,
    bytes_field,
    integer_field,
    length_prefixed,
    varint,
)
from kvtrace.converters.timeline.timeline import Integers

Buffer = bytes | memoryview

#: Rows that are encoded at once.
CHUNK: Final = 1 << 15

# Trace and TracePacket
PACKET: Final = 1
CLOCK_SNAPSHOT: Final = 6
TIMESTAMP: Final = 8
SEQUENCE: Final = 10
_INTERNED_DATA: Final = 12
_FLAGS: Final = 13
_DEFAULTS: Final = 59
_STATE_CLEARED: Final = 1
_NEEDS_STATE: Final = 2
# Clocks: a sequence may define clocks 64 to 127 for itself
BOOTTIME: Final = 6
_DELTAS: Final = 64
_CLOCK_ID: Final = 58


def packet(content: bytes) -> bytes:
    """Return a packet with the content of a TracePacket."""
    return bytes_field(PACKET, content)


def first_packet(sequence: int, start: int, interned: bytes, defaults: bytes = b"") -> bytes:
    """Return the packet that clears a sequence's state and sets its clock.

    Args:
        sequence: the sequence's id.
        start: the time of its first packet, in ns.
        interned: the content of its InternedData.
        defaults: further fields of its TracePacketDefaults.

    """
    defaults += integer_field(_CLOCK_ID, _DELTAS)
    return packet(
        bytes_field(CLOCK_SNAPSHOT, clock(BOOTTIME, start) + clock(_DELTAS, start, deltas=True))
        + integer_field(SEQUENCE, sequence)
        + bytes_field(_INTERNED_DATA, interned)
        + integer_field(_FLAGS, _STATE_CLEARED)
        + bytes_field(_DEFAULTS, defaults)
    )


def clock(identity: int, time: int, *, deltas: bool = False) -> bytes:
    """Return a snapshot of a clock, which counts deltas if `deltas` is true."""
    content = integer_field(1, identity) + integer_field(2, time)
    return bytes_field(1, content + (integer_field(3, 1) if deltas else b""))


def packet_pieces(
    field: int, deltas: Integers, sequence: int, event: Sequence[Piece]
) -> list[Piece]:
    """Return the pieces of one packet per row: time since the previous one, sequence, event.

    `field` is the number of the event's field in TracePacket.
    """
    tag = integer_field(SEQUENCE, sequence) + varint(field << 3 | 2)
    content: list[Piece] = [
        Constant(varint(TIMESTAMP << 3)),
        Varint(deltas),
        *length_prefixed(tag, event, deltas.size),
        Constant(integer_field(_FLAGS, _NEEDS_STATE)),
    ]
    return length_prefixed(varint(PACKET << 3 | 2), content, deltas.size)


def without_nul(text: str) -> str:
    """Return the text with "␀" for NUL, at which the engine's SQL would end the string."""
    return text.replace("\0", "␀")
