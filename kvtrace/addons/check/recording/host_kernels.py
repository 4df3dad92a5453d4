"""NumPy versions of the kernels in `device_code`, for launches on the CPU, and for tests."""

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
    """Return two bits: whether floats (of a type in FORMATS) include a NaN, and an infinity."""
    form = FORMATS[dtype]
    word = np.dtype(f"u{form.bytes}")
    mask, nan, limit = (
        word.type(number & ((1 << 8 * form.bytes) - 1))
        for number in (form.mask, form.nan, form.limit)
    )
    rest = memory.view(word) & mask
    is_nan, is_large = rest + nan > mask, rest + limit > mask
    return NAN * bool(is_nan.any()) | INFINITE * bool((is_large & ~is_nan).any())


def digest(memory: Bytes, lines: int = 1, address: int = 0) -> int:
    """Return a 64-bit digest of memory that depends on each byte and its position.

    Of one line in `lines` only, if above 1. Lines are counted from the last aligned address before
    `address`, where the memory begins.
    """
    before = address % VECTOR
    size = -(-(before + len(memory)) // VECTOR) * VECTOR
    if before or size != len(memory):
        padded = np.zeros(size, np.uint8)
        padded[before : before + len(memory)] = memory
        memory = padded
    words = memory.view(np.uint64).reshape(-1, 2)
    places = np.arange(len(words), dtype=np.uint64)
    if lines > 1:
        chosen = places // np.uint64(_VECTORS) % np.uint64(lines) == 0
        words, places = words[chosen], places[chosen]
    mixed = words + places[:, None] * np.array(PLACES, np.uint64)
    for factor in FACTORS:
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum(dtype=np.uint64))
