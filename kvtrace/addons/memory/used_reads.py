"""Reads whose values may matter: they reach a store, an address, a branch or another lane.

Kernels often load whole blocks and mask only their stores: what is read in the padding is dropped.
A loaded element that flows through elementwise ops alone matters only in the lanes that a store of
the same shape keeps. Anything else that is done with a value counts as a use of all of its lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.addons.memory.access_bytes import NotListed, TouchedBytes
from kvtrace.addons.memory.boxed_accesses import Boxing
from kvtrace.addons.memory.byte_ranges import ByteRanges
from kvtrace.addons.memory.digit_forms import NoBoxes
from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import flow_of
from kvtrace.ir.ops import KINDS, Kind, data_of, effect_of
from kvtrace.symbolic.conditions import Condition, conjunction, disjunction
from kvtrace.symbolic.summary import Access

if TYPE_CHECKING:
    from kvtrace.addons.memory.effects import StorageEffect
    from kvtrace.recorded_calls.recorded import Call


def used_reads(call: Call, effect: StorageEffect) -> ByteRanges:
    """Return the bytes of a storage that the call may read and use; others are read and dropped.

    It is a subset of `effect.may_read`; all of it where uses are not known.
    """
    boxing = Boxing(call)
    touched = TouchedBytes()
    try:
        for access in boxing.symbolic:
            if access.kind == "store":
                continue
            if access.argument is None or access.argument in effect.args:
                for boxed in boxing.boxed(access, _used(access, boxing, call.module)):
                    touched.add(boxed)
        return effect.may_read & touched.listed(effect.size)
    except (NoBoxes, NotListed):
        return effect.may_read


def _used(access: Access, boxing: Boxing, module: Module) -> Condition:
    """Return the condition that a lane's value may be used."""
    ops = _only_stores(access.op, module)
    if ops is None:
        return access.active
    stores = [store for store in boxing.symbolic if store.op in ops]
    if any(store.shape != access.shape or store.loops != access.loops for store in stores):
        return access.active
    return conjunction((access.active, disjunction(store.active for store in stores)))


def _only_stores(load: Op, module: Module) -> frozenset[Op] | None:
    """Return the stores of a load's values, lane by lane; None if they are used otherwise."""
    if effect_of(load) != "load":
        return None
    flow = flow_of(module)
    stores: set[Op] = set()
    seen: set[int] = set()
    pending: list[Value] = list(load.results)
    while pending:
        value = pending.pop()
        if value.id in seen:
            continue
        seen.add(value.id)
        for use in flow.uses(value):
            if effect_of(use) == "store" and all(
                operand is not value or operand in data_of(use) for operand in use.operands
            ):
                stores.add(use)
            elif use.name in KINDS and KINDS[use.name].kind is Kind.ELEMENTWISE:
                pending += use.results
            else:
                return None
    return frozenset(stores)
