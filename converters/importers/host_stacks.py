"""What a host thread was doing at a moment: the stack of the ranges that were open."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from kvtrace.converters.importers.rows import Integers, Names, Packed

#: torch.profiler's name of a Python function: where it begins, and what it is called.
_FUNCTION: Final = re.compile(r"(?P<file>.+\.\w+|<[^>]*>)\((?P<line>\d+)\): (?P<function>.*)")

Frame = tuple[str | None, int | None, int | None, str | None]


class HostRanges:
    """Python functions and operators of all threads, with their begins and ends."""

    def __init__(self) -> None:
        self.names = Names()
        self.ranges = Packed("thread", "begin", "end", "name")

    def add(self, thread: int, begin: int, end: int, name: str) -> None:
        """Add a range of a thread; times in ns."""
        self.ranges.add(thread, begin, end, self.names.number(name))

    def at(self, threads: Integers, moments: Integers) -> Iterator[tuple[int, ...]]:
        """Return for each moment of a thread the names of its open ranges, the innermost first.

        They are walked together in the order of time, so a moment costs its own stack alone.
        """
        found: list[tuple[int, ...]] = [()] * threads.size
        columns = self.ranges.arrays()
        order = np.lexsort((-columns["end"], columns["begin"], columns["thread"]))
        thread, begin = columns["thread"][order], columns["begin"][order]
        end, name = columns["end"][order], columns["name"][order]
        wanted = np.lexsort((moments, threads))
        for one in np.unique(threads):
            own = slice(*np.searchsorted(thread, [one, one + 1]).tolist())
            asked = wanted[slice(*np.searchsorted(threads[wanted], [one, one + 1]).tolist())]
            _walk(
                begin[own].tolist(), end[own].tolist(), name[own].tolist(),
                asked.tolist(), moments[asked].tolist(), found,
            )  # fmt: skip
        return iter(found)

    def frames(self, stack: Sequence[int]) -> list[Frame]:
        """Return a stack's frames: of an operator its name alone."""
        return [_frame(self.names.texts[number]) for number in stack]


def _walk(
    begins: list[int],
    ends: list[int],
    names: list[int],
    asked: list[int],
    moments: list[int],
    found: list[tuple[int, ...]],
) -> None:
    """Fill in the stacks of one thread's moments, which are in order, as the ranges are."""
    stack: list[tuple[int, int]] = []
    place, count = 0, len(begins)
    for row, moment in zip(asked, moments, strict=True):
        while place < count and begins[place] <= moment:
            begin = begins[place]
            while stack and stack[-1][0] <= begin:
                stack.pop()
            stack.append((ends[place], names[place]))
            place += 1
        while stack and stack[-1][0] < moment:
            stack.pop()
        found[row] = tuple(name for end, name in reversed(stack) if end >= moment)


def _frame(name: str) -> Frame:
    match = _FUNCTION.fullmatch(name)
    if match is None:
        return None, None, None, name
    line = int(match["line"]) if len(match["line"]) < 10 else None
    return match["file"], line or None, None, match["function"]
