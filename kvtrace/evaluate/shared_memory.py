"""The memory that a program's threads share, and what is in flight in it.

A buffer is one allocation, of all programs that run at once. What a copy brings is there from the
wait for it on, as late as a device may bring it; until then the buffer has what it had. What
reads before that, or writes what a product may still be reading, is a fault of the compiler's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.errors import Deadlock, UnsupportedOp
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import (
    Array,
    SharedView,
    Unknown,
    to_array,
)
from kvtrace.ir import Op
from kvtrace.schema.cached_property import cached_property

READS_EARLY: Final = "reads what a copy may not have brought yet"
WRITES_EARLY: Final = "writes what a product may still be reading"


class Buffer:
    """One allocation: of each program its elements, one after the other.

    `planes` are the numbers and what goes beside them; `arriving` and `read` count, for each
    element, the copies in flight to it and the products that may still read it.
    """

    __slots__ = ("arriving", "planes", "read", "type", "unknown")

    def __init__(self, type_: ValueType, planes: list[Array]) -> None:
        self.type = type_
        self.planes = planes
        self.arriving: Array = np.zeros(len(planes[0]), np.uint16)
        self.read: Array = np.zeros(len(planes[0]), np.uint16)
        self.unknown: Unknown | None = None


@dataclass(eq=False)
class _UnderWay:
    """Copies, or reads, that a wait ends: `until` is its number, or its barrier, by program."""

    views: Sequence[SharedView]
    planes: Sequence[Array]
    programs: Array
    until: Array
    barriers: Buffer | None = None

    def part(self, rows: Array) -> _UnderWay:
        """Return what is of some of its programs."""
        return _UnderWay(
            [select_rows(view, rows) for view in self.views],
            [each if each.shape[0] == 1 else each[rows] for each in self.planes],
            self.programs[rows],
            self.until[rows],
            self.barriers,
        )


def select_rows(view: SharedView, rows: Array) -> SharedView:
    """Return what some of a view's programs see."""
    return SharedView(view.buffer, view.start[rows], view.lanes)


