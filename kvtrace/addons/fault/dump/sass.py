"""Accesses of global memory in NVIDIA's machine code: which registers hold the address.

An instruction of Volta and later GPUs has 128 bits. NVIDIA does not document them; a test compares
what is read here with `nvdisasm`, for instructions that Triton's compiler makes for three
architectures. Bits 0 to 11 are the operation, 16 to 23 the register of the result, 24 to 31 the
first of the two registers with the address, 40 to 63 a displacement in bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
