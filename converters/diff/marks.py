"""Changes in the number of launches under the user's marks, and in the order of launches."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.diff.model import LaunchChange
from kvtrace.converters.diff.times import RunCalls
from kvtrace.figures.columns import Positions, integers
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.trials import is_tuning

if TYPE_CHECKING:
    from kvtrace.converters.diff.snapshot import Snapshot

Whole = npt.NDArray[np.int64]


def launch_changes(
    before: "Snapshot", after: "Snapshot", matched: Sequence[tuple[KernelKey, KernelKey]]
) -> tuple[LaunchChange, ...]:
    """Return an entry per mark and kernel whose number of launches differs.

    Marks are matched by name; a launch belongs to each mark open in its thread when it begins.
    `matched` has the kernel's keys on both sides.
    """
    names = [after_key.name for _, after_key in matched]
    counts_of_sides = [
        _launches_by_mark(side, {key: number for number, key in enumerate(keys)})
        for side, keys in zip((before, after), zip(*matched, strict=True), strict=False)
    ]
    if len(counts_of_sides) < 2:
        return ()
    zeros = np.zeros(len(names), np.int64)
    differences = []
    for mark in dict.fromkeys((*counts_of_sides[0], *counts_of_sides[1])):
        counts_before, counts_after = (side.get(mark, zeros) for side in counts_of_sides)
        differences += [
            LaunchChange(mark, names[kernel], int(counts_before[kernel]), int(counts_after[kernel]))
            for kernel in np.flatnonzero(counts_before != counts_after)
        ]
    return tuple(differences)


def order_note(
    before: "Snapshot", after: "Snapshot", matched: Sequence[tuple[KernelKey, KernelKey]]
) -> str | None:
    """Return a sentence on the first launch at which the order differs; None if the orders agree.

    None, too, if a side has several runs or launching threads, or the numbers of launches differ.
    Launches of autotuners do not count.
    """
    names = [after_key.name for _, after_key in matched]
    orders = []
    for side, keys in zip((before, after), zip(*matched, strict=True), strict=False):
        kernel_numbers = {key: number for number, key in enumerate(keys)}
        if len(side.runs) != 1:
            return None
        launches = side.launches_of(side.runs[0])
        if len(pc.unique(launches["thread"])) != 1:
            return None
        kernel = _kernel_numbers(side, kernel_numbers, launches, side.places[0])
        kernel = kernel[~is_tuning(launches)]
        orders.append(kernel[kernel >= 0])
    if len(orders) < 2 or len(orders[0]) != len(orders[1]):
        return None
    counts_before, counts_after = (np.bincount(order, minlength=len(names)) for order in orders)
    if (counts_before != counts_after).any():
        return None
    differing_indexes = np.flatnonzero(orders[0] != orders[1])
    if not differing_indexes.size:
        return None
    first_index = differing_indexes[0]
    return (
        f"the same launches come in another order from number {first_index + 1:,} on: "
        f"{names[orders[0][first_index]]} before, {names[orders[1][first_index]]} after"
    )


def _kernel_numbers(
    side: "Snapshot", kernels: dict[KernelKey, int], launches: pa.Table, places: RunCalls
) -> Whole:
    """Return for each launch its kernel's number in `kernels`, or -1."""
    call = integers(launches["call_id"], -1)
    kernel_of = np.full(1 + sum(map(len, side.kernels.values())), -1)
    for key, variants in side.kernels.items():
        for variant in variants:
            kernel_of[variant.position] = kernels.get(key, -1)
    if not places.call.size:
        return np.full(len(call), -1)
    position = Positions(places.call).of(call)
    return np.where(position >= 0, kernel_of[places.variant[position]], -1)


def _launches_by_mark(side: "Snapshot", kernels: dict[KernelKey, int]) -> dict[str, Whole]:
    """Return by mark the number of launches of each kernel, an array by kernel number."""
    counts: dict[str, Whole] = {}
    columns = ["name", "begin", "end", "thread"]
    for run, places in zip(side.runs, side.places, strict=True):
        marks = side.trace.table("marks", (run,), columns)
        if not marks.num_rows:
            continue
        launches = side.launches_of(run)
        enter, thread = (integers(launches[name], -1) for name in ("enter", "thread"))
        kernel = _kernel_numbers(side, kernels, launches, places)
        for thread_id in np.unique(thread):
            launches_of_thread = np.flatnonzero((thread == thread_id) & (kernel >= 0))
            launches_of_thread = launches_of_thread[
                np.argsort(enter[launches_of_thread], kind="stable")
            ]
            rows = marks.filter(np.asarray(integers(marks["thread"], -1) == thread_id))
            begin, end = integers(rows["begin"]), integers(rows["end"], -1)
            first_launch = np.searchsorted(enter[launches_of_thread], begin)
            end_launch = np.searchsorted(enter[launches_of_thread], end)
            for name, i, j in zip(rows["name"].to_pylist(), first_launch, end_launch, strict=True):
                if j > i:
                    counted = np.bincount(kernel[launches_of_thread[i:j]], minlength=len(kernels))
                    counts[name] = counts.get(name, 0) + counted
    return counts
