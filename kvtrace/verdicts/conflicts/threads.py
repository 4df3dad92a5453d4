"""Threads of a program that execute the lanes of its memory ops, as far as they are known.

For a block whose layout was read from TTGIR, the lane determines the thread; if several threads
hold a lane, all of them load it and the first one stores it. A scalar is loaded by all threads and
stored by the first one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from kvtrace.ir.flow import flow_of, forward
from kvtrace.ir.ops import (
    ELEMENTWISE,
    POINTED,
    READING,
    SPREADING,
    computing,
    effect_of,
)
from kvtrace.recorded_calls.thread_layouts import BlockedLayout
from kvtrace.symbolic.functions import quotient, remainder
from kvtrace.symbolic.terms import ZERO, Term, lane

if TYPE_CHECKING:
    from kvtrace.ir import Op, Value
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.summary import Access

_IN_LANE: Final = ELEMENTWISE | SPREADING | computing("+")

Lane = tuple[int, ...]
Relation = Literal["apart", "one warp", "one thread", "one lane", "not known"]
"""The relation of the threads of two lanes; `apart`: in different warps, or in any two threads if
no layout was recorded."""


@dataclass(frozen=True)
class OpThreads:
    """The threads that execute a memory op; `layout` is None for scalars, and if it is not known.

    `by_all`: every thread executes the op, or (with a layout) several threads execute the same
    lane. `is_own`: likewise, but only the value that the first one loads is used, for its own
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
        """The op accesses one element: a scalar, or the only one of its block."""
        return prod(self.shape) == 1

    @property
    def is_known(self) -> bool:
        """The lanes determine the threads."""
        return self.is_scalar or self.layout is not None

    @property
    def number(self) -> Term:
        """The number of a lane in its block; 0 for a scalar."""
        number = ZERO
        for axis, extent in enumerate(self.shape):
            number = number * extent + lane(axis, extent)
        return number

    def places(self) -> tuple[Term, Term] | None:
        """Return the warp and the thread within it as terms of the lanes; None: not known."""
        if self.is_scalar:
            return ZERO, ZERO
        if self.layout is None:
            return None
        lanes = [lane(axis, extent) for axis, extent in enumerate(self.shape)]
        if self.layout.sliced is not None:
            lanes.insert(self.layout.sliced, ZERO)
        warp = thread = ZERO
        for axis in reversed(self.layout.order):
            within, among = self.layout.digits(axis)
            thread = thread * within[1] + remainder(quotient(lanes[axis], within[0]), within[1])
            warp = warp * among[1] + remainder(quotient(lanes[axis], among[0]), among[1])
        return warp, thread

    def place(self, at: Lane) -> tuple[int, int] | None:
        """Return the first warp and thread within it of a lane; None: not known."""
        places = self.places()
        if places is None:
            return None
        terms = (lane(axis, extent) for axis, extent in enumerate(self.shape))
        numbers = {
            atom: at[axis] for axis, term in enumerate(terms) for atom in term.atoms()
        }  # fmt: skip
        return places[0].value(numbers), places[1].value(numbers)


class Threads:
    """The threads of one call's programs."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.compiled = call.compiled is not None
        self.one_warp = call.warps == 1

    def of_access(self, access: Access) -> OpThreads:
        """Return the threads that execute an access."""
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

    def relation(self, one: OpThreads, at: Lane, other: OpThreads, other_at: Lane) -> Relation:
        """Return how the threads of two lanes, one of each op, are related."""
        if one.by_all or other.by_all:
            return "one warp" if self.one_warp or self._in_one_warp(one, other) else "apart"
        if not self.compiled:
            return self._by_lanes(one, at, other, other_at)
        warps_and_threads = one.place(at), other.place(other_at)
        if warps_and_threads[0] is None or warps_and_threads[1] is None:
            return "not known"
        if warps_and_threads[0] == warps_and_threads[1]:
            return "one thread"
        return "one warp" if warps_and_threads[0][0] == warps_and_threads[1][0] else "apart"

    def in_other_ctas(self, one: OpThreads, at: Lane, other: OpThreads, other_at: Lane) -> bool:
        """Return whether two lanes, one of each op, are surely of different CTAs of a program."""
        ctas = self._cta(one, at), self._cta(other, other_at)
        return None not in ctas and ctas[0] != ctas[1]

    def _cta(self, threads: OpThreads, at: Lane) -> Lane | None:
        """Return the coordinates of a lane's CTA among those of its program; None: not known."""
        compiled = self._call.compiled
        split = None if compiled is None else compiled.splits.get(threads.op.index)
        if split is None or len(split) != len(threads.shape):
            return None
        if any(extent % count for extent, count in zip(threads.shape, split, strict=True)):
            return None  # CTAs share what is too small to be split
        numbers = zip(at, threads.shape, split, strict=True)
        return tuple(index * count // extent for index, extent, count in numbers)

    @staticmethod
    def _in_one_warp(one: OpThreads, other: OpThreads) -> bool:
        """Return whether one warp holds all lanes of blocks whose elements all threads load."""
        blocks = [threads for threads in (one, other) if not threads.is_one]
        warps_and_threads = [threads.places() for threads in blocks]
        return bool(blocks) and all(
            threads is not None and threads[0] == ZERO for threads in warps_and_threads
        )

    def _by_lanes(self, one: OpThreads, at: Lane, other: OpThreads, other_at: Lane) -> Relation:
        numbers = [
            int(np.ravel_multi_index(lane_, threads.shape)) if threads.shape else 0
            for threads, lane_ in ((one, at), (other, other_at))
        ]
        if numbers[0] == numbers[1]:
            return "one lane" if one.shape == other.shape else "not known"
        return "one warp" if self.one_warp else "apart"


def same_threads(one: OpThreads, other: OpThreads) -> bool:
    """Return whether each lane has the same first thread in both ops, which have one shape."""
    if one.is_scalar or one.layout == other.layout:
        return True
    if one.layout is None or other.layout is None:
        return False
    return one.places() == other.places()


def stays_in_lane(load: Op, call: Call, threads: OpThreads) -> bool:
    """Return whether the loaded value is used only for what the thread itself stores in that lane.

    Then the values that other threads load from the same address do not matter.
    """
    flow = flow_of(call.module)
    leaves = False

    def onwards(op: Op, value: Value) -> tuple[Value, ...]:
        nonlocal leaves
        del value
        if op.name in _IN_LANE:
            same = all(
                _shape(operand) in (threads.shape, ()) for operand in (*op.operands, *op.results)
            )
            leaves = leaves or not same or (threads.is_scalar and any(map(_shape, op.results)))
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
    copied = any(flow.copies(operand) for op in call.module.ops for operand in op.results
                 if operand.id in values)  # fmt: skip
    return not leaves and not copied


def _shape(value: Value) -> tuple[int, ...]:
    return getattr(value.type, "shape", ())
