"""Bytes that a call stores with values from beyond its tensors' storages.

A load that leaves its storage reads what lies there: other tensors, or nobody's memory. Where such
values are only copied, lane by lane, what becomes of them can be followed: they are like values of
unwritten memory, which is no harm until something uses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace.addons.memory.access_bytes import NotListed, TouchedBytes
from kvtrace.addons.memory.boxed_accesses import Boxing
from kvtrace.addons.memory.digit_forms import NoBoxes
from kvtrace.addons.memory.reads import uses_of
from kvtrace.addons.memory.states import Spoiling
from kvtrace.evaluate import TensorArgument
from kvtrace.ir.ops import effect_of
from kvtrace.symbolic.conditions import FALSE, TRUE, AtLeast, Condition, conjunction, disjunction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvtrace.addons.memory.effects import StorageEffect
    from kvtrace.ir import Op
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.summary import Access


@dataclass(frozen=True, slots=True, eq=False)
class ForeignValues:
    """Values that a load outside the storage of its argument brings into another storage.

    `op` is the load; `source` and `target` are the indices of the arguments. Bytes that only
    perhaps get foreign values are the doubtful ones of `spoiling`.
    """

    op: Op
    source: int
    target: int
    spoiling: Spoiling


def foreign_values(
    call: Call, effects: Sequence[StorageEffect]
) -> Mapping[StorageEffect, ForeignValues]:
    """Return the foreign values that a call stores, by the storage.

    Loads whose addresses are no formulas are left out: whether they leave their storage is the
    question of the rule `out-of-bounds`. Errors as `BoundCall`.
    """
    boxing = Boxing(call)
    found: dict[StorageEffect, ForeignValues] = {}
    for access in boxing.symbolic:
        if effect_of(access.op) != "load" or access.argument is None:
            continue
        outside = _outside(call, access)
        if not _happens(boxing, access, outside):
            continue
        for effect in effects:
            spoiling = _spoiling(call, boxing, access, outside, effect)
            if spoiling is not None:
                values = ForeignValues(access.op, access.argument, effect.args[0], spoiling)
                found.setdefault(effect, values)
    return found


def _outside(call: Call, access: Access) -> Condition:
    """Return the condition that an active lane reads any byte beyond the argument's storage."""
    argument = call.arguments[access.argument or 0]
    assert isinstance(argument, TensorArgument)
    place = access.offset + argument.offset_bytes
    room = argument.storage.nbytes - access.element_bytes
    return conjunction(
        (access.active, disjunction((AtLeast(place - room - 1), AtLeast(-place - 1))))
    )


def _happens(boxing: Boxing, access: Access, condition: Condition) -> bool:
    try:
        return any(True for _ in boxing.boxed(access, condition))
    except NoBoxes:
        return False


def _spoiling(
    call: Call, boxing: Boxing, access: Access, outside: Condition, effect: StorageEffect
) -> Spoiling | None:
    """Return which bytes of a storage get values that a load takes from outside; None: none."""
    surely, perhaps = TouchedBytes(), TouchedBytes()
    name = call.arguments[access.argument or 0].name
    doubt = f"it may be made of what {call.kernel} reads beyond {name}"
    try:
        for touched, unknown in ((surely, FALSE), (perhaps, TRUE)):
            for store, kept in uses_of(access, boxing, call.module, unknown):
                if store is None:
                    if unknown is TRUE and effect.may_store:
                        return Spoiling(doubtful=effect.may_store, doubt=doubt)
                elif store.argument is None or store.argument in effect.args:
                    lanes = conjunction((store.active, outside, kept))
                    for boxed in boxing.boxed(store, lanes):
                        touched.add(boxed)
        foreign = surely.listed(effect.size)
        doubtful = perhaps.listed(effect.size) - foreign
    except (NoBoxes, NotListed):
        return Spoiling(doubtful=effect.may_store, doubt=doubt) if effect.may_store else None
    return Spoiling(foreign, doubtful, doubt) if foreign or doubtful else None
