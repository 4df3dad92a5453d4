"""Shared memory of programs, and the copies and reads in flight in it.

A buffer is one allocation, for all programs that run at once. The elements of an asynchronous copy
arrive at the wait for the copy, as late as on any device; until then the buffer keeps its old
contents. An op that reads earlier, or that writes elements which a product may still read, shows a
defect of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.evaluate.errors import Deadlock, UnsupportedOp
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.rounding import from_memory
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

TENSOR_MEMORY_ROWS: Final = 128
READS_EARLY: Final = "reads elements that a copy in flight may not have written yet"
WRITES_EARLY: Final = "writes elements that an asynchronous product may still read"


class Buffer:
    """One allocation: each program's elements, one program after the other.

    `planes` are arrays of numbers (one, or more with shadows). For each element, `arriving` counts
    the copies in flight to the element, and `read` the products that may still read it.

    If its bytes are also viewed as another type, planes hold what memory does, and accesses count
    for the first byte of each element: `step` counts on from one element to the next. Views have a
    buffer of their own, which shares all with its `owner`.
    """

    __slots__ = ("arriving", "owner", "pitch", "planes", "read", "step", "type", "unknown")

    def __init__(self, type_: ValueType, planes: list[Array], owner: Buffer | None = None) -> None:
        self.type = type_
        self.planes = planes
        self.owner, self.pitch, self.step = owner or self, 0, 1
        if owner is None:
            self.arriving: Array = np.zeros(len(planes[0]), np.uint16)
            self.read: Array = np.zeros(len(planes[0]), np.uint16)
        else:
            self.arriving, self.read, self.step = owner.arriving, owner.read, type_.element.bytes
        self.unknown: Unknown | None = None

    def hold_bytes(self, programs: int) -> None:
        """Keep what memory holds, to be viewed as other types."""
        element = self.type.element
        self.step, nbytes = element.bytes, len(self.planes[0]) * element.bytes
        if len(self.planes) > 1:
            raise UnsupportedOp("bytes of another type are not followed in this analysis")
        self.planes = [self.planes[0].astype(element.memory)]
        self.arriving, self.read = np.zeros(nbytes, np.uint16), np.zeros(nbytes, np.uint16)
        self.pitch = nbytes // programs // TENSOR_MEMORY_ROWS

    def seen_as(self, view: SharedView, type_: ValueType, places: Array) -> SharedView:
        """Return the view of the bytes from a view's first element on as another type."""
        first = (view.starts + view.offsets.reshape(-1)[0]) * self.type.element.bytes
        size, room = type_.element.bytes, self.owner.pitch * TENSOR_MEMORY_ROWS
        if (first % size).any() or (first % room + (int(places.max()) + 1) * size > room).any():
            raise UnsupportedOp(f"a view as {type_.element.name} of bytes that its buffer lacks")
        planes = [plane.view(type_.element.memory) for plane in self.owner.planes]
        return SharedView(Buffer(type_, planes, self.owner), first // size, places)

    def contents(self, view: SharedView) -> list[Array]:
        """Return a view's elements in each plane."""
        parts = [plane[view.places] for plane in self.planes]
        if self.owner.pitch:
            parts[0] = from_memory(parts[0], self.type.element)
        return parts


class _Transfer(Struct, eq=False):
    """Copies or reads in flight, until each program's wait for `until`: a group or a barrier."""

    views: Sequence[SharedView]
    planes: Sequence[Array]
    programs: Array
    until: Array
    barriers: Buffer | None = None

    def part(self, rows: Array) -> _Transfer:
        """Return the transfer of the programs at `rows`."""
        if len(rows) == len(self.programs):
            return self
        return _Transfer(
            [replace(view, starts=view.starts[rows]) for view in self.views],
            [plane if plane.shape[0] == 1 else plane[rows] for plane in self.planes],
            self.programs[rows],
            self.until[rows],
            self.barriers,
        )

    def end(self) -> None:
        """Write what a copy brings; a read only ends."""
        for view in self.views:
            counted = view.buffer.arriving if self.planes else view.buffer.read
            counted[view.units] -= 1
            for plane, arrived in zip(view.buffer.planes, self.planes, strict=bool(self.planes)):
                plane[view.places] = arrived


class SharedMemory:
    """The shared memory of one launch; `faults` has a message per op that ran too early.

    It is `complete` if each op surely ran at a known address.
    """

    def __init__(self, programs: int) -> None:
        self.faults: dict[str, None] = {}
        self._in_flight: dict[str, list[_Transfer]] = {
            kind: [] for kind in ("copies", "tiles", "products", "stores")
        }
        self._programs = programs
        self._unknown: Unknown | None = None
        self.complete = True

    @cached_property
    def _begun(self) -> dict[str, NDArray[np.int64]]:
        """Closed groups of copies, and products, of each program."""
        return {kind: np.zeros(self._programs, np.int64) for kind in self._in_flight}

    # -- contents --------------------------------------------------------------------------------

    def allocate(self, scope: Scope, type_: ValueType, places: Array | None = None) -> SharedView:
        """Return new, unwritten buffers, one for each program of a scope, as one view.

        `places` of the elements are set if other types view the buffer's bytes.
        """
        count, as_bytes = type_.size, places is not None
        if places is None:
            places = np.arange(count).reshape(type_.shape)
        else:  # so that each program's begins, and ends, at an element of any type
            count = -(-(int(places.max()) + 1) // TENSOR_MEMORY_ROWS) * TENSOR_MEMORY_ROWS
        buffer = Buffer(type_, self._unwritten_planes(scope.programs * count, type_))
        if as_bytes:
            buffer.hold_bytes(scope.programs)
        return SharedView(buffer, np.arange(scope.programs) * count, places)

    def read(self, op: Op, view: Any, kind: str = "") -> Any:
        """Return a view's contents, or Unknown; note a fault if a copy is still in flight.

        `kind` is that of an operation in flight that reads, which only clocks distinguish.
        """
        del kind
        unknown = self._unknown_in(view)
        if unknown is not None:
            return unknown
        early = view.buffer.arriving[view.units] > 0
        if early.any():
            self._note(op, READS_EARLY)
        return self._joined(view.buffer.contents(view), early)

    def write(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, kind: str = ""
    ) -> None:
        """Write a tensor to a view; note a fault if a product may still read the view."""
        del kind
        if self._note_unknown_write(scope, view, value):
            return
        places = view.places
        self._check_reads(op, view)
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
        self.complete = False
        if isinstance(view, SharedView):
            view.buffer.owner.unknown = unknown
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
        unknown: Unknown | None = view.buffer.owner.unknown
        return self._unknown if unknown is None else unknown

    def _check_reads(self, op: Op, view: SharedView) -> None:
        if view.buffer.read[view.units].any():
            self._note(op, WRITES_EARLY)

    def _note(self, op: Op, fault: str) -> None:
        self.faults[f"{op.name} at {place(op)} {fault}"] = None

    # -- copies ----------------------------------------------------------------------------------

    def copy(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, barrier: Any = None,
        kind: str = "copies",
    ) -> None:  # fmt: skip
        """Begin a copy to a view, which arrives at the wait for its group or barrier."""
        if self._note_unknown_write(scope, view, value):
            return
        self._check_reads(op, view)
        view.buffer.arriving[view.units] += 1
        until, barriers = self._begun[kind][scope.linear] + 1, None
        if barrier is not None:
            until, barriers = _barrier_index(barrier), barrier.buffer
        planes = self._planes(value, type_)
        copy = _Transfer([view], planes, scope.linear, until, barriers)
        self._in_flight[kind].append(copy)

    def commit(self, scope: Scope, kind: str = "copies") -> None:
        """Close the group of copies of the scope's programs, or begin a product or store."""
        self._begun[kind][scope.linear] += 1

    def wait(self, scope: Scope, most_in_flight: int, kind: str = "copies") -> None:
        """End all groups of copies, or products, but the last `most_in_flight`."""
        ended = self._begun[kind] - most_in_flight
        self._end(
            kind,
            lambda transfer: (
                transfer.barriers is None
                and _in_scope(transfer, scope) & (transfer.until <= ended[transfer.programs])
            ),
        )

    def _end(self, kind: str, is_over: Callable[[_Transfer], Any]) -> list[Array]:
        """End the transfers (or their programs) that are over; return what they lasted until."""
        remaining, lasted = [], []
        for transfer in self._in_flight[kind]:
            over = np.broadcast_to(is_over(transfer), (len(transfer.programs),))
            if over.any():
                ended = transfer.part(np.flatnonzero(over))
                ended.end()
                lasted.append(ended.until)
            if not over.all():
                remaining.append(transfer.part(np.flatnonzero(~over)))
        self._in_flight[kind] = remaining
        return lasted

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
        landed = self._end(
            "copies",
            lambda copy: copy.barriers is barrier.buffer and np.isin(copy.until, places[due]),
        )
        arrived = np.concatenate([*landed, np.zeros(0, np.int64)])
        if self.complete and not np.isin(places[due], arrived).all():
            raise Deadlock(
                f"{op.name} at {place(op)} in kernel {scope.launch.kernel!r} waits forever: no "
                "copy in flight completes its barrier"
            )
        phases[places[due]] += 1

    # -- asynchronous products ------------------------------------------------------------------

    def read_to_store(self, op: Op, scope: Scope, view: Any, kind: str = "stores") -> Any:
        """Return a view's contents, which a copy to global memory reads until the wait for it."""
        value = self.read(op, view, kind)
        self.commit(scope, kind)
        return value

    def begin_reads(self, op: Op, scope: Scope, views: Sequence[SharedView]) -> None:
        """Mark views as read by an asynchronous product until the wait for the product."""
        del op
        self.commit(scope, "products")
        for view in views:
            view.buffer.read[view.units] += 1
        begun = self._begun["products"][scope.linear]
        self._in_flight["products"].append(_Transfer(views, (), scope.linear, begun))


def _barrier_index(barrier: SharedView) -> Array:
    places: Array = barrier.places.reshape(len(barrier.starts))
    return places


def _in_scope(transfer: _Transfer, scope: Scope) -> Array:
    if transfer.programs is scope.linear:
        return np.ones(len(transfer.programs), np.bool_)
    return np.isin(transfer.programs, scope.linear)
