"""Releases and acquires of atomics, the accesses that they order, and locks.

In a critical section, one program at a time runs, under a lock. A section begins after a loop that
ends only when an atomic has changed a lock from open to shut, with acquire, and ends where an
atomic exchange stores the open value, with release. While a program is in a section, no other
program is in a section of the same lock, so accesses in the sections are ordered.

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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Final

import numpy as np
from msgspec import Struct

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.flow import called, constant_of, counter_of, deciding, enclosing_ops
from kvtrace.ir.model import attribute, once_per_module
from kvtrace.ir.ops import CALLS, KINDS, LOOPS, MEMORY, effect_of, operator_of
from kvtrace.ir.types import TensorType
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.prover.digits import Common, are_apart
from kvtrace.symbolic.summary import Access
from kvtrace.verdicts.binding import BoundCall, once_per_call
from kvtrace.verdicts.conflicts.barriers import Barriers, loops_around, may_be_pipelined
from kvtrace.verdicts.conflicts.parts import EXCHANGE, Roles, is_unmasked, roles_of, updates_by
from kvtrace.verdicts.conflicts.sharers import Sharer
from kvtrace.verdicts.conflicts.threads import OpThreads, Threads, stays_in_lane

#: Limit of lanes of a block that one thread may hold.
_MAX_LANES_PER_THREAD: Final = 8
#: By the index of a releasing op, the indices of the memory ops that it does not order.
UnorderedOps = Mapping[int, frozenset[int]]


class Gaps(Struct, frozen=True):
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

    def unordering_release(self, op: Op) -> Op | None:
        """Return the first release after an op that surely does not order it, or None."""
        for index, unordered in sorted(self.sure_gaps.unordered.items()):
            release = self._roles[index].op
            if op.index in unordered and self._barriers.order.paths(op, release):
                return release
        return None

    def order(self, access: Op, release: Op) -> bool | None:
        """Return whether a release orders every access of its program by an op; None: unknown."""
        if access is release or self._is_of_first_thread(access, release):
            return True
        if _is_tma(access):
            return None  # TMA's copy may end after the barrier, and a release does not wait for it
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
        if any(_is_tma(role.op) and role.kind == "load" for role in self._roles.values()):
            return False  # TMA reads after a fence of its own, which Triton does not emit
        if any(
            self._overtakes(loop) for op in self._with_calls(acquire) for loop in loops_around(op)
        ):
            return False
        return not any(
            self._barriers.order.paths(acquire, role.op)
            and self._barriers.separate(acquire, role.op) is False
            and not self._is_scalar(role.op)
            for role in self._roles.values()
        )

    def _with_calls(self, op: Op) -> Iterable[Op]:
        """Return an op, the calls of the function that it is in, the calls of theirs, and so on."""
        module, ops = self._bound.call.module, [op]
        for inner in ops:
            *_, function = enclosing_ops(inner)
            calls = (other for other in module.ops if other.name in CALLS)
            ops += [c for c in calls if called(c, module) is function and c not in ops]
        return ops

    def _overtakes(self, loop: Op) -> bool:
        """Return whether loads of a loop may be moved before acquires in it, by pipelining.

        Triton 3.7 pipelines no loop with a loop directly in its body, but moves loads of others
        over a wait in a branch, or in a function (its TTGIR).
        """
        has_inner = any(op.name in LOOPS for op in loop.regions[0].blocks[0].ops)
        return may_be_pipelined(self._bound.call, loop) and not has_inner

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


def _is_tma(op: Op) -> bool:
    """Return whether an op copies by a descriptor, in the asynchronous proxy of PTX."""
    return KINDS[op.name].has("descriptor")


@once_per_call
def releases_of(bound: BoundCall) -> Releases:
    """Return the releases of a call; cached."""
    return Releases(bound)


class Section(Struct, frozen=True):
    """A critical section: the lock's atomic, the unlocking op, and the indices of ops between."""

    shuts: Op
    opens: Op
    inside: frozenset[int]


@once_per_module
def sections_of(module: Module) -> tuple[Section, ...]:
    """Return the critical sections of a module, in the order of their ops."""
    return tuple(_sections(module))


def _sections(module: Module) -> Iterator[Section]:
    roles = roles_of(module)
    if not roles.synchronizes:
        return
    for op in module.ops:
        if op.name in LOOPS and counter_of(op) is None and op.block is not None:
            section = _section(op, op.block, roles)
            if section is not None:
                yield section


def _section(loop: Op, block: Block, roles: Roles) -> Section | None:
    shuts = only_atomic(loop)
    if shuts is None or not roles.by_op[shuts.index].acquires:
        return None
    open_and_shut = _lock_values(loop, shuts)
    if open_and_shut is None:
        return None
    inside: set[int] = set()
    for op in block.ops[block.ops.index(loop) + 1 :]:
        if _unlocks(op, shuts.operand("pointer"), open_and_shut[0], roles):
            return Section(shuts, op, frozenset(inside))
        inside.update(inner.index for inner in op.walk())
    return None


