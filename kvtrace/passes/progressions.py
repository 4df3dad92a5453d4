"""Sequences of numbers as nested arithmetic progressions: `base + i*s + j*t + …`."""

import numpy as np
from numpy.typing import NDArray

Nest = list[tuple[int, ...]]
"""Levels, fastest first: how many, and the step of each column."""


def nested_progression(rows: NDArray[np.int64], deepest: int = 8) -> Nest | None:
    """Find levels so that row i is the first one plus the steps of i's digits in mixed radix.

    `rows` has shape (n, columns). One row gives no levels; None: it is no such sequence.
    """
    levels: Nest = []
    while len(rows) > 1:
        count = leading_progression(rows)
        if len(rows) % count or len(levels) == deepest:
            return None
        step = rows[1] - rows[0]
        levels.append((count, *(int(s) for s in step)))
        table = rows.reshape(-1, count, rows.shape[1])
        heads = table[:, 0]
        if (table - heads[:, None] != table[0] - heads[0]).any():
            return None
        rows = heads
    return levels


def leading_progression(rows: NDArray[np.int64]) -> int:
    """Give how many rows from the first on go in equal steps (at least 1)."""
    if len(rows) < 3:
        return len(rows)
    steps = rows[1:] - rows[:-1]
    broken = np.flatnonzero((steps != steps[0]).any(axis=1))
    return int(broken[0]) + 1 if len(broken) else len(rows)


def progressions(values: NDArray[np.int64], most: int) -> list[list[int]] | None:
    """Cut a sequence into (first, count, step) from its start; None if that needs over `most`."""
    found: list[list[int]] = []
    rows = values.reshape(-1, 1)
    # A cut changes two second differences at most.
    if np.count_nonzero(np.diff(values, 2)) > 2 * most:
        return None
    while len(rows):
        if len(found) == most:
            return None
        count = leading_progression(rows)
        step = int(rows[1, 0] - rows[0, 0]) if count > 1 else 0
        found.append([int(rows[0, 0]), count, step])
        rows = rows[count:]
    return found
