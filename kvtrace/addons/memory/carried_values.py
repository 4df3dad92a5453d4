"""Bytes that a call stores with values of memory that nobody wrote, or from beyond a storage.

A load that leaves its storage reads what lies there: other tensors, or nobody's memory. A load
within a storage may read what nobody wrote since it was allocated. Where such values are only
copied, lane by lane, what becomes of them can be followed: the copy counts as unwritten, which is
no harm until something uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.memory.access_bytes import TouchedBytes
from kvtrace.addons.memory.boxed_accesses import Boxing
from kvtrace.addons.memory.digit_forms import NoBoxes
from kvtrace.addons.memory.effects import MOST_LANES, StorageEffect, with_index_contents
from kvtrace.addons.memory.lives import Birth
from kvtrace.addons.memory.moves import overlapping
from kvtrace.addons.memory.states import Effect, Spoiling, State
from kvtrace.addons.memory.uses import Copying, Use, places, used_effect, uses_of
from kvtrace.evaluate import Access as EvaluatedAccess
from kvtrace.evaluate import Observer, TensorArgument
from kvtrace.evaluate.observe import AccessParts
from kvtrace.ir import Op
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges, TooManyRanges
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.conditions import TRUE, AtLeast, Condition, conjunction, disjunction
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Term
from kvtrace.verdicts.replaying import run


@dataclass(frozen=True, slots=True, eq=False)
class CarriedValues(Spoiling):
    """Bytes with values that a load brings from outside its storage, or from unwritten bytes of it.

    `op` is the load of `call`; `source` and `target` are the indices of the arguments. Doubtful are
    bytes that only perhaps get such values. `origin` is where they are from, None: from outside.
    """

    call: Call = field(kw_only=True)
    op: Op = field(kw_only=True)
    source: int = field(kw_only=True)
    target: int = field(kw_only=True)
    origin: Origin | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """A storage from which unwritten values were copied: its state then, and the bytes.

    `argument` is the tensor, which lies `shift` bytes farther on; `effect` is the call's on it.
    """

    birth: Birth
    state: State
    unwritten: ByteRanges
    argument: TensorArgument
    shift: int
    effect: StorageEffect


def foreign_values(
    boxing: Boxing, effects: Sequence[StorageEffect]
) -> dict[StorageEffect, CarriedValues]:
    """Return the foreign values that a call stores, by the storage.

    Loads whose addresses are not known are left out: whether they leave their storage is the
    question of the rule `out-of-bounds`.
    """
    foreign: dict[StorageEffect, CarriedValues] = {}
    leaving = {op: source for source in effects for op in source.leaving}
    for access in boxing.accesses if leaving else ():
        if access.kind == "load" and access.argument is not None and access.op in leaving:
            for effect in effects:
                values = _values(boxing, access, effect)
                if values is not None:
                    foreign.setdefault(effect, values)
    return foreign


def _outside(call: Call, access: Access) -> Condition:
    """Return the condition that an active lane reads any byte beyond the argument's storage."""
    argument = call.tensor(access.argument or 0)
    place = access.offset + argument.offset_bytes
    room = argument.storage.nbytes - access.element_bytes
    return conjunction(
        (access.active, disjunction((AtLeast(place - room - 1), AtLeast(-place - 1))))
    )


def _values(boxing: Boxing, access: Access, target: StorageEffect) -> CarriedValues | None:
    """Return the bytes of a storage that get values that a load takes from outside; None: none."""
    foreign, doubtful = _bytes(boxing, access, target)
    if not (foreign or doubtful) or access.argument is None:
        return None
    call = boxing.bound.call
    name = call.arguments[access.argument].name
    return CarriedValues(
        foreign, doubtful, f"it may be made of what {call.kernel} reads beyond {name}",
        call=call, op=access.op, source=access.argument, target=target.args[0],
    )  # fmt: skip


def _bytes(boxing: Boxing, access: Access, target: StorageEffect) -> tuple[ByteRanges, ByteRanges]:
    """Return the bytes of a storage that surely get such values, and those that perhaps do."""
    surely, perhaps = TouchedBytes(), TouchedBytes()
    outside = _outside(boxing.bound.call, access)
    uses = [use for use in uses_of(access, boxing) if _may_reach(use, target)]
    try:
        if not boxing.touched(access, outside):
            return NOTHING, NOTHING
        for use in uses:
            store = use.store
            if store is None:
                return NOTHING, target.may_write
            for touched, kept in ((surely, use.surely), (perhaps, use.perhaps)):
                touched.include(boxing.touched(store, conjunction((use.reached, outside, kept))))
        foreign = surely.listed(target.size)
        return foreign, perhaps.listed(target.size) - foreign
    except (NoBoxes, TooManyRanges):
        stores = [use.store for use in uses if use.surely is TRUE and use.store is not None]
        size = boxing.bound.call.tensor(access.argument or 0).storage.nbytes
        lanes = _Lanes([Copying(access, 0, store, TRUE, TRUE) for store in stores], target, size)
        if len(stores) == len(uses) and lanes.follow(boxing.bound.call):
            return lanes.copied - lanes.others, lanes.copied & lanes.others
        return NOTHING, target.may_write if uses else NOTHING


