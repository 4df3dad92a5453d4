"""Nested arithmetic progressions: sequences of numbers such as `base + i*s + j*t + …`.

0, 4, 8, 100, 104, 108 has the levels (3, 4) and (2, 100).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Nest = list[tuple[int, ...]]
"""Levels, fastest first: the count, and the step in each column."""


MAX_LEVELS = 8
"""Limit of levels of a progression."""


def nested_progression(rows: NDArray[np.int64], max_levels: int = MAX_LEVELS) -> Nest | None:
    """Return the levels of rows that form a nested progression, else None.

    `rows` has shape (n, columns). Row i is the first row plus the steps of i's mixed-radix digits.
    A single row has no levels.
    """
    levels: Nest = []
    while len(rows) > 1:
        count = leading_progression(rows)
        if len(rows) % count or len(levels) == max_levels:
            return None
        step = rows[1] - rows[0]
        levels.append((count, *(int(s) for s in step)))
        table = rows.reshape(-1, count, rows.shape[1])
        first_rows = table[:, 0]
        if (table - first_rows[:, None] != table[0] - first_rows[0]).any():
            return None
        rows = first_rows
    return levels


def nested_rows(rows: Sequence[tuple[int, ...]]) -> Nest | None:
    """Return the levels of a few rows that form a nested progression, else None."""
    levels: Nest = []
    while len(rows) > 1:
        step = _step(rows[0], rows[1])
        count = 2
        while count < len(rows) and _step(rows[count - 1], rows[count]) == step:
            count += 1
        if len(rows) % count or len(levels) == MAX_LEVELS:
            return None
        levels.append((count, *step))
        for start in range(count, len(rows), count):
            for position in range(start + 1, start + count):
                if _step(rows[position - 1], rows[position]) != step:
                    return None
        rows = rows[::count]
    return levels


def _step(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(b - a for a, b in zip(first, second, strict=True))


def leading_progression(rows: NDArray[np.int64]) -> int:
    """Return the number of leading rows with equal steps, at least 1."""
    if len(rows) < 3:
        return len(rows)
    steps = rows[1:] - rows[:-1]
    unequal = np.flatnonzero((steps != steps[0]).any(axis=1))
    return int(unequal[0]) + 1 if len(unequal) else len(rows)


def progressions(values: NDArray[np.int64], most: int) -> list[list[int]] | None:
    """Return a sequence cut into runs (first, count, step), None for more than `most`."""
    result: list[list[int]] = []
    rows = values.reshape(-1, 1)
    # A cut changes two second differences at most.
    if np.count_nonzero(np.diff(values, 2)) > 2 * most:
        return None
    while len(rows):
        if len(result) == most:
            return None
        count = leading_progression(rows)
        step = int(rows[1, 0] - rows[0, 0]) if count > 1 else 0
        result.append([int(rows[0, 0]), count, step])
        rows = rows[count:]
    return result
