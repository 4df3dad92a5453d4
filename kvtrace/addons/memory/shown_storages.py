"""Choice of the storages whose lives a page shows: those of findings, and the largest of others.

Storages of one size that were allocated at one place are alike, as a buffer of each iteration: one
of them is shown, in use at the peak if any is, with the number of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.addons.memory.byte_ranges import ByteRanges
from kvtrace.addons.memory.rules import READ, RESULT
from kvtrace.addons.memory.states import Effect
from kvtrace.addons.memory.storage_uses import AddressRows, Span, address_rows, uses_of
from kvtrace.addons.memory.use_effects import effect_of, unwritten_reads

if TYPE_CHECKING:
    from kvtrace.addons.memory.peak_profile import PeakMemory
    from kvtrace.addons.memory.places import Places
    from kvtrace.addons.memory.run_memory import JudgedCall, RunMemory
    from kvtrace.addons.memory.storage_lives import StorageLives
    from kvtrace.converters.findings.model import Finding
    from kvtrace.figures.columns import Integers
    from kvtrace.schema.trace import Run, Trace

MOST_STORAGES: Final = 200
MOST_FINDINGS: Final = 50
#: Launches of a finding's call of which the storages are looked at.
_MOST_LAUNCHES: Final = 64


@dataclass(frozen=True, slots=True)
class Kinds:
    """Kinds of storages: those of one size, device and place of allocation.

    Attributes:
        texts: places of allocation.
        text: index into `texts` of each storage.
        kind: number of the kind of each storage.
        counts: number of storages of each kind.
    """

    texts: Sequence[str]
    text: Integers
    kind: Integers
    counts: Integers

    @classmethod
    def of(cls, lives: StorageLives, places: Places) -> Kinds:
        """Return the kinds of all storages of a run."""
        births = np.stack([lives.origin.astype(np.int64), lives.row])
        _, firsts, numbers = np.unique(births, axis=1, return_index=True, return_inverse=True)
        indexes: dict[str, int] = {}
        of_birth = [
            indexes.setdefault(places.birth(lives.birth(first)), len(indexes))
            for first in firsts.tolist()
        ]
        text = np.array(of_birth, np.int64)[numbers.reshape(-1)]
        columns = np.stack([text, lives.bytes, lives.device])
        _, kind, counts = np.unique(columns, axis=1, return_inverse=True, return_counts=True)
        return cls(tuple(indexes), text, kind.reshape(-1), counts)

    def place(self, index: int) -> str:
        """Return the place of allocation of the storage with an index."""
        return self.texts[int(self.text[index])]


def shown_storages(
    lives: StorageLives, kinds: Kinds, peaks: Iterable[PeakMemory], of_findings: Iterable[int]
) -> list[int]:
    """Return the indexes of the storages that are shown, the largest first, without repetition."""
    chosen = dict.fromkeys(of_findings)
    represented = {int(kinds.kind[index]) for index in chosen}
    at_peak = np.zeros(len(lives), np.bool_)
    for peak in peaks:
        at_peak[lives.held_at(peak.device, peak.begin)] = True
    order = np.lexsort((lives.begin, ~at_peak, -lives.bytes))
    _, firsts = np.unique(kinds.kind[order], return_index=True)
    for place in np.sort(firsts)[:MOST_STORAGES].tolist():
        index = int(order[place])
        if int(kinds.kind[index]) not in represented:
            chosen[index] = None
    return sorted(chosen, key=lambda index: (-lives.bytes[index], lives.begin[index]))


def span_of(lives: StorageLives, index: int) -> Span:
    """Return the memory of a storage during its life."""
    return Span(
        int(lives.address[index]), int(lives.bytes[index]), int(lives.begin[index]),
        int(lives.until[index]),
    )  # fmt: skip


def storages_of_findings(
    trace: Trace,
    run: Run,
    findings: Sequence[Finding],
    memory: RunMemory,
    lives: StorageLives,
    kinds: Kinds,
) -> dict[str, int]:
    """Return the storage that a finding on unwritten memory is about, by `finding_id`.

    Launches of the finding's call were given many storages. Of the first _MOST_LAUNCHES, it is the
    first that has unwritten bytes as the rule has it, and whose allocation the finding's message
    names, as far as there is one. Only MOST_FINDINGS are looked for.
    """
    tensors: dict[str, tuple[Finding, int, int]] = {}
    for finding in findings:
        call_id = finding.call
        if finding.rule not in (READ, RESULT) or finding.run != run.run_id or call_id is None:
            continue
        position = _position(memory.calls.get(call_id), finding.arg)
        if finding.verdict == "violation" and position is not None:
            tensors[finding.finding_id] = finding, call_id, position
    tensors = dict(list(tensors.items())[:MOST_FINDINGS])
    if not tensors:
        return {}
    call_ids = sorted({call_id for _, call_id, _ in tensors.values()})
    launches = list(address_rows(trace, run, "launch", call_ids))
    given = {
        key: _given_storages(launches, call_id, position, lives)
        for key, (_, call_id, position) in tensors.items()
    }
    candidates = sorted({index for indexes in given.values() for index in indexes})
    uses = uses_of(trace, run, [span_of(lives, index) for index in candidates])
    effects = {
        index: [effect_of(memory, use) for use in of_storage]
        for index, of_storage in zip(candidates, uses, strict=True)
    }
    return {
        key: max(
            indexes,
            key=lambda index: (
                _has_unwritten(tensors[key][0].rule, effects[index]),
                f"{kinds.place(index)} made" in (tensors[key][0].message or ""),
            ),
        )
        for key, indexes in given.items()
        if indexes
    }


def _position(judged: JudgedCall | None, name: str | None) -> int | None:
    """Return the position among a launch's addresses of a call's tensor."""
    if judged is None or judged.call is None:
        return None
    for storage in judged.storages:
        if judged.call.arguments[storage.argument].name == name:
            return storage.position
    return None


def _given_storages(
    launches: Sequence[AddressRows], call_id: int, position: int, lives: StorageLives
) -> list[int]:
    """Return the storages that the first launches of a call were given as a tensor, in order."""
    given: list[tuple[int, int]] = []
    for part in launches:
        rows = part.where((part.ids == call_id) & (part.positions == position))
        given += zip(rows.times.tolist(), rows.addresses.tolist(), strict=True)
    indexes: dict[int, None] = {}
    for time, address in given[:_MOST_LAUNCHES]:
        there = (lives.begin <= time) & (time < lives.until)
        there &= (lives.address <= address) & (address < lives.address + lives.bytes)
        indexes |= dict.fromkeys(np.flatnonzero(there).tolist())
    return list(indexes)


def _has_unwritten(rule: str, uses: Sequence[tuple[Effect | None, int]]) -> bool:
    """Return whether uses read what none before wrote, or leave bytes unwritten."""
    effects = [effect for effect, _ in uses]
    if rule == READ:
        return any(unwritten_reads(effects))
    whole = ByteRanges.of(0, max((size for _, size in uses), default=0))
    return bool(unwritten_reads([*effects, Effect(reads=whole, may_read=whole)])[-1])
