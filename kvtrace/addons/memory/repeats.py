"""Following of a run that repeats itself: what happened before, from the same state, is not redone.

A training run does the same in each step, and its allocator gives the same addresses. The events
are cut into blocks of some hundred, at places that their contents decide, so that equal parts of a
run are cut alike, wherever they begin. What following a block does is determined by

- its events without their times, which are the block's key: unique events, with launches of other
  contents told apart, and how many events each operator encloses that encloses others;
- the storages in the memory of which its events ask (`Follower.regions`), and what is known of each
  when the block begins.

It leads to new states of these storages and to answers of reads. When a block comes the second
time, both are kept as an `_Outcome`; when it comes again and its storages are as they were then,
they are set to what they became, and the answers are counted. All else that following notes is
about the first time that something happens. An operator that began before its block is compared
with times of earlier writes, and a launch may store to any memory; such blocks are always followed.

A new block is followed in smaller ones, so that a single event that differs costs little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct

from kvtrace.addons.memory.events import Events, Operated
from kvtrace.addons.memory.following import Follower
from kvtrace.addons.memory.lives import Birth, Life, Place
from kvtrace.addons.memory.reads import Answered
from kvtrace.addons.memory.states import State
from kvtrace.figures.columns import Integers

#: Least events of a block; it has fewer than twice as many. New ones are cut into smaller ones.
_LEAST: Final = (1024, 64)
#: Most storages that are kept with outcomes, some 0.5 kB each, and blocks that are remembered.
_MOST_KEPT: Final = 1 << 19
_MOST_SEEN: Final = 1 << 20
#: Most outcomes of a block.
_MOST_OUTCOMES: Final = 4
#: The time of writes before a block, while its events have indices as times.
_EARLIER: Final = -(1 << 62)
#: Odd numbers without a pattern, for hashes of an event and the three before it.
_FACTORS: Final = np.random.default_rng(0).integers(1 << 62, 1 << 63, 4, np.uint64) | np.uint64(1)


#: What following asks of a storage; `_known` returns it.
_Known = tuple[int, int, State, Birth, Place | None, Place | None, bool, bool, bool]


def _known(life: Life) -> _Known:
    return (
        life.begin, life.size, life.state, life.birth, life.given, life.source, life.is_read,
        life.is_missed, life.rounded,
    )  # fmt: skip


class _Change(NamedTuple):
    """The change of a storage by a block.

    `made` and `written` are indices in the block; None: the storage was made, or last written,
    before. A new storage that was not written has a `written` of -1.
    """

    known: _Known
    writer: Place | None
    made: int | None
    written: int | None

    def apply(self, life: Life, times: Integers) -> None:
        """Change a storage; `times` are those of the block's events, ns."""
        (
            life.begin, life.size, life.state, life.birth, life.given, life.source, life.is_read,
            life.is_missed, life.rounded,
        ) = self.known  # fmt: skip
        if self.made is not None:
            life.made = int(times[self.made])
        if self.written is not None:
            life.writer = self.writer
            life.written = int(times[self.written]) if self.written >= 0 else -1


class _Outcome(Struct, eq=False):
    """The changes by a block of the storages that were there before, and their number of times.

    Attributes:
        before: the storages in the block's regions, by their addresses.
        kept: for some of these, what became of the storage at the same address.
        removed: indices in `before` of storages at whose address there is none afterwards.
        new: storages at other addresses.
        answers: how many of each answer.
        times: how often it happened again.
    """

    before: list[_Known]
    kept: list[tuple[int, _Change]]
    removed: list[int]
    new: list[_Change]
    answers: Mapping[Answered, int]
    times: int = 0

    def settle(self) -> None:
        """Count the answers of the times when it happened again."""
        for answered, count in self.answers.items():
            answered.repeat(count * self.times)
        self.times = 0


class _Block(Struct, eq=False):
    """A block that comes again: the memory of which it asks, as ranges [begin, end), and outcomes.

    `misses` is how often it had none for what was known of its storages.
    """

    regions: list[tuple[int, int]]
    outcomes: list[_Outcome] = []
    misses: int = 0


def follow_repeating(follower: Follower, parts: Iterable[Events]) -> None:
    """Follow parts of a run to its end; the result is that of `Follower.follow`."""
    repeats = _Repeats(follower)
    for events in parts:
        repeats.follow(events)
    repeats.forget()
    follower.finish()


