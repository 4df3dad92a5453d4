"""What the uses of a storage do to it, and what they read that nobody wrote before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtrace.addons.memory.byte_ranges import NOTHING
from kvtrace.metrics.unique_bytes import TooManyRanges

if TYPE_CHECKING:
    from kvtrace.addons.memory.following import CallStorage
    from kvtrace.addons.memory.run_memory import JudgedCall, RunMemory
    from kvtrace.addons.memory.states import Effect
    from kvtrace.addons.memory.storage_uses import Use


def storage_at(judged: JudgedCall, position: int) -> CallStorage | None:
    """Return the storage of a call that the address at a position leads to."""
    for storage in judged.storages:
        if position == storage.position or any(position == other for other, _ in storage.others):
            return storage
    return None


def effect_of(memory: RunMemory, use: Use) -> tuple[Effect | None, int]:
    """Return what a use does, as at the call's first launch, and the bytes of its storage.

    The effect is None if it is nothing or not known. The storage may lie in a larger block.
    """
    row, position = use.place.row, use.place.argument
    if use.place.kind == "operator":
        operator = memory.operators.get(row)
        if operator is None or position >= len(operator.tensors):
            return None, 0
        return operator.effects.effects[position], operator.tensors[position].storage_bytes
    judged = memory.calls.get(row)
    storage = None if judged is None else storage_at(judged, position)
    return (None, 0) if storage is None else (storage.effect, storage.size)


def unwritten_reads(effects: Sequence[Effect | None]) -> list[int]:
    """Return how many bytes each of the effects, in their order, reads that none before wrote.

    What may have been written counts as written; so do bytes in too many ranges.
    """
    written, counts = NOTHING, []
    try:
        for effect in effects:
            counts.append(0 if effect is None else (effect.reads - written).size)
            written = written if effect is None else written | effect.may_write
    except TooManyRanges:
        counts += [0] * (len(effects) - len(counts))
    return counts[: len(effects)]
