"""Threads of a program that execute the lanes of its memory ops, as far as known.

For a block whose layout was read from TTGIR, the lane determines the thread; if several threads
hold a lane, all of them load it and the first one stores it. A scalar is loaded by all threads and
stored by the first one.
"""

from __future__ import annotations

from collections.abc import Set
from math import prod
from typing import Final, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.ir import Op, Value
from kvtrace.ir.flow import deciding, enclosing_ops, flow_of, forward
from kvtrace.ir.ops import (
    BRANCHES,
    ELEMENTWISE,
    KINDS,
    LOOPS,
    POINTED,
    READING,
    SPREADING,
    Kind,
    computing,
    effect_of,
)
from kvtrace.recorded_calls.recorded import Call
from kvtrace.recorded_calls.thread_layouts import BlockedLayout
from kvtrace.symbolic.functions import quotient, remainder
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import ZERO, Term, lane

_LANEWISE_OPS: Final = ELEMENTWISE | SPREADING | computing("+")
#: Reason of a proof: of the threads that hold a loaded element, only the first ones store.
COPIES: Final = "values move to other warps through barriers alone, which the loads precede"
_LEAVING: Final = (None, Kind.CALL, Kind.JUMP, Kind.PARTITIONS, Kind.SHARED, Kind.REPORT)

Lane = tuple[int, ...]
Relation = Literal["apart", "one warp", "one thread", "one lane", "not known"]
"""The relation of the threads of two lanes; `apart`: in different warps, or in any two threads if
no layout was recorded."""


class OpThreads(Struct, frozen=True):
    """The threads that execute a memory op; `layout` is None for scalars and unknown layouts.

    `by_all`: every thread executes the op, or (with a layout) several threads do the same
    lane. `is_own`: likewise, but only the value loaded by the first thread is used, for its own
    store.
    """

    op: Op
    shape: tuple[int, ...]
    layout: BlockedLayout | None
    by_all: bool
    is_own: bool = False

    @property
    def is_scalar(self) -> bool:
        """The op accesses one element without a block; one thread stores it."""
        return self.shape == ()

    @property
    def is_one(self) -> bool:
        """The op accesses one element: a scalar, or the only element of its block."""
        return prod(self.shape) == 1

    @property
    def is_known(self) -> bool:
        """The lane determines the thread."""
        return self.is_scalar or self.layout is not None

    @property
    def number(self) -> Term:
        """The number of a lane in its block, as a term of the lane symbols; 0 for a scalar."""
        number = ZERO
        for axis, extent in enumerate(self.shape):
            number = number * extent + lane(axis, extent)
        return number

    def warp_and_thread(self) -> tuple[Term, Term] | None:
        """Return the warp and the thread within it as terms of the lanes, None if unknown."""
        if self.is_scalar:
            return ZERO, ZERO
        if self.layout is None:
            return None
        lanes = [lane(axis, extent) for axis, extent in enumerate(self.shape)]
        if self.layout.sliced is not None:
            lanes.insert(self.layout.sliced, ZERO)
        warp = thread = ZERO
        for axis in reversed(self.layout.order):
            thread_digits, warp_digits = self.layout.digits(axis)
            thread = thread * thread_digits[1] + remainder(
                quotient(lanes[axis], thread_digits[0]), thread_digits[1]
            )
            warp = warp * warp_digits[1] + remainder(
                quotient(lanes[axis], warp_digits[0]), warp_digits[1]
            )
        return warp, thread

    def warp_and_thread_at(self, lane_: Lane) -> tuple[int, int] | None:
        """Return the warp and thread that first hold a lane, None if unknown."""
        warp_and_thread = self.warp_and_thread()
        if warp_and_thread is None:
            return None
        terms = (lane(axis, extent) for axis, extent in enumerate(self.shape))
        lane_values = {
            atom: lane_[axis] for axis, term in enumerate(terms) for atom in term.atoms()
        }  # fmt: skip
        return warp_and_thread[0].value(lane_values), warp_and_thread[1].value(lane_values)


