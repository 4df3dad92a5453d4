"""Answers of kvtrace's GPU kernels: words in pinned memory, which the journal's thread reads."""

import ctypes
from dataclasses import dataclass


@dataclass(slots=True)
class Answer:
    """The pending answer of one launch of kvtrace's kernel `finite`.

    The kernel writes the answer with `number` at `address`, for `count` tensors. `offsets` are the
    byte offsets of the launch's tensors in a reserve; `turns` are the turns of the reserves (for
    NaNs, for infinities) in which the launch may store its memory there.
    """

    address: int
    number: int
    stream: int
    captured: bool
    count: int
    offsets: tuple[int, ...] = ()
    turns: tuple[int, ...] = ()

    @property
    def done(self) -> bool:
        """The answer has arrived."""
        return self._words()[1] == self.number

    @property
    def flags(self) -> int:
        """Two bits for each tensor (NaN, infinity), and two for reserves that the launch took."""
        return self._words()[0]

    def _words(self) -> tuple[int, int]:
        """Return flags and number."""
        word = ctypes.c_uint64.from_address(self.address).value
        return word & 0xFFFFFFFF, word >> 32


@dataclass(slots=True)
class DigestAnswer(Answer):
    """The pending answer of a launch of kvtrace's kernel `digest`."""

    def _words(self) -> tuple[int, int]:
        return 0, ctypes.c_uint32.from_address(self.address).value

    @property
    def sums(self) -> tuple[int, ...]:
        """The digest of each tensor; valid once done."""
        return tuple((ctypes.c_uint64 * self.count).from_address(self.address + 8))