def _may_reach(use: Use, target: StorageEffect) -> bool:
    """Return whether a use of a value may store it in a storage."""
    if use.store is None or use.store.argument is None:
        return bool(target.may_write)
    return use.store.argument in target.args


class Uses:
    """The uses that a call makes of what it reads of one storage, derived when first asked for."""

    def __init__(self, call: Call, effect: StorageEffect, targets: Sequence[StorageEffect]) -> None:
        """`targets` are the call's effects on all storages."""
        self._call, self._effect, self._targets = call, effect, targets

    @cached_property
    def _derived(self) -> tuple[Boxing, Effect, ByteRanges, list[Copying]]:
        boxing = Boxing(with_index_contents(self._call))
        return (boxing, *used_effect(boxing, self._effect))

    @property
    def effect(self) -> Effect:
        """The call's effect on the storage, with the reads that matter alone."""
        return self._derived[1]

    def copied(self, state: State, birth: Birth, shift: int | None) -> dict[Effect, Spoiling]:
        """Return the unwritten or doubtful values that are copied, by the storages.

        `state` is the storage's state before the launch, `shift` how far the tensors lie behind
        their place at the call's first launch, in bytes; None: elsewhere.
        """
        boxing, _, first, copies = self._derived
        carried: dict[Effect, Spoiling] = {}
        for target in self._targets:
            to_target = [copying for copying in copies if copying.store.argument in target.args]
            if not to_target:
                continue
            (source, *_), kernel = to_target[0], self._call.kernel
            argument = self._call.tensor(source.argument or 0)
            doubt = f"{kernel} may have copied to it what nobody wrote of {argument.name}"
            doubt += boxing.missing_choices
            if shift is None:
                carried[target] = Spoiling(doubtful=target.may_write, doubt=doubt)
                continue
            unwritten, doubtful = state.unwritten.moved(-shift), state.doubtful.moved(-shift)
            read = first & unwritten
            if not all(copying.is_first for copying in to_target):
                read = read - self._effect.may_write
            copied = _Copied(boxing, read, (unwritten | doubtful) & self._effect.may_read, target)
            copied.add(to_target)
            if not copied.unwritten and not copied.doubtful:
                continue
            read = copied.read.moved(shift)
            values = CarriedValues(
                copied.unwritten, copied.doubtful, state.doubt or doubt, call=self._call,
                op=source.op, source=source.argument or 0, target=target.args[0],
                origin=Origin(birth, state, read, argument, shift, self._effect),
                birth=state.birth_of(read, birth),
            )  # fmt: skip
            first_copy = next((by for by in state.spoilings if by.reaches(read)), None)
            if isinstance(first_copy, CarriedValues):
                values = replace(
                    first_copy, unwritten=copied.unwritten, doubtful=copied.doubtful,
                    target=target.args[0],
                )  # fmt: skip
            carried[target] = values
        return carried


