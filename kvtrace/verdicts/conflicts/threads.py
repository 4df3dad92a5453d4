"""Which thread of a program does what a lane of a memory op says, as far as it is known.

Of a block whose layout was read from TTGIR the thread follows from the lane; where several threads
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
"""What is known of the threads of two lanes: `apart` is in different warps, or in any two threads
where no layout was recorded."""


@dataclass(frozen=True)
class Doing:
    """Who does a memory op: `layout` is None of scalars, and where it is not known.

    `by_all`: every thread does it, or (of a layout) several threads do what one lane says.
    `is_own`: they do, but only what the first one loads is used, for what it stores itself.
    """

    op: Op
    shape: tuple[int, ...]
    layout: BlockedLayout | None
    by_all: bool
    is_own: bool = False

    @property
    def is_scalar(self) -> bool:
        """Whether it is one element, which one thread stores."""
        return self.shape == ()

    @property
    def is_one(self) -> bool:
        """Whether it is one element, alone in its block if it has one."""
        return prod(self.shape) == 1

    @property
    def is_known(self) -> bool:
        """Whether the threads follow from the lanes."""
        return self.is_scalar or self.layout is not None

    @property
    def number(self) -> Term:
        """The number of a lane in its block; a scalar's is 0."""
        number = ZERO
        for axis, extent in enumerate(self.shape):
            number = number * extent + lane(axis, extent)
        return number

    def places(self) -> tuple[Term, Term] | None:
        """Return the warp, and the thread in it, as terms of the lanes; None: not known."""
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
        """Return the warp and the thread in it of a lane, the first where there are several."""
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

    def doing(self, access: Access) -> Doing:
        """Return who does an access."""
        layout = self._call.layouts.get(access.op.index)
        if layout is not None and not layout.fits(access.shape):
            layout = None
        loads = access.kind == "load"
        several = prod(access.shape) == 1 if layout is None else layout.is_repeated(access.shape)
        doing = Doing(access.op, access.shape, layout, loads and several)
        is_own = doing.by_all and stays_in_lane(access.op, self._call, doing)
        return replace(doing, by_all=False, is_own=True) if is_own else doing

    def relation(self, one: Doing, at: Lane, other: Doing, other_at: Lane) -> Relation:
        """Return what is known of the threads of two lanes, one of each op."""
        if one.by_all or other.by_all:
            return "one warp" if self.one_warp or self._in_one_warp(one, other) else "apart"
        if not self.compiled:
            return self._by_lanes(one, at, other, other_at)
        places = one.place(at), other.place(other_at)
        if places[0] is None or places[1] is None:
            return "not known"
        if places[0] == places[1]:
            return "one thread"
        return "one warp" if places[0][0] == places[1][0] else "apart"

    def in_other_ctas(self, one: Doing, at: Lane, other: Doing, other_at: Lane) -> bool:
        """Tell whether two lanes, one of each op, are surely of different CTAs of a program."""
        found = self._cta(one, at), self._cta(other, other_at)
        return None not in found and found[0] != found[1]

    def _cta(self, doing: Doing, at: Lane) -> Lane | None:
        """Return the place of a lane's CTA among those of its program; None: not known."""
        compiled = self._call.compiled
        split = None if compiled is None else compiled.splits.get(doing.op.index)
        if split is None or len(split) != len(doing.shape):
            return None
        if any(extent % count for extent, count in zip(doing.shape, split, strict=True)):
            return None  # CTAs share what is too small to be split
        numbers = zip(at, doing.shape, split, strict=True)
        return tuple(index * count // extent for index, extent, count in numbers)

    @staticmethod
    def _in_one_warp(one: Doing, other: Doing) -> bool:
        """Whether one warp holds all lanes of a block of which all threads load an element."""
        blocks = [each for each in (one, other) if not each.is_one]
        places = [each.places() for each in blocks]
        return bool(blocks) and all(each is not None and each[0] == ZERO for each in places)

    def _by_lanes(self, one: Doing, at: Lane, other: Doing, other_at: Lane) -> Relation:
        numbers = [
            int(np.ravel_multi_index(lane_, each.shape)) if each.shape else 0
            for each, lane_ in ((one, at), (other, other_at))
        ]
        if numbers[0] == numbers[1]:
            return "one lane" if one.shape == other.shape else "not known"
        return "one warp" if self.one_warp else "apart"


def same_threads(one: Doing, other: Doing) -> bool:
    """Whether the first thread of each lane is the same in both, which have one shape."""
    if one.is_scalar or one.layout == other.layout:
        return True
    if one.layout is None or other.layout is None:
        return False
    return one.places() == other.places()


def stays_in_lane(load: Op, call: Call, doing: Doing) -> bool:
    """Whether what a thread loads is used for nothing but what it stores itself in that lane.

    Then it does not matter what other threads find that load the same.
    """
    flow = flow_of(call.module)
    leaves = False

    def onwards(op: Op, value: Value) -> tuple[Value, ...]:
        nonlocal leaves
        del value
        if op.name in _IN_LANE:
            same = all(_shape(each) in (doing.shape, ()) for each in (*op.operands, *op.results))
            leaves = leaves or not same or (doing.is_scalar and any(map(_shape, op.results)))
            return op.results
        mine = op.name in POINTED and _shape(op.operand("pointer")) == doing.shape
        if mine and effect_of(op) != "load" and not doing.is_scalar:
            layout = call.layouts.get(op.index)
            mine = op.name not in READING and (layout == doing.layout or call.compiled is None)
        leaves = leaves or not mine
        return op.results if effect_of(op) == "load" else ()

    values = forward(flow, load.results, onwards)
    copied = any(flow.copies(each) for op in call.module.ops for each in op.results
                 if each.id in values)  # fmt: skip
    return not leaves and not copied


def _shape(value: Value) -> tuple[int, ...]:
    return getattr(value.type, "shape", ())
