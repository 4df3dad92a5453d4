"""Answers of kvtrace's GPU kernels, in pinned memory that another thread reads."""

import ctypes
from dataclasses import dataclass


@dataclass(slots=True)
class Answer:
    """The pending answer of one launch of kvtrace's kernel.

    `places` are offsets of the launch's spans in a reserve; `turns` are the reserves' turns that
    the launch may take.
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
        """The answer has arrived."""
        return self._words()[1] == self.number

    @property
    def flags(self) -> int:
        """Two bits for each tensor, and bits for the reserves taken; only for `finite`."""
        return self._words()[0]

    def _words(self) -> tuple[int, int]:
        word = ctypes.c_uint64.from_address(self.place).value
        return word & 0xFFFFFFFF, word >> 32


@dataclass(slots=True)
class Digested(Answer):
    """The pending answer of a launch of `digest`."""

    def _words(self) -> tuple[int, int]:
        return 0, ctypes.c_uint32.from_address(self.place).value

    @property
    def sums(self) -> tuple[int, ...]:
        """The digest of each tensor; valid once done."""
        return tuple((ctypes.c_uint64 * self.count).from_address(self.place + 8))