class _Copied:
    """The bytes of a storage that get unwritten values of another one, or perhaps do.

    `read` are the unwritten bytes of the source that are copied.
    """

    def __init__(
        self, boxing: Boxing, read: ByteRanges, marked: ByteRanges, target: StorageEffect
    ) -> None:
        """`read` are unwritten bytes of the source that are read, `marked` those that may be."""
        self._boxing, self._marked, self._target, self.read = boxing, marked, target, read
        self.unwritten, self.doubtful = NOTHING, NOTHING

    def add(self, copies: Sequence[Copying]) -> None:
        """Add the bytes of copies: by formulas or on arrays, else all that may be stored."""
        if not copies or not self._marked:
            return
        try:
            self._add_by_formulas(copies)
        except (NoBoxes, TooManyRanges):
            self.unwritten, self.doubtful = NOTHING, self._target.may_write
            if all(copying.surely is TRUE for copying in copies):
                self._add_on_arrays(copies)

    def _add_by_formulas(self, copies: Sequence[Copying]) -> None:
        """Add the bytes of copies whose lanes' stores are equally far from their loads."""
        others, read = NOTHING, NOTHING
        for source, _, store, surely, perhaps, stays, _ in copies:
            distance = self._boxing.of_call(self._begin(store) - self._begin(source)).constant
            if distance is None or source.element_bytes != store.element_bytes:
                raise NoBoxes("its elements are moved")
            surely_copied, may_be_copied = (
                marked.moved(distance)
                & self._stored(store, conjunction((source.active, kept, stays)))
                for marked, kept in ((self.read, surely), (self._marked, perhaps))
            )
            if surely_copied:
                read |= surely_copied.moved(-distance)
                others |= self._others(store, conjunction((source.active, surely)))
            self.unwritten, self.doubtful = (
                self.unwritten | surely_copied, self.doubtful | may_be_copied
            )  # fmt: skip
        self.unwritten, self.read = self.unwritten - others, read or self._marked
        self.doubtful -= self.unwritten

    def _begin(self, access: Access) -> Term:
        return access.offset + self._boxing.bound.call.tensor(access.argument or 0).offset_bytes

    def _stored(self, store: Access, lanes: Condition) -> ByteRanges:
        touched = self._boxing.touched(store, conjunction((store.active, lanes)))
        return touched.listed(self._target.size)

    def _others(self, store: Access, copied: Condition) -> ByteRanges:
        """Return bytes that other stores, or other lanes of a copy's store, write as well."""
        active = store.active.conjuncts()
        beside = [part for part in copied.conjuncts() if part not in active]
        others = self._stored(store, ~conjunction(beside)) if beside else NOTHING
        for access in self._boxing.accesses:
            is_earlier = access.op.index < store.op.index and places(access) == places(store)
            if access.kind == "load" or access.op is store.op or is_earlier:
                continue
            if access.argument is None or access.argument in self._target.args:
                others |= self._stored(access, TRUE)
        return others

    def _add_on_arrays(self, copies: Sequence[Copying]) -> None:
        call = self._boxing.bound.call
        surely, perhaps = (
            _Lanes(copies, self._target, marked) for marked in (self.read, self._marked)
        )
        if surely.follow(call) and perhaps.follow(call):
            self.unwritten = surely.copied - surely.others
            self.doubtful = perhaps.copied - self.unwritten


class _Lanes(Observer):
    """The bytes that get marked bytes of another storage, lane by lane, and all others stored."""

    def __init__(
        self, copies: Sequence[Copying], target: StorageEffect, marked: ByteRanges | int
    ) -> None:
        """`marked`: bytes of the source, or its size in bytes: what lies beyond."""
        self._target, self._marked = target, marked
        self._copies = {copying.store.op: copying for copying in copies}
        self._loads: dict[Op, EvaluatedAccess] = {}
        self.copied, self.others, self._are_lost = NOTHING, NOTHING, False

    def follow(self, call: Call) -> bool:
        """Evaluate a call; return whether all bytes are known."""
        call = with_index_contents(call)
        return run(call, [self], contents="all", lanes=MOST_LANES) is None and not self._are_lost

    def access(self, access: EvaluatedAccess) -> None:
        """Add the elements of a store to the target."""
        self._loads[access.op] = access
        if access.kind == "load" or not access.executions or access.active == 0:
            return
        if access.argument is not None and access.argument not in self._target.args:
            return
        parts, copying = access.parts, self._copies.get(access.op)
        if parts is None or not access.certain or access.active is None:
            self._are_lost = True
            return
        active = parts.active_of(np.ones(parts.shape, np.bool_))
        is_copied = active & (copying is not None and self._are_loaded(copying, parts))
        begins = np.broadcast_to(parts.offsets() + parts.origin_bytes, parts.shape)
        self.copied |= self._bytes(begins[is_copied], access)
        self.others |= self._bytes(begins[active & ~is_copied], access)

    def _are_loaded(self, copying: Copying, parts: AccessParts) -> NDArray[np.bool_] | bool:
        """Return which lanes were loaded from a marked byte, for a store of the same lanes."""
        source = copying.source
        load = self._loads.get(source.op)
        if load is None or load.active == 0:
            return False
        is_known = load.parts is not None and load.active is not None and load.certain
        if load.parts is None or not is_known or load.parts.block != parts.block:
            self._are_lost = True
            return False
        if not np.array_equal(load.parts.programs, parts.programs):
            self._are_lost = True
            return False
        begins = load.parts.offsets() + load.parts.origin_bytes + copying.skipped_bytes
        if isinstance(self._marked, int):
            is_marked = (begins < 0) | (begins + source.element_bytes > self._marked)
        else:
            is_marked = overlapping(begins, source.element_bytes, self._marked)
        return load.parts.active_of(is_marked)

    def _bytes(self, begins: NDArray[np.int64], access: EvaluatedAccess) -> ByteRanges:
        return ByteRanges.of_elements(np.sort(begins), access.element_bytes)
