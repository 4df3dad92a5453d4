"""Shared memory of programs, and the copies and reads in flight in it.

A buffer is one allocation, for all programs that run at once. The elements of an asynchronous copy
arrive at the wait for the copy, as late as on any device; until then the buffer keeps its old
contents. An op that reads earlier, or that writes elements which a product may still read, shows a
defect of the compiler.
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

READS_EARLY: Final = "reads elements that a copy in flight may not have written yet"
WRITES_EARLY: Final = "writes elements that an asynchronous product may still read"


class Buffer:
    """One allocation: each program's elements, one program after the other.

    `planes` are arrays of numbers (one, or more with shadows). For each element, `arriving` counts
    the copies in flight to the element, and `read` the products that may still read it.
    """

    __slots__ = ("arriving", "planes", "read", "type", "unknown")

    def __init__(self, type_: ValueType, planes: list[Array]) -> None:
        self.type = type_
        self.planes = planes
        self.arriving: Array = np.zeros(len(planes[0]), np.uint16)
        self.read: Array = np.zeros(len(planes[0]), np.uint16)
        self.unknown: Unknown | None = None


@dataclass(eq=False)
class _Transfer:
    """Copies or reads in flight, until each program's wait for `until`: a group or a barrier."""

    views: Sequence[SharedView]
    planes: Sequence[Array]
    programs: Array
    until: Array
    barriers: Buffer | None = None

    def part(self, rows: Array) -> _Transfer:
        """Return the transfer of the programs at `rows`."""
        return _Transfer(
            [select_rows(view, rows) for view in self.views],
            [plane if plane.shape[0] == 1 else plane[rows] for plane in self.planes],
            self.programs[rows],
            self.until[rows],
            self.barriers,
        )


def select_rows(view: SharedView, rows: Array) -> SharedView:
    """Return a view restricted to the programs at `rows`."""
    return SharedView(view.buffer, view.start[rows], view.lanes)


