"""Causes of executions: launches in the order of streams and graphs, and requests by their number.

These rules hold for every join of executions with launches. A stream runs kernels in the order in
which their launches returned, a graph in the order in which they were captured; the driver gives an
execution the number of the request that caused the execution, which executions of a replay share.

There are three joins. CUPTI's timeline gets launches and executions part by part while the program
runs, and joins only certain pairs (`backends/cupti/joining.py`). `kvtrace join` has all of both,
whose streams, processes and clocks may differ, and grades each pair (`addons/join`).
Importers know only requests (`converters/importers/`). This module imports only NumPy, as it runs
in recorded programs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: Stands for a launch, call, place or graph that does not exist or is not known.
NONE: Final = -1

Grid = tuple[int, int, int]


def device_look(
    function: str | None, name: str | None, ctas: int | None, grid: Sequence[int | None]
) -> tuple[str, Grid] | None:
    """Return the name and grid of a call's executions; None if the grid is empty or unknown.

    Args:
        function: The name of the kernel's function on the device.
        name: The kernel's name, used if `function` is not known.
        ctas: Blocks of a cluster, by which a launch multiplies the first axis of the grid.
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
        seq: The number of the launch.
        call: The launch's call.
        enter: When the launching function was entered.
        leave: When the launching function returned.
        place: A number for device and stream.
        graph: The graph that captured the launch; NONE for direct launches.
        look: A number for the properties of the executions: name and grid at least.

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
        """Return the number of launches."""
        return len(self.seq)

    def chosen(self, rows: Flags | Integers | slice) -> Self:
        """Return some of the rows, by index, mask or slice."""
        return type(self)(**{name: column[rows] for name, column in vars(self).items()})

    def in_order(self) -> Self:
        """Return the launches in the order of execution: by the time at which they returned.

        A launch may try out others before the kernel is launched, so `enter` has another order.
        """
        return self.chosen(np.lexsort((self.seq, self.leave)))

    def of_graphs(self) -> Iterator[tuple[int, Self]]:
        """Yield (number, launches in order) of each graph that captured launches.

        Graphs come in the order in which the first launch of each returned.
        """
        captured = self.chosen(self.graph != NONE).in_order()
        numbers, first = np.unique(captured.graph, return_index=True)
        for number in numbers[np.argsort(first)].tolist():
            yield number, captured.chosen(captured.graph == number)


def places(device: Integers, stream: Integers) -> Integers:
    """Return a number for each pair of device and stream; of the stream 32 bits count."""
    return device << 32 | (stream & 0xFFFFFFFF)


def by_place(place: Integers) -> Iterator[tuple[int, Flags]]:
    """Yield each place with the mask of rows of that place."""
    alike = bool((place == place[:1]).all())
    for number in (place[:1] if alike else np.unique(place)).tolist():
        yield number, place == number


class RequestRows:
    """Index from the number of a request to its row."""

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
    """Return a mask of executions that share their request, as those of a replayed graph do."""
    _, number, count = np.unique(request, return_inverse=True, return_counts=True)
    shared: Flags = count[number] > 1
    return shared
