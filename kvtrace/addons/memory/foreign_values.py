"""Bytes that a call stores with values from beyond its tensors' storages.

A load that leaves its storage reads what lies there: other tensors, or nobody's memory. Where such
values are only copied, lane by lane, what becomes of them can be followed: they are like values of
unwritten memory, which is no harm until something uses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kvtrace.addons.memory.access_bytes import TouchedBytes
from kvtrace.addons.memory.boxed_accesses import Boxing
from kvtrace.addons.memory.digit_forms import NoBoxes
from kvtrace.addons.memory.effects import StorageEffect
from kvtrace.addons.memory.reads import uses_of
from kvtrace.addons.memory.states import Spoiling
from kvtrace.ir import Op
from kvtrace.ir.ops import effect_of
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges, TooManyRanges
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.conditions import AtLeast, Condition, conjunction, disjunction
from kvtrace.symbolic.summary import Access


@dataclass(frozen=True, slots=True, eq=False)
class ForeignValues(Spoiling):
    """Bytes with values that a load brings from outside the storage of its argument.

    `op` is the load of `call`; `source` and `target` are the indices of the arguments. Doubtful are
    bytes that only perhaps get foreign values.
    """

    call: Call = field(kw_only=True)
    op: Op = field(kw_only=True)
    source: int = field(kw_only=True)
    target: int = field(kw_only=True)


def foreign_values(
    boxing: Boxing, effects: Sequence[StorageEffect]
) -> dict[StorageEffect, ForeignValues]:
    """Return the foreign values that a call stores, by the storage.

    Loads whose addresses are no formulas are left out: whether they leave their storage is the
    question of the rule `out-of-bounds`.
    """
    foreign: dict[StorageEffect, ForeignValues] = {}
    for access in boxing.accesses:
        if effect_of(access.op) != "load" or access.argument is None:
            continue
        outside = _outside(boxing.bound.call, access)
        if not _happens(boxing, access, outside):
            continue
        for effect in effects:
            values = _values(boxing, access, outside, effect)
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


def _happens(boxing: Boxing, access: Access, condition: Condition) -> bool:
    try:
        return bool(boxing.touched(access, condition))
    except NoBoxes:
        return False


def _values(
    boxing: Boxing, access: Access, outside: Condition, effect: StorageEffect
) -> ForeignValues | None:
    """Return the bytes of a storage that get values that a load takes from outside; None: none."""
    foreign, doubtful = _bytes(boxing, access, outside, effect)
    if not (foreign or doubtful) or access.argument is None:
        return None
    call = boxing.bound.call
    name = call.arguments[access.argument].name
    return ForeignValues(
        foreign, doubtful, f"it may be made of what {call.kernel} reads beyond {name}",
        call=call, op=access.op, source=access.argument, target=effect.args[0],
    )  # fmt: skip


def _bytes(
    boxing: Boxing, access: Access, outside: Condition, effect: StorageEffect
) -> tuple[ByteRanges, ByteRanges]:
    """Return the bytes of a storage that surely get such values, and those that perhaps do."""
    surely, perhaps = TouchedBytes(), TouchedBytes()
    try:
        for use in uses_of(access, boxing):
            store = use.store
            if store is None:
                if effect.may_write:
                    return NOTHING, effect.may_write
            elif store.argument is None or store.argument in effect.args:
                for touched, kept in ((surely, use.surely), (perhaps, use.perhaps)):
                    lanes = conjunction((store.active, outside, kept))
                    touched.include(boxing.touched(store, lanes))
        foreign = surely.listed(effect.size)
        return foreign, perhaps.listed(effect.size) - foreign
    except (NoBoxes, TooManyRanges):
        return NOTHING, effect.may_write