class SharedMemory:
    """The shared memory of one launch; `faults` has a message per op that ran too early."""

    def __init__(self, programs: int) -> None:
        self.faults: dict[str, None] = {}
        self._copies: list[_Transfer] = []
        self._reads: list[_Transfer] = []
        self._programs = programs
        self._unknown: Unknown | None = None
        self._complete = True

    @cached_property
    def _closed_groups(self) -> NDArray[np.int64]:
        return np.zeros(self._programs, np.int64)

    @cached_property
    def _begun_products(self) -> NDArray[np.int64]:
        return np.zeros(self._programs, np.int64)

    # -- contents --------------------------------------------------------------------------------

    def allocate(self, scope: Scope, type_: ValueType) -> SharedView:
        """Return new, unwritten buffers, one for each program of a scope, as one view."""
        places = np.arange(type_.size).reshape(type_.shape)
        buffer = Buffer(type_, self._unwritten_planes(scope.programs * type_.size, type_))
        return SharedView(buffer, np.arange(scope.programs) * type_.size, places)

    def read(self, op: Op, view: Any, kind: str = "") -> Any:
        """Return a view's contents, or Unknown; note a fault if a copy is still in flight.

        `kind` is that of an operation in flight that reads, which only clocks distinguish.
        """
        del kind
        unknown = self._unknown_in(view)
        if unknown is not None:
            return unknown
        places = view.places
        early = view.buffer.arriving[places] > 0
        if early.any():
            self._note(op, READS_EARLY)
        return self._joined([plane[places] for plane in view.buffer.planes], early)

    def contents_of(self, op: Op, value: Any) -> Any:
        """Return the contents of an operand in shared memory; return others unchanged."""
        return self.read(op, value) if isinstance(value, SharedView) else value

    def write(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, kind: str = ""
    ) -> None:
        """Write a tensor to a view; note a fault if a product may still read the view."""
        del kind
        if self._note_unknown_write(scope, view, value):
            return
        places = view.places
        self._check_reads(op, view, places)
        for plane, stored in zip(view.buffer.planes, self._planes(value, type_), strict=True):
            plane[places] = stored

    def forget(self, view: Any) -> None:
        """Reset the contents of a view that is no longer used."""
        if isinstance(view, SharedView):
            for plane, empty in zip(
                view.buffer.planes, self._unwritten_planes(1, view.buffer.type), strict=True
            ):
                plane[view.places] = empty

    def _unwritten_planes(self, count: int, type_: ValueType) -> list[Array]:
        return [np.zeros(count, type_.element.value)]

    def _planes(self, value: Any, type_: ValueType) -> list[Array]:
        return [to_array(value, type_)]

    def _joined(self, planes: list[Array], early: Array) -> Any:
        """Return the value with these planes; a copy may still change `early` elements."""
        del early
        return planes[0]

    def _note_unknown_write(self, scope: Scope, view: Any, value: Any) -> bool:
        """Return whether a write is unknown; if so, its buffer, or all memory, becomes unknown."""
        unknown = next((item for item in (view, value) if isinstance(item, Unknown)), None)
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
            raise UnsupportedOp(
                f"shared memory is needed, but the value is a {type(view).__name__}"
            )
        unknown: Unknown | None = view.buffer.unknown
        return self._unknown if unknown is None else unknown

    def _check_reads(self, op: Op, view: SharedView, places: Array) -> None:
        if view.buffer.read[places].any():
            self._note(op, WRITES_EARLY)

    def _note(self, op: Op, fault: str) -> None:
        self.faults[f"{op.name} at {place(op)} {fault}"] = None

    # -- copies ----------------------------------------------------------------------------------

    def copy(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, barrier: Any = None,
        kind: str = "copies",
    ) -> None:  # fmt: skip
        """Begin a copy to a view, which arrives at the wait for its group or barrier.

        `kind` is that of a group, which only clocks distinguish: other programs have one kind.
        """
        del kind
        if self._note_unknown_write(scope, view, value):
            return
        places = view.places
        self._check_reads(op, view, places)
        view.buffer.arriving[places] += 1
        until, barriers = self._closed_groups[scope.linear] + 1, None
        if barrier is not None:
            until, barriers = _barrier_index(barrier), barrier.buffer
        planes = self._planes(value, type_)
        self._copies.append(_Transfer([view], planes, scope.linear, until, barriers))

    def commit(self, scope: Scope, kind: str = "copies") -> None:
        """Close the current group of copies of the scope's programs."""
        del kind
        self._closed_groups[scope.linear] += 1

    def wait(self, scope: Scope, most_in_flight: int, kind: str = "copies") -> None:
        """Complete the copies of all groups but the last `most_in_flight`."""
        del kind
        ended = self._closed_groups - most_in_flight
        self._copies = _end_transfers(
            self._copies,
            lambda copy: (
                copy.barriers is None
                and _in_scope(copy, scope) & (copy.until <= ended[copy.programs])
            ),
            _complete_copy,
        )

    def begin_phases(self, scope: Scope, barrier: Any, count: int = 1) -> None:
        """Reset a barrier to phase 0; only programs with clocks count arrivals."""
        del count
        if not self._note_unknown_write(scope, barrier, None):
            barrier.buffer.planes[0][_barrier_index(barrier)] = 0

    def wait_for_phase(self, op: Op, scope: Scope, barrier: Any, parity: Any, active: Any) -> None:
        """Complete the copies of a barrier's current phase, if the phase has this parity.

        Only programs where `active` is true do. Raises Deadlock if no copy in flight arrives at the
        barrier.
        """
        if self._note_unknown_write(scope, barrier, parity) or self._note_unknown_write(
            scope, barrier, active
        ):
            return
        phases, places = barrier.buffer.planes[0], _barrier_index(barrier)
        due = ((phases[places] & 1) == parity) & active
        landed: list[Array] = []

        def land(copy: _Transfer) -> None:
            landed.append(copy.until)
            _complete_copy(copy)

        self._copies = _end_transfers(
            self._copies,
            lambda copy: copy.barriers is barrier.buffer and np.isin(copy.until, places[due]),
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

    def read_to_store(self, op: Op, scope: Scope, view: Any, kind: str = "stores") -> Any:
        """Return a view's contents, which a copy to global memory reads until the wait for it."""
        if kind != "stores":
            self.commit(scope)
        return self.read(op, view)

    def begin_reads(self, op: Op, scope: Scope, views: Sequence[SharedView]) -> None:
        """Mark views as read by an asynchronous product until the wait for the product."""
        del op
        self._begun_products[scope.linear] += 1
        for view in views:
            view.buffer.read[view.places] += 1
        self._reads.append(_Transfer(views, (), scope.linear, self._begun_products[scope.linear]))

    def end_reads(self, scope: Scope, most_pending: int) -> None:
        """End the reads of all products but the last `most_pending`."""
        ended = self._begun_products - most_pending
        self._reads = _end_transfers(
            self._reads,
            lambda transfer: (
                _in_scope(transfer, scope) & (transfer.until <= ended[transfer.programs])
            ),
            _end_read,
        )


def _barrier_index(barrier: SharedView) -> Array:
    places: Array = barrier.places.reshape(len(barrier.start))
    return places


def _in_scope(transfer: _Transfer, scope: Scope) -> Array:
    if transfer.programs is scope.linear:
        return np.ones(len(transfer.programs), np.bool_)
    return np.isin(transfer.programs, scope.linear)


def _end_transfers(
    transfers: list[_Transfer],
    is_over: Callable[[_Transfer], Any],
    end: Callable[[_Transfer], None],
) -> list[_Transfer]:
    """Call `end` for the transfers (or their programs) that are over; return the remaining ones."""
    remaining = []
    for transfer in transfers:
        rows = np.broadcast_to(is_over(transfer), (len(transfer.programs),))
        if rows.all():
            end(transfer)
        elif rows.any():
            end(transfer.part(np.flatnonzero(rows)))
            remaining.append(transfer.part(np.flatnonzero(~rows)))
        else:
            remaining.append(transfer)
    return remaining


def _complete_copy(copy: _Transfer) -> None:
    (view,) = copy.views
    places = view.places
    view.buffer.arriving[places] -= 1
    for plane, arrived in zip(view.buffer.planes, copy.planes, strict=True):
        plane[places] = arrived


def _end_read(read: _Transfer) -> None:
    for view in read.views:
        view.buffer.read[view.places] -= 1
