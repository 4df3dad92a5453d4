"""Loops in NVIDIA's machine code that poll: what a warp in one waits for.

A kernel that hangs is stopped anywhere in its loop, often at the branch. So the shortest loop
around the instruction is searched for what it reads again and again. Example, of `ld.acquire` for
sm_90:

    0040  LDG.E.STRONG.GPU R0, …    the load that polls
    0060  ISETP.NE.U32.AND P0, …
    0070  @!P0 BRA 0040             where the warp may be stopped

The encodings are not documented; a test compares them with `nvdisasm`, for three architectures.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from kvtrace.addons.fault.dump.sass import INSTRUCTION_BYTES, word_at

Kind = Literal["mbarrier", "grid", "atomic", "load"]

#: Instructions of the longest loop that counts as one that polls; that polls an mbarrier.
_MOST: Final = 64
_MOST_OF_MBARRIER: Final = 8
_BRANCH: Final = 0x147  # BRA
_BASE: Final = 0x1FF
_TRY_WAIT: Final = 0x5A7  # SYNCS.PHASECHK; SYNCS.ARRIVE is 0x9A7
_ATOMICS: Final = frozenset({0x1A8, 0x1A9, 0x18A, 0x18B})  # ATOMG, ATOM, each with CAS
_LOADS: Final = frozenset({0x181, 0x180})  # LDG, LD
_STORES: Final = frozenset({0x186, 0x185})  # STG, ST
#: Bits 77 to 80 of a load: which threads see the same value. The others are the strong ones, that
#: PTX's `volatile`, `relaxed` and `acquire` make.
_WEAK: Final = frozenset({0, 4})
_XOR: Final = 0x3C  # LOP3's table for a ^ b
_LOP3: Final = 0x012
_ADDITIONS: Final = frozenset({0x010, 0x090})  # IADD3, UIADD3
#: What the first program adds to the word of a grid's barrier, besides the number of programs.
_FLIPS: Final = 0x8000_0001


@dataclass(frozen=True, slots=True)
class Poll:
    """The instruction that a loop polls by.

    Attributes:
        kind: `mbarrier`; `grid`, the barrier of cooperative groups; `atomic`; or `load`, a strong
            one, which sees what other threads store.
        offset: bytes from the start of the function.
    """

    kind: Kind
    offset: int


def poll_around(code: bytes, offset: int) -> Poll | None:
    """Return what the shortest loop around an instruction polls; None: it is in no such loop.

    A wait for an mbarrier counts without a loop, since the instruction itself waits.
    """
    for place in (offset, offset - INSTRUCTION_BYTES):
        if _operation(code, place) == _TRY_WAIT:
            return Poll("mbarrier", place)
    loop = _loop_around(code, offset)
    if loop is None:
        return None
    operations = [(place, _operation(code, place)) for place in loop]
    if any(operation & _BASE in _STORES for _, operation in operations):
        return None  # a loop that works
    for place, operation in operations:
        if operation == _TRY_WAIT and len(loop) <= _MOST_OF_MBARRIER:
            return Poll("mbarrier", place)
        if operation & _BASE in _ATOMICS:
            return Poll("atomic", place)
        if operation & _BASE in _LOADS and is_strong(code, place):
            return Poll("grid" if _is_of_grid(code, loop) else "load", place)
    return None


def is_strong(code: bytes, offset: int) -> bool:
    """Return whether the load at an offset sees what other threads store meanwhile."""
    word = word_at(code, offset)
    return word is not None and word >> 77 & 0xF not in _WEAK


def branch_target(code: bytes, offset: int) -> int | None:
    """Return the offset that the branch at an offset leads to; None: there is no branch.

    Hopper and later GPUs have the lowest eight of the distance's bits, which counts in fours, at
    bit 16, and the rest from bit 34 on; GPUs before have all from bit 34 on.
    """
    word = word_at(code, offset)
    if word is None or word & _BASE != _BRANCH:
        return None
    distance = word >> 34 & (1 << 48) - 1
    distance -= (distance >> 47) << 48
    if _has_split_distances(code):
        distance = distance << 8 | word >> 16 & 0xFF
    return offset + INSTRUCTION_BYTES + 4 * distance


@lru_cache(maxsize=8)
def _has_split_distances(code: bytes) -> bool:
    """Return whether branches have a part of their distance at bit 16.

    Each function ends with a branch to itself, whose part there is not 0.
    """
    words = (word_at(code, place) for place in range(0, len(code), INSTRUCTION_BYTES))
    return any(word is not None and word & _BASE == _BRANCH and word >> 16 & 0xFF for word in words)


def _loop_around(code: bytes, offset: int) -> range | None:
    """Return the offsets of the shortest loop around an instruction, of `_MOST` at most."""
    most = _MOST * INSTRUCTION_BYTES
    loops = [
        range(target, place + INSTRUCTION_BYTES, INSTRUCTION_BYTES)
        for place in range(offset, offset + most, INSTRUCTION_BYTES)
        if (target := branch_target(code, place)) is not None
        and max(0, place - most) <= target <= offset
    ]
    return min(loops, key=len, default=None)


def _is_of_grid(code: bytes, loop: range) -> bool:
    """Return whether a loop waits for the highest bit of a word to flip, as cooperative groups do.

    The first program has added 0x80000000 less the number of the others to that word:
    `cooperative_groups/details/sync.h`, which CUDA's toolkit brings.
    """
    before = range(max(0, loop.start - _MOST * INSTRUCTION_BYTES), loop.start, INSTRUCTION_BYTES)
    has_xor = any(
        word & _BASE == _LOP3 and word >> 72 & 0xFF == _XOR for word in _words(code, loop)
    )
    return has_xor and any(
        word & _BASE in _ADDITIONS and word >> 32 & 0xFFFF_FFFF == _FLIPS
        for word in _words(code, before)
    )


def _words(code: bytes, places: range) -> Iterator[int]:
    return (word for place in places if (word := word_at(code, place)) is not None)


def _operation(code: bytes, offset: int) -> int:
    word = word_at(code, offset)
    return 0 if word is None else word & 0xFFF
