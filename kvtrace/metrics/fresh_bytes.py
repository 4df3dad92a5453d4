"""Fresh bytes of each op: bytes that no earlier op of the launch touches; their sum is moved.

Reads and writes are counted separately, storage by storage, also if arguments share a storage. The
counts are as exact as `unique_bytes`: unions of the same sets, which are counted by formulas if
they are combs, and listed only if they may overlap.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from kvtrace.metrics.byte_ranges import MOST_RANGES, TooManyRanges
from kvtrace.metrics.combs import Comb, size_of_combs
from kvtrace.metrics.unique_bytes import Repetition, size_of_union


@dataclass(frozen=True, eq=False)
class TouchedBytes:
    """The bytes of a storage that one op touches, as repetitions and as combs (None: unknown).

    `size` is the number of bytes. Objects with equal `content` have the same bytes; None: not
    comparable.
    """

    size: int
    sets: tuple[Repetition, ...] | None
    combs: tuple[Comb, ...] | None = None
    content: Hashable = None


def fresh_bytes(ops: Sequence[TouchedBytes]) -> list[int | None]:
    """Return the number of fresh bytes of each op, in order; None if unknown."""
    sizes: list[int | None] = []
    ops_so_far: list[TouchedBytes] = []
    total: int | None = 0
    contents: set[Hashable] = set()
    for op in ops:
        if op.content is not None and op.content in contents:
            sizes.append(0 if total is not None else None)
            continue
        contents.add(op.content)
        ops_so_far.append(op)
        new_total = op.size if len(ops_so_far) == 1 else _size_of_union(ops_so_far)
        sizes.append(None if new_total is None or total is None else new_total - total)
        total = new_total
    return sizes


def _size_of_union(ops: Sequence[TouchedBytes]) -> int | None:
    """Return the number of bytes in the union of ops, None if unknown."""
    if all(op.combs is not None for op in ops):
        size = size_of_combs([comb for op in ops for comb in op.combs or ()])
        if size is not None:
            return size
    sets = [op.sets for op in ops if op.sets is not None]
    if len(sets) < len(ops):
        return None
    try:
        return size_of_union(
            [repetition for repetitions in sets for repetition in repetitions], MOST_RANGES
        )
    except TooManyRanges:
        return None
