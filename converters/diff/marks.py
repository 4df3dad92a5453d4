"""Launches by the user's marks: how often each kernel is launched under each, and in what order."""

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
    """Return how often matched kernels are launched under each mark, where that differs.

    Marks go by their name; a launch belongs to each that is open in its thread when it begins.
    """
    names = [after_key.name for _, after_key in matched]
    sides = [
        _counts(side, {key: number for number, key in enumerate(keys)})
        for side, keys in zip((before, after), zip(*matched, strict=True), strict=False)
    ]
    if len(sides) < 2:
        return ()
    nothing = np.zeros(len(names), np.int64)
    found = []
    for mark in dict.fromkeys((*sides[0], *sides[1])):
        first, second = (side.get(mark, nothing) for side in sides)
        found += [
            LaunchChange(mark, names[kernel], int(first[kernel]), int(second[kernel]))
            for kernel in np.flatnonzero(first != second)
        ]
    return tuple(found)


def order_note(
    before: "Snapshot", after: "Snapshot", matched: Sequence[tuple[KernelKey, KernelKey]]
) -> str | None:
    """Say from where on the same launches come in another order; None where they do not.

    Of runs with one process and one launching thread on each side, autotuners' launches left out.
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
    at = differing[0]
    return (
        f"the same launches come in another order from number {at + 1:,} on: "
        f"{names[orders[0][at]]} before, {names[orders[1][at]]} after"
    )


def _kernels(
    side: "Snapshot", kernels: dict[KernelKey, int], launches: pa.Table, places: Places
) -> Whole:
    """Return which kernel each launch is of; -1 for others."""
    call = integers(launches["call_id"], -1)
    kernel_of = np.full(1 + sum(map(len, side.kernels.values())), -1)
    for key, variants in side.kernels.items():
        for variant in variants:
            kernel_of[variant.position] = kernels.get(key, -1)
    if not places.call.size:
        return np.full(len(call), -1)
    at = Positions(places.call).of(call)
    return np.where(at >= 0, kernel_of[places.variant[at]], -1)


def _counts(side: "Snapshot", kernels: dict[KernelKey, int]) -> dict[str, Whole]:
    """Return for each mark's name how often each kernel is launched under it."""
    found: dict[str, Whole] = {}
    columns = ["name", "begin", "end", "thread"]
    for run, places in zip(side.runs, side.places, strict=True):
        marks = side.trace.table("marks", (run,), columns)
        if not marks.num_rows:
            continue
        launches = side.launches_of(run)
        enter, thread = (integers(launches[name], -1) for name in ("enter", "thread"))
        kernel = _kernels(side, kernels, launches, places)
        for own in np.unique(thread):
            chosen = np.flatnonzero((thread == own) & (kernel >= 0))
            chosen = chosen[np.argsort(enter[chosen], kind="stable")]
            rows = marks.filter(np.asarray(integers(marks["thread"], -1) == own))
            begin, end = integers(rows["begin"]), integers(rows["end"], -1)
            first = np.searchsorted(enter[chosen], begin)
            last = np.searchsorted(enter[chosen], end)
            for name, i, j in zip(rows["name"].to_pylist(), first, last, strict=True):
                if j > i:
                    counted = np.bincount(kernel[chosen[i:j]], minlength=len(kernels))
                    found[name] = found.get(name, 0) + counted
    return found