class SharedMemory:
    """The shared memory of one launch; `faults` says what in it comes too early."""

    def __init__(self, programs: int) -> None:
        self.faults: dict[str, None] = {}
        self._copies: list[_UnderWay] = []
        self._reads: list[_UnderWay] = []
        self._programs = programs
        self._unknown: Unknown | None = None
        self._complete = True

    @cached_property
    def _groups(self) -> NDArray[np.int64]:
        """How many groups of copies each program has closed."""
        return np.zeros(self._programs, np.int64)

    @cached_property
    def _products(self) -> NDArray[np.int64]:
        """How many products that nobody waits for each program has begun."""
        return np.zeros(self._programs, np.int64)

    # -- contents --------------------------------------------------------------------------------

    def allocate(self, scope: Scope, type_: ValueType) -> SharedView:
        """Make a buffer for the programs of a scope, in which nothing has been written."""
        places = np.arange(type_.size).reshape(type_.shape)
        buffer = Buffer(type_, self._empty(scope.programs * type_.size, type_))
        return SharedView(buffer, np.arange(scope.programs) * type_.size, places)

    def read(self, op: Op, view: Any) -> Any:
        """Return what a view holds."""
        unknown = self._unknown_in(view)
        if unknown is not None:
            return unknown
        places = view.places
        early = view.buffer.arriving[places] > 0
        if early.any():
            self._note(op, READS_EARLY)
        return self._joined([plane[places] for plane in view.buffer.planes], early)

    def given(self, op: Op, value: Any) -> Any:
        """Return what an operand holds that may be in shared memory, or a tensor."""
        return self.read(op, value) if isinstance(value, SharedView) else value

    def write(self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType) -> None:
        """Write a tensor to a view."""
        if self._lost(scope, view, value):
            return
        places = view.places
        self._see_that_nobody_reads(op, view, places)
        for plane, given in zip(view.buffer.planes, self._planes(value, type_), strict=True):
            plane[places] = given

    def forget(self, view: Any) -> None:
        """Take note that what a view holds is of no use any more."""
        if isinstance(view, SharedView):
            for plane, empty in zip(
                view.buffer.planes, self._empty(1, view.buffer.type), strict=True
            ):
                plane[view.places] = empty

    def _empty(self, count: int, type_: ValueType) -> list[Array]:
        """Return the planes of so many elements that nobody has written."""
        return [np.zeros(count, type_.element.value)]

    def _planes(self, value: Any, type_: ValueType) -> list[Array]:
        return [to_array(value, type_)]

    def _joined(self, planes: list[Array], early: Array) -> Any:
        """Return the value of which these are the planes; of `early` ones it may be another."""
        del early
        return planes[0]

    def _lost(self, scope: Scope, view: Any, value: Any) -> bool:
        """Note a write of which not all is known."""
        unknown = next((each for each in (view, value) if isinstance(each, Unknown)), None)
        if unknown is None and not scope.certain:
            unknown = Unknown(frozenset({scope.reason}))
        if unknown is None:
            return False
        self._complete = False
        if isinstance(view, SharedView):
            view.buffer.unknown = unknown
        else:
            self._unknown = unknown
        return True

    def _unknown_in(self, view: Any) -> Unknown | None:
        if isinstance(view, Unknown):
            return view
        if not isinstance(view, SharedView):
            raise UnsupportedOp(f"a {type(view).__name__} where shared memory was expected")
        found: Unknown | None = view.buffer.unknown
        return self._unknown if found is None else found

    def _see_that_nobody_reads(self, op: Op, view: SharedView, places: Array) -> None:
        if view.buffer.read[places].any():
            self._note(op, WRITES_EARLY)

    def _note(self, op: Op, fault: str) -> None:
        self.faults[f"{op.name} at {place(op)} {fault}"] = None

    # -- copies ----------------------------------------------------------------------------------

    def copy(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, barrier: Any = None
    ) -> None:
        """Begin a copy, which its group, or a barrier, is waited for."""
        if self._lost(scope, view, value):
            return
        places = view.places
        self._see_that_nobody_reads(op, view, places)
        view.buffer.arriving[places] += 1
        until, barriers = self._groups[scope.linear] + 1, None
        if barrier is not None:
            until, barriers = _places_of(barrier), barrier.buffer
        planes = self._planes(value, type_)
        self._copies.append(_UnderWay([view], planes, scope.linear, until, barriers))

    def commit(self, scope: Scope) -> None:
        """Close a group of copies."""
        self._groups[scope.linear] += 1

    def wait(self, scope: Scope, left: int) -> None:
        """Have all groups of copies but the last ones land."""
        ended = self._groups - left
        self._copies = _ended(
            self._copies,
            lambda each: (
                each.barriers is None and _in(each, scope) & (each.until <= ended[each.programs])
            ),
            _land,
        )

    def begin_phases(self, scope: Scope, barrier: Any) -> None:
        """Make a barrier new: none of its phases is over."""
        if not self._lost(scope, barrier, None):
            barrier.buffer.planes[0][_places_of(barrier)] = 0

    def wait_for_phase(self, op: Op, scope: Scope, barrier: Any, parity: Any, active: Any) -> None:
        """Have what a phase of a barrier is about land, unless the phase is over."""
        if self._lost(scope, barrier, parity) or self._lost(scope, barrier, active):
            return
        phases, places = barrier.buffer.planes[0], _places_of(barrier)
        due = ((phases[places] & 1) == parity) & active
        landed: list[Array] = []

        def land(each: _UnderWay) -> None:
            landed.append(each.until)
            _land(each)

        self._copies = _ended(
            self._copies,
            lambda each: each.barriers is barrier.buffer and np.isin(each.until, places[due]),
            land,
        )
        arrived = np.concatenate([*landed, np.zeros(0, np.int64)])
        if self._complete and not np.isin(places[due], arrived).all():
            raise Deadlock(
                f"{op.name} at {place(op)} in kernel {scope.launch.kernel!r} waits forever: no "
                "copy in flight completes its barrier"
            )
        phases[places[due]] += 1

    # -- asynchronous products ------------------------------------------------------------------

    def begin_reads(self, scope: Scope, views: Sequence[SharedView]) -> None:
        """Take note that a product reads views until it is waited for."""
        self._products[scope.linear] += 1
        for view in views:
            view.buffer.read[view.places] += 1
        self._reads.append(_UnderWay(views, (), scope.linear, self._products[scope.linear]))

    def end_reads(self, scope: Scope, left: int) -> None:
        """End the reads of all products but the last ones."""
        ended = self._products - left
        self._reads = _ended(
            self._reads,
            lambda each: _in(each, scope) & (each.until <= ended[each.programs]),
            _release,
        )


def _places_of(barrier: SharedView) -> Array:
    places: Array = barrier.places.reshape(len(barrier.start))
    return places


def _in(each: _UnderWay, scope: Scope) -> Array:
    if each.programs is scope.linear:
        return np.ones(len(each.programs), np.bool_)
    return np.isin(each.programs, scope.linear)


def _ended(
    waiting: list[_UnderWay], over: Callable[[_UnderWay], Any], end: Callable[[_UnderWay], None]
) -> list[_UnderWay]:
    """End those that are over, of some programs or of all; return what is left."""
    left = []
    for each in waiting:
        rows = np.broadcast_to(over(each), (len(each.programs),))
        if rows.all():
            end(each)
        elif rows.any():
            end(each.part(np.flatnonzero(rows)))
            left.append(each.part(np.flatnonzero(~rows)))
        else:
            left.append(each)
    return left


def _land(copy: _UnderWay) -> None:
    (view,) = copy.views
    places = view.places
    view.buffer.arriving[places] -= 1
    for plane, given in zip(view.buffer.planes, copy.planes, strict=True):
        plane[places] = given


def _release(read: _UnderWay) -> None:
    for view in read.views:
        view.buffer.read[view.places] -= 1
