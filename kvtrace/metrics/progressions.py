"""Sequences of numbers as nested arithmetic progressions: `base + i*s + j*t + …`."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Nest = list[tuple[int, ...]]
"""Levels, fastest first: how many, and the step of each column."""


DEEPEST = 8
"""Levels that are looked for."""


def nested_progression(rows: NDArray[np.int64], deepest: int = DEEPEST) -> Nest | None:
    """Find levels so that row i is the first one plus the steps of i's digits in mixed radix.

    `rows` has shape (n, columns). One row gives no levels; None: it is not such a sequence.
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
    """Return levels as `nested_progression` finds them, from others that make the same sequence.

    Those of one round go, and one that the next continues is merged with it. None: there are more
    than it looks for.
    """
    found: Nest = []
    for level in levels:
        count = level[0]
        if count == 1:
            continue
        if found:
            known = found[-1]
            rounds = known[0]
            if all(b == rounds * a for a, b in zip(known[1:], level[1:], strict=True)):
                found[-1] = (rounds * count, *known[1:])
                continue
        found.append(level)
    return found if len(found) <= DEEPEST else None


def nested_rows(rows: Sequence[tuple[int, ...]]) -> Nest | None:
    """Do as `nested_progression`, for few rows."""
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
            for place in range(start + 1, start + count):
                if _step(rows[place - 1], rows[place]) != step:
                    return None
        rows = rows[::count]
    return levels


def _step(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(b - a for a, b in zip(first, second, strict=True))


def leading_progression(rows: NDArray[np.int64]) -> int:
    """Return how many rows from the first on go in equal steps (at least 1)."""
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
