"""Reads at a place of a run: how many were proven, the violations, and whether values matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from kvtrace.addons.memory.access_bytes import TouchedBytes
from kvtrace.addons.memory.boxed_accesses import Boxing, is_choice, is_known
from kvtrace.addons.memory.digit_forms import NoBoxes, cases_of
from kvtrace.addons.memory.lives import Birth, Life, Place
from kvtrace.addons.memory.moves import is_computed
from kvtrace.addons.memory.states import Answer, Reading, Spoiling, State
from kvtrace.ir import Op, Value
from kvtrace.ir.flow import flow_of
from kvtrace.ir.ops import KINDS, Kind, effect_of
from kvtrace.ir.updates import data_of
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges, TooManyRanges
from kvtrace.symbolic.conditions import FALSE, TRUE, Condition, Opaque, conjunction, disjunction
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Substitution
from kvtrace.symbolic.undefined.flow import Taints, marker, places_in

if TYPE_CHECKING:
    from kvtrace.addons.memory.effects import StorageEffect
    from kvtrace.recorded_calls.recorded import Call


UNSEEN: Final = "its storage was made where kvtrace does not see it"
HOST: Final = (
    "it is memory of the host, which is not followed: record with KVTRACE_DEVICE=cpu and tensors "
    'made with device="cuda"'
)
#: Doubts of storages that are not followed, which what is copied from them takes over.
HOST_COPIED: Final = "it is made of memory of the host, whose writes are not all seen"
UNSEEN_COPIED: Final = "it is made of memory that was made where kvtrace does not see it"
_WEAK: Final = ("", UNSEEN, HOST, HOST_COPIED, UNSEEN_COPIED)
_UNFOLLOWED: Final = {"unseen": UNSEEN, "host": HOST}


class Unwritten(Struct, eq=False):
    """The first read of unwritten bytes of a kind of storages, and how many of these were read.

    `state` is the storage's state before it, whose steps say who wrote to it; `seq` is the launch
    that read, None for an operator; `origin` is where its tensor's data pointer lies in the
    storage, in bytes; `given` is the last kernel that was given the storage and has a store to it,
    `source` the last one that was given the memory from which unwritten bytes were moved here.
    """

    reading: Reading
    birth: Birth
    state: State
    seq: int | None
    origin: int
    given: Place | None
    source: Place | None
    count: int = 1


class Reads(Struct, eq=False):
    """The verdicts on all reads at a place: how many of each answer, and the reason.

    `unwritten` has the violations by where the storage came from. `reason` is why the first unknown
    read is unknown, unless that is weak: then a later read's reason replaces it. `spoilings` left
    values that unknown reads may get, or violations other than the first ones.
    """

    answers: Counter[Answer] = field(default_factory=Counter)
    unwritten: dict[Birth, Unwritten] = {}
    reason: str = ""
    spoilings: set[Spoiling] = set()

    @property
    def is_weak(self) -> bool:
        """Return whether the reason is only that storages are not followed or were computed."""
        return self.reason in _WEAK or is_computed(self.reason)

    def add(
        self, reading: Reading, life: Life, state: State, seq: int | None, origin: int
    ) -> Answered:
        """Add a read of a storage that was in a state; `origin`: where the tensor lies in it."""
        origin_reason = _UNFOLLOWED.get(life.birth.origin)
        answer = reading.answer if origin_reason is None else "unknown"
        self.answers[answer] += 1
        if answer == "unknown":
            if self.is_weak:
                self.reason = origin_reason or reading.reason or self.reason
            self.spoilings.update(reading.spoilings)
        if answer != "violation":
            return Answered(self, answer)
        unwritten = self.unwritten.get(life.birth)
        if unwritten is None:
            unwritten = self.unwritten[life.birth] = Unwritten(
                reading, life.birth, state, seq, origin, life.given, life.source
            )
        else:
            unwritten.count += 1
            if reading.spoilings != unwritten.reading.spoilings:
                self.spoilings.update(reading.spoilings)
        return Answered(self, answer, unwritten)


class Answered(NamedTuple):
    """A read that was added to those of its place."""

    reads: Reads
    answer: Answer
    unwritten: Unwritten | None = None

    def repeat(self, times: int) -> None:
        """Add equal reads."""
        self.reads.answers[self.answer] += times
        if self.unwritten is not None:
            self.unwritten.count += times


# Reads whose values may matter: they reach a store, an address, a branch or another lane.
#
# Kernels often load whole blocks and mask only their stores: what is read in the padding is
# dropped. A loaded element that flows through elementwise ops alone matters only in the lanes that
# a choice (`tl.where`, `&` and `|` of Booleans, `&` and `*` of integers) or a store of the same
# shape keeps. Where lanes are moved or combined, `symbolic.undefined` says which of them come to a
# store, an address, a mask or a branch. Anything else counts as a use of all lanes of a value.


def used_reads(call: Call, effect: StorageEffect) -> tuple[ByteRanges, ByteRanges]:
    """Return the bytes of a storage that the call surely uses, and those that it may use.

    Others are read and dropped. Both are subsets of `effect.may_read`; all of it where uses are not
    known. Between them are those that a choice may drop whose condition is not known.
    """
    boxing = Boxing(call)
    surely, perhaps = NOTHING, NOTHING
    try:
        for access in boxing.accesses:
            if access.kind == "store":
                continue
            if access.argument is None or access.argument in effect.args:
                used, may_be_used = _used(access, boxing, effect.size)
                surely, perhaps = surely | used, perhaps | may_be_used
        return surely & effect.may_read, perhaps & effect.may_read
    except (NoBoxes, TooManyRanges):
        return effect.may_read, effect.may_read


def _used(access: Access, boxing: Boxing, size: int) -> tuple[ByteRanges, ByteRanges]:
    """Return the bytes of the lanes whose values are surely used, and of those that may be."""
    if effect_of(access.op) != "load":
        active = boxing.touched(access, access.active).listed(size)
        return active, active
    uses = list(uses_of(access, boxing))
    surely = disjunction(conjunction((use.surely, use.reached)) for use in uses)
    perhaps = disjunction(conjunction((use.perhaps, use.reached)) for use in uses)
    used, may_be_used = (
        boxing.touched(access, conjunction((access.active, kept))).listed(size)
        for kept in (surely, perhaps)
    )
    if used and any(use.store is None for use in uses):
        across = _used_across(access, boxing)
        if across is not None:
            used, may_be_used = used & across[0].listed(size), may_be_used & across[1].listed(size)
    return used, may_be_used


def _used_across(access: Access, boxing: Boxing) -> tuple[TouchedBytes, TouchedBytes] | None:
    """Return the bytes of a load by what becomes of its lanes where ops move or combine them.

    They are surely used, or may be; None if an op is not followed. Errors as `Boxing.touched`.
    """
    taints = Taints(boxing.bound.summary, access)
    if access.calls or not taints.are_followed:
        return None
    surely, perhaps = TouchedBytes(), TouchedBytes()
    for sink in taints.sinks():
        place = sink.place
        reached = place.active if isinstance(place, Access) else place.reached
        shape = place.shape if isinstance(place, Access) else ()
        if not boxing.is_ideal(place):
            return None
        for case in cases_of(boxing.of_call(sink.undefined.possibly).conjuncts()):
            marks = [part for part in case if isinstance(part, Opaque) and _marks(part, access)]
            if not marks:
                perhaps.include(boxing.touched(access, access.active))
                continue
            moved = Substitution(dict(zip(places_in(access), marks[0].at, strict=True)))
            offset = boxing.of_call(moved(access.offset))
            source = replace(access, offset=offset, shape=shape, loops=place.loops)
            others = [part for part in case if part not in marks]
            active = boxing.of_call(access.active.substitute(moved))
            lanes = [active, boxing.of_call(reached), *others]
            known = [part for lane in lanes for part in lane.conjuncts() if is_known(part)]
            perhaps.include(boxing.touched(source, conjunction(known)))
            if len(marks) == 1 and all(map(is_known, lanes)):
                surely.include(boxing.touched(source, conjunction(lanes)))
    return surely, perhaps


def _marks(part: Opaque, access: Access) -> bool:
    return part.key == marker(access).key


class Use(NamedTuple):
    """A use of a load's lanes, and the conditions that a lane's value comes there.

    `store` has the same lanes, lane by lane; None: any other use. A choice whose condition is not
    known keeps no lane `surely`, and each one `perhaps`.
    """

    store: Access | None
    surely: Condition
    perhaps: Condition

    @property
    def reached(self) -> Condition:
        """The condition that a lane is active in the store."""
        return TRUE if self.store is None else self.store.active


def uses_of(access: Access, boxing: Boxing) -> Iterator[Use]:
    """Yield the uses of the values of a load's lanes."""
    stores = {store.op: store for store in boxing.accesses if store.kind == "store"}
    flow = flow_of(boxing.bound.call.module)
    followed: set[tuple[int, Condition, Condition]] = set()
    pending: list[tuple[Value, Condition, Condition]]
    pending = [(value, TRUE, TRUE) for value in access.op.results]
    while pending:
        value, surely, perhaps = pending.pop()
        if (value.id, surely, perhaps) in followed:
            continue
        followed.add((value.id, surely, perhaps))
        for use in flow.uses(value):
            if is_choice(use):
                chosen = boxing.chosen(use, value, access)
                surely_kept = conjunction((surely, chosen or FALSE))
                perhaps_kept = conjunction((perhaps, chosen or TRUE))
                pending += [(result, surely_kept, perhaps_kept) for result in use.results]
            elif use.name in KINDS and KINDS[use.name].kind is Kind.ELEMENTWISE:
                pending += [(result, surely, perhaps) for result in use.results]
            else:
                store = stores.get(use) if _stores_value(use, value) else None
                yield Use(store if _is_beside(store, access) else None, surely, perhaps)


def _stores_value(use: Op, value: Value) -> bool:
    """Return whether an op stores a value, and does not use it as an address or a mask."""
    return effect_of(use) == "store" and all(
        operand is not value or operand in data_of(use) for operand in use.operands
    )


def _is_beside(store: Access | None, access: Access) -> bool:
    """Return whether a store has the lanes of an access, in the same trips of loops."""
    return store is not None and (store.shape, store.loops) == (access.shape, access.loops)
