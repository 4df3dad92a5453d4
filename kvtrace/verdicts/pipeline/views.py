"""Views of buffers in shared memory, whether two views overlap, and faults in accesses to them."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.types import value_type
from kvtrace.ir import Op
from kvtrace.ir.asynchronous import Act, act_of
from kvtrace.ir.model import attribute
from kvtrace.ir.types import SharedType
from kvtrace.schema.errors import KvtraceError


class View(Struct, frozen=True):
    """A block of a buffer, which is identified by the op that allocates it.

    `box` has the first element and one past the last along each axis of the buffer; `axes` the
    buffer's axis for each axis of the view (None: the view was reshaped). If not `exact`, the view
    is somewhere in the box.
    """

    buffer: Op
    box: tuple[tuple[int, int], ...]
    axes: tuple[int, ...] | None
    exact: bool = True

    def meets(self, other: View) -> bool:
        """Return whether two views may have an element in common."""
        return self.buffer is other.buffer and all(
            left_start < right_end and right_start < left_end
            for (left_start, left_end), (right_start, right_end) in zip(
                self.box, other.box, strict=True
            )
        )

    def within(self, axis: int, first: int, last: int) -> View:
        """Return the block from index `first` up to `last` along an axis of the view."""
        if self.axes is None:
            return replace(self, exact=False)
        buffer_axis = self.axes[axis]
        start = self.box[buffer_axis][0]
        block = (start + first, start + last)
        return replace(self, box=(*self.box[:buffer_axis], block, *self.box[buffer_axis + 1 :]))

    def part(self, index: int | None) -> View:
        """Return the part at an index along the first axis, or any part if it is None."""
        if self.axes is None:
            return replace(self, exact=False)
        selected = replace(self, exact=False) if index is None else self.within(0, index, index + 1)
        return replace(selected, axes=self.axes[1:])

    def permuted(self, order: Iterable[int]) -> View:
        """Return the view with its axes permuted."""
        return self if self.axes is None else replace(self, axes=tuple(self.axes[i] for i in order))


def whole_buffer(op: Op) -> View:
    """Return the view of the whole buffer that an op allocates."""
    box = tuple((0, extent) for extent in _shape(op.results[0].type))
    return View(op, box, tuple(range(len(box))))


def viewed(op: Op, view: View, index: int | None) -> View:
    """Return the view that an op makes of a view; `index` selects a part (None: unknown).

    Raises:
        Unexplored: the buffer has no such part.

    """
    act = act_of(op)
    if act is Act.INDEX:
        parts = _shape(op.operand("shared").type)[0]
        if index is not None and not 0 <= index < parts:
            raise Unexplored(f"{op.name} may use part {index} of {parts}")
        return view.part(index)
    if act is Act.TURN:
        return view.permuted(attribute(op, "order"))
    if act is Act.RESHAPE:
        return replace(view, axes=None)
    if act is Act.RETYPE:  # layouts differ, so the bytes may be anywhere
        return replace(whole_buffer(view.buffer), axes=None, exact=False)
    assert act is Act.PART
    extents = _shape(op.results[0].type)
    for axis, (start, extent) in enumerate(zip(attribute(op, "offsets"), extents, strict=True)):
        view = view.within(axis, start, start + extent)
    return view


def size_bytes(op: Op) -> int:
    """Return the size in bytes of the view that an op uses."""
    type_ = value_type(op.operand("shared").type)
    return prod(type_.shape) * type_.element.bytes


def _shape(type_: object) -> tuple[int, ...]:
    assert isinstance(type_, SharedType)
    return type_.shape


Early = Literal["reads early", "writes early", "overwrites", "stored early", "used early"]
"""The kinds of faults."""


class Unexplored(KvtraceError):
    """The error of an exploration in which operations in flight are unknown."""

    slug = "unexplored"


class Fault(Struct, frozen=True):
    """An op that runs before an operation that `other` started has ended.

    `trips` are those of the loops around the op, `other_trips` those of the loops around the other
    op. `doubt` is the reason why programs may never reach the fault; empty if they surely do.
    """

    kind: Early
    op: Op
    other: Op
    view: View | None
    trips: tuple[int, ...]
    other_trips: tuple[int, ...]
    doubt: str


class CertainFault(Exception):
    """The exception for a fault that surely occurs, which ends the exploration."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault


class Findings(Struct):
    """The findings of an exploration: the first certain fault, and possible faults."""

    fault: Fault | None = None
    possible: list[Fault] = []
    states: int = 0
    endless_wait: Op | None = None
    """An op whose wait never ends in some state."""
    reused_memory: tuple[Op, Op] | None = None
    """An op that allocates a buffer, and an op in flight on a buffer that may share its memory."""
    unfinished: Op | None = None
    """An op in flight as the program ends, whose buffer later programs may be given."""
