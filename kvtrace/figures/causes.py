"""Causes of executions: launches in the order of streams and graphs, and requests by their number.

These are the rules that every join of executions goes by. A stream runs kernels in the order in
which their launches returned, a graph in the order in which they were captured; the driver gives an
execution the number of the request that asked for it, which the executions of a replay share.

Three joins ask. CUPTI's timeline gets launches and kernels part by part while the program runs, and
joins what is certain (`backends/cupti/joining.py`). `kvtrace join` has all of both, whose streams,
processes and clocks may differ, and grades what it finds (`addons/join`). Importers know requests
alone (`converters/importers/`). NumPy is all that this needs: it runs in recorded programs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: Instead of a launch, a call, a place or a graph: there is none, or it is not known.
NONE: Final = -1

Grid = tuple[int, int, int]


def device_look(
    function: str | None, name: str | None, ctas: int | None, grid: Sequence[int | None]
) -> tuple[str, Grid] | None:
    """Return the name and grid that executions of a call have; None of a call that runs nothing.

    Args:
        function: The name of the kernel's function on the device.
        name: The kernel's name, which is the function's where that is not known.
        ctas: Blocks of a cluster, by which a launch multiplies the first axis of its grid.
        grid: The call's grid.

    """
    x, y, z = grid
    if x is None or y is None or z is None or 0 in grid:
        return None
    return function or name or "", (x * (ctas or 1), y, z)


@dataclass(frozen=True)
class Launches:
    """Launches, one array a column; times in ns since 1970.

    Attributes:
        seq: The launch.
        call: Its call.
        enter: When its function was entered.
        leave: When that returned.
        place: A number for its device and stream.
        graph: The graph that it was captured into; NONE of direct launches.
        look: A number for what its executions look like: their name and grid at least.

    """

    seq: Integers
    call: Integers
    enter: Integers
    leave: Integers
    place: Integers
    graph: Integers
    look: Integers

    @classmethod
    def joined(cls, parts: "Sequence[Launches]") -> "Launches":
        """Return the launches of several parts."""
        empty = np.empty(0, np.int64)
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([empty, *(getattr(p, name) for p in parts)]) for name in names))

    def __len__(self) -> int:
        """Count the launches."""
        return len(self.seq)

    def chosen(self, rows: Flags | Integers | slice) -> Self:
        """Return some of the rows, by index, mask or slice."""
        return type(self)(**{name: column[rows] for name, column in vars(self).items()})

    def in_order(self) -> Self:
        """Return the launches as their streams and graphs run them: by the time of their return.

        A launch may try others out before it launches, so their order is not that of `enter`.
        """
        return self.chosen(np.lexsort((self.seq, self.leave)))

    def of_graphs(self) -> Iterator[tuple[int, Self]]:
        """Give the number and the launches, in order, of each graph that some were captured into.

        Graphs come in the order in which the first launch of each returned.
        """
        captured = self.chosen(self.graph != NONE).in_order()
        numbers, first = np.unique(captured.graph, return_index=True)
        for number in numbers[np.argsort(first)].tolist():
            yield number, captured.chosen(captured.graph == number)


def places(device: Integers, stream: Integers) -> Integers:
    """Return a number for each device and stream, the same in all parts; streams have 32 bits."""
    return device << 32 | (stream & 0xFFFFFFFF)


def by_place(place: Integers) -> Iterator[tuple[int, Flags]]:
    """Give each place, and which rows are of it."""
    alike = bool((place == place[:1]).all())
    for number in (place[:1] if alike else np.unique(place)).tolist():
        yield number, place == number


class RequestRows:
    """Rows of requests by their number."""

    def __init__(self, numbers: npt.NDArray[np.integer]) -> None:
        self._order = np.argsort(numbers, kind="stable")
        self._numbers = numbers[self._order]

    def of(self, wanted: Integers) -> Integers:
        """Return the row of the first request with each of the wanted numbers, or NONE."""
        if not self._numbers.size:
            return np.full(wanted.size, NONE)
        at = np.minimum(np.searchsorted(self._numbers, wanted), self._numbers.size - 1)
        return np.where(self._numbers[at] == wanted, self._order[at], NONE)


def share_request(request: Integers) -> Flags:
    """Return which executions share their request with others, as those of a replayed graph do."""
    _, number, count = np.unique(request, return_inverse=True, return_counts=True)
    shared: Flags = count[number] > 1
    return shared
