"""Spans of bytes that rows of recorded indices touch, and the pairs of rows whose spans overlap.

A row is an actor (a program, or a lane) with the numbers that it loads. All bytes that it touches
lie between the smallest and the largest value of its address. Two actors meet only where spans of
different actors overlap, which sorted starts and ends count without comparing all pairs.

Example: programs `p` store to `4096 * p + 4 * target[p]` and load from `4096 * p + 4 * column` with
`column < 1024`. With targets 5, 7, 1030 and 3, the store of program 2 touches [12312, 12316), which
lies in the span [12288, 16384) of program 3's loads; no other spans of two programs overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.verdicts.contents.read_values import TooLarge

_MAX_NUMBER: Final = 1 << 62


@dataclass(frozen=True)
class Spans:
    """The bytes from `starts` to before `ends` that each row of an access may touch.

    `actors` encodes each row's actor among those with an equal number in `groups`; actors of
    different groups never meet.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    actors: NDArray[np.int64]
    groups: NDArray[np.int64]


class Overlaps:
    """The overlaps of spans of two accesses, between different actors of one group.

    `are_actors_told_apart` is false if rows of one actor may also be those of two.

    Raises:
        TooLarge: the bytes of all groups do not fit 64 bits.

    """

    def __init__(self, left: Spans, right: Spans, *, are_actors_told_apart: bool) -> None:
        self._left, self._right = left, right
        self._are_told_apart = are_actors_told_apart
        groups = _ranks(left.groups, right.groups)
        self._counts = _overlap_counts(left, right, *groups)
        if are_actors_told_apart:
            actors = _ranks(left.actors, right.actors)
            actor_count = 1 + max(int(numbers.max(initial=0)) for numbers in actors)
            keys = (
                group * actor_count + actor for group, actor in zip(groups, actors, strict=True)
            )
            self._counts = self._counts - _overlap_counts(left, right, *keys)
        self.count = int(self._counts.sum())

    def pairs(self, most: int) -> list[tuple[int, int]]:
        """Return the positions of the first `most` pairs of rows that overlap."""
        left, right = self._left, self._right
        pairs: list[tuple[int, int]] = []
        for position in map(int, np.flatnonzero(self._counts)):
            overlaps = (right.starts < left.ends[position]) & (left.starts[position] < right.ends)
            overlaps &= right.groups == left.groups[position]
            if self._are_told_apart:
                overlaps &= right.actors != left.actors[position]
            pairs += ((position, int(other)) for other in np.flatnonzero(overlaps))
            if len(pairs) >= most:
                break
        return pairs[:most]


def _ranks(
    left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return numbers from 0 on for the distinct values of two columns."""
    _, ranks = np.unique(np.concatenate((left, right)), return_inverse=True)
    return ranks[: len(left)], ranks[len(left) :]


def _overlap_counts(
    left: Spans, right: Spans, left_keys: NDArray[np.int64], right_keys: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each span on the left how many of the right with an equal key it overlaps."""
    begin = min(int(spans.starts.min()) for spans in (left, right))
    size = max(int(spans.ends.max()) for spans in (left, right)) - begin
    if size * (1 + max(int(left_keys.max()), int(right_keys.max()))) >= _MAX_NUMBER:
        raise TooLarge
    left_shift, right_shift = left_keys * size - begin, right_keys * size - begin
    begun = np.searchsorted(np.sort(right.starts + right_shift), left.ends + left_shift, "left")
    ended = np.searchsorted(np.sort(right.ends + right_shift), left.starts + left_shift, "right")
    return np.asarray(begun - ended)
