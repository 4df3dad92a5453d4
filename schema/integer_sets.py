"""Sets of integers that are mostly without gaps, as ids are: a hundred million take two numbers."""

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

#: Ranges that wait, at least, before they are joined with those that are known.
_FEW = 1 << 16


class IntegerSet:
    """A set of 64-bit integers, kept as ranges; memory goes with the number of gaps."""

    def __init__(self) -> None:
        self._first = np.zeros(0, np.int64)
        self._last = np.zeros(0, np.int64)
        self._waiting: list[tuple[Integers, Integers]] = []
        self._waiting_ranges = 0

    def add(self, values: Integers) -> None:
        """Add values, in any order and any number of times."""
        first, last = _ranges(values)
        self._waiting.append((first, last))
        self._waiting_ranges += first.size
        # Joining costs as much as there is: so it is done when that has doubled.
        if self._waiting_ranges > max(_FEW, self._first.size):
            self._join()

    def __len__(self) -> int:
        """How many different values there are."""
        self._join()
        return int((self._last - self._first).sum()) + self._first.size

    @property
    def first(self) -> int | None:
        """The least value; None where there is none."""
        self._join()
        return int(self._first[0]) if self._first.size else None

    def has(self, values: Integers) -> npt.NDArray[np.bool_]:
        """Tell of each value whether it is in the set."""
        self._join()
        if not self._first.size:
            return np.zeros(values.size, np.bool_)
        place = np.maximum(np.searchsorted(self._first, values, side="right") - 1, 0)
        found: npt.NDArray[np.bool_] = (self._first[place] <= values) & (
            values <= self._last[place]
        )
        return found

    def _join(self) -> None:
        if not self._waiting:
            return
        first = np.concatenate([self._first, *(ranges[0] for ranges in self._waiting)])
        last = np.concatenate([self._last, *(ranges[1] for ranges in self._waiting)])
        self._waiting, self._waiting_ranges = [], 0
        order = np.argsort(first, kind="stable")
        first, reach = first[order], np.maximum.accumulate(last[order])
        # A new range begins where nothing before reaches up to it; a difference could overflow.
        begins = np.ones(first.size, np.bool_)
        begins[1:] = (first[1:] > reach[:-1]) & (first[1:] - 1 != reach[:-1])
        ends = np.append(begins[1:], True)[: first.size]
        self._first, self._last = first[begins], reach[ends]


def _ranges(values: Integers) -> tuple[Integers, Integers]:
    """Return the first and last values of the ranges that some values make up."""
    if values.size > 1 and not np.all(values[1:] > values[:-1]):
        values = np.unique(values)
    begins = np.ones(values.size, np.bool_)
    begins[1:] = values[1:] - 1 != values[:-1]
    return values[begins], values[np.append(begins[1:], True)[: values.size]]
