"""Changes in the order of launches."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.converters.diff.times import RunCalls
from kvtrace.figures.columns import Positions, integers
from kvtrace.figures.identity import KernelKey
from kvtrace.schema.launch_flags import are_trials

if TYPE_CHECKING:
    from kvtrace.converters.diff.snapshot import Snapshot

Whole = npt.NDArray[np.int64]
Launched = npt.NDArray[Any]
"""An array of `_LAUNCH`."""
_LAUNCH: Final = np.dtype([("kernel", np.int64), ("work", np.int64)])
"""A launch's kernel, by number, and the hash of its shapes and scalars."""


def order_note(
    before: "Snapshot", after: "Snapshot", matched: Sequence[tuple[KernelKey, KernelKey]]
) -> str | None:
    """Return a sentence on the first launch at which the order differs; None if the orders agree.

    None, too, if a side has several runs or launching threads, or the numbers of launches differ.
    Launches of autotuners do not count.
    """
    if len(before.runs) != 1 or len(after.runs) != 1 or not matched:
        return None
    names = [after_key.name for _, after_key in matched]
    counts, works = np.zeros((2, len(names)), np.int64), np.zeros(2, np.uint64)
    compared, first_differences = 0, dict[str, tuple[int, str, str]]()
    sides = zip((before, after), zip(*matched, strict=True), strict=True)
    for pair in _pairs(*(_launch_order(side, keys) for side, keys in sides)):
        if pair is None:
            return None
        counts += [np.bincount(order["kernel"], minlength=len(names)) for order in pair]
        works += np.array([_sum_of_works(order) for order in pair])
        for column in {"kernel", "work"} - first_differences.keys():
            differing = np.flatnonzero(pair[0][column] != pair[1][column])
            if differing.size:
                index = int(differing[0])
                earlier, later = (names[int(order["kernel"][index])] for order in pair)
                first_differences[column] = compared + index, earlier, later
        compared += pair[0].size
    if (counts[0] != counts[1]).any():
        return None
    first = first_differences.get("kernel")
    if first is None and works[0] == works[1]:
        first = first_differences.get("work")
    if first is None:
        return None
    index, earlier, later = first
    others = " with other arguments" if earlier == later else ""
    return (
        f"the same launches come in another order from number {index + 1:,} on: "
        f"{earlier} before, {later}{others} after"
    )


def _sum_of_works(order: Launched) -> np.uint64:
    """Return a number that is the same for launches of the same kernels and works in any order."""
    factors = 2 * order["kernel"].astype(np.uint64) + 1
    return np.uint64((order["work"].astype(np.uint64) * factors).sum())


def _launch_order(side: "Snapshot", keys: Sequence[KernelKey]) -> Iterator[Launched | None]:
    """Yield the kernel, an index in `keys`, and work of each launch of the only run, in pieces.

    Launches of other kernels and of autotuners are left out. None if the run has several threads.
    """
    numbers = _KernelNumbers(side, keys, side.places[0])
    threads: set[int | None] = set()
    for launches in side.launches_of(side.runs[0]):
        threads.update(launches["thread"].unique().to_pylist())
        if len(threads) > 1:
            yield None
            return
        kernel, work = numbers.of(launches), numbers.work_of(launches)
        counted = ~are_trials(launches).to_numpy() & (kernel >= 0)
        order = np.zeros(int(counted.sum()), _LAUNCH)
        order["kernel"], order["work"] = kernel[counted], work[counted]
        yield order


def _pairs(
    before: Iterator[Launched | None], after: Iterator[Launched | None]
) -> Iterator[tuple[Launched, Launched] | None]:
    """Yield as many items of two sequences that come in pieces; None if one is longer, or has None.

    Nothing comes after None.
    """
    rest = np.zeros(0, np.int64), np.zeros(0, np.int64)
    while True:
        pieces = [
            piece if piece.size else _next_items(sequence)
            for piece, sequence in zip(rest, (before, after), strict=True)
        ]
        first, second = pieces
        if first is None or second is None or bool(first.size) != bool(second.size):
            yield None
            return
        if not first.size:
            return
        size = min(first.size, second.size)
        yield first[:size], second[:size]
        rest = first[size:], second[size:]


def _next_items(pieces: Iterator[Launched | None]) -> Launched | None:
    """Return the next piece that has items, an empty one at the end, or None if that comes next."""
    for piece in pieces:
        if piece is None or piece.size:
            return piece
    return np.zeros(0, np.int64)


class _KernelNumbers:
    """The number of the kernel that a launch of a run is of."""

    def __init__(self, side: "Snapshot", keys: Sequence[KernelKey], places: RunCalls) -> None:
        """Number kernels by their index in `keys`; `places` has the run's calls."""
        number_of = {key: number for number, key in enumerate(keys)}
        self._variant, self._work = places.variant, places.work
        self._positions = Positions(places.call)
        self._kernel_of = np.full(1 + sum(map(len, side.kernels.values())), -1)
        for key, variants in side.kernels.items():
            for variant in variants:
                self._kernel_of[variant.position] = number_of.get(key, -1)

    def of(self, launches: pa.Table) -> Whole:
        """Return the kernel's number of each launch, or -1."""
        call = integers(launches["call_id"], -1)
        if not self._variant.size:
            return np.full(len(call), -1)
        position = self._positions.of(call)
        return np.where(position >= 0, self._kernel_of[self._variant[position]], -1)

    def work_of(self, launches: pa.Table) -> Whole:
        """Return the hash of each launch's shapes and scalars; any number where `of` returns -1."""
        call = integers(launches["call_id"], -1)
        return self._work[self._positions.of(call)] if self._work.size else call
