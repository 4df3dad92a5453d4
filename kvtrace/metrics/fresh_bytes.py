"""Fresh bytes of each op: bytes that no earlier op of the launch touches. Their sum is moved.

Reads and writes are counted separately, storage by storage, also if arguments share a storage. The
counts are as exact as `unique_bytes`: unions of the same sets, which are counted by formulas if
they are combs, and listed only if they may overlap.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from kvtrace.metrics.combs import Comb, size_of_combs
from kvtrace.metrics.unique_bytes import Repetition, TooManyRanges, size_of_union

#: The most ranges of bytes that several ops touch.
MOST_RANGES = 1 << 20


@dataclass(frozen=True, eq=False)
class TouchedBytes:
    """The bytes of a storage that one op touches: as repetitions and as combs, or None.

    `size` is the number of bytes. Equal `content` means the same bytes; None: not comparable.
    """

    size: int
    sets: tuple[Repetition, ...] | None
    combs: tuple[Comb, ...] | None = None
    content: Hashable = None


def fresh_bytes(ops: Sequence[TouchedBytes]) -> list[int | None]:
    """Return for each op, in order, how many of its bytes are fresh; None: not known."""
    sizes: list[int | None] = []
    before: list[TouchedBytes] = []
    total: int | None = 0
    contents: set[Hashable] = set()
    for op in ops:
        if op.content is not None and op.content in contents:
            sizes.append(0 if total is not None else None)
            continue
        contents.add(op.content)
        before.append(op)
        now = op.size if len(before) == 1 else _size(before)
        sizes.append(None if now is None or total is None else now - total)
        total = now
    return sizes


def _size(ops: Sequence[TouchedBytes]) -> int | None:
    """Return the number of bytes in a union."""
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
