"""Changes in the order of launches."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from kvtrace.figures.columns import Positions, integers
from kvtrace.figures.identity import KernelKey
from kvtrace.schema.launch_flags import are_trials

if TYPE_CHECKING:
    from kvtrace.converters.diff.snapshot import Snapshot

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
    # In one pass: whether both sides have the same launches in any order (by counts of each kernel,
    # and by sums of works), and at which launch kernels, or only arguments (works), first differ.
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
    # Other arguments are another order only of the same works.
    columns = ("kernel", "work") if works[0] == works[1] else ("kernel",)
    first = next((first_differences[c] for c in columns if c in first_differences), None)
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
    calls, positions = side.places[0], Positions(side.places[0].call)
    variants = [variant.position for key in keys for variant in side.kernels[key]]
    last = max((*variants, calls.variant.max(initial=-1)))
    kernel_of_variant = np.full(int(last) + 2, -1)  # of -1, an unknown variant, too
    for number, key in enumerate(keys):
        kernel_of_variant[[variant.position for variant in side.kernels[key]]] = number
    threads: set[int | None] = set()
    columns = ["call_id", "enter", "thread", "phase"]
    for launches in side.trace.pieces("launches", [side.runs[0]], columns):
        threads.update(launches["thread"].unique().to_pylist())
        if len(threads) > 1:
            yield None
            return
        position = positions.of(integers(launches["call_id"], -1))
        position = position[~are_trials(launches).to_numpy() & (position >= 0)]
        order = np.zeros(position.size, _LAUNCH)
        order["kernel"] = kernel_of_variant[calls.variant[position]]
        order["work"] = calls.work[position]
        yield order[order["kernel"] >= 0]


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
