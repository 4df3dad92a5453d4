"""Causes of executions: launches in the order of streams and graphs, and requests by their number.

These rules hold for every join of executions with launches. A stream runs kernels in the order in
which their launches returned, a graph in the order in which they were captured. The driver numbers
requests, and an execution has its request's number; all executions of a graph replay share one.

There are three joins. CUPTI's timeline receives launches and executions in batches while the
program runs, and joins only pairs that are certain (`backends/cupti/joining.py`). `kvtrace import
--into` reads all launches and executions, whose streams, processes and clocks may differ, and
grades each pair (`addons/join`). Importers have only requests (`converters/importers/`). This
module imports only NumPy, as it runs in recorded programs.
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
        name: The kernel's name, returned if `function` is None.
        ctas: Blocks per cluster; the first axis of the returned grid is multiplied by them.
        grid: The call's grid (x, y, z); None for an unknown axis.

    """
    x, y, z = grid
    if x is None or y is None or z is None or 0 in grid:
        return None
    return function or name or "", (x * (ctas or 1), y, z)


@dataclass(frozen=True)
class Launches:
    """Launches as arrays of equal length, one for each column; times in ns since 1970.

    Attributes:
        seq: The number of the launch.
        call: The launch's call.
        enter: When the launching function was entered.
        leave: When the launching function returned.
        place: The device and stream as one number (`places`).
        graph: The id of the graph that captured the launch; NONE for a direct launch.
        look: A code that is equal for launches whose executions have equal name and grid.

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
        """Return the launches of several parts concatenated."""
        empty = np.empty(0, np.int64)
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([empty, *(getattr(p, name) for p in parts)]) for name in names))

    def __len__(self) -> int:
        return len(self.seq)

    def chosen(self, rows: Flags | Integers | slice) -> Self:
        """Return the launches at the given indices, mask or slice."""
        return type(self)(**{name: column[rows] for name, column in vars(self).items()})

    def in_order(self) -> Self:
        """Return launches sorted by `leave`, as a stream runs them: trials before their launch."""
        return self.chosen(np.lexsort((self.seq, self.leave)))

    def of_graphs(self) -> Iterator[tuple[int, Self]]:
        """Yield id and sorted launches of each captured graph, by its first launch's return."""
        captured = self.chosen(self.graph != NONE).in_order()
        graph_ids, first_rows = np.unique(captured.graph, return_index=True)
        for graph_id in graph_ids[np.argsort(first_rows)].tolist():
            yield graph_id, captured.chosen(captured.graph == graph_id)


def places(device: Integers, stream: Integers) -> Integers:
    """Return device and stream of each row as one number; only the stream's low 32 bits count."""
    return device << 32 | (stream & 0xFFFFFFFF)


def by_place(place: Integers) -> Iterator[tuple[int, Flags]]:
    """Yield each distinct number in `place`, ascending, with the mask of rows that have it."""
    all_equal = bool((place == place[:1]).all())
    for number in (place[:1] if all_equal else np.unique(place)).tolist():
        yield number, place == number


class RequestRows:
    """Index from the numbers of requests to their rows in the array of numbers."""

    def __init__(self, numbers: npt.NDArray[np.integer]) -> None:
        self._order = np.argsort(numbers, kind="stable")
        self._numbers = numbers[self._order]

    def may_have(self, first: int, last: int) -> bool:
        """Return whether a number from `first` to `last` may be one of the requests'."""
        numbers = self._numbers
        return bool(numbers.size and numbers[0] <= last and first <= numbers[-1])

    def of(self, wanted: Integers) -> Integers:
        """Return for each wanted number the first row that has it, or NONE."""
        if not self._numbers.size:
            return np.full(wanted.size, NONE)
        nearest = np.minimum(np.searchsorted(self._numbers, wanted), self._numbers.size - 1)
        return np.where(self._numbers[nearest] == wanted, self._order[nearest], NONE)


def share_request(request: Integers) -> Flags:
    """Return a mask of executions whose request number occurs more than once, as in a replay."""
    _, codes, counts = np.unique(request, return_inverse=True, return_counts=True)
    shared: Flags = counts[codes] > 1
    return shared
