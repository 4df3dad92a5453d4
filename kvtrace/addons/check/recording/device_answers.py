"""Reports of kvtrace's GPU kernels, in pinned memory, where another thread reads them."""

import ctypes
from dataclasses import dataclass


@dataclass(slots=True)
class Answer:
    """What one launch of kvtrace's kernel will report.

    `places` are those of its spans in a reserve, `turns` those of the reserves that it may take.
    """

    place: int
    number: int
    stream: int
    captured: bool
    count: int
    places: tuple[int, ...] = ()
    turns: tuple[int, ...] = ()

    @property
    def done(self) -> bool:
        """Whether it is there."""
        return self._words()[1] == self.number

    @property
    def flags(self) -> int:
        """Two bits for each tensor, and those of what was kept; of `finite`."""
        return self._words()[0]

    def _words(self) -> tuple[int, int]:
        word = ctypes.c_uint64.from_address(self.place).value
        return word & 0xFFFFFFFF, word >> 32


@dataclass(slots=True)
class Digested(Answer):
    """What a launch of `digest` will say."""

    def _words(self) -> tuple[int, int]:
        return 0, ctypes.c_uint32.from_address(self.place).value

    @property
    def sums(self) -> tuple[int, ...]:
        """The digest of each tensor; only once it is done."""
        return tuple((ctypes.c_uint64 * self.count).from_address(self.place + 8))
