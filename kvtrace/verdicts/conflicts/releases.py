"""Releases and acquires of atomics, and the accesses of their programs that they order.

An atomic on a scalar is done by one thread. Its release orders the accesses of that thread, and
the accesses of other threads before a barrier that both have passed. Without the barrier, in

    tl.store(partial + lanes, values)              # 128 threads, 4 warps
    if tl.atomic_add(counter, 1) == programs - 1:  # thread 0 releases, warps 1 to 3 may still store
        total = tl.sum(tl.load(partial + everyone))

the last program may read old values. (PTX ISA, "Memory consistency model": causality order goes
from thread to thread by release and acquire, and within a CTA by barriers.)

A scalar atomic that acquires, and whose result the kernel uses, hands the result to all threads
through a barrier. A lane of a block acquires for its own thread alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.ir import Op
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.summary import Access
from kvtrace.verdicts.conflicts.barriers import Barriers
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.threads import OpThreads, Threads, stays_in_lane

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

#: Limit of lanes of a block that one thread may hold.
_MAX_LANES_PER_THREAD: Final = 8
#: By the index of a releasing op, the indices of the memory ops that it does not order.
UnorderedOps = Mapping[int, frozenset[int]]


@dataclass(frozen=True)
class Gaps:
    """The ops that releases and acquires do not order; false if there are none.

    `unordered` has ops by release, `own_thread_only` the indices of acquiring ops that
    order only the accesses of their own thread.
    """

    unordered: UnorderedOps
    own_thread_only: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return any(self.unordered.values()) or bool(self.own_thread_only)


#: No gaps: each release orders all earlier accesses of its program, each acquire all later ones.
NO_GAPS: Final = Gaps({})


class Releases:
    """The releases and acquires of one call, and the accesses that they order."""

    def __init__(self, bound: BoundCall) -> None:
        self._bound = bound
        self._roles = roles_of(bound.call.module).by_op
        self._accesses: dict[int, Access] = {}
        for access in bound.summary.accesses:
            self._accesses.setdefault(access.op.index, access)
        self._threads = Threads(bound.call)
        self._barriers = Barriers(bound)

    @cached_property
    def sure_gaps(self) -> Gaps:
        """The ops that are surely not ordered by a release."""
        return self._gaps(False)

    @cached_property
    def possible_gaps(self) -> Gaps:
        """The ops that may not be ordered by a release or acquire."""
        return self._gaps(None, False)

    def unordering_release(self, *ops_: Op) -> Op | None:
        """Return the first release that surely does not order one of the ops, else None."""
        unordered = self.sure_gaps.unordered
        indices = (
            release_index
            for release_index, unordered_ops in sorted(unordered.items())
            if any(op.index in unordered_ops for op in ops_)
        )
        index = next(indices, None)
        return None if index is None else self._roles[index].op

    def order(self, access: Op, release: Op) -> bool | None:
        """Return whether a release orders every access of its program by an op; None: unknown."""
        if access is release or self._is_of_first_thread(access, release):
            return True
        is_separated = self._barriers.hold_back(access, release)
        if not self._threads.compiled and self._barriers.are_around_releases:
            return True
        return (
            None
            if is_separated is False and self._may_be_one_thread(access, release)
            else is_separated
        )

    def _may_be_one_thread(self, access: Op, release: Op) -> bool:
        """Return whether one thread, or one warp in lockstep, may do both without a barrier."""
        lanes = self._threads_of(access).shape if access.index in self._accesses else ()
        is_small = not self._threads.compiled and prod(lanes) <= _MAX_LANES_PER_THREAD
        return self._threads.one_warp or is_small or not self._is_scalar(release)

    def orders_all_threads(self, acquire: Op) -> bool:
        """Return whether an acquire orders later accesses of all threads of its program."""
        if not self._is_scalar(acquire) or self._barriers.several_blocks:
            return False
        return not any(
            self._barriers.order.paths(acquire, role.op)
            and self._barriers.separate(acquire, role.op) is False
            and not self._is_scalar(role.op)
            for role in self._roles.values()
        )

    def _gaps(self, *answers: bool | None) -> Gaps:
        """Return the ops for which `order` gives one of `answers` (False: sure, None: unknown)."""
        releases = [role.op for role in self._roles.values() if role.releases]
        acquires = [role.op for role in self._roles.values() if role.acquires]
        unordered = {
            release.index: frozenset(
                index
                for index, role in self._roles.items()
                if any(self.order(role.op, release) is answer for answer in answers)
            )
            for release in releases
        }
        if None not in answers:
            return Gaps(unordered)
        return Gaps(
            unordered, frozenset(op.index for op in acquires if not self.orders_all_threads(op))
        )

    def _is_scalar(self, op: Op) -> bool:
        access = self._accesses.get(op.index)
        return access is not None and access.shape == ()

    def _is_of_first_thread(self, access: Op, release: Op) -> bool:
        """Return whether only the thread that releases does an access that matters."""
        if not self._is_scalar(release) or access.index not in self._accesses:
            return False
        threads = self._threads_of(access)
        if threads.is_scalar and threads.by_all:  # a load that each thread uses alone
            return stays_in_lane(access, self._bound.call, threads)
        if threads.by_all or not (threads.is_one or threads.layout is not None):
            return False
        return threads.is_one or (
            prod(threads.shape) <= _MAX_LANES_PER_THREAD
            and all(
                threads.warp_and_thread_at(lane) == (0, 0) for lane in np.ndindex(*threads.shape)
            )
        )

    def _threads_of(self, op: Op) -> OpThreads:
        return self._threads.of_access(self._accesses[op.index])


def releases_of(bound: BoundCall) -> Releases:
    """Return the releases of a call; cached."""
    releases: Releases | None = bound.memo.get(releases_of)
    if releases is None:
        releases = bound.memo[releases_of] = Releases(bound)
    return releases
