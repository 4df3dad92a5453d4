"""Stacks of host threads at given moments, from the ranges that were open then."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from kvtrace.converters.importers.rows import NONE, IntegerRows, Integers, Names

#: A Python function's name in torch.profiler: file, line and name.
_FUNCTION: Final = re.compile(r"(?P<file>.+\.\w+|<[^>]*>)\((?P<line>\d+)\): (?P<function>.*)")

Frame = tuple[str | None, int | None, int | None, str | None]


class HostRanges:
    """Ranges of Python functions and operators in all host threads, by number of the name."""

    def __init__(self) -> None:
        self.names = Names()
        self.ranges = IntegerRows("thread", "begin", "end", "name")
        #: Numbers of threads by native id and process: merged files repeat ids of threads.
        self._threads: dict[tuple[int, int], int] = {}

    def thread(self, native: int, process: int = NONE) -> int:
        """Return the number of a thread, given its native id and process (NONE: the file's)."""
        return self._threads.setdefault((native, process), len(self._threads))

    def native(self, numbers: Integers) -> Integers:
        """Return the native ids of threads, given their numbers; NONE stays NONE."""
        ids = np.array([*(native for native, _ in self._threads), NONE], np.int64)
        return np.asarray(ids[np.where(numbers == NONE, -1, numbers)])

    def add(self, thread: int, begin: int, end: int, name: str, process: int = NONE) -> None:
        """Add a range of a thread, as `thread`; times in ns."""
        self.ranges.add(self.thread(thread, process), begin, end, self.names.number(name))

    def at(self, threads: Integers, moments: Integers) -> Iterator[tuple[int, ...]]:
        """Return the stack of each moment: numbers of the open ranges' names, innermost first.

        A thread's moments and ranges are walked together in time order, so that the cost of a
        moment is that of its stack.

        Args:
            threads: the number of the thread of each moment.
            moments: the moments, in ns.

        """
        stacks: list[tuple[int, ...]] = [()] * threads.size
        columns = self.ranges.arrays()
        order = np.lexsort((-columns["end"], columns["begin"], columns["thread"]))
        thread, begin = columns["thread"][order], columns["begin"][order]
        end, name = columns["end"][order], columns["name"][order]
        rows_by_thread = np.lexsort((moments, threads))
        for thread_id in np.unique(threads):
            ranges = slice(*np.searchsorted(thread, [thread_id, thread_id + 1]).tolist())
            row_limits = np.searchsorted(threads[rows_by_thread], [thread_id, thread_id + 1])
            rows = rows_by_thread[slice(*row_limits.tolist())]
            _set_stacks(
                begin[ranges].tolist(), end[ranges].tolist(), name[ranges].tolist(),
                rows.tolist(), moments[rows].tolist(), stacks,
            )  # fmt: skip
        return iter(stacks)

    def frames(self, stack: Sequence[int]) -> list[Frame]:
        """Return the frames of a stack; an operator's frame has only a name."""
        return [_frame(self.names.texts[number]) for number in stack]


def _set_stacks(
    begins: list[int],
    ends: list[int],
    names: list[int],
    rows: list[int],
    moments: list[int],
    stacks: list[tuple[int, ...]],
) -> None:
    """Set `stacks` at `rows` to the stacks of one thread's moments; all lists are in time order."""
    open_ranges: list[tuple[int, int]] = []
    index, count = 0, len(begins)
    for row, moment in zip(rows, moments, strict=True):
        while index < count and begins[index] <= moment:
            # A range that ends as another begins is its neighbor, and does not enclose it.
            while open_ranges and open_ranges[-1][0] <= begins[index]:
                open_ranges.pop()
            open_ranges.append((ends[index], names[index]))
            index += 1
        # A range is open up to and at its end. An outer one may, by noise, end before an inner one.
        while open_ranges and open_ranges[-1][0] < moment:
            open_ranges.pop()
        stacks[row] = tuple([name for end, name in reversed(open_ranges) if end >= moment])


def _frame(name: str) -> Frame:
    match = _FUNCTION.fullmatch(name)
    if match is None:
        return None, None, None, name
    line = int(match["line"]) if len(match["line"]) < 10 else None
    return match["file"], line or None, None, match["function"]
