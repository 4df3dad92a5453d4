"""Reads whose values may matter: they reach a store, an address, a branch or another lane.

Kernels often load whole blocks and mask only their stores: what is read in the padding is dropped.
A loaded element that flows through elementwise ops alone matters only in the lanes that a choice
(`tl.where`, or `&` and `|` of Booleans) or a store of the same shape keeps. A value that decides a
choice is used. Anything else that is done with a value counts as a use of all of its lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvtrace.addons.memory.access_bytes import NotListed, TouchedBytes
from kvtrace.addons.memory.boxed_accesses import Boxing, is_choice
from kvtrace.addons.memory.digit_forms import NoBoxes
from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import flow_of
from kvtrace.ir.ops import KINDS, Kind, effect_of
from kvtrace.ir.updates import data_of
from kvtrace.metrics.byte_ranges import ByteRanges
from kvtrace.symbolic.conditions import FALSE, TRUE, Condition, conjunction, disjunction
from kvtrace.symbolic.summary import Access

if TYPE_CHECKING:
    from kvtrace.addons.memory.effects import StorageEffect
    from kvtrace.recorded_calls.recorded import Call


def used_reads(call: Call, effect: StorageEffect, *, surely: bool = False) -> ByteRanges:
    """Return the bytes of a storage that the call may read and use; others are read and dropped.

    It is a subset of `effect.may_read`; all of it where uses are not known. `surely`: without those
    that a choice may drop whose condition is not known.
    """
    unknown = FALSE if surely else TRUE
    boxing = Boxing(call)
    touched = TouchedBytes()
    try:
        for access in boxing.symbolic:
            if access.kind == "store":
                continue
            if access.argument is None or access.argument in effect.args:
                for boxed in boxing.boxed(access, _used(access, boxing, call.module, unknown)):
                    touched.add(boxed)
        return effect.may_read & touched.listed(effect.size)
    except (NoBoxes, NotListed):
        return effect.may_read


def _used(access: Access, boxing: Boxing, module: Module, unknown: Condition) -> Condition:
    """Return the condition that a lane's value is used; `unknown`: that of unknown choices."""
    if effect_of(access.op) != "load":
        return access.active
    uses = [
        kept if store is None else conjunction((kept, store.active))
        for store, kept in uses_of(access, boxing, module, unknown)
    ]
    return conjunction((access.active, disjunction(uses)))


def uses_of(
    access: Access, boxing: Boxing, module: Module, unknown: Condition
) -> Iterator[tuple[Access | None, Condition]]:
    """Yield where the value of a load's lanes goes, and the condition that a lane's is kept.

    That is a store that has the same lanes, lane by lane, or None for any other use. `unknown` is
    the condition of a choice whose condition is not known.
    """
    stores = {store.op: store for store in boxing.symbolic if store.kind == "store"}
    flow = flow_of(module)
    seen: set[tuple[int, Condition]] = set()
    pending: list[tuple[Value, Condition]] = [(value, TRUE) for value in access.op.results]
    while pending:
        value, kept = pending.pop()
        if (value.id, kept) in seen:
            continue
        seen.add((value.id, kept))
        for use in flow.uses(value):
            if is_choice(use):
                chosen = boxing.chosen(use, value, access) or unknown
                pending += [(result, conjunction((kept, chosen))) for result in use.results]
            elif use.name in KINDS and KINDS[use.name].kind is Kind.ELEMENTWISE:
                pending += [(result, kept) for result in use.results]
            elif _stores_value(use, value) and _is_beside(stores.get(use), access):
                yield stores[use], kept
            else:
                yield None, kept


def _stores_value(use: Op, value: Value) -> bool:
    """Return whether an op stores a value, and does not use it as an address or a mask."""
    return effect_of(use) == "store" and all(
        operand is not value or operand in data_of(use) for operand in use.operands
    )


def _is_beside(store: Access | None, access: Access) -> bool:
    """Return whether a store has the lanes of an access, in the same trips of loops."""
    return store is not None and (store.shape, store.loops) == (access.shape, access.loops)
