"""What each op of a launch touches that no op before it does: their sum is what a launch moves.

Reads and writes are counted apart, storage by storage, whichever arguments share it. As exact as
`unique_bytes`: a union of the same sets, which are counted by whole numbers where they are combs
and listed only where they may overlap.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from kvtrace.metrics.combs import Comb, size_of_combs
from kvtrace.metrics.unique_bytes import Repetition, TooManyRanges, size_of_union

#: Ranges of bytes that what several ops touch may fall into.
MOST_RANGES = 1 << 20


@dataclass(frozen=True, eq=False)
class Touched:
    """The bytes of a storage that one op touches: as repetitions and as combs, or None of either.

    `size` is how many they are. Two of equal `content` are the same bytes; None: not known to be
    the same as any.
    """

    size: int
    sets: tuple[Repetition, ...] | None
    combs: tuple[Comb, ...] | None = None
    content: Hashable = None


def fresh_bytes(ops: Sequence[Touched]) -> list[int | None]:
    """Return for each, in their order, how many bytes none before it touches; None: not known."""
    found: list[int | None] = []
    before: list[Touched] = []
    total: int | None = 0
    known: set[Hashable] = set()
    for each in ops:
        if each.content is not None and each.content in known:
            found.append(0 if total is not None else None)
            continue
        known.add(each.content)
        before.append(each)
        now = each.size if len(before) == 1 else _size(before)
        found.append(None if now is None or total is None else now - total)
        total = now
    return found


def _size(ops: Sequence[Touched]) -> int | None:
    """Count the bytes of a union."""
    if all(each.combs is not None for each in ops):
        size = size_of_combs([comb for each in ops for comb in each.combs or ()])
        if size is not None:
            return size
    sets = [each.sets for each in ops if each.sets is not None]
    if len(sets) < len(ops):
        return None
    try:
        return size_of_union([one for several in sets for one in several], MOST_RANGES)
    except TooManyRanges:
        return None
