"""The memory of a run as the report's page shows it: its records, made from the run's tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.addons.memory.page_model import (
    DeviceMemory,
    RunStorages,
    StorageLife,
    StorageUse,
)
from kvtrace.addons.memory.peak_profile import PeakMemory, peaks_of, when_reached
from kvtrace.addons.memory.places import Places
from kvtrace.addons.memory.run_memory import RunMemory
from kvtrace.addons.memory.shown_storages import (
    Kinds,
    shown_storages,
    span_of,
    storages_of_findings,
)
from kvtrace.addons.memory.storage_lives import StorageLives, storage_lives
from kvtrace.addons.memory.storage_uses import Use, uses_of
from kvtrace.addons.memory.use_effects import effect_of, storage_at, unwritten_reads

if TYPE_CHECKING:
    from kvtrace.addons.memory.byte_ranges import ByteRanges
    from kvtrace.addons.memory.states import Effect
    from kvtrace.converters.report.sources import Context
    from kvtrace.figures.columns import Integers

_MOST_POINTS: Final = 400
#: Most uses of a storage: the first ones, and the last ones of those that remain.
_FIRST_USES: Final = 24
_LAST_USES: Final = 8


def run_storages(context: Context, run: int) -> RunStorages:
    """Return the memory of the run with an index of the report. Errors as `Trace.table`."""
    trace, of_run = context.trace, context.runs[run]
    lives = storage_lives(trace, of_run)
    places = Places(trace, of_run)
    kinds, peaks = Kinds.of(lives, places), peaks_of(trace, of_run, lives, places)
    memory = RunMemory(trace, of_run)
    findings = [placed.found for placed in context.report.findings]
    of_findings = storages_of_findings(trace, of_run, findings, memory, lives, kinds)
    shown = shown_storages(lives, kinds, peaks, of_findings.values())
    uses = uses_of(trace, of_run, [span_of(lives, storage) for storage in shown])
    page = _Page(context, run, lives, kinds, peaks, memory)
    left_out = np.isin(kinds.kind, kinds.kind[np.array(shown, np.int64)], invert=True)
    return RunStorages(
        run=run,
        frees_recorded=lives.frees_are_recorded,
        devices=tuple(page.devices()),
        storages=tuple(
            page.life(
                storage, of_storage, [key for key, of in of_findings.items() if of == storage]
            )
            for storage, of_storage in zip(shown, uses, strict=True)
        ),
        count=len(lives),
        kinds=len(kinds.counts),
        largest_left_out=int(lives.bytes[left_out].max(initial=0)),
    )


class _Page:
    """What is known of the memory of a run, as records of the page."""

    def __init__(
        self,
        context: Context,
        run: int,
        lives: StorageLives,
        kinds: Kinds,
        peaks: Sequence[PeakMemory],
        memory: RunMemory,
    ) -> None:
        self._lives, self._kinds, self._memory = lives, kinds, memory
        self._calls = {
            call.call_id: index
            for index, call in enumerate(context.report.calls)
            if call.run == run
        }
        origin = context.report.origin
        self._origin = 0 if origin is None else int(np.datetime64(origin.rstrip("Z"), "ns"))
        self._peaks = {peak.device: peak for peak in peaks}

    def devices(self) -> Iterator[DeviceMemory]:
        """Yield the bytes in use on each device."""
        for peak in self._peaks.values():
            times, amounts = self._lives.in_use(peak.device)
            bin_ns = None
            if len(times) > _MOST_POINTS:
                times, amounts, bin_ns = _binned(times, amounts)
            yield DeviceMemory(
                device=peak.device,
                times=tuple((times - self._origin).tolist()),
                bytes=tuple(amounts.tolist()),
                bin_ns=bin_ns,
                peak=peak.bytes,
                peak_at=peak.begin - self._origin,
                when=when_reached(peak),
                holders=peak.holders,
            )

    def life(self, index: int, uses: Sequence[Use], findings: Sequence[str]) -> StorageLife:
        """Return a storage's life, with ids of findings on it."""
        lives, kinds = self._lives, self._kinds
        size, device = int(lives.bytes[index]), int(lives.device[index])
        shown = self._uses(uses, is_followed=bool(findings))
        kept = [*shown[:_FIRST_USES], *sorted(shown[_FIRST_USES:], key=_last)[-_LAST_USES:]]
        begin, end, peak = int(lives.begin[index]), int(lives.end[index]), self._peaks.get(device)
        return StorageLife(
            made=kinds.place(index),
            is_seen=lives.birth(index).origin != "unseen",
            device=device,
            bytes=size,
            alike=int(kinds.counts[kinds.kind[index]]),
            at_peak=peak is not None and bool(begin <= peak.begin < lives.until[index]),
            begin=begin - self._origin,
            last_use=int(lives.last_use[index]) - self._origin,
            end=None if end < 0 else end - self._origin,
            replaced=bool(lives.replaced[index]),
            uses=tuple(kept),
            uses_left_out=len(shown) - len(kept),
            findings=tuple(findings),
        )

    def _uses(self, uses: Sequence[Use], *, is_followed: bool) -> list[StorageUse]:
        """Return the uses that read or write, those by several tensors of a call as one.

        `is_followed`: what they read that nobody wrote is known, too.
        """
        effects = [effect_of(self._memory, use) for use in uses]
        unwritten = [0] * len(uses)
        if is_followed:
            unwritten = unwritten_reads([effect for effect, _ in effects])
        shown: dict[tuple[object, ...], StorageUse] = {}
        for use, (effect, size), unwritten_bytes in zip(uses, effects, unwritten, strict=True):
            if effect is None or not (effect.may_read or effect.may_write):
                continue
            record = self._use(use, effect, size, unwritten_bytes)
            earlier = shown.setdefault((use.place.kind, use.place.row, record.tensor), record)
            shown[use.place.kind, use.place.row, record.tensor] = replace(
                earlier,
                count=max(earlier.count, record.count),
                last=max(earlier.last, record.last),
            )
        return list(shown.values())

    def _use(self, use: Use, effect: Effect, size: int, unwritten: int) -> StorageUse:
        place, memory = use.place, self._memory
        by, tensor, moves = "a kernel without IR", None, False
        if place.kind == "operator":
            operator = memory.operators[place.row]
            by = memory.operator(place.row)
            moves = operator.effects.moves and operator.tensors[place.argument].role == "read"
        elif (call := memory.calls[place.row].call) is not None:
            by = call.kernel
            storage = storage_at(memory.calls[place.row], place.argument)
            tensor = None if storage is None else call.arguments[storage.argument].name
        return StorageUse(
            call=self._calls.get(place.row) if place.kind == "launch" else None,
            by=by,
            tensor=tensor,
            count=use.count,
            first=use.first - self._origin,
            last=use.last - self._origin,
            reads=_size(effect.reads, effect.may_read),
            writes=_size(effect.writes, effect.may_write),
            size=size,
            unwritten=unwritten,
            moves=moves,
            reason=effect.reason,
        )


def _size(certain: ByteRanges, possible: ByteRanges) -> int | None:
    """Return the number of bytes; None if more are possible than are certain."""
    return certain.size if certain.size == possible.size else None


def _last(use: StorageUse) -> int:
    return use.last


def _binned(times: Integers, amounts: Integers) -> tuple[Integers, Integers, int]:
    """Return the begins of at most _MOST_POINTS bins, the most in each, and their width in ns."""
    begin = int(times[0])
    width = (int(times[-1]) - begin) // _MOST_POINTS + 1
    bins = (times - begin) // width
    most = np.zeros(int(bins[-1]) + 1, np.int64)
    np.maximum.at(most, bins, amounts)
    starts = begin + np.arange(len(most)) * width
    first = np.searchsorted(times, starts)  # the first change of a bin or a later one
    before = np.where(times[first] > starts, amounts[first - 1], 0)
    return starts, np.maximum(most, before), width
