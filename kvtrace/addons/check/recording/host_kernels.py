"""NumPy versions of the kernels in `device_code`, for launches on the CPU and for tests."""

from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.addons.check.recording.device_code import (
    FACTORS,
    FORMATS,
    INFINITE,
    LINE,
    NAN,
    PLACES,
    VECTOR,
)

Bytes = npt.NDArray[np.uint8]

_VECTORS: Final = LINE // VECTOR


def flags(memory: Bytes, dtype: str) -> int:
    """Return NAN if floats of `dtype` contain a NaN, plus INFINITE if they contain an infinity.

    `nan` and `limit` are what lifts magnitudes of NaNs, and of infinities too, above `mask`.
    """
    float_format = FORMATS[dtype]
    integer_type = np.dtype(f"u{float_format.bytes}")
    mask, nan, limit = (
        integer_type.type(number & ((1 << 8 * float_format.bytes) - 1))
        for number in (float_format.mask, float_format.nan, float_format.limit)
    )
    magnitudes = memory.view(integer_type) & mask
    is_nan, is_large = magnitudes + nan > mask, magnitudes + limit > mask
    return NAN * bool(is_nan.any()) | INFINITE * bool((is_large & ~is_nan).any())


def digest(memory: Bytes, lines: int = 1, address: int = 0) -> int:
    """Return a 64-bit digest of memory that depends on each byte and its position.

    If `lines` is above 1, of every `lines` lines of 128 bytes only the first is digested. `address`
    is where the memory begins; lines are counted from the last multiple of 16 up to there.
    """
    padding = address % VECTOR
    size = -(-(padding + len(memory)) // VECTOR) * VECTOR
    if padding or size != len(memory):
        padded = np.zeros(size, np.uint8)
        padded[padding : padding + len(memory)] = memory
        memory = padded
    words = memory.view(np.uint64).reshape(-1, 2)
    vector_numbers = np.arange(len(words), dtype=np.uint64)
    if lines > 1:
        is_digested = vector_numbers // np.uint64(_VECTORS) % np.uint64(lines) == 0
        words, vector_numbers = words[is_digested], vector_numbers[is_digested]
    mixed = words + vector_numbers[:, None] * np.array(PLACES, np.uint64)
    for factor in FACTORS:
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum(dtype=np.uint64))
