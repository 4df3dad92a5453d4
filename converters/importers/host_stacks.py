"""Stacks of host threads at given moments, from the ranges that were open."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from kvtrace.converters.importers.rows import Integers, Names, Packed

#: torch.profiler's name of a Python function: file, line and name.
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
        """Return numbers of the names of the ranges open at each moment, the innermost first.

        Moments and ranges of a thread are walked together in order of time, so the cost of a moment
        is that of its stack.

        Args:
            threads: the thread of each moment.
            moments: the moments, in ns.

        """
        stacks: list[tuple[int, ...]] = [()] * threads.size
        columns = self.ranges.arrays()
        order = np.lexsort((-columns["end"], columns["begin"], columns["thread"]))
        thread, begin = columns["thread"][order], columns["begin"][order]
        end, name = columns["end"][order], columns["name"][order]
        by_thread = np.lexsort((moments, threads))
        for one in np.unique(threads):
            ranges = slice(*np.searchsorted(thread, [one, one + 1]).tolist())
            limits = np.searchsorted(threads[by_thread], [one, one + 1])
            rows = by_thread[slice(*limits.tolist())]
            _walk(
                begin[ranges].tolist(), end[ranges].tolist(), name[ranges].tolist(),
                rows.tolist(), moments[rows].tolist(), stacks,
            )  # fmt: skip
        return iter(stacks)

    def frames(self, stack: Sequence[int]) -> list[Frame]:
        """Return the frames of a stack; an operator's frame has only a name."""
        return [_frame(self.names.texts[number]) for number in stack]


def _walk(
    begins: list[int],
    ends: list[int],
    names: list[int],
    rows: list[int],
    moments: list[int],
    stacks: list[tuple[int, ...]],
) -> None:
    """Set `stacks` at `rows` to the stacks of one thread's moments; all lists are in time order."""
    stack: list[tuple[int, int]] = []
    index, count = 0, len(begins)
    for row, moment in zip(rows, moments, strict=True):
        while index < count and begins[index] <= moment:
            begin = begins[index]
            while stack and stack[-1][0] <= begin:
                stack.pop()
            stack.append((ends[index], names[index]))
            index += 1
        while stack and stack[-1][0] < moment:
            stack.pop()
        stacks[row] = tuple(name for end, name in reversed(stack) if end >= moment)


def _frame(name: str) -> Frame:
    match = _FUNCTION.fullmatch(name)
    if match is None:
        return None, None, None, name
    line = int(match["line"]) if len(match["line"]) < 10 else None
    return match["file"], line or None, None, match["function"]
