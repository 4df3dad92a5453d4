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
#: Operations that write no register of those that follow `_result`.
_WITHOUT_RESULT: Final = _STORES | _COPIES | {0x98E, 0x9A6}

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
    word = _word(code, offset)
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
    result = _result(word)
    overwrites = any(register <= number <= register + 1 for number in result)
    return GlobalAccess(effect, register, _signed(word >> 40 & 0xFFFFFF, 24), overwrites)


def holds_address(code: bytes, access: GlobalAccess, start: int, end: int) -> bool:
    """Return whether no instruction from `start` to before `end` wrote the address's registers.

    Both are offsets in bytes. Threads stop some instructions after the one that failed. False where
    an instruction in between may be a jump, or writes registers that are not known.
    """
    if access.overwrites or not start <= end:
        return False
    for offset in range(start + INSTRUCTION_BYTES, end, INSTRUCTION_BYTES):
        word = _word(code, offset)
        if word is None or word & 0xFFF in _JUMPS:
            return False
        if any(access.register <= number <= access.register + 1 for number in _result(word)):
            return False
    return True


#: BRA, BRX, JMP, CALL, RET, EXIT, BSYNC, WARPSYNC and their forms.
_JUMPS: Final = frozenset(
    {0x947, 0x949, 0x94A, 0x94C, 0x943, 0x944, 0x950, 0x94D, 0x941, 0x348, 0x547, 0x5AA}
)


def _result(word: int) -> Sequence[int]:
    """Return the registers that an instruction may write: for what is not known, four."""
    operation = word & 0xFFF
    if operation in _WITHOUT_RESULT:
        return ()
    first = word >> 16 & 0xFF
    return () if first == ZERO else range(first, first + 4)


def _word(code: bytes, offset: int) -> int | None:
    if offset < 0 or offset % INSTRUCTION_BYTES or offset + INSTRUCTION_BYTES > len(code):
        return None
    return int.from_bytes(code[offset : offset + INSTRUCTION_BYTES], "little")


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value
