"""Nested arithmetic progressions: sequences of numbers as `base + i*s + j*t + …`.

0, 4, 8, 100, 104, 108 has the levels (3, 4) and (2, 100).
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Nest = list[tuple[int, ...]]
"""Levels, fastest first: the count, and the step of each column."""


DEEPEST = 8
"""The most levels of a progression."""


def nested_progression(rows: NDArray[np.int64], deepest: int = DEEPEST) -> Nest | None:
    """Return levels so that row i is the first row plus the steps of i's mixed-radix digits.

    `rows` has shape (n, columns). One row has no levels; None: the rows are no such sequence.
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


def merged_levels(levels: Iterable[tuple[int, ...]]) -> Nest | None:
    """Return levels in the form of `nested_progression`, from others for the same sequence.

    Levels with count 1 are dropped, and a level that the next continues is merged with it. None:
    there are more than DEEPEST.
    """
    result: Nest = []
    for level in levels:
        count = level[0]
        if count == 1:
            continue
        if result:
            last = result[-1]
            rounds = last[0]
            if all(b == rounds * a for a, b in zip(last[1:], level[1:], strict=True)):
                result[-1] = (rounds * count, *last[1:])
                continue
        result.append(level)
    return result if len(result) <= DEEPEST else None


def nested_rows(rows: Sequence[tuple[int, ...]]) -> Nest | None:
    """Return the levels of few rows, as `nested_progression`."""
    levels: Nest = []
    while len(rows) > 1:
        step = _step(rows[0], rows[1])
        count = 2
        while count < len(rows) and _step(rows[count - 1], rows[count]) == step:
            count += 1
        if len(rows) % count or len(levels) == DEEPEST:
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
    """Return the number of leading rows with equal steps (at least 1)."""
    if len(rows) < 3:
        return len(rows)
    steps = rows[1:] - rows[:-1]
    broken = np.flatnonzero((steps != steps[0]).any(axis=1))
    return int(broken[0]) + 1 if len(broken) else len(rows)


def progressions(values: NDArray[np.int64], most: int) -> list[list[int]] | None:
    """Return a sequence cut into (first, count, step) from its start; None for over `most`."""
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
