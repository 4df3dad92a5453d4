"""Combs: sets of bytes of an affine access, as a run that is repeated at nested distances.

A few numbers replace lists of ranges: a set's size depends only on counts and distances, for any
number of programs and lanes. 1,000 rows of 512 bytes, 4,096 bytes apart, are the run 512 with the
level (1000, 4096): 512,000 bytes. Other sets are listed.
"""

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple


class Comb(NamedTuple):
    """`run` bytes from offset `first`, repeated at all sums of multiples of the distances.

    `levels` are (count, distance) by ascending distance; each distance is at least the span of all
    smaller levels with the run, so that no bytes overlap.
    """

    first: int
    run: int
    levels: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.run * prod(count for count, _ in self.levels)

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.first + self.run + sum((count - 1) * step for count, step in self.levels)


def ascending_steps(
    base: int, axes: Iterable[tuple[int, int, int]]
) -> tuple[int, list[tuple[int, int]]]:
    """Return the lowest sum of `base` and steps, and the nonzero steps as positive ones.

    `axes` are (step, first value, last value); the returned steps are (step, count).
    """
    steps = []
    for step, first, last in axes:
        if step > 0:
            base += step * first
            if last > first:
                steps.append((step, last - first + 1))
        elif step:
            base += step * last
            if last > first:
                steps.append((-step, last - first + 1))
    return base, steps


def comb_of(first: int, steps: Sequence[tuple[int, int]], element_bytes: int) -> Comb | None:
    """Return the elements at `first` plus sums of steps (step > 0, count) as a comb, else None."""
    run = span = element_bytes
    levels: list[tuple[int, int]] = []
    for step, count in sorted(steps):
        if step <= run and not levels:
            run += (count - 1) * step
            span = run
            continue
        last_count, distance = levels[-1] if levels else (0, 1)
        if step % distance == 0 and step <= last_count * distance:
            # The new level continues where the last level ends, or within it.
            levels[-1] = (last_count + (count - 1) * (step // distance), distance)
        elif step >= span:
            levels.append((count, step))
        else:
            return None
        span += (count - 1) * step
    return Comb(first, run, tuple(levels))
