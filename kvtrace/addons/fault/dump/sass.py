"""Accesses of global memory in NVIDIA's machine code, and loops in it that poll.

An access says which registers hold the address. A kernel that hangs is stopped anywhere in its
loop, often at the branch. So the shortest loop around the instruction is searched for what it reads
again and again. Example, of `ld.acquire` for sm_90:

    0040  LDG.E.STRONG.GPU R0, …    the load that polls
    0060  ISETP.NE.U32.AND P0, …
    0070  @!P0 BRA 0040             where the warp may be stopped

An instruction of Volta and later GPUs has 128 bits. NVIDIA does not document them; a test compares
what is read here with `nvdisasm`, for instructions that Triton's compiler makes for three
architectures. Bits 0 to 11 are the operation, 16 to 23 the register of the result, 24 to 31 the
first of the two registers with the address, 40 to 63 a displacement in bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

INSTRUCTION_BYTES: Final = 16
#: The register that reads as 0.
ZERO: Final = 255

_LOADS: Final = frozenset({0x381, 0x981})  # LDG
_STORES: Final = frozenset({0x386, 0x986})  # STG
_ATOMICS: Final = frozenset({0x3A8, 0x9A8, 0x3A9, 0x9A9, 0x98E, 0x9A6})  # ATOMG, RED, REDG
_COPIES: Final = frozenset({0x3AE, 0xFAE})  # LDGSTS, from global to shared memory
#: Bits of the operation without those for the kind of its operands.
_BASE: Final = 0x1FF
#: Operations that jump: BRA, BRX, JMP, CALL, RET.
_JUMPS: Final = frozenset({0x147, 0x149, 0x14A, 0x143, 0x144, 0x150})
_CALLS: Final = frozenset({0x143, 0x144})
_TRAP: Final = 0x15C  # BPT
_BARRIER: Final = 0x11D  # BAR
#: Operations that write no register: stores, comparisons, barriers; and 0x80 to 0xBF, which write
#: uniform registers.
_WITHOUT_RESULT: Final = frozenset(
    {0x04, 0x0B, 0x0C, 0x1C, 0x44, 0xCA, 0x118, 0x11A, 0x11B, 0x11D, 0x141, 0x145, 0x148, 0x14D}
    | {0x186, 0x187, 0x188, 0x18E, 0x18F, 0x192, 0x1A6, 0x1AB, 0x1AC, 0x1AE, 0x1AF, 0x1C2, 0x1C3}
    | set(range(0x80, 0xC0))
)
#: Operations that write one register, as IADD3, and two, as IMAD.WIDE.
_OF_ONE: Final = frozenset(
    {0x02, 0x03, 0x07, 0x08, 0x09, 0x10, 0x11, 0x12, 0x13, 0x16, 0x19, 0x1A, 0x20, 0x21, 0x23, 0x24}
    | {0x27, 0x31, 0x35, 0x36, 0x3E, 0x45, 0x108, 0x119, 0x189}
)
_OF_TWO: Final = frozenset({0x05, 0x25, 0x182})
#: Loads, of global, shared and local memory; bits 73 to 75 say how much.
_SIZED: Final = frozenset({0x181, 0x183, 0x184})
_REGISTERS_BY_SIZE: Final = {5: 2, 6: 4}
_MOST_REGISTERS: Final = 4

Effect = Literal["load", "store", "atomic"]


@dataclass(frozen=True, slots=True)
class GlobalAccess:
    """An access of global memory.

    The address is the 64 bits in `register` and the next one, and `displacement` bytes.
    `overwrites` says that the instruction's own result takes the place of the address.
    """

    effect: Effect
    register: int
    displacement: int
    overwrites: bool


def access_at(code: bytes, offset: int) -> GlobalAccess | None:
    """Return the access of the instruction at an offset; None: it does not access global memory.

    An instruction of another form, as a copy by the tensor memory accelerator, gives None too.
    """
    word = word_at(code, offset)
    if word is None:
        return None
    operation = word & 0xFFF
    register = word >> 24 & 0xFF
    if operation in _COPIES:
        return GlobalAccess("load", register, _signed(word >> 32 & 0xFFF, 12), overwrites=False)
    effect: Effect
    if operation in _LOADS:
        effect = "load"
    elif operation in _STORES:
        effect = "store"
    elif operation in _ATOMICS:
        effect = "atomic"
    else:
        return None
    overwrites = any(register <= number <= register + 1 for number in written(word))
    return GlobalAccess(effect, register, _signed(word >> 40 & 0xFFFFFF, 24), overwrites)


def holds_address(code: bytes, access: GlobalAccess, start: int, end: int) -> bool:
    """Return whether no instruction from `start` to before `end` wrote the address's registers.

    Both are offsets in bytes. Threads stop some instructions after the one that failed. False where
    an instruction in between may be a jump, or writes registers that are not known.
    """
    if access.overwrites or not start <= end:
        return False
    for offset in range(start + INSTRUCTION_BYTES, end, INSTRUCTION_BYTES):
        word = word_at(code, offset)
        if word is None or word & _BASE in _JUMPS:
            return False
        if any(access.register <= number <= access.register + 1 for number in written(word)):
            return False
    return True


def stops(code: bytes, offset: int) -> bool:
    """Return whether the instruction at an offset calls a function, or is a trap."""
    word = word_at(code, offset)
    return word is not None and word & _BASE in (*_CALLS, _TRAP)


def waits(code: bytes, offset: int) -> bool:
    """Return whether the instruction at an offset waits for other threads of the program."""
    word = word_at(code, offset)
    return word is not None and word & _BASE == _BARRIER


def traps(code: bytes, offset: int) -> bool:
    """Return whether the instruction at an offset is a trap."""
    word = word_at(code, offset)
    return word is not None and word & _BASE == _TRAP


def written(word: int) -> Sequence[int]:
    """Return the registers that an instruction may write: of one that is not known, four."""
    operation, first = word & _BASE, word >> 16 & 0xFF
    if operation in _WITHOUT_RESULT or first == ZERO:
        return ()
    count = _MOST_REGISTERS
    if operation in _SIZED:
        count = _REGISTERS_BY_SIZE.get(word >> 73 & 7, 1)
    elif operation in _OF_ONE:
        count = 1
    elif operation in _OF_TWO:
        count = 2
    return range(first, first + count)


def word_at(code: bytes, offset: int) -> int | None:
    """Return the 128 bits of the instruction at an offset; None: there is none."""
    if offset < 0 or offset % INSTRUCTION_BYTES or offset + INSTRUCTION_BYTES > len(code):
        return None
    return int.from_bytes(code[offset : offset + INSTRUCTION_BYTES], "little")


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


Kind = Literal["mbarrier", "grid", "atomic", "load"]

#: Instructions of the longest loop that counts as one that polls; that polls an mbarrier.
_MOST: Final = 64
_MOST_OF_MBARRIER: Final = 8
_BRANCH: Final = 0x147  # BRA
_TRY_WAIT: Final = 0x5A7  # SYNCS.PHASECHK; SYNCS.ARRIVE is 0x9A7
_EXCHANGES: Final = frozenset({0x1A8, 0x1A9, 0x18A, 0x18B})  # ATOMG, ATOM, each with CAS
_POLLED_LOADS: Final = frozenset({0x181, 0x180})  # LDG, LD
_POLLED_STORES: Final = frozenset({0x186, 0x185})  # STG, ST
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
    if any(operation & _BASE in _POLLED_STORES for _, operation in operations):
        return None  # a loop that works
    for place, operation in operations:
        if operation == _TRY_WAIT and len(loop) <= _MOST_OF_MBARRIER:
            return Poll("mbarrier", place)
        if operation & _BASE in _EXCHANGES:
            return Poll("atomic", place)
        if operation & _BASE in _POLLED_LOADS and is_strong(code, place):
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
