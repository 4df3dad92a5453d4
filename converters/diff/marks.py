"""Launches by the user's marks: number of launches of each kernel under a mark, and their order."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.diff.model import LaunchChange
from kvtrace.converters.diff.times import Places
from kvtrace.figures.columns import Positions, integers
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.trials import is_tuning

if TYPE_CHECKING:
    from kvtrace.converters.diff.snapshot import Snapshot

Whole = npt.NDArray[np.int64]


def launch_changes(
    before: "Snapshot", after: "Snapshot", matched: Sequence[tuple[KernelKey, KernelKey]]
) -> tuple[LaunchChange, ...]:
    """Return the kernels whose number of launches under a mark differs.

    Marks are matched by name; a launch belongs to each mark open in its thread when it begins.
    """
    names = [after_key.name for _, after_key in matched]
    sides = [
        _counts(side, {key: number for number, key in enumerate(keys)})
        for side, keys in zip((before, after), zip(*matched, strict=True), strict=False)
    ]
    if len(sides) < 2:
        return ()
    nothing = np.zeros(len(names), np.int64)
    differing = []
    for mark in dict.fromkeys((*sides[0], *sides[1])):
        first, second = (side.get(mark, nothing) for side in sides)
        differing += [
            LaunchChange(mark, names[kernel], int(first[kernel]), int(second[kernel]))
            for kernel in np.flatnonzero(first != second)
        ]
    return tuple(differing)


def order_note(
    before: "Snapshot", after: "Snapshot", matched: Sequence[tuple[KernelKey, KernelKey]]
) -> str | None:
    """Return a sentence on the first launch whose order differs, or None.

    Only runs with one process and one launching thread are compared, without autotuners' launches.
    """
    names = [after_key.name for _, after_key in matched]
    orders = []
    for side, keys in zip((before, after), zip(*matched, strict=True), strict=False):
        kernels = {key: number for number, key in enumerate(keys)}
        if len(side.runs) != 1:
            return None
        launches = side.launches_of(side.runs[0])
        if len(pc.unique(launches["thread"])) != 1:
            return None
        kernel = _kernels(side, kernels, launches, side.places[0])
        kernel = kernel[~is_tuning(launches)]
        orders.append(kernel[kernel >= 0])
    if len(orders) < 2 or len(orders[0]) != len(orders[1]):
        return None
    first, second = (np.bincount(order, minlength=len(names)) for order in orders)
    if (first != second).any():
        return None
    differing = np.flatnonzero(orders[0] != orders[1])
    if not differing.size:
        return None
    first_index = differing[0]
    return (
        f"the same launches come in another order from number {first_index + 1:,} on: "
        f"{names[orders[0][first_index]]} before, {names[orders[1][first_index]]} after"
    )


def _kernels(
    side: "Snapshot", kernels: dict[KernelKey, int], launches: pa.Table, places: Places
) -> Whole:
    """Return the number of each launch's kernel, or -1 for other kernels."""
    call = integers(launches["call_id"], -1)
    kernel_of = np.full(1 + sum(map(len, side.kernels.values())), -1)
    for key, variants in side.kernels.items():
        for variant in variants:
            kernel_of[variant.position] = kernels.get(key, -1)
    if not places.call.size:
        return np.full(len(call), -1)
    position = Positions(places.call).of(call)
    return np.where(position >= 0, kernel_of[places.variant[position]], -1)


def _counts(side: "Snapshot", kernels: dict[KernelKey, int]) -> dict[str, Whole]:
    """Return launches of each kernel under each mark, by the mark's name."""
    counts: dict[str, Whole] = {}
    columns = ["name", "begin", "end", "thread"]
    for run, places in zip(side.runs, side.places, strict=True):
        marks = side.trace.table("marks", (run,), columns)
        if not marks.num_rows:
            continue
        launches = side.launches_of(run)
        enter, thread = (integers(launches[name], -1) for name in ("enter", "thread"))
        kernel = _kernels(side, kernels, launches, places)
        for one_thread in np.unique(thread):
            chosen = np.flatnonzero((thread == one_thread) & (kernel >= 0))
            chosen = chosen[np.argsort(enter[chosen], kind="stable")]
            rows = marks.filter(np.asarray(integers(marks["thread"], -1) == one_thread))
            begin, end = integers(rows["begin"]), integers(rows["end"], -1)
            first = np.searchsorted(enter[chosen], begin)
            last = np.searchsorted(enter[chosen], end)
            for name, i, j in zip(rows["name"].to_pylist(), first, last, strict=True):
                if j > i:
                    counted = np.bincount(kernel[chosen[i:j]], minlength=len(kernels))
                    counts[name] = counts.get(name, 0) + counted
    return counts