def only_atomic(loop: Op) -> Op | None:
    """Return a loop's scalar atomic if it is the loop's only memory op, else None."""
    memory_ops = [op for op in loop.walk() if op.name in MEMORY]
    if len(memory_ops) != 1 or effect_of(memory_ops[0]) != "atomic" or not memory_ops[0].results:
        return None
    if memory_ops[0].block is None or memory_ops[0].block.region is not loop.regions[0]:
        return None
    return None if isinstance(memory_ops[0].results[0].type, TensorType) else memory_ops[0]


def _lock_values(loop: Op, atomic: Op) -> tuple[float, float] | None:
    """Return the values of an open and a shut lock if the loop ends only by locking, else None."""
    open_value, shut_value = None, constant_of(atomic.operand("value"))
    if KINDS[atomic.name].has("expected"):
        open_value = constant_of(atomic.operand("expected"))
    elif not (updates_by(atomic, EXCHANGE) and is_unmasked(atomic)):
        return None
    (condition,) = deciding(loop)
    compare = condition.owner
    if not isinstance(compare, Op) or operator_of(compare) != "compare" or shut_value is None:
        return None
    left_value, right_value = compare.operand("left"), compare.operand("right")
    if left_value is not atomic.results[0]:
        left_value, right_value = right_value, left_value
    compared = constant_of(right_value)
    if left_value is not atomic.results[0] or not isinstance(compared, int):
        return None
    repeats_while_equal = attribute(compare, "predicate") == 0
    if repeats_while_equal and compared == shut_value:
        # A lock is assumed to be either open or shut.
        return (0 if open_value is None else open_value), shut_value
    if (
        attribute(compare, "predicate") == 1
        and open_value in (None, compared)
        and compared != shut_value
    ):
        return compared, shut_value
    return None


def _unlocks(op: Op, pointer: Value, open_value: float, roles: Roles) -> bool:
    """Return whether an op stores the open value to the lock, with release."""
    return (
        updates_by(op, EXCHANGE)
        and op.operand("pointer") is pointer
        and is_unmasked(op)
        and constant_of(op.operand("value")) == open_value
        and roles.by_op[op.index].releases
    )


class Exclusion:
    """The locks of one call, which keep accesses of programs apart."""

    def __init__(self, module: Module, sharers: Sequence[Sharer], releases: Releases) -> None:
        self._module = module
        self._sharers = sharers
        self._releases = releases

    def are_locked(self, left: Sharer, right: Sharer, common: Common) -> bool:
        """Return whether both accesses are in critical sections of the same lock.

        The lock's address must be equal wherever the two accesses meet.
        """
        sections = sections_of(self._module)
        for first in sections:
            if not self._is_within(left, first):
                continue
            for second in sections:
                if self._is_within(right, second) and self._have_same_lock(first, second, common):
                    return True
        return False

    def _is_within(self, sharer: Sharer, section: Section) -> bool:
        """Return whether all threads do an op while their program holds a section's lock."""
        return (
            sharer.role.op.index in section.inside
            and self._releases.orders_all_threads(section.shuts)
            and self._releases.order(sharer.role.op, section.opens) is True
        )

    def _have_same_lock(self, first: Section, second: Section, common: Common) -> bool:
        """Return whether two sections lock the same address wherever the accesses meet."""
        lock_accesses = [self._lock_access(section) for section in (first, second)]
        if (
            lock_accesses[0] is None
            or lock_accesses[1] is None
            or lock_accesses[0].storage is not lock_accesses[1].storage
        ):
            return False
        first_side, second_side = lock_accesses[0].exact, lock_accesses[1].exact
        if first_side is None or second_side is None or first_side.form != second_side.form:
            return False
        return common.is_form_equal_in_both(first_side.form)

    def _lock_access(self, section: Section) -> Sharer | None:
        """Return the access that locks a section; None if other ops may write the lock."""
        sections = sections_of(self._module)
        lock_ops = {
            op.index for lock_section in sections for op in (lock_section.shuts, lock_section.opens)
        }
        locking = [s for s in self._sharers if s.access.op is section.shuts]
        if len(locking) != 1 or locking[0].exact is None:
            return None
        for sharer in self._sharers:
            if sharer.storage not in (None, locking[0].storage) or not sharer.role.writes:
                continue
            if sharer.access.op.index in lock_ops:
                continue
            if sharer.exact is None or not are_apart(locking[0].exact, sharer.exact):
                return None
        return locking[0]
