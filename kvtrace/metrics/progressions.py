"""Nested arithmetic progressions: sequences of numbers such as `base + i*s + j*t + …`.

0, 4, 8, 100, 104, 108 has the levels (3, 4) and (2, 100).
"""

import numpy as np
from numpy.typing import NDArray

Nest = list[tuple[int, ...]]
"""Levels, fastest first: the count, and the step in each column."""


MAX_LEVELS = 8
"""Limit of levels of a progression."""


def nested_progression(rows: NDArray[np.int64]) -> Nest | None:
    """Return the levels of rows that form a nested progression, else None.

    `rows` has shape (n, columns). Row i is the first row plus the steps of i's mixed-radix digits.
    A single row has no levels.
    """
    levels: Nest = []
    while len(rows) > 1:
        ((_, count),) = runs_of(rows, 1)
        if len(rows) % count or len(levels) == MAX_LEVELS:
            return None
        step = rows[1] - rows[0]
        levels.append((count, *(int(s) for s in step)))
        table = rows.reshape(-1, count, rows.shape[1])
        first_rows = table[:, 0]
        if (table - first_rows[:, None] != table[0] - first_rows[0]).any():
            return None
        rows = first_rows
    return levels


def runs_of(rows: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Return the first `most` runs of rows with equal steps, each as its first row and length.

    `rows` has shape (n, columns). Each run is as long as possible: 0, 1, 2, 5, 8 has the runs
    0, 1, 2 and 5, 8.
    """
    steps = rows[1:] - rows[:-1]
    changes = np.flatnonzero((steps[1:] != steps[:-1]).any(axis=1)) + 1
    runs: list[tuple[int, int]] = []
    start = 0
    while start < len(rows) and len(runs) < most:
        change = np.searchsorted(changes, start, "right")
        end = int(changes[change]) + 1 if change < len(changes) else len(rows)
        runs.append((start, end - start))
        start = end
    return runs


def progressions(values: NDArray[np.int64], most: int) -> list[list[int]] | None:
    """Return a sequence cut into runs (first, count, step), None for more than `most`."""
    runs = runs_of(values.reshape(-1, 1), most)
    if sum(count for _, count in runs) < len(values):
        return None
    return [
        [int(values[start]), count, int(values[start + 1] - values[start]) if count > 1 else 0]
        for start, count in runs
    ]