class Threads:
    """The threads that execute the memory ops of one call."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.compiled = call.compiled is not None
        self.one_warp = call.warps == 1

    def of_access(self, access: Access) -> OpThreads:
        """Return the threads that execute an access, by the layout of the compiled code."""
        layout = self._call.layouts.get(access.op.index)
        if layout is not None and not layout.fits(access.shape):
            layout = None
        loads = access.kind == "load"
        is_repeated = (
            prod(access.shape) == 1 if layout is None else layout.is_repeated(access.shape)
        )
        threads = OpThreads(access.op, access.shape, layout, loads and is_repeated)
        is_own = threads.by_all and stays_in_lane(access.op, self._call, threads)
        return replace(threads, by_all=False, is_own=True) if is_own else threads

    def keep(self, load: Access, store: Access) -> bool:
        """Return whether a store changes no value of a load before it that any thread uses.

        Both are in equal lanes and trips, and several threads may load the same lane.
        """
        if (load.kind, store.kind) != ("load", "store") or load.calls or store.calls:
            return False
        return stays_in_copies(load.op, store.op, self._call, self.of_access(load))

    def relation(
        self, left: OpThreads, left_lane: Lane, right: OpThreads, right_lane: Lane
    ) -> Relation:
        """Return the relation of the threads of two lanes, one of each op."""
        if left.by_all or right.by_all:
            return "one warp" if self.one_warp or self._in_one_warp(left, right) else "apart"
        if not self.compiled:
            return self._relation_without_layout(left, left_lane, right, right_lane)
        warps_and_threads = left.warp_and_thread_at(left_lane), right.warp_and_thread_at(right_lane)
        if warps_and_threads[0] is None or warps_and_threads[1] is None:
            return "not known"
        if warps_and_threads[0] == warps_and_threads[1]:
            return "one thread"
        return "one warp" if warps_and_threads[0][0] == warps_and_threads[1][0] else "apart"

    def in_other_ctas(
        self, left: OpThreads, left_lane: Lane, right: OpThreads, right_lane: Lane
    ) -> bool:
        """Return whether two lanes, one of each op, are surely in different CTAs."""
        ctas = self._cta(left, left_lane), self._cta(right, right_lane)
        return None not in ctas and ctas[0] != ctas[1]

    def _cta(self, threads: OpThreads, lane_: Lane) -> Lane | None:
        """Return the coordinates of a lane's CTA in its program, None if unknown."""
        compiled = self._call.compiled
        cta_counts = None if compiled is None else compiled.splits.get(threads.op.index)
        if cta_counts is None or len(cta_counts) != len(threads.shape):
            return None
        if any(extent % count for extent, count in zip(threads.shape, cta_counts, strict=True)):
            return None  # several CTAs hold each element
        axes = zip(lane_, threads.shape, cta_counts, strict=True)
        return tuple(index * count // extent for index, extent, count in axes)

    @staticmethod
    def _in_one_warp(left: OpThreads, right: OpThreads) -> bool:
        """Return whether one warp holds all lanes of the blocks that every thread loads."""
        blocks = [threads for threads in (left, right) if not threads.is_one]
        warps_and_threads = [threads.warp_and_thread() for threads in blocks]
        return bool(blocks) and all(
            threads is not None and threads[0] == ZERO for threads in warps_and_threads
        )

    def _relation_without_layout(
        self, left: OpThreads, left_lane: Lane, right: OpThreads, right_lane: Lane
    ) -> Relation:
        lane_numbers = [
            int(np.ravel_multi_index(lane_, threads.shape)) if threads.shape else 0
            for threads, lane_ in ((left, left_lane), (right, right_lane))
        ]
        if lane_numbers[0] == lane_numbers[1]:
            return "one lane" if left.shape == right.shape else "not known"
        return "one warp" if self.one_warp else "apart"


def same_threads(left: OpThreads, right: OpThreads) -> bool:
    """Return whether two ops of one shape have the same first thread for each lane."""
    if left.is_scalar or left.layout == right.layout:
        return True
    if left.layout is None or right.layout is None:
        return False
    return left.warp_and_thread() == right.warp_and_thread()


def stays_in_lane(load: Op, call: Call, threads: OpThreads) -> bool:
    """Return whether a loaded value is only used for what its own thread stores in its lane.

    The values that other threads load from the same address then do not matter. A loop hands a
    scalar on to the next trip of the same thread. It may decide whether that thread stores scalars.
    """
    flow = flow_of(call.module)
    leaves = False

    def onwards(op: Op, value: Value) -> tuple[Value, ...]:
        nonlocal leaves
        if threads.is_scalar and op.name in BRANCHES and _is_of_one_thread(op):
            return ()
        if threads.is_scalar and (op.name in LOOPS or _ends_trip(op)):
            leaves = leaves or value in deciding(op)
            return ()
        if op.name in _LANEWISE_OPS:
            same_shape = all(
                _shape(operand) in (threads.shape, ()) for operand in (*op.operands, *op.results)
            )
            leaves = (
                leaves or not same_shape or (threads.is_scalar and any(map(_shape, op.results)))
            )
            return op.results
        is_own_store = op.name in POINTED and _shape(op.operand("pointer")) == threads.shape
        if is_own_store and effect_of(op) != "load" and not threads.is_scalar:
            layout = call.layouts.get(op.index)
            is_own_store = op.name not in READING and (
                layout == threads.layout or call.compiled is None
            )
        leaves = leaves or not is_own_store
        return op.results if effect_of(op) == "load" else ()

    values = forward(flow, load.results, onwards)
    if threads.is_scalar:
        return not leaves
    is_copied = any(flow.copies(operand) for op in call.module.ops for operand in op.results
                 if operand.id in values)  # fmt: skip
    return not leaves and not is_copied


def _is_of_one_thread(branch: Op) -> bool:
    """Return whether a branch matters to the thread alone that stores scalars."""
    inner = [op for op in branch.walk() if op is not branch]
    return not branch.results and all(
        not any(map(_shape, (*op.operands, *op.results)))
        and (op.name in _LANEWISE_OPS or effect_of(op) == "store" or _ends_trip(op))
        for op in inner
    )


def _ends_trip(op: Op) -> bool:
    """Return whether an op hands values on to a loop's next trip, or past a branch."""
    row, parent = KINDS.get(op.name), op.parent
    is_inside = parent is not None and parent.name in LOOPS | BRANCHES
    return is_inside and row is not None and row.kind is Kind.END


def stays_in_copies(load: Op, store: Op, call: Call, threads: OpThreads) -> bool:
    """Return whether a store leaves what all stores use of a repeatedly loaded block as it is.

    Each element is in several warps, of which the first one stores it. What a later warp loads
    after that store is wrong, but gets into the first warps through shared memory alone, with a
    barrier that the load precedes. So no op that moves values between lanes may follow the store.
    Example: `p` is loaded, summed over a row and stored, scaled; each warp sums its own copy.

    Args:
        load: the load, of which several threads hold the same lane.
        store: a store to the same elements, in equal lanes and trips.
        call: the call, with the layouts of the compiled code.
        threads: the threads of the load.

    """
    layout = threads.layout
    if layout is None or call.ctas not in (None, 1) or call.layouts.get(store.index) != layout:
        return False
    loops, load_loops = _loops_around(store), _loops_around(load)
    carried = {
        argument.id
        for loop in loops
        for region in loop.regions
        for block in region.blocks
        for argument in block.arguments
    }
    may_follow_store = False

    def onwards(op: Op, value: Value) -> tuple[Value, ...]:
        nonlocal may_follow_store
        kind, effect = KINDS[op.name].kind if op.name in KINDS else None, effect_of(op)
        if value in deciding(op) or kind in _LEAVING:
            may_follow_store = True
        elif kind in (Kind.LOOP, Kind.BRANCH, Kind.END):
            return ()
        elif effect is not None:
            stored = effect == "store" and _is_stored_by_first(op, call, threads)
            may_follow_store |= not stored and not (effect == "load" and op.name in POINTED)
        elif op.name not in _LANEWISE_OPS or any(
            _shape(operand) not in (threads.shape, ()) for operand in (*op.operands, *op.results)
        ):
            may_follow_store |= not _precedes(op, store, loops - load_loops)
        return op.results

    reached = forward(flow_of(call.module), load.results, onwards)
    has_jumps = any(op.successors for op in call.module.ops)
    return not (may_follow_store or has_jumps or reached & carried)


def _is_stored_by_first(op: Op, call: Call, threads: OpThreads) -> bool:
    """Return whether a store is done by threads that are the first to hold their loaded lanes."""
    layout = call.layouts.get(op.index)
    if op.name not in POINTED or layout is None:
        return op.name in POINTED and _shape(op.operand("pointer")) == ()
    return threads.layout in (layout, replace(layout, sliced=None))


def _precedes(op: Op, store: Op, loops: Set[Op]) -> bool:
    """Return whether an op runs before a store; in `loops` around both in each trip."""
    blocks, block = set(), store.block
    while block is not None:
        blocks.add(block)
        block = block.region.owner.block
    return op.index < store.index and (op.block in blocks or not loops & _loops_around(op))


def _loops_around(op: Op) -> Set[Op]:
    return {parent for parent in enclosing_ops(op) if parent.name in LOOPS}


def _shape(value: Value) -> tuple[int, ...]:
    return getattr(value.type, "shape", ())