class _Repeats:
    """The blocks of a run that were followed."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._seen: set[int] = set()
        self._blocks: dict[bytes, _Block] = {}
        self._kept = 0
        steps = follower.launch_steps
        kinds: dict[int, int] = {}
        self._varied_seqs = np.array(sorted(steps), np.int64)
        self._kinds = np.array(
            [kinds.setdefault(id(steps[seq]), len(kinds) + 1) for seq in sorted(steps)], np.int64
        )
        self._details: dict[tuple[int, int], int] = {}
        self._known_numbers = 0
        self._enclosing: list[int] = []
        self._reaching_all: list[int] = []

    def forget(self) -> None:
        """Forget all blocks."""
        for block in self._blocks.values():
            for outcome in block.outcomes:
                outcome.settle()
        self._blocks.clear()
        self._kept = 0

    def follow(self, events: Events) -> None:
        """Follow a part of a run."""
        firsts = self._firsts(events)
        self._follow(events, self._keys(events, firsts), firsts, _LEAST)

    def _follow(
        self, events: Events, keys: Integers, firsts: Integers, sizes: Sequence[int]
    ) -> None:
        """Follow events in blocks of the first of some sizes, and new blocks in smaller ones."""
        begin = 0
        for end in _cuts(keys, firsts, sizes[0]):
            block = slice(begin, end)
            self._follow_block(events[block], keys[block], firsts[block] - begin, sizes[1:])
            begin = end

    def _firsts(self, events: Events) -> Integers:
        """Return for each event the index of the first one that it encloses, or its own.

        Indices before the part are -1.
        """
        firsts = np.arange(len(events))
        end = int(events.numbers.max(initial=-1)) + 1
        for number in range(self._known_numbers, end):
            event = events.unique.get(number)
            if event is not None and self._follower.reaches_all(event):
                self._reaching_all.append(number)
            elif type(event) is Operated and not self._follower.is_torchs(event):
                self._enclosing.append(number)
        self._known_numbers = max(self._known_numbers, end)
        if self._enclosing:
            encloses = np.flatnonzero(np.isin(events.numbers, np.array(self._enclosing)))
            begins = events.begins[encloses]
            found = np.searchsorted(events.times, begins)
            is_before = begins < events.times[0]
            firsts[encloses] = np.where(is_before, -1, np.minimum(found, encloses))
        return firsts

    def _keys(self, events: Events, firsts: Integers) -> Integers:
        """Return numbers of events that are equal where following depends on no other thing."""
        details = np.arange(len(events)) - firsts
        if len(self._varied_seqs):
            place = np.searchsorted(self._varied_seqs, events.seqs)
            place = np.minimum(place, len(self._varied_seqs) - 1)
            is_varied = self._varied_seqs[place] == events.seqs
            details = np.where(is_varied, -self._kinds[place], details)
        keys = events.numbers.copy()
        detailed = np.flatnonzero(details)
        if len(self._details) > _MOST_SEEN:
            self._details.clear()
            self._seen.clear()
            self.forget()
        known = self._details
        keys[detailed] = [
            -1 - known.setdefault(pair, len(known))
            for pair in zip(keys[detailed].tolist(), details[detailed].tolist(), strict=True)
        ]
        return keys

    def _follow_block(
        self, events: Events, keys: Integers, firsts: Integers, smaller: Sequence[int]
    ) -> None:
        reaches_all = self._reaching_all and np.isin(events.numbers, self._reaching_all).any()
        if reaches_all or not self._was_seen(keys, firsts):
            self._follow_anew(events, keys, firsts, smaller)
            return
        key = keys.tobytes()
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = _Block(self._regions(events, keys))
        storages = self._follower.lives.within(block.regions)
        before = list(map(_known, storages))
        for outcome in block.outcomes:
            if outcome.before == before:
                self._repeat(outcome, storages, events.times)
                return
        block.misses += 1
        if block.misses & (block.misses - 1):  # no power of two: its state may never come again
            self._follow_anew(events, keys, firsts, smaller)
            return
        outcome = self._outcome(block, storages, before, events, firsts)
        block.outcomes.append(outcome)
        if len(block.outcomes) > _MOST_OUTCOMES:
            block.outcomes.pop(0).settle()
        self._kept += len(before) + len(outcome.new) + len(keys) // 16
        if self._kept > _MOST_KEPT:
            self.forget()

    def _was_seen(self, keys: Integers, firsts: Integers) -> bool:
        """Return whether a block came before; False if its outcome depends on more than its key."""
        if firsts.min() < 0:
            return False
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        seen, value = self._seen, hash(keys.tobytes())
        was_seen = value in seen
        seen.add(value)
        return was_seen

    def _follow_anew(
        self, events: Events, keys: Integers, firsts: Integers, smaller: Sequence[int]
    ) -> None:
        """Follow a block in smaller ones, or event by event."""
        if smaller:
            self._follow(events, keys, firsts, smaller)
        else:
            self._follower.advance(events)

    def _regions(self, events: Events, keys: Integers) -> list[tuple[int, int]]:
        """Return the ranges of memory of which events ask, ascending and apart."""
        _, chosen = np.unique(keys, return_index=True)
        merged: list[tuple[int, int]] = []
        regions = {region for event in events[chosen] for region in self._follower.regions(event)}
        for begin, end in sorted(regions):
            if merged and begin <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(merged[-1][1], end)
            else:
                merged.append((begin, end))
        return merged

    def _repeat(self, outcome: _Outcome, storages: Sequence[Life], times: Integers) -> None:
        """Let an outcome happen again."""
        lives = self._follower.lives
        outcome.times += 1
        for index in outcome.removed:
            lives.remove(storages[index])
        for index, change in outcome.kept:
            change.apply(storages[index], times)
        for change in outcome.new:
            begin, size, state, birth, *_ = change.known
            life = Life(begin, size, state, birth, 0)
            change.apply(life, times)
            lives.add(life)

    def _outcome(
        self,
        block: _Block,
        storages: Sequence[Life],
        before: list[_Known],
        events: Events,
        firsts: Integers,
    ) -> _Outcome:
        """Follow a block, and return what that did."""
        follower = self._follower
        writes = [(life.written, life.writer) for life in storages]
        for life in storages:
            life.written = _EARLIER
        follower.answers = []
        # Times are indices in the block, so that those of equal times are told apart.
        indices = np.arange(len(events))
        follower.advance(Events(events.numbers, indices, firsts, events.seqs, events.unique))
        answers, follower.answers = Counter(follower.answers), None
        places = {life.begin: index for index, life in enumerate(storages)}
        changes: dict[int, _Change] = {}
        new: list[_Change] = []
        for life in follower.lives.within(block.regions):
            index = places.pop(life.begin, None)
            old = None if index is None else storages[index]
            change = _Change(
                _known(life),
                life.writer,
                None if old is life else life.made,
                None if life.written == _EARLIER else life.written,
            )
            if index is None:
                new.append(change)
            elif change != (before[index], change.writer, None, None):
                changes[index] = change
            if life.written == _EARLIER and index is not None:
                life.written, life.writer = writes[index]
            elif life.written >= 0:
                life.written = int(events.times[life.written])
            if old is not life:
                life.made = int(events.times[life.made])
        return _Outcome(before, list(changes.items()), list(places.values()), new, answers)


def _cuts(keys: Integers, firsts: Integers, least: int) -> list[int]:
    """Return the ends of blocks of `least` to twice as many events, at the least of their hashes.

    No block begins between an operator and what it encloses, if there is another place.
    """
    count = len(keys)
    hashes = np.zeros(count, np.uint64)
    for distance, factor in enumerate(_FACTORS[:count]):
        hashes[distance:] += keys[: count - distance].view(np.uint64) * factor
    encloses = np.flatnonzero(firsts < np.arange(count))
    depth = np.bincount(np.maximum(firsts[encloses] + 1, 0), minlength=count + 1)
    depth = np.cumsum(depth - np.bincount(encloses + 1, minlength=count + 1))
    hashes[depth[:count] > 0] = np.iinfo(np.uint64).max
    ends: list[int] = []
    begin = 0
    while count - begin >= 2 * least:
        begin += least + int(np.argmin(hashes[begin + least : begin + 2 * least]))
        ends.append(begin)
    return [*ends, count] if count > begin else ends
