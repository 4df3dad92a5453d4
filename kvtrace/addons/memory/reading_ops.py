"""The op of a call that reads bytes of a storage."""

from __future__ import annotations

from kvtrace.addons.memory.access_bytes import NotListed, TouchedBytes
from kvtrace.addons.memory.effects import ArrayLimit, StorageEffect
from kvtrace.evaluate import Access, Observer
from kvtrace.ir import Op
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.metrics.byte_ranges import ByteRanges
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.replaying import run as evaluate_call


def first_reading_op(call: Call, effect: StorageEffect) -> Op:
    """Return the first op, in the order of the IR, that may read a storage."""
    sites = memory_sites(call.module)
    return next(
        site.op for site in sites if site.kind != "store" and any(map(site.reaches, effect.args))
    )


def reading_op(call: Call, effect: StorageEffect, unwritten: ByteRanges) -> Op:
    """Return the first op that reads one of some bytes of a storage."""
    readers = _Readers(effect)
    evaluate_call(call, [readers, ArrayLimit()], contents="all")
    for op, touched in readers.by_op.values():
        try:
            if touched.listed(effect.size) & unwritten:
                return op
        except NotListed:
            continue
    return first_reading_op(call, effect)


class _Readers(Observer):
    """Collects the bytes of one storage that each op reads."""

    def __init__(self, effect: StorageEffect) -> None:
        self._args = frozenset(effect.args)
        self.by_op: dict[int, tuple[Op, TouchedBytes]] = {}

    def access(self, access: Access) -> None:
        """Add the bytes of a read."""
        if access.kind != "store" and access.argument in self._args:
            _, touched = self.by_op.setdefault(access.op.index, (access.op, TouchedBytes()))
            touched.add(access)
