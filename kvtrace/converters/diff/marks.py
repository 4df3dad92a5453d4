"""Launches by the user's marks: how often each kernel is launched under each, and in what order."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kvtrace.converters.columns import integers
from kvtrace.converters.diff.model import LaunchChange
from kvtrace.converters.diff.variant import KernelKey

if TYPE_CHECKING:
    from kvtrace.converters.diff.snapshot import Snapshot

Whole = npt.NDArray[np.int64]


def launch_changes(
    before: "Snapshot", after: "Snapshot", matched: Sequence[tuple[KernelKey, KernelKey]]
) -> tuple[LaunchChange, ...]:
    """Return how often matched kernels are launched under each mark, where that differs.

    Marks go by their name; a launch belongs to each that is open in its thread when it begins.
    """
    names = [after_key[1] for _, after_key in matched]
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


def _counts(side: "Snapshot", kernels: dict[KernelKey, int]) -> dict[str, Whole]:
    """Return for each mark's name how often each kernel is launched under it."""
    found: dict[str, Whole] = {}
    of_variant = {
        variant.position: kernels[key]
        for key, variants in side.kernels.items()
        if key in kernels
        for variant in variants
    }
    if not of_variant:
        return found
    kernel_of = np.full(max(of_variant) + 1, -1)
    kernel_of[list(of_variant)] = list(of_variant.values())
    columns = ["name", "begin", "end", "thread"]
    for run, launches, places in zip(side.runs, side.launches, side.places, strict=True):
        marks = side.trace.table("marks", (run,), columns)
        if not marks.num_rows or not places.call.size:
            continue
        call, enter, thread = (integers(launches[n], -1) for n in ("call_id", "enter", "thread"))
        at = np.minimum(np.searchsorted(places.call, call), places.call.size - 1)
        variant = np.minimum(places.variant[at], len(kernel_of) - 1)
        kernel = np.where(places.call[at] == call, kernel_of[variant], -1)
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
